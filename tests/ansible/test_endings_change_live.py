"""Changes that would end a service, with the real vLLM: the gate undoes them, and what served before serves again."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from endings import record
from serving import VLLM, Serving, engine_lab, instance, undone

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SERVICE = "vLLM 0.32.0, bare"
CANNOT_RENDER = "{% for message in messages %}{{ message.content.no_such_thing.at_all }}{% endfor %}"


@pytest.fixture(scope="module", name="serving")
def host_that_serves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with engine_lab(tmp_path_factory.mktemp("state"), "vllm", "h200x2") as lab:
        serving = Serving(lab)
        status, output, _ = serving.play(tmp_path_factory.mktemp("play"))
        assert status == 0, output[-3000:]
        yield serving


def test_an_option_that_the_engine_does_not_know(serving: Serving, tmp_path: Path) -> None:
    wrong = instance(command=VLLM + " --no-such-flag 3")
    began = time.monotonic()
    status, output, _ = serving.play(tmp_path, inference_service_instances=[wrong], inference_service_restart=True)
    record("change to an unknown option", SERVICE, time.monotonic() - began, undone(output))
    assert status != 0 and "unrecognized arguments: --no-such-flag 3" in output
    assert serving.ask().endswith("200")


def test_a_chat_template_that_cannot_be_rendered(serving: Serving, tmp_path: Path) -> None:
    serving.on(f"echo '{CANNOT_RENDER}' >/etc/wrong.jinja")
    wrong = instance(command=VLLM + " --chat-template /etc/wrong.jinja")
    began = time.monotonic()
    status, output, _ = serving.play(tmp_path, inference_service_instances=[wrong], inference_service_restart=True)
    record("change to a wrong chat template", SERVICE, time.monotonic() - began, undone(output))
    assert status != 0
    assert serving.ask().endswith("200")
