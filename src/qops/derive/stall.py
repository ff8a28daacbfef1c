"""The signs that a multi-GPU job stands still, each of another kind, so that rules can weigh how many agree.

No sign here names a cause. A rule that blames a platform needs the stall and the platform's fault.
"""

from msgspec import Struct

from qops.data.messages import engine as engine_messages
from qops.data.messages import launch
from qops.data.messages import nccl as nccl_messages
from qops.data.messages import torch as torch_messages
from qops.derive import progress
from qops.derive.ranks import ras_lags, torch_lags
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.text import Quote
from qops.evidence.torch import TorchLog
from qops.pattern import lazy

# What SGLang prints between the lines that capture began and that it ended: its sizes, and a bar without a title.
_CAPTURING = lazy(r"Capture cuda graph bs \[|\d{1,3}%\|[^|]{0,200}\| (?P<done>\d{1,4})/(?P<total>\d{1,4}) \[")
_BAR_LINES = 100  # a bar may be printed anew on a line of its own for each size


class Sign(Struct, frozen=True):
    """One sign of a stall. `kind`: samples, moment, stated, watchdog, engine, tests, silence."""

    kind: str
    text: str
    quote: Quote


def works(jobs: JobResults | None, engines: EngineLogs | None) -> bool:
    """Return whether something shows that the job got through its collectives: results, or an engine that serves."""
    measured = any(job.measured or job.exit_status == 0 for job in (jobs.jobs if jobs else ()))
    return measured or any(e.ready for e in (engines.logs if engines else ()))


def signs(
    logs: Logs | None,
    nccl: NcclLog | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    engines: EngineLogs | None,
) -> tuple[Sign, ...]:
    """Return the signs that are there, strongest first, one of each kind."""
    found: list[Sign] = []
    spun = progress.spinning(samples, gpus)
    if len(spun) >= 2:
        watts = f" at {spun[0].power:.0f} W" if spun[0].power is not None else ""
        text = f"{len(spun)} GPUs ran at {spun[0].utilization} % for {spun[0].seconds:.0f} s and moved no memory{watts}"
        found.append(Sign("samples", text, spun[0].quotes[0]))
    # People paste the watchdog's line without the rank that stands before it; PyTorch's own parser needs that.
    expired = logs.first(torch_messages.WATCHDOG_TIMEOUT) if logs else None
    timed_out = torch.timeouts[0].quote if torch and torch.timeouts else expired.quote if expired else None
    if timed_out:
        found.append(Sign("watchdog", "a collective timed out", timed_out))
    waiting = logs.first(engine_messages.SHM_BROADCAST) if logs else None
    if waiting:
        found.append(Sign("engine", "the engine waits for a worker", waiting.quote))
    found.extend(_moment(gpus))
    found.extend(_stated(logs))
    header = logs.first(launch.NCCL_TESTS_HEADER) if logs else None
    if header and logs and not logs.find(launch.NCCL_TESTS_ROW):
        found.append(Sign("tests", "nccl-tests printed its head and no result", header.quote))
    found.extend(_silence(logs, nccl, engines))
    return tuple(found)


def _moment(gpus: Gpus | None) -> list[Sign]:
    busy = [
        g
        for g in (gpus.gpus if gpus else ())
        if g.utilization is not None
        and g.utilization >= 95
        and g.power is not None
        and g.power_limit
        and g.power <= progress.WAIT_POWER * g.power_limit
        and not g.memory_utilization
    ]
    if len(busy) < 2:
        return []
    g = busy[0]
    return [
        Sign("moment", f"{len(busy)} GPUs at {g.utilization} % draw {g.power:.0f} W of {g.power_limit:.0f} W", g.quote)
    ]


def _stated(logs: Logs | None) -> list[Sign]:
    busy = logs.first(launch.STATED_BUSY) if logs else None
    if busy is None or logs is None:
        return []
    power = next((h for h in logs.find(launch.STATED_POWER) if h.quote.source == busy.quote.source), None)
    still = logs.first(launch.STATED_NO_PCIE)
    if still:
        return [Sign("stated", f"full utilisation and no PCIe traffic: {still.quote.text}", busy.quote)]
    if power and int(power.groups["watts"]) <= 200:  # a waiting kernel draws 120 to 150 W on boards of 300 W and more
        return [Sign("stated", f"full utilisation at {power.groups['watts']} W", busy.quote)]
    return []


def _silence(logs: Logs | None, nccl: NcclLog | None, engines: EngineLogs | None) -> list[Sign]:
    """Return a sign when the log ends inside NCCL's start or right after it; excerpts end anywhere, so it is weak."""
    ends = {(q.source, q.line) for q in logs.ends} if logs else set()
    banner = logs.find(launch.PYNCCL_BANNER) if logs else ()
    for hit in banner:
        if (hit.quote.source, hit.quote.line) in ends:
            return [Sign("silence", "the engine's log ends where NCCL starts", hit.quote)]
    if nccl and nccl.last and nccl.ranks and not nccl.warnings and (nccl.last.source, nccl.last.line) in ends:
        complete = [r for r in nccl.ranks if r.complete]
        if complete and len(complete) == len(nccl.ranks):
            return [Sign("silence", "every rank started, and then the log is silent", nccl.last)]
    return []


def lag(ras: Ras | None, torch: TorchLog | None) -> Quote | None:
    """Return what shows that ranks wait at different operations: then no path between GPUs is to blame."""
    lags = (*ras_lags(ras), *torch_lags(torch))
    return next((q for one in lags for q in one.quotes[:1]), None)


def in_capture(logs: Logs | None) -> Quote | None:
    """Return the line at which CUDA graph capture stands: its log got no further than its first steps."""
    if logs is None or logs.find(launch.CAPTURE_END):
        return None
    steps = logs.find(launch.CAPTURE_PROGRESS)
    if steps:
        last = steps[-1]
        done, total = int(last.groups["done"][:6]), int(last.groups["total"][:6])
        return last.quote if done < total else None
    begun = logs.find(launch.CAPTURE_BEGIN)
    ends = {(q.source, q.line) for q in logs.ends}
    # A bar without a title follows (SGLang), and what tells of the standstill: the log goes on, and capture does not.
    waits = logs.find(engine_messages.SHM_BROADCAST, torch_messages.WATCHDOG_TIMEOUT)
    for h in begun:
        if (h.quote.source, h.quote.line) in ends or any(_still_capturing(h.quote, q) for q in logs.ends):
            return h.quote
        if any(w.quote.source == h.quote.source and w.quote.line > h.quote.line for w in waits):
            return h.quote
    return None


def _still_capturing(begun: Quote, end: Quote) -> bool:
    """Return whether the log's last line is one of what `begun` began, with steps left to do."""
    if begun.source != end.source or not 0 < end.line - begun.line <= _BAR_LINES:
        return False
    last = list(_CAPTURING.finditer(end.text))[-1:]
    return any(m["done"] is None or int(m["done"]) < int(m["total"]) for m in last)


def custom_allreduce_off(logs: Logs, engines: EngineLogs | None) -> tuple[Quote, ...]:
    """Return what shows that the engine's own all-reduce is off: its message, or its argument."""
    told = logs.first(launch.CUSTOM_AR_OFF)
    if told:
        return (told.quote,)
    for log in engines.logs if engines else ():
        for name, value in log.arguments:
            if name.strip("-").replace("-", "_") == "disable_custom_all_reduce" and value.lower() not in ("false", "0"):
                return (log.quote,)
    return ()


def hosts(nccl: NcclLog | None, logs: Logs | None) -> tuple[Quote, ...]:
    """Return what shows that the job spans several machines."""
    spans = logs.first(launch.CUSTOM_AR_SPANS) if logs else None
    if spans:
        return (spans.quote,)
    told = logs.find(nccl_messages.NODES, launch.NNODES) if logs else ()
    nodes = next((h for h in told if int(h.groups["nodes"]) > 1), None)
    if nodes:
        return (nodes.quote,)
    names: dict[str, Quote] = {}
    for r in nccl.ranks if nccl else ():
        if r.host:
            names.setdefault(r.host, r.quote)
    return tuple(names.values())[:2] if len(names) > 1 else ()
