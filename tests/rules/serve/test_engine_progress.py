from judging import found, judged
from scenes import quote

from qops.evidence.engine import EngineMetrics, MetricsSample
from qops.rules.serve.engine_serves import engine_serves
from qops.rules.serve.engine_stalled import engine_stalled


def _scrapes(
    *tokens: float,
    running: float = 2.0,
    names: tuple[str, str] = ("vllm:generation_tokens_total", "vllm:num_requests_running"),
) -> EngineMetrics:
    return EngineMetrics(
        tuple(
            MetricsSample(5.0 * i, {names[0]: n, names[1]: running}, quote(f"{names[0]} {n}"), 8000)
            for i, n in enumerate(tokens)
        )
    )


def test_requests_without_tokens_are_a_stall() -> None:
    (one,) = found(engine_stalled, _scrapes(512, 512, 512))
    assert one.subject == "engine on port 8000"
    assert "no token came in 10 s" in one.message
    assert found(engine_serves, _scrapes(512, 512, 512)) == []


def test_an_idle_engine_is_no_stall() -> None:
    assert found(engine_stalled, _scrapes(512, 512, 512, running=0.0)) == []


def test_tokens_that_come_are_a_sign_of_health() -> None:
    sglang = ("sglang:generation_tokens_total", "sglang:num_running_reqs")
    assert found(engine_stalled, _scrapes(1, 70, 140, names=sglang)) == []
    assert found(engine_serves, _scrapes(1, 70, 140, names=sglang))


def test_one_scrape_says_nothing() -> None:
    assert found(engine_stalled, _scrapes(512)) == []


def test_nothing_seen_is_unknown() -> None:
    assert judged(engine_stalled) is None
    assert judged(engine_serves) is None
