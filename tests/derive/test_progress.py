from msgspec.structs import replace
from scenes import IDLE, WAITING, WORKING, machine, readings

from qops.derive.progress import computing, idle_during, loading, spinning
from qops.evidence.gpu import GpuSamples


def test_a_waiting_kernel_spins() -> None:
    (stretch,) = spinning(readings(WAITING, IDLE), machine())
    assert (stretch.index, stretch.seconds, stretch.power_limit) == (0, 10.0, 600.0)


def test_work_does_not_spin() -> None:
    samples = readings(WORKING, (99, 100, 480.0, 80_000))
    assert spinning(samples, machine()) == ()
    assert [s.index for s in computing(samples, machine())] == [0, 1]


def test_a_register_bound_kernel_is_told_by_its_power() -> None:
    samples = readings((100, 0, 590.0, 8_000), IDLE)
    assert spinning(samples, machine()) == ()
    assert [s.index for s in computing(samples, machine())] == [0]


def test_a_few_seconds_are_no_stall() -> None:
    assert spinning(readings(WAITING, WAITING, seconds=6), machine()) == ()


def test_memory_that_grows_is_no_stall() -> None:
    assert spinning(readings(WAITING, WAITING, growth=100), machine()) == ()


def test_unknown_memory_traffic_is_not_taken_for_none() -> None:
    samples = readings(WAITING, WAITING)
    blind = GpuSamples(tuple(replace(s, memory_utilization=None) for s in samples.samples))
    assert spinning(blind, machine()) == ()


def test_a_load_is_memory_that_grows_while_no_kernel_runs() -> None:
    first, second = loading(readings((2, 0, 110.0, 2_000), (4, 0, 112.0, 2_000), growth=700))
    assert first.loaded == 7_000 << 20
    assert second.index == 1


def test_the_idle_gpu_beside_a_spinning_one_is_found() -> None:
    samples = readings(WAITING, IDLE)
    (idle,) = idle_during(samples, spinning(samples, machine()))
    assert idle.index == 1
    assert idle_during(samples, ()) == ()


def test_nothing_sampled_says_nothing() -> None:
    assert spinning(None) == computing(None) == loading(None) == ()
