from judging import outcomes

from qops.rules.host.module_option_not_in_force import module_option_not_in_force

CHOSEN = (
    '{"qops_role": "pcie_p2p", "hardware_class": "", "settings": {"module.nvidia_uvm.uvm_disable_hmm": "1", '
    '"module.nvidia.NVreg_RegistryDwords": "ForceP2P=0x11"}}\n'
)
PARAMS = 'EnableMSI: 1\nRegistryDwords: "{}"\n'


def _subjects(hmm: str, registry: str, intent: str = CHOSEN) -> list[str]:
    seen = {"c.txt": f"== pcie control\nhmm-disabled {hmm}\n", "p.txt": PARAMS.format(registry), "i.json": intent}
    return [o.subject for o in outcomes(module_option_not_in_force, seen) or ()]  # type: ignore[union-attr]


def test_modules_that_were_loaded_before_the_options() -> None:
    assert _subjects("N", "") == ["nvidia_uvm", "nvidia"]
    assert _subjects("Y", "RMForceP2PType=1") == ["nvidia"]


def test_look_alike_in_force() -> None:
    assert _subjects("Y", "ForceP2P=0x11") == []


def test_look_alike_nobody_chose_any() -> None:
    assert _subjects("N", "ForceP2P=0x11", '{"qops_role": "pcie_p2p", "settings": {}}') == []


def test_look_alike_the_module_is_not_loaded() -> None:
    assert outcomes(module_option_not_in_force, {"c.txt": "== pcie control\n", "i.json": CHOSEN}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(module_option_not_in_force, {"i.json": CHOSEN}) is None
