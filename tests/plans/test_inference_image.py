from typing import Any

import pytest
from wanted_images import DIGEST, LOCAL, NAME, OTHER, QUOTE, image, images

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.gpu import DriverModule
from qops.evidence.image import Images, KeptImage
from qops.plans import Plan
from qops.plans.inference_image import PLAN

RTXPRO = Derived(HardwareClass.RTXPRO, "nvidia-smi shows 4 boards RTX PRO 6000 Blackwell")
ENGINE = {"name": "engine", "image": NAME, "digest": DIGEST}


def _plan(seen: Images | None, *wanted: object, driver: str = "580.95.05", **options: Any) -> Plan:
    module = DriverModule(driver, True, QUOTE)
    given = {**PLAN.defaults, "images": list(wanted), **options}
    return PLAN.make({DriverModule: module, **({Images: seen} if seen else {})}, RTXPRO, given)


def test_an_image_that_is_here() -> None:
    plan = _plan(images(image()), ENGINE)
    assert (plan.differs, plan.refused, plan.notes) == (False, (), ())
    assert str(plan.settings[0]) == f"image engine = {DIGEST}: the inventory pins {NAME} (9.0 GB, CUDA 13.0.1)"
    assert plan.facts["images"] == [{"name": "engine", "image": NAME, "run": LOCAL}]
    assert plan.facts["list"] == f"engine {NAME} {DIGEST} -\n"


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (images(), "was not here)"),
        (images(engine=""), "not here, and no container engine is"),
        (images(image(), looked={}), "here, and not looked into yet"),
        (images(image(), kept={"engine": (KeptImage(OTHER, OTHER),)}), "here, and another one is current"),
    ],
)
def test_an_image_that_is_not(seen: Images, words: str) -> None:
    plan = _plan(seen, ENGINE)
    assert plan.differs and words in str(plan.settings[0])


def test_a_tag_without_a_digest_says_what_to_pin() -> None:
    plain = {"name": "engine", "image": NAME}
    assert "says the digest" in _plan(images(), plain).notes[0]
    (note,) = _plan(images(image(tags=(NAME,))), plain).notes
    assert note.endswith(f"add to inference_image_lock: {NAME}: {DIGEST}")
    assert _plan(images(image()), plain, lock={NAME: DIGEST}).notes == ()
    assert _plan(images(image()), {"name": "engine", "image": f"{NAME}@{DIGEST}"}).notes == ()


def test_an_image_that_the_driver_does_not_run_is_refused() -> None:
    plan = _plan(images(image()), ENGINE, driver="570.172.08")
    assert "CUDA 13.0 needs driver 580 or later" in plan.refused[0]
    assert plan.unsafe == plan.refused


def test_an_engine_that_does_not_answer_is_refused() -> None:
    silent = images(engine="", error="docker: Cannot connect to the Docker daemon")
    assert "Cannot connect" in _plan(silent, ENGINE).refused[0]
    assert _plan(silent).refused == ()


def test_podman_is_not_taken_for_a_docker_that_does_not_answer() -> None:
    both = images(engine="podman", error="docker: Cannot connect to the Docker daemon")
    assert "Cannot connect" in _plan(both, ENGINE).refused[0]
    assert _plan(both, ENGINE, engine="podman").refused == ()


def test_podman_is_taken_where_docker_is_not() -> None:
    assert _plan(images(engine="podman"), ENGINE).facts["spec"]["engine"] == "podman"
    assert _plan(images(engine=""), ENGINE).facts["spec"]["engine"] == "docker"


def test_the_images_were_not_seen() -> None:
    assert _plan(None, ENGINE).settings[0].state is State.UNSEEN


@pytest.mark.parametrize(
    "wanted",
    [
        "acme/engine:1",
        {"name": "Engine", "image": NAME},
        {"name": "engine", "image": "acme/engine"},
        {"name": "engine", "image": "acme/engine:latest"},
        {"name": "engine", "image": NAME, "digest": "abc"},
        {"name": "engine", "image": NAME, "archive": "/srv/engine.tar"},
        {"name": "engine", "image": NAME, "tag": "1"},
        {"name": "engine", "image": "acme/engine:1; rm"},
    ],
)
def test_an_image_that_cannot_be(wanted: object) -> None:
    with pytest.raises(UsageError):
        _plan(images(), wanted)


@pytest.mark.parametrize(
    "option", [{"engine": "rkt"}, {"mirror": "https://mirror"}, {"keep_free_gb": "x"}, {"lock": []}, {"images": {}}]
)
def test_an_option_that_cannot_be(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _plan(images(), **{"images": [ENGINE], **option})


def test_a_name_used_twice() -> None:
    with pytest.raises(UsageError):
        _plan(images(), ENGINE, ENGINE)
