"""What an inference service is, read from its command, and whether several get along on one host."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from qops.flags import shell
from qops.flags.command import Command, find
from qops.flags.shell import Word

DEFAULT_PORT = {"vllm": 8000, "sglang": 30000}  # entrypoints/openai/cli_args.py; srt/server_args.py
KEY_OF = {"vllm": "VLLM_API_KEY"}  # what an engine reads its API key from; SGLang has an option alone
_MODEL = ("--model", "--model-path")
_SERVED = "--served-model-name"
# An option with a secret would stand in the process list.
_SECRET_OPTIONS = ("--api-key", "--hf-token", "--admin-api-key")


GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the host in a container."""

    source: str
    target: str
    writable: bool = False

    @property
    def words(self) -> tuple[str, str]:
        """The mount as an option of docker and podman."""
        return "--mount", f"type=bind,src={self.source},dst={self.target}{'' if self.writable else ',readonly'}"


@dataclass(frozen=True, slots=True)
class Service:
    """One service. Times in seconds; `gpus` are indexes, `all_gpus` whether these are all of the host.

    `words` is the command: with its program for a bare one, and what the image's entry point gets, or a whole
    command, in a container. `secrets` are names alone. `key` is the name of the variable with the engine's API key.
    """

    name: str
    words: tuple[str, ...]
    engine: str
    model: str
    port: int
    address: str = "127.0.0.1"
    runtime: str = "venv"  # "docker", "podman"
    image: str = ""
    gpus: tuple[int, ...] = ()
    all_gpus: bool = False
    gpus_by: str = ""  # how a container gets them: "cdi", "gpus"
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    key: str = ""
    user: str = "root"
    mounts: tuple[Mount, ...] = ()
    shared_memory: int = GIB  # bytes of a container's /dev/shm
    limits: tuple[tuple[str, str], ...] = ()  # ulimits of a container
    capabilities: tuple[str, ...] = ()
    stop: int = 90  # how long it may take to end before it is killed
    token_seconds: int = 30
    load_seconds: int = 3600
    fail_safe: bool = True
    smoke: tuple[Mapping[str, str], ...] = ()  # questions before and after a change: prompt, and contains or matches
    keep: int = 5  # good releases beside the one in force
    raises_limits: bool = True  # whether the host lets root lift a limit; one that is a container does not


@dataclass(frozen=True, slots=True)
class Said:
    """What a command says of itself. Empty and None: it says nothing."""

    engine: str
    model: str
    port: int | None
    address: str
    drain: int | None  # vLLM's --shutdown-timeout, in seconds
    wrong: tuple[str, ...] = ()  # why it must not be run as it stands


def said(words: Sequence[str], image: str = "") -> Said:
    """Read a command: its engine, the name that it serves a model under, its port and its address."""
    found: Command | None = find([Word(one) for one in words], image)
    if found is None:
        return Said("", "", None, "", None)
    arguments = [word.text for word in found.arguments]
    served = _value(arguments, _SERVED)
    model = served or next((v for name in _MODEL if (v := _value(arguments, name))), "")
    if not model and arguments and not arguments[0].startswith("-"):
        model = arguments[0]
    wrong = [
        f"{name} would show its secret in the process list: put it into inference_service_secrets"
        for name in _SECRET_OPTIONS
        if _value(arguments, name) is not None
    ]
    port, drain = _number(arguments, "--port"), _number(arguments, "--shutdown-timeout")
    return Said(found.engine, model, port, _value(arguments, "--host") or "", drain, tuple(wrong))


def words_of(command: str | Sequence[str]) -> tuple[str, ...]:
    """Return a command's words, as a shell splits them."""
    return tuple(word.text for word in shell.words(command)) if isinstance(command, str) else tuple(command)


def conflicts(services: Sequence[Service]) -> Iterator[str]:
    """Yield why these services cannot run beside each other on one host."""
    for index, one in enumerate(services):
        for other in services[:index]:
            if one.name == other.name:
                yield f"two services are called {one.name}: each needs a name of its own"
            if one.port == other.port:
                yield f"{other.name} and {one.name} both want port {one.port}: give one of them another `port`"
            if shared := sorted(set(one.gpus) & set(other.gpus)):
                which = f"GPU {shared[0]}" if len(shared) == 1 else f"GPUs {', '.join(map(str, shared))}"
                yield f"{other.name} and {one.name} both want {which}: give each `gpus` of its own"


def _number(arguments: Sequence[str], name: str) -> int | None:
    value = _value(arguments, name)
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 6 else None


def _value(arguments: Sequence[str], name: str) -> str | None:
    """Return the last value of an option, as argparse does; None where it is not given."""
    found = None
    for index, word in enumerate(arguments):
        given, sign, value = word.partition("=")
        if given.replace("_", "-") == name:
            found = value if sign else arguments[index + 1] if index + 1 < len(arguments) else ""
    return found
