from judging import found, judged, outcomes, text
from msgspec.structs import replace

from qops.evidence.gpu import GpuProcess, Gpus
from qops.evidence.process import Process, Processes
from qops.evidence.text import Quote
from qops.probes import messages
from qops.rule import RuledOut
from qops.rules.serve.gpu_memory_held_by_orphan import gpu_memory_held_by_orphan

QUOTE = Quote("nvidia-smi", 9, "a row")
HOLDER = GpuProcess(5150, "0", "VLLM::EngineCore", 60 * 2**30, QUOTE)
ORPHAN = Process(5150, QUOTE, parent=1)
REFUSED = messages.parse(
    [
        text(
            "ValueError: Free memory on device cuda:0 (18.2/79.2 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 71.3 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
        )
    ]
)


def test_a_worker_whose_server_is_gone() -> None:
    (one,) = found(gpu_memory_held_by_orphan, REFUSED, Gpus(processes=(HOLDER,)), Processes((ORPHAN,)))
    assert one.subject == "pid 5150" and "holds 60.0 GiB" in one.message
    assert "kill 5150" in one.fix[0].commands


def test_a_worker_with_a_server_is_another_engine() -> None:
    served = Processes((replace(ORPHAN, parent=5100),))
    (outcome,) = judged(gpu_memory_held_by_orphan, REFUSED, Gpus(processes=(HOLDER,)), served) or ()
    assert isinstance(outcome, RuledOut)


def test_other_programs_and_engines_that_start_are_left_alone() -> None:
    other = Gpus(processes=(replace(HOLDER, name="python3"),))
    assert found(gpu_memory_held_by_orphan, REFUSED, other, Processes((ORPHAN,))) == []
    quiet = messages.parse([text("INFO Free memory on device: 78.1 GiB\n")])
    assert found(gpu_memory_held_by_orphan, quiet, Gpus(processes=(HOLDER,)), Processes((ORPHAN,))) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(gpu_memory_held_by_orphan, {}) is None
