"""Adopted engines as YAML for host_vars, and as JSON."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from qops.adoption import Adopted
from qops.derive.service import words_of
from qops.derive.service_unit import by_option
from qops.flags import Remark

_JINJA = ("{{", "{%", "{#")


def text(hosts: Mapping[str, Sequence[Adopted]], notes: Mapping[str, Sequence[str]]) -> str:
    """Return YAML for the host_vars of each host; what was left, and what the release says, stands in comments."""
    several = len(hosts) > 1
    documents = []
    for host, adopted in hosts.items():
        head = [f"# {host}"] if host else []
        body = [*(f"# {_plain(note)}" for note in notes.get(host, ())), *_host(adopted, several=several)]
        documents.append("\n".join((*head, *body)) + "\n")
    return "---\n".join(documents)


def document(
    hosts: Mapping[str, Sequence[Adopted]], notes: Mapping[str, Sequence[str]], errors: Mapping[str, str]
) -> str:
    """Return the same as one JSON document."""
    made = [
        {
            "host": host,
            "inference_service_instances": [dict(one.instance) for one in adopted],
            "secrets": {one.instance["name"]: sorted(one.secrets) for one in adopted if one.secrets},
            "adopted": [_details(one) for one in adopted],
            "notes": list(notes.get(host, ())),
        }
        for host, adopted in hosts.items()
    ]
    unreached = [{"host": host, "error": error} for host, error in errors.items()]
    return json.dumps({"schema": 1, "hosts": made, "unreachable": unreached}, indent=2) + "\n"


def _details(one: Adopted) -> dict[str, Any]:
    return {
        "name": one.instance["name"],
        "source": one.source,
        "version": one.version,
        "refused": list(one.refused),
        "left": [{"where": left.where, "what": left.what, "because": left.because} for left in one.left],
        "remarks": [msgspec.to_builtins(remark) for remark in one.remarks],
    }


def _host(adopted: Sequence[Adopted], *, several: bool) -> Iterator[str]:
    if not adopted:
        return
    yield "inference_service_instances:"
    for one in adopted:
        yield from _comments(one)
        yield from _instance(one.instance)
    if any(one.secrets for one in adopted):
        yield ""
        yield "# Their values are not repeated here. Put them into host_vars/HOST/vault.yml, by ansible-vault."
        yield "inference_service_secrets:"
        for one in adopted:
            yield from _secrets(one)


def _comments(one: Adopted) -> Iterator[str]:
    checked = f", checked for {one.version}" if one.version else ""
    yield f"  # {_plain(one.source)}{checked}"
    yield from (f"  # refused: {_plain(reason)}" for reason in one.refused)
    yield from (f"  # {_plain(_said(one, remark))}" for remark in one.remarks)
    if one.left:
        yield "  # not taken over, or otherwise:"
    reasons: dict[str, list[str]] = {}
    for left in one.left:
        place = left.where.removeprefix(f"{one.source}:")
        told = f"line {place}" if place.isdigit() else place
        reasons.setdefault(left.because, []).append(f"{left.what} ({told})" if place != one.source else left.what)
    yield from (f"  #   {_plain(', '.join(what))}: {because}" for because, what in reasons.items())


def _said(one: Adopted, remark: Remark) -> str:
    where = f"{one.source}:{remark.line}: " if remark.line else ""
    instead = f"; write {remark.instead}" if remark.instead else ""
    return f"{remark.severity}: {where}{remark.flag}: {remark.message}{instead}"


def _instance(instance: Mapping[str, Any]) -> Iterator[str]:
    indent = "  - "
    for key, value in instance.items():
        if key == "command":
            yield from _command(value, indent)
        elif isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from (f"      {name}: {_scalar(inner)}" for name, inner in value.items())
        elif isinstance(value, list) and key == "volumes":
            yield f"{indent}{key}:"
            yield from (f"      - {_scalar(inner)}" for inner in value)
        elif isinstance(value, list):
            yield f"{indent}{key}: [{', '.join(map(_scalar, value))}]"
        else:
            yield f"{indent}{key}: {_scalar(value) if key not in ('name', 'runtime', 'user') else value}"
        indent = "    "


def _command(words: Sequence[str], indent: str) -> Iterator[str]:
    """Yield the command in lines as a person would write it; as a list where that would not be read as the same."""
    lines = [shlex.join(group) for group in by_option(words)]
    if words_of(" ".join(lines)) == tuple(words) and not any(jinja in line for line in lines for jinja in _JINJA):
        yield f"{indent}command: >-"
        yield from (f"      {line}" for line in lines)
    else:
        yield f"{indent}command:"
        yield from (f"      - {_scalar(word)}" for word in words)


def _secrets(one: Adopted) -> Iterator[str]:
    if not one.secrets:
        return
    name = one.instance["name"]
    yield f"  {name}:"
    for variable, where in one.secrets.items():
        yield f'    {variable}: "{{{{ vault_{name.replace("-", "_")}_{variable.lower()} }}}}"  # {_plain(where)} has it'


def _scalar(value: object) -> str:
    """Return a value in one line of YAML; Ansible must not take what is in it for a template."""
    written = json.dumps(value, ensure_ascii=False)
    return f"!unsafe {written}" if isinstance(value, str) and any(jinja in value for jinja in _JINJA) else written


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
