"""Changes of services on two practice hosts: the canary first, one service of two, a lost connection, a moved tag.

The engine is a stand-in (standing_engine.py); systemd, SSH, docker and the role are real.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from changing import PROGRAM, Host, changed, service
from practice_lab import CUT_SSH, OWN_IMAGE, practice, workstations

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NAMES = ("canary", "other")
IMAGE = "lab/standing:1"
MAKE = OWN_IMAGE.format(IMAGE)


@pytest.fixture(scope="module", name="hosts")
def hosts_that_serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    folder = tmp_path_factory.mktemp("scenario")
    with practice(tmp_path_factory.mktemp("state"), "fleet", workstations(folder, *NAMES)) as lab:
        hosts = [Host(lab, folder, name) for name in NAMES]
        for host in hosts:
            host.install()
        status, output = play(hosts, two())
        assert status == 0, output
        yield hosts


def two(tiny: str = "It is Paris.", second: str = "It is Rome.") -> list[dict[str, Any]]:
    """Return two services, which say these words."""
    return [
        service(f"{PROGRAM} serve --says {json.dumps(tiny)}"),
        service(f"{PROGRAM} serve --says {json.dumps(second)}", name="second", port=8021),
    ]


def play(hosts: list[Host], services: list[dict[str, Any]], *options: str, **more: Any) -> tuple[int, str]:
    """Change the services of both hosts."""
    # The last `-l` counts.
    everywhere = ("-l", "canary,other", *options)
    return hosts[0].play(*everywhere, inference_service_instances=services, **more)


def runs(host: Host, name: str = "tiny") -> str:
    """Return what changes with each start of a service."""
    return host.run(f"systemctl show -P InvocationID qops-serve-{name}")


def test_one_of_two_services_is_changed_and_the_other_goes_on(hosts: list[Host]) -> None:
    before = [(runs(host), runs(host, "second")) for host in hosts]
    services = two(second="It is Rome, of course.")
    status, output = play(hosts, services)
    assert status == 0, output
    after = [(runs(host), runs(host, "second")) for host in hosts]
    assert [old[0] == new[0] for old, new in zip(before, after, strict=True)] == [True, True]
    assert [old[1] == new[1] for old, new in zip(before, after, strict=True)] == [False, False]
    status, output = play(hosts, services)
    assert (status, [changed(output, name) for name in NAMES]) == (0, [0, 0]), output


def test_a_canary_that_fails_keeps_the_change_from_the_others(hosts: list[Host]) -> None:
    before = hosts[1].unit()
    good = [host.answer() for host in hosts]
    dies = [service(f"{PROGRAM} serve --dies"), two()[1]]
    status, output = play(hosts, dies, "-e", '{"qops_at_once": [1, "100%"]}')
    assert status != 0, output
    assert "the change was undone" in output, output
    assert not re.search(r"^(changed|fatal).*\[other\]", output, re.MULTILINE), output
    assert hosts[1].unit() == before
    assert [host.answer() for host in hosts] == good


def test_hosts_are_changed_one_after_the_other(hosts: list[Host]) -> None:
    status, output = play(hosts, two(tiny="It is Paris, still."))
    assert status == 0, output
    started = [
        host.run("systemctl show -P ActiveEnterTimestampMonotonic qops-serve-tiny; cat /proc/uptime") for host in hosts
    ]
    # Both hosts have this machine's clock since its boot.
    first, second = (int(text.split()[0]) for text in started)
    assert first < second
    assert output.index("canary: tiny runs with what is new") < output.index("other: tiny runs with what is new")


def test_a_change_goes_on_when_the_connection_is_lost(hosts: list[Host]) -> None:
    host = hosts[0]
    services = [service(f"{PROGRAM} serve --slow 8 --says 'Without SSH.'"), two()[1]]
    told: list[tuple[int, str]] = []
    playing = threading.Thread(target=lambda: told.append(play(hosts, services, "-l", "canary")))
    playing.start()
    host.until("stopped")
    host.lab.run(
        "ssh", host.name, "--",
        CUT_SSH.format(20),
    )  # fmt: skip
    playing.join()
    deadline = time.monotonic() + 60
    while host.lab.run("ssh", host.name, "--", "true")[0] and time.monotonic() < deadline:
        time.sleep(1)
    host.until_over()
    assert "Without SSH." in host.answer()
    (result,) = told
    assert result[0] == 0 or "UNREACHABLE" in result[1] or "does not say how far it is" in result[1], result[1]
    status, output = play(hosts, services, "-l", "canary")
    assert (status, changed(output, "canary")) == (0, 0), output


def test_an_image_whose_tag_moved_is_served_by_the_next_change(hosts: list[Host]) -> None:
    host = hosts[0]
    host.run(MAKE)
    inside = {"image": IMAGE, "runtime": "docker", "volumes": ["/opt/standing:/opt/standing:ro"]}
    services = [service(f"{PROGRAM} serve --host 0.0.0.0", **inside), two()[1]]
    status, output = play(hosts, services, "-l", "canary")
    assert status == 0, output
    before = host.run("docker inspect -f '{{.Image}}' qops-serve-tiny")
    status, output = play(hosts, services, "-l", "canary")
    assert (status, changed(output, "canary")) == (0, 0), output

    host.run(f"touch /usr/share/newer; {MAKE}")  # the same name, and another image
    status, output = play(hosts, services, "-l", "canary")
    assert status == 0, output
    after = host.run("docker inspect -f '{{.Image}}' qops-serve-tiny")
    assert after != before, output
    assert after == host.run(f"docker image inspect -f '{{{{.Id}}}}' {IMAGE}")
    assert "It is Paris." in host.answer()
