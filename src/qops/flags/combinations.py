"""Settings that are each accepted and together fail, do nothing, or are known to be bad."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from qops.flags import json_text
from qops.flags.accepted import Accepted
from qops.flags.arguments import Argument, later_filled
from qops.flags.command import Command
from qops.flags.names import LEAVE_OUT
from qops.flags.remark import Kind, Remark, Severity

_MOST_DRAFTS = 3  # more draft tokens of a multi-token-prediction head crash under load (vllm-project/vllm 34948)
_APPENDED = frozenset(("--middleware", "--lora-modules", "--lora-paths"))
_MTP = ("NEXTN",)


class Given:
    """What a command gives, looked up by the name that an option is listed under."""

    def __init__(self, accepted: Accepted, command: Command, arguments: Sequence[Argument], model: str) -> None:
        self.accepted = accepted
        self.vllm = accepted.engine.engine == "vllm"
        self.command = command
        self.arguments = arguments
        self.model = model

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """The environment."""
        return {one.name: one.value for one in self.command.environment}

    def of(self, *names: str) -> Argument | None:
        """Return the last argument with one of `names`; one that is switched off is none."""
        for one in reversed(self.arguments):
            if one.key in names:
                return None if one.negates else one
        return None

    def text(self, *names: str) -> str:
        """Return the value of an option; empty without one."""
        found = self.of(*names)
        return found.values[0].text if found and found.values else ""

    def json(self, name: str) -> dict[str, Any]:
        """Return an option's JSON, the keys that are given one by one included."""
        merged: dict[str, Any] = {}
        for one in self.arguments:
            if one.key != name or not one.values:
                continue
            value = _value(one.values[0].text)
            if one.path:
                merged[one.path[0]] = value
            elif isinstance(value, dict):
                merged |= value
        return merged


def check(given: Given) -> Iterator[Remark]:
    """Yield what is known to be bad about the whole."""
    yield from _repeated(given)
    yield from _needs(given)
    yield from _model(given)
    yield from _drafts(given)
    yield from _experts(given)
    yield from _context(given)
    yield from _memory(given)


def _memory(given: Given) -> Iterator[Remark]:
    states = given.accepted.engine.options.get("--gpu-memory-utilization", ()) if given.vllm else ()
    changes = {one.default: one.since for one in reversed(states) if one.default}
    if len(changes) > 1 and not given.of("--gpu-memory-utilization", "--kv-cache-memory-bytes"):
        told = ", ".join(f"{default} from {since} on" for default, since in reversed(changes.items()))
        flag = "--gpu-memory-utilization"
        text = f"it is not given, and releases differ in their default: {told}"
        yield Remark(Kind.COMBINATION, Severity.INFO, flag, text, f"{flag} 0.9", line=given.command.line)


def _repeated(given: Given) -> Iterator[Remark]:
    seen: dict[str, Argument] = {}
    for one in given.arguments:
        before = seen.get(one.key)
        if before and not one.path and one.key not in _APPENDED:
            text = f"{before.written} was given before; the last one counts"
            yield _at(one, Kind.REPEATED, Severity.WARNING, text, "one of them")
        if not one.path:
            seen[one.key] = one


def _needs(given: Given) -> Iterator[Remark]:
    """Say what the engine itself refuses after parsing (validate_parsed_serve_args, 0.17.0 to 0.33.0)."""
    if not given.vllm:
        return
    choice = given.of("--enable-auto-tool-choice")
    if choice and not given.of("--tool-call-parser"):
        text = "it needs --tool-call-parser, and the server does not start without"
        yield _at(choice, Kind.COMBINATION, Severity.ERROR, text, "--enable-auto-tool-choice --tool-call-parser NAME")
    outputs = given.of("--enable-log-outputs")
    if outputs and not given.of("--enable-log-requests"):
        text = "it needs --enable-log-requests, and the server does not start without"
        yield _at(outputs, Kind.COMBINATION, Severity.ERROR, text, "--enable-log-outputs --enable-log-requests")


def _model(given: Given) -> Iterator[Remark]:
    quantization = given.of("--quantization")
    name = given.model.lower()
    if quantization and given.text("--quantization") == "modelopt" and "nvfp4" in name:
        text = (
            "modelopt is for FP8 checkpoints, and this one is NVFP4; the checkpoint's own configuration says what it is"
        )
        yield _at(
            quantization, Kind.COMBINATION, Severity.WARNING, text, f"{LEAVE_OUT} (or --quantization modelopt_fp4)"
        )
    elif quantization and not given.vllm and "awq" in name:
        text = "SGLang finds AWQ in the checkpoint's configuration by itself"
        yield _at(quantization, Kind.COMBINATION, Severity.WARNING, text, LEAVE_OUT)


def _drafts(given: Given) -> Iterator[Remark]:
    if given.vllm:
        config = given.of("--speculative-config")
        values = given.json("--speculative-config")
        method, drafts = values.get("method", ""), values.get("num_speculative_tokens")
    else:
        config = given.of("--speculative-algorithm")
        method, drafts = given.text("--speculative-algorithm"), None
    if config is None:
        return
    if given.vllm and isinstance(method, str) and method.endswith("_mtp"):
        text = f"the method {method} is an old name of mtp"
        yield _at(config, Kind.DEPRECATED, Severity.WARNING, text, '"method": "mtp"')
    mtp = str(method).endswith("mtp") or method in _MTP
    if mtp and isinstance(drafts, int) and drafts > _MOST_DRAFTS:
        text = f"{drafts} draft tokens of a prediction head have crashed with an illegal memory access under load"
        yield _at(config, Kind.COMBINATION, Severity.WARNING, text, "2, or 3 after a test under load")
    if mtp and "carve" in given.model.lower():
        text = "this checkpoint was changed after its prediction head was trained, so the drafts are not the model's"
        yield _at(config, Kind.COMBINATION, Severity.WARNING, text, LEAVE_OUT)


def _experts(given: Given) -> Iterator[Remark]:
    if given.vllm:
        parallel = given.of("--enable-expert-parallel")
    else:
        parallel = given.of("--expert-parallel-size", "--ep-size", "--ep")
        parallel = (
            parallel
            if parallel and given.text("--expert-parallel-size", "--ep-size", "--ep") not in ("", "1")
            else None
        )
    if parallel:
        text = "experts on several GPUs exchange all tokens; over PCIe that costs more than it saves"
        yield _at(parallel, Kind.COMBINATION, Severity.INFO, text, f"{LEAVE_OUT} unless the GPUs have NVLink")


def _context(given: Given) -> Iterator[Remark]:
    length = given.of("--max-model-len")
    rope = _rope(given.json("--hf-overrides"))
    if not given.vllm or length is None or rope.get("rope_type") != "yarn":
        return
    wanted = _value(given.text("--max-model-len"))
    factor, original = rope.get("factor"), rope.get("original_max_position_embeddings")
    if not (isinstance(wanted, int) and isinstance(factor, int | float) and isinstance(original, int)):
        return
    if wanted > factor * original:
        text = f"YaRN stretches {original} by {factor:g} to {factor * original:.0f} tokens, and {wanted} are asked for"
        yield _at(length, Kind.COMBINATION, Severity.ERROR, text, f"--max-model-len {factor * original:.0f}")
    elif wanted > original and given.variables.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") != "1":
        text = f"more than the model's own {original} tokens needs VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"
        yield _at(length, Kind.COMBINATION, Severity.WARNING, text, "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1")


def _rope(overrides: Mapping[str, Any]) -> dict[str, Any]:
    for where in (overrides.get("text_config"), overrides):
        for name in ("rope_parameters", "rope_scaling"):
            if isinstance(where, dict) and isinstance(found := where.get(name), dict):
                return found
    return {}


def _value(text: str) -> Any:
    if later_filled(text):
        return None
    try:
        return json_text.read(text)
    except ValueError:
        return text


def _at(argument: Argument, kind: Kind, severity: Severity, message: str, instead: str) -> Remark:
    return Remark(kind, severity, argument.written, message, instead, line=argument.line)
