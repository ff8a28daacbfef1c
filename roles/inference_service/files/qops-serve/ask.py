"""What an engine answers over HTTP: the models that it serves, one token, and its counters."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

from instance import Instance

LARGEST = 4 << 20  # bytes of an answer
_CHAT, _TEXT = "/v1/chat/completions", "/v1/completions"
# What moves only when the engine itself works, of vLLM 0.17 to 0.33 and SGLang 0.5.9 to 0.5.23. Not the numbers of
# running and waiting requests of vLLM: they keep their last value while the engine hangs.
_MOVES = re.compile(
    r"(vllm:(?:generation_tokens|prompt_tokens|iteration_tokens)(?:_total)?(?:_count)?|vllm:kv_cache_usage_perc"
    r"|vllm:request_success_total|sglang:(?:generation_tokens|prompt_tokens)_total|sglang:(?:full_)?token_usage"
    r"|sglang:num_running_reqs)(?:\{[^}]*\})? ([0-9.eE+-]+)"
)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. `status` 0: there was none, and `reason` says why ("refused", "silent" or an error)."""

    status: int
    body: bytes = b""
    reason: str = ""

    def json(self) -> Any:
        """Return the body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def said(self) -> str:
        """The status and what the engine says to it, in one short line."""
        text = " ".join(self.body[:2000].decode(errors="replace").split())
        found = self.json()
        error = found.get("error", found) if isinstance(found, dict) else None
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            text = error["message"]
        return f"{self.status} {text[:200]}".strip() if self.status else self.reason


def call(instance: Instance, path: str, seconds: float, body: dict[str, Any] | None = None) -> Answer:
    """Ask the engine; never longer than `seconds`, however slowly it answers."""
    end = time.monotonic() + seconds
    headers = {"Content-Type": "application/json", "Connection": "close"}
    if key := instance.api_key():
        headers["Authorization"] = f"Bearer {key}"
    connection = HTTPConnection(instance.address, instance.port, timeout=seconds)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        content = b""
        while len(content) < LARGEST:
            if time.monotonic() >= end:
                return Answer(0, reason="silent")
            piece = answer.read1(65536)
            if not piece:
                break
            content += piece
        return Answer(answer.status, content)
    except ConnectionRefusedError:
        return Answer(0, reason="refused")
    except TimeoutError:  # also socket.timeout, since Python 3.10
        return Answer(0, reason="silent")
    except (OSError, HTTPException) as error:
        return Answer(0, reason="silent" if "timed out" in str(error) else f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def models(answer: Answer) -> list[str]:
    """Return the names in an answer of /v1/models."""
    found = answer.json()
    data = found.get("data") if isinstance(found, dict) else None
    return [str(one.get("id")) for one in data if isinstance(one, dict)] if isinstance(data, list) else []


def token(instance: Instance, seconds: float) -> Answer:
    """Have one token generated: by chat, or by plain completion where the model has no chat template."""
    end = time.monotonic() + seconds
    chat = {"messages": [{"role": "user", "content": "Say one word."}]}
    common = {"model": instance.model, "max_tokens": 1, "temperature": 0}
    answer = call(instance, _CHAT, seconds, {**common, **chat})
    if answer.status in (400, 404, 405):
        plain = call(instance, _TEXT, max(1.0, end - time.monotonic()), {**common, "prompt": "One"})
        return plain if generated(plain) or plain.status not in (400, 404, 405) else answer
    return answer


def generated(answer: Answer) -> bool:
    """Whether a token came. A reasoning parser may keep it out of the text, so the engine's own count is enough."""
    found = answer.json() if answer.status == 200 else None
    if not isinstance(found, dict):
        return False
    usage, choices = found.get("usage"), found.get("choices")
    if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
        return bool(usage["completion_tokens"] > 0)
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    said = first.get("message")
    message = said if isinstance(said, dict) else {}
    return bool(first.get("text") or message.get("content") or message.get("reasoning_content"))


def counters(answer: Answer) -> dict[str, float]:
    """Return the sums over labels of what moves when the engine works."""
    found: dict[str, float] = {}
    for line in answer.body.decode(errors="replace").splitlines() if answer.status == 200 else ():
        if match := _MOVES.match(line):
            try:
                found[match.group(1)] = found.get(match.group(1), 0.0) + float(match.group(2))
            except ValueError:
                continue
    return found
