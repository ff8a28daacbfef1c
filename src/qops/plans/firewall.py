"""The plan of the role firewall: who reaches the API."""

from collections.abc import Sequence

from qops.derive import firewall, ranges
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.ranges import Interval
from qops.derive.setting import Setting, State, setting
from qops.errors import UsageError
from qops.evidence.firewall import Firewall, Listeners
from qops.inventory.host import is_true
from qops.plans.base import Options, Plan, RolePlan, Seen

DEFAULT_PORTS = ["8000-8009", "8265", "30000"]
"""vLLM's port with room for more of them, Ray's dashboard (which runs jobs for whoever reaches it), SGLang's."""

_NAME = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@*")


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    now: Firewall | None = seen.get(Firewall)
    listening: Listeners | None = seen.get(Listeners)
    wanted = _wanted(options, listening)
    rules = firewall.ruleset(wanted)
    closed = ", ".join(ranges.told(wanted.ports))
    managed = is_true(options["manage"])
    return Plan(
        settings=_settings(now, wanted, rules),
        refused=_refused(wanted, now, listening),
        unsafe=_unsafe(now, listening, wanted.ports),
        notes=_notes(wanted, listening) if managed else _open(now, listening, wanted.ports),
        facts={"rules": rules, "installed": bool(now and now.installed), "manager": now.manager if now else ""},
        intent={
            firewall.TABLE: firewall.digest(rules),
            firewall.PORTS: closed,
            firewall.ALLOW: ", ".join(str(n) for n in wanted.allow),
        },
    )


def _wanted(options: Options, listening: Listeners | None) -> firewall.Wanted:
    said = options["ssh_ports"]
    auto = said in ("auto", ["auto"])
    ssh = ranges.ports([] if auto else _listed(said, "firewall_ssh_ports"), "firewall_ssh_ports")
    if any(begin != end for begin, end in ssh):
        raise UsageError("firewall_ssh_ports has a range", "name each port")
    if options["published"] not in ("closed", "leave"):
        raise UsageError(f"firewall_published cannot be {options['published']!r}", "give closed or leave")
    inside = [str(name) for name in _listed(options["interfaces"], "firewall_interfaces")]
    if strange := [name for name in inside if name in ("", "*") or not set(name) <= _NAME or "*" in name[:-1]]:
        raise UsageError(f"firewall_interfaces has {strange[0]!r}, which is no interface", "give names: docker0, br-*")
    return firewall.Wanted(
        ports=ranges.ports(_listed(options["ports"], "firewall_ports"), "firewall_ports"),
        allow=ranges.networks(_listed(options["allow"], "firewall_allow"), "firewall_allow"),
        open=ranges.ports(_listed(options["open"], "firewall_open"), "firewall_open"),
        inside=tuple(inside),
        # What the inventory says is allowed beside what is in use: it can open a port, and never cut a session.
        ssh=tuple(sorted({*(port for port, _ in ssh), *(listening.ssh if listening else ())})),
        published=options["published"] == "closed",
    )


def _listed(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise UsageError(f"{name} is no list: {value!r}", f"write {name}: [{value}]")
    return value


def _settings(now: Firewall | None, wanted: firewall.Wanted, rules: str) -> tuple[Setting, ...]:
    closed = ", ".join(ranges.told(wanted.ports)) or "none"
    current: str | None = None
    if now is not None and now.loaded is not None:
        wrong = firewall.altered(now, firewall.digest(rules), wanted.ports, wanted.allow)
        current = (wrong or firewall.digest(rules)) if now.loaded else ""
    allowed = ", ".join(str(n) for n in wanted.allow)
    who = (
        f"open to {allowed} and to this host"
        if allowed
        else "the API asks nobody who they are, so only this host is let in"
    )
    return (
        setting(firewall.TABLE, firewall.digest(rules), current, f"closes ports {closed}: {who}"),
        Setting(
            firewall.PUBLISHED,
            "",
            "closed" if wanted.published else "",
            "",
            State.SET if wanted.published else State.LEFT,
            "Docker lets a published port in before ufw or firewalld see it"
            if wanted.published
            else "the inventory says so; the ports above are closed all the same",
        ),
        Setting(
            "firewall.ssh",
            "",
            ", ".join(str(p) for p in wanted.ssh),
            "",
            State.SET if wanted.ssh else State.UNSEEN,
            "SSH comes in there, and stays open whatever else is closed",
        ),
    )


def _refused(wanted: firewall.Wanted, now: Firewall | None, listening: Listeners | None) -> tuple[str, ...]:
    reasons = [
        f"port {port} is SSH's, and firewall_ports would close it: take it out of firewall_ports"
        for port in wanted.ssh
        if ranges.holds(wanted.ports, port)
    ]
    if not wanted.ssh and listening is not None:
        reasons.append("no SSH server was seen, so nothing says which port must stay open: set firewall_ssh_ports")
    if now is not None and not now.installed and not now.manager:
        reasons.append("nft is not installed, and neither apt-get nor dnf is there to install it")
    return tuple(reasons)


def _unsafe(now: Firewall | None, listening: Listeners | None, ports: Sequence[Interval]) -> tuple[str, ...]:
    if listening is None or now is None:
        return ("it could not be seen which ports are open",)
    if now.loaded:
        return ()
    return tuple(
        f"port {one.port} of {one.process or 'an unknown program'} is open to every network"
        f"{' (published by a container, so ufw and firewalld do not see it)' if firewall.published(one) else ''}: "
        "close it, bind it to 127.0.0.1, or set firewall_manage: true"
        for one in firewall.exposed(listening, ports)
        if not firewall.filtered(one, now)
    )


def _open(now: Firewall | None, listening: Listeners | None, ports: Sequence[Interval]) -> tuple[str, ...]:
    """Return who listens on every address, and who may filter that, where this role is not to do it."""
    if now is None or listening is None:
        return ()
    who = "the rules of qops, which were left" if now.loaded else ", ".join(now.others) or "rules in DOCKER-USER"
    return tuple(
        f"port {one.port} of {one.process or 'an unknown program'} is open to every network but for {who}"
        for one in firewall.exposed(listening, ports)
        if now.loaded or firewall.filtered(one, now)
    )


def _notes(wanted: firewall.Wanted, listening: Listeners | None) -> tuple[str, ...]:
    notes = [f"firewall_allow has {n}: the API is open to everybody" for n in wanted.allow if n.prefixlen == 0]
    if listening is None or not wanted.published:
        return tuple(notes)
    ports = sorted(
        {
            one.port
            for one in firewall.exposed(listening, ())
            if firewall.published(one) and not ranges.holds((*wanted.ports, *wanted.open), one.port)
        }
    )
    if ports:
        told = ", ".join(str(p) for p in ports)
        notes.append(f"containers publish {told}: closed to all but firewall_allow; firewall_open leaves a port open")
    return tuple(notes)


PLAN = RolePlan(
    role="firewall",
    kinds=(Firewall, Listeners),
    defaults={
        "manage": True,
        "ports": DEFAULT_PORTS,
        "allow": [],
        "published": "closed",
        "open": [],
        "interfaces": ["docker0", "podman0"],
        "ssh_ports": ["auto"],
    },
    make=make,
    needs_class=False,
)
