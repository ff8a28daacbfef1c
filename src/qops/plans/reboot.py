"""The plan of the role reboot: whether a host needs one, and whether it may have one now."""

from collections.abc import Collection

from qops.derive import reboot
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.evidence.boot import BootLoader
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.intent import Intent
from qops.evidence.kernel import KernelCommandLine
from qops.evidence.pcie import PcieTree
from qops.evidence.readiness import Standing
from qops.inventory.host import is_true
from qops.plans.base import Options, Plan, RolePlan, Seen


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    seconds = str(options["timeout"])
    if not (seconds.isascii() and seconds.isdigit() and len(seconds) < 6 and int(seconds) >= 30):
        raise UsageError(f"reboot_timeout cannot be {seconds!r}", "give seconds, 30 or more; a large server takes 900")
    forced, anyway = (is_true(options[name]) for name in ("force", "while_serving"))
    standing: Standing | None = seen.get(Standing)
    module: DriverModule | None = seen.get(DriverModule)
    gpus: Gpus | None = seen.get(Gpus)
    why = reboot.reasons(standing, seen.get(KernelCommandLine), seen.get(BootLoader), module, seen.get(DriverSetup))
    wanted = bool(why) or forced
    busy = reboot.busy(standing, gpus, module)
    refused: tuple[str, ...] = ()
    if wanted and busy and not anyway:
        told = "; ".join(busy[:5]) + (f"; and {len(busy) - 5} more" if len(busy) > 5 else "")
        refused = (f"a reboot would interrupt what runs: {told}. Stop it first, or set reboot_while_serving: true",)
    tree: PcieTree | None = seen.get(PcieTree)
    roles = seen[Intent].roles if Intent in seen else ()
    return Plan(
        settings=(_setting(standing, why, forced=forced),),
        refused=refused,
        notes=tuple(busy) if wanted and not refused else (),
        facts={
            "wanted": wanted,
            "reasons": list(why),
            "timeout": int(seconds),
            # What must be there again: as the driver counts the GPUs, and as PCI does.
            "gpus": {"nvidia-smi": len(gpus.gpus) if gpus else 0, "PCI": len(tree.gpus) if tree else 0},
            # What the roles that were run here promise.
            "rules": _promised(roles),
        },
    )


def _promised(roles: Collection[str]) -> list[str]:
    if not roles:
        return []
    from qops.rules import ALL  # a tenth of a second, which most plans need not take

    return [one.code for one in ALL if one.fix and one.fix[0].tag in roles]


def _setting(standing: Standing | None, why: tuple[str, ...], *, forced: bool) -> Setting:
    if standing is None:
        return Setting("reboot", "", "", "", State.UNSEEN, "the host did not say what it runs")
    if why:
        return Setting("reboot", "", "done", "due", State.DIFFERS, "; ".join(why))
    if forced:
        return Setting("reboot", "", "done", "not due", State.DIFFERS, "reboot_force is true")
    return Setting("reboot", "", "not due", "", State.SET, "kernel, options and driver are those installed")


PLAN = RolePlan(
    role="reboot",
    kinds=(Gpus, Standing, KernelCommandLine, BootLoader, DriverModule, DriverSetup, Intent),
    defaults={"manage": True, "force": False, "while_serving": False, "timeout": 900},
    make=make,
    needs_class=False,
)
