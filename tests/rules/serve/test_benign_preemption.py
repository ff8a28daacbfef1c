"""The KV cache is full for a while: how engines share it, and no fault, as long as tokens come."""

import pytest
from judging import causes, diagnose, outcomes

from qops.report import Verdict
from qops.rules.serve.benign_preemption import benign_preemption

VLLM = (
    "WARNING 04-02 09:00:01 scheduler.py:1750] Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because "
    "there is not enough KV cache space. total_num_cumulative_preemption=3\n"
)
SGLANG = (
    "[2026-04-02 09:00:01] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.4 -> 0.9\n"
)
TOKENS = {
    VLLM: "INFO 04-02 09:00:06 metrics.py:450] Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: 640.5 tokens/s\n",
    SGLANG: "[2026-04-02 09:00:03] Decode batch, #running-req: 9, token usage: 0.97, gen throughput (token/s): 812.40, #queue-req: 4\n",
}


@pytest.mark.parametrize("full", [VLLM, SGLANG])
def test_tokens_came_after_it(full: str) -> None:
    report = diagnose({"engine.log": full + TOKENS[full]})
    assert report.verdict is Verdict.HEALTHY
    assert "benign-preemption" in [f.cause for f in report.findings]


@pytest.mark.parametrize(
    "log",
    [
        VLLM,  # and what then?
        TOKENS[VLLM] + VLLM,
        VLLM + "INFO 04-02 09:00:06 metrics.py:450] Avg generation throughput: 0.0 tokens/s, Running: 4 reqs\n",
        SGLANG + TOKENS[SGLANG] + "RuntimeError: Decode out of memory. Try to lower your batch size.\n",
    ],
)
def test_what_does_not_show_that_it_went_on(log: str) -> None:
    report = diagnose({"engine.log": log})
    assert report.verdict is Verdict.UNDETERMINED
    assert not report.findings or report.findings[0].cause != "benign-preemption"


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(benign_preemption, {}) is None
    assert causes({"engine.log": "INFO: idle\n"}) == []
