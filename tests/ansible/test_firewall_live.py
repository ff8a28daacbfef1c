"""The firewall on practice hosts: what one host reaches of another, before, after, and after a reboot by its playbook."""

import re
import socket
from collections.abc import Iterator

import pytest
from playing import ansible_playbook
from practice_lab import Qops, practice

pytestmark = pytest.mark.lab
IMAGE = "registry.lab.internal:5000/lab/inference:1.0"
# A published port of the API's, one of another number, and a program of the host's own network.
CONTAINERS = (
    f"docker pull -q {IMAGE} && docker run -d --restart always -p 8000:8000 {IMAGE}"
    f" && docker run -d --restart always -p 8081:8000 {IMAGE}"
    f" && docker run -d --restart always --network host {IMAGE} /bin/httpd -f -p 30000 -h /srv"
)
PORTS = (8000, 8081, 30000)
SSH = 22


@pytest.fixture(scope="module", name="lab")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "wall", "rtx5090", "spark") as lab:
        status, _, _ = lab.run("ssh", "rtx5090-1", "--", CONTAINERS)
        if status != 0:
            pytest.skip("the lab has no registry here")
        yield lab


def _play(lab: Qops, book: str, *options: str) -> tuple[int, str]:
    status, output = ansible_playbook(book, "-l", "rtx5090", *options, env=lab.environment, timeout=500)
    return status, " ".join(output.split())


def _address(lab: Qops, host: str) -> str:
    return lab("ssh", host, "--", "ip -4 -o address show eth0").split()[3].partition("/")[0]


def _open_here(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=2).close()
    except OSError:
        return False
    return True


def _reached(lab: Qops, port: int) -> tuple[bool, bool]:
    """Return whether the other host, and this machine, reach a port of the host."""
    address = _address(lab, "rtx5090-1")
    status, _, _ = lab.run("ssh", "spark-1", "--", f"timeout 2 bash -c '</dev/tcp/{address}/{port}'")
    return status == 0, _open_here(address, port)


def _changed(output: str) -> int:
    found = re.search(r"rtx5090-1 : ok=\d+ changed=(\d+)", output)
    assert found, output
    return int(found[1])


def test_without_it_everybody_reaches_everything(lab: Qops) -> None:
    assert {port: _reached(lab, port) for port in PORTS} == dict.fromkeys(PORTS, (True, True))
    status, output = _play(lab, "site.yml", "--tags", "firewall", "-e", "firewall_manage=false")
    assert status == 2
    assert "port 8081 of docker-proxy is open to every network" in output


def test_closed_to_all_but_the_host_that_is_allowed(lab: Qops) -> None:
    allow = f'{{"firewall_allow": ["{_address(lab, "spark-1")}"]}}'
    status, output = _play(lab, "site.yml", "--tags", "firewall", "--check", "--diff", "-e", allow)
    assert status == 0, output
    assert _reached(lab, 8000) == (True, True)
    status, output = _play(lab, "site.yml", "--tags", "firewall", "-e", allow)
    assert status == 0, output
    assert {port: _reached(lab, port) for port in PORTS} == dict.fromkeys(PORTS, (True, False))
    assert _reached(lab, SSH) == (True, True)
    status, output = _play(lab, "site.yml", "--tags", "firewall", "-e", allow)
    assert (status, _changed(output)) == (0, 0), output


def test_the_host_itself_reaches_its_api(lab: Qops) -> None:
    for url in ("http://127.0.0.1:8000/health", "http://127.0.0.1:30000/health", "http://127.0.0.1:8081/health"):
        assert lab("ssh", "rtx5090-1", "--", f"curl -s -m 5 -o /dev/null -w %{{http_code}} {url}") == "200"


def test_a_restart_of_nftables_and_of_docker_leaves_it(lab: Qops) -> None:
    lab("ssh", "rtx5090-1", "--", "systemctl restart nftables && systemctl reload nftables && systemctl restart docker")
    assert _reached(lab, 8000)[1] is False
    lab("ssh", "rtx5090-1", "--", "systemctl stop nftables; systemctl start nftables")
    assert _reached(lab, 8000)[1] is False


def test_ssh_is_never_closed(lab: Qops) -> None:
    status, output = _play(lab, "site.yml", "--tags", "firewall", "-e", '{"firewall_ports": ["1-1024"]}')
    assert status == 2
    assert "port 22 is SSH's, and firewall_ports would close it" in output


def test_a_reboot_by_the_playbook_is_refused_while_an_engine_runs(lab: Qops) -> None:
    unit = "printf '[Service]\\nExecStart=/bin/sleep inf\\n' >/run/systemd/system/vllm-demo.service"
    lab("ssh", "rtx5090-1", "--", f"touch /run/reboot-required; {unit}; systemctl start vllm-demo")
    status, output = _play(lab, "playbooks/reboot.yml")
    assert status == 2
    assert "a reboot would interrupt what runs: vllm-demo.service is active" in output
    lab("ssh", "rtx5090-1", "--", "systemctl stop vllm-demo")


def test_it_lasts_over_a_reboot_that_was_due(lab: Qops) -> None:
    boot = "cat /proc/sys/kernel/random/boot_id; stat -c %Y /proc/1"
    before = lab("ssh", "rtx5090-1", "--", boot)
    status, output = _play(lab, "playbooks/reboot.yml")
    assert status == 0, output
    assert "reboot = done (was due): packages ask for it" in output
    assert lab("ssh", "rtx5090-1", "--", boot) != before
    assert {port: _reached(lab, port) for port in PORTS} == dict.fromkeys(PORTS, (True, False))
    status, output = _play(lab, "playbooks/reboot.yml")
    assert (status, _changed(output)) == (0, 0), output  # none is due now


def test_rules_that_are_gone_are_found_and_brought_back(lab: Qops) -> None:
    lab("ssh", "rtx5090-1", "--", "nft flush ruleset; systemctl restart docker")
    status, output = _play(lab, "playbooks/verify.yml", "--tags", "firewall")
    assert status == 2
    assert (
        "HST110 api-port-open: the rules that close ports 8000-8009, 8265, 30000 are not in force: not loaded" in output
    )
    status, output = _play(lab, "site.yml", "--tags", "firewall")
    assert status == 0, output
    assert {port: _reached(lab, port) for port in PORTS} == dict.fromkeys(PORTS, (False, False))
