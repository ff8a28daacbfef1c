"""The look of preflight through Ansible: variables of other roles, the controller's clock, addresses of this host alone."""

import socket
from pathlib import Path

from playing import play

LOOK = [{"name": "Look", "qops_plan": {"role": "preflight"}}]


def test_addresses_and_clock_are_asked_of_this_host(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        variables = {
            "qops_hardware_class": "hgx",
            "preflight_any_system": True,
            "model_store_endpoint": f"http://127.0.0.1:{port}",
            "preflight_urls": ["http://{{ 'local' ~ 'host' }}:1"],
        }
        status, output = play(tmp_path, LOOK, variables)
    said = " ".join(output.split())
    assert status == 0, output
    assert f"reach 127.0.0.1:{port} = reached over IPv4" in said
    assert "reach localhost:1 = not reached: IPv4: refused" in said
    assert "clock = right" in said
    assert "localhost is not reached" in said  # as a note


def test_an_air_gapped_host_is_asked_nothing(tmp_path: Path) -> None:
    variables = {
        "qops_hardware_class": "hgx",
        "preflight_any_system": True,
        "preflight_offline": True,
        "preflight_urls": ["http://localhost:1"],
    }
    status, output = play(tmp_path, LOOK, variables)
    assert status == 0, output
    assert "not tried, since preflight_offline is true: localhost" in " ".join(output.split())


def test_a_host_without_gpus_is_refused_and_the_reason_told(tmp_path: Path) -> None:
    status, output = play(tmp_path, LOOK, {"preflight_any_system": True})
    assert status == 2
    assert "Set qops_hardware_class for this host if you know better" in " ".join(output.split())
