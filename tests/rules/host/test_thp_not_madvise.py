from judging import outcomes

from qops.rules.host.thp_not_madvise import thp_not_madvise

H200 = "GPU 0: NVIDIA H200 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000001)\n"
OTHER = "GPU 0: NVIDIA L40S (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000003)\n"


def test_always() -> None:
    (found,) = outcomes(thp_not_madvise, {"smi.txt": H200, "thp.txt": "[always] madvise never\n"}) or ()
    assert "are always and should be madvise" in found.message  # type: ignore[union-attr]


def test_look_alike_madvise() -> None:
    assert outcomes(thp_not_madvise, {"smi.txt": H200, "thp.txt": "always [madvise] never\n"}) == ()


def test_look_alike_the_file_of_defragmentation() -> None:
    seen = {"smi.txt": H200, "thp.txt": "[always] defer defer+madvise madvise never\n"}
    assert outcomes(thp_not_madvise, seen) is None


def test_hardware_that_is_not_known_is_not_judged() -> None:
    assert outcomes(thp_not_madvise, {"smi.txt": OTHER, "thp.txt": "[always] madvise never\n"}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(thp_not_madvise, {"smi.txt": H200}) is None
