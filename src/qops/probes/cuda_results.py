"""A CUDA error number that is a program's only answer."""

from collections.abc import Sequence

from qops.evidence.process import CudaResult, CudaResults
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Probe

# driver_types.h of CUDA 13.0: what a test of cuInit or cudaGetDeviceCount prints when CUDA does not start.
KNOWN = frozenset((34, 35, 36, 100, 101, 209, 222, 700, 719, 802, 803, 804, 999))
_NUMBER = lazy(r"\s*([0-9]{2,3})\s*$")
_AROUND = lazy(r"\s*(?:\[rc=-?[0-9]{1,5}\]|[$#] \S.*)?\s*$")
_MOST_LINES = 20


def _result(text: Text) -> CudaResult | None:
    if len(text.lines) > _MOST_LINES:
        return None
    found: CudaResult | None = None
    for index, line in enumerate(text.lines):
        if match := _NUMBER.match(line[:200]):
            if found is not None or int(match[1]) not in KNOWN:
                return None
            found = CudaResult(int(match[1]), text.quote(index))
        elif not _AROUND.match(line[:2000]):
            return None
    return found


def recognise(text: Text) -> bool:
    """Return whether `text` is one known number, and at most the command and its exit status besides."""
    return _result(text) is not None


def parse(texts: Sequence[Text]) -> CudaResults | None:
    """Return the numbers of all such texts."""
    found = tuple(r for r in map(_result, texts) if r is not None)
    return CudaResults(found) if found else None


PROBE = Probe(name="cuda_results", makes=CudaResults, parse=parse, recognise=recognise)
