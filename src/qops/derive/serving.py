"""Whether an engine makes progress, from two scrapes of its metrics or more. `/health` does not tell."""

from msgspec import Struct

from qops.evidence.engine import EngineLogs, EngineMetrics, MetricsSample
from qops.evidence.text import Quote

# The same figures under the names of vLLM (0.6 to 0.33) and SGLang (0.4 to 0.5.23).
GENERATED = ("vllm:generation_tokens_total", "vllm:generation_tokens", "sglang:generation_tokens_total")
PROMPT = ("vllm:prompt_tokens_total", "vllm:prompt_tokens", "sglang:prompt_tokens_total")
RUNNING = ("vllm:num_requests_running", "sglang:num_running_reqs")
WAITING = ("vllm:num_requests_waiting", "sglang:num_queue_reqs")
MIN_SECONDS = 8.0  # a long prefill of one request can take seconds without a token


SERVES = "an engine that serves"  # what is lacking while one starts


def starting(engines: EngineLogs | None) -> bool:
    """Return whether an engine has not said yet that it serves: what shows only then is not known."""
    return engines is not None and any(not log.serves for log in engines.logs)


class Serving(Struct, frozen=True):
    """What one engine did between the first and the last scrape. `seconds` between them."""

    port: int | None
    seconds: float
    tokens: float  # generated and prompt tokens together
    running: float  # requests in all scrapes: the least
    waiting: float
    quotes: tuple[Quote, ...]


def serving(metrics: EngineMetrics | None) -> tuple[Serving, ...]:
    """Return what each engine did, when there are two scrapes of it that are `MIN_SECONDS` apart."""
    found = []
    for port in dict.fromkeys(s.port for s in metrics.samples) if metrics else ():
        own = [s for s in metrics.samples if s.port == port and s.at is not None] if metrics else []
        if len(own) < 2:
            continue
        first, last = own[0], own[-1]
        seconds = (last.at or 0.0) - (first.at or 0.0)
        before, after = _sum(first, GENERATED), _sum(last, GENERATED)
        if seconds < MIN_SECONDS or before is None or after is None:
            continue
        found.append(
            Serving(
                port=port,
                seconds=seconds,
                tokens=after - before + (_sum(last, PROMPT) or 0.0) - (_sum(first, PROMPT) or 0.0),
                running=min(_sum(s, RUNNING) or 0.0 for s in own),
                waiting=min(_sum(s, WAITING) or 0.0 for s in own),
                quotes=(first.quote, last.quote),
            )
        )
    return tuple(found)


def _sum(sample: MetricsSample, names: tuple[str, ...]) -> float | None:
    return next((sample.values[n] for n in names if n in sample.values), None)
