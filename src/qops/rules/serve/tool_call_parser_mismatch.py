"""SRV015: the tool-call parser does not fit the model's format."""

from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV015",
    "tool-call-parser-mismatch",
    fix=(
        Fix(
            "choose the parser that reads the model's format: `--tool-call-parser` with `--enable-auto-tool-choice` "
            "(vLLM); `qwen3_coder` for XML-like calls, `hermes` for JSON in <tool_call>"
        ),
    ),
)
def tool_call_parser_mismatch(logs: Logs) -> Iterator[Found | RuledOut]:
    """The tool-call parser does not fit the model's format."""
    told, raw = logs.find(model.TOOL_PARSER), logs.find(model.RAW_TOOL_CALL)
    # A call without arguments is what a tool without parameters gets.
    needed = logs.find(model.REQUIRED_ARGUMENTS)
    told += logs.find(model.EMPTY_ARGUMENTS) if needed or told or raw else ()
    if told or raw:
        yield Found(
            subject="engine",
            message="tool calls are not read: "
            + ("the parser fails on them" if told else "they come back as plain text"),
            evidence=(*quotes(told, 3), *quotes(raw, 2)),
            confidence=Confidence.LIKELY,
        )
