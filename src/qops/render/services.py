"""Planned services as text and as JSON: what would serve on each host, and why."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from qops.derive import service_unit
from qops.derive.nccl_environment import Choice
from qops.plans.service import ServicePlan
from qops.render.artefacts import ARTEFACTS, environment, unit
from qops.render.screen import Line

LEGEND = "= would be set   - left out   ! why it does not run here   ? not seen"


def text(hosts: Mapping[str, ServicePlan], errors: Mapping[str, str]) -> Iterator[Line]:
    """Yield lines for each host: why it cannot, or its unit and environment; and each decision with its evidence."""
    for host, plan in hosts.items():
        hardware, service = plan.hardware, plan.service
        yield [(host, "bold"), (f": {hardware.value} ({hardware.because})", "")]
        yield [(f"  {plan.recipe.name}", "bold"), (f": {plan.recipe.about}", "")]
        gpus = f"{'GPU' if len(service.gpus) == 1 else 'GPUs'} {', '.join(map(str, service.gpus))}"
        yield [("    ", ""), (f"{service.image} on {gpus}, open on {service.address} port {service.port}", "")]
        yield from ([("    ! ", "red"), (reason, "")] for reason in plan.refused)
        yield from ([("    ? ", "magenta"), (reason, "")] for reason in plan.unseen)
        for choice in plan.choices:
            sign, style = ("-", "dim") if choice.value is None else ("=", "green")
            yield [(f"    {sign} ", style), (_said(choice), "")]
            yield from ([("        ", ""), (str(quote), "dim")] for quote in choice.quotes)
        if plan.reviewed:
            yield [("    what the source sets by hand:", "")]
        for choice in plan.reviewed:
            by_hand = f"{choice.name}={plan.recipe.by_hand.get(choice.name, '')}"
            verdict = "left out" if choice.value is None else f"{choice.name}={choice.value}"
            yield [("      ", ""), (f"{by_hand} → {verdict}: {choice.because}", "")]
        yield from ([("    ", ""), (f"note: {note}", "")] for note in plan.notes)
        if not plan.refused:
            paths = _paths(service.name)
            for path, content in ((paths["env"], environment(plan)), (paths["unit"], unit(plan))):
                yield []
                yield [(f"--- {path}", "bold")]
                yield from ([(line, "")] for line in content.splitlines())
        yield []
    for host, error in errors.items():
        yield [(host, "bold"), (f": {error}", "red")]
    if hosts:
        yield [(LEGEND, "dim")]


def document(hosts: Mapping[str, ServicePlan], errors: Mapping[str, str]) -> str:
    """Return the same as one JSON document, with every artefact."""
    made = [{"host": host, **_plan(plan)} for host, plan in hosts.items()]
    unreached = [{"host": host, "error": error} for host, error in errors.items()]
    return json.dumps({"schema": 1, "hosts": made, "unreachable": unreached}, indent=2) + "\n"


def _said(choice: Choice) -> str:
    if choice.value is None:
        return f"{choice.name} left out: {choice.because}"
    between = "" if not choice.value else " " if choice.name.startswith(("-", "docker", "podman")) else "="
    return f"{choice.name}{between}{choice.value}: {choice.because}"


def _plan(plan: ServicePlan) -> dict[str, Any]:
    return {
        "hardware_class": str(plan.hardware.value),
        "because": plan.hardware.because,
        "recipe": plan.recipe.name,
        "engine": plan.service.engine,
        "version": plan.version,
        "image": plan.service.image,
        "gpus": list(plan.service.gpus),
        "refused": list(plan.refused),
        "unseen": list(plan.unseen),
        "settings": [_choice(one) for one in plan.choices],
        "reviewed": [{"by_hand": plan.recipe.by_hand.get(one.name, ""), **_choice(one)} for one in plan.reviewed],
        "notes": list(plan.notes),
        "paths": _paths(plan.service.name),
        "artefacts": {} if plan.refused else {name: make(plan) for name, make in ARTEFACTS.items()},
    }


def _paths(name: str) -> dict[str, str]:
    return {"unit": service_unit.unit_path(name), "env": service_unit.environment_path(name)}


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "value": choice.value,
        "because": choice.because,
        "evidence": [{"source": q.source, "line": q.line, "text": q.text} for q in choice.quotes],
    }
