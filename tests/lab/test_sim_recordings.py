"""The simulated H200 pair prints what the recorded one printed, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated import RECORDED, Host, simulated_host

__all__ = ["simulated_host"]  # the fixture `host`

RECORDINGS = Path(__file__).parent / "recordings"
FIELDS = (
    "index,name,pci.bus_id,driver_version,compute_cap,memory.total,memory.used,utilization.gpu,power.draw,power.limit,"
    "clocks.sm,pstate,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,"
    "persistence_mode,ecc.mode.current,clocks_throttle_reasons.active,temperature.gpu"
)


def recorded(name: str) -> str:
    text = (RECORDINGS / name).read_text(encoding="utf-8")
    # The recorder put the command line on top of the text files.
    return text.split("\n", 1)[1] if text.startswith("# ") else text


@pytest.mark.parametrize(
    ("name", "seconds", "arguments"),
    [
        ("nvidia-smi.txt", 0, []),
        ("nvidia-smi-L.txt", 0, ["-L"]),
        ("nvidia-smi-q.txt", 2.1, ["-q"]),
        ("nvidia-smi-q.xml", 2.8, ["-q", "-x"]),
        ("nvidia-smi-query-gpu.csv", 0, [f"--query-gpu={FIELDS}", "--format=csv"]),
        ("nvidia-smi-topo-m.txt", 0, ["topo", "-m"]),
        ("nvidia-smi-nvlink-s.txt", 0, ["nvlink", "-s"]),
        *((f"nvidia-smi-topo-p2p-{kind}.txt", 0, ["topo", "-p2p", kind]) for kind in "rwnap"),
    ],
)
def test_nvidia_smi_prints_the_recording(host: Host, name: str, seconds: float, arguments: list[str]) -> None:
    host.become("h200x2").at(RECORDED + seconds)
    answer = host.smi(*arguments)
    assert answer.status == 0
    assert answer.out == recorded(name)


def test_the_tree_holds_the_recorded_files(host: Host) -> None:
    host.become("h200x2").run("qops-lab-boot")
    for name, path in (
        ("proc-driver-nvidia-version", "proc/driver/nvidia/version"),
        ("proc-driver-nvidia-params", "proc/driver/nvidia/params"),
        ("proc-modules", "proc/modules"),
    ):
        assert (host.root / path).read_text(encoding="utf-8") == (RECORDINGS / name).read_text(encoding="utf-8")
    memory = recorded("proc-meminfo").splitlines()[0]
    assert host.read("/proc/meminfo").splitlines()[0] == memory


def test_pci_devices_read_as_recorded(host: Host) -> None:
    host.become("h200x2").run("qops-lab-boot")
    parts = (
        "class",
        "device",
        "current_link_speed",
        "current_link_width",
        "max_link_speed",
        "max_link_width",
        "numa_node",
    )
    rows = []
    for device in sorted((host.root / "sys/bus/pci/devices").iterdir()):
        if (device / "vendor").read_text().strip() == "0x10de":
            values = [(device / part).read_text().strip() for part in parts]
            rows.append(" ".join([f"/sys/bus/pci/devices/{device.name}", *values]))
    assert "\n".join(rows) + "\n" == recorded("sys-bus-pci.txt")


def test_kernel_settings_read_as_recorded_and_the_missing_ones_are_missing(host: Host) -> None:
    host.become("h200x2").run("qops-lab-boot")
    for line in recorded("sysctl.txt").splitlines():
        if line.startswith("sysctl: cannot stat "):
            assert not (host.root / line.split(" ")[3].strip(":/")).exists()
        else:
            key, _, value = line.partition(" = ")
            assert host.read("/proc/sys/" + key.replace(".", "/")) == value
