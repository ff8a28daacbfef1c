import pytest
from judging import text
from mangling import parses_anything

from qops.evidence.pcie import PcieDevice, PcieTree
from qops.probes import pcie

TREE = """\
0000:40:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship GPP Bridge (prog-if 00 [Normal decode])
\tControl: I/O+ Mem+ BusMaster+ SpecCycle-
\tNUMA node: 1
\tBus: primary=40, secondary=41, subordinate=4a, sec-latency=0
\tCapabilities: [58] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink-
\tCapabilities: [2a0 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\tKernel driver in use: pcieport

0000:41:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\tNUMA node: 1
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 unlimited
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16
\tKernel driver in use: vfio-pci
\tKernel modules: nvidiafb, nouveau
"""

NUMBERS = """\
06:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2bb5] (rev a1)
\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)
06:00.1 Audio device [0403]: NVIDIA Corporation Device [10de:22e8] (rev a1)
c1:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000] (rev 52)
"""

DUMP = """\
/sys/bus/pci/devices/0000:1b:00.0 0x030200 0x2330 16.0 GT/s PCIe 16 32.0 GT/s PCIe 16 1
/sys/bus/pci/devices/0000:1c:00.0 0x030000 0x2b85 Unknown 0 Unknown 255 -1
/sys/bus/pci/devices/0000:1d:00.0 0x068000 0x22a3
"""

SAMPLES = (TREE, NUMBERS, DUMP, "ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+\n")


def parse(*contents: str) -> PcieTree:
    texts = [text(content) for content in contents]
    assert all(pcie.recognise(t) for t in texts)
    found = pcie.parse(texts)
    assert found is not None
    return found


def test_tree() -> None:
    bridge, gpu = parse(TREE).devices
    assert (bridge.address, bridge.kind, bridge.bridge, bridge.nvidia) == ("0000:40:01.1", "PCI bridge", True, False)
    assert (bridge.secondary, bridge.subordinate, bridge.numa, bridge.driver) == (0x41, 0x4A, 1, "pcieport")
    assert (bridge.speed, bridge.speed_max, bridge.width, bridge.width_max) == (16.0, 32.0, 8, 16)
    assert bridge.acs == ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")
    assert bridge.acs_quote is not None
    assert bridge.link_quote is not None
    assert (bridge.acs_quote.line, bridge.link_quote.line) == (11, 7)
    assert (gpu.address, gpu.nvidia, gpu.bridge, gpu.driver) == ("0000:41:00.0", True, False, "vfio-pci")
    assert (gpu.speed, gpu.speed_max, gpu.width, gpu.acs) == (2.5, 32.0, 16, ())


def test_bridges_above_a_gpu() -> None:
    found = parse(TREE)
    assert found.gpus == (found.devices[1],)
    assert found.above(found.gpus[0]) == (found.devices[0],)


def test_numbers_and_no_domain() -> None:
    gpu, audio, display = parse(NUMBERS).devices
    assert (gpu.address, gpu.kind, gpu.nvidia, gpu.speed) == ("0000:06:00.0", "3D controller", True, 32.0)
    assert (audio.kind, display.kind, display.nvidia) == ("Audio device", "VGA compatible controller", False)
    assert len(parse(NUMBERS).gpus) == 1


def test_numeric_classes() -> None:
    (gpu,) = parse("06:00.0 0302: 10de:2bb5 (rev a1)\n").devices
    assert (gpu.kind, gpu.nvidia) == ("3D controller", True)


def test_dump_of_sysfs() -> None:
    first, second, third = parse(DUMP).devices
    assert (first.address, first.kind, first.speed, first.speed_max, first.width) == (
        "0000:1b:00.0",
        "3D controller",
        16.0,
        32.0,
        16,
    )
    assert (first.numa, second.numa, second.speed, second.width, second.width_max) == (1, None, None, None, None)
    assert (third.kind, third.speed) == ("Bridge", None)


@pytest.mark.parametrize(
    ("content", "acs"),
    [
        ("ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+", [("SrcValid", "ReqRedir", "CmpltRedir")]),
        ("\t\tACSCtl:\tSrcValid+ ReqRedir-\n\t\tACSCtl:\tSrcValid-\n", [("SrcValid",), ()]),
    ],
)
def test_access_control_without_an_address(content: str, acs: list[tuple[str, ...]]) -> None:
    devices = parse(content).devices
    assert [d.acs for d in devices] == acs
    assert all(d.bridge and not d.address for d in devices)


def test_link_without_an_address() -> None:
    content = "LnkCap: Port #0, Speed 32GT/s, Width x16\nLnkSta: Speed 8GT/s (downgraded), Width x4 (downgraded)\n"
    (device,) = parse(content).devices
    assert (device.speed, device.speed_max, device.width, device.width_max) == (8.0, 32.0, 4, 16)
    assert (device.bridge, device.address) == (False, "")


def test_lines_picked_by_grep() -> None:
    picked = "".join(f"{line}\n" for line in TREE.splitlines() if line[:1] == "0" or "ACSCtl" in line)
    bridge, gpu = parse(picked).devices
    assert (bridge.acs[1], bridge.speed, gpu.acs) == ("ReqRedir", None, ())


def test_forms_are_merged_by_address() -> None:
    dump = DUMP.replace("1b:00.0", "41:00.0")
    gpu = next(d for d in parse(TREE, dump).devices if d.address == "0000:41:00.0")
    assert (gpu.driver, gpu.speed) == ("vfio-pci", 2.5)


@pytest.mark.parametrize(
    "content",
    ["10:16:33.1 worker: started", "03:25.1 Loading weights: 12 of 40", "LnkSta2: Current De-emphasis Level: -6dB"],
)
def test_other_text_is_nothing(content: str) -> None:
    assert pcie.parse([text(content)]) is None


def test_device_defaults_say_nothing() -> None:
    (device,) = parse("0000:00:00.0 Host bridge: Some Vendor Root Complex\n").devices
    assert device == PcieDevice("0000:00:00.0", "Host bridge", "Some Vendor Root Complex", device.quote)


def test_any_text() -> None:
    parses_anything(pcie.PROBE, SAMPLES)
