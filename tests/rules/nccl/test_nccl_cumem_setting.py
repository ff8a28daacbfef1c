import pytest
from judging import causes, outcomes
from nccl_pictures import FAR, NODE, NVLINK, RESULT, spin, start

from qops.rule import RuledOut
from qops.rules.nccl.nccl_cumem_setting import nccl_cumem_setting as rule

HOST = (
    "a100:77:90 [1] transport/shm.cc:590 NCCL WARN Cuda failure 217 "
    "'peer access is not supported between these two devices'\n"
)
HANG = {
    "topo.txt": NODE,
    "smi.csv": spin(140.0, gpus=4),
    "job.log": start("P2P/IPC", settings=["NCCL_CUMEM_ENABLE set by environment to 0."]),
    "cmdline.txt": "BOOT_IMAGE=/vmlinuz-6.12 ro console=ttyS0 iommu=pt\n",
}


def test_host_buffers_without_peer_access() -> None:
    assert causes({"job.log": HOST})[:1] == ["nccl-cumem-setting"]


def test_host_buffers_that_are_off_already_rule_it_out() -> None:
    told = outcomes(rule, {"job.log": HOST, "env.txt": "NCCL_CUMEM_HOST_ENABLE=0\n"}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_legacy_ipc_that_stands_with_an_iommu_in_passthrough() -> None:
    assert causes(HANG)[:1] == ["nccl-cumem-setting"]


def test_the_setting_without_a_stall_is_no_fault() -> None:
    assert causes({"topo.txt": FAR, "env.txt": "NCCL_CUMEM_ENABLE=0\n", "job.log": start() + RESULT}) == []
    assert "nccl-cumem-setting" not in causes(HANG | {"topo.txt": NVLINK})


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_torch_repeats_the_error_without_its_place() -> None:
    said = "NCCL error in: ProcessGroupNCCL.cpp:3699, unhandled cuda error, NCCL version {}\nLast error:\n"
    last = "Cuda failure 217 'peer access is not supported between these two devices'\n"
    assert causes({"job.log": said.format("2.27.5") + last})[:1] == ["nccl-cumem-setting"]
    assert "nccl-cumem-setting" not in causes({"job.log": said.format("2.18.3") + last})


def test_newer_releases_name_the_function() -> None:
    line = "h:7:9 [0] transport/shm.cc:601 (shmSetup) NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'\n"
    assert causes({"job.log": line})[:1] == ["nccl-cumem-setting"]


@pytest.mark.parametrize("name", ["nccl-", "nccl-\u040c", "nccl-K", "nccl-\x01Qz"])
def test_a_rank_reads_a_handle_as_the_name_of_a_segment(name: str) -> None:
    line = f"h:7:9 [4] misc/shmutils.cc:135 NCCL WARN Error while attaching to shared memory segment /dev/shm/{name} (size 0), error: No such file or directory (2)\n"
    assert causes({"job.log": line})[:1] == ["nccl-cumem-setting"]


def test_a_segment_that_is_gone_is_another_fault() -> None:
    line = "h:7:9 [4] misc/shmutils.cc:135 NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl-p4Vn0T (size 9637888), error: No such file or directory (2)\n"
    assert causes({"job.log": line}) == []
