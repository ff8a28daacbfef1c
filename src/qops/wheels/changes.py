"""Merges what releases accept into changes, and writes them one name a line."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from qops.data.engines import Engine, Key, Option, Variable
from qops.errors import ParseError
from qops.wheels.release import Release

# A release that drops more names than this was not read rightly: files move between releases.
_MOST_DROPPED = 0.2

State = TypeVar("State", Option, Key, Variable)


def merged(engine: str, releases: Mapping[str, Release], start: Engine | None = None) -> Engine:
    """Return the data of `engine` from releases, oldest first, that come after those of `start`.

    Raises ParseError when one lost too many options.
    """
    options = {name: list(states) for name, states in start.options.items()} if start else {}
    variables = {name: list(states) for name, states in start.variables.items()} if start else {}
    configs: dict[str, dict[str, list[Key]]] = {}
    for name, known in start.configs.items() if start else ():
        configs[name] = {key: list(states) for key, states in known.items()}
    before = sum(not states[-1].gone for states in options.values())
    for version, release in releases.items():
        if len(release.options) < before * (1 - _MOST_DROPPED):
            raise ParseError(f"{engine} {version}", 0, f"{len(release.options)} options after {before}: a part moved")
        before = len(release.options)
        _add(version, options, dict(_options(version, release, options)))
        for name in {**configs, **release.configs}:
            keys = release.configs.get(name, {})
            states = {key: Key(since=version, choices=choices) for key, choices in keys.items()}
            _add(version, configs.setdefault(name, {}), states)
        _add(version, variables, {name: _variable(version, one) for name, one in release.variables.items()})
    return Engine(
        engine=engine,
        versions=(*(start.versions if start else ()), *releases),
        options=_frozen(options),
        configs={name: _frozen(keys) for name, keys in sorted(configs.items())},
        variables=_frozen(variables),
    )


def written(engine: Engine) -> str:
    """Return the data as JSON, one name a line, so that a new release is a readable difference."""
    plain = msgspec.to_builtins(engine)
    lines = ["{", f'"engine":{json.dumps(engine.engine)},', f'"versions":{_compact(plain["versions"])},']
    lines += ['"options":{', *_lines(plain["options"]), "},", '"configs":{']
    for index, (name, keys) in enumerate(plain["configs"].items()):
        lines += [f"{json.dumps(name)}:{{", *_lines(keys), "}," if index < len(plain["configs"]) - 1 else "}"]
    lines += ["},", '"variables":{', *_lines(plain["variables"]), "}", "}"]
    return "\n".join(lines) + "\n"


def _options(version: str, release: Release, known: Mapping[str, object]) -> Iterable[tuple[str, Option]]:
    own = {one.name for one in release.options}
    for one in release.options:
        # An option whose names changed places stays under the name that it was first seen with.
        key = next((n for n in one.names if n in known and (n == one.name or n not in own)), one.name)
        also = tuple(name for name in one.names if name != key)
        option = Option(
            since=version,
            kind=one.kind,
            also=also,
            nargs=one.nargs,
            choices=tuple(sorted(one.choices)),
            open=one.open,
            fold=one.fold,
            default=one.default,
            deprecated=one.deprecated,
            fails=one.fails,
            instead=one.instead,
            config=one.config,
        )
        if option.negations(key) != one.off:
            option = msgspec.structs.replace(option, off=one.off)
        yield key, option


def _variable(version: str, one: Any) -> Variable:
    return Variable(since=version, choices=one.choices, fold=one.fold, deprecated=one.deprecated, instead=one.instead)


def _add(version: str, known: dict[str, list[State]], now: Mapping[str, State]) -> None:
    for name, state in now.items():
        states = known.setdefault(name, [])
        if not states or msgspec.structs.replace(states[-1], since=version) != state:
            states.append(state)
    for name, states in known.items():
        if name not in now and not states[-1].gone:
            states.append(type(states[-1])(since=version, gone=True))


def _frozen(known: Mapping[str, list[State]]) -> dict[str, tuple[State, ...]]:
    return {name: tuple(states) for name, states in sorted(known.items())}


def _lines(table: Mapping[str, Any]) -> list[str]:
    rows = [f"{json.dumps(name)}:{_compact(states)}" for name, states in table.items()]
    return [row + "," for row in rows[:-1]] + rows[-1:]


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
