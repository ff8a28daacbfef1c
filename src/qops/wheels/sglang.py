"""Reads SGLang: `ServerArgs.add_cli_args`, annotated fields, and the variables that its files name."""

import ast
import re
from typing import Any

from qops.errors import ParseError
from qops.wheels import annotations
from qops.wheels.archive import Files
from qops.wheels.option import kind_of, replacement
from qops.wheels.reading import Reader, Scope, action
from qops.wheels.release import Release, Variable
from qops.wheels.tree import Field, Module, Place, Tree
from qops.wheels.values import UNKNOWN, last_name

_SERVER_ARGS = "sglang.srt.server_args"
_ENVIRON = "sglang.srt.environ"
_NAMESPACES = "_INPUT_NAMESPACES"  # server_args.py from 0.5.2x on: the classes whose fields make up ServerArgs
_NAMED = re.compile(r"""["'](SGL(?:ANG)?_[A-Z0-9_]+)["']""")
# How a file that is no table of retired variables says of one that it is retired.
_RETIRED = re.compile(
    r"""["'](SGL(?:ANG)?_[A-Z0-9_]+) (?:has been removed|is deprecated|is no longer supported|is unused)"""
)
# Files that another program than the server reads, or that only test.
_ELSEWHERE = ("sglang/test/", "sglang/multimodal_gen/", "sglang/benchmark/")


def release(files: Files) -> Release:
    """Return what one release of SGLang accepts. Raises ParseError when its parser is not where it is known to be."""
    reader = _Reader(Tree(files))
    reader.options()
    return Release(reader.found, {}, reader.variables())


def wanted(path: str) -> bool:
    """Return whether the reader looks into a file: all that the server can import, since any may read a variable."""
    return path.startswith("sglang/") and not path.startswith(_ELSEWHERE)


class _Reader(Reader):
    def options(self) -> None:
        module = self.tree.module(_SERVER_ARGS)
        place = self.class_of(ast.Name("ServerArgs"), module) if module else None
        if module is None or place is None:
            plain = module.names.get("ServerArgs") if module else None
            place = _class_statement(module, "ServerArgs") if module and plain is not None else None
        method = self.tree.method(place, "add_cli_args") if place else None
        if method is None:
            raise ParseError(_SERVER_ARGS, 0, "no ServerArgs.add_cli_args")
        self.run(method, place)
        # `sglang serve` takes this one away before the parser sees it (sglang/cli/serve.py).
        cli = self.tree.module("sglang.cli.serve")
        if cli and "--model-type" in self.tree.files.text("sglang/cli/serve.py"):
            self.add(("--model-type",), {"default": "auto"})

    def call(self, node: ast.Call, module: Module, scope: Scope, owner: Place | None) -> None:
        """Follow a call; one adds an option for each annotated field of ServerArgs."""
        if last_name(node.func) == "add_cli_args_from_dataclass" and owner:
            spaces = module.names.get(_NAMESPACES)
            classes = [owner]
            if isinstance(spaces, ast.List):
                classes += [place for one in spaces.elts if (place := self.class_of(one, module))]
            for place in classes:
                for field in self.tree.fields(place).values():
                    self._field(field)
            return
        super().call(node, module, scope, owner)

    def _field(self, field: Field) -> None:
        node = field.annotation
        if not isinstance(node, ast.Subscript) or last_name(node.value) not in ("A", "Annotated"):
            return
        inner, *notes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        words: dict[str, Any] = {"default": self.values.default(field), "help": "", "dest": field.name}
        known = False
        for note in notes:
            if isinstance(note, ast.Call) and last_name(note.func) == "Arg":
                known = True
                for word in note.keywords:
                    words |= self._word(word, field.module)
                if note.args:
                    words["help"] = self.values.of(note.args[0], field.module)
            elif isinstance(text := self.values.of(note, field.module), str):
                known = True
                words["help"] = words["help"] or text
        if not known or words.get("no_cli") is True:
            return
        names = [words.pop("cli_name", None) or "--" + field.name.replace("_", "-")]
        aliases = words.pop("aliases", None)
        names += aliases if isinstance(aliases, list) else []
        if "action" not in words:
            typed = annotations.sglang_words(self.values, inner, field.module)
            if typed.get("nargs") and "kind" in words:
                typed.pop("nargs")  # its own type reads the whole list from one value
            words = typed | {k: v for k, v in words.items() if v is not None or k == "default"}
        self.add(tuple(str(one) for one in names), words)

    def _word(self, word: ast.keyword, module: Module) -> dict[str, Any]:
        if word.arg == "type_parser":
            return kind_of(word.value)
        if word.arg == "action":
            return {"action": action(word.value)}
        if word.arg == "action_kwargs":
            inner = self.values.of(word.value, module)
            return inner if isinstance(inner, dict) else {}
        value = self.values.of(word.value, module)
        partly = isinstance(value, list) and UNKNOWN in value
        return {} if value is UNKNOWN or partly or word.arg is None else {word.arg: value}

    def variables(self) -> dict[str, Variable]:
        found: dict[str, Variable] = {}
        for path in sorted(self.tree.paths):
            if wanted(path):
                text = self.tree.files.text(path)
                found.update((name, found.get(name, Variable())) for name in _NAMED.findall(text))
                found.update((name, Variable(deprecated=True)) for name in _RETIRED.findall(text))
        module = self.tree.module(_ENVIRON)
        place = _class_statement(module, "Envs") if module else None
        if module is None or place is None:
            raise ParseError(_ENVIRON, 0, "no class Envs")
        assert isinstance(place.node, ast.ClassDef)
        for one in place.node.body:
            target = one.targets[0] if isinstance(one, ast.Assign) else getattr(one, "target", None)
            if isinstance(target, ast.Name) and re.match(r"SGL(?:ANG)?_", target.id):
                found.setdefault(target.id, Variable())
                old = _old_name(one)
                if old:
                    found[old] = Variable(deprecated=True, instead=target.id)
        found.update(self._deprecated(module))
        return dict(sorted(found.items()))

    def _deprecated(self, module: Module) -> dict[str, Variable]:
        """Return the retired names: a table in new releases, calls in the old ones."""
        found: dict[str, Variable] = {}
        table = module.names.get("_DEPRECATED_ENVS")
        for key, value in zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ():
            if isinstance(key, ast.Constant) and isinstance(value, ast.Call):
                found[str(key.value)] = Variable(deprecated=True, instead=_replacement(value))
        for statement in module.body:
            for node in ast.walk(statement):
                if not isinstance(node, ast.Call) or len(node.args) != 2:
                    continue
                first, second = (one.value if isinstance(one, ast.Constant) else "" for one in node.args)
                if last_name(node.func) == "_print_deprecated_env" and second:
                    found[str(second)] = Variable(deprecated=True, instead=str(first))
                elif last_name(node.func) == "_warn_deprecated_env_to_cli_flag":
                    found[str(first)] = Variable(deprecated=True, instead=replacement(str(second)))
        return found


def _class_statement(module: Module | None, name: str) -> Place | None:
    """Return a class also where the module names something else the same later: `ServerArgs = defstruct(…)`."""
    for node in module.body if module else ():
        if module and isinstance(node, ast.ClassDef) and node.name == name:
            return Place(module, node)
    return None


def _old_name(node: ast.stmt) -> str:
    value = getattr(node, "value", None)
    for word in value.keywords if isinstance(value, ast.Call) else ():
        if word.arg == "deprecated_name" and isinstance(word.value, ast.Constant):
            return str(word.value.value)
    return ""


def _replacement(call: ast.Call) -> str:
    words = {one.arg: one.value for one in call.keywords}
    direct = words.get("replacement") or (call.args[0] if call.args else None)
    if isinstance(direct, ast.Constant):
        return str(direct.value)
    return replacement(
        "".join(n.value for n in ast.walk(call) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    )
