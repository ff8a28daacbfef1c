"""What users wrote and models answered, where an engine logs its requests: it says nothing of the machine.

A prompt that asks about `CUDA out of memory` would else be that error. Wording: vllm entrypoints/logger.py (0.4 to
0.33; "Request … details" since 0.12), sglang srt/utils/request_logger.py and tokenizer_manager.py (0.4 to 0.5.23).
"""

from msgspec.structs import replace

from qops.evidence.text import Text
from qops.pattern import lazy

_MARKS = ("prompt: ", "Generated response ", "Receive: obj=", "Receive OpenAI: obj=", "Finish: obj=")
_BEGIN = lazy(
    r"\bReceived request \S{1,200}: prompt: |\bRequest \S{1,200} details: prompt: "
    r"|\bGenerated response \S{1,200}(?: \(streaming \w{1,10}\))?: output: |\bReceive(?: OpenAI)?: obj=|\bFinish: obj="
)
LEFT_OUT = "(not read)"


def without(text: Text) -> Text:
    """Return `text` with the contents of logged requests and answers left out of its lines."""
    whole = "\n".join(text.lines)
    marks = [mark for mark in _MARKS if mark in whole]
    if not marks:
        return text
    return replace(text, lines=tuple(_cut(line) if any(m in line for m in marks) else line for line in text.lines))


def _cut(line: str) -> str:
    found = _BEGIN.search(line)
    return line[: found.end()] + LEFT_OUT if found else line
