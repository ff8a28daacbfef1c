"""What an engine has of its host: which GPUs, and on which address and port it is reached."""

import re
from collections.abc import Sequence

from qops.adoption import expansion
from qops.adoption.found import Found, shown
from qops.derive.service import DEFAULT_PORT, said
from qops.flags.command import Assignment
from qops.flags.shell import Word

_ANY = "0.0.0.0"  # noqa: S104  # what engines listen on
_HERE = "127.0.0.1"
_DEFAULT_ADDRESS = {"vllm": _ANY, "sglang": _HERE}  # of --host: entrypoints/openai/cli_args.py; srt/server_args.py
_VISIBLE, _CUDA = "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
_PUBLISHED = re.compile(r"(?:(\[[0-9a-fA-F:]+\]|\d+\.\d+\.\d+\.\d+|localhost):)?(?:(\d{1,5}):)?(\d{1,5})(?:/tcp)?")
_ONE_WAY = "the role gives the GPUs, and a second way to name them can disagree"


def gpus(found: Found, environment: dict[str, Assignment]) -> str | list[int | str]:
    """Return the GPUs as the role takes them; the variables that name them are taken out of `environment`."""
    given = found.gpus
    visible, cuda = environment.pop(_VISIBLE, None), environment.pop(_CUDA, None)
    if visible is not None and given is None and found.image:
        given = [] if visible.value in ("none", "void", "") else visible.value.split(",")
    elif visible is not None:
        found.leave(visible.line, shown(_VISIBLE, visible.value), _ONE_WAY)
    elif given is None and found.visible:
        given = ["all"]
    if given is None and found.image:
        found.leave(found.line, "GPUs", "nothing gives the container any, so it gets none: add gpus if it had some")
        return []
    if cuda is not None:
        given = _chosen(given or ["all"], cuda.value)
        found.environment.pop(_CUDA, None)
    if given is None or "all" in given:
        return "all"
    return [int(one) if one.isascii() and one.isdigit() and len(one) < 4 else one for one in given]


def _chosen(given: Sequence[str], variable: str) -> list[str]:
    """Return which of the given GPUs CUDA sees; it counts those that a container has, from 0 on."""
    names = [one.strip() for one in variable.split(",") if one.strip() and one.strip() != "-1"]
    if "all" in given:
        return names
    places = [int(one) for one in names if one.isascii() and one.isdigit() and int(one) < len(given)]
    return [given[place] for place in places] if len(places) == len(names) else names


def address(found: Found, engine: str, words: list[Word]) -> tuple[list[Word], int, str]:
    """Return the command, the port and the address on the host.

    In a container an engine listens on all addresses, and the role publishes the port under its own number.
    """
    told = said([word.text for word in words], found.image)
    port = told.port or DEFAULT_PORT.get(engine, 0)
    own = _HERE if told.address == "localhost" else told.address or _DEFAULT_ADDRESS.get(engine, _HERE)
    if not found.image:
        return words, port, own
    outside, address = _outside(found, port, own)
    if told.address and told.address not in (_ANY, "::"):
        words = _without(words, "--host")
    if outside != port:
        found.leave(
            found.line, f"port {port} in the container", f"the role has one number inside and outside: {outside}"
        )
        words = _without(words, "--port")
    return words, outside, address


def _outside(found: Found, port: int, own: str) -> tuple[int, str]:
    """Return the port and the address that others reach the engine's `port` on."""
    if found.network == "host":
        return port, own
    chosen: tuple[int, str] | None = None
    for word in found.published:
        text = expansion.need(word.text, found.where(word.line))
        match = _PUBLISHED.fullmatch(text)
        if match and match[2] and int(match[3]) == port and chosen is None:
            listen = (match[1] or _ANY).strip("[]")
            chosen = int(match[2]), _HERE if listen == "localhost" else listen
        else:
            found.leave(word.line, shown("port", text), f"only the engine's own port {port} is published")
    if chosen is None:
        told = f"no port of the host leads to {port}: it is put on {_HERE}, where no other container reaches it"
        found.leave(found.line, "ports", told)
        return port, _HERE
    return chosen


def _without(words: Sequence[Word], name: str) -> list[Word]:
    kept: list[Word] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text.partition("=")[0].replace("_", "-") == name:
            skip = "=" not in word.text
        else:
            kept.append(word)
    return kept
