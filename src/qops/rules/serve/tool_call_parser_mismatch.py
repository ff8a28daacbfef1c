"""SRV015: the tool-call parser does not fit the model's format."""

from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# How a call begins, as the model writes it, and the parsers of vLLM and SGLang that read this.
_READ = (
    ("<function=", ("qwen3_coder", "qwen3_xml", "step3p5", "mimo")),
    ("<arg_key>", ("glm", "glm45", "glm47")),
    ("<tool_call>", ("hermes", "qwen", "qwen25")),
    ("<|tool_calls_section_begin", ("kimi_k2",)),
    ("<|tool_call", ("gemma4",)),
    ("[TOOL_CALLS]", ("mistral",)),
    ("<|python_tag|>", ("llama3", "llama3_json")),
    ("<|python_start|>", ("llama4_pythonic", "pythonic")),
    ("calls▁begin｜>", ("deepseek_v3", "deepseek_v31", "deepseekv3", "deepseekv31")),
    ("｜DSML｜", ("deepseek_v32", "deepseek_v4", "deepseekv32", "deepseekv4", "deepseekv41")),
    ("commentary to=functions", ("openai", "gpt-oss")),
    ("<minimax:tool_call>", ("minimax_m2", "minimax-m2")),
)
_BARE = ("llama3", "llama3_json", "llama4_json")  # of an object without anything around it


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
    if not told and not raw:
        return
    chosen = logs.find(model.TOOL_PARSER_FLAG)
    if raw and chosen and all(_reads(h.groups["parser"], call) for h in chosen for call in raw):
        yield RuledOut(f"{chosen[0].groups['parser']} is the parser for what the model writes", quotes(chosen, 1))
        return
    yield Found(
        subject="engine",
        message="tool calls are not read: " + ("the parser fails on them" if told else "they come back as plain text"),
        evidence=(*quotes(told, 3), *quotes(raw, 2), *quotes(chosen, 1)),
        confidence=Confidence.LIKELY,
    )


def _reads(parser: str, call: Hit) -> bool:
    form = call.groups.get("form", call.groups.get("fence", ""))
    return parser in next((names for start, names in _READ if form.endswith(start)), () if form else _BARE)
