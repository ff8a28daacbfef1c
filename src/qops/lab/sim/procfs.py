"""The simulated /proc and /dev: driver, modules, command line, memory size, kernel settings, nodes."""

from __future__ import annotations

import re
from pathlib import Path

from . import driver, faults, store
from .hardware import Hardware
from .tree import Tree

# The module's parameters and their defaults, as recorded with 580.159.04.
_PARAMS = """\
ResmanDebugLevel: 4294967295
RmLogonRC: 1
ModifyDeviceFiles: 1
DeviceFileUID: 0
DeviceFileGID: 0
DeviceFileMode: 438
InitializeSystemMemoryAllocations: 1
UsePageAttributeTable: 4294967295
EnableMSI: 1
EnablePCIeGen3: 0
MemoryPoolSize: 0
KMallocHeapMaxSize: 0
VMallocHeapMaxSize: 0
IgnoreMMIOCheck: 0
EnableStreamMemOPs: 0
EnableUserNUMAManagement: 1
NvLinkDisable: 0
RmProfilingAdminOnly: {admin_only}
PreserveVideoMemoryAllocations: 0
EnableS0ixPowerManagement: 0
S0ixPowerManagementVideoMemoryThreshold: 256
DynamicPowerManagement: 3
DynamicPowerManagementVideoMemoryThreshold: 200
RegisterPCIDriver: 1
EnablePCIERelaxedOrderingMode: 0
EnableResizableBar: 0
EnableGpuFirmware: 18
EnableGpuFirmwareLogs: 2
RmNvlinkBandwidthLinkCount: 0
EnableDbgBreakpoint: 0
OpenRmEnableUnsupportedGpus: 1
DmaRemapPeerMmio: 1
ImexChannelCount: 2048
CreateImexChannel0: 0
GrdmaPciTopoCheckOverride: 0
CoherentGPUMemoryMode: ""
RegistryDwords: ""
RegistryDwordsPerDevice: ""
RmMsg: ""
GpuBlacklist: ""
TemporaryFilePath: ""
ExcludedGpus: ""
"""
# Module sizes in bytes and load addresses, the first two as recorded.
_MODULES = (
    ("nvidia_uvm", 1830912, "0xffffffffc080c000"),
    ("nvidia", 14299136, "0xffffffffc0400000"),
)
# What every kernel of these classes has; a scenario's own values come over these. There is no
# kernel/sched_migration_cost_ns: it left sysctl with Linux 5.13.
_SYSCTL = {
    "vm.swappiness": 60,
    "vm.dirty_ratio": 20,
    "vm.dirty_background_ratio": 10,
    "vm.overcommit_memory": 0,
    "vm.zone_reclaim_mode": 0,
    "vm.nr_hugepages": 0,
    "vm.max_map_count": 65530,
    "vm.min_free_kbytes": 67584,
    "vm.vfs_cache_pressure": 100,
    "vm.compaction_proactiveness": 20,
    "vm.drop_caches": 0,
    "kernel.numa_balancing": 1,
    "kernel.perf_event_paranoid": 2,
    "kernel.pid_max": 4194304,
    "kernel.dmesg_restrict": 0,
    "kernel.nmi_watchdog": 0,
    "kernel.shmmax": 18446744073692774399,
    "kernel.kptr_restrict": 1,
    "kernel.sysrq": 438,
    "kernel.panic": 0,
    "kernel.panic_on_oops": 0,
    "kernel.printk": "4 4 1 7",
    "kernel.core_uses_pid": 1,
    "kernel.randomize_va_space": 2,
    "kernel.unprivileged_userns_clone": 1,
    "fs.file-max": 9223372036854775807,
    "fs.inotify.max_user_watches": 1048576,
    "fs.aio-max-nr": 65536,
    "fs.protected_fifos": 1,
    "fs.protected_hardlinks": 1,
    "fs.protected_regular": 2,
    "fs.protected_symlinks": 1,
    "net.core.rmem_max": 212992,
    "net.core.wmem_max": 212992,
    "net.core.netdev_max_backlog": 1000,
    "net.core.somaxconn": 4096,
}
_OPTIONS = re.compile(r"^\s*options\s+(nvidia\w*)\s+(.*)$", re.MULTILINE)
_ASSIGNMENT = re.compile(r'(?:NVreg_)?(\w+)=("[^"]*"|\S+)')


def module_options(system: Path, module: str = "nvidia") -> dict[str, str]:
    """Return the options of /etc/modprobe.d for a module, without NVreg_: they take effect when it is loaded."""
    found: dict[str, str] = {}
    for folder in ("usr/lib/modprobe.d", "etc/modprobe.d"):
        for path in sorted((system / folder).glob("*.conf")):
            for named, options in _OPTIONS.findall(path.read_text(encoding="utf-8", errors="replace")):
                if named == module:
                    found.update({name: value.strip('"') for name, value in _ASSIGNMENT.findall(options)})
    return found


def _params(hardware: Hardware, system: Path) -> str:
    # Bare metal restricts profiling to root by default; the recorded virtual machine does not.
    text = _PARAMS.format(admin_only=0 if hardware.raw.get("virtualization") else 1)
    for name, value in module_options(system).items():
        shape = r'\g<1>"{}"' if f'{name}: "' in text else r"\g<1>{}"
        quoted = value.replace("\\", "\\\\")
        text = re.sub(rf"^({re.escape(name)}: ).*$", shape.format(quoted), text, flags=re.MULTILINE)
    return text


def load_driver(tree: Tree, hardware: Hardware, planted: faults.Faults, system: Path) -> None:
    """Write what the driver's modules show once they are loaded; nothing but an empty list where there is none."""
    if driver.absent(hardware, planted):
        tree.put("/proc/modules", "")
        return
    version = driver.installed(hardware, "module")
    given = hardware.raw["driver"]
    builder = given.get("builder", "dvs-builder@U22-I3-AM25-28-3")
    machine = "aarch64" if hardware.arch == "aarch64" else "x86_64"
    gcc = given.get("gcc", "gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04) ")
    flavour = driver.MODULES[driver.flavour()].format(machine)
    tree.put(
        "/proc/driver/nvidia/version",
        f"NVRM version: NVIDIA UNIX {flavour}  {version}  Release Build  ({builder})  \nGCC version:  {gcc}\n",
    )
    tree.put("/proc/driver/nvidia/params", _params(hardware, system))
    tree.put("/proc/modules", "".join(f"{name} {size} - - Live {at} (O)\n" for name, size, at in _MODULES))
    tree.put("/sys/module/nvidia/version", version)
    # Heterogeneous memory management is on by default on x86 alone (kernel-open/nvidia-uvm/uvm_hmm.c).
    no_hmm = module_options(system, "nvidia_uvm").get("uvm_disable_hmm", str(int(machine != "x86_64")))
    tree.put("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "Y" if no_hmm in ("1", "Y") else "N")
    for gpu in hardware.gpus:
        tree.put(
            f"/proc/driver/nvidia/gpus/{gpu.slot.address}/information",
            f"Model: \t\t {hardware.board.name}\nIRQ:   \t\t {64 + gpu.index}\nGPU UUID: \t {gpu.uuid}\n"
            f"Video BIOS: \t {hardware.board.vbios.lower()}\nBus Type: \t PCIe\n"
            f"Bus Location: \t {gpu.slot.address}\nDevice Minor: \t {gpu.index}\nGPU Excluded:\t No\n",
        )
        tree.put(f"/dev/nvidia{gpu.index}", "")
    for name in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2"):
        tree.put("/dev/" + name, "")
    for number in range(len(hardware.switches)):
        tree.put(f"/dev/nvidia-nvswitch{number}", "")


def sysctls(hardware: Hardware) -> dict[str, str]:
    """Return the kernel settings at boot by dotted key; a scenario's null removes one."""
    values = {**_SYSCTL, **hardware.raw.get("sysctl", {})}
    return {key: str(value) for key, value in values.items() if value is not None}


def _meminfo(hardware: Hardware) -> str:
    total = hardware.memory_kib
    swap = int(hardware.raw.get("swap_kib", 0))
    rows = {
        "MemTotal": total,
        "MemFree": total * 994 // 1000,
        "MemAvailable": total * 997 // 1000,
        "Buffers": 88304,
        "Cached": 944148,
        "SwapCached": 0,
        "SwapTotal": swap,
        "SwapFree": swap,
    }
    return "".join(f"{key + ':':<15}{value:>10} kB\n" for key, value in rows.items())


def lay_out(tree: Tree, hardware: Hardware, planted: faults.Faults, system: Path) -> None:
    """Write /proc and /dev."""
    kernel = faults.kernel(planted, hardware.kernel)
    cmdline = store.read_line(store.var() / "cmdline") or hardware.cmdline
    tree.put("/proc/cmdline", cmdline.replace(hardware.kernel, kernel))
    tree.put("/proc/meminfo", _meminfo(hardware))
    tree.put("/proc/version", f"Linux version {kernel} (buildd@lcy02-amd64-046) #1 SMP PREEMPT_DYNAMIC")
    tree.put("/proc/sys/kernel/osrelease", kernel)
    for key, value in sysctls(hardware).items():
        tree.put("/proc/sys/" + key.replace(".", "/"), value)
    if hardware.nics:
        tree.put("/dev/infiniband/rdma_cm", "")
        for nic in hardware.nics:
            tree.put(f"/dev/infiniband/uverbs{nic.index}", "")
    load_driver(tree, hardware, planted, system)
