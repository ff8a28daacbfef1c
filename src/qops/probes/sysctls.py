"""Kernel settings that matter to GPU work."""

from collections.abc import Sequence

from qops.evidence.kernel import Sysctls
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

KEYS = (
    "fs.file-max", "fs.nr_open", "kernel.dmesg_restrict", "kernel.hung_task_timeout_secs", "kernel.numa_balancing",
    "kernel.panic", "kernel.panic_on_oops", "kernel.pid_max",
    "kernel.sched_rt_runtime_us", "kernel.shmall", "kernel.shmmax", "kernel.threads-max",
    "kernel.yama.ptrace_scope", "net.core.netdev_max_backlog", "net.core.rmem_default", "net.core.rmem_max",
    "net.core.somaxconn", "net.core.wmem_default", "net.core.wmem_max", "net.ipv4.conf.all.accept_local",
    "net.ipv4.conf.all.arp_announce", "net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.rp_filter",
    "net.ipv4.ip_local_port_range", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "user.max_user_namespaces",
    "vm.compaction_proactiveness", "vm.max_map_count", "vm.min_free_kbytes", "vm.nr_hugepages",
    "vm.overcommit_memory", "vm.swappiness", "vm.zone_reclaim_mode",
)  # fmt: skip

# Two programs for all keys (a shell's own `read` gets the first byte alone of such a file). A key that this kernel does
# not have is said to be absent. A practice host shows its own kernel's settings below QOPS_ROOT, and none of the
# machine's that it runs on.
SCRIPT = (
    '[ -d "$QOPS_ROOT/proc/sys" ] || QOPS_ROOT=\n'
    'cd "$QOPS_ROOT/proc/sys" || exit\n'
    f"for f in {' '.join(key.replace('.', '/') for key in KEYS)}; do\n"
    '  if [ -e "$f" ]; then there="$there $f"; else echo "$f absent" | tr / .; fi\n'
    "done\n"
    "grep -Hs '' $there | sed 's|:| = |; :a; s|/\\(.* = \\)|.\\1|; ta'\n"
)

_NAME = r"((?:kernel|vm|net|fs|user|dev|abi|debug)\.[a-zA-Z0-9_.\-/]{1,120})"
_SET = lazy(rf"\s*{_NAME}\s*=\s*(\S.{{0,200}}?)?\s*(?:#.*)?$")
_ABSENT = lazy(rf"\s*{_NAME} absent\s*$")
_CANNOT = lazy(r"sysctl: cannot stat /proc/sys/([\w./-]{1,120}): No such file")


def recognise(text: Text) -> bool:
    """Return whether `text` holds settings as sysctl prints them."""
    return any(("=" in line and _SET.match(line)) or _CANNOT.search(line) for line in text.lines)


def parse(texts: Sequence[Text]) -> Sysctls | None:
    """Return the settings seen; the first value of a key wins, the host's own answers before files."""
    values: dict[str, str] = {}
    absent: dict[str, None] = {}
    source = ""
    for text in sorted(texts, key=lambda t: t.probe != PROBE.name):
        for line in text.lines:
            if match := _SET.match(line):
                values.setdefault(match[1].replace("/", "."), " ".join((match[2] or "").split()))
            elif match := _ABSENT.match(line):
                absent[match[1]] = None
            elif match := _CANNOT.search(line):
                absent[match[1].replace("/", ".")] = None
            else:
                continue
            source = source or text.source
    return Sysctls(values, tuple(absent), source) if source else None


PROBE = Probe(
    name="sysctls",
    makes=Sysctls,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(("sh", "-c", SCRIPT), "kernel settings for memory, shared memory, sockets and tracing", name="sysctl"),
    ),
)
