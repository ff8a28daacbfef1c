"""The plan of the role monitoring: how often a host looks at itself, and where it leaves what it saw."""

import json
import re
import shlex
from pathlib import PurePosixPath
from typing import Any

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.plans.base import Options, Plan, RolePlan, Seen

RING = "/var/lib/qops/watch"
SUPPRESS = "/etc/qops/suppress.yml"
_PATH = re.compile(r"/[\w.+@/-]{1,200}", re.ASCII)  # what a unit's ReadWritePaths takes without quotes


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    interval = _number(options, "interval", 60, 86400, "seconds")
    size = _number(options, "size", 1, 1 << 20, "MiB")
    processor = _number(options, "processor", 1, 100, "percent of a core")
    metrics = str(options["prometheus"])
    if metrics and not (_PATH.fullmatch(metrics) and metrics.endswith(".prom") and ".." not in metrics):
        hint = "node_exporter reads FOLDER/NAME.prom, such as /var/lib/prometheus/node-exporter/qops.prom"
        raise UsageError(f"monitoring_prometheus cannot be {metrics!r}", hint)
    alerts = str(options["alerts"])
    if alerts and not (_PATH.fullmatch(alerts) and alerts.endswith((".yml", ".yaml")) and ".." not in alerts):
        hint = "Prometheus reads what rule_files name, such as /etc/prometheus/rules/qops-alerts.yml"
        raise UsageError(f"monitoring_alerts cannot be {alerts!r}", hint)
    arguments = ["--folder", RING, "--size", str(size), "--suppress", SUPPRESS]
    writable = [RING]
    if metrics:
        arguments += ["--prometheus", metrics]
        writable.append(str(PurePosixPath(metrics).parent))
    wanted = bool(options["wheels"])
    idle = "monitoring_wheels names no folder; `script/wheels FOLDER` makes one"
    return Plan(
        settings=() if wanted else (Setting("watch", "", "", "", State.LEFT, idle),),
        facts={
            "wanted": wanted,
            "alerts": alerts,
            "interval": interval,
            "processor": processor,
            "arguments": shlex.join(arguments),
            "writable": writable,
            # JSON is YAML; a day that YAML made a date is written as it was
            "suppress": json.dumps(options["qops_suppress"] or [], indent=1, default=str) + "\n",
        },
    )


def _number(options: Options, name: str, least: int, most: int, unit: str) -> int:
    value: Any = options[name]
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and least <= int(text[:9]) <= most):
        raise UsageError(f"monitoring_{name} cannot be {text!r}", f"give {unit}, {least} to {most}")
    return int(text)


PLAN = RolePlan(
    role="monitoring",
    kinds=(),
    defaults={
        "manage": True,
        "wheels": "",
        "python": "/usr/bin/python3",
        "interval": 300,
        "size": 256,
        "prometheus": "",
        "alerts": "",
        "processor": 20,
    },
    make=make,
    needs_class=False,
    also={"qops_suppress": []},
)
