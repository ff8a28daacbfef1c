from judging import causes, found, judged, outcomes

from qops.evidence.firewall import Firewall, Listener, Listeners
from qops.evidence.intent import Intent
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.api_port_open import api_port_open

Q = Quote("nft", 1, "== packet filter")
MEANT = Intent(
    ("firewall",),
    "",
    {"firewall.rules": "0123456789abcdef", "firewall.ports": "8000-8009, 30000", "firewall.allow": "10.1.0.0/16"},
)
SETS = {"ports": ("8000-8009", "30000"), "allow4": ("10.1.0.0/16",), "allow6": ()}
LOADED = Firewall(True, True, "0123456789abcdef", SETS, 5, (), False, "apt", Q)


def _open(process: str, port: int = 8000, address: str = "0.0.0.0") -> Listeners:
    return Listeners((Listener("tcp", address, port, Q, process),), (22,), Q)


def test_rules_that_were_flushed_are_found() -> None:
    (one,) = found(api_port_open, Firewall(True, False, quote=Q), MEANT)
    assert one.message == "the rules that close ports 8000-8009, 30000 are not in force: not loaded"


def test_rules_that_were_changed_by_hand_are_found() -> None:
    fewer = Firewall(True, True, "0123456789abcdef", {**SETS, "ports": ("30000",)}, 5, quote=Q)
    assert "changed by hand: the closed ports" in found(api_port_open, fewer, MEANT)[0].message
    wider = Firewall(True, True, "0123456789abcdef", {**SETS, "allow4": ("10.0.0.0/8",)}, 5, quote=Q)
    assert "changed by hand: the allowed networks" in found(api_port_open, wider, MEANT)[0].message
    none = Firewall(True, True, "0123456789abcdef", SETS, 0, quote=Q)
    assert "changed by hand: its rules" in found(api_port_open, none, MEANT)[0].message


def test_rules_in_force_rule_it_out() -> None:
    (only,) = judged(api_port_open, LOADED, MEANT, _open("vllm")) or ()
    assert isinstance(only, RuledOut)


def test_an_engine_open_to_everybody_is_a_note_where_no_role_was_run() -> None:
    (one,) = found(api_port_open, Firewall(True, False, quote=Q), _open("VLLM::APIServer"))
    assert (one.severity, one.message) == ("info", "VLLM::APIServer takes connections on port 8000 from every network")


def test_ufw_covers_a_listener_of_the_host_and_no_published_port() -> None:
    ufw = Firewall(True, False, others=("ufw",), quote=Q)
    assert found(api_port_open, ufw, _open("vllm")) == []
    (one,) = found(api_port_open, ufw, _open("docker-proxy"))
    assert "past ufw and firewalld" in one.message
    own = Firewall(True, False, others=("ufw",), docker_user=True, quote=Q)
    assert found(api_port_open, own, _open("docker-proxy")) == []


def test_what_listens_for_this_host_alone_and_other_programs_are_left_alone() -> None:
    bare = Firewall(True, False, quote=Q)
    assert found(api_port_open, bare, _open("vllm", address="127.0.0.1")) == []
    assert found(api_port_open, bare, _open("nginx")) == []


def test_a_kernel_that_did_not_say_is_no_finding() -> None:
    assert judged(api_port_open, Firewall(True, None, quote=Q), MEANT) == ()


def test_from_what_the_host_printed() -> None:
    nft = "== packet filter nft= manager=apt\n"
    ss = '== listening ports\ntcp   LISTEN 0      4096   *:8000   *:*    users:(("vllm",pid=77,fd=23))\n'
    assert causes({"nft.txt": nft, "ss.txt": ss}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(api_port_open, {}) is None
