"""What ends a service that runs as a program of the host, with the real vLLM: each time until it answers, or says why not."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from endings import killed, rebooted, record, stopped_and_started
from model_hub import REPO, Hub
from serving import ENVIRONMENT, SECRET, VLLM, Serving, engine_lab, instance

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SERVICE = "vLLM 0.32.0, bare"
WIDE = f"{SERVICE}, two ranks"
# A disk of three megabytes, full, in place of each of these: what is in them comes along.
FULL = ("/var/lib/qops", "/var/log", "/tmp")
FILL = (
    "for d in {}; do cp -a $d /run/kept && mount -t tmpfs -o size=3m tmpfs $d && cp -a /run/kept/. $d/; rm -r /run/kept;"
    " dd if=/dev/zero of=$d/filled bs=4k 2>/dev/null; done; df --output=avail {} | tail -n +2"
).format(" ".join(FULL), " ".join(FULL))


@pytest.fixture(scope="module", name="serving")
def host_that_serves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with engine_lab(tmp_path_factory.mktemp("state"), "vllm", "h200x2") as lab:
        serving = Serving(lab)
        status, output, _ = serving.play(tmp_path_factory.mktemp("play"))
        assert status == 0, output[-3000:]
        yield serving


def test_a_killed_engine(serving: Serving) -> None:
    killed(serving, SERVICE)


def test_a_stopped_engine(serving: Serving) -> None:
    before, began = serving.state()["InvocationID"], time.monotonic()
    serving.on("kill -STOP $(pgrep -f [V]LLM::EngineCore)")
    assert serving.on("curl -s -o /dev/null -m 5 -w '%{http_code}' localhost:8010/health") == "200"
    seconds = serving.back(before, began)
    record("engine stopped (SIGSTOP)", SERVICE, seconds, "/health says 200; found by the watch; answers again")


def test_a_stop_lets_the_request_in_flight_end(serving: Serving) -> None:
    stopped_and_started(serving, SERVICE)


def test_a_full_disk(serving: Serving) -> None:
    assert set(serving.on(FILL).split()) == {"0"}
    try:
        assert serving.ask().endswith("200")
        record("disk full while it serves", SERVICE, 0, "goes on answering")
        before, began = serving.state()["InvocationID"], time.monotonic()
        serving.on("kill -9 $(pgrep -f [V]LLM::EngineCore)")
        seconds = serving.back(before, began)
        record("engine killed while the disk is full", SERVICE, seconds, "answers again")
    finally:
        serving.on(f"umount -l {' '.join(FULL)}")


def test_the_host_rebooted(serving: Serving) -> None:
    rebooted(serving, SERVICE)


def test_a_changed_key_is_in_force_after_the_restart(serving: Serving, tmp_path: Path) -> None:
    other = {"inference_service_secrets": {"tiny": {"VLLM_API_KEY": SECRET + "-anew"}}}
    status, output, _ = serving.play(tmp_path, **other)
    assert status == 0 and "set inference_service_restart" in output, output[-3000:]
    assert serving.ask().endswith("200")
    began = time.monotonic()
    status, output, _ = serving.play(tmp_path, inference_service_restart=True, **other)
    assert status == 0, output[-3000:]
    seconds = time.monotonic() - began
    assert serving.ask().endswith("401")
    assert serving.ask(key=SECRET + "-anew").endswith("200")
    record("API key changed", SERVICE, seconds, "the whole run; the new key answers, the older one gets 401")
    serving.given |= other


def test_a_taken_port(serving: Serving, tmp_path: Path) -> None:
    serving.on("systemctl stop qops-serve-tiny; systemd-run --unit taker python3 -m http.server 8010 --bind 127.0.0.1")
    time.sleep(1)
    began = time.monotonic()
    status, output, _ = serving.play(tmp_path)
    words = "port 8010 is taken by python3"
    assert status != 0 and words in output
    record("port taken", SERVICE, time.monotonic() - began, f"the run fails: service tiny: {words}")
    serving.on("systemctl stop taker")


def test_an_unknown_option(serving: Serving, tmp_path: Path) -> None:
    began = time.monotonic()
    status, output, _ = serving.play(
        tmp_path, inference_service_instances=[instance(command=VLLM + " --no-such-flag 3")]
    )
    words = "vllm: error: unrecognized arguments: --no-such-flag 3"
    assert status != 0 and words in output
    record("unknown option", SERVICE, time.monotonic() - began, f"the run fails: {words}")
    time.sleep(15)  # longer than RestartSec
    shown = serving.state()
    assert (shown["ActiveState"], shown["NRestarts"], shown["ExecMainStatus"]) == ("failed", "0", "2")


def test_a_revoked_token_of_the_hub(serving: Serving, tmp_path: Path) -> None:
    form = "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}"
    name = f"qops-{serving.lab.name}-{serving.host}"
    shown = subprocess.run(["docker", "inspect", "-f", form, name], capture_output=True, text=True, check=True)
    with Hub(token="hf_still_good", address=shown.stdout.strip()) as hub:
        asks = {key: value for key, value in ENVIRONMENT.items() if key != "HF_HUB_OFFLINE"}
        fetched = instance(
            command=VLLM.replace("/opt/vllm/models/tiny-qwen3", REPO), environment={**asks, "HF_ENDPOINT": hub.url}
        )
        began = time.monotonic()
        status, output, _ = serving.play(
            tmp_path,
            inference_service_instances=[fetched],
            inference_service_secrets={"tiny": {"HF_TOKEN": "hf_revoked"}},
        )
        seconds = time.monotonic() - began
        assert hub.asked
    assert status != 0 and "hf_revoked" not in output
    told = re.search(r"its log says: (.*?401 Unauthorized)", output)
    assert told, output[-3000:]
    record("hub's token revoked, weights not on the host", SERVICE, seconds, f"the run fails: {told[1]}")
    serving.on("systemctl stop qops-serve-tiny")


def test_a_rank_of_two(serving: Serving, tmp_path: Path) -> None:
    wide = instance(command=VLLM + " --tensor-parallel-size 2", token_seconds=30)
    status, output, _ = serving.play(tmp_path, inference_service_instances=[wide])
    assert status == 0, output[-3000:]
    before, began = serving.state()["InvocationID"], time.monotonic()
    serving.on("kill -9 $(pgrep -f [V]LLM::Worker_TP1)")
    record("worker killed", WIDE, serving.back(before, began), "answers again")
    before, began = serving.state()["InvocationID"], time.monotonic()
    pid = serving.on("pgrep -f [V]LLM::Worker_TP1")
    serving.on(f"kill -STOP {pid}")
    seconds = serving.back(before, began)
    record("worker stopped (SIGSTOP)", WIDE, seconds, "/health says 200; found by the watch; answers again")
    folder = serving.on("ls -1d /var/lib/qops/serve/tiny/incidents/2* | tail -n 1")
    assert re.search(rf"^{pid} .*T \(stopped\)", serving.on(f"cat {folder}/processes.txt"), re.M)
