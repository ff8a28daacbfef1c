"""site.yml interrupted at random points: the next run completes, and the machine always has a driver or a way back.

Each takes two minutes and strikes at random, so only when asked: QOPS_SURVIVAL=20 plants twenty faults, and
QOPS_SURVIVAL_SEED repeats the points of a run.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playing import BIN, ROOT
from practice_lab import CUT_SSH, Qops, practice

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif("QOPS_SURVIVAL" not in os.environ, reason="strikes at random; QOPS_SURVIVAL=20 runs it"),
]
HOST = "rtxpro4-1"
FAULTS = int(os.environ.get("QOPS_SURVIVAL", "0"))
SEED = os.environ.get("QOPS_SURVIVAL_SEED") or uuid.uuid4().hex[:8]
LONGEST = 1500  # seconds of one run, on a machine that does other things too
LAST_GOOD = "/var/lib/qops/nvidia_driver"


@dataclass(frozen=True, slots=True)
class Site:
    """A practice host and how site.yml is run on it."""

    lab: Qops

    def start(self, driver: str) -> subprocess.Popen[str]:
        """Begin a run, in a process group of its own."""
        return subprocess.Popen(
            [
                str(BIN / "ansible-playbook"),
                "site.yml",
                "-l",
                HOST,
                "-e",
                f"nvidia_driver_version={driver}",
                "-e",
                "nvidia_driver_stop_clients=true",
            ],
            cwd=ROOT,
            env={
                **os.environ,
                **self.lab.environment,
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, driver: str) -> tuple[int, str]:
        """Run to the end."""
        process = self.start(driver)
        output, _ = process.communicate(timeout=LONGEST)
        return process.returncode, output

    def on(self, command: str) -> str:
        """Run a command on the host; whatever its status, return what it prints."""
        # Not over SSH, which a fault may cut.
        done = subprocess.run(
            ["docker", "exec", f"qops-{self.lab.name}-{HOST}", "sh", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done.stdout.strip()

    def works(self) -> bool:
        """Whether the driver answers."""
        return "GPU 0" in self.on("nvidia-smi -L 2>/dev/null")

    def has_way_back(self) -> bool:
        """Whether a whole last good state is kept on the host."""
        return "yes" in self.on(f"find {LAST_GOOD} -name '*.json' -size +1c | grep -q . && echo yes")


def _kill_ansible(site: Site, process: subprocess.Popen[str]) -> Callable[[], None]:
    os.killpg(process.pid, signal.SIGKILL)
    return lambda: None


def _kill_apt(site: Site, process: subprocess.Popen[str]) -> Callable[[], None]:
    site.on("pkill -KILL -x 'apt-get|dpkg|apt'")
    return lambda: None


def _lose_ssh(site: Site, process: subprocess.Popen[str]) -> Callable[[], None]:
    # The sessions are cut and no new one is let in for some seconds; what the sessions ran loses its terminal.
    site.on(CUT_SSH.format(6))
    return lambda: _let_in(site)


def _let_in(site: Site) -> None:
    """Wait until SSH is served again, as a person would; how long that takes is the machine's load."""
    until = time.monotonic() + 120
    while site.on("systemctl is-active ssh") != "active":
        assert time.monotonic() < until, site.on("systemctl status ssh")
        time.sleep(1)


def _fail_dkms(site: Site, process: subprocess.Popen[str]) -> Callable[[], None]:
    site.on("echo 'nvidia/*' >/etc/qops-lab/dkms-fails")
    return lambda: site.on("rm -f /etc/qops-lab/dkms-fails") and None  # type: ignore[func-returns-value]


def _fill_disk(site: Site, process: subprocess.Popen[str]) -> Callable[[], None]:
    """Make the folder for packages a file system of 16 KiB that is full: apt finds no room for what it fetches."""
    site.on(
        "mount -t tmpfs -o size=16k none /var/cache/apt/archives && head -c 16k /dev/zero >/var/cache/apt/archives/full"
    )
    return lambda: site.on("umount /var/cache/apt/archives") and None  # type: ignore[func-returns-value]


KINDS = {f.__name__.strip("_"): f for f in (_kill_ansible, _kill_apt, _lose_ssh, _fail_dkms, _fill_disk)}


@pytest.fixture(scope="module", name="site")
def a_converged_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with practice(tmp_path_factory.mktemp("state"), "survive", "rtxpro4") as lab:
        site = Site(lab)
        status, output = site.run("580")
        assert status == 0, output[-6000:]
        yield site


@pytest.mark.parametrize("number", range(FAULTS))
def test_a_run_that_is_broken_off_is_completed_by_the_next(site: Site, number: int) -> None:
    chance = random.Random(f"{SEED}-{number}")
    kinds = random.Random(SEED).sample(sorted(KINDS), len(KINDS))
    kind = kinds[number % len(kinds)]
    driver = ("595", "580")[number % 2]
    if chance.random() < 0.5:  # what other roles did is undone now and then, so that they have work too
        site.on(
            "rm -rf /etc/qops/intent.d /etc/sysctl.d/90-qops-* /etc/systemd/system/*.wants/qops-* "
            "/etc/systemd/system/qops-*.service /etc/docker/daemon.json && systemctl daemon-reload"
        )
    delay = chance.uniform(0.5, 35)
    what = f"seed {SEED}: fault {number}, {kind} after {delay:.1f} s of the way to {driver}"
    process = site.start(driver)
    time.sleep(delay)
    lift = KINDS[kind](site, process)
    try:
        broken, _ = process.communicate(timeout=LONGEST)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    lift()
    assert site.works() or site.has_way_back(), f"{what}: neither a driver nor a way back\n{broken[-3000:]}"
    status, output = site.run(driver)
    assert status == 0, f"{what}\n{output[-6000:]}"
    assert site.works(), what
    module = site.on("cat ${QOPS_ROOT:-}/proc/driver/nvidia/version")
    assert re.search(rf"\b{driver}\.", module), f"{what}: {module}"
    status, output = site.run(driver)
    assert (status, re.findall(r"changed=(\d+)", output)) == (0, ["0"]), f"{what}\n{output[-6000:]}"
    told = {"seed": SEED, "fault": kind, "after": round(delay, 1), "to": driver, "status": process.returncode}
    print(json.dumps(told))  # noqa: T201
