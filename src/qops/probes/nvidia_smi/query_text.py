"""`nvidia-smi -q`: indented keys and values, whole or as the few lines of it that people paste."""

import re
from collections.abc import Iterator

from qops.evidence.gpu import GpuProcess
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.nvidia_smi.fields import SECTIONS, key_of, of_gpu, of_host
from qops.probes.nvidia_smi.quantity import bus, size, whole, word
from qops.probes.nvidia_smi.reading import UNKNOWN, Answer, Reading
from qops.probes.prefix import strip

_GPU = lazy(r" {0,8}GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*", re.ASCII)
_PAIR = lazy(r"( *)(\S[^:=|{}<>\"]{0,58}?) *[:=] (.{1,300})", re.ASCII)
_HEADING = lazy(r"( *)([A-Z][\w. /]{1,50}?) *:? *", re.ASCII)
_LOG = lazy(r"=+NVSMI LOG=+")
CLUE = lazy(r"NVSMI LOG|Attached GPUs|^\W*GPU 0[0-9A-Fa-f]{3,7}:[0-9A-Fa-f]{2}:", re.ASCII)


def parse(text: Text) -> list[Answer]:
    """Return what each log in `text` says, and one answer for the lines that stand outside of any."""
    return [answer for answer in _answers(text) if answer.telling]


def _answers(text: Text) -> Iterator[Answer]:
    answer = Answer()
    reading: Reading | None = None
    named = False
    stack: list[tuple[int, str]] = []
    process: dict[str, str] = {}
    for index, raw in enumerate(text.lines):
        line = strip(raw.expandtabs(4)).rstrip()
        if _LOG.search(line):
            yield _finish(answer, reading)
            answer, reading, named, stack = Answer(), None, False, []
            continue
        heading = _GPU.fullmatch(line)
        if heading:
            _keep(answer, reading)
            reading, named, stack, process = Reading(text.quote(index)), True, [], {}
            reading.say("bus_id", bus(heading[1]))
            continue
        pair = _PAIR.fullmatch(line)
        if pair:
            indent, key, value = len(pair[1]), key_of(pair[2]), pair[3]
            while stack and stack[-1][0] >= indent:
                stack.pop()
            # CUDA_VERSION with an underscore is an image's variable, not what the driver supports.
            if "_" not in pair[2] and of_host(answer, key, value):
                answer.quote = answer.quote or text.quote(index)
                continue
            *above, key = (key_of(part) for part in pair[2].split("/"))  # people write "Fabric / State : …"
            sections = (*(name for _, name in stack), *above)
            if key in ("process_id", "processes", "name", "used_gpu_memory") and named:
                _process(answer, reading, process, key, value, text, index)
            if key == "product_name" and not named and "NVIDIA" not in value:
                continue  # dmidecode prints a product name too
            target = reading or Reading(text.quote(index))
            target.here = (text, index)
            if of_gpu(target, sections, key, value) and target.telling:
                reading = target
        elif line.strip():
            title = _HEADING.fullmatch(line)
            if title is None:
                stack = []
                if not line.startswith(" "):  # another kind of text begins
                    _keep(answer, reading)
                    reading, named = None, False
                continue
            indent = len(title[1])
            while stack and stack[-1][0] >= indent:
                stack.pop()
            if named or key_of(title[2]) in SECTIONS:
                stack.append((indent, key_of(title[2])))
    yield _finish(answer, reading)


def _process(
    answer: Answer, reading: Reading | None, process: dict[str, str], key: str, value: str, text: Text, index: int
) -> None:
    answer.processes = answer.processes or []
    if key == "process_id":
        process.clear()
        process["pid"] = value
    elif key != "processes":
        process[key] = value
    pid = whole(process.get("pid", ""))
    if key == "used_gpu_memory" and pid is not None:
        gpu = str(reading.values.get("bus_id", "")) if reading else ""
        name = word(process.get("name", "")) or ""
        answer.process(GpuProcess(pid, gpu, name, size(value), text.quote(index)))


def _keep(answer: Answer, reading: Reading | None) -> None:
    if reading is not None and reading.telling:
        answer.readings.append(reading)


def _finish(answer: Answer, reading: Reading | None) -> Answer:
    """Return the answer with its last reading, its GPUs numbered: a log lists them in the order of their indexes."""
    _keep(answer, reading)
    sections = [r for r in answer.readings if "bus_id" in r.values]
    # One GPU where several are attached may be any of them (`-i 3`); its device minor is not its index.
    known = len(sections) > 1 or answer.attached in (None, 1)
    for place, one in enumerate(sections):
        one.index = place if known else UNKNOWN
    return answer
