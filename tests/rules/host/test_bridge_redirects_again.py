from judging import outcomes
from pcie_trees import OWN_ROOT, SWITCH

from qops.rules.host.bridge_redirects_again import bridge_redirects_again

CLEARED = '{"qops_role": "pcie_p2p", "hardware_class": "", "settings": {"pcie.acs": "0000:05:00.0 0000:05:04.0"}}\n'


def test_a_bridge_that_was_to_be_cleared() -> None:
    (found,) = outcomes(bridge_redirects_again, {"lspci.txt": SWITCH + OWN_ROOT, "intent.json": CLEARED}) or ()
    assert found.subject == "bridge 0000:05:00.0"  # type: ignore[union-attr]
    assert "ReqRedir and CmpltRedir" in found.message  # type: ignore[union-attr]


def test_look_alike_other_bridges_redirect() -> None:
    tree = SWITCH.replace("ReqRedir+ CmpltRedir+", "ReqRedir- CmpltRedir-") + OWN_ROOT
    assert outcomes(bridge_redirects_again, {"lspci.txt": tree, "intent.json": CLEARED}) == ()


def test_look_alike_nobody_asked_for_it() -> None:
    assert outcomes(bridge_redirects_again, {"lspci.txt": SWITCH}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(bridge_redirects_again, {"intent.json": CLEARED}) is None
