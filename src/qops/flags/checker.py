"""Checks a command that starts vLLM or SGLang against what one release accepts."""

import json
from collections.abc import Iterator, Mapping, Sequence

import yaml

from qops.data.engines import Engine
from qops.flags import combinations, names, values, variables
from qops.flags.accepted import TITLES, Accepted
from qops.flags.arguments import Argument, Read, read
from qops.flags.command import Assignment, Command
from qops.flags.remark import Kind, Remark, Severity
from qops.flags.shell import Word

# From these on the module says itself that the command is preferred (read in each release's file).
_OLD_ENTRIES = {
    "-m vllm.entrypoints.openai.api_server": "0.29.0",
    "-m sglang.launch_server": "0.5.10",
}
_MODEL = {"vllm": ("--model",), "sglang": ("--model-path",)}
_PLUGINS = ("--tool-parser-plugin", "--reasoning-parser-plugin")
# Tags that are no longer moved: vllm-project/vllm 42738, ai-dynamo/nixl 2140.
_FROZEN = {
    "vllm/vllm-openai:cu130-nightly": "the tag stayed at 0.19; from 0.20.0 on the plain tags are built with CUDA 13",
    "vllm/vllm-openai:latest-cu130": "the tag is gone; from 0.20.0 on the plain tags are built with CUDA 13",
}


def check(engine: Engine, version: str, command: Command, configs: Mapping[str, str] | None = None) -> list[Remark]:
    """Return the remarks on a command, worst first as lines go; none when the release takes it as it is.

    `configs` holds the contents of files that `--config` may name. Raises UsageError for a release before the data.
    """
    accepted = Accepted(engine, version)
    found = list(_release(accepted, command))
    words, more = _configured(accepted, command.arguments, configs or {})
    found += more

    result = read(accepted, words, lambda written, line: names.unknown(accepted, written, line))
    found += result.remarks
    found += _states(accepted, result.arguments)
    plugins = any(one.key in _PLUGINS for one in result.arguments)
    for argument in result.arguments:
        found += values.check(accepted, argument, plugins)
    model, more = _model(accepted, command, result)
    found += more
    found += combinations.check(combinations.Given(accepted, command, result.arguments, model))
    found += variables.check(accepted, command.environment)
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, _WORST.index(one.severity)))


_WORST = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def check_variables(engine: Engine, version: str, environment: Sequence[Assignment]) -> list[Remark]:
    """Return the remarks on variables alone, as an environment file has them."""
    return list(variables.check(Accepted(engine, version), environment))


def _release(accepted: Accepted, command: Command) -> Iterator[Remark]:
    if not accepted.exact:
        newest = accepted.engine.versions[accepted.place]
        text = f"{accepted.title} was not read; this is what {newest} accepts"
        yield Remark(Kind.VERSION, Severity.INFO, accepted.written, text)
    if command.tag and command.tag != accepted.written:
        text = f"the image's tag says {command.tag}, and {accepted.written} is what was asked about"
        yield Remark(Kind.VERSION, Severity.WARNING, command.image, text, line=command.line)
    for tag, why in _FROZEN.items():
        if command.image.removeprefix("docker.io/").partition("@")[0] == tag:
            instead = f"vllm/vllm-openai:v{accepted.engine.versions[-1]}"
            yield Remark(Kind.IMAGE, Severity.WARNING, command.image, why, instead, line=command.line)
    since = _OLD_ENTRIES.get(command.entry)
    if since and accepted.reaches(since):
        preferred = "vllm serve MODEL" if command.engine == "vllm" else "sglang serve"
        text = f"{TITLES[command.engine]} prefers its own command from {since} on, and says so at each start"
        yield Remark(Kind.COMMAND, Severity.WARNING, command.entry, text, preferred, line=command.line)


def _states(accepted: Accepted, arguments: Sequence[Argument]) -> Iterator[Remark]:
    for one in arguments:
        option = one.option
        if option.fails:
            text = f"{accepted.title} refuses it"
            yield Remark(
                Kind.REMOVED, Severity.ERROR, one.written, text, option.instead or names.LEAVE_OUT, line=one.line
            )
        elif option.deprecated:
            instead = option.instead or names.LEAVE_OUT
            text = f"{accepted.title} still takes it, and will not for long"
            yield Remark(Kind.DEPRECATED, Severity.WARNING, one.written, text, instead, line=one.line)


def _configured(
    accepted: Accepted, words: Sequence[Word], configs: Mapping[str, str]
) -> tuple[list[Word], list[Remark]]:
    """Put what `--config FILE` says in front of the other words, as the engines do, so that those win."""
    found: list[Remark] = []
    result = list(words)
    for index, word in enumerate(words):
        if word.text.startswith("--config="):
            # Both engines look for the word `--config` alone before they parse.
            text = f"{accepted.title} does not read the file: it looks for two words"
            right = f"--config {word.text.partition('=')[2]}"
            found.append(Remark(Kind.COMMAND, Severity.ERROR, "--config", text, right, line=word.line))
        elif word.text == "--config" and index + 1 < len(words):
            name = words[index + 1].text
            if name not in configs:
                text = f"{name} was not given, so what it says is not checked"
                found.append(Remark(Kind.COMMAND, Severity.INFO, "--config", text, line=word.line))
                continue
            inserted, trouble = _from_yaml(accepted, configs[name], name)
            result = inserted + [one for i, one in enumerate(words) if i not in (index, index + 1)]
            found += trouble
    return result, found


def _from_yaml(accepted: Accepted, text: str, name: str) -> tuple[list[Word], list[Remark]]:
    try:
        content = yaml.safe_load(text) or {}
    except (yaml.YAMLError, RecursionError) as error:
        return [], [Remark(Kind.TYPE, Severity.ERROR, "--config", f"{name} is no YAML: {_first(str(error))}")]
    if not isinstance(content, dict):
        return [], [Remark(Kind.TYPE, Severity.ERROR, "--config", f"{name} holds no names with values")]
    words: list[Word] = []
    for key, value in content.items():
        flag = f"--{key}"
        if isinstance(value, bool):
            off = f"--no-{key}"
            words += [Word(flag)] if value else [Word(off)] if off in accepted.names else []
        elif isinstance(value, list):
            words += [Word(flag), *(Word(str(one)) for one in value)] if value else []
        else:
            words += [Word(flag), Word(json.dumps(value) if isinstance(value, dict) else str(value))]
    return words, []


def _model(accepted: Accepted, command: Command, result: Read) -> tuple[str, list[Remark]]:
    """Return the model, and remarks on how it is named and on words that are no option's."""
    engine = accepted.engine.engine
    named = next((one for one in reversed(result.arguments) if one.key in _MODEL[engine]), None)
    found: list[Remark] = []
    rest = list(result.positionals)
    positional = rest.pop(0) if rest and _takes_model(command, rest[0], named is not None) else None
    for word in rest:
        text = f"{word.text!r} belongs to no option, and {accepted.title} refuses it"
        found.append(Remark(Kind.UNKNOWN, Severity.ERROR, word.text, text, names.LEAVE_OUT, line=word.line))
    if named and command.entry == "vllm serve":
        text = "vllm serve takes the model as its first argument, and will not take --model for long"
        value = named.values[0].text if named.values else "MODEL"
        right = f"vllm serve {value}"
        found.append(Remark(Kind.DEPRECATED, Severity.WARNING, named.written, text, right, line=named.line))
    has_file = any(one.text == "--config" for one in command.arguments)
    if not (positional or named or result.open or has_file):
        severity = Severity.ERROR if engine == "sglang" else Severity.WARNING
        text = "no model is named" + ("" if engine == "sglang" else ", so vLLM would serve its default one")
        found.append(Remark(Kind.COMMAND, severity, command.entry, text, "name the model", line=command.line))
    if named and named.values:
        return named.values[0].text, found
    return (positional.text if positional else ""), found


def _takes_model(command: Command, word: Word, named: bool) -> bool:
    """Return whether a word that is no option's is the model: SGLang takes one only where it comes first."""
    if command.entry == "sglang serve":
        return command.arguments[0] == word
    return command.entry == "vllm serve" and not named


def _first(text: str) -> str:
    return " ".join(text.split())[:100]
