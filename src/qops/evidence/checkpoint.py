"""A model's folder, read without loading a weight: configuration, files, and which layers are stored how."""

from msgspec import Struct

from qops.evidence.text import Quote


class WrongFile(Struct, frozen=True):
    """A file that is not what it should be; `why` is a clause."""

    name: str
    why: str


class Scheme(Struct, frozen=True):
    """One group of layers in compressed-tensors: `targets` are classes, names, or `re:` and a pattern."""

    name: str
    targets: tuple[str, ...]


class IgnoreList(Struct, frozen=True):
    """Names of layers that are to stay as they are, as one file lists them."""

    source: str  # "config.json", "hf_quant_config.json"
    names: tuple[str, ...]


class Quantisation(Struct, frozen=True):
    """What the configuration says of it."""

    method: str  # "modelopt", "compressed-tensors", "fp8", "awq", "gptq", …
    form: str = ""  # "NVFP4", "FP8", "nvfp4-pack-quantized", …
    ignores: tuple[IgnoreList, ...] = ()
    schemes: tuple[Scheme, ...] = ()
    kv: str = ""  # how the KV cache is meant to be kept: "FP8"; "": as the engine decides


class Checkpoint(Struct, frozen=True):
    """The folder of one model. `layers` maps each to how its weight is stored: "quantised", or a dtype such as BF16."""

    folder: str
    quote: Quote
    model_type: str = ""
    architecture: str = ""  # the first that it names
    dtype: str = ""  # "bfloat16", as the configuration has it
    problems: tuple[WrongFile, ...] = ()  # of JSON documents
    weights: tuple[str, ...] = ()  # files with weights that are there
    broken: tuple[WrongFile, ...] = ()  # of files with weights: missing, cut short, no such file
    absent: tuple[str, ...] = ()  # tensors that the index places in a file that does not hold them; the first few
    layers: dict[str, str] = {}
    stored: dict[str, int] = {}  # bytes of each dtype
    kv_scales: int = 0  # tensors with scales of the KV cache
    quantisation: Quantisation | None = None
    tokenizer: tuple[str, ...] = ()  # tokenizer files that are there
    template: bool | None = None  # whether it has a chat template; None: nobody could read where it would be
