"""What ends a service that runs in a container, with the real vLLM: each time until it answers, or says why not."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from endings import killed, rebooted, record, stopped_and_started
from practice_lab import OWN_IMAGE
from serving import Serving, engine_lab, instance, undone

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SERVICE = "vLLM 0.32.0, docker"
IMAGE = "registry.lab.internal:5000/lab/vllm:1"
BAD = "registry.lab.internal:5000/lab/hello:1.0"  # a busybox, and nothing that an engine needs
MAKE = OWN_IMAGE.format(IMAGE)  # called as if it came from the registry


def _contained(image: str = IMAGE, **more: object) -> dict[str, object]:
    # The simulated GPUs have no device files that a container could be given.
    inside = {"image": image, "runtime": "docker", "gpus": [], "volumes": ["/opt/vllm:/opt/vllm:ro"]}
    return instance(**inside, **more)


@pytest.fixture(scope="module", name="serving")
def host_that_serves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with engine_lab(tmp_path_factory.mktemp("state"), "vllm", "h200x2") as lab:
        serving = Serving(lab)
        # Docker as the roles leave it: a restart of the daemon must find its settings in force.
        status, output, _ = serving.play(tmp_path_factory.mktemp("docker"), tags="container_engine,container_toolkit")
        assert status == 0, output[-3000:]
        serving.on(MAKE)
        serving.given["inference_service_instances"] = [_contained()]
        status, output, _ = serving.play(tmp_path_factory.mktemp("play"))
        assert status == 0, output[-3000:]
        yield serving


def test_the_engine_in_the_container_is_killed(serving: Serving) -> None:
    killed(serving, SERVICE)


def test_the_engine_in_the_container_is_stopped(serving: Serving) -> None:
    before, began = serving.state()["InvocationID"], time.monotonic()
    serving.on("kill -STOP $(pgrep -f [V]LLM::EngineCore)")
    seconds = serving.back(before, began)
    record("engine stopped (SIGSTOP)", SERVICE, seconds, "/health says 200; found by the watch; answers again")


def test_a_stop_lets_the_request_in_flight_end(serving: Serving) -> None:
    stopped_and_started(serving, SERVICE)


def test_docker_restarted(serving: Serving) -> None:
    before, began = serving.state()["InvocationID"], time.monotonic()
    serving.on("systemctl restart docker")
    record("docker restarted", SERVICE, serving.back(before, began), "answers again")


def test_the_host_rebooted(serving: Serving) -> None:
    rebooted(serving, SERVICE)


def test_the_registry_gone(serving: Serving, tmp_path: Path) -> None:
    registry = f"qops-{serving.lab.name}-registry"
    subprocess.run(["docker", "stop", registry], capture_output=True, check=True)
    try:
        before, began = serving.state()["InvocationID"], time.monotonic()
        serving.on("systemctl kill -s KILL qops-serve-tiny")
        record("killed while the registry is gone", SERVICE, serving.back(before, began), "answers again")
        images = [{"name": "engine", "image": "registry.lab.internal:5000/lab/inference:1.1"}]
        began = time.monotonic()
        status, output, _ = serving.play(
            tmp_path,
            tags="inference_image,inference_service",
            inference_image_images=images,
            inference_image_keep_free_gb=1,
        )
        seconds = time.monotonic() - began
        assert status != 0
        assert "registry.lab.internal:5000" in output and serving.ask().endswith("200"), output[-3000:]
        record("new image wanted, registry gone", SERVICE, seconds, _words(output))
    finally:
        subprocess.run(["docker", "start", registry], capture_output=True, check=True)


def test_a_new_image_in_which_nothing_runs(serving: Serving, tmp_path: Path) -> None:
    serving.on(f"docker pull -q {BAD}")
    began = time.monotonic()
    status, output, _ = serving.play(
        tmp_path, inference_service_instances=[_contained(BAD)], inference_service_restart=True
    )
    record("change to a bad image", SERVICE, time.monotonic() - began, undone(output))
    assert status != 0
    assert serving.ask().endswith("200")
    assert serving.on("docker inspect -f '{{.Config.Image}}' qops-serve-tiny") == IMAGE


def test_a_new_image_that_is_not_there(serving: Serving, tmp_path: Path) -> None:
    before = serving.state()["InvocationID"]
    began = time.monotonic()
    status, output, _ = serving.play(
        tmp_path, inference_service_instances=[_contained("lab/none:1")], inference_service_restart=True
    )
    words = "the image lab/none:1 is not on this host"
    assert status != 0 and words in output
    record("change to an image that is not there", SERVICE, time.monotonic() - began, f"the run fails: {words}")
    assert serving.state()["InvocationID"] == before  # it was never stopped


def _words(output: str) -> str:
    """Return what the failed task says."""
    told = output.partition("fatal: ")[2].partition("msg: ")[2] or output[-300:]
    return f"the run fails, the older one serves: {told}"
