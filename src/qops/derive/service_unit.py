"""The files of an inference service: its unit, its environment, and the description that the watch reads."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from qops.derive.service import GIB, Mount, Service

FOLDER = "/etc/qops/serve"
UNITS = "/etc/systemd/system"
MARGIN = 30  # seconds after the container engine should have killed it, until systemd does
RESTART_AFTER = 10  # seconds: what the engine before held is free again
_IDLE = 60  # seconds that a change waits for a moment without requests, at least
INSIDE = "/run/qops-secret"  # where a container sees the secrets' file
_ENGINE_HOMES = "/var/lib/qops/engines"
# After these, where they are; whether the devices work is asked by ExecStartPre, since a unit's order does not tell.
# Never after nvidia-cdi-refresh.service: in container toolkit 1.19.0 that comes after multi-user.target, which wants
# the service, and systemd breaks the circle by not starting it at boot (NVIDIA/nvidia-container-toolkit#1735).
AFTER = ("network-online.target", "docker.service", "nvidia-persistenced.service", "nvidia-fabricmanager.service")
_TEMPLATE = re.compile(r"--chat-template(=|$)")
_PLAIN = re.compile(r"[\w@%+=:,./{}\[\]-]+", re.A)


def unit_name(name: str) -> str:
    """Return the name of a service's unit."""
    return f"qops-serve-{name}.service"


def unit_path(name: str) -> str:
    """Return the path of a service's unit."""
    return f"{UNITS}/{unit_name(name)}"


def environment_path(name: str) -> str:
    """Return the path of a service's environment."""
    return f"{FOLDER}/{name}.env"


def secret_path(name: str) -> str:
    """Return the path of a service's secrets."""
    return f"{FOLDER}/{name}.secret"


def description_path(name: str) -> str:
    """Return the path of the description that the programs on the host read."""
    return f"{FOLDER}/{name}.json"


def engine_home(name: str) -> str:
    """Return the folder on the host that is the engine's cache, and the home of a bare one."""
    return f"{_ENGINE_HOMES}/{name}"


def unit(service: Service, *, alone: bool = False) -> str:
    """Return the text of the unit. `alone`: for a host without the role's programs, so without fail-safe and watch."""
    name = service.name
    before, after = _alone(service) if alone else _by_programs(name)
    lines = [
        f"# Written by qops ({'alone, without the programs of the ' if alone else ''}role inference_service).",
        "[Unit]",
        f"Description=Inference service {name}: {service.model.replace('%', '%%')} on port {service.port}",
        f"After={' '.join(AFTER)}",
        "Wants=network-online.target",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
    ]
    if service.runtime == "venv":
        lines += [
            *([f"User={service.user}"] if service.user != "root" else []),
            f"StateDirectory=qops/engines/{name}",
            f"WorkingDirectory={engine_home(name)}",
            f"Environment=HOME={engine_home(name)}",
            f"EnvironmentFile={environment_path(name)}",
            *([f"EnvironmentFile={secret_path(name)}"] if service.secrets else []),
        ]
    else:
        lines.append(f"StateDirectory=qops/engines/{name}")
    lines += [
        *before,
        "ExecStart=" + " \\\n    ".join(" ".join(map(quoted, group)) for group in by_option(command(service))),
        *([] if service.runtime == "venv" else [f"ExecStop=-{_stop(service)}"]),
        *after,
        "# vLLM ends with 0 when its engine dies, and with 2 when it does not know an option.",
        "Restart=always",
        f"RestartSec={RESTART_AFTER}",
        "RestartPreventExitStatus=2",
        "# Loading takes as long as it takes; the check before it is bounded by itself.",
        "TimeoutStartSec=infinity",
        "# Both engines can ignore SIGTERM for ever: while they hang, and while a client stays.",
        f"TimeoutStopSec={service.stop if service.runtime == 'venv' else service.stop + MARGIN}",
        "# SIGTERM is for the engine's first process: its children would end at once, and all requests with them.",
        "KillMode=mixed",
        *(["LimitMEMLOCK=infinity", "LimitNOFILE=1048576"] if service.raises_limits else []),
        "TasksMax=infinity",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def _by_programs(name: str) -> tuple[list[str], list[str]]:
    """Return what the unit runs before and after its engine where the role's programs are."""
    program = "/usr/local/sbin/qops-serve-start"
    before = [f"ExecCondition=+{program} begin {name}", f"ExecStartPre=+{program} check {name}"]
    return before, [f"ExecStopPost=+{program} end {name}"]


def _alone(service: Service) -> tuple[list[str], list[str]]:
    """Return the same without the role's programs: a container's name is made free, and the GPUs have to answer."""
    remove = [] if service.runtime == "venv" else [f"-/usr/bin/{service.runtime} rm --force {_name(service)}"]
    gpus = ",".join(map(str, service.gpus))
    ask = f"/usr/bin/timeout 60 /usr/bin/nvidia-smi --id={gpus} --query-gpu=uuid --format=csv,noheader"
    before = [*remove, *([ask] if gpus else [])]
    return [f"ExecStartPre={one}" for one in before], [f"ExecStopPost={one}" for one in remove]


def command(service: Service) -> tuple[str, ...]:
    """Return the words that systemd runs."""
    if service.runtime == "venv":
        return service.words
    found = [f"/usr/bin/{service.runtime}", "run", "--rm", f"--name={_name(service)}", "--pull=never", "--init"]
    # systemd alone restarts: docker would not, after a stop by hand.
    found += ["--cgroups=split", "--replace"] if service.runtime == "podman" else ["--restart=no"]
    found += [f"--env-file={environment_path(service.name)}"]
    return (*found, *container(service))


def container(service: Service) -> tuple[str, ...]:
    """Return what follows the name and the environment in each `docker run`: devices, limits, image and command."""
    found: list[str] = []
    if service.gpus and service.gpus_by == "cdi":
        found += [f"--device={device}" for device in devices(service)]
    elif service.gpus:
        numbers = ",".join(map(str, service.gpus))
        found.append("--gpus=all" if service.all_gpus else f'--gpus="device={numbers}"')
    found.append(f"--shm-size={service.shared_memory // GIB}g")
    if service.raises_limits:
        found += [f"--ulimit={limit}={value}" for limit, value in service.limits]
    found += [f"--cap-add={one}" for one in service.capabilities]
    found += [f"--publish={published(service)}", *("=".join(mount.words) for mount in mounts(service))]
    program, words = entry(service)
    return (*found, *([f"--entrypoint={program}"] if program else []), service.image, *words)


def devices(service: Service) -> tuple[str, ...]:
    """Return the names of the service's GPUs in CDI."""
    return tuple(f"nvidia.com/gpu={gpu}" for gpu in (("all",) if service.all_gpus else service.gpus))


def published(service: Service) -> str:
    """Return the address and the ports as docker and podman publish them."""
    listen = f"[{service.address}]" if ":" in service.address else service.address
    return f"{listen}:{service.port}:{service.port}"


def mounts(service: Service) -> tuple[Mount, ...]:
    """Return what the container sees of the host: the service's own, its engine's cache, and the secrets' file."""
    secret = [Mount(secret_path(service.name), INSIDE)] if service.secrets else []
    return (*service.mounts, Mount(engine_home(service.name), "/root/.cache", writable=True), *secret)


def entry(service: Service) -> tuple[str, tuple[str, ...]]:
    """Return the container's program, "" for its image's own, and the program's arguments."""
    if service.secrets:
        # Not by --env-file: `docker inspect` would show them.
        script = f'set -a; . {INSIDE}; set +a; exec "$@"'
        return "/bin/sh", ("-c", script, "sh", *service.words)
    # The program of a whole command, whatever the image's entry point is; options alone are for that.
    whole = service.words and not service.words[0].startswith("-")
    return (service.words[0], service.words[1:]) if whole else ("", service.words)


def by_option(words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command in lines for a reader: an option with its values in each."""
    group: list[str] = []
    for word in words:
        if word.startswith("--") and group:
            yield tuple(group)
            group = []
        group.append(word)
    if group:
        yield tuple(group)


def environment(service: Service) -> str:
    """Return the environment's file: quoted for systemd, as it is for a container engine, which unquotes nothing."""
    values = dict(service.environment)
    if service.runtime == "venv" and service.gpus and not service.all_gpus:
        # nvidia-smi counts in the order of the bus, CUDA does not by itself.
        values |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(map(str, service.gpus))}
    head = "# Written by qops. Secrets are in the file beside it.\n"
    quote = _double if service.runtime == "venv" else str
    return head + "".join(f"{name}={quote(value)}\n" for name, value in values.items())


def description(service: Service) -> str:
    """Return what the programs on the host have to know, as JSON."""
    name = service.name
    secrets = [secret_path(name)] if service.secrets else []
    said = {
        "name": name,
        "unit": unit_name(name),
        "port": service.port,
        "address": "127.0.0.1" if service.address in ("0.0.0.0", "", "::") else service.address,  # noqa: S104
        "model": service.model,
        "runtime": service.runtime,
        "container": container_name(name),
        "gpus": [str(gpu) for gpu in service.gpus],
        "gpus_by": service.gpus_by,
        "secret": secrets[0] if secrets else "",
        "key": service.key,
        "files": [unit_path(name), environment_path(name), *templates(service), *secrets],
        "state": f"/var/lib/qops/serve/{name}",
        "run": f"/run/qops/serve/{name}",
        "fail_safe": service.fail_safe,
        "token_seconds": service.token_seconds,
        "load_seconds": service.load_seconds,
        "image": service.image,
        "needs": needs(service),
        "idle_seconds": max(_IDLE, service.stop - MARGIN),
        "smoke": list(service.smoke),
        "keep": service.keep,
    }
    return json.dumps(said, indent=1) + "\n"


def needs(service: Service) -> list[str]:
    """Return the programs and folders of the host without which the service cannot start."""
    program = [service.words[0]] if service.runtime == "venv" and service.words[0].startswith("/") else []
    return [*program, *(mount.source for mount in service.mounts)]


def templates(service: Service) -> list[str]:
    """Return the host's file of the chat template that the command names: a change of it is one of the service."""
    given = [word.partition("=")[2] or after for word, after in pairwise((*service.words, "")) if _TEMPLATE.match(word)]
    path = given[-1] if given else ""
    if service.runtime == "venv":
        return [path] if path.startswith("/") else []
    return [mount.source for mount in service.mounts if path and mount.target == path]


def container_name(name: str) -> str:
    """Return the name of a service's container."""
    return f"qops-serve-{name}"


def quoted(word: str) -> str:
    """Return a word as ExecStart takes it: systemd.service(5), "Command lines", and systemd.syntax(7)."""
    text = word.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(text.replace("$", "")) and text:
        return text
    text = text.replace("\\", "\\\\").replace("\n", "\\n")  # an escape in both kinds of quotes
    return f"'{text}'" if "'" not in text else '"' + text.replace('"', '\\"') + '"'


def _stop(service: Service) -> str:
    return f"/usr/bin/{service.runtime} stop --time={service.stop} {_name(service)}"


def _name(service: Service) -> str:
    return container_name(service.name)


def _double(value: str) -> str:
    return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'
