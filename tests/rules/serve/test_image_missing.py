from judging import found, judged
from wanted_images import DIGEST, image, images

from qops.rules.serve.image_missing import image_missing


def test_an_image_that_is_not_here() -> None:
    (one,) = found(image_missing, images())
    assert one.message == f"acme/engine:1 ({DIGEST}) is not here"


def test_no_engine_is_said() -> None:
    (one,) = found(image_missing, images(engine=""))
    assert one.message.endswith("is not here: no container engine is")


def test_look_alike_one_that_is() -> None:
    assert found(image_missing, images(image())) == []


def test_look_alike_none_is_wanted() -> None:
    assert found(image_missing, images(wanted=())) == []


def test_nothing_seen_is_unknown() -> None:
    assert judged(image_missing) is None
