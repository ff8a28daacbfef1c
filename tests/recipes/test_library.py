"""Recipes: those that qops brings, how a user's go over them, and what is said of mistakes."""

from pathlib import Path

import pytest

from qops.data import engines
from qops.errors import UsageError
from qops.flags import Severity
from qops.flags.document import parse
from qops.recipes import beside, load, one, versions
from qops.recipes.checking import covered, remarks
from qops.recipes.library import BUILT_IN
from qops.recipes.reading import recipe

RECIPES = load()
WHOLE = """\
name: whale
about: A whale on one board
model: {repository: acme/whale, revision: 0123456789abcdef0123456789abcdef01234567}
engine: {name: vllm, versions: ">=0.30.0,<0.34"}
image: {name: "vllm/vllm-openai:v0.33.0", because: it is the newest}
hardware: {class: rtx5090, gpus: 1, memory_gib: 31}
served_name: whale
port: 8000
flags:
  - --enable-prefix-caching
  - --max-num-seqs: 8
  - --speculative-config: {method: mtp, num_speculative_tokens: 2}
environment: {VLLM_LOG_STATS_INTERVAL: "5"}
"""


def _folder(path: Path, **files: str) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / f"{name}.yaml").write_text(text)
    return path


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_taken_by_every_release_of_its_range(name: str) -> None:
    made = RECIPES[name]
    found = {
        version: [x for x in remarks(made, version) if x.severity is not Severity.INFO] for version in covered(made)
    }
    assert found and not any(found.values()), found


def test_a_range_ends_where_the_next_release_would_have_to_be_read() -> None:
    for made in RECIPES.values():
        newest = engines.load(made.engine.name).versions[-1]
        assert made.retired or covered(made)[-1] == newest
        following = ".".join([*newest.split(".")[:-1], "999"]) if made.engine.name == "sglang" else "0.34.0"
        assert following not in made.engine.versions


def test_ranges_start_where_the_flags_do() -> None:
    """A recipe with a renamed flag is refused by the release before its range."""
    for name in ("qwen3.5-397b-awq-sglang", "qwen3.5-397b-nvfp4-sglang-8gpu"):
        known = engines.load("sglang").versions
        before = known[known.index(covered(RECIPES[name])[0]) - 1]
        assert any(one.severity is Severity.ERROR for one in remarks(RECIPES[name], before))


def test_all_kinds_of_machine_and_both_engines_are_there() -> None:
    kinds = {(made.engine.name, made.hardware.hardware_class, made.hardware.gpus) for made in RECIPES.values()}
    assert kinds == {
        ("vllm", "rtx5090", 1), ("vllm", "spark", 1), ("vllm", "rtxpro", 4), ("vllm", "rtxpro", 8),
        ("sglang", "rtxpro", 4), ("sglang", "rtxpro", 8),
    }  # fmt: skip
    assert [name for name, made in RECIPES.items() if made.retired] == ["qwen3.5-35b-nvfp4-rtx5090-vllm-0.16"]


def test_what_is_dropped_says_why_and_dead_settings_are_nowhere() -> None:
    dead = {"SAFETENSORS_FAST_GPU", "VLLM_SLEEP_WHEN_IDLE", "VLLM_NVFP4_GEMM_BACKEND", "SGLANG_ENABLE_SPEC_V2",
            "SGLANG_DISABLE_DEEP_GEMM", "VLLM_WORKER_MULTIPROC_METHOD"}  # fmt: skip
    for made in RECIPES.values():
        assert not dead & set(made.environment)
        assert not any(name.startswith("NCCL") for name in made.environment)
        assert "qwen3_next_mtp" not in " ".join(made.arguments)
    assert any("SAFETENSORS_FAST_GPU" in row.what for row in RECIPES["qwen3.5-397b-nvfp4-vllm"].dropped)


def test_a_recipe_of_the_user_is_read(tmp_path: Path) -> None:
    made = one(load([_folder(tmp_path, whale=WHOLE)]), "whale")
    assert made.arguments == (
        "--enable-prefix-caching", "--max-num-seqs", "8",
        "--speculative-config", '{"method":"mtp","num_speculative_tokens":2}',
    )  # fmt: skip
    assert made.environment == {"VLLM_LOG_STATS_INTERVAL": "5"}
    assert made.place == f"{tmp_path / 'whale.yaml'}:1"


def test_extending_changes_what_is_said_and_keeps_the_rest(tmp_path: Path) -> None:
    text = """\
name: whale-2
extends: whale
model: {revision: ffffffffffffffffffffffffffffffffffffffff}
flags:
  - --max-num-seqs: 16
  - --enable-prefix-caching: null
  - --kv-cache-dtype: fp8
environment: {VLLM_LOG_STATS_INTERVAL: null, VLLM_LOGGING_LEVEL: DEBUG}
"""
    made = load([_folder(tmp_path, a=text, whale=WHOLE)])["whale-2"]
    assert (made.model.repository, made.model.revision) == ("acme/whale", "f" * 40)
    assert made.arguments == (
        "--max-num-seqs", "16", "--speculative-config", '{"method":"mtp","num_speculative_tokens":2}',
        "--kv-cache-dtype", "fp8",
    )  # fmt: skip
    assert made.environment == {"VLLM_LOGGING_LEVEL": "DEBUG"}


def test_a_later_folder_takes_the_place_of_an_earlier_one_and_may_start_from_it(tmp_path: Path) -> None:
    name = "qwen3.5-397b-nvfp4-vllm"
    pin = f"name: {name}\nextends: {name}\nmodel: {{revision: {'a' * 40}}}\n"
    again = f"name: {name}\nextends: {name}\nport: 9000\n"
    folders = [_folder(tmp_path / "a", pin=pin), _folder(tmp_path / "b", again=again)]
    made = load(folders)[name]
    assert (made.model.revision, made.port, made.flags) == ("a" * 40, 9000, RECIPES[name].flags)
    assert made.figures == ()  # they were measured with something else
    # One that extends it follows: the pin holds for the recipe with thinking off as well.
    assert load(folders)["qwen3.5-397b-nvfp4-vllm-no-thinking"].model.revision == "a" * 40


def test_the_folder_beside_an_inventory(tmp_path: Path) -> None:
    assert beside(str(tmp_path / "hosts.yml")) == ()
    _folder(tmp_path / "recipes", whale=WHOLE)
    assert beside(str(tmp_path / "hosts.yml")) == beside(str(tmp_path)) == (tmp_path / "recipes",)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("served_name: whale\n", "", 1, "served_name is missing"),
        ("port: 8000", "port: 80000", 8, "80000 is no number from 1 to 65535"),
        ("port: 8000", "port: eighty", 8, "eighty is no number"),
        ("port: 8000", "prot: 8000", 8, "recipe has no prot"),
        ("gpus: 1", "gpus: 2", 10, "the flags take 1 GPUs, and hardware says 2"),
        ("class: rtx5090", "class: rtx4090", 6, "'rtx4090' is none of spark, rtxpro, rtx5090, hgx"),
        ("- --max-num-seqs: 8", "- max-num-seqs: 8", 11, "'max-num-seqs' is no flag"),
        ("- --max-num-seqs: 8", "- --max-num-seqs:", 11, "--max-num-seqs has no value"),
        ("- --max-num-seqs: 8", "- --enable-prefix-caching", 11, "--enable-prefix-caching is given twice"),
        ("- --max-num-seqs: 8", "- --port: 8", 11, "--port comes from the recipe's own fields"),
        ("- --max-num-seqs: 8", "- --api-key: x", 11, "a key in a command line is everybody's to read"),
        ("- --max-num-seqs: 8", "- [a]", 11, "this is a text"),
        ("VLLM_LOG_STATS_INTERVAL", "HF_TOKEN", 13, "HF_TOKEN looks like a secret"),
        ("0123456789abcdef0123456789abcdef01234567", "main", 3, "'main' is no commit"),
        (", revision: 0123456789abcdef0123456789abcdef01234567", "", 3, "no revision and does not say why"),
        ("acme/whale", "whale", 3, "repository cannot be 'whale'"),
        (">=0.30.0,<0.34", "0.30", 4, "'0.30' is no bound of a release"),
        ("v0.33.0", "latest", 5, "is another image tomorrow"),
        ("v0.33.0", "v0.20.0", 5, "the image is 0.20.0, and engine says >=0.30.0,<0.34"),
        ("name: whale\n", "name: Whale\n", 1, "name cannot be 'Whale'"),
        ("port: 8000", "port: 8000\nport: 8001", 9, "port stands here twice"),
        ("port: 8000", "port: [", 8, "no YAML"),
        ("served_name: whale", 'served_name: "a\\nb"', 7, "a line that ends"),
        ("served_name: whale", 'served_name: "a\\x9bb"', 7, "a control character"),
        ("served_name: whale", 'served_name: whale\n"\\e[2J": x', 8, "a name is a plain text"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in WHOLE
    with pytest.raises(UsageError) as raised:
        load([_folder(tmp_path, whale=WHOLE.replace(old, new, 1))])
    place = f"{tmp_path / 'whale.yaml'}:"
    assert raised.value.message.startswith(place) and message in raised.value.message
    assert abs(int(raised.value.message.removeprefix(place).split(":")[0]) - line) <= (2 if "YAML" in message else 0)


def test_circles_and_strangers(tmp_path: Path) -> None:
    a, b = "name: a\nextends: b\n", "name: b\nextends: a\n"
    with pytest.raises(UsageError, match="extends itself in the end"):
        load([_folder(tmp_path / "one", a=a, b=b)])
    with pytest.raises(UsageError, match=r"a.yaml:2: no recipe is called 'nobody'"):
        load([_folder(tmp_path / "two", a="name: a\nextends: nobody\n")])
    with pytest.raises(UsageError, match=r"b.yaml:1: whale is in .*a.yaml too"):
        load([_folder(tmp_path / "three", a=WHOLE, b=WHOLE)])
    with pytest.raises(UsageError, match="no folder of recipes"):
        load([tmp_path / "four"])
    with pytest.raises(UsageError) as raised:
        one(RECIPES, "qwen3.5-397b-nvfp4-vlm")
    assert "qwen3.5-397b-nvfp4-vllm" in raised.value.hint


def test_a_document_that_holds_itself_ends() -> None:
    with pytest.raises(UsageError, match="holds itself"):
        parse("a: &a [*a]\n", "x.yaml")


def test_ranges() -> None:
    made = versions.parse(">=0.5.10, <0.5.11")
    assert made.of(engines.load("sglang").versions) == ("0.5.10", "0.5.10.post1")
    assert str(made) == ">=0.5.10,<0.5.11"
    with pytest.raises(ValueError, match="no bound"):
        versions.parse("~=0.5")


def test_each_file_is_called_as_its_recipe() -> None:
    assert {path.stem for path in BUILT_IN.glob("*.yaml")} == set(RECIPES)


def test_a_size_needs_its_source() -> None:
    with pytest.raises(UsageError, match="bytes without source"):
        recipe(parse(WHOLE.replace("acme/whale,", "acme/whale, bytes: 5,"), "x.yaml"))
