from typing import Any

import pytest
from judging import found, judged
from served import QUOTE, running

from qops.evidence.inference import InferenceServices
from qops.evidence.intent import Intent
from qops.rule import RuledOut
from qops.rules.serve.service_not_ready import service_not_ready


def _services(**more: Any) -> InferenceServices:
    return InferenceServices({"tiny": running({}, **more)}, QUOTE)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"active": "failed", "result": "exit-code", "status": 2}, "an option that it does not know"),
        ({"active": "inactive"}, "does not run"),
        ({"active": "", "loaded": False}, "has no unit that systemd knows"),
        ({"active": "activating", "sub": "auto-restart", "restarts": 9, "status": 1}, "ends again and again (9 times"),
        ({"ready": False}, "has not given a token yet"),
        (
            {"failures": 2, "incident": "/x/2026"},
            "no token in the last 2 looks, and its counters stand still; what it did",
        ),
    ],
)
def test_one_that_does_not_serve(more: dict[str, Any], words: str) -> None:
    (one,) = found(service_not_ready, _services(**more))
    assert words in one.message


def test_look_alike_one_that_serves() -> None:
    (outcome,) = judged(service_not_ready, _services()) or ()
    assert isinstance(outcome, RuledOut) and "gave a token" in outcome.because


def test_look_alike_one_that_is_held_is_another_cause() -> None:
    assert found(service_not_ready, _services(active="inactive", held="the machine went down")) == []


def test_look_alike_one_that_the_inventory_no_longer_names() -> None:
    stopped = _services(active="inactive")
    assert found(service_not_ready, stopped, Intent(("inference_service",), "", {"inference_service": "whale"})) == []
    assert found(service_not_ready, stopped, Intent(("inference_service",), "", {"inference_service": "tiny whale"}))


def test_nothing_seen_is_unknown() -> None:
    assert judged(service_not_ready) is None
