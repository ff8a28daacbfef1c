"""HST074: a parameter of the module nvidia is written down and not in force."""

from collections.abc import Iterator

from qops.derive import driver_state
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverParams
from qops.evidence.intent import Intent
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST074",
    "driver-parameter-not-in-force",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "stop what uses the GPUs and load the driver anew, or reboot: a loaded module takes no options",
            commands=("cat /proc/driver/nvidia/params", "grep -s nvidia /etc/modprobe.d/*.conf"),
            risk="programs that use the GPUs are stopped",
            variable="nvidia_driver_parameters",
            tag="nvidia_driver",
        ),
    ),
)
def driver_parameter_not_in_force(
    setup: DriverSetup, params: DriverParams | None, intent: Intent | None
) -> Iterator[Found | RuledOut]:
    """A parameter of the module nvidia is written down and not in force."""
    chosen = intent.settings if intent else {}
    wanted = {o.name: o for o in setup.options if f"module.nvidia.NVreg_{o.name}" not in chosen}  # HST092 sees to those
    if params is None or not wanted:
        return
    wrong = [o for o in wanted.values() if driver_state.parameter_differs(o.name, o.value, params)]
    for option in wrong:
        yield Found(
            subject=f"nvidia, {option.name}",
            message=f"{option.name} is to be {option.value}, and the module was loaded with "
            f"{params.params[option.name] or 'none'}",
            evidence=(option.quote,),
            confidence=Confidence.CERTAIN,
        )
    if not wrong:
        yield RuledOut("the module has the parameters that are written down", tuple(o.quote for o in wanted.values()))
