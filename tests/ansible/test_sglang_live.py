"""inference_service with the real SGLang 0.5.23 on a practice host. Its GPU kernels are stand-ins; the rest is its own."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from endings import record
from serving import Serving, engine_lab, instance

pytestmark = [pytest.mark.lab, pytest.mark.slow]

COMMAND = (
    "/opt/sglang/bin/sglang serve --model-path /opt/vllm/models/tiny-qwen3 --served-model-name tiny --device cpu"
    " --attention-backend torch_native --sampling-backend pytorch --grammar-backend none --mem-fraction-static 0.1"
    " --max-total-tokens 8192 --skip-server-warmup --enable-metrics"
)
PORT = 8020
SERVICE = "SGLang 0.5.23, bare"


@pytest.fixture(scope="module", name="serving")
def host_with_sglang(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with engine_lab(tmp_path_factory.mktemp("state"), "sglang", "h200x2") as lab:
        serving = Serving(lab)
        tiny = instance(command=COMMAND, port=PORT, environment={"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"})
        serving.given |= {"inference_service_instances": [tiny], "inference_service_secrets": {}}
        yield serving


def test_from_no_service_to_a_token_and_the_second_run_changes_nothing(serving: Serving, tmp_path: Path) -> None:
    status, output, changed = serving.play(tmp_path)
    assert status == 0, output[-3000:]
    assert changed > 0
    answer = serving.ask(port=PORT)
    assert answer.endswith("200")
    assert json.loads(answer[:-3])["usage"]["completion_tokens"] > 0
    status, output, changed = serving.play(tmp_path)
    assert (status, changed) == (0, 0), output[-3000:]


def test_a_start_takes_seconds(serving: Serving) -> None:
    serving.on("systemctl stop qops-serve-tiny")
    began = time.monotonic()
    serving.on("systemctl start qops-serve-tiny")
    assert serving.ready()["state"] == "ready"
    record("stopped and started", SERVICE, time.monotonic() - began, "answers again")


def test_its_endpoints_are_its_own_and_its_log_says_that_the_kernels_are_stand_ins(serving: Serving) -> None:
    for path in ("health", "ready", "server_info", "v1/models"):
        assert serving.on(f"curl -s -m 30 -o /dev/null -w '%{{http_code}}' localhost:{PORT}/{path}") == "200", path
    metrics = serving.on(f"curl -s localhost:{PORT}/metrics")
    assert {"sglang:num_running_reqs", "sglang:token_usage"} <= set(re.findall(r"^sglang:\w+", metrics, re.M))
    log = serving.on("journalctl -u qops-serve-tiny --no-pager -o cat")
    assert "stand-ins" in log and "The server is fired up and ready to roll!" in log


def test_a_killed_scheduler_comes_back(serving: Serving) -> None:
    before, began = serving.state()["InvocationID"], time.monotonic()
    serving.on("kill -9 $(pgrep -f '^sglang::[s]cheduler')")
    record("scheduler killed", SERVICE, serving.back(before, began), "answers again")


def test_a_stopped_scheduler_is_found_recorded_and_restarted(serving: Serving) -> None:
    before, began = serving.state()["InvocationID"], time.monotonic()
    pid = serving.on("pgrep -f '^sglang::[s]cheduler'")
    serving.on(f"kill -STOP {pid}")
    seconds = serving.back(before, began)
    record("scheduler stopped (SIGSTOP)", SERVICE, seconds, "found by the watch; answers again")
    folder = serving.on("ls -1d /var/lib/qops/serve/tiny/incidents/2* | tail -n 1")
    assert re.search(rf"^{pid} .*T \(stopped\)", serving.on(f"cat {folder}/processes.txt"), re.M)


def test_a_stop_lets_the_request_in_flight_end(serving: Serving) -> None:
    request = serving.long_request(tokens=600, port=PORT)
    began = time.monotonic()
    serving.on("systemctl stop qops-serve-tiny")
    record("stopped with a request in flight", SERVICE, time.monotonic() - began, "the request ended whole")
    assert request() == 600
    shown = serving.state()
    assert (shown["ActiveState"], shown["Result"]) == ("inactive", "success")


def test_an_unknown_option_fails_clearly_and_without_a_loop(serving: Serving, tmp_path: Path) -> None:
    tiny = serving.given["inference_service_instances"][0]
    wrong = {**tiny, "command": COMMAND + " --no-such-flag 3"}
    began = time.monotonic()
    status, output, _ = serving.play(tmp_path, inference_service_instances=[wrong])
    seconds = time.monotonic() - began
    words = "sglang serve: error: unrecognized arguments: --no-such-flag 3"
    assert status != 0 and words in output
    time.sleep(15)  # longer than RestartSec
    shown = serving.state()
    assert (shown["ActiveState"], shown["NRestarts"], shown["ExecMainStatus"]) == ("failed", "0", "2")
    record("unknown option", SERVICE, seconds, f"the run fails: {words}")
