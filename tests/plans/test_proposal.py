"""Values that `qops fix` proposes: what the role would set on this host, or why it would not."""

import pytest

from qops.errors import UsageError
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.text import Quote
from qops.plans import BY_ROLE
from qops.plans.proposal import ASKED, PROPOSED, propose
from qops.rules import ALL

Q = Quote("nvidia-smi -q -x", 1, "gpu")
RULES = {rule.cause: rule for rule in ALL}


def _gpus(limit: float, default: float | None = 575.0) -> dict[type, object]:
    gpu = Gpu(
        0, Q, "NVIDIA GeForce RTX 5090", uuid="GPU-1", persistence=False, power_limit=limit, power_limit_default=default
    )
    return {Gpus: Gpus((gpu,))}


def test_the_boards_own_limit_is_proposed_with_what_it_changes() -> None:
    found = propose("power-cap-below-need", "gpu_power", "gpu_power_limit", _gpus(400.0), {})
    assert found.value == "default"
    assert any("gpu.power_limit of GPU 0 = 575 (was 400)" in one for one in found.settings)


def test_a_board_that_does_not_say_its_default_gets_no_proposal() -> None:
    with pytest.raises(UsageError, match="cannot be had on this host"):
        propose("power-cap-below-need", "gpu_power", "gpu_power_limit", _gpus(400.0, None), {})


def test_what_would_change_nothing_is_not_proposed() -> None:
    others = {"gpu_power_persistence": "leave"}
    with pytest.raises(UsageError, match="would change nothing"):
        propose("power-cap-below-need", "gpu_power", "gpu_power_limit", _gpus(575.0), others)


@pytest.mark.parametrize("cause", [*PROPOSED, *ASKED])
def test_each_belongs_to_a_fix_by_a_role(cause: str) -> None:
    fix = next(one for one in RULES[cause].fix if one.tag)
    assert fix.variable.startswith(f"{fix.tag}_")
    assert fix.variable.removeprefix(f"{fix.tag}_") in BY_ROLE[fix.tag].defaults
