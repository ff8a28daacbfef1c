import pytest
from judging import found, judged
from stored_models import overlay, stored

from qops.rules.serve.model_overlay_outdated import model_overlay_outdated


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"definition": ""}, "not there"),
        ({"definition": "d0"}, "made from another definition"),
        ({"broken": 2}, "2 links lead nowhere"),
        ({"touched": ("config.json",)}, "changed by someone else: config.json"),
    ],
)
def test_an_overlay_that_is_not_as_it_should_be(how: dict[str, object], words: str) -> None:
    (one,) = found(model_overlay_outdated, stored(overlay=overlay(**how)))
    assert one.message.endswith(words)


def test_look_alike_one_that_is() -> None:
    assert found(model_overlay_outdated, stored(overlay=overlay())) == []


def test_look_alike_a_model_without_one() -> None:
    assert found(model_overlay_outdated, stored()) == []


def test_nothing_seen_is_unknown() -> None:
    assert judged(model_overlay_outdated) is None
