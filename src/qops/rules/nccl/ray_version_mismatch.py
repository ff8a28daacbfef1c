"""NCL026: Ray or Python differs between head and worker."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.evidence.message import Hit, Logs
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

NEAR = 8  # lines: the message is five lines long, and a log may put some of its own between


@rule(
    "NCL026",
    "ray-version-mismatch",
    explains=(
        "job-failed",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "run the same image on every node, or the same Ray and Python to the last number",
            commands=("ray --version", "python3 --version"),
        ),
    ),
)
def ray_version_mismatch(logs: Logs) -> Iterator[Found | RuledOut]:
    """Ray or Python differs between head and worker."""
    client = logs.first(launch.RAY_CLIENT_MISMATCH)
    if client:
        pair = (client.groups.get("client"), client.groups.get("server"))
        text = f"Python {pair[0]} here and {pair[1]} on the cluster" if all(pair) else "different releases of Ray"
        yield Found("Ray client", f"this client and the cluster run {text}", (client.quote,), Confidence.CERTAIN)
    seen: set[str] = set()
    for hit in logs.find(launch.RAY_MISMATCH):
        rays, pythons = (_after(hit, logs.find(m)) for m in (launch.RAY_RAY_VERSION, launch.RAY_PYTHON_VERSION))
        differ = [f"{n} {a} and {b}" for n, (a, b) in (("Ray", _two(rays)), ("Python", _two(pythons))) if a != b]
        message = f"the cluster and this node run {' and '.join(differ)}" if differ else "Ray or Python differ"
        if message in seen:
            continue
        seen.add(message)
        warning = hit.groups.get("patch") is not None  # the Ray client goes on after this one
        yield Found(
            "Ray node",
            message,
            (hit.quote, *(h.quote for h in (*rays[:2], *pythons[:2]))),
            Confidence.CERTAIN,
            severity=Severity.WARNING if warning else None,
            role=Role.CONTRIBUTING if warning else None,
        )


def _after(head: Hit, hits: tuple[Hit, ...]) -> list[Hit]:
    return [h for h in hits if h.quote.source == head.quote.source and 0 < h.quote.line - head.quote.line <= NEAR]


def _two(hits: list[Hit]) -> tuple[str, str]:
    return (hits[0].groups["version"], hits[1].groups["version"]) if len(hits) > 1 else ("", "")
