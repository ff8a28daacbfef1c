"""How the layers of a checkpoint stand to the lists of its configuration, and to the names that engines fuse them to.

vLLM model_executor/layers/quantization/utils/quant_utils.py (is_layer_skipped, packed_modules_mapping): a fused layer
has one scheme, and all that it is made of must have the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache

from msgspec import Struct

from qops.evidence.checkpoint import Checkpoint, IgnoreList

QUANTISED = "quantised"
# What engines make one layer of (vLLM packed_modules_mapping of Qwen3, Qwen3-Next and Qwen3.5; SGLang the same).
FUSED: Mapping[str, tuple[str, ...]] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "in_proj_qkvz": ("in_proj_qkv", "in_proj_z"),
    "in_proj_ba": ("in_proj_b", "in_proj_a"),
}
# Linear layers of these models, which a quantisation of everything reaches. Not lm_head: engines leave it out.
_LINEAR = re.compile(
    r"(?:self_attn\.(?:q|k|v|o)_proj|mlp\.(?:gate|up|down)_proj|mlp\.gate|mlp\.shared_expert_gate|"
    r"linear_attn\.(?:in_proj_\w+|out_proj)|mtp\.fc)$"
)
# vLLM leaves these as they are whatever the lists say since its pull requests 35156 and 38832.
LENIENT = ("mlp.gate", "mlp.shared_expert_gate", "mtp.fc")
_LISTING = ("modelopt", "modelopt_fp4", "compressed-tensors", "fp8")  # methods whose lists decide on every layer
MOST_WORK = 8_000_000  # comparisons of a layer with a pattern; a hostile list does not get more


class Disagreement(Struct, frozen=True):
    """Layers for which a list and the stored weights do not go together. `layers` are the first few of `count`.

    `lenient`: newer engines leave all of these as they are, whatever the lists say.
    """

    source: str
    layers: tuple[str, ...]
    count: int
    lenient: bool = False


def ignored(checkpoint: Checkpoint, listed: IgnoreList) -> set[str] | None:
    """Return the layers that a list leaves out; None when it holds patterns that are not judged here."""
    exact = {name for name in listed.names if not _is_pattern(name)}
    patterns = [made for name in listed.names if _is_pattern(name) if (made := compiled(name)) is not None]
    if len(patterns) < sum(_is_pattern(name) for name in listed.names):
        return None
    if len(patterns) * len(checkpoint.layers) > MOST_WORK:
        return None
    found = set()
    for layer in checkpoint.layers:
        parts = layer.split(".")
        above = {".".join(parts[: count + 1]) for count in range(len(parts))}
        if above & exact or any(pattern.match(layer) for pattern in patterns):
            found.add(layer)
    return found


def _is_pattern(name: str) -> bool:
    return name.startswith("re:") or "*" in name


@cache
def compiled(name: str) -> re.Pattern[str] | None:
    """Return a list's pattern; None for one that could take for ever (a repeated group, many repetitions)."""
    if not name.startswith("re:"):
        return re.compile(translate(name)) if name.count("*") < 8 else None
    text = name.removeprefix("re:")
    if re.search(r"\)[*+{?]", text) or len(re.findall(r"(?<!\\)[*+{]", text)) > 3:
        return None
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return None


def listed_and_quantised(checkpoint: Checkpoint) -> Iterator[Disagreement]:
    """Yield the layers that a list leaves out although the files hold their scales."""
    for listed in checkpoint.quantisation.ignores if checkpoint.quantisation else ():
        left = ignored(checkpoint, listed)
        both = [layer for layer in left or () if checkpoint.layers[layer] == QUANTISED]
        if both:
            yield _disagreement(listed.source, both)


def plain_and_not_listed(checkpoint: Checkpoint) -> Iterator[Disagreement]:
    """Yield the linear layers that are stored as they are although no list leaves them out."""
    quantised = checkpoint.quantisation
    if quantised is None or quantised.method not in _LISTING or not _holds(checkpoint):
        return
    lists = [ignored(checkpoint, listed) for listed in quantised.ignores]
    known = [left for left in lists if left is not None]
    if len(known) < len(lists):
        return
    left_out = set().union(*known)
    narrow = [scheme for scheme in quantised.schemes if "Linear" not in scheme.targets]
    if quantised.schemes and len(narrow) == len(quantised.schemes):
        return  # every scheme names what it is for, so nothing has to be left out
    source = quantised.ignores[0].source if quantised.ignores else "config.json"
    plain = [
        layer
        for layer, kind in checkpoint.layers.items()
        if kind != QUANTISED and layer not in left_out and _LINEAR.search(layer)
    ]
    for lenient in (False, True):
        if layers := [layer for layer in plain if layer.endswith(LENIENT) is lenient]:
            yield _disagreement(source, layers, lenient=lenient)


def mixed(checkpoint: Checkpoint) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield fused layers that are made of both: (fused name, quantised parts, other parts)."""
    if not _holds(checkpoint):
        return
    parents = dict.fromkeys(layer.rpartition(".")[0] for layer in checkpoint.layers)
    for parent in parents:
        for fused, parts in FUSED.items():
            there = {part: kind for part in parts if (kind := checkpoint.layers.get(f"{parent}.{part}"))}
            quantised = tuple(part for part, kind in there.items() if kind == QUANTISED)
            if quantised and len(quantised) < len(there):
                yield f"{parent}.{fused}", quantised, tuple(part for part in there if part not in quantised)


def unfused_targets(checkpoint: Checkpoint) -> Iterator[tuple[str, str, str]]:
    """Yield (scheme, fused name, the scheme that it falls to) where targets name the parts and not the fused layer."""
    schemes = checkpoint.quantisation.schemes if checkpoint.quantisation else ()
    rest = next((scheme for scheme in schemes if "Linear" in scheme.targets), None)
    for scheme in schemes if rest else ():
        for fused, parts in FUSED.items():
            sample = next((layer for layer in checkpoint.layers if layer.endswith(tuple(f".{p}" for p in parts))), None)
            if sample is None or rest is None or scheme is rest:
                continue
            parent = sample.rpartition(".")[0]
            if _reaches(scheme.targets, sample) and not _reaches(scheme.targets, f"{parent}.{fused}"):
                yield scheme.name, fused, rest.name


def _reaches(targets: Sequence[str], layer: str) -> bool:
    for target in targets:
        pattern = compiled(target) if target.startswith("re:") else None
        if layer == target or layer.endswith(f".{target}") or (pattern is not None and pattern.match(layer)):
            return True
    return False


def _holds(checkpoint: Checkpoint) -> bool:
    """Return whether the files hold quantised layers: otherwise nothing was seen that a list is about."""
    return any(kind == QUANTISED for kind in checkpoint.layers.values())


def _disagreement(source: str, layers: Sequence[str], *, lenient: bool = False) -> Disagreement:
    return Disagreement(source, tuple(sorted(layers)[:4]), len(layers), lenient)
