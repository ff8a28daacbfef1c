"""How tests run Ansible: a playbook in a folder of its own, with this checkout's plugins and roles."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from judging import text

from qops import bridge
from qops.engine import observe

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent

HOSTS = {
    "spark": (
        "GPU 0: NVIDIA GB10 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000001)\n",
        "/sys/module/cppc_cpufreq/parameters/auto_sel_mode:1\n"
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor:schedutil\n",
    ),
    "rtxpro": (
        "GPU 0: NVIDIA RTX PRO 6000 Blackwell Server Edition (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000002)\n",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor:schedutil\n"
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors:ondemand performance schedutil\n",
    ),
    "rtx5090": (
        "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000003)\n",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor:performance\n",
    ),
    "hgx": (
        "GPU 0: NVIDIA H200 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000004)\n",
        "/sys/devices/system/cpu/cpufreq: none\n",
    ),
}
SYSCTLS = "vm.swappiness = 60\nkernel.numa_balancing = 1\n"
HUGEPAGES = "[always] madvise never\n"
SERVICES = """== host services
Id=ssh.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled
MemoryMin=0
MemoryLow=0

Id=chrony.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled

RuntimeWatchdogUSec=0
watchdog: SBSA Generic Watchdog
rdma: mlx5_0
cgroups: 2
manager: dpkg
raises: yes
"""
MEMORY = "MemTotal:       131072000 kB\nSwapTotal:        8388604 kB\n"


def facts(hardware: str) -> dict[str, Any]:
    """Return what qops_evidence gives on a host of a class, which has the kernel's default settings."""
    smi, frequency = HOSTS[hardware]
    files = (smi, frequency, SYSCTLS, HUGEPAGES, MEMORY, SERVICES)
    return bridge.facts(observe([text(content, f"{n}.txt") for n, content in enumerate(files)]))


def play(
    folder: Path, tasks: list[dict[str, Any]], variables: Mapping[str, Any], *options: str, env: Mapping[str, str] = {}
) -> tuple[int, str]:
    """Run tasks on this machine; return the exit status and all output."""
    book = folder / "play.yml"
    book.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}], sort_keys=False))
    given = folder / "variables.json"
    given.write_text(json.dumps(variables))
    here = ("-i", "localhost,", "-c", "local", "-e", f"@{given}", "-e", f"ansible_python_interpreter={sys.executable}")
    return ansible_playbook(*here, *options, str(book), env=env)


def ansible_playbook(*arguments: str, env: Mapping[str, str], timeout: float = 120) -> tuple[int, str]:
    """Run `ansible-playbook` with this checkout's settings; return the exit status and all output."""
    done = subprocess.run(
        [str(BIN / "ansible-playbook"), *arguments],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    return done.returncode, done.stdout + done.stderr
