from judging import causes, found, outcomes

from qops.evidence.message import Logs
from qops.evidence.process import Process, Processes
from qops.evidence.text import Quote
from qops.rules.host.process_stuck_in_driver import process_stuck_in_driver

QUOTE = Quote("gpu processes", 4, "State:\tR (running)")
STACK = """\
INFO: task python3:4410 blocked for more than 122 seconds.
Call Trace:
 uvm_spin_loop+0x9a/0xd0 [nvidia_uvm]
 uvm_tracker_wait_for_entry+0x4c/0x70 [nvidia_uvm]
"""


def _samples(*stacks: tuple[str, ...]) -> Processes:
    return Processes(tuple(Process(4410, QUOTE, state="R", stack=s, at=float(n)) for n, s in enumerate(stacks)))


def test_each_sample_finds_it_there() -> None:
    stuck = ("uvm_spin_loop", "wait_for_entry_with_spin", "uvm_tracker_wait_for_entry")
    (one,) = found(process_stuck_in_driver, Logs(), _samples(stuck, stuck, stuck))
    assert one.subject == "pid 4410"


def test_a_program_that_passes_through_is_left_alone() -> None:
    stuck = ("uvm_spin_loop",)
    assert found(process_stuck_in_driver, Logs(), _samples(stuck, ("futex_wait",), stuck, stuck)) == []
    assert found(process_stuck_in_driver, Logs(), _samples(stuck)) == []


def test_the_kernel_reports_the_task() -> None:
    assert causes({"dmesg.txt": STACK}) == ["process-stuck-in-driver"]


def test_a_stack_alone_may_be_a_moment() -> None:
    assert causes({"stack.txt": STACK.partition("\n")[2]}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(process_stuck_in_driver, {}) is None
