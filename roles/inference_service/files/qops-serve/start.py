"""What a unit runs around its engine: the fail-safe, and whether devices and port are there.

A start leaves a marker on the disk before the engine runs, and it goes when the engine answers, ends or is stopped.
One that is there from an earlier boot means that the machine went down while the engine started. Such a start is
not repeated by itself: on a host that hangs at each start nobody could ever log in.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import change
import release
from bounded import run
from instance import Instance, Strange, got, put
from owner import NOBODY, UNKNOWN, owner
from pending import BOOT_ID
from unit import Container

SKIP = 1  # of ExecCondition: the unit stays down, and is not restarted
AGAIN = 255  # of ExecCondition: the unit fails, and is started again
EVERY = 1.0
_ASK = 10.0  # seconds for one answer of a driver's tool


def begin(instance: Instance) -> int:
    """Refuse a start that took the machine down before; otherwise leave the marker, and note what is started."""
    if _mended(instance):
        return AGAIN
    boot = got(BOOT_ID).strip()
    marked = got(instance.kept("starting")).split()
    if instance.fail_safe and marked and marked[0] != boot:
        when = f" at {marked[1]}" if len(marked) > 1 else ""
        held = (
            f"the machine went down while this service started{when}, so it is not started by itself. Look at "
            f"the log of that boot (journalctl -b -1), then: qops-serve-start allow {instance.name}"
        )
        put(instance.running("held"), held + "\n")
        print(f"<3>qops-serve: {instance.name} is held: {held}")
        return SKIP
    for name in ("held", "image", "ready", "secret", "watch.json"):
        instance.running(name).unlink(missing_ok=True)
    put(instance.running("started"), started(instance))
    put(instance.running("release"), release.digest(instance))
    if image := release.image_id(instance):
        put(instance.running("image"), f"{image} {instance.runtime} {instance.image}\n")
    if instance.secret:
        put(instance.running("secret"), got(Path(instance.secret)))
    if instance.fail_safe:
        try:
            put(instance.kept("starting"), f"{boot} {time.strftime('%Y-%m-%dT%H:%M:%S%z')}\n", lasting=True)
        except OSError as error:
            # A full disk is no reason not to serve.
            print(f"<4>qops-serve: {error.filename or instance.state}: {error.strerror}, so this start is not marked")
    return 0


def _mended(instance: Instance) -> bool:
    """Undo a change during which the machine went down; return whether systemd has to read the files anew."""
    try:
        mended = change.after_boot(instance)
    except (Strange, OSError) as error:
        print(f"<3>qops-serve: {instance.name}: {error}")  # and it is started with what is there
        return False
    if mended:
        print(f"<4>qops-serve: {instance.name}: the machine went down during a change; the files before are back")
    return mended


def started(instance: Instance) -> str:
    """Return what the files are that a start takes: "sha256 path" lines."""
    lines = []
    for path in instance.files:
        try:
            lines.append(f"{hashlib.sha256(Path(path).read_bytes()).hexdigest()} {path}\n")
        except OSError:
            lines.append(f"- {path}\n")
    return "".join(lines)


def check(instance: Instance) -> int:
    """Wait until the port is free and the GPUs answer; say what is missing when they do not."""
    if instance.runtime != "venv":
        # One that a killed docker left behind has the name, and the GPUs.
        run([instance.runtime, "rm", "--force", instance.container], 60)
    who = owner(instance, (), Container())
    if who not in (NOBODY, UNKNOWN):
        print(f"<3>qops-serve: port {instance.port} is taken by another program: {who}")
        return 1
    end = time.monotonic() + instance.device_seconds
    while missing := lacking(instance):
        if time.monotonic() + EVERY >= end:
            print(f"<3>qops-serve: {instance.name} cannot start after {instance.device_seconds:.0f} s: {missing}")
            return 1
        time.sleep(EVERY)
    return 0


def lacking(instance: Instance) -> str:
    """Return what the service's GPUs still lack; "" when they work. Asked of the devices, not of other units."""
    if not instance.gpus:
        return ""
    root = os.environ.get("QOPS_ROOT", "")
    for node in ("/dev/nvidiactl", "/dev/nvidia-uvm"):
        if not Path(root + node).exists():
            return f"{node} is not there"
    listed = run(["nvidia-smi", "-L"], _ASK)
    if not listed.well:
        return f"nvidia-smi -L: {' '.join(listed.text.split())[:200]}"
    for gpu in instance.gpus:
        if f"GPU {gpu}:" not in listed.text and f"(UUID: {gpu})" not in listed.text:
            return f"nvidia-smi does not list GPU {gpu}"
    if instance.gpus_by == "cdi":
        named = run(["nvidia-ctk", "cdi", "list"], _ASK)
        missing = [g for g in instance.gpus if f"nvidia.com/gpu={g}" not in named.text.split()]
        if not named.well or missing:
            return f"nvidia-ctk cdi list names no nvidia.com/gpu={(missing or instance.gpus)[0]}"
    return ""


def end(instance: Instance) -> int:
    """Take the marker away: the engine ended or was stopped, and the machine outlived it."""
    # systemd says how: a start that was skipped keeps its marker.
    if os.environ.get("SERVICE_RESULT") != "exec-condition":
        instance.kept("starting").unlink(missing_ok=True)
    instance.running("ready").unlink(missing_ok=True)
    if instance.runtime != "venv":
        run([instance.runtime, "rm", "--force", instance.container], 60)
    return 0


def allow(instance: Instance) -> int:
    """Start a held service again."""
    if os.geteuid() != 0:
        raise Strange("only root may do that")
    instance.kept("starting").unlink(missing_ok=True)
    instance.running("held").unlink(missing_ok=True)
    done = run(["systemctl", "start", "--no-block", instance.unit], 30)
    print(
        done.text.strip()
        or f"{instance.name} starts; qops-serve-ready {instance.name} --wait 600 tells when it answers"
    )
    return 0 if done.well else 1


STEPS = {"begin": begin, "check": check, "end": end, "allow": allow}
