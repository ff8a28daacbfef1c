"""HST110: an engine's API is open to every network."""

from collections.abc import Iterator

from qops.derive import firewall as wanted
from qops.derive import ranges
from qops.errors import UsageError
from qops.evidence.firewall import Firewall, Listeners
from qops.evidence.intent import Intent
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST110",
    "api-port-open",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "close the API's ports to all but the networks that need them",
            commands=("ansible-playbook site.yml --tags firewall --limit HOST",),
            risk="clients outside firewall_allow are cut off",
            variable="firewall_allow",
            tag="firewall",
        ),
        Fix(
            "let the engine listen on this host alone, behind a proxy",
            kind="workaround",
            commands=("vllm serve MODEL --host 127.0.0.1", "docker run -p 127.0.0.1:8000:8000 IMAGE"),
        ),
    ),
)
def api_port_open(firewall: Firewall, listeners: Listeners | None, intent: Intent | None) -> Iterator[Found | RuledOut]:
    """An engine's API is open to every network."""
    if firewall.quote is None or firewall.loaded is None:
        return
    meant = intent.settings if intent and wanted.TABLE in intent.settings else None
    if meant is not None:
        wrong = _altered(firewall, meant)
        if wrong:
            yield Found(
                subject="packet filter",
                message=f"the rules that close ports {meant.get(wanted.PORTS, '')} are not in force: {wrong}",
                evidence=(firewall.quote,),
                confidence=Confidence.CERTAIN,
            )
        else:
            yield RuledOut("the rules that the role firewall wrote are loaded", (firewall.quote,))
    if firewall.loaded or meant is not None or listeners is None:
        return
    for one in wanted.exposed(listeners, ()):
        if not wanted.filtered(one, firewall):
            past = ", past ufw and firewalld, as a container publishes it" if wanted.published(one) else ""
            yield Found(
                subject=f"port {one.port}",
                message=f"{one.process} takes connections on port {one.port} from every network{past}",
                evidence=(one.quote,),
                confidence=Confidence.POSSIBLE,  # something outside the host may filter
                severity=Severity.INFO,
            )


def _altered(firewall: Firewall, meant: dict[str, str]) -> str:
    def parts(key: str) -> list[str]:
        return [part for part in meant.get(key, "").split(", ") if part]

    try:
        ports = ranges.ports(parts(wanted.PORTS), wanted.PORTS)
        allow = ranges.networks(parts(wanted.ALLOW), wanted.ALLOW)
    except UsageError as error:
        return f"what the role wrote down cannot be read ({error.message})"
    return wanted.altered(firewall, meant[wanted.TABLE], ports, allow)
