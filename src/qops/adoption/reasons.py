"""Why a setting of a container or a unit is not taken over: what the role inference_service does in its place."""

_UNIT = "the role's unit does that in its own way"
_DERIVED = "the role derives it from the GPUs and the engine"
_DROP_IN = "no variable of the role says it; a drop-in beside the role's unit can (systemctl edit)"
_NETWORK = "the role publishes the engine's one port on an address of the host"

# Options of `docker run` without their dashes; keys of a compose file are looked up under the same names.
OF_CONTAINERS = {
    "detach": _UNIT,
    "interactive": _UNIT,
    "tty": _UNIT,
    "stdin-open": _UNIT,
    "rm": _UNIT,
    "init": _UNIT,
    "replace": _UNIT,
    "pull": "the image is there before the unit starts (role inference_image)",
    "pull-policy": "the image is there before the unit starts (role inference_image)",
    "restart": "systemd restarts it: docker cannot tell a wrong option from a crash",
    "stop-timeout": "the time to stop follows from the engine's drain (drain)",
    "stop-grace-period": "the time to stop follows from the engine's drain (drain)",
    "stop-signal": "both engines end at SIGTERM",
    "shm-size": _DERIVED,
    "ipc": "the container gets a /dev/shm of its own, of a size that is derived",
    "ulimit": "the role sets memlock, stack and nofile",
    "ulimits": "the role sets memlock, stack and nofile",
    "cap-add": "the role adds SYS_NICE where the engine binds its memory, and nothing else",
    "cap-drop": "the role adds SYS_NICE where the engine binds its memory, and nothing else",
    "privileged": "an engine needs its GPUs, and no power over the host",
    "security-opt": "an engine needs its GPUs, and no power over the host",
    "user": "a container runs as the user that its image says",
    "group-add": "a container runs as the user that its image says",
    "workdir": "the engine starts in the folder that its image says",
    "working-dir": "the engine starts in the folder that its image says",
    "hostname": _NETWORK,
    "network": _NETWORK,
    "networks": _NETWORK,
    "add-host": _NETWORK,
    "extra-hosts": _NETWORK,
    "expose": _NETWORK,
    "dns": _NETWORK,
    "publish-all": _NETWORK,
    "label": "the role puts no labels on a container",
    "labels": "the role puts no labels on a container",
    "log-driver": "the journal has the engine's output",
    "log-opt": "the journal has the engine's output",
    "logging": "the journal has the engine's output",
    "health-cmd": "the role's watch asks for a token, which a hung engine does not give",
    "healthcheck": "the role's watch asks for a token, which a hung engine does not give",
    "depends-on": "the role's unit waits for the GPUs and nothing else",
    "memory": _DROP_IN,
    "cpus": _DROP_IN,
    "cpuset-cpus": _DROP_IN,
    "cpuset-mems": _DROP_IN,
    "oom-score-adj": _DROP_IN,
    "platform": "an image for the host's own processor is taken",
    "tmpfs": "give a folder of the host instead (volumes)",
    "secrets": "give its name in inference_service_secrets",
    "profiles": "an inventory has no profiles: the service is simply there",
}

_STANDS = "the role's unit has its own"
# Settings of a unit, and why they are not taken over.
OF_UNITS = {
    **dict.fromkeys(
        (
            "Type", "Restart", "RestartSec", "RestartPreventExitStatus", "StartLimitInterval", "StartLimitIntervalSec",
            "StartLimitBurst", "TimeoutSec", "TimeoutStartSec", "TimeoutStopSec", "KillMode", "KillSignal",
            "LimitNOFILE", "LimitMEMLOCK", "TasksMax", "StateDirectory", "SyslogIdentifier", "StandardOutput",
            "StandardError",
        ),
        _STANDS,
    ),
    **dict.fromkeys(
        ("ExecCondition", "ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost", "ExecReload"),
        "the role's unit looks at devices and port itself; what only this host needs belongs into a drop-in",
    ),
    "WorkingDirectory": "the engine starts in /var/lib/qops/engines/NAME; give paths from the root on",
    "Group": "the engine has the groups of its user",
}  # fmt: skip
OTHER_UNIT = _DROP_IN
OTHER_CONTAINER = "no variable of the role says it"
SCRIPTED = "only the start of the engine itself is taken over"
