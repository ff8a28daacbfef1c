from qops.evidence.container import GpusInContainers
from qops.evidence.text import Text
from qops.probes.container_gpus import PROBE, SCRIPT, parse, recognise

LOST = """== gpus in container vllm
Failed to initialize NVML: Unknown Error
2026-10-04T09:12:44+0200 rig systemd[1]: Reloading requested from client PID 8123 ('systemctl') (unit session-4.scope)...
2026-10-04T09:12:45+0200 rig systemd[1]: Reloading finished in 211 ms.
== gpus in container trainer
GPU 0: NVIDIA L4 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000001)
GPU 1: NVIDIA L4 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000002)
== gpus in container bare
"""


def answer(content: str, probe: str = "") -> Text:
    return Text("nvidia-smi -L in containers", tuple(content.splitlines()), probe=probe)


def test_each_container_says_what_it_sees() -> None:
    read = parse([answer(LOST)])
    assert read is not None
    vllm, trainer = read.views
    assert (vllm.container, vllm.error, vllm.listed) == ("vllm", "Unknown Error", 0)
    assert [quote.line for quote in vllm.reloads] == [3, 4]
    assert vllm.quote.line == 2
    assert (trainer.container, trainer.error, trainer.listed, trainer.reloads) == ("trainer", "", 2, ())


def test_no_container_with_gpus_is_an_answer_and_no_question_is_none() -> None:
    assert parse([answer("", PROBE.name)]) == GpusInContainers(())
    assert parse([answer("something else")]) is None


def test_only_its_own_head_is_recognised() -> None:
    assert recognise(answer(LOST))
    assert not recognise(answer("Failed to initialize NVML: Unknown Error\n"))
    assert not recognise(answer("== gpus in container \n"))


def test_nothing_but_nvidia_smi_is_run_inside() -> None:
    assert SCRIPT.count(" exec ") == 1
    assert 'exec "$name" nvidia-smi -L </dev/null' in SCRIPT
