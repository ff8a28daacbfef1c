"""The GPUs of the host, from every form in which nvidia-smi describes them."""

import re
from collections.abc import Sequence

from qops.errors import ParseError
from qops.evidence.gpu import Gpus
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.candidates import lines_with
from qops.probes.nvidia_smi import bare_rows, query_csv, query_text, query_xml, table
from qops.probes.nvidia_smi.fields import ANYWHERE, REASON_KEYS, SECTIONS, VERSIONS
from qops.probes.nvidia_smi.reading import Answer, merge

# Lines of `-q` that stand alone: one of its headings, or one of its unmistakable keys with a value.
_COMMON = ("pci", "clocks", "fabric", "utilization", "temperature", "volatile")  # other programs say them too
_HEADINGS = sorted(SECTIONS - set(_COMMON))
_LONE = lazy(
    r"\b(?:"
    + "|".join(re.escape(heading).replace("_", "[ _]+") for heading in _HEADINGS)
    + r")\b|\b(?:"
    + "|".join(re.escape(key).replace("_", "[ _]+") for key in sorted({*ANYWHERE, *VERSIONS, *REASON_KEYS}))
    + r") *[:=]|^\W*(?:"
    + "|".join(_COMMON)
    + r")\W*$|\b(?:fabric|utilization) */",
    re.IGNORECASE,
)
_CLUES = (query_text.CLUE, table.CLUE, query_csv.CLUE, lazy(r"<nvidia_smi_log>|<gpu id="), _LONE)
# What each line that a clue accepts holds: only these lines are looked at.
_KEYS = (*_COMMON, *_HEADINGS, *ANYWHERE, *VERSIONS, *REASON_KEYS)
_LITERALS = (
    *("nvsmi log", "attached gpus", "gpu 0", "nvidia-smi", "(uuid: gpu-", "processes:", "no running processes", "|"),
    *("<nvidia_smi_log>", "<gpu id="),
    *query_csv.LITERALS,
    *(key.replace("_", " ") for key in _KEYS),
    *_KEYS,
)


def answers(text: Text) -> tuple[list[Answer], list[ParseError]]:
    """Return what each form of answer in `text` says, the most detailed first, and what could not be read."""
    from_xml, errors = query_xml.parse(text)
    plain = [] if from_xml else query_text.parse(text)
    found = [*from_xml, *plain, query_csv.parse(text), *table.parse(text), table.listing(text)]
    return [answer for answer in found if answer.telling], errors


def parse(texts: Sequence[Text]) -> Gpus | None:
    """Return every GPU that any text describes, each once.

    Raises ParseError when an XML log cannot be read and no text says anything.
    """
    host = Answer()
    bare = False
    errors: list[ParseError] = []
    for text in texts:
        found, wrong = answers(text)
        errors += wrong
        for answer in found:
            host.absorb(answer)
    if not host.telling:
        for text in texts:
            host.absorb(bare_rows.parse(text))
        bare = host.telling
    if not host.telling:
        if errors:
            raise errors[0]
        return None
    readings = merge(host.readings)
    return Gpus(
        gpus=tuple(reading.gpu() for reading in readings),
        driver=host.driver,
        cuda=host.cuda,
        attached=host.attached,
        processes=None if host.processes is None else tuple(host.processes),
        quote=host.quote or (readings[0].quote if readings else None),
        bare=bare,
    )


def recognise(text: Text) -> bool:
    """Whether any line looks like an answer of nvidia-smi."""
    known = any(clue.search(line) for line in lines_with(text, _LITERALS) for clue in _CLUES)
    return known or bare_rows.recognise(text)


PROBE = Probe(
    name="gpus",
    makes=Gpus,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(("nvidia-smi", "-q", "-x"), "GPUs, links, power, clocks, errors, fabric state and processes"),
        Command(
            ("nvidia-smi", "--query-gpu=index,pci.bus_id,uuid,name,driver_version,compute_cap", "--format=csv"),
            "the compute capability of each GPU, which -q does not print",
        ),
    ),
    literals=("Attached GPUs",),
)
