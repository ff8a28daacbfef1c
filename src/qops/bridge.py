"""What Ansible calls: a transport over its connection, evidence as facts, and the filters of plugins/filter."""

import json
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import structs

from qops import collection, probes
from qops.derive import host_tuning, sysctl
from qops.derive.hardware_class import hardware_class
from qops.engine import judge, observe
from qops.errors import UsageError
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.kernel import CpuFrequency, Hugepages, Sysctls
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Gaps
from qops.probes.base import Ask, Command, Probe
from qops.rules import ALL as RULES
from qops.transports.answer import failure
from qops.transports.base import Completed

Shell = Callable[[str], tuple[int, str, str]]
"""Runs a shell command on the host; gives the exit status, standard output and standard error."""

KINDS: Mapping[str, Probe] = {probe.makes.__name__: probe for probe in probes.ALL}
LARGEST = 64 << 20  # bytes of a file that are read

# QOPS_ROOT, where a practice host sets it, shows another machine's files in place of the host's own.
_READ = f"""\
p=$1
case "$p" in /sys/*|/proc/*|/dev/*) [ -n "${{QOPS_ROOT:-}}" ] && [ -e "$QOPS_ROOT$p" ] && p=$QOPS_ROOT$p ;; esac
if [ -e "$p" ] && [ ! -f "$p" ]; then echo 'not a regular file' >&2; exit 1; fi
exec head -c {LARGEST} -- "$p"
"""
_TIMED_OUT = (124, 137)  # what timeout(1) gives when the time is over, and when it had to kill


class AnsibleTransport:
    """The host behind an Ansible connection, which takes one command at a time."""

    def __init__(self, name: str, shell: Shell) -> None:
        self.name = name
        self._shell = shell
        self._turn = threading.Lock()
        self._stopped = False

    def run(self, argv: tuple[str, ...], *, timeout: float) -> Completed:
        """Run `argv` under timeout(1), so that nothing stays behind on the host."""
        with self._turn:
            begun = time.monotonic()
            if self._stopped:
                return Completed(b"", b"", None, 0.0, "timeout")
            command = f"LC_ALL=C timeout -k 1 {max(1, round(timeout))} {shlex.join(argv)} </dev/null"
            status, out, err = self._shell(command)
        seconds = time.monotonic() - begun
        stdout, stderr = (text.encode("utf-8", "surrogateescape") for text in (out, err))
        if status in _TIMED_OUT and seconds >= timeout * 0.9:
            return Completed(stdout, stderr, None, seconds, "timeout")
        return Completed(stdout, stderr, status, seconds)

    def read(self, path: str, *, timeout: float) -> Completed:
        """Read a file."""
        done = self.run(("sh", "-c", _READ, "read", path), timeout=timeout)
        return replace(done, failure=failure(done.stderr)) if done.status and not done.failure else done

    def stop(self) -> None:
        """Ask nothing more; what runs ends by its own timeout."""
        self._stopped = True


def look(name: str, shell: Shell, wanted: Sequence[str], *, seconds: float, sampled: bool = False) -> dict[str, Any]:
    """Ask a host for the kinds of evidence `wanted`, by their types' names (all when empty), as plain data.

    Each question is put once unless `sampled`. UsageError when a kind is not known.
    """
    unknown = sorted(set(wanted) - set(KINDS))
    if unknown:
        raise UsageError(f"no such kind of evidence: {', '.join(unknown)}", f"known: {', '.join(KINDS)}")
    chosen = [KINDS[kind] for kind in wanted] or list(KINDS.values())
    asked = chosen if sampled else [replace(p, asks=tuple(a for ask in p.asks if (a := _once(ask)))) for p in chosen]
    found = collection.collect(AnsibleTransport(name, shell), asked, seconds=seconds)
    return facts(observe(found.texts, found.gaps, chosen))


def _once(ask: Ask) -> Ask | None:
    if not isinstance(ask, Command):
        return ask
    return None if ask.live_only else replace(ask, samples=ask.samples[:1])


def facts(evidence: Mapping[type, Any]) -> dict[str, Any]:
    """Return evidence as plain data, by its type's name."""
    return {kind.__name__: msgspec.to_builtins(value, str_keys=True) for kind, value in evidence.items()}


def evidence(plain_facts: Mapping[str, Any]) -> dict[type, Any]:
    """Return plain data as evidence again. UsageError when it is none."""
    types = {Gaps.__name__: Gaps, **{name: probe.makes for name, probe in KINDS.items()}}
    try:
        found: dict[type, Any] = {
            types[name]: msgspec.convert(value, types[name], str_keys=True)
            for name, value in plain_facts.items()
            if name in types
        }
    except (msgspec.ValidationError, AttributeError) as error:
        raise UsageError(f"this is no evidence: {error}", "give what qops_evidence returned") from error
    return {Gaps: Gaps(), **found}


def plain(value: Any) -> Any:
    """Return what Ansible handed over without its tags and lazy templates: filters see dicts and strings of its own."""
    return json.loads(json.dumps(value))


def _hardware_class(said_evidence: Any, said: Any = "") -> dict[str, str]:
    seen = evidence(plain(said_evidence))
    found = hardware_class(seen.get(Gpus), seen.get(PcieTree), said=plain(said) or "")
    return {"value": str(found.value), "because": found.because}


def _host_tuning(said_evidence: Any, said: Any = "", chosen: Any = None) -> dict[str, Any]:
    """Return the plan of the role host_tuning. `chosen` maps keys to values; those that are "auto" are derived."""
    seen = evidence(plain(said_evidence))
    named = plain(said) or ""
    own = {key: str(value) for key, value in (plain(chosen) or {}).items() if str(value) != "auto"}
    for key in (sysctl.SWAPPINESS, sysctl.NUMA_BALANCING):
        value = own.get(key, "0")
        if value != "leave" and not (value.isascii() and value.isdigit()):
            raise UsageError(f"{key} cannot be {value!r}", "give a whole number in quotes, auto or leave")
    hardware = hardware_class(seen.get(Gpus), seen.get(PcieTree), said=named).value
    settings = host_tuning.plan(hardware, seen.get(Sysctls), seen.get(CpuFrequency), seen.get(Hugepages), own)
    written = [s for s in settings if s.state in (host_tuning.State.SET, host_tuning.State.DIFFERS)]
    return {
        "hardware_class": str(hardware),
        "written": [_setting(s) for s in written],
        "sysctls": [_setting(s) for s in written if s.path.startswith("/proc/sys/")],
        "report": [str(s) for s in settings],
        "unseen": [s.key for s in settings if s.state is host_tuning.State.UNSEEN],
        "differs": any(s.state is host_tuning.State.DIFFERS for s in settings),
        "intent": json.dumps({"qops_role": "host_tuning", "hardware_class": named, "settings": own}),
    }


def _setting(setting: host_tuning.Setting) -> dict[str, str]:
    return {"key": setting.key, "path": setting.path, "value": setting.value, "because": setting.because}


def _judge(said_evidence: Any, codes: Any, said: Any = "") -> dict[str, Any]:
    """Return what the rules `codes` say: `findings` and `unknown`, as lines; both empty when all is well."""
    seen = evidence(plain(said_evidence))
    named = plain(said)
    if named:
        own = seen.get(Intent) or Intent(())
        seen[Intent] = structs.replace(own, hardware_class=str(hardware_class(None, None, said=named).value))
    wanted = plain(codes)
    rules = [rule for rule in RULES if rule.code in wanted]
    missing = sorted(set(wanted) - {rule.code for rule in rules})
    if missing:
        raise UsageError(f"no such rule: {', '.join(missing)}", "qops rules")
    report = judge("host", "", seen, rules)
    return {
        "findings": [f"{f.code} {f.cause}: {f.message}" for f in report.findings],
        "unknown": [f"{code}: {', '.join(kinds)} was not seen" for code, kinds in report.coverage.unknown],
        "ruled_out": [f"{e.code} {e.cause}: {e.because}" for e in report.ruled_out],
    }


FILTERS: dict[str, Callable[..., Any]] = {
    "qops_hardware_class": _hardware_class,
    "qops_host_tuning": _host_tuning,
    "qops_judge": _judge,
}
