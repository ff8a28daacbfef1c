import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from judging import text

from qops.derive import ranges
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.firewall import Firewall, Listener, Listeners
from qops.evidence.text import Quote
from qops.plans.base import Plan
from qops.plans.firewall import PLAN
from qops.probes import firewall, listeners

Q = Quote("ss -tulnp", 1, "== listening ports")
CLASS = Derived(HardwareClass.HGX, "nvidia-smi shows 8 boards")
BARE = Firewall(installed=False, loaded=False, manager="apt", quote=Q)


def _listening(*extra: Listener, ssh: tuple[int, ...] = (22,)) -> Listeners:
    return Listeners((Listener("tcp", "0.0.0.0", 22, Q, "sshd"), *extra), ssh, Q)


def _plan(seen: dict[type, Any] | None = None, **options: Any) -> Plan:
    given = {Firewall: BARE, Listeners: _listening()} if seen is None else seen
    return PLAN.make(given, CLASS, {**PLAN.defaults, **options})


def _loaded(plan: Plan) -> Firewall:
    """Return the table as nft prints it once the plan's rules are loaded."""
    printed = f"== packet filter nft=/usr/sbin/nft manager=apt\n{_as_nft_prints(str(plan.facts['rules']))}\n"
    return firewall.parse([text(printed, "nft.txt")])  # type: ignore[return-value]


def _as_nft_prints(rules: str) -> str:
    body = rules.split("delete table inet qops\n", 1)[1]
    lines = []
    for line in body.splitlines():
        if line.startswith("  set "):
            head, _, rest = line.strip().partition(" { ")
            parts = [part.strip() for part in rest.removesuffix("}").split("; ") if part.strip(" ;")]
            lines += [f"\t{head} {{", *(f"\t\t{part.rstrip(';')}" for part in parts), "\t}"]
        else:
            lines.append(line.replace("    ", "\t\t").replace("  ", "\t"))
    return "\n".join(lines)


def test_the_api_is_closed_and_ssh_is_open_by_default() -> None:
    plan = _plan()
    rules = str(plan.facts["rules"])
    assert "elements = { 8000-8009, 8265, 30000 }" in rules
    assert "tcp dport { 22 } accept" in rules
    assert rules.index("tcp dport { 22 }") < rules.index("th dport @ports drop")
    assert (plan.refused, plan.unsafe, plan.differs) == ((), (), True)
    assert "closes ports 8000-8009, 8265, 30000" in str(plan.settings[0])


def test_no_table_but_its_own_is_touched() -> None:
    lines = str(_plan().facts["rules"]).splitlines()
    assert [line for line in lines if "table" in line and "inet qops" not in line and not line.startswith("#")] == []
    assert not any("flush" in line for line in lines)


def test_the_rules_are_judged_before_docker_translates_addresses() -> None:
    assert "hook prerouting priority -150" in str(_plan().facts["rules"])


def test_loaded_rules_are_as_they_should_be() -> None:
    plan = _plan(allow=["10.0.0.0/9", "10.128.0.0/9", "2001:db8::/64", "192.0.2.7"])
    again = _plan(
        {Firewall: _loaded(plan), Listeners: _listening()}, allow=["192.0.2.7", "10.0.0.0/8", "2001:db8::/64"]
    )
    assert again.settings[0].state is State.SET
    assert not again.differs


@pytest.mark.parametrize(
    "options", [{"ports": ["9000"]}, {"allow": ["10.2.0.0/16"]}, {"published": "leave"}, {"open": [443]}]
)
def test_each_choice_makes_other_rules(options: dict[str, Any]) -> None:
    now = _loaded(_plan())
    assert _plan({Firewall: now, Listeners: _listening()}, **options).differs


def test_a_port_that_is_ssh_s_is_refused() -> None:
    plan = _plan(ports=["1-1024"])
    assert plan.refused == ("port 22 is SSH's, and firewall_ports would close it: take it out of firewall_ports",)


def test_ssh_on_another_port_stays_open_and_the_inventory_can_only_add() -> None:
    plan = _plan({Firewall: BARE, Listeners: _listening(ssh=(2222,))}, ssh_ports=["22"])
    assert "tcp dport { 22, 2222 } accept" in str(plan.facts["rules"])


def test_without_any_ssh_port_the_plan_is_refused() -> None:
    plan = _plan({Firewall: BARE, Listeners: _listening(ssh=())})
    assert "no SSH server was seen" in plan.refused[0]
    assert _plan({Firewall: BARE, Listeners: _listening(ssh=())}, ssh_ports=[22]).refused == ()


def test_what_was_not_seen_is_unseen() -> None:
    plan = _plan({})
    assert "firewall.rules" in plan.unseen
    assert plan.unsafe


def test_without_the_role_an_open_api_is_unsafe() -> None:
    docker = Listener("tcp", "0.0.0.0", 8080, Q, "docker-proxy")
    engine = Listener("tcp", "*", 8000, Q, "python3")
    other = Listener("tcp", "0.0.0.0", 3000, Q, "nginx")
    local = Listener("tcp", "127.0.0.1", 30000, Q, "sglang")
    seen = {Firewall: BARE, Listeners: _listening(docker, engine, other, local)}
    told = _plan(seen).unsafe
    assert [line.split(" of ")[0] for line in told] == ["port 8080", "port 8000"]
    ufw = {**seen, Firewall: Firewall(False, False, others=("ufw",), quote=Q)}
    assert _plan(ufw, manage=False).notes == ("port 8000 of python3 is open to every network but for ufw",)
    assert [line.split(" of ")[0] for line in _plan(ufw).unsafe] == ["port 8080"]


def test_published_ports_that_will_be_closed_are_told() -> None:
    seen = {Firewall: BARE, Listeners: _listening(Listener("tcp", "0.0.0.0", 3000, Q, "docker-proxy"))}
    assert _plan(seen).notes == (
        "containers publish 3000: closed to all but firewall_allow; firewall_open leaves a port open",
    )
    assert _plan(seen, open=["3000"]).notes == ()
    assert _plan(seen, published="leave").notes == ()


def test_everybody_allowed_is_told() -> None:
    assert "open to everybody" in _plan(allow=["0.0.0.0/0"]).notes[0]


@pytest.mark.parametrize(
    "options",
    [
        {"ports": ["http"]},
        {"ports": ["8009-8000"]},
        {"ports": ["0"]},
        {"ports": "8000"},
        {"allow": ["gateway.example.com"]},
        {"allow": ["10.0.0.0/33"]},
        {"interfaces": ['lo" drop']},
        {"interfaces": ["*"]},
        {"published": "open"},
        {"ssh_ports": ["20-30"]},
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _plan(**options)


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is not installed here")
@pytest.mark.parametrize(
    "options", [{}, {"allow": ["10.0.0.0/8", "::1"], "open": [443], "interfaces": ["br-*"]}, {"ports": []}]
)
def test_nft_takes_the_rules(tmp_path: Path, options: dict[str, Any]) -> None:
    file = tmp_path / "rules.nft"
    file.write_text(str(_plan(**options).facts["rules"]))
    done = subprocess.run(["nft", "-c", "-f", str(file)], capture_output=True, text=True, check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("this needs root")
    assert done.returncode == 0, done.stderr


def test_sessions_of_ssh_tell_its_port_and_what_users_forward_does_not() -> None:
    said = """\
== listening ports
tcp   LISTEN 0      4096         0.0.0.0:2222        0.0.0.0:*    users:(("systemd",pid=1,fd=67))
tcp   LISTEN 0      128        127.0.0.1:6010        0.0.0.0:*    users:(("sshd-session",pid=901,fd=9))
tcp   LISTEN 0      4096       127.0.0.53%lo:53      0.0.0.0:*    users:(("systemd-resolve",pid=471,fd=17))
udp   UNCONN 0      0            0.0.0.0:68          0.0.0.0:*    users:(("dhclient",pid=500,fd=7))
tcp   LISTEN 0      4096            [::]:8000           [::]:*    users:(("docker-proxy",pid=77,fd=4))
== ssh sessions
0      0         10.0.0.5:2222     10.0.0.9:50112 users:(("sshd-session",pid=901,fd=4))
0      0         10.0.0.5:41822    10.0.0.7:8000  users:(("sshd-session",pid=901,fd=11))
0      0        127.0.0.1:6010    127.0.0.1:51000 users:(("sshd-session",pid=901,fd=12))
"""
    found = listeners.parse([text(said, "ss.txt")])
    assert found is not None
    assert found.ssh == (2222,)
    assert [(one.address, one.port, one.everywhere) for one in found.listeners] == [
        ("0.0.0.0", 2222, True),
        ("127.0.0.1", 6010, False),
        ("127.0.0.53", 53, False),
        ("0.0.0.0", 68, True),
        ("::", 8000, True),
    ]
    socket = '== listening ports\ntcp LISTEN 0 4096 [::]:22 [::]:* users:(("systemd",pid=1,fd=67))\n== ssh sessions\nssh.socket [::]:22 (Stream)\n'
    assert listeners.parse([text(socket, "ss.txt")]).ssh == (22,)  # type: ignore[union-attr]


def test_who_else_filters() -> None:
    said = "== packet filter nft=/usr/sbin/nft manager=dnf\nfilters: firewalld\nError: No such file or directory\nlist table inet qops\n"
    found = firewall.parse([text(said, "nft.txt")])
    assert found is not None
    assert (found.installed, found.loaded, found.others, found.manager) == (True, False, ("firewalld",), "dnf")
    denied = "== packet filter nft=/usr/sbin/nft manager=apt\nOperation not permitted (you must be root)\n"
    assert firewall.parse([text(denied, "nft.txt")]).loaded is None  # type: ignore[union-attr]


def test_elements_over_several_lines() -> None:
    said = """\
== packet filter nft=/usr/sbin/nft manager=apt
table inet qops {
	comment "qops 0123456789abcdef"
	set allow4 {
		type ipv4_addr
		elements = { 10.1.0.0/16, 10.3.0.0-10.3.0.9,
				192.0.2.7 }
	}
}
-A DOCKER-USER -s 10.9.0.0/16 -j DROP
"""
    found = firewall.parse([text(said, "nft.txt")])
    assert found is not None
    assert found.sets["allow4"] == ("10.1.0.0/16", "10.3.0.0-10.3.0.9", "192.0.2.7")
    assert found.docker_user


def test_sets_that_are_written_differently_are_equal() -> None:
    assert ranges.ports(["8000", "8001-8003", "8002"], "x") == ranges.elements(["8000-8003"])
    assert ranges.intervals(ranges.networks(["10.0.0.0/24", "10.0.1.0/24"], "x")) == ranges.elements(
        ["10.0.0.0-10.0.1.255"]
    )
    assert ranges.elements(["eth0"]) == ()
