"""`nvidia-smi -q -x`, also when it is cut off: what was complete before the end is kept."""

from typing import NoReturn

from qops.errors import ParseError
from qops.evidence.gpu import GpuProcess
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.nvidia_smi.fields import of_gpu, of_host
from qops.probes.nvidia_smi.quantity import bus, size, whole
from qops.probes.nvidia_smi.reading import Answer, Reading

_START = lazy(r"<!DOCTYPE nvidia_smi_log|<nvidia_smi_log>|<gpu id=")
_END = "</nvidia_smi_log>"
_DEEPEST = 40  # elements; the real log has 6 levels


def parse(text: Text) -> tuple[list[Answer], list[ParseError]]:
    """Return what each XML log in `text` says, and why a log could not be read to its end."""
    answers: list[Answer] = []
    errors: list[ParseError] = []
    index = 0
    while index < len(text.lines):
        found = _START.search(text.lines[index])
        if not found:
            index += 1
            continue
        reader = _Reader(text, index)
        index, error = reader.read(found.start())
        if reader.answer.telling:
            answers.append(reader.answer)
        if error:
            errors.append(error)
    return answers, errors


class _RefusedError(ValueError):
    """The log declares entities."""


class _Reader:
    """Fills an `Answer` as the elements of a log end."""

    def __init__(self, text: Text, first: int) -> None:
        self.text = text
        self.first = first
        self.answer = Answer()
        self.reading: Reading | None = None
        self.path: list[str] = []
        self.value: list[str] = []
        self.process: dict[str, str] = {}
        # Imported here: most hosts and logs hold no XML.
        from xml.parsers import expat

        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.CharacterDataHandler = self.value.append
        self.parser.EndElementHandler = self.end
        # What an entity or another file stands for may grow without bound, and nvidia-smi writes none.
        self.parser.EntityDeclHandler = self.refuse
        self.parser.UnparsedEntityDeclHandler = self.refuse
        self.parser.ExternalEntityRefHandler = self.refuse

    def read(self, column: int) -> tuple[int, ParseError | None]:
        """Read from the first line on; return the index of the line after the log, and what went wrong."""
        from xml.parsers.expat import ExpatError

        lines = self.text.lines
        index = self.first
        line = lines[index][column:]
        try:
            if line.startswith("<gpu "):
                self.parser.Parse("<nvidia_smi_log>")
            while True:
                done = _END in line
                self.parser.Parse(line.partition(_END)[0] + (_END if done else "\n"))
                index += 1
                if done or index == len(lines):
                    break
                line = lines[index]
            self.parser.Parse("", True)
        except _RefusedError:
            return index + 1, self._error(index, "XML with entities or external references is not read")
        except (ExpatError, ValueError) as error:
            cut = index == len(lines)
            why = "the XML ends before the log does" if cut else f"not well-formed XML: {str(error)[:100]}"
            return index + 1, self._error(index, why)
        return index, None

    def _error(self, index: int, why: str) -> ParseError:
        return ParseError(self.text.source, self.text.number(min(index, len(self.text.lines) - 1)), why)

    def _line(self) -> int:
        line = self.first + self.parser.CurrentLineNumber - 1
        return min(max(line, self.first), len(self.text.lines) - 1)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.path.append(tag)
        if len(self.path) > _DEEPEST:
            raise ValueError("elements are nested too deeply")
        self.value.clear()
        if tag == "gpu" and self.path == ["nvidia_smi_log", "gpu"]:
            self.reading = Reading(self.text.quote(self._line()), index=len(self.answer.readings))
            self.reading.say("bus_id", bus(attributes.get("id", "")))
            self.answer.readings.append(self.reading)
        elif tag == "processes":
            self.answer.processes = self.answer.processes or []
        elif tag == "process_info":
            self.process = {}

    def refuse(self, *_: object) -> NoReturn:
        raise _RefusedError

    def end(self, tag: str) -> None:
        value = "".join(self.value).strip()
        self.value.clear()
        if tag == "process_info":
            self._process()
        elif "process_info" in self.path:
            self.process[tag] = value
        elif len(self.path) == 2:
            if of_host(self.answer, tag, value):
                self.answer.quote = self.answer.quote or self.text.quote(self._line())
        elif self.reading is not None and value and value != "N/A":
            self.reading.here = (self.text, self._line())
            of_gpu(self.reading, tuple(self.path[2:-1]), tag, value)
        self.path.pop()

    def _process(self) -> None:
        pid = whole(self.process.get("pid", ""))
        if pid is None or self.answer.processes is None or self.reading is None:
            return
        gpu = str(self.reading.index)
        name = self.process.get("process_name", "")
        memory = size(self.process.get("used_memory", ""))
        self.answer.process(GpuProcess(pid, gpu, name, memory, self.text.quote(self._line())))
