"""SRV011: the download of the weights stands still."""

import re
from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_VERSION = re.compile(r"hf[_-]xet\W{0,4}(\d+)\.(\d+)\.(\d+)")
MENDED = (1, 5, 3)  # hf_xet from which the stall of 1.5.1 is gone (its changelog)
LONG = 600  # seconds without a single byte: a slow hub answers sooner


@rule(
    "SRV011",
    "hf-xet-download-stall",
    explains=("engine-core-failed",),
    fix=(
        Fix("install hf_xet 1.5.3 or later in the image"),
        Fix("download without it", kind="workaround", commands=("HF_HUB_DISABLE_XET=1 COMMAND",)),
    ),
)
def hf_xet_download_stall(logs: Logs) -> Iterator[Found | RuledOut]:
    """The download of the weights stands still."""
    still = tuple(h for h in logs.find(model.DOWNLOAD_STILL) if _seconds(h.groups["elapsed"]) >= LONG)
    without = logs.find(model.XET_WITHOUT)  # who saw it work without hf_xet need not say that it is installed
    xet, stall = (*logs.find(model.XET), *without), (*logs.find(model.XET_STALL), *still, *without)
    versions = [tuple(map(int, m.groups())) for h in xet if (m := _VERSION.search(h.quote.text))]
    if xet and versions and min(versions) >= MENDED:
        yield RuledOut("hf_xet is a version without the stall", quotes(xet, 1))
        return
    if xet and stall:
        old = bool(versions) or bool(without)
        yield Found(
            subject="engine",
            message="a download through hf_xet makes no progress",
            evidence=(*quotes(xet, 2), *quotes(stall, 2)),
            confidence=Confidence.LIKELY if old else Confidence.POSSIBLE,
        )


def _seconds(elapsed: str) -> int:
    """Return the seconds of `H:MM:SS` or `MM:SS`."""
    total = 0
    for part in elapsed.split(":"):
        total = total * 60 + int(part)
    return total
