"""Reading engines' sources: trees of a few files, written here in the shape of the real ones."""

from collections.abc import Iterable
from textwrap import dedent

import pytest

from qops.data.engines import order
from qops.errors import ParseError
from qops.flags.accepted import Accepted
from qops.wheels import changes, sglang, vllm
from qops.wheels.option import Option


class Memory:
    """Files in memory."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = {path: dedent(text) for path, text in files.items()}

    def names(self) -> Iterable[str]:
        return list(self.files)

    def text(self, path: str) -> str:
        return self.files[path]


def _vllm(**more: str) -> Memory:
    files = {
        "vllm/config/oven.py": '''
            from typing import Any, ClassVar, Literal
            from pydantic import Field
            from vllm.config.tools import config, Glaze

            Heat = Literal["low", "high"]

            class Spices(dict):
                pass

            @config
            class TimerConfig:
                minutes: int = 3
                bell: Literal["loud", "soft"] = "loud"
                seen: bool = Field(default=False, init=False)

            @config
            class OvenConfig:
                KIND: ClassVar[str] = "gas"
                heat: Heat = "low"
                glaze: Glaze = "honey"
                trays: int = Field(default=4, gt=0)
                max_model_len: int = None
                max_num_batched_tokens: int | None = None
                fan: bool = True
                enable_steam: bool = False
                loaves: list[int] | None = None
                spices: Spices | None = None
                notes: dict[str, Any] | str = None
                timer: TimerConfig | None = None
                share: float | None = None
                old: int | None = None
                """Deprecated: use --trays instead."""
        ''',
        "vllm/config/tools.py": '''
            from typing import Literal
            Glaze = Literal["honey", "egg"] | str
            def config(cls):
                return cls
        ''',
        "vllm/engine/arg_utils.py": '''
            import argparse, json
            from vllm.config.oven import OvenConfig

            class EngineArgs:
                @staticmethod
                def add_cli_args(parser):
                    oven_kwargs = get_kwargs(OvenConfig)
                    oven_kwargs["heat"]["choices"].remove("low")
                    group = parser.add_argument_group(title="Oven")
                    group.add_argument("--heat", "-H", **oven_kwargs["heat"])
                    for_glaze = oven_kwargs["glaze"]
                    for_glaze["type"] = lambda s: s.lower().replace("-", "_")
                    group.add_argument("--glaze", **for_glaze)
                    group.add_argument("--trays", **{**oven_kwargs["trays"], "default": None})
                    group.add_argument("--max-model-len", **oven_kwargs["max_model_len"])
                    group.add_argument("--max-num-batched-tokens", **oven_kwargs["max_num_batched_tokens"])
                    group.add_argument("--fan", **oven_kwargs["fan"])
                    group.add_argument("--enable-steam", **oven_kwargs["enable_steam"])
                    group.add_argument("--loaves", **oven_kwargs["loaves"])
                    group.add_argument("--spices", **oven_kwargs["spices"])
                    group.add_argument("--notes", **oven_kwargs["notes"])
                    group.add_argument("--timer", **oven_kwargs["timer"])
                    group.add_argument("--share", **oven_kwargs["share"])
                    group.add_argument("--old", **oven_kwargs["old"])
                    group.add_argument("--recipe-config", type=optional_type(json.loads))
                    return parser
        ''',
        "vllm/entrypoints/openai/cli_args.py": '''
            import json
            from dataclasses import field
            from vllm.config.tools import config
            from vllm.engine.arg_utils import EngineArgs

            @config
            class FrontendArgs:
                port: int = 8000
                middleware: list[str] = field(default_factory=list)
                tool_call_parser: str | None = None

                @classmethod
                def _customize(cls):
                    pass

                @classmethod
                def _customize_cli_kwargs(cls, words):
                    words["middleware"]["action"] = "append"
                    if "nargs" in words["middleware"]:
                        del words["middleware"]["nargs"]
                    return words

                @classmethod
                def add_cli_args(cls, parser):
                    front_kwargs = get_kwargs(cls)
                    front_kwargs = cls._customize_cli_kwargs(front_kwargs)
                    group = parser.add_argument_group(title="Front")
                    for key, value in front_kwargs.items():
                        group.add_argument(f"--{key}", **value)
                    return parser

            def make_arg_parser(parser):
                parser.add_argument("model_tag", nargs="?")
                parser.add_argument("--headless", action="store_true", default=False)
                parser = FrontendArgs.add_cli_args(parser)
                parser = EngineArgs.add_cli_args(parser)
                return parser
        ''',
        "vllm/tool_parsers/__init__.py": '_TOOL_PARSERS_TO_REGISTER = {"pretzel": ("a", "B"), "bagel": ("c", "D")}\n',
        "vllm/envs.py": '''
            import os
            environment_variables = {
                "VLLM_BAKER": env_with_choices("VLLM_BAKER", None, ["Ann", "Bob"], case_sensitive=False),
                "VLLM_FLOUR": deprecated_env("VLLM_FLOUR", "v9", "Use --spices wheat.", lambda: 1),
                "VLLM_SALT": lambda: os.getenv("VLLM_SALT", os.environ.get("VLLM_SEA", "0")),
                "LOCAL_RANK": lambda: 0,
            }
        ''',
        "vllm/distributed/mill.py": 'x = os.environ["VLLM_MILL"]\nNAMES = {\n    "VLLM_WHEEL": "w",\n}\n',
    }  # fmt: skip
    return Memory(files | more)


def test_vllm_options_are_what_its_annotations_make_of_them() -> None:
    read = {one.name: one for one in vllm.release(_vllm()).options}
    assert read["--heat"].names == ("--heat", "-H")
    assert (read["--heat"].choices, read["--heat"].open, read["--heat"].default) == (("high",), False, "low")
    assert (read["--glaze"].choices, read["--glaze"].open, read["--glaze"].fold) == (("honey", "egg"), True, True)
    kinds = {name: (one.kind, one.nargs) for name, one in read.items()}
    assert kinds == {
        "--headless": ("switch", ""),
        "--port": ("int", ""),
        "--middleware": ("str", ""),
        "--tool-call-parser": ("str", ""),
        "--heat": ("str", ""),
        "--glaze": ("str", ""),
        "--trays": ("int", ""),
        "--max-model-len": ("size-or-auto", ""),
        "--max-num-batched-tokens": ("size", ""),
        "--fan": ("bool", ""),
        "--enable-steam": ("bool", ""),
        "--loaves": ("int", "+"),
        "--spices": ("json", ""),
        "--notes": ("json-or-str", ""),
        "--timer": ("json", ""),
        "--share": ("float", ""),
        "--old": ("int", ""),
        "--recipe-config": ("json", ""),
    }
    assert read["--fan"].off == ("--no-fan",)
    assert (read["--fan"].default, read["--trays"].default) == ("True", "")
    assert (read["--old"].deprecated, read["--old"].instead) == (True, "--trays")
    assert read["--tool-call-parser"].choices == ("pretzel", "bagel") and read["--tool-call-parser"].open


def test_vllm_pairs_enable_with_disable_once_its_parser_does() -> None:
    paired = _vllm(**{"vllm/utils/argparse_utils.py": "class EnableDisableAction:\n    pass\n"})
    read = {one.name: one for one in vllm.release(paired).options}
    assert read["--enable-steam"].off == ("--disable-steam", "--no-enable-steam")
    assert read["--fan"].off == ("--no-fan",)


def test_vllm_keys_of_json_and_variables() -> None:
    release = vllm.release(_vllm())
    assert release.configs == {"TimerConfig": {"minutes": (), "bell": ("loud", "soft")}}
    assert list(release.variables) == [
        "VLLM_BAKER", "VLLM_FLOUR", "VLLM_SALT", "VLLM_SEA", "VLLM_MILL", "VLLM_WHEEL",
    ]  # fmt: skip
    assert (release.variables["VLLM_BAKER"].choices, release.variables["VLLM_BAKER"].fold) == (("Ann", "Bob"), True)
    assert (release.variables["VLLM_FLOUR"].deprecated, release.variables["VLLM_FLOUR"].instead) == (True, "--spices")


def test_a_tree_without_the_parser_is_refused_and_not_read_as_empty() -> None:
    with pytest.raises(ParseError):
        vllm.release(Memory({"vllm/entrypoints/cli_args.py": "x = 1\n"}))
    with pytest.raises(ParseError):
        sglang.release(Memory({"sglang/srt/server_args.py": "x = 1\n"}))


ENVIRON = """
    class Envs:
        SGLANG_YEAST = EnvBool(False)
        SGLANG_FRESH_YEAST = EnvBoolWithAlias(True, deprecated_name="SGLANG_DRY_YEAST")
        OTHER = EnvStr("")

    _DEPRECATED_ENVS = {"SGLANG_SUGAR": _DeprecatedEnv(note="Pass --sweet instead.")}
"""


def test_sglang_by_hand_as_in_its_older_releases() -> None:
    release = sglang.release(
        Memory(
            {
                "sglang/srt/server_args.py": """
                    import argparse, dataclasses
                    from sglang.srt.doughs import DOUGHS

                    @dataclasses.dataclass
                    class ServerArgs:
                        model_path: str
                        dough: str = "rye"
                        size: int = 2

                        @staticmethod
                        def add_cli_args(parser):
                            parser.add_argument("--model-path", "--model", type=str, required=True)
                            parser.add_argument("--dough", type=str, default=ServerArgs.dough, choices=DOUGHS + ["x"])
                            parser.add_argument("--size", "--dough-size", type=int, default=ServerArgs.size)
                            parser.add_argument("--spread", action="store_true")
                            parser.add_argument("--old-size", action=DeprecatedAliasStoreAction, type=int,
                                                dest="size", new_flag="--size")
                            parser.add_argument("--older", action=DeprecatedAction, error_message="use --size")
                """,
                "sglang/srt/doughs.py": 'DOUGHS = ["rye", "oat"]\n',
                "sglang/srt/environ.py": ENVIRON,
                "sglang/srt/layers/x.py": 'os.getenv("SGLANG_OVEN")\nlog("SGLANG_CRUST has been removed: always on")\n',
                "sglang/test/y.py": 'os.getenv("SGLANG_TEST_ONLY")\n',
            }
        )
    )
    read = {one.name: one for one in release.options}
    assert read["--dough"].choices == ("rye", "oat", "x") and read["--dough"].default == "rye"
    assert read["--size"].names == ("--size", "--dough-size")
    assert read["--spread"].kind == "switch"
    assert (read["--old-size"].kind, read["--old-size"].deprecated, read["--old-size"].instead) == (
        "int",
        True,
        "--size",
    )
    assert (read["--older"].kind, read["--older"].fails) == ("switch", True)
    variables = {name: (one.deprecated, one.instead) for name, one in release.variables.items()}
    assert variables == {
        "SGLANG_CRUST": (True, ""),
        "SGLANG_DRY_YEAST": (True, "SGLANG_FRESH_YEAST"),
        "SGLANG_FRESH_YEAST": (False, ""),
        "SGLANG_OVEN": (False, ""),
        "SGLANG_SUGAR": (True, "--sweet"),
        "SGLANG_YEAST": (False, ""),
    }


def test_sglang_by_annotations_as_in_its_newer_releases() -> None:
    release = sglang.release(
        Memory(
            {
                "sglang/srt/server_args.py": """
                    import msgspec
                    from sglang.srt.fields import Kitchen, Shop
                    from sglang.srt.names import names

                    def _parser_choices():
                        from sglang.srt.names import NAMES
                        return list(NAMES)

                    class ServerArgs:
                        @staticmethod
                        def add_cli_args(parser):
                            add_cli_args_from_dataclass(parser, ServerArgs)
                            parser_choices = _parser_choices()
                            parser.add_argument("--bread-parser", type=str, choices=["auto"] + parser_choices)

                    _INPUT_NAMESPACES = [Kitchen, Shop]
                    ServerArgs = msgspec.defstruct("ServerArgs", [])
                """,
                "sglang/srt/names.py": 'NAMES = ("plait", "roll")\nnames = 1\n',
                "sglang/srt/fields.py": """
                    from typing import Annotated as A, List, Literal, Optional

                    class Backend:
                        FULL = "full"
                        ALL = [FULL, "none"]

                    class Kitchen:
                        tp_size: A[int, Arg(help="Ranks.", cli_name="--tensor-parallel-size", aliases=["--tp-size"])] = 1
                        warm: A[bool, "Warm it."] = False
                        mode: A[Optional[Literal["a", "b"]], "Mode."] = None
                        ids: A[Optional[List[int]], "Ids."] = None
                        where: A[Optional[List[str]], Arg(help="JSON.", type_parser=json_list_type)] = None
                        backend: A[str, Arg(help="One.", choices=Backend.ALL)] = "full"
                        hidden: A[int, Arg(help="", no_cli=True)] = 0
                        plain: int = 0

                    class Shop:
                        port: A[int, "Port."] = 30000
                """,
                "sglang/srt/environ.py": ENVIRON,
            }
        )
    )
    read = {one.name: one for one in release.options}
    assert {name: (one.kind, one.nargs, one.choices) for name, one in read.items()} == {
        "--tensor-parallel-size": ("int", "", ()),
        "--warm": ("switch", "", ()),
        "--mode": ("str", "", ("a", "b")),
        "--ids": ("int", "+", ()),
        "--where": ("json", "", ()),
        "--backend": ("str", "", ("full", "none")),
        "--port": ("int", "", ()),
        "--bread-parser": ("str", "", ("auto", "plait", "roll")),
    }
    assert read["--tensor-parallel-size"].names == ("--tensor-parallel-size", "--tp-size")


def _release(*options: Option, variables: Iterable[str] = ()) -> changes.Release:
    from qops.wheels.release import Release, Variable

    return Release(list(options), {}, {name: Variable() for name in variables})


def test_releases_merge_into_changes_and_come_apart_again() -> None:
    filler = [Option(names=(f"--filler-{i}",)) for i in range(10)]
    first = _release(*filler, Option(names=("--a", "--b"), kind="int"), Option(names=("--c",)), variables=["VLLM_X"])
    second = _release(*filler, Option(names=("--b", "--a"), kind="int"), Option(names=("--d",)), variables=["VLLM_X"])
    third = _release(*filler, Option(names=("--b", "--a"), kind="int", deprecated=True, instead="--d"), variables=[])
    whole = changes.merged("vllm", {"1.0": first, "1.1": second, "1.2": third})

    names = {version: set(Accepted(whole, version).names) for version in whole.versions}
    assert names["1.0"] - names["1.2"] == {"--c"}
    assert "--d" in names["1.1"] - names["1.0"] and "--d" not in names["1.2"]
    assert [one.since for one in whole.options["--a"]] == ["1.0", "1.2"]  # that its names changed places is no change
    assert [(one.since, one.gone) for one in whole.variables["VLLM_X"]] == [("1.0", False), ("1.2", True)]

    step = changes.merged("vllm", {"1.0": first, "1.1": second})
    assert changes.merged("vllm", {"1.2": third}, step) == whole


def test_a_release_that_loses_a_fifth_of_its_options_was_not_read_rightly() -> None:
    many = _release(*(Option(names=(f"--x-{i}",)) for i in range(10)))
    few = _release(*(Option(names=(f"--x-{i}",)) for i in range(7)))
    with pytest.raises(ParseError):
        changes.merged("vllm", {"1.0": many, "1.1": few})


def test_releases_sort_by_number() -> None:
    assert sorted(["0.5.9", "0.5.11", "0.5.10.post1", "0.5.10"], key=order) == [
        "0.5.9", "0.5.10", "0.5.10.post1", "0.5.11",
    ]  # fmt: skip
