import pytest
from judging import text

from qops.derive.hardware_class import HardwareClass, hardware_class
from qops.engine import observe
from qops.errors import UsageError
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.pcie import PcieTree


def _class(*contents: str, said: str = "") -> tuple[str, str]:
    seen = observe([text(content, f"{n}.txt") for n, content in enumerate(contents)])
    found = hardware_class(seen.get(Gpus), seen.get(PcieTree), seen.get(Intent), said=said)
    return str(found.value), found.because


def _listed(*names: str) -> str:
    return "".join(
        f"GPU {n}: {name} (UUID: GPU-0a0a0a0a-0000-0000-0000-00000000000{n})\n" for n, name in enumerate(names)
    )


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("NVIDIA GB10", "spark"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtxpro"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtxpro"),
        ("NVIDIA GeForce RTX 5090", "rtx5090"),
        ("NVIDIA GeForce RTX 5090 D", "unknown"),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", "unknown"),
        ("NVIDIA H100 80GB HBM3", "hgx"),
        ("NVIDIA H200", "hgx"),
        ("NVIDIA B200", "hgx"),
        ("NVIDIA GB200", "unknown"),
        ("NVIDIA H200 NVL", "unknown"),
        ("NVIDIA H100 PCIe", "unknown"),
        ("NVIDIA L40S", "unknown"),
    ],
)
def test_from_the_names_that_the_driver_gives(name: str, wanted: str) -> None:
    assert _class(_listed(name, name))[0] == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("000f:01:00.0 VGA compatible controller: NVIDIA Corporation GB20B [GB10] (rev a1)", "spark"),
        ("21:00.0 3D controller: NVIDIA Corporation Device 2bb5 (rev a1)", "rtxpro"),
        (
            "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GB202 [GeForce RTX 5090] [10de:2b85]",
            "rtx5090",
        ),
        ("1b:00.0 3D controller: NVIDIA Corporation GH100 [H200 SXM 141GB] (rev a1)", "hgx"),
        ("1b:00.0 3D controller: NVIDIA Corporation GH100 [H200 NVL] (rev a1)", "unknown"),
        ("/sys/bus/pci/devices/0000:1b:00.0 0x030200 0x2901", "hgx"),
        ("01:00.0 VGA compatible controller: NVIDIA Corporation GP107 [GeForce GTX 1050] (rev a1)", "unknown"),
    ],
)
def test_from_pci_where_there_is_no_driver_yet(line: str, wanted: str) -> None:
    assert _class(line)[0] == wanted


def test_boards_of_two_classes_are_unknown() -> None:
    found, because = _class(_listed("NVIDIA GeForce RTX 5090", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"))
    assert found == "unknown"
    assert "1 of rtx5090, 1 of rtxpro" in because


def test_one_strange_board_among_others_is_unknown() -> None:
    found, because = _class(_listed("NVIDIA H200", "NVIDIA T400"))
    assert (found, "NVIDIA T400" in because) == ("unknown", True)


def test_nothing_seen_is_unknown() -> None:
    assert _class()[0] == "unknown"


def test_what_the_inventory_says_wins() -> None:
    assert _class(_listed("NVIDIA H200"), said="spark") == ("spark", "the inventory says so")


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(UsageError, match="'dgx' is no hardware class"):
        hardware_class(None, None, said="dgx")


def test_a_role_wrote_the_class_down() -> None:
    written = '{"qops_role": "host_tuning", "hardware_class": "hgx", "settings": {}}'
    assert _class(_listed("NVIDIA L40S"), written)[0] == "hgx"
    assert _class(_listed("NVIDIA GB10"), written.replace("hgx", "nonsense"))[0] == "spark"


def test_unknown_is_the_only_class_without_settings() -> None:
    assert set(HardwareClass) - {"spark", "rtxpro", "rtx5090", "hgx"} == {"unknown"}
