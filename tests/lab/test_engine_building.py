"""Building an engine layer in a real container: what is killed half way leaves no process and no engine."""

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from practice_lab import why_not

from qops.lab.docker import Docker
from qops.lab.engine import building, layer
from qops.lab.engine.layer import Layer
from qops.lab.place import Place

pytestmark = pytest.mark.lab

# A layer that takes no minutes: its script waits in the middle, unless the container sees that it need not.
SCRIPT = """#!/bin/sh
set -eu
find /opt/made -mindepth 1 -delete
echo half >/opt/made/half
echo 'step: half way'
[ "$VERSION" = quick ] || sleep 300
echo whole >/opt/made/whole
"""
# Other layers of this machine are none of a test's business.
BUILD = """
import sys
from pathlib import Path
from qops.lab.engine import building, layer
from qops.lab.place import Place
layer.INSIDE = building.INSIDE = Path(sys.argv[1])
building.SAY_EVERY_S = 0.5
building.LAYERS.clear()
building.LAYERS["made"] = layer.Layer("made", "made", sys.argv[2], "/opt/made", 0, "a moment", (sys.argv[3],))
layer.forget_older = lambda docker: None
building.build(Place(sys.argv[3], Path(sys.argv[4])), "made", lambda text: print(text, flush=True))
"""


@pytest.fixture(name="inside")
def scripts_of_a_small_layer(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "made").mkdir(parents=True)
    (inside / "made/install.sh").write_text(SCRIPT)
    (inside / "attached.sh").write_bytes((layer.INSIDE / "attached.sh").read_bytes())
    return inside


@pytest.fixture(name="lab")
def its_own_name(tmp_path: Path, inside: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if why_not():
        pytest.skip(why_not())
    monkeypatch.setattr(layer, "INSIDE", inside)
    name = f"test-{uuid.uuid4().hex[:8]}"
    yield name
    for version in ("slow", "quick"):
        Docker().call("volume", "rm", _layer(name, version).volume, check=False)


def _layer(lab: str, version: str) -> Layer:
    # A model that is called like the lab: no other test has this volume.
    return Layer("made", "made", version, "/opt/made", 0, "a moment", (lab,))


def _build(inside: Path, version: str, lab: str, state: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", BUILD, str(inside), version, lab, str(state)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _until(what: str, process: subprocess.Popen[str]) -> None:
    told = ""
    for line in process.stdout or ():
        told += line
        if what in line:
            return
    raise AssertionError(told)


def test_a_killed_build_leaves_no_process_and_no_engine(lab: str, inside: Path, tmp_path: Path) -> None:
    state, docker = tmp_path / "state", Docker()
    state.mkdir()
    process = _build(inside, "slow", lab, state)
    _until("half way", process)
    process.kill()
    process.communicate()
    began = time.monotonic()
    while docker.lines("ps", "-q", "--filter", f"name=^/qops-lab-engine-build-{lab}$"):
        assert time.monotonic() - began < 60
        time.sleep(0.2)
    assert not layer.is_whole(docker, _layer(lab, "slow"))


def test_the_next_build_makes_it_whole(lab: str, inside: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    process = _build(inside, "quick", lab, state)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert layer.is_whole(Docker(), _layer(lab, "quick"))
    building.clear_half_built(Docker(), Place(lab, state))
