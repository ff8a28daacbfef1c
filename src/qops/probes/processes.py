"""GPU processes: state, progress and children, sampled over time, and the stacks that people add."""

from collections.abc import Sequence

from msgspec.structs import replace

from qops.evidence.process import Process, Processes
from qops.evidence.text import Text
from qops.probes import process_blocks, process_tables, stacks
from qops.probes.base import Command, Probe
from qops.probes.process_script import DETAILS, STATES


def recognise(text: Text) -> bool:
    """Return whether `text` holds states, tables or stacks of processes."""
    return any(
        line.startswith(("== pid ", "== gpu process"))
        or ("State:" in line and process_blocks.STATE.match(line))
        or process_tables.is_header(line)
        for line in text.lines
    ) or bool(stacks.stacks(text) or process_blocks.blocks(text))


def parse(texts: Sequence[Text]) -> Processes | None:
    """Return every process at every moment seen; None when the texts hold nothing of the kind.

    A host that was asked and has no GPU process gives an empty `Processes`.
    """
    found: list[Process] = []
    asked = any(line.startswith("== gpu processes") for text in texts for line in text.lines)
    known = process_blocks.details(texts)
    for text in texts:
        found += _with_stacks(text, [*process_blocks.blocks(text, known), *_outside_blocks(text)])
    if not found and not asked:
        return None
    return Processes(tuple(sorted(found, key=lambda p: -1.0 if p.at is None else p.at)))


def _outside_blocks(text: Text) -> tuple[Process, ...]:
    # In a block of /proc answers, a table lists the children of that block's process.
    if any(line.startswith("== pid ") for line in text.lines):
        return ()
    return process_tables.processes(text)


def _with_stacks(text: Text, samples: list[Process]) -> list[Process]:
    for stack in stacks.stacks(text):
        same = [i for i, p in enumerate(samples) if p.pid == stack.pid and not p.stack]
        if same:
            samples[same[0]] = replace(samples[same[0]], stack=stack.frames)
        else:
            samples.append(
                Process(pid=stack.pid, quote=stack.quote, command=stack.command, stack=stack.frames, at=text.at)
            )
    return samples


PROBE = Probe(
    name="processes",
    makes=Processes,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", STATES),
            "state, CPU time, bytes read and children of each GPU process; three times, to see whether it moves",
            timeout=8.0,
            root=True,
            samples=(0.0, 5.0, 10.0),
            live_only=True,
            name="gpu processes",
        ),
        Command(
            ("sh", "-c", DETAILS),
            "the command line of each GPU process, and the libcuda, NCCL and NVML that it has loaded",
            root=True,
            name="gpu process details",
        ),
    ),
)
