"""Following a page: what is run, asked, recorded, and where it goes on."""

import os
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
import sys
from pathlib import Path
from qops.runbook import incident as incidents
from qops.runbook.page import parse
from qops.runbook.walking import Where, walk
from qops.transports.local import Local
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
