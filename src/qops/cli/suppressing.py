"""Where suppressions are from: a file, or the variable `qops_suppress` of the hosts of an inventory."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qops.errors import UsageError
from qops.report import HostReport

if TYPE_CHECKING:
    from qops.inventory import Host
    from qops.suppression import Suppression

MOST = 1 << 20  # bytes of a file of suppressions


def settle(file: str | None, inventory: str | None, hosts: "Sequence[Host]") -> Callable[[HostReport], HostReport]:
    """Return what marks the suppressed findings of a report: those of `file`, and those of its host in the inventory.

    UsageError for a mistake in any of them, before a host is asked.
    """
    from qops import suppression

    everywhere = from_file(file) if file else ()
    own = {host.name: _of(host, inventory or "") for host in hosts}
    today = _today()

    def apply(report: HostReport) -> HostReport:
        return suppression.apply(report, (*everywhere, *own.get(report.host, ())), today)

    return apply


def from_file(name: str) -> "tuple[Suppression, ...]":
    """Return the suppressions of a YAML file: a list, or a mapping with the list as `qops_suppress`."""
    import yaml

    from qops import suppression

    try:
        text = Path(name).read_text(encoding="utf-8")
        if len(text) > MOST:
            raise UsageError(f"{name} has more than {MOST >> 20} MiB, which no list of suppressions has")
        value = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - makes texts alone: a wrong day has its line
        node: Any = yaml.compose(text, Loader=yaml.BaseLoader)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}", "name a file of suppressions") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise UsageError(f"{name} is not YAML: {' '.join(str(error).split())[:200]}", suppression.HINT) from None
    if isinstance(value, dict) and list(value) == [suppression.VARIABLE]:
        value, node = value[suppression.VARIABLE], node.value[0][1]
    for place, message in suppression.mistakes(value if value is not None else []):
        raise UsageError(f"{name}:{_line(node, place)}: {message}", suppression.HINT)
    return suppression.read(value or [], name)


def _line(node: Any, place: int) -> int:
    """Return the line of an entry of the list that `node` is."""
    entries = node.value if node.id == "sequence" else ()
    return int((entries[place] if place < len(entries) else node).start_mark.line) + 1


def _of(host: "Host", inventory: str) -> "tuple[Suppression, ...]":
    from qops import suppression

    entries = host.variables.get(suppression.VARIABLE) or []
    if not any(suppression.mistakes(entries)):
        return suppression.read(entries, host.name)
    return suppression.read(entries, _where(host, inventory))


def _where(host: "Host", inventory: str) -> str:
    """Return the file and line with the wrong list of a host, as far as files tell."""
    from qops import suppression
    from qops.inventory import declared

    for one in declared.read([inventory]).variables:
        if one.name == suppression.VARIABLE and any(suppression.mistakes(one.value)):
            return f"{one.where}: {suppression.VARIABLE}"
    return f"{suppression.VARIABLE} of host {host.name}"


def _today() -> date:
    return datetime.now(UTC).date()
