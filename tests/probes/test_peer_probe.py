import json

import pytest
from judging import text
from peer_probes import OFF, arm, group, probe

from qops.errors import ParseError
from qops.evidence.peer_probe import Outcome, PeerSize
from qops.probes import peer_probe
from qops.probes.peer_probe import attempt, outcome, written


def _lines(*said: dict) -> list[str]:  # type: ignore[type-arg]
    return [json.dumps(one) + "\n" for one in said]


def _pair(rank: int, *, wrong: int = 0, done: bool = True) -> list[dict]:  # type: ignore[type-arg]
    begun = {"rank": rank, "event": "begin", "gpus": [0, 1], "bytes": 1 << 20}
    via = f"n1:7:7 [{rank}] NCCL INFO Channel 00/0 : {rank}[{rank}] -> {1 - rank}[{1 - rank}] via P2P/CUMEM"
    end = {
        "rank": rank,
        "event": "done",
        "gpus": [0, 1],
        "bytes": 1 << 20,
        "wrong": wrong,
        "seconds": 0.001 * (rank + 1),
    }
    return [begun, {"rank": rank, "nccl": via}, *([end, {"rank": rank, "event": "end"}] if done else [])]


def test_what_both_ranks_say_comes_together() -> None:
    start = {"rank": 0, "event": "start", "torch": "2.11.0+cu130", "cuda": "13.0", "nccl": "2.28.9"}
    found = attempt(_lines(start, *_pair(0), *_pair(1)), (4, 6))
    assert found.versions["nccl"] == "2.28.9"
    (pair,) = found.groups
    assert (pair.gpus, pair.transports) == ((4, 6), ("P2P/CUMEM",))
    assert pair.sizes == (PeerSize(1 << 20, 0.002, 0),)  # as slow as its slowest rank
    assert outcome(found, ranks=2, in_time=True) is Outcome.RIGHT


def test_one_rank_that_does_not_come_through_is_a_hang() -> None:
    found = attempt(_lines(*_pair(0), *_pair(1, done=False)), (0, 1))
    assert found.groups[0].sizes == (PeerSize(1 << 20, None, 0),)
    assert outcome(found, ranks=2, in_time=False) is Outcome.HUNG
    assert outcome(found, ranks=2, in_time=True) is Outcome.FAILED  # it ended, and not as it should


def test_wrong_data_is_worse_than_a_hang() -> None:
    found = attempt(_lines(*_pair(0, wrong=3), *_pair(1, done=False)), (0, 1))
    assert outcome(found, ranks=2, in_time=False) is Outcome.WRONG


def test_a_setting_of_a_file_shows_and_what_makes_the_log_does_not() -> None:
    told = "n1:7:7 [0] NCCL INFO {} set by environment to {}."
    lines = _lines(
        {"rank": 0, "nccl": told.format("NCCL_P2P_LEVEL", "SYS")},
        {"rank": 0, "nccl": told.format("NCCL_DEBUG", "INFO")},
    )
    assert attempt(lines, (0, 1)).settings == {"NCCL_P2P_LEVEL": "SYS."}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no json",
        "[" * 100_000,
        "[]",
        "7",
        '{"rank": "x", "event": "begin"}',
        '{"rank": 0, "event": "begin", "gpus": [0, 99, "y"], "bytes": "z"}',
        '{"rank": 0, "event": "done", "gpus": null}',
        '{"rank": 0, "event": "done", "gpus": [0, 1], "bytes": 8, "wrong": "1", "seconds": {}}',
        '{"rank": 0, "said": "\\u001b[31mred"}',
    ],
)
def test_lines_that_are_none_are_passed_over(line: str) -> None:
    found = attempt([line, *_lines(*_pair(0), *_pair(1))], (0, 1))
    assert outcome(found, ranks=2, in_time=True) is Outcome.RIGHT
    assert "\x1b" not in found.said


def test_a_file_is_read_back_as_it_was_written() -> None:
    kept = probe(arm("as is", Outcome.RIGHT, group(0, 1)), OFF)
    found = peer_probe.parse([text(written(kept), peer_probe.PLACE)])
    assert found is not None
    assert written(found) == written(kept)
    assert len(found.quote.text) <= 200
    assert peer_probe.recognise(text(written(kept), "p2p.json"))


def test_the_newest_result_counts() -> None:
    old = written(probe(OFF)).replace("2026-10-02", "2026-01-01")
    found = peer_probe.parse([text(written(probe(arm("as is"), OFF))), text(old)])
    assert found is not None and len(found.arms) == 2


@pytest.mark.parametrize(
    "damage", ['{"qops_probe":"p2p"', '{"qops_probe":"p2p","arms":7}', '{"qops_probe":"p2p","at":[]}']
)
def test_a_damaged_file_is_said(damage: str) -> None:
    with pytest.raises(ParseError, match="no result of a probe"):
        peer_probe.parse([text(damage)])


def test_other_texts_are_none() -> None:
    assert peer_probe.parse([text('{"other": 1}')]) is None
    assert not peer_probe.recognise(text('{"other": 1}'))
