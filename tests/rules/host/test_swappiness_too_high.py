from judging import outcomes

from qops.rule import RuledOut
from qops.rules.host.swappiness_too_high import swappiness_too_high

H200 = "GPU 0: NVIDIA H200 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000001)\n"
SPARK = "GPU 0: NVIDIA GB10 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000002)\n"
OTHER = "GPU 0: NVIDIA L40S (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000003)\n"
SWAP = "MemTotal:  131072000 kB\nSwapTotal:   8388604 kB\n"


def test_the_kernels_default_with_swap() -> None:
    (found,) = outcomes(swappiness_too_high, {"smi.txt": H200, "s.txt": "vm.swappiness = 60\n", "m.txt": SWAP}) or ()
    assert "vm.swappiness is 60 and should be 1" in found.message  # type: ignore[union-attr]


def test_a_spark_needs_another_value() -> None:
    assert outcomes(swappiness_too_high, {"smi.txt": SPARK, "s.txt": "vm.swappiness = 10\n", "m.txt": SWAP}) == ()
    assert outcomes(swappiness_too_high, {"smi.txt": SPARK, "s.txt": "vm.swappiness = 60\n", "m.txt": SWAP})


def test_look_alike_no_swap() -> None:
    none = SWAP.replace("8388604", "0")
    (found,) = outcomes(swappiness_too_high, {"smi.txt": H200, "s.txt": "vm.swappiness = 60\n", "m.txt": none}) or ()
    assert isinstance(found, RuledOut)


def test_look_alike_lower_than_needed() -> None:
    assert outcomes(swappiness_too_high, {"smi.txt": SPARK, "s.txt": "vm.swappiness = 0\n", "m.txt": SWAP}) == ()


def test_a_value_that_is_no_number() -> None:
    for value in ("", "²", "9" * 5000, "-1", "high"):
        assert not outcomes(swappiness_too_high, {"smi.txt": H200, "s.txt": f"vm.swappiness = {value}\nvm.x = 1\n"})


def test_hardware_that_is_not_known_is_not_judged() -> None:
    assert outcomes(swappiness_too_high, {"smi.txt": OTHER, "s.txt": "vm.swappiness = 60\n"}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(swappiness_too_high, {"smi.txt": H200}) is None
