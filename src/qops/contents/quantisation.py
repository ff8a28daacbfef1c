"""What a model's configuration says of its quantisation, in the forms of the tools that write it."""

from collections.abc import Iterable
from typing import Any

from qops.evidence.checkpoint import IgnoreList, Quantisation, Scheme
from qops.transports.base import clean

MOST = 200_000  # names of one list
# Where each tool keeps its list: llm-compressor, ModelOpt, AutoAWQ and transformers, Qwen's and DeepSeek's FP8.
_LISTS = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers")


def read(config: dict[str, Any], separate: dict[str, Any]) -> Quantisation | None:
    """Read config.json and ModelOpt's hf_quant_config.json; None where neither quantises anything."""
    said = next((c for key in ("quantization_config", "compression_config") if (c := _object(config.get(key)))), {})
    text = _object(config.get("text_config"))
    said = said or _object(text.get("quantization_config"))
    own = _object(separate.get("quantization"))
    if not said and not own:
        return None
    method = _text(said.get("quant_method")) or ("modelopt" if own else "")
    groups = _object(said.get("config_groups"))
    lists = [IgnoreList("config.json", names) for names in (_names(said),) if names]
    lists += [IgnoreList("hf_quant_config.json", names) for names in (_names(own),) if names]
    kv = said.get("kv_cache_scheme")
    return Quantisation(
        method=method,
        form=_text(said.get("quant_algo")) or _text(own.get("quant_algo")) or _text(said.get("format")),
        ignores=tuple(lists),
        schemes=tuple(_scheme(name, _object(group)) for name, group in list(groups.items())[:100]),
        kv="FP8" if _object(kv) or _text(own.get("kv_cache_quant_algo")).upper() == "FP8" else "",
    )


def _scheme(name: str, group: dict[str, Any]) -> Scheme:
    return Scheme(clean(name)[:100], _texts(group.get("targets")))


def _names(said: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for key in _LISTS for name in _texts(said.get(key)))


def _texts(value: Any) -> tuple[str, ...]:
    listed: Iterable[Any] = value[:MOST] if isinstance(value, list) else ()
    return tuple(clean(one)[:300] for one in listed if isinstance(one, str))


def _text(value: Any) -> str:
    return clean(value)[:100] if isinstance(value, str) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
