"""Model folders with real headers and no weights worth the name."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WIDTH = {"F32": 4, "BF16": 2, "F16": 2, "U8": 1, "I32": 4, "F8_E4M3": 1}
CONFIG = {"architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe", "dtype": "bfloat16"}


def weights(tensors: Mapping[str, tuple[str, list[int]]], *, more: Mapping[str, Any] = {}) -> bytes:
    """Return a safetensors file of zeros: name to (dtype, shape)."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        size = WIDTH[dtype]
        for one in shape:
            size *= one
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    data = json.dumps({**header, **more}).encode()
    return len(data).to_bytes(8, "little") + data + bytes(end)


def plain(*layers: str, dtype: str = "BF16") -> dict[str, tuple[str, list[int]]]:
    return {f"{layer}.weight": (dtype, [4, 8]) for layer in layers}


def nvfp4(*layers: str) -> dict[str, tuple[str, list[int]]]:
    """The tensors that ModelOpt writes for a layer."""
    found: dict[str, tuple[str, list[int]]] = {}
    for layer in layers:
        found[f"{layer}.weight"] = ("U8", [4, 4])
        found[f"{layer}.weight_scale"] = ("F8_E4M3", [4, 1])
        found[f"{layer}.weight_scale_2"] = ("F32", [])
        found[f"{layer}.input_scale"] = ("F32", [])
    return found


def folder(
    root: Path,
    tensors: Mapping[str, tuple[str, list[int]]] | None = None,
    *,
    config: Mapping[str, Any] = {},
    separate: Mapping[str, Any] | None = None,
    files: int = 1,
    template: bool = True,
) -> Path:
    """Make a model that is whole, in `files` files of weights with an index."""
    root.mkdir(parents=True, exist_ok=True)
    given = dict(tensors if tensors is not None else plain("model.layers.0.self_attn.q_proj", "lm_head"))
    (root / "config.json").write_text(json.dumps({**CONFIG, **config}))
    if separate is not None:
        (root / "hf_quant_config.json").write_text(json.dumps({"quantization": separate}))
    names = [f"model-{number + 1:05}-of-{files:05}.safetensors" for number in range(files)]
    places = {tensor: names[number % files] for number, tensor in enumerate(given)}
    for name in names:
        (root / name).write_bytes(weights({t: given[t] for t, place in places.items() if place == name}))
    (root / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    (root / "tokenizer.json").write_text("{}")
    (root / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"} if template else {}))
    return root
