from pathlib import Path

from judging import text
from made_programs import answer
from mangling import parses_anything

from qops.evidence.engine import EngineLog
from qops.evidence.text import Text
from qops.probes import engine_logs
from qops.probes.base import Command
from qops.probes.engine_arguments import pairs

VLLM_06 = """\
INFO 03-04 05:06:07 api_server.py:528] vLLM API server version 0.6.3.post1
INFO 03-04 05:06:07 api_server.py:529] args: Namespace(host=None, port=8001, model='acme/one', lora_modules=None, allowed_origins=['*'], tensor_parallel_size=2)
INFO 03-04 05:06:15 llm_engine.py:237] Initializing an LLM engine (v0.6.3.post1) with config: model='acme/one'
(VllmWorkerProcess pid=812) INFO 03-04 05:06:20 pynccl.py:63] vLLM is using nccl==2.20.5
INFO:     Started server process [700]
INFO:     Waiting for application startup.
INFO:     Application startup complete.
"""

VLLM_033 = """\
(APIServer pid=10) INFO 03-04 05:06:07 [startup.py:38]        █     █     █▄   ▄█
(APIServer pid=10) INFO 03-04 05:06:07 [startup.py:38]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.33.0
(APIServer pid=10) INFO 03-04 05:06:07 [startup.py:38]   █▄█▀ █     █     █     █  model   acme/two
(APIServer pid=10) INFO 03-04 05:06:07 [startup.py:96] non-default args: {'model': 'acme/two', 'max_model_len': 32768, 'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 2}, 'middleware': ['a, b'], 'path': PosixPath('/x'), 'api_key': '***'}
(EngineCore pid=77) INFO 03-04 05:06:15 [core.py:140] Initializing a V1 LLM engine (v0.33.0) with config: model='acme/two', dtype=torch.bfloat16
(Worker_TP1 pid=80) INFO 03-04 05:06:20 [pynccl.py:148] vLLM is using nccl==2.29.7
"""

VLLM_033_READY = (
    VLLM_033
    + """\
(APIServer pid=10) INFO 03-04 05:08:00 [entry.py:139] Starting vLLM server on http://0.0.0.0:8000
(APIServer pid=10) INFO:     Started server process [10]
(APIServer pid=10) INFO:     Application startup complete.
"""
)

SGLANG = """\
[2026-03-04 05:06:07] server_args=ServerArgs(model_path='acme/three', tokenizer_path='acme/three', tp_size=8, mem_fraction_static=0.85, json_model_override_args='{"a": 1}', cuda_graph_bs=[1, 2, 4], fn=<function f at 0x7f>, disable_cuda_graph=False)
[2026-03-04 05:06:30 TP0] Init torch distributed begin.
[2026-03-04 05:06:31 TP0] sglang is using nccl==2.27.3
[2026-03-04 05:07:10] INFO:     Application startup complete.
[2026-03-04 05:07:11 DP0 TP0] Prefill batch. #new-seq: 1
"""


def read(content: str) -> tuple[EngineLog, ...]:
    found = engine_logs.parse([text(content)])
    return found.logs if found else ()


def test_vllm_0_6() -> None:
    (log,) = read(VLLM_06)
    assert (log.engine, log.version, log.ready, log.nccl) == ("vllm", "0.6.3.post1", True, "2.20.5")
    arguments = dict(log.arguments)
    assert (arguments["model"], arguments["tensor_parallel_size"], arguments["allowed_origins"]) == (
        "acme/one",
        "2",
        "['*']",
    )
    assert log.quote.line == 1
    assert log.last is not None and log.last.line == 7


def test_vllm_0_33_is_ready_only_when_the_application_is() -> None:
    (log,) = read(VLLM_033)
    assert (log.version, log.ready, log.nccl) == ("0.33.0", False, "2.29.7")
    assert dict(log.arguments) == {
        "model": "acme/two",
        "max_model_len": "32768",
        "speculative_config": "{'method': 'mtp', 'num_speculative_tokens': 2}",
        "middleware": "['a, b']",
        "path": "PosixPath('/x')",
        "api_key": "***",
    }
    assert log.last is not None and log.last.line == 6
    starting = VLLM_033_READY.rsplit("\n", 3)[0]
    assert "Starting vLLM server on" in starting
    assert [x.ready for x in read(starting)] == [False]
    assert [x.ready for x in read(VLLM_033_READY)] == [True]


def test_a_restart_is_not_ready_until_it_says_so_again() -> None:
    assert [x.ready for x in read(VLLM_06 + VLLM_06.split("args:")[0])] == [False]
    assert [x.ready for x in read(VLLM_06 + VLLM_06)] == [True]


def test_sglang_is_ready_only_by_its_own_sentence() -> None:
    (log,) = read(SGLANG)
    assert (log.engine, log.ready, log.nccl) == ("sglang", False, "2.27.3")
    arguments = dict(log.arguments)
    assert (arguments["tp_size"], arguments["json_model_override_args"]) == ("8", '{"a": 1}')
    assert (arguments["cuda_graph_bs"], arguments["disable_cuda_graph"]) == ("[1, 2, 4]", "False")
    assert log.last is not None and log.last.line == 5
    (log,) = read(SGLANG + "[2026-03-04 05:07:20] The server is fired up and ready to roll!\n")
    assert log.ready


def test_sglang_of_late_prints_a_dictionary() -> None:
    (log,) = read(
        "[2026-10-04 05:06:07] server_args={'model_path': 'acme/four', 'tp_size': 4}\nsglang version: 0.5.23\n"
    )
    assert (log.version, dict(log.arguments)) == ("0.5.23", {"model_path": "acme/four", "tp_size": "4"})


def test_both_engines_in_one_paste_with_prefixes() -> None:
    pasted = "\n".join(f"box-1  | {line}" for line in (VLLM_033_READY + SGLANG).splitlines())
    assert [(x.engine, bool(x.arguments)) for x in read(pasted)] == [("vllm", True), ("sglang", True)]


def test_a_cut_line_gives_the_pairs_that_are_whole() -> None:
    assert pairs("{'a': 1, 'b': {'c': [1, 2], 'd") == (("a", "1"),)
    assert pairs("Args(x='it\\'s, so', y=3, z=") == (("x", "it\\'s, so"), ("y", "3"))
    assert pairs("") == pairs("none") == pairs("{}") == ()
    assert len(pairs("{" + "'a': 1, " * 5000 + "}")) == 1000
    assert pairs("{" * 100_000) == pairs(")" * 100) == ()


def test_the_end_of_a_reduced_log() -> None:
    lines = tuple(VLLM_033.splitlines())
    reduced = Text("serve.log", lines, tuple(range(1, 7)), size=1, last_line="Killed")
    found = engine_logs.parse([reduced])
    assert found is not None and found.logs[0].last is not None
    assert found.logs[0].last.text == "Killed"


def test_a_host_with_several_engines_gives_one_log_for_each() -> None:
    unit = "\n".join("2026-03-04T05:06:07+0000 box vllm[9]: " + line for line in VLLM_033_READY.splitlines())
    found = read(f"== engine log: unit vllm.service\n{unit}\n== engine log: container other\n{VLLM_06}{SGLANG}")
    assert [(one.engine, one.version, one.ready) for one in found] == [
        ("vllm", "0.33.0", True),
        ("vllm", "0.6.3.post1", True),
        ("sglang", "", False),
    ]


def asked(folder: Path, **programs: str) -> str:
    """Return what the script answers on a host that has these programs alone, besides the usual tools."""
    (ask,) = engine_logs.PROBE.asks
    assert isinstance(ask, Command)
    return answer(ask.argv[2], folder, **programs)


SYSTEMCTL = """case "$*" in
  list-units*) echo "vllm.service loaded active running Engine" ;;
  *InvocationID*) echo abc ;;
  *NRestarts*) echo {restarts} ;;
esac"""
JOURNALCTL = """case "$*" in
  *_SYSTEMD_INVOCATION_ID=abc*) echo "{own}" ;;
  *"-u vllm.service"*) echo "the start before" ;;
esac"""


def test_only_the_last_start_of_a_unit_counts(tmp_path: Path) -> None:
    said = asked(tmp_path, systemctl=SYSTEMCTL.format(restarts=0), journalctl=JOURNALCTL.format(own="vllm: error: x"))
    assert said == "== engine log: unit vllm.service\nvllm: error: x\n"


def test_of_a_unit_that_starts_again_and_again_the_starts_before_count_too(tmp_path: Path) -> None:
    said = asked(tmp_path, systemctl=SYSTEMCTL.format(restarts=3), journalctl=JOURNALCTL.format(own="Started."))
    assert said == "== engine log: unit vllm.service\nthe start before\n"


CONTAINER = """case "$*" in
  ps*) echo "1f2e vllm/vllm-openai:v0.30.0 serve"; echo "77aa postgres:16 run" ;;
  *Name*) echo /chat ;;
  *StartedAt*) echo {restarts} 2026-03-04T05:06:07Z ;;
  "logs --tail 2000 --since 2026-03-04T05:06:07Z 1f2e") {last} ;;
  "logs --tail 2000 1f2e") {before}; {last} ;;
esac"""
SERVES = "echo 'INFO:     Application startup complete.'"
TAKEN = "echo 'OSError: [Errno 98] Address already in use'"


def _container(folder: Path, *, restarts: int, before: str, last: str) -> list[str]:
    head, *rest = asked(folder, docker=CONTAINER.format(restarts=restarts, before=before, last=last)).splitlines()
    assert head == "== engine log: container chat"
    return rest


def test_the_log_of_a_container_is_that_since_its_start_without_who_asked(tmp_path: Path) -> None:
    last = """echo 'INFO: 10.0.0.1:5 - "GET /health HTTP/1.1" 200 OK'; echo "on standard error" >&2"""
    assert _container(tmp_path, restarts=0, before=TAKEN, last=last) == ["on standard error"]


def test_what_failed_before_a_container_served_at_last_does_not_count(tmp_path: Path) -> None:
    said = _container(tmp_path, restarts=3, before=TAKEN, last=SERVES)
    assert said == ["INFO:     Application startup complete."]


def test_why_a_container_ended_that_had_served_is_kept(tmp_path: Path) -> None:
    said = _container(tmp_path, restarts=1, before=f"{SERVES}; echo 'CUDA error'", last=SERVES)
    assert "CUDA error" in said


def test_a_container_that_starts_again_and_again_shows_the_starts_before(tmp_path: Path) -> None:
    said = _container(tmp_path, restarts=3, before=TAKEN, last="true")
    assert said == ["OSError: [Errno 98] Address already in use"]


def test_a_host_without_an_engine_answers_nothing(tmp_path: Path) -> None:
    assert asked(tmp_path) == ""


def test_other_texts_are_left_alone() -> None:
    for other in (
        "INFO:     Application startup complete.\n",
        "vllm serve acme/one --port 8000\n",
        "pip install sglang\n",
    ):
        assert read(other) == ()
        assert not engine_logs.recognise(text(other))


def test_any_text_is_read() -> None:
    parses_anything(engine_logs.PROBE, (VLLM_06, VLLM_033_READY, SGLANG), 300)
