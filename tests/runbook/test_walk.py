"""Following a page: what is run, asked, recorded, and where it goes on."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qops.errors import BundleError, UsageError
from qops.recording import recorded
from qops.runbook import incident as incidents
from qops.runbook.page import Page, parse
from qops.runbook.walking import Where, walk
from qops.transports.local import Local

TEXT = """# Page

## Diagnosis

```bash
echo looked; echo HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz123456
```

## Mitigation

```bash
echo one >>FILE
```

## Verification

```bash
cat FILE
```
"""


def _page(folder: Path) -> Page:
    return parse("page", "host", TEXT.replace("FILE", str(folder / "file")))


def _walk(folder: Path, answer: str, *, again: bool = False) -> list[tuple[int, str]]:
    here = Local()
    name = here.name
    incident = (
        incidents.resume(folder / "incident", "page", name)
        if again
        else incidents.start(folder / "incident", "page", name, {})
    )
    done = walk(_page(folder), Where(here, here), incident, lambda number, script: answer, lambda *said: None)
    return [(one.number, one.state) for one in done]


def test_steps_that_read_are_run_and_a_refused_change_is_not(tmp_path: Path) -> None:
    assert _walk(tmp_path, "refused") == [(1, "done"), (2, "left out"), (3, "done")]
    assert not (tmp_path / "file").exists()


def test_the_folder_is_a_bundle_without_secrets_and_has_a_timeline(tmp_path: Path) -> None:
    _walk(tmp_path, "")
    (found,) = recorded([tmp_path / "incident"])
    assert [text.lines[:1] for text in found.texts] == [("looked",), (), ("one",)]
    everything = b"".join(p.read_bytes() for p in (tmp_path / "incident").rglob("*") if p.is_file())
    assert b"hf_abcdefghijklmnop" not in everything
    timeline = (tmp_path / "incident/timeline.md").read_text()
    assert "Changed something; status 0" in timeline
    assert "## For the post-mortem" in timeline


def test_a_change_is_made_once_and_what_was_refused_is_asked_again(tmp_path: Path) -> None:
    _walk(tmp_path, "refused")
    assert _walk(tmp_path, "", again=True) == [(1, "done"), (2, "done"), (3, "done")]
    assert _walk(tmp_path, "", again=True) == [(1, "done"), (2, "done"), (3, "done")]
    assert (tmp_path / "file").read_text() == "one\n"


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    _walk(tmp_path, "")
    with pytest.raises(UsageError, match="is an incident of page"):
        incidents.resume(tmp_path / "incident", "other", Local().name)
    (tmp_path / "incident" / incidents.STATE).write_text("{")
    with pytest.raises(BundleError, match="is damaged"):
        incidents.resume(tmp_path / "incident", "page", Local().name)


_KILLED = """
import signal, sys
from pathlib import Path
from qops.runbook import incident as incidents
from qops.runbook.page import parse
from qops.runbook.walking import Where, walk
from qops.transports.local import Local
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
here = Local()
page = parse("page", "host", "## Mitigation\\n\\n```bash\\ntouch STARTED; sleep 60\\n```\\n".replace("STARTED", sys.argv[1]))
walk(page, Where(here, here), incidents.start(Path(sys.argv[2]), "page", here.name, {}), lambda *a: "", lambda *a: None)
"""


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_walk_that_is_killed_says_which_change_was_cut_short(tmp_path: Path, sign: signal.Signals) -> None:
    started, folder = tmp_path / "started", tmp_path / "incident"
    process = subprocess.Popen([sys.executable, "-c", _KILLED, str(started), str(folder)], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not started.exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(process.pid, sign)
    process.wait(timeout=60)
    (step,) = incidents.resume(folder, "page", Local().name).steps
    assert (step.number, step.state) == (1, "running" if sign is signal.SIGKILL else "interrupted")
    assert "may have taken effect" in (folder / "timeline.md").read_text()


SEED = int(os.environ.get("QOPS_SEED", "20261201"))
KILLS = int(os.environ.get("QOPS_KILLS", "5"))
_SLOW = """## Diagnosis

```bash
sleep 0.1; echo looked
```

## Mitigation

```bash
echo one >>FILE; sleep 0.2; echo two >>FILE
```

## Verification

```bash
cat FILE; sleep 0.1
```
"""
_WALKED = """
import sys
from pathlib import Path
from qops.runbook import incident as incidents
from qops.runbook.page import parse
from qops.runbook.walking import Where, walk
from qops.transports.local import Local
here, folder = Local(), Path(sys.argv[2])
page = parse("page", "host", sys.argv[1])
incident = (incidents.resume if folder.exists() else incidents.start)
made = incident(folder, "page", here.name) if folder.exists() else incident(folder, "page", here.name, {})
walk(page, Where(here, here), made, lambda *a: "", lambda *a: None)
"""


def _walked(file: Path, folder: Path, page: str = _SLOW) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", _WALKED, page.replace("FILE", str(file)), str(folder)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True)


def test_what_a_killed_walk_left_running_is_waited_for_and_not_begun_beside_it(tmp_path: Path) -> None:
    file, folder, here = tmp_path / "file", tmp_path / "incident", Local()
    walking = _walked(file, folder, _SLOW.replace("sleep 0.2", "sleep 3"))
    until = time.monotonic() + 60
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(walking.pid, signal.SIGKILL)
    walking.communicate(timeout=60)
    said: list[tuple[int, str]] = []
    walk(
        parse("page", "host", _SLOW.replace("FILE", str(file))),
        Where(here, here),
        incidents.resume(folder, "page", here.name),
        lambda *asked: "",
        lambda number, step, script, done: said.append((number, done.state)) if done else None,
    )
    assert said == [(2, "running"), (2, "done"), (3, "done")]
    assert file.read_text().split() == ["one", "two"] * 2


def test_killed_at_random_moments_the_record_says_what_was_done(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    begun = time.monotonic()
    first = _walked(tmp_path / "file", tmp_path / "whole")
    first.communicate(timeout=60)
    assert first.returncode == 0
    whole = time.monotonic() - begun
    seen = set()
    for number in range(4 * KILLS):
        if number >= KILLS and len(seen) > 1:
            break  # on a busy machine the first ones may all come at one step
        where, folder, file = f"seed {SEED}, kill {number}", tmp_path / f"incident{number}", tmp_path / f"file{number}"
        walking = _walked(file, folder)
        time.sleep(chance.uniform(0.3, 1.0) * whole)
        os.killpg(walking.pid, signal.SIGKILL)
        walking.communicate(timeout=60)
        made = file.read_text().split() if file.exists() else []
        if not (folder / incidents.STATE).exists():
            assert made == [], where  # it had not begun, and nothing was done
            continue
        change = incidents.resume(folder, "page", Local().name).last(2)
        seen.add(change.state if change else "")
        if change is None:
            assert made == [], where
        elif change.state == "done":
            assert made == ["one", "two"], where
        else:
            assert change.state == "running", where
        again = _walked(file, folder)
        _, said = again.communicate(timeout=60)
        assert again.returncode == 0, f"{where}: {said.decode()}"
        steps = incidents.resume(folder, "page", Local().name)
        assert [done.state for number in (1, 2, 3) if (done := steps.last(number))] == ["done"] * 3, where
        # What the killed walk had begun ran to its end before it was begun again: never two beside each other.
        ran = file.read_text().split()
        assert ran == ["one", "two"] or (change and change.state == "running" and ran == ["one", "two"] * 2), where
    assert len(seen) > 1, f"seed {SEED}: every kill came at the same step"
