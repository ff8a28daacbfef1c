import pytest
from judging import text

from qops.probes import inference

ANSWER = f"""== inference services
service: tiny
LoadState=loaded
ActiveState=active
SubState=running
Result=success
ExecMainStatus=0
NRestarts=3
NeedDaemonReload=no
InvocationID=0a1b2c3d4e5f60718293a4b5c6d7e8f9
timer=active
disk: {"a" * 64}  /etc/systemd/system/qops-serve-tiny.service
disk: {"b" * 64}  /etc/qops/serve/tiny.env
started: {"a" * 64} /etc/systemd/system/qops-serve-tiny.service
started: {"c" * 64} /etc/qops/serve/tiny.env
secret: changed
moved: image qops.local/engine:current from sha256:1 to sha256:2
moved: /etc/qops/chat template.jinja
ready: 0a1b2c3d4e5f60718293a4b5c6d7e8f9
failures: 2
incident: /var/lib/qops/serve/tiny/incidents/20260102T030405
service: whale
LoadState=loaded
ActiveState=inactive
SubState=dead
NeedDaemonReload=yes
InvocationID=
timer=inactive
held: the machine went down while this service started
== something else
service: not-ours
"""


def test_what_the_services_are() -> None:
    found = inference.parse([text(ANSWER)])
    assert found is not None and list(found.services) == ["tiny", "whale"]
    tiny, whale = found.services.values()
    assert (tiny.up, tiny.ready, tiny.watched, tiny.restarts, tiny.failures) == (True, True, True, 3, 2)
    assert tiny.secret_changed and tiny.incident.endswith("20260102T030405")
    assert tiny.on_disk["/etc/qops/serve/tiny.env"] != tiny.started["/etc/qops/serve/tiny.env"]
    assert (whale.up, whale.ready, whale.stale, whale.watched) == (False, False, True, False)
    assert whale.held.startswith("the machine went down")
    assert tiny.quote.line == 2
    assert tiny.moved == (
        "image qops.local/engine:current from sha256:1 to sha256:2",
        "/etc/qops/chat template.jinja",
    )


def test_a_token_of_an_earlier_start_does_not_count() -> None:
    found = inference.parse([text(ANSWER.replace("ready: 0a", "ready: 0b"))])
    assert found is not None and not found.services["tiny"].ready


def test_a_host_without_services() -> None:
    found = inference.parse([text("== inference services\n")])
    assert found is not None and found.services == {}
    assert inference.parse([text("service: tiny\n")]) is None


@pytest.mark.parametrize("line", ["NRestarts=many", "disk: x /y", "failures: -", "service: ../x", "\0" * 40])
def test_nonsense_is_left_out(line: str) -> None:
    found = inference.parse([text(f"== inference services\nservice: tiny\n{line}\n")])
    assert found is not None and found.services["tiny"].restarts == 0
