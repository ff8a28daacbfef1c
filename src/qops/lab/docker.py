"""Docker as the lab uses it: its command line, and only what carries the lab's label."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from qops.lab.errors import LabError

LABEL = "dev.qops.lab"  # its value is the lab's name; on base images, which labs share, it is "any"
HOST, SCENARIO, SOURCE, CLASS, SPEC = (f"{LABEL}.{part}" for part in ("host", "scenario", "source", "class", "spec"))
BASE = f"{LABEL}.base"

CALL_S = 120  # an idle daemon answers within a second; eight hosts starting on two cores take some


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a lab, as the daemon describes it."""

    name: str
    lab: str
    host: str
    scenario: str
    source: str
    hardware_class: str
    spec: str
    status: str  # the daemon's word: created, running, exited, restarting, …
    address: str  # the fixed IPv4 address, known also while it is stopped

    @property
    def half_built(self) -> bool:
        """Whether it was never started: everything a host needs is put in before that."""
        return self.status in {"created", "dead", "removing"}


@dataclass(frozen=True, slots=True)
class Docker:
    """The docker client. `inherited` descriptors stay open in its children (the lab's lock)."""

    inherited: tuple[int, ...] = ()

    def call(
        self,
        *arguments: str,
        stdin: bytes | IO[bytes] | None = None,
        timeout: float = CALL_S,
        check: bool = True,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one docker command, `timeout` in seconds; LabError if it fails and `check` is set."""
        fed: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin or subprocess.DEVNULL}
        try:
            done = subprocess.run(
                ["docker", *arguments],
                capture_output=True,
                timeout=timeout,
                pass_fds=self.inherited,
                check=False,
                **fed,
            )
        except FileNotFoundError:
            raise LabError("the lab needs Docker, and there is no docker command here", _install_hint()) from None
        except subprocess.TimeoutExpired:
            raise LabError(
                f"docker {arguments[0]} did not answer within {timeout:.0f} s",
                "look at the daemon: docker info",
            ) from None
        if check and done.returncode != 0:
            raise LabError(
                f"docker {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}", "docker info"
            )
        return done

    def text(self, *arguments: str, timeout: float = CALL_S) -> str:
        """Return what one docker command prints, without the white space around it."""
        return self.call(*arguments, timeout=timeout).stdout.decode(errors="replace").strip()

    def lines(self, *arguments: str) -> tuple[str, ...]:
        """Return what one docker command prints, line by line, without empty ones."""
        return tuple(line for line in self.text(*arguments).splitlines() if line)

    def require(self) -> None:
        """Make sure that the daemon answers; LabError says how to bring it otherwise."""
        done = self.call("version", "--format", "{{.Server.Version}}", timeout=30, check=False)
        if done.returncode == 0:
            return
        why = done.stderr.decode(errors="replace").strip() or "it gave no reason"
        if "permission denied" in why.lower():
            raise LabError(
                f"you may not talk to the Docker daemon: {why}",
                "sudo usermod -aG docker $USER, then log in anew",
            )
        raise LabError(f"the Docker daemon does not answer: {why}", _start_hint())

    def containers(self, lab: str) -> tuple[Container, ...]:
        """Return the hosts' containers of one lab, by host name."""
        only = ("--filter", f"label={LABEL}={lab}", "--filter", f"label={HOST}")
        identities = self.lines("ps", "-aq", "--no-trunc", *only)
        if not identities:
            return ()
        # One that goes away between the two calls makes inspect fail, but not lose the others.
        found = json.loads(self.call("inspect", "--type", "container", *identities, check=False).stdout or b"[]")
        return tuple(sorted((_container(one) for one in found), key=lambda one: one.host))

    def label_of(self, kind: str, name: str) -> str | None:
        """Return the lab that owns a container, network or volume, "" for nobody's; None if there is no such thing."""
        done = self.call("inspect", "--type", kind, name, check=False)
        if done.returncode != 0:
            return None
        found = json.loads(done.stdout)[0]
        labels = found["Config"]["Labels"] if kind == "container" else found["Labels"]
        return str((labels or {}).get(LABEL, ""))

    def refuse_foreign(self, kind: str, name: str, lab: str) -> bool:
        """Return whether the lab's own `name` exists; LabError if somebody else's does."""
        owner = self.label_of(kind, name)
        if owner is not None and owner != lab:
            raise LabError(
                f"there is a {kind} named {name} that this lab did not make",
                f"rename or remove it, or call the lab otherwise: QOPS_LAB=practice qops lab up (docker {kind} ls)",
            )
        return owner is not None


def labels(**values: str) -> Sequence[str]:
    """Return the --label options for labels given by their short names."""
    return [option for name, value in values.items() for option in ("--label", f"{_label(name)}={value}")]


def _label(name: str) -> str:
    return LABEL if name == "lab" else f"{LABEL}.{name.removesuffix('_')}"


def _container(found: Mapping[str, Any]) -> Container:
    label = found["Config"]["Labels"]
    attached: Mapping[str, Any] = next(iter((found["NetworkSettings"]["Networks"] or {}).values()), {})
    return Container(
        name=found["Name"].removeprefix("/"),
        lab=label[LABEL],
        host=label.get(HOST, ""),
        scenario=label.get(SCENARIO, ""),
        source=label.get(SOURCE, ""),
        hardware_class=label.get(CLASS, ""),
        spec=label.get(SPEC, ""),
        status=found["State"]["Status"],
        address=(attached.get("IPAMConfig") or {}).get("IPv4Address") or attached.get("IPAddress", ""),
    )


def _install_hint() -> str:
    return (
        "apt-get install docker.io"
        if shutil.which("apt-get")
        else "install Docker: https://docs.docker.com/engine/install/"
    )


def _start_hint() -> str:
    if Path("/run/systemd/system").is_dir():
        return "sudo systemctl start docker"
    if shutil.which("dockerd"):
        return "sudo setsid nohup dockerd >/var/log/dockerd.log 2>&1 &"
    return _install_hint()
