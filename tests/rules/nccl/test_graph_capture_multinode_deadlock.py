import pytest
from judging import causes, outcomes
from nccl_pictures import spin, start

from qops.rule import RuledOut
from qops.rules.nccl.graph_capture_multinode_deadlock import graph_capture_multinode_deadlock as rule

SPANS = "[TP0] Custom allreduce is disabled because this process group spans across nodes.\n"
BEGIN = "[2026-09-03 10:00:00 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=22.10 GB\n"
STEP = "Capturing batches (bs=8 avail_mem=21.90 GB):   0%|          | 0/4 [00:00<?, ?it/s]\n"
END = "[2026-09-03 10:00:41 TP0] Capture cuda graph end. Time elapsed: 41.00 s. mem usage=0.9 GB. avail mem=21.2 GB.\n"
HANG = {"engine.log": SPANS + BEGIN + STEP}


def test_capture_stands_in_a_job_of_several_hosts() -> None:
    assert causes(HANG | {"smi.csv": spin(19.0)})[:1] == ["graph-capture-multinode-deadlock"]


def test_hosts_are_also_known_from_nccl() -> None:
    files = {
        "nccl.log": start("NET/IB/0", "2.28.9+cuda13.0", hosts=("sp1", "sp2")),
        "engine.log": BEGIN,
        "smi.csv": spin(),
    }
    assert causes(files)[:1] == ["graph-capture-multinode-deadlock"]


@pytest.mark.parametrize(
    "log", [BEGIN + STEP, SPANS + BEGIN + STEP + END, SPANS], ids=["one host", "finished", "no capture"]
)
def test_look_alikes(log: str) -> None:
    assert "graph-capture-multinode-deadlock" not in causes({"engine.log": log, "smi.csv": spin(19.0)})


def test_an_engine_that_serves_rules_it_out() -> None:
    ready = "INFO:     Application startup complete.\n[2026-09-03 10:03:00] The server is fired up and ready to roll!\n"
    told = outcomes(rule, {"engine.log": SPANS + BEGIN + STEP + ready}) or ()
    assert all(isinstance(o, RuledOut) for o in told)


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_the_log_goes_on_and_capture_does_not() -> None:
    bar = "  0%|          | 0/23 [00:00<?, ?it/s]\n"
    gave_up = (
        "[rank8]:[E1101 ProcessGroupNCCL.cpp:632] [Rank 8] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, "
        "OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.\n"
    )
    assert causes({"engine.log": SPANS + BEGIN + bar + gave_up})[:1] == ["graph-capture-multinode-deadlock"]
    assert causes({"engine.log": SPANS + BEGIN + bar + END + gave_up}) == []


def test_several_nodes_in_nccls_own_words() -> None:
    nodes = "n1:5:9 [0] NCCL INFO comm 0x4 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0\n"
    assert causes({"engine.log": nodes + STEP})[:1] == ["graph-capture-multinode-deadlock"]
