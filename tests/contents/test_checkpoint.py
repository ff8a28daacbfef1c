import json
from pathlib import Path

import model_folders as made
import pytest

from qops.contents.checkpoint import here as read
from qops.errors import UsageError
from qops.evidence.checkpoint import IgnoreList, WrongFile


def test_a_model_that_is_whole(tmp_path: Path) -> None:
    layers = made.nvfp4("model.layers.0.mlp.down_proj") | made.plain("lm_head") | {"norm.weight": ("BF16", [8])}
    scale = {"model.layers.0.self_attn.k_proj.k_scale": ("F32", [])}
    told: list[tuple[int, int]] = []
    made.folder(
        tmp_path,
        layers | scale,
        files=3,
        config={"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}},
        separate={"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head", "mtp*"]},
    )
    found = read(str(tmp_path), lambda done, whole: told.append((done, whole)))
    assert (found.problems, found.broken, found.absent) == ((), (), ())
    assert found.layers == {"model.layers.0.mlp.down_proj": "quantised", "lm_head": "BF16"}
    assert (found.architecture, found.dtype) == ("Qwen3_5MoeForConditionalGeneration", "bfloat16")
    assert found.quantisation and (found.quantisation.method, found.quantisation.form) == ("modelopt", "NVFP4")
    assert found.quantisation.ignores == (
        IgnoreList("config.json", ("lm_head",)),
        IgnoreList("hf_quant_config.json", ("lm_head", "mtp*")),
    )
    assert (found.quantisation.kv, found.kv_scales) == ("FP8", 1)
    assert (found.tokenizer, found.template) == (("tokenizer.json",), True)
    assert told == [(0, 3), (1, 3), (2, 3)]


def test_a_file_that_the_index_names_and_one_that_ends_early(tmp_path: Path) -> None:
    made.folder(tmp_path, made.plain("a", "b", "c"), files=3)
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    third = tmp_path / "model-00003-of-00003.safetensors"
    third.write_bytes(third.read_bytes()[:-10])
    found = read(str(tmp_path))
    assert found.broken == (
        WrongFile("model-00003-of-00003.safetensors", "it is cut short: 54 of 64 bytes of data are here"),
        WrongFile("model-00002-of-00003.safetensors", "the index names it, and it is not here"),
    )


def test_a_tensor_that_lies_elsewhere_than_the_index_says(tmp_path: Path) -> None:
    made.folder(tmp_path, made.plain("a", "b"), files=2)
    index = {
        "weight_map": {"a.weight": "model-00001-of-00002.safetensors", "c.weight": "model-00002-of-00002.safetensors"}
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert read(str(tmp_path)).absent == ("c.weight",)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it has 0 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "a pointer of git-lfs"),
        ((1 << 60).to_bytes(8, "little") + b"{}" * 9, "cut short, or no safetensors file"),
        ((101 << 20).to_bytes(8, "little") + b"{}" * 9, "cut short, or no safetensors file"),
        ((9).to_bytes(8, "little") + b"no json!!" * 3, "Expecting value"),
        ((20_000).to_bytes(8, "little") + b"[" * 20_000, "nested too deep"),
        ((4).to_bytes(8, "little") + b"[1] " * 3, "no JSON object"),
        (made.weights({"a.weight": ("BF16", [4])}, more={"b": {"data_offsets": [-1, 5]}}), "gives b no place"),
        (made.weights({}, more={"b": {"data_offsets": [0, 10**30]}}), "gives b no place"),
        (made.weights({}, more={"b": {"dtype": "BF16", "shape": [9], "data_offsets": [0, 4]}}), "bytes of its shape"),
        (made.weights({}, more={"b": 7}), "gives b no place"),
        (made.weights({"a.weight": ("BF16", [4])}) + b"xyz", "3 bytes that no tensor has a place in"),
    ],
)
def test_damaged_and_hostile_weights(tmp_path: Path, data: bytes, why: str) -> None:
    made.folder(tmp_path)
    (tmp_path / "model-00001-of-00001.safetensors").write_bytes(data)
    (wrong,) = read(str(tmp_path)).broken
    assert why in wrong.why


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no JSON"),
        (b"[" * 200_000, "nested too deep"),
        (b"[1]", "no JSON object"),
        (b"\xff\xfe\x00", "no JSON"),
        (b'{"architectures": "\x1b[31mred', "no JSON"),
    ],
)
def test_a_configuration_that_cannot_be_read(tmp_path: Path, data: bytes, why: str) -> None:
    made.folder(tmp_path)
    (tmp_path / "config.json").write_bytes(data)
    (wrong,) = read(str(tmp_path)).problems
    assert wrong.name == "config.json" and why in wrong.why
    assert "\x1b" not in wrong.why


def test_odd_values_are_no_reason_to_fail(tmp_path: Path) -> None:
    odd = {
        "architectures": {},
        "dtype": 7,
        "text_config": [],
        "quantization_config": {"ignore": [1, None], "config_groups": 3},
    }
    made.folder(tmp_path, config=odd)
    found = read(str(tmp_path))
    assert (found.architecture, found.dtype, found.problems) == ("", "", ())


def test_links_as_the_hub_makes_them(tmp_path: Path) -> None:
    made.folder(tmp_path / "blobs")
    (tmp_path / "snapshot").mkdir()
    for path in (tmp_path / "blobs").iterdir():
        (tmp_path / "snapshot" / path.name).symlink_to(path)
    assert read(str(tmp_path / "snapshot")).broken == ()
    (tmp_path / "blobs" / "model-00001-of-00001.safetensors").unlink()
    (wrong,) = read(str(tmp_path / "snapshot")).broken
    assert "No such file" in wrong.why


def test_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no folder"):
        read(str(tmp_path / "none"))
