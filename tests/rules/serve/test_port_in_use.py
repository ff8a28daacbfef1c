"""The port, where the log names it, and nothing else that looks like one."""

import pytest
from judging import diagnose


@pytest.mark.parametrize(
    ("line", "port"),
    [
        ("[Errno 98] error while attempting to bind on address ('0.0.0.0', 8080): address already in use", "8080"),
        ("failed to bind host port for 0.0.0.0:9000:172.18.0.3:9000/tcp: address already in use", "9000"),
        ("zmq.error.ZMQError: Address already in use (addr='tcp://*:5555')", "5555"),
        ("Bind for :::8000 failed: port is already allocated", "8000"),
        ("listen tcp :8080: bind: address already in use", "8080"),
        ("The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).", "29500"),
        ("port: 29500, useIpv6: 0, name: EADDRINUSE, message: address already in use", "29500"),
        ("RuntimeError: Port 30000 is already in use", "30000"),
    ],
)
def test_the_port_is_that_of_the_address(line: str, port: str) -> None:
    (finding,) = diagnose({"engine.log": f"Dec 01 11:55:14 h vllm[7]: {line}\n"}).findings
    assert finding.message == f"port {port} is taken by another process"


@pytest.mark.parametrize("time", ["Dec 01 11:55:14", "2026-12-01T11:55:14+0000", "2026-12-01 11:55:14,123"])
def test_the_seconds_of_a_time_are_no_port(time: str) -> None:
    (finding,) = diagnose({"engine.log": f"{time} h vllm[7]: OSError: [Errno 98] Address already in use\n"}).findings
    assert finding.message == "the port is taken by another process"
