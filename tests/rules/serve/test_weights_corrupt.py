from judging import found, judged
from stored_models import stored

from qops.rule import RuledOut
from qops.rules.serve.weights_corrupt import weights_corrupt


def test_a_file_that_changed_after_it_was_proved() -> None:
    (one,) = found(weights_corrupt, stored(touched=("a", "b", "c", "d", "e")))
    assert one.message == "acme/whale: changed since it was proved: a, b, c and 2 more"


def test_files_that_nobody_proved() -> None:
    (one,) = found(weights_corrupt, stored(proved=False))
    assert "never read and compared" in one.message


def test_look_alike_a_model_that_is_not_whole_is_another_cause() -> None:
    assert judged(weights_corrupt, stored(missing=("a",), proved=False)) == ()


def test_look_alike_untouched() -> None:
    (one,) = judged(weights_corrupt, stored()) or ()
    assert isinstance(one, RuledOut)


def test_nothing_seen_is_unknown() -> None:
    assert judged(weights_corrupt) is None
