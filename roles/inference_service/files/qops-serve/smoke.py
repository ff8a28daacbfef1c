"""The questions that a service is asked before and after a change, and what its answers say of the change.

A good answer to a question of the inventory is what the inventory expects. Otherwise it is any text that the chat
template, the engine and its parsers bring out: whether it is as clever as before cannot be told from here, so an
answer that differs is reported and not judged. What is judged is what a broken image, template or checkpoint gives:
an error, nothing, or one word for ever where there was a sentence before.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

import ask
from instance import Instance

QUESTIONS: tuple[dict[str, str], ...] = ({"prompt": "Name the capital of France in one sentence."},)
TOKENS = 48  # of an answer
_SAME = 12  # words in a row that are the same: no sentence
_SHOWN = 160  # characters of an answer
_NOTHING = "no answer"


@dataclass(frozen=True)
class Reply:
    """An answer. `problem`: why it is none. `text` holds what was thought too."""

    prompt: str
    text: str = ""
    problem: str = ""

    @property
    def stuck(self) -> bool:
        """Whether it says the same over and over."""
        words = self.text.split() if " " in self.text.strip() else list(self.text.strip())
        return len(words) >= _SAME and len(set(words[-_SAME:])) == 1

    @property
    def shown(self) -> str:
        """The answer in one short line."""
        return " ".join(self.text.split())[:_SHOWN]


def asked(instance: Instance) -> list[Reply]:
    """Ask all questions of the service, until one gets no answer at all."""
    found: list[Reply] = []
    for question in instance.smoke or QUESTIONS:
        found.append(_reply(instance, question))
        if found[-1].problem.startswith(_NOTHING):
            break
    return found


def judged(instance: Instance, before: list[Reply], after: list[Reply]) -> tuple[str, list[str]]:
    """Return why the answers after a change are not good, "" when they are, and notes on what differs."""
    earlier = {reply.prompt: reply for reply in before}
    notes: list[str] = []
    for number, reply in enumerate(after):
        question = (instance.smoke or QUESTIONS)[number]
        was = earlier.get(reply.prompt)
        if reply.problem and not (was and was.problem == reply.problem):  # a model without chat never had it
            return f"the question {reply.prompt!r} got {reply.problem}", notes
        if reply.problem:
            continue
        wanted = str(question.get("contains", ""))
        if wanted and wanted.casefold() not in reply.text.casefold():
            return f"the answer to {reply.prompt!r} does not contain {wanted!r}: {reply.shown!r}", notes
        pattern = str(question.get("matches", ""))
        if pattern and not re.search(pattern, reply.text):
            return f"the answer to {reply.prompt!r} does not match {pattern!r}: {reply.shown!r}", notes
        if reply.stuck and not (was and was.stuck):
            return f"the answer to {reply.prompt!r} says the same over and over: {reply.shown!r}", notes
        if was and not was.problem and was.text != reply.text:
            notes.append(f"the answer to {reply.prompt!r} was {was.shown!r}, and is {reply.shown!r} now")
    return "", notes


def _reply(instance: Instance, question: dict[str, str]) -> Reply:
    prompt = str(question.get("prompt", ""))
    body: dict[str, Any] = {
        "model": instance.model, "max_tokens": TOKENS, "temperature": 0, "seed": 1,
        "messages": [{"role": "user", "content": prompt}],
    }  # fmt: skip
    began = time.monotonic()
    answer = ask.call(instance, "/v1/chat/completions", 4 * instance.token_seconds, body)
    if answer.status != 200:
        told = answer.said if answer.status else f"{_NOTHING} in {time.monotonic() - began:.0f} s ({answer.reason})"
        return Reply(prompt, problem=told)
    if not ask.generated(answer):
        return Reply(prompt, problem="an answer without a token")
    found = answer.json()
    choices = found.get("choices") if isinstance(found, dict) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    said = first.get("message")
    message = said if isinstance(said, dict) else {}
    parts = [message.get(name) for name in ("reasoning", "reasoning_content", "content")]
    return Reply(prompt, "\n".join(part for part in parts if isinstance(part, str) and part))
