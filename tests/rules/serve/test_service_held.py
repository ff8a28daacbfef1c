from judging import found, judged
from served import QUOTE

from qops.evidence.inference import InferenceService, InferenceServices
from qops.rules.serve.service_held import service_held


def _services(**more: str) -> InferenceServices:
    return InferenceServices({"tiny": InferenceService("tiny", QUOTE, loaded=True, **more)}, QUOTE)  # type: ignore[arg-type]


def test_a_start_that_took_the_machine_down_is_named() -> None:
    (one,) = found(service_held, _services(active="inactive", held="the machine went down while it started"))
    assert one.message == "tiny is held: the machine went down while it started"


def test_look_alike_one_that_was_stopped_by_hand() -> None:
    assert found(service_held, _services(active="inactive")) == []


def test_look_alike_one_that_was_allowed_since() -> None:
    assert found(service_held, _services(active="active", held="the machine went down")) == []


def test_nothing_seen_is_unknown() -> None:
    assert judged(service_held) is None
