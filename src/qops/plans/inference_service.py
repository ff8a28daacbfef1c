"""The plan of the role inference_service: units of the services, when they start, and what waits for a restart."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from qops.derive import service_unit
from qops.derive.container_engine import losing
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.service import Service, conflicts
from qops.derive.service_gpus import gpus_by
from qops.derive.setting import Setting, State, setting
from qops.evidence.cdi import Cdi
from qops.evidence.container import Containers
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.firewall import Listeners
from qops.evidence.inference import InferenceService, InferenceServices
from qops.evidence.services import Services
from qops.plans import service as planned
from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.plans.inference_service_options import DEFAULTS, number, on, services

_ABSENT = InferenceService("", None)  # type: ignore[arg-type]
WANTS = "/etc/systemd/system/multi-user.target.wants"
TIMERS = "/etc/systemd/system/timers.target.wants"


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    chosen = services(options, seen, hardware)
    wanted = chosen.services
    found: InferenceServices | None = seen.get(InferenceServices)
    wait, restart = number(options, "wait", "seconds"), on(options, "restart")
    # What was not seen changes no unit: each change is a restart.
    limits = seen.get(Services)
    if found is None or limits is None or limits.raises_limits is None:
        what = "the units were" if found is None else "whether the host lifts limits was"
        unseen = Setting("services", "", "", "", State.UNSEEN, f"{what} not seen")
        return Plan((unseen,) if wanted else (), facts=_facts((), wait, InferenceServices({}), restart))
    engine, cdi = seen.get(ContainerEngine), seen.get(Cdi)
    refused = [*chosen.refused, *conflicts(wanted)]
    placed = []
    for one in wanted:
        by, why = gpus_by(one, engine, cdi)
        refused += [f"service {one.name}: {why}"] if why else []
        placed.append(replace(one, gpus_by=by))
    refused += _ports(placed, found, seen.get(Listeners))
    threatened = losing(seen.get(Containers), engine)
    states = [_state(one, found.services.get(one.name, _ABSENT), restart, bool(threatened)) for one in placed]
    notes = [*chosen.notes, *(state.note for state in states if state.note), *_leftover(placed, found)]
    if any(not one.raises_limits for one in placed):
        notes.append("this host may not lift limits (a container): the units leave LimitMEMLOCK and LimitNOFILE out")
    settings = tuple(s for state in states for s in state.settings)
    intent = {"inference_service": " ".join(one.name for one in wanted)}
    return Plan(settings, tuple(refused), notes=tuple(notes), facts=_facts(states, wait, found, restart), intent=intent)


class _State:
    """How one service is, and what is to be done: `write`, `start`, `restart`, `reload`."""

    def __init__(self, service: Service, now: InferenceService) -> None:
        self.service, self.now = service, now
        self.write = True
        self.start = self.restart = self.reload = False
        self.note = ""
        self.settings: list[Setting] = []


def _state(service: Service, now: InferenceService, restart: bool, threatened: bool) -> _State:
    state = _State(service, now)
    name = service.name
    files = {
        service_unit.unit_path(name): service_unit.unit(service),
        service_unit.environment_path(name): service_unit.environment(service),
    }
    other = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
    older = sorted(path for path, digest in other.items() if now.started.get(path) != digest)
    unit_differs = now.on_disk.get(service_unit.unit_path(name)) != other[service_unit.unit_path(name)]
    # A unit that systemd never read needs no reload.
    state.reload = now.loaded and (unit_differs or now.stale)
    key, because = f"service {name}", f"{service.model} on port {service.port}, {_where(service)}"
    waits = _changed(older, now)
    if state.reload and threatened:
        state.write, state.reload = False, False
        state.note = (
            f"service {name} stays as it is: its unit changes, which takes a reload of systemd, and containers with"
            " GPUs by --gpus would lose them; stop those first"
        )
    if now.held:
        state.note = f"service {name} is held: {now.held}"
        state.settings.append(Setting(key, "", "running", "held", State.LEFT, because))
    elif not now.up:
        state.start = state.write
        told = f"failed (status {now.status})" if now.active == "failed" else "stopped" if now.loaded else "not there"
        state.settings.append(setting(key, "running", told, because))
    elif waits and restart and state.write:
        state.restart = True
        state.settings.append(setting(key, "running as the inventory says", f"running with other {waits}", because))
    elif waits:
        # What is not in force stays off the disk too: an engine that ends by itself comes back as it was.
        state.write = state.reload = False
        state.note = state.note or (
            f"service {name} runs with other {waits} than the inventory says, and is not restarted: set"
            " inference_service_restart: true when its requests may end"
        )
        state.settings.append(Setting(key, "", "running", "running", State.LEFT, because))
    else:
        state.settings.append(setting(key, "running", "running", because))
    if not now.watched and not now.held:
        state.settings.append(setting(f"{key} watch", "on", "off", "a hung engine still answers /health"))
    return state


def _changed(paths: Sequence[str], now: InferenceService) -> str:
    """Return what differs from what the service was started with, in words; "" for nothing."""
    kinds = ["unit" if path.endswith(".service") else "environment" for path in paths]
    moved = [one if one.startswith("image ") else f"template {one}" for one in now.moved]
    return " and ".join([*sorted(kinds, reverse=True), *moved, *(["secrets"] if now.secret_changed else [])])


def _where(service: Service) -> str:
    gpus = "all GPUs" if service.all_gpus and service.gpus else f"GPUs {', '.join(map(str, service.gpus))}"
    return f"{service.runtime}, {gpus if service.gpus else 'no GPU'}"


def _ports(wanted: Sequence[Service], found: InferenceServices, listeners: Listeners | None) -> list[str]:
    """Return which ports are taken by others. The port of a service that is up is taken to be its own."""
    taken = {one.port: one.process for one in listeners.listeners if one.protocol == "tcp"} if listeners else {}
    return [
        f"service {one.name}: port {one.port} is taken by {taken[one.port] or 'another program'}: stop that, or give"
        " the service another `port`"
        for one in wanted
        if one.port in taken and not found.services.get(one.name, _ABSENT).up
    ]


def _leftover(wanted: Sequence[Service], found: InferenceServices) -> list[str]:
    names = {one.name for one in wanted}
    return [
        f"service {name} is on the host{' and runs' if one.up else ''}, and not in the inventory; it stays. To remove"
        f" it: systemctl stop {service_unit.unit_name(name)} qops-serve-watch@{name}.timer; rm {service_unit.FOLDER}/"
        f"{name}.* {service_unit.unit_path(name)} {WANTS}/{service_unit.unit_name(name)}"
        f" {TIMERS}/qops-serve-watch@{name}.timer"
        for name, one in found.services.items()
        if name not in names
    ]


def _facts(states: Sequence[_State], wait: int, found: InferenceServices, restart: bool) -> dict[str, Any]:
    files: list[dict[str, str]] = []
    for state in states:
        service, name = state.service, state.service.name
        unit = service_unit.unit_name(name)
        if state.write:
            files += [
                {"dest": service_unit.unit_path(name), "content": service_unit.unit(service)},
                {"dest": service_unit.environment_path(name), "content": service_unit.environment(service)},
                {"dest": service_unit.description_path(name), "content": service_unit.description(service)},
                # Links, not `enabled`: systemctl would reload systemd.
                {"dest": f"{WANTS}/{unit}", "state": "link", "src": f"../{unit}"},
                {
                    "dest": f"{TIMERS}/qops-serve-watch@{name}.timer",
                    "state": "link",
                    "src": "../qops-serve-watch@.timer",
                },
            ]
    return {
        "files": files,
        "any": bool(states or found.services),  # else a host gets none of the role's programs
        "secrets": [s.service.name for s in states if s.service.secrets],
        "start": [s.service.name for s in states if s.start],
        "restart": [s.service.name for s in states if s.restart],
        # What runs is kept before: also where only its secrets may change, which is known when they are written.
        "change": [s.service.name for s in states if s.restart or (s.now.up and restart and s.service.secrets)],
        "there": sorted(found.services),
        "up": [s.service.name for s in states if s.now.up],
        "reload": any(s.reload and not s.restart for s in states),  # a change does it between stop and start
        "watch": [s.service.name for s in states if not s.now.watched and not s.now.held and s.write],
        "held": [s.service.name for s in states if s.now.held],
        "wait": wait,
    }


PLAN = RolePlan(
    role="inference_service",
    kinds=(InferenceServices, ContainerEngine, Containers, Cdi, Listeners, Services, *planned.KINDS),
    defaults=DEFAULTS,
    make=make,
    needs_class=False,
    also={"model_store_root": planned.ROOT},
)
