from judging import found, judged
from stored_models import stored

from qops.rules.serve.weights_incomplete import weights_incomplete


def test_a_file_that_is_missing() -> None:
    (one,) = found(weights_incomplete, stored(missing=("model-2.safetensors",), wrong_size=("model-1.safetensors",)))
    assert "2 of 3 files missing or cut short (model-2.safetensors, model-1.safetensors)" in one.message


def test_a_model_that_is_not_there() -> None:
    (one,) = found(weights_incomplete, stored(repo=""))
    assert one.message.endswith("not there")


def test_a_download_that_was_cut_off() -> None:
    (one,) = found(weights_incomplete, stored(repo="", arrived=12_300_000_000))
    assert one.message.endswith("not finished, 12.3 GB came so far")


def test_look_alike_a_whole_model() -> None:
    assert found(weights_incomplete, stored()) == []


def test_nothing_seen_is_unknown() -> None:
    assert judged(weights_incomplete) is None
