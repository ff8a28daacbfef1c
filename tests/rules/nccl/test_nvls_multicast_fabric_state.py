import pytest
from judging import causes, outcomes

from qops.rule import RuledOut
from qops.rules.nccl.nvls_multicast_fabric_state import nvls_multicast_fabric_state as rule

BIND = "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 4194304 : CUDA error {} '{}'.\n"
STATE = BIND.format(401, "the operation cannot be performed in the present state")
OLD = "dgx:511:640 [3] transport/nvls.cc:169 NCCL WARN Cuda failure {} '{}'\n"
IMEX = (
    "gb:9:9 [0] mnnvl.cc:74 NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. "
    "Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to ignore this issue.\n"
)


@pytest.mark.parametrize(
    "text",
    [STATE, OLD.format(1, "invalid argument"), OLD.replace("{} ", "").format("invalid argument"), IMEX],
    ids=["401", "old wording", "2.18", "IMEX"],
)
def test_multicast_is_refused(text: str) -> None:
    assert causes({"job.log": text})[:1] == ["nvls-multicast-fabric-state"]


def test_a_full_gpu_is_not_a_stale_fabric() -> None:
    full = {"job.log": BIND.format(2, "out of memory")}
    assert "nvls-multicast-fabric-state" not in causes(full)
    assert [type(o) for o in outcomes(rule, full) or ()] == [RuledOut]
    assert "nvls-multicast-fabric-state" not in causes({"job.log": OLD.format(2, "out of memory")})


def test_a_driver_that_was_not_initialised_is_no_matter_of_the_fabric() -> None:
    for line in (OLD.format(3, "initialization error"), OLD.replace("{} ", "").format("initialization error")):
        assert "nvls-multicast-fabric-state" not in causes({"job.log": line})


def test_multicast_that_is_available_is_no_fault() -> None:
    line = "dgx:511:640 [3] NCCL INFO NVLS multicast support is available on dev 3 (NVLS_NCHANNELS 16)\n"
    assert causes({"job.log": line}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_newer_releases_name_the_function() -> None:
    line = "n4:5:9 [1] transport/nvls.cc:390 (ncclNvlsGroupBind) NCCL WARN Cuda failure 401 'the operation cannot be performed in the present state'\n"
    assert causes({"job.log": line})[:1] == ["nvls-multicast-fabric-state"]
