"""The machine's kernel release, operating system, processor and hypervisor."""

from collections.abc import Sequence

from qops.evidence.kernel import System
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe, Read

# uname -a: `Linux HOST RELEASE #VERSION … MACHINE GNU/Linux`
_UNAME = lazy(
    r"\bLinux \S{1,255} ([0-9]{1,3}\.[0-9]{1,4}[\w.+\-]{0,80}) #.{0,200}?\b(x86_64|aarch64|ppc64le|riscv64)\b"
)
_ID = lazy(r"\s*ID=\"?([a-z][\w.\-]{0,40})\"?\s*$")
_VERSION_ID = lazy(r"\s*VERSION_ID=\"?([\w.\-]{1,40})\"?\s*$")
_LSB = lazy(r"\s*(Distributor ID|Release):\s+(\S{1,40})\s*$")
# lscpu, also inside `collect_env` reports; lscpu indents nested rows since util-linux 2.37.
_LSCPU = lazy(
    r"\s*(Architecture|CPU\(s\)|nproc|Vendor ID|Socket\(s\)|Hypervisor vendor|vendor_id)\s*:\s+(\S.{0,80}?)\s*$"
)
_FLAGS = lazy(r"\s*[Ff]lags\s*:.*\bhypervisor\b")
_SIGN = lazy(
    r"\s*(?:ID=|VERSION_ID=|Distributor|Release:|Arch|CPU\(s\)|nproc|Vendor|Socket|Hypervisor|vendor_id|[Ff]lags)"
)
_NUMBER = lazy(r"[0-9]{1,6}")


def recognise(text: Text) -> bool:
    """Return whether `text` holds uname, os-release, lsb_release, lscpu or cpuinfo lines."""
    return bool(_facts((text,))[0])


def parse(texts: Sequence[Text]) -> System | None:
    """Return what the texts say; the first text that says a thing wins."""
    facts, quote = _facts(texts)
    if not facts:
        return None
    name = " ".join(filter(None, (facts.get("id", ""), facts.get("version", ""))))
    return System(
        kernel=facts.get("kernel", ""),
        machine=facts.get("machine", ""),
        os=name,
        cpu_vendor=facts.get("vendor", ""),
        cpus=_count(facts.get("cpus")),
        sockets=_count(facts.get("sockets")),
        hypervisor=facts.get("hypervisor") or facts.get("flag", ""),
        quote=quote,
    )


def _facts(texts: Sequence[Text]) -> tuple[dict[str, str], Quote | None]:
    facts: dict[str, str] = {}
    first: Quote | None = None
    names = {
        "Architecture": "machine",
        "CPU(s)": "cpus",
        "nproc": "cpus",
        "Vendor ID": "vendor",
        "vendor_id": "vendor",
        "Socket(s)": "sockets",
        "Hypervisor vendor": "hypervisor",
        "Distributor ID": "id",
        "Release": "version",
    }
    for text in texts:
        found: dict[str, str] = {}
        for index, line in enumerate(text.lines):
            if "Linux " not in line and not _SIGN.match(line):
                continue
            before = len(found)
            if match := _UNAME.search(line):
                found.setdefault("kernel", match[1])
                found.setdefault("machine", match[2])
            elif match := _LSCPU.match(line) or _LSB.match(line):
                found.setdefault(names[match[1]], match[2].lower() if match[1] == "Distributor ID" else match[2])
            elif match := _ID.match(line):
                found.setdefault("id", match[1])
            elif match := _VERSION_ID.match(line):
                found.setdefault("version", match[1])
            elif _FLAGS.match(line):
                found.setdefault("flag", "unknown (processor flag)")
            if len(found) > before and first is None:
                first = text.quote(index)
        if set(found) <= {"id"} or set(found) <= {"version"}:
            continue  # one such line alone is something else
        facts = found | facts
    return facts, first if facts else None


def _count(text: str | None) -> int | None:
    return int(text) if text and _NUMBER.fullmatch(text) else None


PROBE = Probe(
    name="system",
    makes=System,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(("uname", "-a"), "the kernel release and the architecture"),
        Read("/etc/os-release", "the operating system and its version"),
        Command(("lscpu",), "the processor, its sockets, and whether a hypervisor is below"),
    ),
)
