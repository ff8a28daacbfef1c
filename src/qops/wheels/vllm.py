"""Reads vLLM: what `make_arg_parser` adds, the fields of its configurations, `envs.py` and the parser registries."""

import ast
import re
from typing import Any

from qops.errors import ParseError
from qops.wheels import annotations
from qops.wheels.archive import Files
from qops.wheels.option import replacement
from qops.wheels.reading import Reader, Scope
from qops.wheels.release import Release, Variable
from qops.wheels.tree import Module, Place, Tree
from qops.wheels.values import UNKNOWN, last_name

_OPEN = {"--tool-call-parser": "vllm.tool_parsers", "--reasoning-parser": "vllm.reasoning"}
_REGISTERED = ("_TOOL_PARSERS_TO_REGISTER", "_REASONING_PARSERS_TO_REGISTER")
# Typed as plain text for the parser, and looked up in these lists later: 0.17.0 to 0.33.0.
_LOOKED_UP = {
    "--quantization": ("vllm.model_executor.layers.quantization", "QuantizationMethods"),
    "--load-format": ("vllm.model_executor.model_loader", "LoadFormats"),
}
# Folders whose files read variables that the table in envs.py does not have.
_READERS = ("vllm/distributed/", "vllm/snapshot/", "vllm/utils/", "vllm/platforms/", "vllm/v1/executor/")
# In a call that reads a variable, or as a key of a table of such names.
_READ = re.compile(
    r"""(?:environ|getenv)[\w.]*\s*[(\[]\s*["'](VLLM_[A-Z0-9_]+)["']|^\s+["'](VLLM_[A-Z0-9_]+)["']:""", re.M
)
_SPECULATIVE = "vllm.config.speculative"  # --speculative-config is a plain dict to the parser


def release(files: Files) -> Release:
    """Return what one release of vLLM accepts. Raises ParseError when its parser is not where it is known to be."""
    reader = _Reader(Tree(files))
    reader.options()
    return Release(reader.found, reader.configs(), reader.variables())


def wanted(path: str) -> bool:
    """Return whether the reader surely looks into a file; it asks for the few others when a name leads there."""
    return path.startswith(("vllm/config/", "vllm/engine/", *_READERS)) or path.endswith("cli_args.py")


class _Reader(Reader):
    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._configs: dict[str, Place] = {}
        source = tree.module("vllm.utils.argparse_utils")
        self.pairs = source is not None and "EnableDisableAction" in source.names

    def options(self) -> None:
        places = [p for p in self.tree.paths if p.startswith("vllm/entrypoints/") and p.endswith("cli_args.py")]
        for path in sorted(places):
            module = self.tree.module(path.removesuffix(".py").replace("/", "."))
            if module and isinstance(module.names.get("make_arg_parser"), ast.FunctionDef):
                self.run(Place(module, module.names["make_arg_parser"]), None)
                return
        raise ParseError("vllm", 0, "no cli_args.py below vllm/entrypoints has make_arg_parser")

    def configs(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Return the keys of each configuration that an option takes as JSON, with their choices."""
        used = {option.config for option in self.found}
        return {name: self._keys(place) for name, place in self._configs.items() if name in used}

    def _keys(self, place: Place) -> dict[str, tuple[str, ...]]:
        found = {}
        for field in self.tree.fields(place).values():
            if not annotations.is_input(field) or field.name.startswith("_"):
                continue
            words = annotations.words(self.values, field)
            choices = words.get("choices")
            known = isinstance(choices, list) and UNKNOWN not in choices and not words.get("open")
            found[field.name] = tuple(str(one) for one in choices or ()) if known else ()
        return found

    def variables(self) -> dict[str, Variable]:
        module = self.tree.module("vllm.envs")
        table = module.names.get("environment_variables") if module else None
        if module is None or not isinstance(table, ast.Dict):
            raise ParseError("vllm/envs.py", 0, "no table environment_variables")
        found: dict[str, Variable] = {}
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and str(key.value).startswith("VLLM_"):
                found[str(key.value)] = self._variable(value, module)
        for statement in module.body:
            for node in ast.walk(statement):
                read = isinstance(node, ast.Call) and last_name(node.func) in ("getenv", "get", "env_with_choices")
                name = node.args[0] if read and isinstance(node, ast.Call) and node.args else None
                if isinstance(name, ast.Constant) and str(name.value).startswith("VLLM_"):
                    found.setdefault(str(name.value), Variable())
        for path in sorted(self.tree.paths):
            if path.startswith(_READERS):
                read_there = [one or other for one, other in _READ.findall(self.tree.files.text(path))]
                found.update((name, found.get(name, Variable())) for name in read_there)
        return found

    def _variable(self, node: ast.expr, module: Module) -> Variable:
        if isinstance(node, ast.Call) and last_name(node.func) == "env_with_choices" and len(node.args) >= 3:
            choices = self.values.of(node.args[2], module)
            exact = {k.arg: self.values.of(k.value, module) for k in node.keywords}.get("case_sensitive", True)
            if isinstance(choices, list) and UNKNOWN not in choices:
                return Variable(tuple(str(one) for one in choices), fold=exact is False)
        if isinstance(node, ast.Call) and last_name(node.func) == "deprecated_env" and len(node.args) >= 3:
            text = self.values.of(node.args[2], module)
            return Variable(deprecated=True, instead=replacement(text) if isinstance(text, str) else "")
        return Variable()

    def loop(self, node: ast.For, module: Module, scope: Scope) -> None:
        """Follow the one loop there is: it adds an option for each field of the front end's arguments."""
        words = next((v for k, v in scope.items() if k.endswith("kwargs") and isinstance(v, dict)), {})
        for name, one in words.items():
            if isinstance(one, dict):
                self.add((*one.pop("flags", []), "--" + name.replace("_", "-")), one)

    def value(self, node: ast.expr, module: Module, scope: Scope, owner: Place | None) -> Any:
        """Return what a name becomes; `get_kwargs(AConfig)` gives the words of all its fields."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            words = self.value(node.value, module, scope, owner)
            key = self.values.of(node.slice, module, scope)
            return words.get(key, UNKNOWN) if isinstance(words, dict) else UNKNOWN
        if isinstance(node, ast.Call):
            if last_name(node.func) == "get_kwargs" and node.args:
                return self._kwargs(node.args[0], module, owner)
            if last_name(node.func) == "_customize_cli_kwargs":
                return self._customized(node, module, scope, owner)
        return super().value(node, module, scope, owner)

    def _kwargs(self, node: ast.expr, module: Module, owner: Place | None) -> dict[str, dict[str, Any]]:
        place = owner if isinstance(node, ast.Name) and node.id == "cls" else self.class_of(node, module)
        if place is None:
            return {}
        found = {}
        for field in self.tree.fields(place).values():
            words = annotations.words(self.values, field)
            if isinstance(configured := words.pop("place", None), Place):
                assert isinstance(configured.node, ast.ClassDef)
                words["config"] = configured.node.name
                self._configs[configured.node.name] = configured
            found[field.name] = words
        return found

    def _customized(self, node: ast.Call, module: Module, scope: Scope, owner: Place | None) -> Any:
        words = self.values.of(node.args[0], module, scope)
        for base in reversed(list(self.tree.bases(owner))) if owner else ():
            assert isinstance(base.node, ast.ClassDef)
            for one in base.node.body:
                if isinstance(one, ast.FunctionDef) and one.name == "_customize_cli_kwargs":
                    own = [n for n in one.body if "super()" not in ast.unparse(n)]
                    self.block(own, base.module, {one.args.args[1].arg: words}, None)
        return words

    def add(self, names: tuple[str, ...], words: dict[str, Any]) -> None:
        """Add an option, with the names that the engine looks its value up in after parsing."""
        registry = next((_OPEN[one] for one in names if one in _OPEN), None)
        looked_up = next((_LOOKED_UP[one] for one in names if one in _LOOKED_UP), None)
        if registry:
            words = words | {"choices": self._registered(registry), "open": True}
        elif looked_up and not words.get("choices"):
            module = self.tree.module(looked_up[0])
            known = self.values.literals(ast.Name(looked_up[1]), module) if module else None
            words = words | ({"choices": known, "open": True} if known else {})
        elif "--speculative-config" in names:
            module = self.tree.module(_SPECULATIVE)
            if module and isinstance(module.names.get("SpeculativeConfig"), ast.ClassDef):
                self._configs["SpeculativeConfig"] = Place(module, module.names["SpeculativeConfig"])
                words = words | {"config": "SpeculativeConfig"}
        super().add(names, words)

    def _registered(self, registry: str) -> list[str]:
        module = self.tree.module(registry)
        table = next((module.names[one] for one in _REGISTERED if module and one in module.names), None)
        if not isinstance(table, ast.Dict):
            raise ParseError(registry, 0, "its table of parsers is not where it is known to be")
        return [str(key.value) for key in table.keys if isinstance(key, ast.Constant)]
