"""Which Debian mirror this machine uses, read from apt's own configuration."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# debootstrap fetches over these; suites as Debian itself names them, or their code names
_SCHEMES = ("http://", "https://", "file:/")
_SUITES = frozenset({"bullseye", "bookworm", "trixie", "forky", "sid", "oldstable", "stable", "testing", "unstable"})

_ONE_LINE = re.compile(r"^deb\s+(?:\[[^]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<components>(?:\s+[^\s#]+)*)")


@dataclass(frozen=True, slots=True)
class Source:
    """One archive that apt fetches packages from."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]

    @property
    def is_debian(self) -> bool:
        """Whether a whole Debian release lies there: not a vendor's packages, nor updates alone."""
        return self.uri.startswith(_SCHEMES) and "main" in self.components and not _SUITES.isdisjoint(self.suites)


def debian(apt: Path = Path("/etc/apt")) -> str:
    """Return the mirror that apt uses for Debian itself; "" where it uses none, so that debootstrap takes its own."""
    return next((source.uri.rstrip("/") for source in sources(apt) if source.is_debian), "")


def sources(apt: Path) -> Iterator[Source]:
    """Yield apt's enabled sources, from sources.list and sources.list.d, in both formats."""
    extra = apt / "sources.list.d"
    for path in (apt / "sources.list", *sorted(extra.glob("*.list")), *sorted(extra.glob("*.sources"))):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        yield from _paragraphs(text) if path.suffix == ".sources" else _one_liners(text)


def proxy() -> str:
    """Return the proxy that apt goes through, or nothing; debootstrap does not ask apt itself."""
    try:
        done = subprocess.run(
            ["apt-config", "shell", "PROXY", "Acquire::http::Proxy"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"^PROXY='([^']*)'", done.stdout)
    return "" if found is None or found[1] == "DIRECT" else found[1]


def _one_liners(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        found = _ONE_LINE.match(line.strip())
        if found:
            yield Source(found["uri"], (found["suite"],), tuple(found["components"].split()))


def _paragraphs(text: str) -> Iterator[Source]:
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for paragraph in re.split(r"\n\s*\n", lines):
        unfolded = re.sub(r"\n[ \t]+", " ", paragraph)
        fields = {
            name.strip().lower(): value.split()
            for name, _, value in (line.partition(":") for line in unfolded.splitlines())
        }
        if fields.get("enabled", ["yes"])[:1] != ["no"] and "deb" in fields.get("types", []):
            for uri in fields.get("uris", []):
                yield Source(uri, tuple(fields.get("suites", [])), tuple(fields.get("components", [])))
