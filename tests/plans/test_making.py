"""What holds for every role's plan."""

import pytest

from qops import plans
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.text import Quote
from qops.plans import making
from qops.plans.base import Options, Plan, RolePlan, Seen

H200 = {Gpus: Gpus((Gpu(0, Quote("nvidia-smi -L", 1, "GPU 0"), name="NVIDIA H200"),))}


def _role(made: Plan, *, needs_class: bool = True) -> RolePlan:
    def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
        return made

    return RolePlan("toaster", (), {"manage": True}, make, needs_class)


def test_why_a_role_stops() -> None:
    made = Plan((setting("heat", "9", None, "why"),), refused=("the slot is full; empty it",), unsafe=("it burns",))
    managed = making.plan(_role(made), H200, {})
    assert managed.failed == ("the slot is full; empty it", "could not be read: heat")
    left = making.plan(_role(made), H200, {"manage": "false"})
    assert (left.manage, left.failed) == (False, ("it burns",))


def test_unknown_hardware_stops_a_role_that_needs_its_class() -> None:
    assert making.plan(_role(Plan()), {}, {}).failed
    assert making.plan(_role(Plan()), {}, {"manage": False}).failed == ()
    assert making.plan(_role(Plan(), needs_class=False), {}, {}).failed == ()
    assert making.plan(_role(Plan()), {}, {}, "hgx").failed == ()


@pytest.mark.parametrize(
    ("current", "state", "words"),
    [
        ("7", State.SET, "heat = 7: why"),
        ("5", State.DIFFERS, "heat = 7 (was 5): why"),
        ("", State.DIFFERS, "heat = 7 (was not set): why"),
        (None, State.UNSEEN, "heat was not seen: why"),
    ],
)
def test_a_setting_says_how_it_stands(current: str | None, state: State, words: str) -> None:
    made = setting("heat", "7", current, "why")
    assert (made.state, str(made)) == (state, words)


def test_what_is_left_and_what_is_absent() -> None:
    assert str(Setting("heat", "", "", "5", State.LEFT, "why")) == "heat left as it is (5): why"
    assert str(Setting("heat", "", "", "", State.ABSENT, "why")) == "heat not set, this host does not have it: why"


@pytest.mark.parametrize("made", plans.ALL, ids=lambda p: p.role)
def test_a_host_of_which_nothing_was_seen_is_never_as_it_should_be(made: RolePlan) -> None:
    """Unknown is never a pass: some reason stops the role, or it says that there is nothing that it needs."""
    for name in ("spark", "rtxpro", "rtx5090", "hgx"):
        planned = making.plan(made, {}, {}, name)
        assert not planned.plan.differs
        assert planned.failed or all(s.state in (State.LEFT, State.ABSENT) for s in planned.plan.settings)
