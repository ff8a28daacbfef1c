"""How engines are started, asked with programs of the test's own in the place of a host's, and read back."""

import json
import subprocess
from pathlib import Path

from mangling import parses_anything

from qops import probes
from qops.adoption import adopt, host
from qops.evidence.text import Text
from qops.probes.engine_sources import PROBE, SCRIPT, parse
from qops.transports.base import lines

UNIT = """\
# {folder}/whale.service
[Service]
EnvironmentFile=-{folder}/whale.env
EnvironmentFile={folder}/nowhere.env
ExecStart={folder}/start.sh /models/whale

# {folder}/whale.service.d/nice.conf
[Service]
Nice=-3
"""
OWN = "# Written by qops (role inference_service).\n[Service]\nExecStart=/usr/bin/docker run --name=qops-serve-own i vllm serve\n"
PS = """\
whale.service    /usr/bin/python3 {folder}/venv/bin/vllm serve /models/whale
qops-serve-own.service /usr/bin/docker run vllm serve
-                grep vllm
ssh.service      sshd
"""


def _container(name: str, *command: str) -> dict[str, object]:
    config = {"Image": "vllm/vllm-openai:v0.33.0", "Cmd": list(command), "Entrypoint": ["vllm", "serve"]}
    return {"Id": name, "Name": f"/{name}", "Image": "sha256:1", "Config": config, "HostConfig": {}}


def _program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}")
    (folder / name).chmod(0o755)


def _answer(folder: Path) -> tuple[str, ...]:
    (folder / "start.sh").write_text(f"#!/bin/bash\n. {folder}/venv/bin/activate\nexec vllm serve $1 --port 8001\n")
    (folder / "whale.env").write_text("HF_TOKEN=planted\nA=1\n")
    (folder / "venv/lib/python3.12/site-packages/vllm-0.31.0+cu130.dist-info").mkdir(parents=True)
    for name, text in (("unit", UNIT), ("ps.txt", PS)):
        (folder / name).write_text(text.format(folder=folder))
    (folder / "own").write_text(OWN)
    inspected = [_container("orca", "/m", "--port", "8000"), _container("qops-serve-own", "/m"), _container("web")]
    inspected[2]["Config"] = {"Image": "nginx:1", "Cmd": ["nginx"]}
    (folder / "containers").write_text(json.dumps(inspected, indent=4))
    (folder / "images").write_text(json.dumps([{"Id": "sha256:1", "RepoTags": [], "Config": {"Env": ["A=b"]}}]))
    _program(folder, "ps", f"cat {folder}/ps.txt\n")
    shown = f"echo '{{ path={folder}/start.sh ; argv[]={folder}/start.sh /models/whale ; ignore_errors=no }}'"
    _program(
        folder, "systemctl",
        f"case $1 in show) {shown} ;; cat) case $3$2 in *whale*) cat {folder}/unit ;; *) cat {folder}/own ;; esac esac\n",
    )  # fmt: skip
    _program(
        folder, "docker",
        f"case $1 in ps) echo 1 2 3 ;; image) cat {folder}/images ;; inspect)"
        f" case $* in *format*) echo sha256:1 ;; *) cat {folder}/containers ;; esac esac\n",
    )  # fmt: skip
    done = subprocess.run(
        ["sh", "-c", SCRIPT], env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, check=True, timeout=60
    )
    return lines(done.stdout)


def test_the_engines_of_a_host_are_adopted(tmp_path: Path) -> None:
    sources = parse([Text("engine sources", _answer(tmp_path), probe="engine_sources")])
    assert sources is not None
    assert sources.versions == {"whale.service": "0.31.0"} and set(sources.inspected) == {"docker"}
    assert set(sources.files) == {f"{tmp_path}/whale.env", f"{tmp_path}/start.sh"}
    running = host.read(sources)
    assert running.notes == ["qops-serve-own.service is the role's already"] and running.complete
    whale, orca = (adopt(one) for one in running.found)
    assert whale.instance["command"] == [f"{tmp_path}/venv/bin/vllm", "serve", "/models/whale", "--port", "8001"]
    assert (whale.version, list(whale.secrets), whale.refused) == ("0.31.0", ["HF_TOKEN"], ())
    assert (orca.instance["name"], orca.instance["image"]) == ("orca", "vllm/vllm-openai:v0.33.0")
    assert orca.instance["command"] == ["vllm", "serve", "/m", "--port", "8000"]
    assert "planted" not in repr((whale, orca))


def test_a_container_that_a_unit_runs_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "unit").write_text("")
    sources = parse([Text("engine sources", _answer(tmp_path), probe="engine_sources")])
    assert sources is not None
    unit = "[Service]\nExecStart=/usr/bin/docker run --name orca vllm/vllm-openai:v0.33.0 /m --port 8000\n"
    sources.units["whale.service"] = unit
    assert [one.source for one in host.read(sources).found] == ["whale.service"]


def test_a_docker_that_does_not_answer_is_no_host_without_engines(tmp_path: Path) -> None:
    _program(tmp_path, "docker", "exit 1\n")
    _program(tmp_path, "ps", "true\n")
    done = subprocess.run(
        ["sh", "-c", SCRIPT], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, check=True, timeout=60
    )
    sources = parse([Text("engine sources", lines(done.stdout))])
    assert sources is not None and "docker" in sources.unread
    running = host.read(sources)
    assert not running.complete and "docker did not answer" in running.notes[0]


def test_nothing_else_asks_for_it_and_it_takes_anything() -> None:
    answer = (
        "== qops sources\n== qops inspect docker\n[]\n== qops unit a.service\n[Service]\n== qops version a.service x"
    )
    assert PROBE not in probes.ALL
    parses_anything(PROBE, (answer,))
