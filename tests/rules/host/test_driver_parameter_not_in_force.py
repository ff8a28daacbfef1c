from judging import found, judged, outcomes

from qops.evidence.driver_setup import DriverSetup, ModuleOption
from qops.evidence.gpu import DriverParams
from qops.evidence.intent import Intent
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.driver_parameter_not_in_force import driver_parameter_not_in_force

QUOTE = Quote("driver setup", 9, "option /etc/modprobe.d/qops-nvidia.conf:options nvidia NVreg_EnableStreamMemOPs=1")


def setup(**options: str) -> DriverSetup:
    return DriverSetup(options=tuple(ModuleOption(n, v, QUOTE) for n, v in options.items()), quote=QUOTE)


def params(**values: str) -> DriverParams:
    return DriverParams(values, "/proc/driver/nvidia/params")


def test_the_module_was_loaded_before() -> None:
    (one,) = found(driver_parameter_not_in_force, setup(EnableStreamMemOPs="1"), params(EnableStreamMemOPs="0"))
    assert one.message == "EnableStreamMemOPs is to be 1, and the module was loaded with 0"


def test_look_alike_the_same_number_shown_otherwise() -> None:
    now = params(DeviceFileMode="438", UsePageAttributeTable="4294967295")
    (outcome,) = (
        judged(driver_parameter_not_in_force, setup(DeviceFileMode="0x1b6", UsePageAttributeTable="-1"), now) or ()
    )
    assert isinstance(outcome, RuledOut)


def test_a_parameter_that_this_driver_does_not_have() -> None:
    assert found(driver_parameter_not_in_force, setup(Gone="1"), params(EnableMSI="1")) == []


def test_look_alike_what_another_rule_sees_to() -> None:
    chosen = Intent(("pcie_p2p",), settings={"module.nvidia.NVreg_RegistryDwords": "ForceP2P=17"})
    assert (
        judged(driver_parameter_not_in_force, setup(RegistryDwords="ForceP2P=17"), params(RegistryDwords=""), chosen)
        == ()
    )


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(driver_parameter_not_in_force, {}) is None
