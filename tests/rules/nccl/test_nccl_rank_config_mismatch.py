from judging import causes, found, judged
from scenes import NO_LOGS, PIDS, quote

from qops.evidence.message import Hit, Logs
from qops.evidence.nccl import NcclLog, NcclRank, NcclSetting
from qops.evidence.process import Environment, Variable
from qops.rule import Confidence
from qops.rules.nccl.nccl_rank_config_mismatch import nccl_rank_config_mismatch as rule

RANKS = tuple(NcclRank("c1", r, 2, quote("Init COMPLETE"), pid, complete=True) for r, pid in enumerate(PIDS))


def _set(pid: int, value: str, name: str = "NCCL_ALGO") -> NcclSetting:
    return NcclSetting(name, value, quote(f"{name} set by environment to {value}"), pid)


def test_two_values_in_one_job() -> None:
    (one,) = found(rule, NO_LOGS, NcclLog(ranks=RANKS, settings=(_set(PIDS[0], "Ring"), _set(PIDS[1], "Tree"))))
    assert "Ring" in one.message and "Tree" in one.message
    assert one.confidence is Confidence.CERTAIN


def test_a_value_that_one_rank_never_printed() -> None:
    (one,) = found(rule, NO_LOGS, NcclLog(ranks=RANKS, settings=(_set(PIDS[1], "LL", "NCCL_PROTO"),)))
    assert one.confidence is Confidence.LIKELY
    assert f"pid {PIDS[0]}" in one.message


def test_the_same_value_everywhere_is_no_fault() -> None:
    assert found(rule, NO_LOGS, NcclLog(ranks=RANKS, settings=tuple(_set(p, "Ring") for p in PIDS))) == []


def test_settings_that_each_rank_may_choose_do_not_count() -> None:
    own = tuple(_set(p, str(p), "NCCL_DEBUG_FILE") for p in PIDS)
    assert found(rule, NO_LOGS, NcclLog(ranks=RANKS, settings=own)) == []


def test_environments_of_two_ranks_that_differ() -> None:
    variables = [Variable("RANK", str(r), f"pid {p}", quote("RANK")) for r, p in enumerate(PIDS)]
    variables.append(Variable("NCCL_P2P_DISABLE", "1", f"pid {PIDS[0]}", quote("NCCL_P2P_DISABLE=1")))
    (one,) = found(rule, NO_LOGS, Environment(tuple(variables)))
    assert "not set for pid 4102" in one.message


def test_nccl_says_it_itself() -> None:
    (one,) = found(rule, Logs((Hit("nccl-version-mismatch", quote("Mismatched NCCL version detected")),)))
    assert one.confidence is Confidence.CERTAIN


def test_nothing_seen_is_unknown() -> None:
    assert judged(rule) is None


LINE = "{0}:91:91 [0] NCCL INFO {1}\n"


def test_two_hosts_say_different_releases() -> None:
    log = LINE.format("h1", "NCCL version 2.27.3+cuda12.9") + LINE.format("h2", "NCCL version 2.28.7+cuda13.0")
    assert causes({"job.log": log}) == ["nccl-rank-config-mismatch"]
    assert causes({"job.log": log.replace("2.28.7", "2.27.3")}) == []
    assert causes({"job.log": log.replace("h2", "h1")}) == []


def test_two_hosts_use_different_networks() -> None:
    log = LINE.format("h1", "Using network IB") + LINE.format("h2", "Using network Socket")
    assert causes({"job.log": log}) == ["nccl-rank-config-mismatch"]
    assert causes({"job.log": log + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 20.1\n"}) == []


def test_a_plug_in_on_one_host_only() -> None:
    path = LINE.format("h1", "Plugin Path : /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so")
    absent = LINE.format("h2", "NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.")
    assert causes({"job.log": path + absent}) == ["nccl-rank-config-mismatch"]
    assert causes({"job.log": path + path.replace("h1", "h2")}) == []


def test_two_releases_in_lists_of_packages_alone_are_no_fault() -> None:
    assert causes({"pip.txt": "nvidia-nccl-cu12==2.27.3\nafter the update:\nnvidia-nccl-cu12==2.27.7\n"}) == []
