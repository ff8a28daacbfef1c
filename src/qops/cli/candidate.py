"""The work of `qops diagnose cuda --image` and `--rootfs`: an image is judged for a GPU before it is started."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from qops import job, probes
from qops.cli import options
from qops.cli.looking import look
from qops.cli.progress import Line
from qops.contents import image as contents
from qops.data.boards import KINDS, kind
from qops.data.compute_capability import capability
from qops.derive.candidate import capabilities
from qops.derive.hardware_class import HardwareClass, hardware_class
from qops.engine import judge, observe
from qops.errors import UsageError
from qops.evidence.gpu import DriverModule, Gpu, Gpus
from qops.evidence.image import Candidate
from qops.evidence.kernel import System
from qops.evidence.text import Gaps, Quote
from qops.job import Judged
from qops.recipes import load
from qops.recording import recorded
from qops.rules.listing import Listed

_KINDS = (Gpus, DriverModule, System)
Seen = dict[type, Any]


def judged(
    image: str, rootfs: str, rules: Sequence[Listed], *, paths: Sequence[str], gpu: str, driver: str, quiet: bool
) -> tuple[Judged, ...]:
    """Judge an image for the GPUs that `gpu` names, for those of recorded hosts, or else for those of this host."""
    # What was asked wrongly is said before minutes are spent on the image.
    hosts = _given(gpu, driver) if gpu else _recorded(paths, driver) if paths else _here(driver, quiet=quiet)
    with Line("image", quiet=quiet) as line:
        told = _progress(line)
        candidate = contents.named(image, told) if image else contents.rooted(rootfs, told)
    reports = []
    for seen in hosts:
        found = {**seen, Candidate: replace(candidate, others=_others(seen.get(Gpus)))}
        report = judge(candidate.name, "", found, [rule for rule in rules if about(rule)])
        reports.append(job.judged(report, found))
    return tuple(reports)


def about(rule: Listed) -> bool:
    """Return whether a rule is about an image that somebody names, not about a host."""
    return Candidate.__name__ in rule.needs


def _given(gpu: str, driver: str) -> list[Seen]:
    known = capability(gpu)
    if known is None:
        hint = "give a target such as sm_120, a compute capability such as 12.0, or a name such as 'RTX 5090'"
        raise UsageError(f"no GPU is known as {gpu!r}", hint)
    number = f"{known[0]}.{known[1]}"
    # People leave out what nvidia-smi puts before the number.
    name = next((said for said in (gpu, f"NVIDIA {gpu}", f"NVIDIA GeForce {gpu}") if kind(said)), gpu)
    quote = Quote("--gpu", 0, gpu)
    gpus = Gpus((Gpu(0, quote, name=name, compute_capability=number),), driver=driver, quote=quote)
    return [{Gpus: gpus, Gaps: Gaps()}]


def _recorded(paths: Sequence[str], driver: str) -> list[Seen]:
    known = [probe for probe in probes.ALL if probe.makes in _KINDS]
    return [_with(observe(one.texts, (), known), driver) for one in recorded(paths)]


def _here(driver: str, *, quiet: bool) -> list[Seen]:
    known = [probe.once() for probe in probes.ALL if probe.makes in _KINDS]
    found = look(known, what="looking at this host", seconds=options.SECONDS, quiet=quiet)
    return [_with(observe(found.texts, found.gaps, known), driver)]


def _with(seen: Seen, driver: str) -> Seen:
    """Put the driver of --driver in place of the one that was seen."""
    if driver:
        seen[DriverModule] = DriverModule(driver, None, Quote("--driver", 0, driver))
    return seen


def _others(gpus: Gpus | None) -> tuple[str, ...]:
    """Return the images of the recipes that are made for GPUs of this class, or of this compute capability."""
    classes = {hardware_class(gpus, None).value}
    wanted = capabilities(gpus) if gpus else ()
    classes |= {HardwareClass(one.hardware_class) for one in KINDS if capability(one.title) in wanted}
    names = (one.image.name for one in load(()).values() if one.hardware.hardware_class in classes)
    return tuple(dict.fromkeys(names))


def _progress(line: Line) -> contents.Told:
    def told(done: int, size: int) -> None:
        if line.due():
            whole = f" of about {size / 1e9:.1f}" if size else ""
            line.note(f"looking into the image: {done / 1e9:.1f}{whole} GB" if done > 1e6 else "looking into the image")

    return told
