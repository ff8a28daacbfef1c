"""The work of `qops recipes list`, `show`, and `check NAME`."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from qops.cli import options
from qops.data import engines
from qops.derive import nccl_environment as nccl
from qops.derive.nccl_environment import Choice, Machine, Probed
from qops.errors import HEALTHY
from qops.evidence.gpu import Pair, Topology
from qops.evidence.gpu import Path as Way
from qops.evidence.text import Quote
from qops.flags import Kind, Remark, Severity
from qops.recipes import Recipe, checking, load, one
from qops.render import recipes as rendered
from qops.render import screen


def listed(folders: Sequence[str], engine: str | None, class_: str | None, here: bool, form: str, quiet: bool) -> int:
    """Write the recipes that are asked for; with `here`, those that this host runs. Return the exit status."""
    found = [
        recipe
        for recipe in load(map(Path, folders)).values()
        if engine in (None, recipe.engine.name) and class_ in (None, recipe.hardware.hardware_class)
    ]
    refused = _refused(found, quiet=quiet) if here else {}
    if form == "json":
        sys.stdout.write(rendered.document(found, refused if here else None))
        return HEALTHY
    shown = [recipe for recipe in found if not refused.get(recipe.name)]
    screen.write(list(rendered.table(shown, {})))
    if here and len(shown) < len(found):
        left = [recipe for recipe in found if refused.get(recipe.name)]
        screen.write([[], [(f"{len(left)} do not run here:", "bold")], *rendered.table(left, refused)])
    return HEALTHY


def shown(name: str, folders: Sequence[str], form: str) -> int:
    """Write all of one recipe; return the exit status."""
    recipe = one(load(map(Path, folders)), name)
    if form == "json":
        sys.stdout.write(rendered.document([recipe]))
    else:
        screen.write(list(rendered.text(recipe, _reviews(recipe), _checks(recipe))))
    return HEALTHY


def remarks(recipe: Recipe, version: str) -> list[Remark]:
    """Return what the checker says of a recipe: for `version`, or the oldest, a middle and the newest of its range."""
    found = []
    for release in [version] if version else sample(recipe):
        source = f"{recipe.name}, {recipe.engine.name} {release}"
        found += [msgspec.structs.replace(x, source=source, line=0) for x in checking.remarks(recipe, release)]
    if not version and not checking.covered(recipe):
        first = engines.load(recipe.engine.name).versions[0]
        text = f"no release of its range was read, so nothing is checked; {first} is the first that was"
        found.append(Remark(Kind.VERSION, Severity.INFO, str(recipe.engine.versions), text, source=recipe.name))
    return found


def sample(recipe: Recipe) -> list[str]:
    """Return the oldest, a middle and the newest release of a recipe's range that were read."""
    known = checking.covered(recipe)
    return list(dict.fromkeys((known[0], known[len(known) // 2], known[-1]))) if known else []


def _checks(recipe: Recipe) -> list[str]:
    if not (known := checking.covered(recipe)):
        return ["no release that was read"]
    wrong: dict[str, list[str]] = {}
    for release in known:
        for remark in checking.remarks(recipe, release):
            if remark.severity is not Severity.INFO:
                wrong.setdefault(f"{remark.flag}: {remark.message}", []).append(release)
    if wrong:
        return [f"{', '.join(releases)}: {text}" for text, releases in wrong.items()]
    return [f"all {len(known)} releases that were read, {known[0]} to {known[-1]}"]


def _reviews(recipe: Recipe) -> dict[str, list[str]]:
    """Judge what the source tells NCCL, on a machine whose GPUs are as far apart as the source's."""
    if not recipe.by_hand or not recipe.hardware.paths:
        return {}
    found: dict[str, list[str]] = {}
    for probed, title in (
        (Probed.NEVER, "what the source sets by hand, where nobody probed peer-to-peer"),
        (Probed.PASSED, "the same, where a probe of peer-to-peer passed"),
    ):
        machine = Machine(recipe.hardware.gpus, _topology(recipe), probed=probed)
        made = nccl.environment(machine)
        of_nccl = {name: value for name, value in recipe.by_hand.items() if name.startswith("NCCL_")}
        lines = [_said(recipe, choice) for choice in nccl.review(of_nccl, made, machine)]
        if lines not in found.values():
            found[title] = lines
    return found


def _topology(recipe: Recipe) -> Topology:
    quote = Quote(recipe.place, 0, f"paths: {recipe.hardware.paths}")
    numbers = range(recipe.hardware.gpus)
    way = Way(recipe.hardware.paths)
    return Topology(tuple(Pair(f"GPU{a}", f"GPU{b}", way, quote) for a in numbers for b in numbers if a < b))


def _said(recipe: Recipe, choice: Choice) -> str:
    verdict = "left out" if choice.value is None else f"{choice.name}={choice.value}"
    return f"{choice.name}={recipe.by_hand[choice.name]} → {verdict}: {choice.because}"


def _refused(recipes: Iterable[Recipe], *, quiet: bool) -> Mapping[str, tuple[str, ...]]:
    """Look at this host, and return why it does not run each recipe."""
    from qops import probes
    from qops.cli.looking import look
    from qops.derive.hardware_class import hardware_class
    from qops.derive.service_fit import chosen, fit
    from qops.engine import observe
    from qops.evidence.gpu import DriverModule, Gpus
    from qops.evidence.image import Images
    from qops.evidence.kernel import Memory
    from qops.evidence.pcie import PcieTree

    kinds = (Gpus, PcieTree, Memory, DriverModule, Images)
    known = [probe.once() for probe in probes.ALL if probe.makes in kinds]
    found = look(known, what="looking at this host", seconds=options.SECONDS, quiet=quiet)
    seen = observe(found.texts, found.gaps, known)
    hardware = hardware_class(seen.get(Gpus), seen.get(PcieTree))
    told: dict[str, tuple[str, ...]] = {}
    for recipe in recipes:
        gpus, memory, driver = seen.get(Gpus), seen.get(Memory), seen.get(DriverModule)
        made = fit(recipe, hardware, gpus, chosen(recipe, ()), memory, driver, seen.get(Images))
        told[recipe.name] = (*made.refused, *made.unseen)
    return told
