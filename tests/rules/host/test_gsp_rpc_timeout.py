from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.gsp_rpc_timeout import gsp_rpc_timeout


def test_xid_119() -> None:
    files = {
        "dmesg.txt": (
            "NVRM: Xid (PCI:0000:41:00): 119, pid=77, name=nvidia-smi, Timeout after 6s of waiting "
            "for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20800a4c "
            "0x4).\n"
        ),
    }
    found = next(f for f in outcomes(gsp_rpc_timeout, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "gsp-rpc-timeout"


def test_older_wording() -> None:
    files = {
        "dmesg.txt": "NVRM: Timeout waiting for RPC from GSP! Expected function 76.\n",
    }
    found = next(f for f in outcomes(gsp_rpc_timeout, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "gsp-rpc-timeout"


def test_look_alike_firmware_is_listed() -> None:
    assert "gsp-rpc-timeout" not in causes(
        {
            "smi.txt": "    GSP Firmware Version                  : 580.95.05\n",
        }
    )


def test_look_alike_rpc_of_another_program() -> None:
    assert "gsp-rpc-timeout" not in causes(
        {
            "job.log": "Timeout waiting for RPC from worker 3\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(gsp_rpc_timeout, {})
