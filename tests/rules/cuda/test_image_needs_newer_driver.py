from judging import found, judged
from wanted_images import image, images

from qops.evidence.gpu import DriverModule
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.cuda.image_needs_newer_driver import image_needs_newer_driver

OLD = DriverModule("570.172.08", True, Quote("/proc/driver/nvidia/version", 1, "NVRM version"))
NEW = DriverModule("595.58.03", True, Quote("/proc/driver/nvidia/version", 1, "NVRM version"))


def test_the_driver_is_older_than_the_image_needs() -> None:
    (one,) = found(image_needs_newer_driver, images(image()), OLD)
    assert one.message == "image engine: CUDA 13.0 needs driver 580 or later, and this host has 570.172.08"


def test_look_alike_a_driver_that_runs_it() -> None:
    (one,) = judged(image_needs_newer_driver, images(image()), NEW) or ()
    assert isinstance(one, RuledOut)


def test_look_alike_an_image_that_nobody_wants_here() -> None:
    assert judged(image_needs_newer_driver, images(image(), wanted=()), OLD) == ()


def test_a_driver_or_a_cuda_that_is_not_known_is_not_judged() -> None:
    assert judged(image_needs_newer_driver, images(image())) == ()
    assert judged(image_needs_newer_driver, images(image(cuda="")), OLD) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(image_needs_newer_driver) is None
