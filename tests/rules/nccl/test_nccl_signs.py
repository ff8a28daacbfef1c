"""What NCCL says about consequences, and what is noise: none of it is a cause."""

import pytest
from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rule import Role, Rule
from qops.rules.nccl.benign_ras_port_busy import benign_ras_port_busy
from qops.rules.nccl.ib_completion_error import ib_completion_error
from qops.rules.nccl.nccl_error import nccl_error
from qops.rules.nccl.peer_closed_connection import peer_closed_connection

CLOSED = "w3:8:8 [1] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer w4.lan<41022>\n"
ERROR = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:77, unhandled system error\n"
FIRST = "w3:8:9 [1] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.5.0.4<33092> with error {}, opcode 0, len 0, vendor err {} (Recv)\n"
NAMED = "w3:8:9 [1] transport/net_ib/p2p.cc:648 NCCL WARN NET/IB: Got completion from peer 10.5.0.4<4055> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RECV(128) vendor_err=129 hca mlx5_1\n"
RAS = "w3:8:8 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use\n"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (peer_closed_connection, CLOSED),
        (nccl_error, ERROR),
        (ib_completion_error, FIRST.format(12, 129)),
        (ib_completion_error, NAMED),
    ],
)
def test_symptoms_alone_leave_the_verdict_open(rule: Rule, text: str) -> None:
    report = diagnose({"job.log": text})
    assert rule.cause in {f.cause for f in report.findings}
    assert rule.role is Role.SYMPTOM
    assert report.verdict is Verdict.UNDETERMINED


def test_the_first_real_status_leads() -> None:
    (found,) = outcomes(ib_completion_error, {"job.log": FIRST.format(5, 249) + FIRST.format(12, 129)}) or ()
    assert "status 12" in getattr(found, "message", "")
    assert found.evidence[0].line == 2


def test_the_ras_port_is_noise() -> None:
    report = diagnose({"job.log": RAS})
    assert [f.cause for f in report.findings] == ["benign-ras-port-busy"]


def test_quiet_logs_and_nothing_seen() -> None:
    for rule in (peer_closed_connection, nccl_error, ib_completion_error, benign_ras_port_busy):
        assert outcomes(rule, {"job.log": "w3:8:8 [0] NCCL INFO Connected all rings\n"}) == ()
        assert outcomes(rule, {}) is None


def test_the_ras_port_with_the_function_that_newer_releases_name() -> None:
    report = diagnose({"job.log": RAS.replace(" NCCL WARN", " (rasInit) NCCL WARN")})
    assert [f.cause for f in report.findings] == ["benign-ras-port-busy"]
