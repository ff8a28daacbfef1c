"""Reads a model's folder: documents and the headers of its weights, never a weight."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from msgspec.structs import replace

from qops.contents import quantisation
from qops.contents.folder import Folder, Here
from qops.errors import UsageError
from qops.evidence.checkpoint import Checkpoint, WrongFile
from qops.evidence.text import Quote
from qops.transports.base import clean

DOCUMENT = 128 << 20  # bytes of a JSON document; the index of a model with 400 billion parameters has some 30 MiB
HEADER = 100 << 20  # bytes: what safetensors itself reads at most (its MAX_HEADER_SIZE)
MOST_TENSORS = 5_000_000
NAMED = 5  # tensors that are named
# safetensors, tensor.rs: Dtype. Others are not judged by their size.
SIZES = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2,
    "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "I8": 1, "U8": 1, "BOOL": 1,
}  # fmt: skip
# A tensor of that name beside the weight tells that the weight is quantised.
_SCALES = (
    "weight_scale", "weight_scale_2", "weight_scale_inv", "weight_packed", "weight_global_scale", "qweight", "scales",
    "input_scale", "input_global_scale", "qzeros",
)  # fmt: skip
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "tekken.json", "tiktoken.model")
_POINTER = b"version https://git-lfs.github.com/spec/"  # git-lfs, docs/spec.md

Told = Callable[[int, int], None]


@dataclass(slots=True)
class _Weights:
    files: list[str] = field(default_factory=list)
    broken: list[WrongFile] = field(default_factory=list)
    tensors: dict[str, str] = field(default_factory=dict)  # name to file
    layers: dict[str, str] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    kv_scales: int = 0


def here(path: str, told: Told = lambda done, whole: None) -> Checkpoint:
    """Read a folder of this machine, as `read` does. UsageError when it is none, or may not be looked into."""
    try:
        return read(Here(path), told)
    except OSError as error:  # only the list of files raises it
        why = "is no folder" if isinstance(error, FileNotFoundError | NotADirectoryError) else str(error.strerror)
        raise UsageError(f"{path} {why}", "give the folder with the model's config.json") from None


def read(folder: Folder, told: Told = lambda done, whole: None) -> Checkpoint:
    """Read a folder. `told` hears how many files of how many were read. OSError when it cannot be listed."""
    names = folder.names()
    problems: list[WrongFile] = []
    config = _document(folder, "config.json", problems, wanted=True)
    separate = _document(folder, "hf_quant_config.json", problems, wanted="hf_quant_config.json" in names)
    weights = _weights(folder, names, problems, told)
    index = _index(folder, names, problems)
    template = _template(folder, problems)
    absent = [name for name, file in index.items() if weights.tensors.get(name) != file] if index else []
    there = {*weights.files, *(wrong.name for wrong in weights.broken)}
    lost = sorted(set(index.values()) - there)
    text = config.get("text_config")
    inner = text if isinstance(text, dict) else {}
    dtype = next(
        (d for key in ("dtype", "torch_dtype") for c in (config, inner) if isinstance(d := c.get(key), str)), ""
    )
    architectures = config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else ""
    made = Checkpoint(
        folder=folder.name,
        quote=Quote(str(Path(folder.name) / "config.json"), 0, ""),
        model_type=_short(config.get("model_type")),
        architecture=_short(first),
        dtype=_short(dtype),
        problems=tuple(problems),
        weights=tuple(weights.files),
        broken=(
            *weights.broken,
            *(WrongFile(clean(name)[:200], "the index names it, and it is not here") for name in lost),
        ),
        absent=tuple(clean(name)[:200] for name in absent if index[name] in weights.files)[:NAMED],
        layers=weights.layers,
        stored=weights.stored,
        kv_scales=weights.kv_scales,
        quantisation=quantisation.read(config, separate),
        tokenizer=tuple(name for name in _TOKENIZERS if _is_there(folder, name)),
        template=template,
    )
    how = made.quantisation.method if made.quantisation else "not quantised"
    said = f"{made.architecture or 'no architecture'}, {how}, {len(made.weights)} files, {len(made.layers)} layers"
    return replace(made, quote=Quote(made.quote.source, 0, said))


def _short(value: Any) -> str:
    return clean(value)[:100] if isinstance(value, str) else ""


def _is_there(folder: Folder, name: str) -> bool:
    try:
        return folder.size(name) >= 0
    except OSError:
        return False


def _document(folder: Folder, name: str, problems: list[WrongFile], *, wanted: bool) -> dict[str, Any]:
    """Return a JSON object; an empty one, and why, when it is none. Only a file that is `wanted` is missed."""
    shown = clean(name)[:200]
    try:
        size = folder.size(name)
        if size > DOCUMENT:
            raise ValueError(f"it has more than {DOCUMENT >> 20} MiB")
        said = json.loads(folder.start(name, size))
    except FileNotFoundError:
        if wanted:
            problems.append(WrongFile(shown, "it is not here"))
        return {}
    except OSError as error:
        problems.append(WrongFile(shown, f"it cannot be read: {error.strerror}"))
        return {}
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else clean(str(error))[:200]
        problems.append(WrongFile(shown, f"it is no JSON: {why}"))
        return {}
    if not isinstance(said, dict):
        problems.append(WrongFile(shown, "it is no JSON object"))
        return {}
    return said


def _index(folder: Folder, names: Sequence[str], problems: list[WrongFile]) -> dict[str, str]:
    """Return the file of each tensor, as the index has it."""
    found: dict[str, str] = {}
    for name in [name for name in names if name.endswith(".safetensors.index.json")][:4]:
        before = len(problems)
        places = _document(folder, name, problems, wanted=True).get("weight_map")
        if isinstance(places, dict):
            found.update({tensor: file for tensor, file in places.items() if isinstance(file, str)})
        elif len(problems) == before:
            problems.append(WrongFile(clean(name)[:200], "it has no weight_map"))
    return found


def _weights(folder: Folder, names: Sequence[str], problems: list[WrongFile], told: Told) -> _Weights:
    found = _Weights()
    files = [name for name in names if name.endswith(".safetensors")]
    for number, file in enumerate(files):
        told(number, len(files))
        try:
            header, begin, size = _header(folder, file)
        except (OSError, ValueError, RecursionError) as error:
            told_why = error.strerror if isinstance(error, OSError) else str(error)
            why = "its header is nested too deep" if isinstance(error, RecursionError) else clean(told_why or "")[:200]
            found.broken.append(WrongFile(file, why))
            continue
        found.files.append(file)
        if why := _wrong(header, size - begin):
            found.broken.append(WrongFile(file, why))
        for name, about in header.items():
            if isinstance(about, dict) and name != "__metadata__":
                _take(found, file, name, about)
        if len(found.tensors) > MOST_TENSORS:
            problems.append(WrongFile(file, f"there are more than {MOST_TENSORS} tensors; the rest is not read"))
            break
    return found


def _header(folder: Folder, file: str) -> tuple[dict[str, Any], int, int]:
    """Return the header of a file of weights, where its data begins, and its size. ValueError says what is wrong."""
    size = folder.size(file)
    start = folder.start(file, len(_POINTER))
    if start == _POINTER:
        raise ValueError("it is a pointer of git-lfs and no weights: fetch them with `git lfs pull`")
    if size < 10:
        raise ValueError(f"it has {size} bytes")
    length = int.from_bytes(start[:8], "little")
    if length > HEADER or length > size - 8:
        raise ValueError(f"its header would have {length} bytes: it is cut short, or no safetensors file")
    header = json.loads(folder.start(file, 8 + length)[8:])
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    return header, 8 + length, size


def _wrong(header: dict[str, Any], data: int) -> str:
    """Return what the places of the tensors say against a file with that many bytes of data."""
    end = 0
    for name, about in header.items():
        if name == "__metadata__":
            continue
        place = about.get("data_offsets") if isinstance(about, dict) else None
        if not _numbers(place) or len(place) != 2 or place[0] > place[1]:
            return f"the header gives {clean(name)[:100]} no place"
        end = max(end, place[1])
        shape, width = about.get("shape"), SIZES.get(about.get("dtype"))
        if width and _numbers(shape) and len(shape) < 16 and math.prod(shape) * width != place[1] - place[0]:
            return f"{clean(name)[:100]} does not have the bytes of its shape"
    if end > data:
        return f"it is cut short: {data:,} of {end:,} bytes of data are here"
    return f"it has {data - end:,} bytes that no tensor has a place in" if end < data else ""


def _numbers(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(one) is int and 0 <= one < 1 << 62 for one in value)


def _take(found: _Weights, file: str, name: str, about: dict[str, Any]) -> None:
    found.tensors[name] = file
    dtype = about.get("dtype")
    dtype = dtype[:20] if isinstance(dtype, str) else "?"
    place = about.get("data_offsets")
    if _numbers(place) and len(place) == 2:
        found.stored[dtype] = found.stored.get(dtype, 0) + max(0, place[1] - place[0])
    layer, _, kind = name.rpartition(".")
    if kind in ("k_scale", "v_scale") or name.endswith(("k_proj.k_scale", "v_proj.v_scale")):
        found.kv_scales += 1
    elif kind in _SCALES:
        found.layers[layer] = "quantised"
    elif kind == "weight" and isinstance(shape := about.get("shape"), list) and len(shape) == 2:
        found.layers.setdefault(layer, dtype)


def _template(folder: Folder, problems: list[WrongFile]) -> bool | None:
    if any(_is_there(folder, name) for name in ("chat_template.jinja", "chat_template.json")):
        return True
    if not _is_there(folder, "tokenizer_config.json"):
        return None
    before = len(problems)
    said = _document(folder, "tokenizer_config.json", problems, wanted=True)
    return None if len(problems) > before else bool(said.get("chat_template"))
