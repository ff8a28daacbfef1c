"""The files of an inference service: its unit, its environment, and the description that the watch reads."""

import json
import re

from qops.derive.service import GIB, Mount, Service

FOLDER = "/etc/qops/serve"
UNITS = "/etc/systemd/system"
MARGIN = 30  # seconds after the container engine should have killed it, until systemd does
RESTART_AFTER = 10  # seconds: what the engine before held is free again
INSIDE = "/run/qops-secret"  # where a container sees the secrets' file
_ENGINE_HOME = "/var/lib/qops/engines"
# After these, where they are; whether the devices work is asked by ExecStartPre, since a unit's order does not tell.
_AFTER = (
    "network-online.target", "docker.service", "nvidia-persistenced.service", "nvidia-fabricmanager.service",
    "nvidia-cdi-refresh.service",
)  # fmt: skip
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


def unit(service: Service) -> str:
    """Return the text of the unit."""
    name = service.name
    program = "/usr/local/sbin/qops-serve-start"
    lines = [
        "# Written by qops (role inference_service).",
        "[Unit]",
        f"Description=Inference service {name}: {service.model} on port {service.port}",
        f"After={' '.join(_AFTER)}",
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
            f"WorkingDirectory={_ENGINE_HOME}/{name}",
            f"Environment=HOME={_ENGINE_HOME}/{name}",
            f"EnvironmentFile={environment_path(name)}",
            *([f"EnvironmentFile={secret_path(name)}"] if service.secrets else []),
        ]
    else:
        lines.append(f"StateDirectory=qops/engines/{name}")
    lines += [
        f"ExecCondition=+{program} begin {name}",
        f"ExecStartPre=+{program} check {name}",
        "ExecStart=" + " ".join(map(quoted, command(service))),
        *([] if service.runtime == "venv" else [f"ExecStop=-{_stop(service)}"]),
        f"ExecStopPost=+{program} end {name}",
        "# vLLM ends with 0 when its engine dies, and with 2 when it does not know an option.",
        "Restart=always",
        f"RestartSec={RESTART_AFTER}",
        "RestartPreventExitStatus=2",
        "# Loading takes as long as it takes; the check before it is bounded by itself.",
        "TimeoutStartSec=infinity",
        "# Both engines can ignore SIGTERM for ever: while they hang, and while a client stays.",
        f"TimeoutStopSec={service.stop if service.runtime == 'venv' else service.stop + MARGIN}",
        "KillMode=control-group",
        *(["LimitMEMLOCK=infinity", "LimitNOFILE=1048576"] if service.raises_limits else []),
        "TasksMax=infinity",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def command(service: Service) -> tuple[str, ...]:
    """Return the words that systemd runs."""
    if service.runtime == "venv":
        return service.words
    name, runtime = service.name, service.runtime
    found = [f"/usr/bin/{runtime}", "run", "--rm", f"--name={container_name(name)}", "--pull=never", "--init"]
    # systemd alone restarts: docker would not, after a stop by hand.
    found += ["--cgroups=split", "--replace"] if runtime == "podman" else ["--restart=no"]
    if service.gpus and service.gpus_by == "cdi":
        found += [f"--device=nvidia.com/gpu={gpu}" for gpu in (("all",) if service.all_gpus else service.gpus)]
    elif service.gpus:
        devices = ",".join(map(str, service.gpus))
        found.append("--gpus=all" if service.all_gpus else f'--gpus="device={devices}"')
    found.append(f"--shm-size={service.shared_memory // GIB}g")
    if service.raises_limits:
        found += [f"--ulimit={limit}={value}" for limit, value in service.limits]
    found += [f"--cap-add={one}" for one in service.capabilities]
    listen = f"[{service.address}]" if ":" in service.address else service.address
    found += [f"--publish={listen}:{service.port}:{service.port}", f"--env-file={environment_path(name)}"]
    mounts = (*service.mounts, Mount(f"{_ENGINE_HOME}/{name}", "/root/.cache", writable=True))
    found += ["=".join(mount.words) for mount in mounts]
    if not service.secrets:
        # The program of a whole command, whatever the image's entry point is; options alone are for that.
        whole = service.words and not service.words[0].startswith("-")
        program, rest = (service.words[0], service.words[1:]) if whole else ("", service.words)
        return (*found, *([f"--entrypoint={program}"] if whole else []), service.image, *rest)
    # Not by --env-file: `docker inspect` would show them.
    script = f'set -a; . {INSIDE}; set +a; exec "$@"'
    mounted = ["=".join(Mount(secret_path(name), INSIDE).words), "--entrypoint=/bin/sh"]
    return (*found, *mounted, service.image, "-c", script, "sh", *service.words)


def environment(service: Service) -> str:
    """Return the environment's file: quoted for systemd, as it is for a container engine, which unquotes nothing."""
    values = dict(service.environment)
    if service.runtime == "venv" and service.gpus and not service.all_gpus:
        # nvidia-smi counts in the order of the bus, CUDA does not by itself.
        values |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(map(str, service.gpus))}
    head = "# Written by qops (role inference_service). Secrets are in the file beside it.\n"
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
        "files": [unit_path(name), environment_path(name), *secrets],
        "state": f"/var/lib/qops/serve/{name}",
        "run": f"/run/qops/serve/{name}",
        "fail_safe": service.fail_safe,
        "token_seconds": service.token_seconds,
        "load_seconds": service.load_seconds,
    }
    return json.dumps(said, indent=1) + "\n"


def container_name(name: str) -> str:
    """Return the name of a service's container."""
    return f"qops-serve-{name}"


def quoted(word: str) -> str:
    """Return a word as ExecStart takes it: systemd.service(5), "Command lines", and systemd.syntax(7)."""
    text = word.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(text.replace("$", "")) and text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _stop(service: Service) -> str:
    return f"/usr/bin/{service.runtime} stop --time={service.stop} {container_name(service.name)}"


def _double(value: str) -> str:
    return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'
