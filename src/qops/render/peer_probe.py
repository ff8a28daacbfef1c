"""What NCCL will do between GPUs, and what a probe of it measured, for people and as JSON."""

import json
from collections.abc import Iterator

from qops.derive import peer_probe as derived
from qops.derive.nccl_environment import Environment
from qops.derive.p2p import Level
from qops.evidence.peer_probe import Outcome, PeerArm, PeerGroup, PeerProbe
from qops.render.screen import Line

SCHEMA = 1
_STYLE = {Outcome.RIGHT: "bold green", Outcome.WRONG: "bold red", Outcome.HUNG: "bold red"}
_MEANING = {
    "as is": "as NCCL decides by itself",
    "wide": "peer-to-peer between all pairs (NCCL_P2P_LEVEL=SYS)",
    "off": "without peer-to-peer (NCCL_P2P_DISABLE=1)",
}


def prediction(reach: Level, told: Environment) -> list[Line]:
    """Return the lines of a prediction."""
    lines: list[Line] = [[("level      ", "bold"), (f"{reach.value}: {reach.because}", "")]]
    for plan in told.pairs:
        pair = f"{plan.pair.a} {plan.pair.b}"
        lines.append([(f"{pair:<11}", "bold"), (f"{plan.transport:<4} ", ""), (plan.because, "dim")])
    for choice in told.variables:
        if choice.name.startswith("NCCL_P2P"):
            value = "left alone" if choice.value is None else choice.value
            lines.append([(f"{choice.name}: ", "bold"), (f"{value}: {choice.because}", "")])
    lines += [[("would tell ", "dim"), (one, "cyan")] for one in told.open]
    return lines


def prediction_document(reach: Level, told: Environment) -> str:
    """Return a prediction as JSON text, ending with a newline."""
    made = {
        "schema": SCHEMA,
        "level": {"value": reach.value, "because": reach.because},
        "pairs": [
            {"gpus": [p.pair.a, p.pair.b], "path": p.pair.path, "transport": p.transport, "because": p.because}
            for p in told.pairs
        ],
        "variables": [{"name": c.name, "value": c.value, "because": c.because} for c in told.variables],
        "would_tell": list(told.open),
    }
    return json.dumps(made, indent=2) + "\n"


def result(probe: PeerProbe, place: str) -> list[Line]:
    """Return the lines of a result; `place` is where it is kept, or "" when it was interrupted."""
    where = probe.image or "a Python of the host"
    lines: list[Line] = [
        [(f"{len(probe.gpus)} GPUs, driver {probe.driver}, NCCL {probe.nccl}, PyTorch {probe.torch}, in {where}", "")],
        [("", "")],
    ]
    for arm in probe.arms:
        lines += _arm(arm)
    lines.append([(conclusion(probe), "bold")])
    kept = f"kept in {place}" if place else "interrupted: nothing is kept, and nothing is left running"
    return [*lines, [(kept, "dim")]]


def conclusion(probe: PeerProbe) -> str:
    """Return in one sentence what a result means."""
    if bad := derived.failing(probe):
        culprit = derived.culprit(bad)
        between = f" between {_names(culprit)}" if culprit else ""
        return f"peer-to-peer{between} does not work: {bad.outcome} with it, right without it"
    failed = next((arm for arm in probe.arms if arm.outcome is not Outcome.RIGHT), None)
    if failed:
        why = f": {failed.error}" if failed.error else ""
        return f"nothing is proved of peer-to-peer: the attempt {failed.name!r} came out as {failed.outcome}{why}"
    if any(derived.passed(arm) for arm in probe.arms):
        return "peer-to-peer works between every pair: right data, with it and without it"
    return "the data is right, and not every pair uses peer-to-peer: the driver or NCCL leaves it out"


def _arm(arm: PeerArm) -> Iterator[Line]:
    yield [
        (f"{_MEANING.get(arm.name, arm.name)}: ", "bold"),
        (str(arm.outcome), _STYLE.get(arm.outcome, "bold yellow")),
        (f", {arm.seconds:.0f} s{f': {arm.error}' if arm.error else ''}", ""),
    ]
    for group in arm.groups:
        yield [(f"  {_names(group):<14}", ""), (f"{', '.join(group.transports) or '?':<24}", ""), (_sizes(group), "")]
    yield [("", "")]


def _names(group: PeerGroup) -> str:
    if len(group.gpus) > 4:
        return f"{len(group.gpus)} GPUs"
    return "GPU " + "-".join(map(str, group.gpus))


def _sizes(group: PeerGroup) -> str:
    for size in group.sizes:
        if size.wrong:
            return f"{size.wrong} wrong elements of {_size(size.bytes)}"
        if size.seconds is None:
            return f"did not end with {_size(size.bytes)}"
    rate = derived.rate(group)
    first = group.sizes[0] if group.sizes else None
    small = f", {_size(first.bytes)} in {first.seconds * 1e6:.0f} µs" if first and first.seconds else ""
    return f"{rate:.1f} GB/s{small}" if rate is not None else ""


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
