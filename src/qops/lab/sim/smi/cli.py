"""The command line of the simulated nvidia-smi."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence

from .. import NOTICE, clock, container, driver, hardware, passthrough
from ..hardware import Gpu
from . import monitor, query, report, setters, snapshot, table, topo
from .snapshot import Snapshot

_HELP = (
    NOTICE
    + """

    nvidia-smi                          table
    nvidia-smi -L
    nvidia-smi -q [-x] [-i ID] [-d SECTION,...]
    nvidia-smi --query-gpu=FIELD,... --format=csv[,noheader][,nounits] [-i ID] [-l SEC | -lms MS] [-c COUNT]
    nvidia-smi --query-compute-apps=FIELD,... --format=csv
    nvidia-smi topo -m | topo -p2p r|w|n|a|p | nvlink -s
    nvidia-smi dmon | pmon [-s GROUPS] [-c COUNT] [-d SEC] [-i ID]
    nvidia-smi -pm 0|1 | -pl WATTS | -lgc MIN,MAX | -rgc | -r [-i ID]
"""
)
# Not found quoted for every form; the lost-GPU line and these two are as owners quote them.
_LOST = "Unable to determine the device handle for GPU{}: {}: Unknown Error\n"
_NO_DEVICES = "No devices were found\n"
_NO_DEVICES_STATUS = 6  # NVML_ERROR_NOT_FOUND
_INVALID_STATUS = 2  # NVML_ERROR_INVALID_ARGUMENT

# Long spellings, and the options that take a value.
_LONG = {
    "--list-gpus": "-L",
    "--query": "-q",
    "--xml-format": "-x",
    "--id": "-i",
    "--display": "-d",
    "--loop": "-l",
    "--loop-ms": "-lms",
    "--count": "-c",
    "--persistence-mode": "-pm",
    "--power-limit": "-pl",
    "--lock-gpu-clocks": "-lgc",
    "--reset-gpu-clocks": "-rgc",
    "--gpu-reset": "-r",
    "--filename": "-f",
    "--select": "-s",
    "--delay": "-d",
    "--options": "-o",
    "--help": "-h",
    "--matrix": "-m",
    "--query-compute-apps": "--query-compute-apps",
}
_VALUED = ("-i", "-d", "-l", "-lms", "-c", "-pm", "-pl", "-lgc", "-f", "-s", "-o", "-p2p", "--mode")
_QUERIES = ("--query-gpu", "--query-compute-apps", "--query-supported-clocks", "--format")
_FLAGS = ("-L", "-q", "-x", "-rgc", "-r", "-h", "-m", "-mp", "--status", "-B", "--version")


class UsageError(Exception):
    """A command line that nvidia-smi does not take."""


def _parse(arguments: Sequence[str]) -> dict[str, str]:
    """Read the options; one without a value maps to an empty string."""
    options: dict[str, str] = {}
    words = list(arguments)
    while words:
        word, joined, value = words.pop(0).partition("=")
        word = _LONG.get(word, word)
        if word in _QUERIES or word in _VALUED:
            if not joined:
                # `-l` alone is once in five seconds; `-lms` needs a number.
                optional = word == "-l" and (not words or words[0].startswith("-"))
                if not words and not optional:
                    raise UsageError(f'Missing value for option "{word}".')
                value = "" if optional else words.pop(0)
            options[word] = value
        elif word in _FLAGS:
            options[word] = ""
        else:
            raise UsageError(f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n{word}")
    return options


def _choose(shot: Snapshot, names: str) -> tuple[Gpu, ...]:
    """Return the GPUs that `-i` names by index, UUID, serial or PCI address."""
    if not names:
        return shot.gpus
    chosen = []
    for name in names.split(","):
        name = name.strip()
        found = [
            gpu
            for gpu in shot.gpus
            if name in (str(gpu.index), gpu.uuid, gpu.serial)
            or name.lower() in (gpu.slot.address.smi.lower(), str(gpu.slot.address))
        ]
        if not found:
            raise UsageError(_NO_DEVICES.strip())
        chosen += found
    return tuple(chosen)


def _rounds(options: dict[str, str], period: float) -> Iterator[int]:
    """Yield 0, 1, 2 … at the period, as many as `-c` says."""
    last = int(options["-c"]) if options.get("-c", "0") != "0" else None
    for number in itertools.count():
        if last is not None and number >= last:
            return
        if number:
            clock.pause(period)
        yield number


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _display(options: dict[str, str]) -> tuple[str, ...]:
    blocks: list[str] = []
    for name in options.get("-d", "").split(","):
        if not name.strip():
            continue
        section = report.SECTIONS.get(name.strip().upper())
        if section is None:
            raise UsageError(f'"{name.strip()}" is not a valid display type.')
        blocks += section
    return tuple(blocks)


def _form(options: dict[str, str]) -> Callable[[Snapshot], str]:
    """Return what prints one round of the form that the options ask for."""
    for option, print_query in (
        ("--query-gpu", query.gpus),
        ("--query-compute-apps", query.apps),
        ("--query-supported-clocks", query.clocks),
    ):
        if option in options:
            shape = query.read_format(options.get("--format", ""))
            if shape is None:
                raise UsageError(
                    'Format must be specified with "--format=". Use "nvidia-smi --help" for more information.'
                )
            fields = options[option]
            return lambda shot, f=print_query: f(shot, _choose(shot, options.get("-i", "")), fields, shape)  # type: ignore[misc]
    if "-q" in options and "-x" in options:
        return lambda shot: report.xml(shot, _choose(shot, options.get("-i", "")))
    if "-q" in options:
        blocks = _display(options)
        return lambda shot: report.text(shot, _choose(shot, options.get("-i", "")), blocks)
    if "-L" in options:
        return lambda shot: table.listing(shot, _choose(shot, options.get("-i", "")))
    return lambda shot: table.table(shot, _choose(shot, options.get("-i", "")))


def _set(shot: Snapshot, options: dict[str, str]) -> tuple[str, int] | None:
    gpus = _choose(shot, options.get("-i", ""))
    if "-pm" in options:
        return setters.persistence(shot, gpus, options["-pm"])
    if "-pl" in options:
        return setters.limit(shot, gpus, options["-pl"])
    if "-lgc" in options:
        return setters.lock(shot, gpus, options["-lgc"])
    if "-r" in options:
        return setters.reset(shot, gpus)
    return setters.unlock(shot, gpus) if "-rgc" in options else None


def _subcommand(name: str, arguments: Sequence[str], here: hardware.Hardware, shot: Snapshot) -> int:
    if name == "nvlink" and list(arguments[:1]) in (["-s"], ["--status"]):
        options = _parse(arguments[1:])
        _write(topo.nvlink_status(shot, _choose(shot, options.get("-i", ""))))
        return 0
    options = _parse(arguments)
    if name == "topo" and ("-m" in options or "-mp" in options):
        _write(topo.matrix(shot))
        return 0
    if name == "topo" and options.get("-p2p", "") in ("r", "w", "n", "a", "p"):
        _write(topo.p2p(shot, options["-p2p"]))
        return 0
    if name not in ("dmon", "pmon"):
        raise UsageError(f"Invalid combination of input arguments for {name}.")
    pick = lambda one: _choose(one, options.get("-i", ""))  # noqa: E731 - handed on, not named
    rounds = _rounds(options, float(options.get("-d", "1")))
    take = lambda: snapshot.take(here)  # noqa: E731
    if name == "dmon":
        lines = monitor.dmon(
            take, pick, monitor.groups(options.get("-s", ""), "pucvmet", "puc"), rounds, options.get("-o", "")
        )
    else:
        lines = monitor.pmon(take, pick, monitor.groups(options.get("-s", ""), "um", "u"), rounds)
    for text in lines:
        _write(text)
    return 0


def _run(arguments: Sequence[str], here: hardware.Hardware) -> int:
    shot = snapshot.take(here)
    broken = driver.failure(shot.versions)
    if broken:
        _write(broken[0])
        return broken[1]
    # A card that fell off the bus is named on stderr while the others still answer and the status
    # stays 0: owners of several cards report it so.
    for gpu in shot.lost:
        sys.stderr.write(_LOST.format(gpu.index, gpu.slot.address))
    if not shot.gpus:
        _write(_NO_DEVICES)
        return _NO_DEVICES_STATUS
    if arguments and arguments[0] in ("topo", "nvlink", "dmon", "pmon"):
        return _subcommand(arguments[0], arguments[1:], here, shot)
    options = _parse(arguments)
    answer = _set(shot, options)
    if answer:
        _write(answer[0])
        return answer[1]
    for option in ("--query-gpu", "--query-compute-apps"):
        wrong = query.unknown(options[option], "apps" in option) if option in options else ""
        if wrong:
            _write(query.UNKNOWN_FIELD.format(wrong))
            return query.UNKNOWN_FIELD_STATUS
    form = _form(options)
    if "-l" not in options and "-lms" not in options:
        _write(form(shot))
        return 0
    period = float(options["-lms"]) / 1000 if "-lms" in options else float(options["-l"] or 5)
    for number in _rounds(options, period):
        text = form(snapshot.take(here))
        # The header of a csv query comes once.
        if number and "--query-gpu" in options and "noheader" not in options.get("--format", ""):
            text = text.split("\n", 1)[1]
        _write(text)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Answer as nvidia-smi would; return its exit status."""
    here = hardware.load()
    if here is None or not here.gpus or driver.installed(here, "library") == driver.NOTHING:
        return passthrough.real("nvidia-smi", arguments)
    if list(arguments) in (["-h"], ["--help"]):
        _write(_HELP)
        return 0
    if container.lost():
        _write(container.LOST)
        return container.LOST_STATUS
    if list(arguments) == ["--version"]:
        shot = snapshot.take(here)
        branch = ".".join(shot.versions.library.split(".")[:2])
        _write(
            f"NVIDIA-SMI version  : {shot.versions.library}\nNVML version        : {branch}\n"
            f"DRIVER version      : {shot.versions.module}\nCUDA Version        : {here.cuda}\n"
        )
        sys.stderr.write(NOTICE + "\n")
        return 0
    try:
        return _run(arguments, here)
    except UsageError as error:
        _write(f"{error}\n")
        return _NO_DEVICES_STATUS if str(error) == _NO_DEVICES.strip() else _INVALID_STATUS
