"""An incident: a folder in which stands what was run, when, and what it answered.

It is a bundle (`index.json`, and a file for each answer), so that `qops diagnose --from FOLDER` reads it. Beside that
stand `incident.json`, from which an interrupted walk goes on, and `timeline.md` for the post-mortem. Each file is
replaced as a whole, so a kill leaves one state or the next. Secrets are taken out before anything is written.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from qops import __version__, whole_file
from qops.errors import BundleError, UsageError
from qops.redaction import Redactor
from qops.transports.base import Completed, decode, lines
from qops.transports.bundle import FORMAT, INDEX, Entry, Index

STATE = "incident.json"
TIMELINE = "timeline.md"
SHOWN = 12  # lines of an answer that the timeline quotes


class Done(Struct, frozen=True, omit_defaults=True):
    """One step of the walk, by its number on the page. Times are ISO 8601 in UTC."""

    number: int
    heading: str
    script: str
    state: str  # "running" | "done" | "interrupted" | "left out"
    begun: str
    ended: str = ""
    status: int | None = None
    changes: bool = False
    here: bool = False
    note: str = ""
    file: str = ""
    stderr: str = ""
    seconds: float = 0.0
    failure: str = ""


class _State(Struct, frozen=True):
    format: int
    page: str
    host: str
    begun: str
    values: dict[str, str]
    steps: tuple[Done, ...] = ()


def now() -> str:
    """Return the time in UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Incident:
    """An incident's folder. Raises BundleError when it cannot be written or is damaged."""

    def __init__(self, folder: Path, state: _State) -> None:
        self.folder = folder
        self._state = state
        self._redact = Redactor()

    @property
    def steps(self) -> tuple[Done, ...]:
        """What was run, in that order; a step that was run again stands there again."""
        return self._state.steps

    @property
    def values(self) -> Mapping[str, str]:
        """The values with which the walk began."""
        return self._state.values

    def last(self, number: int) -> Done | None:
        """Return how the step `number` went the last time."""
        return next((one for one in reversed(self.steps) if one.number == number), None)

    def key(self, number: int) -> str:
        """Return what tells the processes of step `number` from all others."""
        name = f"{self.folder.resolve()} {self._state.begun} {number}"
        return sha256(os.fsencode(name)).hexdigest()[:16]

    def begin(self, number: int, heading: str, script: str, *, changes: bool, here: bool) -> None:
        """Note that a step begins, before it does."""
        self._put(Done(number, heading, self._clean(script), "running", now(), changes=changes, here=here))

    def leave_out(self, number: int, heading: str, script: str, *, changes: bool, why: str) -> None:
        """Note that a step was not run."""
        time = now()
        self._put(Done(number, heading, self._clean(script), "left out", time, time, changes=changes, note=why))

    def end(self, done: Completed | None) -> Done:
        """Note how the step that was begun last has ended; None: it was interrupted."""
        step = self.steps[-1]
        if done is None:
            ended = replace(step, state="interrupted", ended=now())
        else:
            stem = f"answers/{len(self.steps):04d}"
            ended = replace(
                step,
                state="done",
                ended=now(),
                status=done.status,
                seconds=round(done.seconds, 1),
                failure=done.failure,
                file=self._save(f"{stem}.txt", done.stdout),
                stderr=self._save(f"{stem}.stderr.txt", done.stderr),
            )
        self._state = replace(self._state, steps=self.steps[:-1])
        self._put(ended)
        return ended

    def write(self) -> None:
        """Write the state, the bundle's index and the timeline."""
        _write(self.folder / STATE, msgspec.json.format(msgspec.json.encode(self._state), indent=1))
        entries = tuple(
            Entry(
                source=f"{self._state.page} {step.number}: {step.script.splitlines()[0][:100]}",
                argv=("bash", "-c", step.script),
                file=step.file,
                stderr=step.stderr,
                status=step.status,
                seconds=step.seconds,
                failure=step.failure,
            )
            for step in self.steps
            if step.state == "done" and not step.here  # what qops says of evidence is no evidence
        )
        interrupted = any(step.state in ("running", "interrupted") for step in self.steps)
        index = Index(FORMAT, __version__, self._state.host, self._state.begun, entries, interrupted)
        _write(self.folder / INDEX, msgspec.json.format(msgspec.json.encode(index), indent=1))
        _write(self.folder / TIMELINE, self._timeline().encode())

    def _timeline(self) -> str:
        state = self._state
        told = [f"# Incident on {state.host}: {state.page}", "", f"Begun {state.begun}. Times are UTC.", ""]
        for step in self.steps:
            told += [f"## {step.begun[11:19]} {step.heading}, step {step.number}", ""]
            told += [_outcome(step), "", "```bash", step.script, "```", ""]
            said = self._answer(step)
            if said:
                told += ["```text", *said[:SHOWN], "```", ""]
                if len(said) > SHOWN:
                    told += [f"{len(said) - SHOWN} more lines in {step.file or step.stderr}.", ""]
        told += ["## For the post-mortem", "", "- Impact:", "- Root cause:", "- What helped:", "- What to change:", ""]
        return "\n".join(told)

    def _answer(self, step: Done) -> list[str]:
        found: list[str] = []
        for name in filter(None, (step.file, step.stderr)):
            try:
                found += lines((self.folder / name).read_bytes())
            except OSError:
                found.append(f"({name} cannot be read)")
        return [line.replace("```", "'''") for line in found]

    def _clean(self, word: str) -> str:
        return decode(self._redact(word.encode(errors="replace")))

    def _put(self, step: Done) -> None:
        self._state = replace(self._state, steps=(*self.steps, step))
        self.write()

    def _save(self, name: str, data: bytes) -> str:
        if data:
            _write(self.folder / name, self._redact(data))
        return name if data else ""


def _outcome(step: Done) -> str:
    if step.state == "left out":
        return f"Not run: {step.note}."
    if step.state == "done":
        ended = f"status {step.status}" if step.status is not None else step.failure
        return f"{'Changed something' if step.changes else 'Read'}; {ended}, {step.seconds:g} s."
    return "Begun, and its end was not seen: it may have taken effect, or half of it."


def start(folder: Path, page: str, host: str, values: Mapping[str, str]) -> Incident:
    """Make the folder of a new incident."""
    try:
        (folder / "answers").mkdir(parents=True, mode=0o700)
        folder.chmod(0o700)
    except OSError as error:
        raise BundleError(f"cannot make {folder}: {error.strerror}", "name another folder with -o") from None
    made = Incident(folder, _State(1, page, host, now(), dict(values)))
    made.write()
    return made


def resume(folder: Path, page: str, host: str) -> Incident:
    """Read the incident in `folder`; UsageError when it is of another page or host."""
    try:
        state = msgspec.json.decode((folder / STATE).read_bytes(), type=_State)
    except OSError as error:
        raise BundleError(f"cannot read {folder / STATE}: {error.strerror}", "name a new folder with -o") from None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise BundleError(f"{folder / STATE} is damaged", "name a new folder with -o; the answers are kept") from None
    if (state.page, state.host) != (page, host):
        raise UsageError(
            f"{folder} is an incident of {state.page} on {state.host}, not of {page} on {host}",
            "name another folder with -o",
        )
    return Incident(folder, state)


def _write(path: Path, data: bytes) -> None:
    try:
        whole_file.replace(path, data, 0o600)
    except OSError as error:
        raise BundleError(f"cannot write {path}: {error.strerror}") from None
