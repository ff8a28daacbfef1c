"""Whether a host has NVSwitches to manage, by what lspci and sysfs show."""

import pytest
from pcie_trees import OWN_ROOT, tree

from qops.derive import fabric
from qops.derive.fabric import MANAGER, manager_down
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Logs
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote
from qops.rule import Found, RuledOut
from qops.rules.cuda.fabric_manager_not_running import fabric_manager_not_running
from qops.rules.cuda.fabric_state_in_progress import fabric_state_in_progress

H200, B200 = ["NVIDIA H200"] * 8, ["NVIDIA B200"] * 8
SWITCH = "0000:07:00.0 Bridge: NVIDIA Corporation GH100 [H100 NVSwitch] (rev a1)\n"
GPU = "0000:1b:00.0 3D controller: NVIDIA Corporation GH100 [H200 SXM 141GB] (rev a1)\n"
BY_SYSFS = "/sys/bus/pci/devices/0000:07:00.0 0x068000 0x22a3\n"
GUEST = "/sys/bus/pci/devices/0000:00:06.0 0x030200 0x2335\n/sys/bus/pci/devices/0000:00:07.0 0x030200 0x2335\n"


def connectx(bus: str, model: str = "") -> str:
    """Return a ConnectX-7 as root sees it; `model` is in its vital product data."""
    product = f"\t\t\t[VA] Vendor specific: MLX:MN=MLNX:CSKU=V2:UUID=V3:PCI=V0{model}\n"
    return (
        f"0000:{bus}:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
        f"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x2, ASPM not supported\n{product}"
    )


@pytest.mark.parametrize(
    ("content", "names", "there"),
    [
        (SWITCH + GPU, H200, True),
        (BY_SYSFS + GUEST, H200, True),
        (GUEST, H200, False),  # the host of the guest manages the switches
        (GPU + OWN_ROOT, ["NVIDIA H200 NVL"], False),
        (connectx("05") + connectx("0a", ":SMDL=SW_MNG"), B200, True),
        (connectx("05"), B200, False),
        (GUEST.replace("2335", "2901"), B200, None),  # without lspci
        (
            "0000:05:00.0 Infiniband controller: Mellanox Technologies MT2910\n\tCapabilities: <access denied>\n",
            B200,
            None,
        ),
    ],
)
def test_switches_are_what_is_seen(content: str, names: list[str], there: bool | None) -> None:
    found = fabric.switches(tree(content), names)
    assert found.value is there and found.because


def test_a_bus_that_was_not_seen_is_not_guessed() -> None:
    assert fabric.switches(None, H200).value is None


def test_nvlsm_is_for_the_switches_of_b200() -> None:
    assert fabric.nvlink5(["NVIDIA B200"]) and fabric.nvlink5(["3D controller: NVIDIA Corporation Device 2901"])
    assert not fabric.nvlink5(["NVIDIA H200"]) and not fabric.nvlink5(["NVIDIA RTX PRO 6000 Blackwell"])


def _quote(line: str) -> Quote:
    return Quote("driver setup", 1, line)


_WAITS = Gpus((Gpu(0, _quote("In Progress"), name="NVIDIA H200", fabric_state="In Progress"),))
_OFF = DriverSetup(units={MANAGER: "absent"}, unit_quotes={MANAGER: _quote(f"unit {MANAGER}: absent")})
_SWITCHES = tree(SWITCH + GPU)


def test_a_manager_that_is_off_counts_where_gpus_wait_for_it_and_the_switches_are_this_hosts() -> None:
    assert manager_down(Logs(), _WAITS, _OFF, _SWITCHES)[0].text == f"unit {MANAGER}: absent"
    runs = DriverSetup(units={MANAGER: "active"}, unit_quotes={MANAGER: _quote("active")})
    complete = Gpus((Gpu(0, _quote("Completed"), name="NVIDIA H200", fabric_state="Completed"),))
    for setup, gpus, switches in (
        (runs, _WAITS, _SWITCHES),
        (_OFF, complete, _SWITCHES),
        (_OFF, _WAITS, tree(GPU)),  # a guest, whose host has the switches
        (_OFF, _WAITS, None),
        (None, _WAITS, _SWITCHES),
        (_OFF, None, _SWITCHES),
    ):
        assert manager_down(Logs(), gpus, setup, switches) == ()


def test_it_is_the_cause_of_a_fabric_in_progress() -> None:
    seen = {Logs: Logs(), Gpus: _WAITS, DriverSetup: _OFF, PcieTree: _SWITCHES}
    (found,) = fabric_manager_not_running.judge(seen)
    assert isinstance(found, Found)
    (other,) = fabric_state_in_progress.judge(seen)
    assert isinstance(other, RuledOut)
    (alone,) = fabric_state_in_progress.judge({**seen, PcieTree: tree(GPU)})
    assert isinstance(alone, Found)
