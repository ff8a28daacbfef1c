"""Services that keep a host reachable and on time: SSH, time, earlyoom, the watchdog, and what is kept for them."""

from collections.abc import Sequence
from typing import Any

from qops.evidence.services import Service, Services
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

UNITS = (
    "ssh.service", "sshd.service", "user.slice", "system.slice", "chrony.service", "chronyd.service",
    "systemd-timesyncd.service", "ntpsec.service", "ntp.service", "openntpd.service", "earlyoom.service",
)  # fmt: skip
OURS = "/etc/systemd/system.conf.d/90-qops-watchdog.conf"  # what the role host_tuning writes
_HEAD = "== host services"
# One shell for all. The watchdog's device is not opened: that would start it.
SCRIPT = f"""\
[ -d "$QOPS_ROOT/sys/class" ] || QOPS_ROOT=
echo '{_HEAD}'
systemctl show -p Id,LoadState,ActiveState,UnitFileState,MemoryMin,MemoryLow {" ".join(UNITS)} 2>/dev/null
echo
systemctl show -p RuntimeWatchdogUSec 2>/dev/null
cat /etc/systemd/system.conf /etc/systemd/system.conf.d/*.conf 2>/dev/null | grep '^RuntimeWatchdogSec='
grep -hs '^RuntimeWatchdogSec=' {OURS} | sed 's/.*=/ours: /'
timedatectl show -p NTPSynchronized 2>/dev/null
for d in "$QOPS_ROOT"/sys/class/watchdog/watchdog*; do
  [ -e "$d" ] && echo "watchdog: $(cat "$d/identity" 2>/dev/null || echo unnamed)"
done
for d in "$QOPS_ROOT"/sys/class/infiniband/*; do [ -e "$d" ] && echo "rdma: ${{d##*/}}"; done
if [ -e "$QOPS_ROOT/sys/fs/cgroup/cgroup.controllers" ]; then echo 'cgroups: 2'; else echo 'cgroups: 1'; fi
for m in dpkg rpm; do command -v $m >/dev/null && echo "manager: $m" && break; done
grep -hsE '^[^#]*[[:space:]]memlock[[:space:]]' /etc/security/limits.conf /etc/security/limits.d/*.conf |
  sed 's/^/limit: /'
if [ "$(id -u)" = 0 ]; then (ulimit -l unlimited) 2>/dev/null && echo 'raises: yes' || echo 'raises: no'; fi
true
"""

_PAIR = lazy(r"([A-Za-z]{2,40})=(.{0,200}?)\s*$")
_WORD = lazy(r"(watchdog|ours|rdma|cgroups|manager|raises): (.{1,100}?)\s*$")
_LIMIT = lazy(r"limit: (\S{1,64})\s+(\S)\S{0,4}\s+memlock\s+(\S{1,20})\s*$")
_NUMBER = lazy(r"[0-9]{1,20}")


def recognise(text: Text) -> bool:
    """Whether a line is this probe's head."""
    return any(line.strip() == _HEAD for line in text.lines)


def parse(texts: Sequence[Text]) -> Services | None:
    """Return what the first answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.strip() == _HEAD:
                return Services(quote=text.quote(index), **_read(text.lines[index + 1 :]))
    return None


def _read(lines: Sequence[str]) -> dict[str, Any]:
    units: dict[str, Service] = {}
    found: dict[str, Any] = {"units": units}
    words: dict[str, list[str]] = {}
    limits: dict[str, str] = {}
    one: dict[str, str] = {}
    for line in lines:
        if line.startswith("== "):
            break
        if pair := _PAIR.match(line):
            one[pair[1]] = pair[2]
        elif not line.strip():
            _add(units, one)
            one = {}
        elif word := _WORD.match(line):
            words.setdefault(word[1], []).append(word[2])
        elif limit := _LIMIT.match(line):
            # A later line wins, as with pam_limits; "-" is soft and hard.
            limits[limit[1]] = limit[3] if limit[2] in "-h" else limits.get(limit[1], limit[3])
    _add(units, one)
    found |= {"watchdog": one.get("RuntimeWatchdogUSec", ""), "watchdog_configured": one.get("RuntimeWatchdogSec", "")}
    found["synchronised"] = {"yes": True, "no": False}.get(one.get("NTPSynchronized", ""))
    if "cgroups" in words:
        found["unified_cgroups"] = words["cgroups"][0] == "2"
    if "raises" in words:
        found["raises_limits"] = words["raises"][0] == "yes"
    found["watchdog_ours"] = words.get("ours", [""])[-1]
    found |= {"watchdog_devices": tuple(words.get("watchdog", ())), "rdma_devices": tuple(words.get("rdma", ()))}
    return found | {"memlock": limits, "package_manager": words.get("manager", [""])[0]}


def _add(units: dict[str, Service], said: dict[str, str]) -> None:
    name = said.get("Id", "")
    if name:
        units[name] = Service(
            name,
            loaded=said.get("LoadState") == "loaded",
            active=said.get("ActiveState") in ("active", "activating", "reloading"),
            enabled=said.get("UnitFileState") in ("enabled", "enabled-runtime"),
            memory_min=_bytes(said.get("MemoryMin", "")),
            memory_low=_bytes(said.get("MemoryLow", "")),
        )


def _bytes(text: str) -> int | None:
    if text == "infinity":
        return 1 << 63
    return int(text) if _NUMBER.fullmatch(text) else None


PROBE = Probe(
    name="services",
    makes=Services,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "services for SSH and time, the watchdog, and memory that is kept for logins",
            name="host services",
        ),
    ),
    families=(),  # the role host_tuning alone asks
)
