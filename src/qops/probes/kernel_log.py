"""The kernel's log: GPU errors, killed processes, PCIe errors and what it says about the IOMMU."""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from qops.evidence.kernel import AerError, KernelLog, OomKill, Xid
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# `NVRM: Xid (PCI:0000:01:00): 79, pid=…`, `Xid (PCI:0000:01:00 GPU-I:05): …`, before 2013 `Xid (0000:01:00): 31, Ch …`;
# open-gpu-kernel-modules src/nvidia/src/kernel/rmapi/rpc… and nvlog print the same form.
_XID = lazy(r"\bXid \((?:PCI:)?([0-9a-fA-F:.]{4,20})[^)]{0,40}\): ?([0-9]{1,5})\b(.*)")
# `nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 …` (Fabric Manager user guide, appendix D)
_SXID = lazy(r"\bSXid \((?:PCI:)?([0-9a-fA-F:.]{4,20})[^)]{0,40}\): ?([0-9]{1,6})\b(.*)")
# As people shorten them: `Xid 31 GPC1 …`, `NVRM: Xid: 154, …`, `XID error 79`, `SXid 20034`.
_SHORT = lazy(r"\b(S?)XIDs?(?:[ :#=]{1,3}|[ _](?:errors?|codes?|events?)[ :#=]{1,3})([0-9]{1,5})\b(?![.:]\d)(.*)", re.I)
_DENIED = lazy(r"\b(?:no|without|never|not?|any|if|like|e\.g\.)\W{1,3}(?:\w+\W){0,2}$", re.I)
_ABOUT_GPU = lazy(r"gpu|nvrm|nvidia|fallen|fault|\bmmu|\becc|pci", re.I)
_HIGHEST_XID = 199  # NVIDIA's Xid catalogue ends below it (2026)
_PID = lazy(r"\bpid='?([0-9]{1,10})\b")
_NAME = lazy(r"\bname='?([^,']{1,64})")
_TIME = lazy(r"^\s*(?:<[0-9]{1,3}>)?\[\s*([0-9]{1,10}\.[0-9]{6})\]")

_KILLED = lazy(r"\bKill(?:ed)? process ([0-9]{1,10})(?:, UID [0-9]{1,10},)? \(([^)]{1,64})\)")
_KILL_RECORD = lazy(r"\boom-kill:constraint=(\w{1,40}),")
_KILL_TASK = lazy(r"\btask=([^,]{1,64}),pid=([0-9]{1,10})\b")
_INVOKED = lazy(r"(?:^|[\]:] )\s*(\S(?:.{0,60}\S)?) invoked oom-killer:")

_BUS_ERROR = lazy(
    r"(?:([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]): ?)?(?:AER: )?PCIe Bus Error: severity=([^,]{1,40})"
)
_REPORTED = lazy(
    r"\bAER: (?:Multiple )?((?:Corr|Uncorr)\w{2,10}(?: \([A-Za-z-]{1,12}\))?) error(?: message)? received:?"
    r"(?: from)? ([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
)
_UNCOR_STATUS = lazy(r"\baer_uncor_status: 0x([0-9a-fA-F]{1,8})\b")
_STATUS_MASK = lazy(r"\berror status/mask=([0-9a-fA-F]{1,8})/")
_DEVICE_ID = lazy(r"\bdevice_id: ([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")

_DOMAIN = lazy(r"\bDefault domain type: (\w{1,20})")
# Lines that only an initialised unit prints. Not among them: `Default domain type` (printed with iommu=off too),
# DMAR tables (`Host address width`, `DRHD base`) and `DMAR-IR`, which remaps interrupts even with intel_iommu=off.
# AMD's `Interrupt remapping enabled` comes from print_iommu_info(), after the units are initialised.
_ACTIVE = lazy(
    r"DMAR: Intel\(R\) Virtualization Technology for Directed I/O|DMAR: dmar[0-9]{1,3}: Using Queued invalidation"
    r"|DMAR: \[(?:DMA|INTR-REMAP)|DMAR: DRHD: handling fault|DMAR: IOMMU enabled"
    r"|AMD-Vi: (?:Interrupt remapping enabled|Virtual APIC enabled|Lazy IO/TLB flushing|Found IOMMU|Event logged)"
    r"|IO_PAGE_FAULT|Detected AMD IOMMU #|Adding to iommu group|arm-smmu-v3 \S{1,40}: (?:ias|event)"
)
_LOADED = lazy(r"NVRM: loading NVIDIA|nvidia-modeset: Loading NVIDIA|nvidia: loading out-of-tree module")
# What the driver prints beside the lines of a load, and where all is well.
_CALM = lazy(r"NVRM: (?:loading NVIDIA|GPU at PCI:|GPU Board Serial Number|Persistence mode is deprecated)")
_JOURNAL = lazy(r"^(?:\w{3} {1,2}[0-9]{1,2} [0-9:]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T\S{1,40}) \S{1,255} kernel: ")
_CTIME = lazy(r"^\s*\[\w{3} \w{3} [ 0-9]{2} [0-9:]{8} [0-9]{4}\] ")

# One of these is in every line that matters; a plain `in` is much cheaper than the patterns.
_SIGNS = (
    "xid", "oom", "kill", "aer: ", "aer_uncor_status", "pcie bus error", "error status/mask", "device_id: ",
    "domain type", "dmar: ", "amd-vi", "amd iommu", "iommu group", "io_page_fault", "arm-smmu",
    "nvidia-modeset: loading", "nvidia: loading", "nvrm: ",
)  # fmt: skip


class _Found(Struct):
    """What one text says; the first element of each pair tells equal lines of dmesg and journal."""

    xids: list[Xid] = field(default_factory=list)
    kills: list[OomKill] = field(default_factory=list)
    aer: list[AerError] = field(default_factory=list)
    active: list[Quote] = field(default_factory=list)
    loaded: list[Quote] = field(default_factory=list)
    complaints: list[Quote] = field(default_factory=list)
    domain: str = ""

    def __bool__(self) -> bool:
        return bool(self.xids or self.kills or self.aer or self.active or self.loaded or self.domain)


def _kernel_line(line: str) -> bool:
    if "NVRM: " in line or (" kernel: " in line and _JOURNAL.match(line)):
        return True
    return "[" in line[:20] and bool(_TIME.match(line) or _CTIME.match(line))


def recognise(text: Text) -> bool:
    """Return whether `text` holds lines of the kernel's log, or a shortened report of one."""
    return any(_kernel_line(line) for line in text.lines) or bool(_read(text))


def parse(texts: Sequence[Text]) -> KernelLog | None:
    """Return what the kernel said; None when there is no line of it, as when dmesg is denied.

    The same line in dmesg and in the journal counts once.
    """
    readings = [(text, _read(text)) for text in texts]
    if not any(found or any(_kernel_line(line) for line in text.lines) for text, found in readings):
        return None
    total = _Found()
    seen: set[tuple[float | None, str]] = set()
    for _, found in readings:
        total.xids += (x for x in found.xids if _moment(x.quote) not in seen)
        total.kills += (x for x in found.kills if _moment(x.quote) not in seen)
        total.aer += (x for x in found.aer if _moment(x.quote) not in seen)
        quotes = [*(x.quote for x in found.xids), *(x.quote for x in found.kills), *(x.quote for x in found.aer)]
        seen |= {moment for moment in map(_moment, quotes) if moment[0] is not None}
        total.active += found.active
        total.loaded += found.loaded
        total.complaints += found.complaints
        total.domain = total.domain or found.domain
    return KernelLog(
        xids=tuple(total.xids),
        oom_kills=tuple(total.kills),
        aer=tuple(total.aer),
        iommu_domain=total.domain,
        iommu_active=tuple(total.active[:20]),
        nvidia_loaded=tuple(total.loaded[:20]),
        complaints=tuple(total.complaints[:20]),
        lines=sum(len(t.lines) for t in texts),
        source=texts[0].source,
    )


def _moment(quote: Quote) -> tuple[float | None, str]:
    stamp = _TIME.match(quote.text)
    return (float(stamp[1]) if stamp else None, quote.text.rpartition("] ")[2].rpartition("kernel: ")[2])


def _read(text: Text) -> _Found:
    found = _Found()
    device = ""
    invoked: list[OomKill] = []
    whole = "\n".join(text.lines).lower()
    signs = [sign for sign in _SIGNS if sign in whole]  # of most logs none: then no line is looked at
    if not signs:
        return found
    for index, line in enumerate(text.lines):
        lowered = line.lower()
        if not any(sign in lowered for sign in signs):
            continue
        if "xid" in lowered and (xid := _xid(text, index)):
            found.xids.append(xid)
        elif "kill" in lowered and (kill := _kill(text, index)):
            if kill.pid is None:
                invoked.append(kill)
            elif kill.pid not in {k.pid for k in found.kills[-4:]}:
                found.kills.append(kill)
        elif match := _DEVICE_ID.search(line):
            device = match[1].lower()
        elif "aer" in lowered or "error" in lowered:
            _aer(text, index, device, found)
        if match := _DOMAIN.search(line):
            found.domain = found.domain or match[1]
        if _ACTIVE.search(line):
            found.active.append(text.quote(index))
        if _LOADED.search(line):
            found.loaded.append(text.quote(index))
        if "nvrm: " in lowered and not _CALM.search(line):
            found.complaints.append(text.quote(index))
    found.kills = found.kills or invoked
    return found


def _xid(text: Text, index: int) -> Xid | None:
    line = text.lines[index][:4000]
    bus, switch = "", False
    if match := _SXID.search(line):
        bus, code, detail, switch = match[1], int(match[2]), match[3], True
    elif match := _XID.search(line):
        bus, code, detail = match[1], int(match[2]), match[3]
    elif match := _SHORT.search(line):
        # A lower-case xid is a transaction's number in many programs; a shortened code is one of the catalogue's.
        named = match[0][:1].isupper() or _ABOUT_GPU.search(line)
        if not named or _DENIED.search(line[: match.start()][-40:]):
            return None
        switch, code, detail = bool(match[1]), int(match[2]), match[3]
        if not switch and code > _HIGHEST_XID:
            return None
    else:
        return None
    # Xid numbers have three digits at most (NVIDIA's catalogue ends below 200), SXid numbers five.
    if not 0 < code < (100_000 if switch else 1000):
        return None
    pid, name, time = _PID.search(detail), _NAME.search(detail), _TIME.match(line)
    return Xid(
        code=code,
        quote=text.quote(index),
        bus_id=bus.lower(),
        pid=int(pid[1]) if pid else None,
        process=name[1].strip() if name and "<unknown>" not in name[1] else "",
        detail=detail.lstrip(" ,:").strip()[:500],
        switch=switch,
        at=float(time[1]) if time else None,
    )


def _kill(text: Text, index: int) -> OomKill | None:
    line = text.lines[index][:4000]
    if match := _KILLED.search(line):
        return OomKill(text.quote(index), int(match[1]), match[2], "emory cgroup out of memory" in line)
    if match := _KILL_RECORD.search(line):
        task = _KILL_TASK.search(line)
        if task:
            return OomKill(text.quote(index), int(task[2]), task[1], match[1] == "CONSTRAINT_MEMCG")
    if match := _INVOKED.search(line):
        return OomKill(text.quote(index), None, match[1])
    return None


def _aer(text: Text, index: int, device: str, found: _Found) -> None:
    line = text.lines[index][:4000]
    if match := _BUS_ERROR.search(line):
        found.aer.append(AerError(text.quote(index), (match[1] or "").lower(), match[2].strip()))
    elif match := _REPORTED.search(line):
        found.aer.append(AerError(text.quote(index), match[2].lower(), match[1]))
    elif match := _UNCOR_STATUS.search(line):
        if int(match[1], 16):  # 0: the record is about a correctable error
            found.aer.append(AerError(text.quote(index), device, "Uncorrectable", int(match[1], 16)))
    elif (match := _STATUS_MASK.search(line)) and found.aer and found.aer[-1].severity.startswith("Uncorr"):
        last = found.aer.pop()
        found.aer.append(AerError(last.quote, last.device, last.severity, int(match[1], 16)))


PROBE = Probe(
    name="kernel_log",
    makes=KernelLog,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(("dmesg",), "GPU errors (Xid), PCIe errors and killed processes", root=True),
        Command(
            ("journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager", "-n", "20000"),
            "the same from the journal, which keeps what dmesg's buffer has lost",
            timeout=20.0,
            root=True,
        ),
    ),
    literals=(
        "xid", "oom-kill", "kill process", "killed process", "pcie bus error", "aer: ", "aer_uncor_status",
        "error status/mask", "device_id: ", "default domain type", "dmar: ", "amd-vi", "iommu", "io_page_fault",
        "nvrm: ", "nvidia-modeset: loading",
    ),
)  # fmt: skip
