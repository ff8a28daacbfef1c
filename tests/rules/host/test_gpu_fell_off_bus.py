from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.gpu_fell_off_bus import gpu_fell_off_bus


def test_xid_79() -> None:
    files = {
        "dmesg.txt": (
            "[ 5120.1] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has "
            "fallen off the bus.\n"
            "[ 5120.1] NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x0 "
            "(None) to 0x2 (Node Reboot Required)\n"
        ),
    }
    found = next(f for f in outcomes(gpu_fell_off_bus, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "gpu-fell-off-bus"


def test_handle_is_lost() -> None:
    files = {
        "job.log": "Unable to determine the device handle for GPU0000:41:00.0: Unknown Error\n",
    }
    found = next(f for f in outcomes(gpu_fell_off_bus, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "gpu-fell-off-bus"


def test_firmware_is_silent_because_the_gpu_is_gone() -> None:
    files = {
        "dmesg.txt": (
            "NVRM: Xid (PCI:0000:41:00): 119, pid=9, name=x, Timeout after 6s of waiting for RPC "
            "response from GPU1 GSP! Expected function 76\n"
            "NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.\n"
        ),
    }
    found = next(f for f in outcomes(gpu_fell_off_bus, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "gpu-fell-off-bus"


def test_look_alike_bus_address_in_a_log() -> None:
    assert "gpu-fell-off-bus" not in causes(
        {
            "job.log": "GPU 0000:79:00.0 initialised, bus id 79\n",
        }
    )


def test_look_alike_correctable_errors() -> None:
    assert "gpu-fell-off-bus" not in causes(
        {
            "dmesg.txt": (
                "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(gpu_fell_off_bus, {})
