"""Planned services as text and as JSON: what would serve on each host, and why."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from qops.derive.nccl_environment import Choice
from qops.plans.service import Service
from qops.render.artefacts import ARTEFACTS, environment, unit
from qops.render.screen import Line

LEGEND = "= would be set   - left out   ! why it does not run here   ? not seen"
_GIB = 1 << 30


def text(hosts: Mapping[str, Service], errors: Mapping[str, str]) -> Iterator[Line]:
    """Yield lines for each host: why it cannot, or its unit and environment; and each decision with its evidence."""
    for host, service in hosts.items():
        hardware = service.hardware
        yield [(host, "bold"), (f": {hardware.value} ({hardware.because})", "")]
        yield [(f"  {service.recipe.name}", "bold"), (f": {service.recipe.about}", "")]
        gpus = f"{'GPU' if len(service.gpus) == 1 else 'GPUs'} {', '.join(map(str, service.gpus))}"
        yield [("    ", ""), (f"{service.image} on {gpus}, open on {service.listen} port {service.port}", "")]
        yield from ([("    ! ", "red"), (reason, "")] for reason in service.refused)
        yield from ([("    ? ", "magenta"), (reason, "")] for reason in service.unseen)
        for choice in _decisions(service):
            sign, style = ("-", "dim") if choice.value is None else ("=", "green")
            yield [(f"    {sign} ", style), (_said(choice), "")]
            yield from ([("        ", ""), (str(quote), "dim")] for quote in choice.quotes)
        if service.reviewed:
            yield [("    what the source sets by hand:", "")]
        for choice in service.reviewed:
            by_hand = f"{choice.name}={service.recipe.by_hand.get(choice.name, '')}"
            verdict = "left out" if choice.value is None else f"{choice.name}={choice.value}"
            yield [("      ", ""), (f"{by_hand} → {verdict}: {choice.because}", "")]
        yield from ([("    ", ""), (f"note: {note}", "")] for note in service.notes)
        if not service.refused:
            for path, content in ((service.environment_file, environment(service)), (service.unit, unit(service))):
                yield []
                yield [(f"--- {path}", "bold")]
                yield from ([(line, "")] for line in content.splitlines())
        yield []
    for host, error in errors.items():
        yield [(host, "bold"), (f": {error}", "red")]
    if hosts:
        yield [(LEGEND, "dim")]


def document(hosts: Mapping[str, Service], errors: Mapping[str, str]) -> str:
    """Return the same as one JSON document, with every artefact."""
    made = [{"host": host, **_service(service)} for host, service in hosts.items()]
    unreached = [{"host": host, "error": error} for host, error in errors.items()]
    return json.dumps({"schema": 1, "hosts": made, "unreachable": unreached}, indent=2) + "\n"


def _decisions(service: Service) -> Iterator[Choice]:
    yield from service.choices
    yield Choice("--shm-size", f"{service.shared_memory.value // _GIB}g", service.shared_memory.because)
    yield from (Choice(f"--ulimit {one.name}", one.value, one.because) for one in service.limits)
    yield Choice("docker stop -t", str(service.stop.value), service.stop.because)


def _said(choice: Choice) -> str:
    if choice.value is None:
        return f"{choice.name} left out: {choice.because}"
    between = "" if not choice.value else " " if choice.name.startswith(("-", "docker")) else "="
    return f"{choice.name}{between}{choice.value}: {choice.because}"


def _service(service: Service) -> dict[str, Any]:
    return {
        "hardware_class": str(service.hardware.value),
        "because": service.hardware.because,
        "recipe": service.recipe.name,
        "engine": service.recipe.engine.name,
        "version": service.version,
        "image": service.image,
        "gpus": list(service.gpus),
        "refused": list(service.refused),
        "unseen": list(service.unseen),
        "settings": [_choice(one) for one in _decisions(service)],
        "reviewed": [{"by_hand": service.recipe.by_hand.get(one.name, ""), **_choice(one)} for one in service.reviewed],
        "notes": list(service.notes),
        "paths": {"unit": service.unit, "env": service.environment_file},
        "artefacts": {} if service.refused else {name: make(service) for name, make in ARTEFACTS.items()},
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "value": choice.value,
        "because": choice.because,
        "evidence": [{"source": q.source, "line": q.line, "text": q.text} for q in choice.quotes],
    }
