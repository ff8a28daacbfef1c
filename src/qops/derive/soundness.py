"""Whether what one answer shows to be well may speak for the whole that was shown."""

from qops.data.messages import backend, model, process
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.torch import TorchLog

# An assertion that names no shape says nothing; nor does a compiler that refuses an architecture it dropped.
_OPEN = (process.ERROR_LINE.id, model.SHAPE.id, backend.ASSEMBLER_ARCH.id)


def unexplained(logs: Logs | None) -> bool:
    """Return whether a line calls itself an error and holds no message that is known."""
    errors = logs.find(process.ERROR_LINE) if logs else ()
    if not logs or not errors:
        return False
    known = {(h.quote.source, h.quote.line) for h in logs.hits if h.id not in _OPEN}
    return any((h.quote.source, h.quote.line) not in known for h in errors)


def none_serves(engines: EngineLogs | None) -> bool:
    """Return whether logs of engines were shown, and none of them serves."""
    return engines is not None and not any(log.serves for log in engines.logs)


def alone(logs: Logs | None, engines: EngineLogs | None, nccl: NcclLog | None, torch: TorchLog | None) -> bool:
    """Return whether no job and no engine was shown whose state is not known, and no error that nobody knows.

    That a driver answers or a service runs is what was asked about when nothing else was shown. It says nothing of a
    job beside it.
    """
    return nccl is None and torch is None and not none_serves(engines) and not unexplained(logs)
