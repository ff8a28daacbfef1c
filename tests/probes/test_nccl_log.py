from pathlib import Path

import pytest
from judging import text
from mangling import parses_anything

from qops.evidence.nccl import NcclLog
from qops.evidence.text import Text
from qops.probes import nccl_log
from qops.probes.nccl_log import KEPT

RECORDED = Path(__file__).parent.parent / "hosts/h200x2"

# 2.18: no function name, split with a commId, bus ids in a channel's brackets
OLD = """\
node-a:4001:4077 [0] NCCL INFO Bootstrap : Using bond0:198.51.100.7<0>
node-a:4001:4077 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation
NCCL version 2.18.5+cuda12.2
node-a:4001:4090 [0] NCCL INFO Using network IB
node-a:4001:4090 [0] NCCL INFO comm 0x7f00a1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 17000 commId 0xbeef01 - Init START
node-a:4002:4091 [1] NCCL INFO comm 0x7f00b2 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 2a000 commId 0xbeef01 - Init START
node-a:4001:4090 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.
node-a:4001:4090 [0] NCCL INFO Channel 00/02 :    0   1
node-a:4001:4090 [0] NCCL INFO Channel 00/0 : 0[17000] -> 1[2a000] via P2P/IPC/read
node-a:4001:4090 [0] NCCL INFO Channel 01/0 : 0[17000] -> 1[2a000] via P2P/IPC/read
node-a:4001:4090 [0] NCCL INFO Connected all rings
node-a:4001:4090 [0] NCCL INFO comm 0x7f00a1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 17000 commId 0xbeef01 - Init COMPLETE
node-a:4001:4090 [0] NCCL INFO ncclCommSplit comm 0x7f00c3 rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 17000 parent 0x7f00a1 color 3 key 0 commId 0xbeef02 - Init START
"""

# 2.28: function names, a split without a commId, GPU Direct, warnings with the time
NEW = """\
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO Bootstrap: Using eth1:10.9.0.4<0>
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO NCCL version 2.28.3+cuda12.9
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO Using network AWS Libfabric
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO ncclCommInitRank comm 0xaa0 rank 4 nranks 16 cudaDev 0 nvmlDev 4 busId 8a0 commId 0x51dde - Init START
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO RAS client listening socket at 127.0.0.1<28028>
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to PXB
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO Invalid value 99999999999999999999 for NCCL_BUFFSIZE, using default -2.
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO comm 0xaa0 rank 4 nRanks 16 nNodes 2 localRanks 8 localRank 4 MNNVL 0
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO Channel 02/0 : 4[4] -> 12[4] [send] via NET/IB/1(5)/GDRDMA/Shared
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO Channel 02/0 : 12[4] -> 4[4] [receive] via NET/IB/1/GDRDMA
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO ncclCommInitRank comm 0xaa0 rank 4 nranks 16 cudaDev 0 nvmlDev 4 busId 8a0 commId 0x51dde - Init COMPLETE
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO ncclCommSplit comm 0xbb0 rank 1 nranks 2 cudaDev 0 nvmlDev 4 busId 8a0 parent 0xaa0 splitCount 3 color 77 key 1- Init START
(Worker_TP0 pid=51) [2026-03-01 07:08:09] pod-0:51:60 [0] transport/net_ib.cc:1290 NCCL WARN NET/IB: Got completion from peer
(Worker_TP0 pid=51) pod-0:51:51 [0] NCCL INFO [Rank 4] ncclCommGrow comm 0xcc0 rank 4 nranks 17 cudaDev 0 nvmlDev 4 busId 8a0 commId 0x99 - Init START
"""

CALLS = """\
n1:70:70 [2] NCCL INFO ncclCommInitRank comm 0xd0 rank 2 nranks 8 cudaDev 2 nvmlDev 2 busId 3b000 commId 0x1 - Init COMPLETE
n1:70:70 [2] NCCL INFO AllReduce: opCount 1b sendbuff 0x7e recvbuff 0x7e count 4096 datatype 9 op 0 root 0 comm 0xd0 [nranks=8] stream 0x5
n1:70:70 [2] NCCL INFO Broadcast: opCount 1c sendbuff (nil) recvbuff 0x7e count 8 datatype 7 op 0 root 3 comm 0xd0 [nranks=8] stream 0x5
n1:70:70 [2] NCCL INFO AllGather: opCount 2 sendbuff 0x7e recvbuff 0x7e count 9 datatype 0 op 0 root 0 comm 0xe0 [nranks=4] stream 0x5
"""


def read(content: str) -> NcclLog:
    found = nccl_log.parse([text(content)])
    assert found is not None
    return found


def test_version_2_18() -> None:
    log = read(OLD)
    assert log.versions == ("2.18.5",)
    assert log.version_quote is not None and log.version_quote.line == 3
    assert log.interfaces == ("bond0",)
    assert log.networks == ("IB",)
    assert log.connected
    assert [(r.communicator, r.rank, r.size, r.pid, r.device, r.bus_id, r.complete) for r in log.ranks] == [
        ("0xbeef01", 0, 2, 4001, 0, "17000", True),
        ("0xbeef01", 1, 2, 4002, 1, "2a000", False),
        ("0xbeef02", 0, 1, 4001, 0, "17000", False),
    ]
    assert [(c.a, c.b, c.transport, c.count) for c in log.channels] == [(0, 1, "P2P/IPC/read", 2)]
    assert [(s.name, s.value, s.pid, s.host) for s in log.settings] == [("NCCL_IB_TIMEOUT", "22", 4001, "node-a")]
    assert log.rank_of(4002) == 1


def test_version_2_28() -> None:
    log = read(NEW)
    assert log.versions == ("2.28.3",)
    assert log.interfaces == ("eth1",)
    assert log.networks == ("AWS Libfabric",)
    assert [(s.name, s.value, s.refused) for s in log.settings] == [
        ("NCCL_P2P_LEVEL", "PXB", False),
        ("NCCL_BUFFSIZE", "99999999999999999999", True),
    ]
    assert [(r.communicator, r.rank, r.size, r.started, r.complete) for r in log.ranks] == [
        ("0x51dde", 4, 16, True, True),
        ("0x51dde/3.77", 1, 2, True, False),
        ("0x99", 4, 17, True, False),
    ]
    assert [c.transport for c in log.channels] == ["NET/IB/1(5)/GDRDMA/Shared", "NET/IB/1/GDRDMA"]
    (warning,) = log.warnings
    assert (warning.text, warning.pid, warning.rank, warning.host) == (
        "NET/IB: Got completion from peer",
        51,
        0,
        "pod-0",
    )
    assert [q.line for q in log.ras] == [5]
    assert log.last is not None and log.last.line == 14


@pytest.mark.parametrize(
    "line",
    [
        "h-1:9:9 [3] transport/p2p.cc:275 NCCL WARN Cuda failure 217 'peer access is not supported'",
        "[2026-01-02 03:04:05] h-1:9:9 [3] transport/p2p.cc:275 NCCL WARN Cuda failure 217 'peer access is not supported'",
        "h-1:9:9 [3] transport/p2p.cc:275 (p2pMap) NCCL WARN Cuda failure 217 'peer access is not supported'",
        "vllm-1  | Jan 02 03:04:05 box app[1]: h-1:9:9 [3] include/shm.h:28 NCCL WARN Cuda failure 217 'peer access is"
        " not supported'",
        "[1,3]<stdout>:h-1:9:9 [3] NCCL WARN Cuda failure 217 'peer access is not supported'",
    ],
)
def test_forms_of_a_warning(line: str) -> None:
    (warning,) = read(line).warnings
    assert warning.text == "Cuda failure 217 'peer access is not supported'"
    assert (warning.pid, warning.rank, warning.host) == (9, 3, "h-1")


def test_a_warning_without_its_prefix() -> None:
    (warning,) = read("[0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed").warnings
    assert (warning.text, warning.pid, warning.rank) == ("Call to posix_fallocate failed", None, 0)


def test_two_processes_on_one_line() -> None:
    log = read(
        "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring b:2:2 [1] NCCL INFO NCCL_ALGO set by environment to"
        " Tree\na:3:3 [0] NCCL INFO NCCL_ALGO set by environment to b:4:4 [1] NCCL INFO Connected all rings"
    )
    assert [(s.value, s.pid) for s in log.settings] == [("Ring", 1), ("Tree", 2)]
    assert log.connected


def test_lines_cut_from_their_prefix() -> None:
    log = read("Channel 03/0 : 5[5] -> 6[6] via SHM/direct/direct\nNCCL_DEBUG set by environment to INFO\n")
    assert [(c.a, c.b, c.transport) for c in log.channels] == [(5, 6, "SHM/direct/direct")]
    assert [s.value for s in log.settings] == ["INFO"]


def test_a_rank_that_only_told_its_place_did_not_start() -> None:
    (rank,) = read("x:8:8 [0] NCCL INFO comm 0x5 rank 3 nRanks 4 nNodes 1 localRanks 4 localRank 3 MNNVL 0").ranks
    assert (rank.communicator, rank.started, rank.complete) == ("0x5", False, False)


def test_the_last_call_of_each_communicator_counts_and_its_number_is_hexadecimal() -> None:
    calls = {c.communicator: c for c in read(CALLS).calls}
    last = calls["0xd0"]
    assert (last.op, last.number, last.count, last.datatype, last.rank) == ("Broadcast", 0x1C, 8, 7, 2)
    assert (calls["0xe0"].number, calls["0xe0"].rank) == (2, None)


def test_a_reduced_log_gives_all_but_the_calls() -> None:
    content = (OLD + NEW + CALLS).splitlines()
    kept = [
        (n, line)
        for n, line in enumerate(content, 1)
        if any(literal in line.lower() for literal in nccl_log.PROBE.literals)
    ]
    reduced = Text("job.log", tuple(line for _, line in kept), tuple(n for n, _ in kept), size=1, last_line=content[-1])
    log, whole = nccl_log.parse([reduced]), read("\n".join(content))
    assert log is not None
    for name in ("versions", "ranks", "settings", "channels", "warnings", "networks", "interfaces", "connected", "ras"):
        assert getattr(log, name) == getattr(whole, name), name
    assert log.last is not None and log.last.text == content[-1]
    assert not any("opcount" in literal or literal == "nccl info" for literal in nccl_log.PROBE.literals)


def test_memory_is_bounded_and_the_first_and_the_latest_are_kept() -> None:
    log = read("\n".join(f"a:1:1 [0] NCCL INFO NCCL_X{i} set by environment to 1." for i in range(3 * KEPT)))
    assert len(log.settings) == 2 * KEPT
    assert (log.settings[0].name, log.settings[-1].name) == ("NCCL_X0", f"NCCL_X{3 * KEPT - 1}")


def test_other_texts_are_left_alone() -> None:
    other = text("nccl is a library\nserver listening via http\ncomm 0x1\n")
    assert not nccl_log.recognise(other)
    assert nccl_log.parse([other]) is None


def test_numbers_of_any_length_are_read_or_passed_over() -> None:
    digits = "9" * 5000
    assert read(f"a:1:1 [0] NCCL INFO comm 0x1 rank {digits} nranks 2 cudaDev 0 busId 1 - Init START").ranks == ()
    assert read(f"a:1:1 [0] NCCL INFO X: opCount {digits} sendbuff 0x1").calls == ()


def test_recorded_jobs() -> None:
    for case, transport, complete in (
        ("p2p_off", "SHM/direct/direct", True),
        ("net_only", "NET/Socket/0", True),
        ("healthy", "P2P/CUMEM", True),
        ("dup", "", False),
    ):
        log = read((RECORDED / "cases" / case / "job.log").read_text())
        assert log.versions == ("2.28.9",)
        assert {r.complete for r in log.ranks} == {complete}
        assert {c.transport for c in log.channels} == ({transport} if transport else set())
    deadlock = read((RECORDED / "cases/deadlock2/job.log").read_text())
    assert sorted(len(r.communicator.split("/")) for r in deadlock.ranks) == [1, 1, 2, 2, 2, 2]


def test_any_text_is_read() -> None:
    parses_anything(nccl_log.PROBE, (OLD, NEW, CALLS), 300)
