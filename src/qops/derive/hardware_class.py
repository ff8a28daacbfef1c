"""Which hardware class a host is, from its GPUs, or from what the inventory says of it."""

from collections import Counter
from enum import StrEnum

from qops.data.boards import kind
from qops.derive.derived import Derived
from qops.errors import UsageError
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.pcie import PcieTree


class HardwareClass(StrEnum):
    """The classes that qops has settings for. `unknown` has none: whoever would change something stops there."""

    SPARK = "spark"
    RTXPRO = "rtxpro"
    RTX5090 = "rtx5090"
    HGX = "hgx"
    UNKNOWN = "unknown"


def hardware_class(
    gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None = None, *, said: str = ""
) -> Derived[HardwareClass]:
    """Return the class that the boards make, and why.

    `said`, the inventory's word, wins over everything, then what a role wrote on the host, then nvidia-smi, then
    PCI. Boards of different classes, or one that qops does not know among them, make `unknown`. UsageError when
    `said` is no class.
    """
    if said:
        return Derived(_named(said), "the inventory says so")
    if intent is not None and intent.hardware_class in set(HardwareClass):
        return Derived(HardwareClass(intent.hardware_class), "the roles of qops were run for this class")
    names, source = [g.name for g in gpus.gpus if g.name] if gpus else [], "nvidia-smi"
    if not names:
        names, source = [d.name for d in pcie.gpus] if pcie else [], "PCI"
    if not names:
        return Derived(HardwareClass.UNKNOWN, "no NVIDIA GPU was seen, neither by nvidia-smi nor on PCI")
    found = {name: kind(name) for name in names}
    strange = [name for name, board in found.items() if board is None]
    if strange:
        return Derived(HardwareClass.UNKNOWN, f"{source} shows a board that qops does not know: {strange[0]}")
    classes = Counter(board.hardware_class for name in names if (board := found[name]))
    if len(classes) > 1:
        told = ", ".join(f"{count} of {name}" for name, count in sorted(classes.items()))
        return Derived(HardwareClass.UNKNOWN, f"{source} shows boards of several classes: {told}")
    (only,) = classes
    count = len(names)
    title = next(board.title for board in found.values() if board)
    return Derived(HardwareClass(only), f"{source} shows {count} {'board' if count == 1 else 'boards'} {title}")


def _named(name: str) -> HardwareClass:
    try:
        return HardwareClass(name)
    except ValueError:
        known = ", ".join(HardwareClass)
        raise UsageError(f"{name!r} is no hardware class", f"qops knows {known}") from None
