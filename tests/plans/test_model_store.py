from typing import Any

import pytest
from stored_models import FOLDER, overlay, stored

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.model import Models
from qops.plans import Plan
from qops.plans.model_store import PLAN

SPARK = Derived(HardwareClass.SPARK, "nvidia-smi shows a GB10")
WHALE = {"repo": "acme/whale", "revision": "c" * 40}
OVERLAY = {"because": "fused layers", "append": {"config.json": {"quantization_config.ignore": ["x"]}}}


def _plan(seen: Models | None, *models: object, **options: Any) -> Plan:
    given = {**PLAN.defaults, "root": "/srv/models", "models": list(models), **options}
    return PLAN.make({Models: seen} if seen else {}, SPARK, given)


def test_a_model_that_is_whole_is_as_it_should_be() -> None:
    plan = _plan(stored(), WHALE)
    assert not plan.differs
    assert str(plan.settings[0]).startswith(f"model acme/whale = {'c' * 40}: the inventory pins it (0.0 GB")
    assert plan.facts["models"] == [{**WHALE, "path": FOLDER, "mount": "/srv/models/acme--whale"}]
    assert plan.facts["environment"]["HF_HUB_OFFLINE"] == "1"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"missing": ("a",)}, "was 1 of 3 files missing or cut short (a)"),
        ({"touched": ("a",)}, "was changed since it was proved: a"),
        ({"proved": False}, "was never read and compared with its manifest"),
        ({"exclude": ("*.pth",)}, "was other files of it were chosen"),
        ({"repo": ""}, "was not there"),
    ],
)
def test_a_model_that_is_not(how: dict[str, Any], words: str) -> None:
    plan = _plan(stored(**how), WHALE)
    assert plan.differs and words in str(plan.settings[0])


def test_the_store_was_not_seen() -> None:
    assert _plan(None, WHALE).settings[0].state is State.UNSEEN


def test_a_model_that_nobody_wrote_down_yet() -> None:
    assert _plan(Models(()), WHALE).differs


def test_a_branch_is_noted_and_always_differs() -> None:
    plan = _plan(stored(), {"repo": "acme/whale", "revision": "main"})
    assert plan.differs
    assert "'main' is no commit" in plan.notes[0]


def test_an_overlay_has_a_setting_of_its_own_and_is_what_is_served() -> None:
    plan = _plan(stored(), {**WHALE, "overlay": OVERLAY})
    definition = plan.facts["spec"]["models"][0]["overlay"]["definition"]
    assert str(plan.settings[1]) == "model acme/whale overlay = served (was not there): fused layers"
    assert plan.facts["models"][0]["path"] == f"{FOLDER}--served"
    assert not _plan(stored(overlay=overlay(definition=definition)), {**WHALE, "overlay": OVERLAY}).differs
    assert plan.facts["list"] == f"{FOLDER} {definition} {FOLDER}--served\n"


def test_the_token_is_in_nothing_that_a_plan_shows() -> None:
    plan = _plan(stored(), WHALE, token="hf_secret_of_mine")
    assert "hf_secret_of_mine" not in repr(plan)


def test_without_models_nothing_is_to_be_done() -> None:
    plan = _plan(Models(()))
    assert (plan.settings, plan.facts["list"], plan.facts["models"]) == ((), "", [])


@pytest.mark.parametrize(
    "model",
    [
        "acme/whale",
        {"repo": "whale", "revision": "c" * 40},
        {"repo": "../../etc", "revision": "c" * 40},
        {"repo": "acme/whale"},
        {**WHALE, "revison": "typo"},
        {**WHALE, "overlay": {"name": "Up Per"}},
        {**WHALE, "overlay": {"append": {"config.json": {"a": 1}}}},
        {**WHALE, "overlay": {"patch": {}}},
    ],
)
def test_a_model_that_cannot_be(model: object) -> None:
    with pytest.raises(UsageError):
        _plan(stored(), model)


@pytest.mark.parametrize(
    "option",
    [
        {"root": "models"},
        {"root": "/a b"},
        {"endpoint": "hub"},
        {"connections": 0},
        {"verify": "no"},
        {"keep_free_gb": "x"},
    ],
)
def test_an_option_that_cannot_be(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _plan(stored(), WHALE, **option)


def test_a_model_named_twice() -> None:
    with pytest.raises(UsageError):
        _plan(stored(), WHALE, WHALE)
