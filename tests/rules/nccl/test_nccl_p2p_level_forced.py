import pytest
from judging import causes, diagnose, outcomes
from nccl_pictures import FAR, NODE, NVLINK, REDIRECT, RESULT, p2p, spin, start, tree

from qops.rule import Role
from qops.rules.nccl.nccl_p2p_level_forced import nccl_p2p_level_forced as rule

HANG = {"topo.txt": NODE, "smi.csv": spin(130.0, gpus=4)}


@pytest.mark.parametrize("value", ["SYS", "PHB", "3", "4", "5"])
def test_a_level_beyond_the_default_and_a_stall(value: str) -> None:
    report = diagnose(HANG | {"env.txt": f"NCCL_P2P_LEVEL={value}\n"})
    assert report.root is not None and report.root.cause == "nccl-p2p-level-forced"
    assert f"NCCL_P2P_LEVEL={value}" in report.root.message


@pytest.mark.parametrize("value", ["2", "PXB", "NVL", "0", "node", "phb"])
def test_levels_that_force_nothing(value: str) -> None:
    assert "nccl-p2p-level-forced" not in causes(HANG | {"env.txt": f"NCCL_P2P_LEVEL={value}\n"})


def test_what_nccl_would_do_by_itself_is_not_forced() -> None:
    files = {
        "topo.txt": FAR,
        "smi.csv": spin(),
        "lscpu.txt": "Architecture:  x86_64\nVendor ID:  AuthenticAMD\n",
        "env.txt": "NCCL_P2P_LEVEL=SYS\n",
        "job.log": start(),
    }
    assert "nccl-p2p-level-forced" not in causes(files)


def test_without_a_stall_it_is_a_warning() -> None:
    report = diagnose({"topo.txt": NODE, "env.txt": "NCCL_P2P_LEVEL=SYS\n"})
    (finding,) = [f for f in report.findings if f.cause == "nccl-p2p-level-forced"]
    assert finding.role is Role.CONTRIBUTING and report.root is None


def test_the_platform_comes_before_the_setting() -> None:
    files = {"topo.txt": FAR, "p2p.txt": p2p(), "lspci.txt": tree(REDIRECT), "smi.csv": spin()}
    assert causes(files | {"env.txt": "NCCL_P2P_LEVEL=SYS\n", "job.log": start()})[:1] == ["p2p-blocked-by-acs-iommu"]


def test_nvlink_a_refusing_driver_and_a_working_job_are_no_fault() -> None:
    forced = {"env.txt": "NCCL_P2P_LEVEL=SYS\n"}
    assert "nccl-p2p-level-forced" not in causes({"topo.txt": NVLINK, "smi.csv": spin()} | forced)
    assert "nccl-p2p-level-forced" not in causes({"topo.txt": FAR, "p2p.txt": p2p("CNS"), "smi.csv": spin()} | forced)
    assert causes({"topo.txt": FAR, "job.log": start() + RESULT} | forced) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
