"""The plan of the role pcie_p2p: kernel options, redirecting bridges and module options, each only when asked for."""

import re
from collections.abc import Mapping
from typing import Any

from qops.derive import p2p, pcie_p2p
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.errors import UsageError
from qops.evidence.boot import BootLoader, PcieControl
from qops.evidence.gpu import DriverParams, Topology
from qops.evidence.intent import Intent
from qops.evidence.kernel import Iommu, KernelCommandLine, KernelLog, System
from qops.evidence.pcie import PcieTree
from qops.plans.base import Options, Plan, RolePlan, Seen

DROP_IN = "/etc/default/grub.d/90-qops.cfg"
MODPROBE = "/etc/modprobe.d/90-qops-pcie-p2p.conf"
BRIDGES = "/etc/qops/pcie-acs.conf"
_UNIT = "qops-pcie-acs.service"
_FOLDERS = ({"dest": "/etc/qops", "state": "directory"}, {"dest": "/etc/qops/intent.d", "state": "directory"})
# How intent names what was asked for; the rules read it back.
KERNEL, MODULE, ACS = "kernel.", "module.", "pcie.acs"
_CHOICES = {
    "iommu": ("leave", "auto", "pt", "off"),
    "aspm": ("leave", "off"),
    "port_pm": ("leave", "off"),
    "acs": ("report", "clear"),
    "hmm": ("leave", "on", "off"),
}
_ASPM = "asked for: a link that goes to sleep cannot fall off the bus when it wakes; some boards lose their slots by it"
_PORT_PM = "asked for: a port that stays awake does not take its link down"
_KEY, _VALUE = re.compile(r"[A-Za-z]\w{1,60}"), re.compile(r"0x[0-9a-fA-F]{1,8}|[0-9]{1,10}")


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    chosen = _checked(options)
    tree: PcieTree | None = seen.get(PcieTree)
    topology: Topology | None = seen.get(Topology)
    why_not = pcie_p2p.no_peers(hardware.value, len(tree.gpus) if tree else 0, p2p.has_nvlink(topology))
    kernel = _kernel(seen, hardware.value, chosen, why_not)
    module = _module(seen.get(PcieControl), seen.get(DriverParams), chosen)
    acs = _acs(seen, chosen["acs"], why_not)
    wanted = {s.key.removeprefix(KERNEL): s.value for s in kernel.settings if s.state in (State.SET, State.DIFFERS)}
    boot: BootLoader | None = seen.get(BootLoader)
    tool = boot.tool if boot else ""
    names = {d.address: d.name for d in tree.devices} if tree else {}
    clear = [s.path for s in acs.settings if s.state in (State.SET, State.DIFFERS)]
    modules = {s.key.removeprefix(MODULE): s.value for s in module.settings if s.state in (State.SET, State.DIFFERS)}
    before: Intent | None = seen.get(Intent)
    undone = before is not None and ACS in before.settings and not clear
    back = ("redirect that was cleared comes back with the next boot",) if undone else ()
    gone = _gone(before, boot, wanted)
    took = [Setting(KERNEL + k, DROP_IN, "unset", v, State.DIFFERS, "asked for no more") for k, v in gone.items()]
    return Plan(
        settings=(*kernel.settings, *took, *acs.settings, *module.settings),
        refused=(*kernel.refused, *acs.refused, *module.refused),
        notes=(*kernel.notes, *acs.notes, *module.notes, *back),
        facts={
            "tool": tool,
            "kernel": [
                {"option": f"{k}={v}", "because": next(s.because for s in kernel.settings if s.key == KERNEL + k)}
                for k, v in wanted.items()
            ],
            "kernel_gone": [f"{k}={v}" for k, v in gone.items()],
            "kernel_differs": bool(took) or any(s.state is State.DIFFERS for s in kernel.settings),
            "bridges": [{"address": a, "name": names.get(a, "")} for a in clear],
            "acs_differs": any(s.state is State.DIFFERS for s in acs.settings),
            "modules": [{"module": k.split(".")[0], "option": k.split(".")[1], "value": v} for k, v in modules.items()],
            "files": _files(kernel=bool(wanted) and tool == "update-grub", modules=bool(modules), acs=bool(clear)),
            "intent": bool(wanted or modules or clear),
        },
        intent={
            **{KERNEL + k: v for k, v in wanted.items()},
            **{MODULE + k: v for k, v in modules.items()},
            **({ACS: " ".join(clear)} if clear else {}),
        },
    )


def _files(*, kernel: bool, modules: bool, acs: bool) -> list[dict[str, str]]:
    """Return the role's files: what nobody asks for must not be there, so that the defaults leave no trace."""
    units = "/etc/systemd/system"
    wanted = [
        (kernel, {"dest": DROP_IN, "template": "grub.cfg.j2"}),
        (modules, {"dest": MODPROBE, "template": "modprobe.conf.j2"}),
        (acs, {"dest": BRIDGES, "template": "pcie-acs.conf.j2"}),
        (acs, {"dest": "/usr/local/sbin/qops-pcie-acs", "file": "qops-pcie-acs.sh", "mode": "0755"}),
        (acs, {"dest": f"{units}/{_UNIT}", "file": _UNIT}),
        # A link, not `enabled`: systemctl would reload systemd, and containers that got their GPUs by --gpus lose them.
        (acs, {"dest": f"{units}/basic.target.wants", "state": "directory"}),
        (acs, {"dest": f"{units}/basic.target.wants/{_UNIT}", "state": "link", "src": f"../{_UNIT}"}),
    ]
    folders = _FOLDERS if kernel or modules or acs else ()
    absent = [
        {"dest": f["dest"], "state": "absent"} for asked, f in wanted if not asked and f.get("state") != "directory"
    ]
    return [*folders, *(f for asked, f in wanted if asked), *absent]


def _gone(before: Intent | None, boot: BootLoader | None, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the kernel options that the role once added, that nobody asks for now, and that the next boot has."""
    once = {k.removeprefix(KERNEL): v for k, v in (before.settings if before else {}).items() if k.startswith(KERNEL)}
    return {k: v for k, v in once.items() if wanted.get(k) != v and boot is not None and boot.value(k) == v}


def _checked(options: Options) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, choices in _CHOICES.items():
        # YAML reads a bare on and off as booleans.
        value = {True: "on", False: "off"}.get(options[name], str(options[name]))
        if value not in choices:
            raise UsageError(f"pcie_p2p_{name} cannot be {value!r}", f"it is one of {', '.join(choices)}")
        chosen[name] = value
    registry = options["registry"]
    if not isinstance(registry, Mapping):
        raise UsageError("pcie_p2p_registry is no mapping", "give keys with their numbers, as ForceP2P: 0x11")
    for key, value in registry.items():
        if not _KEY.fullmatch(str(key)) or not _VALUE.fullmatch(str(value)):
            raise UsageError(f"pcie_p2p_registry cannot have {key}={value}", "a key takes a number, as ForceP2P: 0x11")
    chosen["registry"] = {str(k): str(v) for k, v in registry.items()}
    return chosen


def _kernel(seen: Seen, hardware: HardwareClass, chosen: Mapping[str, Any], why_not: str) -> Plan:
    system: System | None = seen.get(System)
    command_line: KernelCommandLine | None = seen.get(KernelCommandLine)
    boot: BootLoader | None = seen.get(BootLoader)
    wanted: dict[str, Derived[str]] = {}
    left: list[Setting] = []
    mode = Derived(chosen["iommu"], "asked for")
    if chosen["iommu"] == "auto":
        mode = pcie_p2p.iommu(hardware, system, seen.get(Iommu), command_line, seen.get(KernelLog), why_not=why_not)
    elif chosen["iommu"] == "leave":
        mode = Derived("", "nobody asked for a change (pcie_p2p_iommu)")
    if mode.value:
        vendor = system.cpu_vendor if system else ""
        asked = pcie_p2p.iommu_options(mode.value, vendor)
        wanted |= {name: Derived(value, mode.because) for name, value in asked.items()}
    else:
        now = (command_line.value("iommu") or "") if command_line else ""
        left.append(Setting(KERNEL + "iommu", "", "", now, State.LEFT, mode.because))
    if chosen["aspm"] == "off":
        wanted["pcie_aspm"] = Derived("off", _ASPM)
    if chosen["port_pm"] == "off":
        wanted["pcie_port_pm"] = Derived("off", _PORT_PM)
    if not wanted:
        return Plan(settings=tuple(left))
    if boot is not None and boot.vendor:
        told = " ".join(f"{k}={v.value}" for k, v in wanted.items())
        why = "DGX OS: the vendor's image owns the kernel options"
        kept = tuple(Setting(KERNEL + k, "", "", "", State.LEFT, why) for k in wanted)
        return Plan(settings=(*left, *kept), notes=(f"{why}, so {told} was not set",))
    return _boot(boot, command_line, wanted, left)


def _boot(
    boot: BootLoader | None,
    command_line: KernelCommandLine | None,
    wanted: Mapping[str, Derived[str]],
    left: list[Setting],
) -> Plan:
    refused, waiting = [], []
    if boot is not None and not boot.tool:
        refused.append("neither update-grub nor grubby is there: add the kernel options to this boot loader by hand")
    own = [o for s in boot.settings if s.file == DROP_IN for o in s.options] if boot else []
    settings = []
    for name, value in wanted.items():
        after = None if boot is None or not boot.tool else (boot.value(name) or "")
        settings.append(setting(KERNEL + name, value.value, after, value.because, path=DROP_IN))
        for other in boot.settings if boot else ():
            present = dict(o.split("=", 1) for o in other.options if "=" in o)
            against = pcie_p2p.contradiction(name, value.value, present) if other.file != DROP_IN else ""
            if against:
                refused.append(f"{other.file} has {against}, against {name}={value.value}: remove it there first")
        if command_line is not None and command_line.value(name) != value.value:
            waiting.append(f"{name}={value.value}")
            running = {o.split("=", 1)[0]: o.split("=", 1)[1] for o in command_line.options if "=" in o}
            against = pcie_p2p.contradiction(name, value.value, running)
            if against and boot and boot.tool == "grubby" and against in (boot.next or ()) and against not in own:
                refused.append(f"the boot entries have {against}: grubby --update-kernel=ALL --remove-args={against}")
    notes = (f"reboot needed: {' '.join(waiting)} is not in force yet (playbooks/reboot.yml)",) if waiting else ()
    return Plan(settings=(*left, *settings), refused=tuple(refused), notes=notes)


def _acs(seen: Seen, chosen: str, why_not: str) -> Plan:
    tree: PcieTree | None = seen.get(PcieTree)
    control: PcieControl | None = seen.get(PcieControl)
    system: System | None = seen.get(System)
    if why_not or tree is None:
        because = why_not or "PCI could not be seen"
        return Plan(settings=(Setting(ACS, "", "", "", State.LEFT, because),)) if chosen == "clear" else Plan()
    found = pcie_p2p.bridges(tree)
    redirecting = [b for b in found if b.redirects]
    if chosen == "report":
        notes = [f"{len(redirecting)} of the bridges between GPUs redirect peer traffic to the root:"] * bool(
            redirecting
        )
        notes += [f"  {b}" for b in redirecting]
        notes += ["  pcie_p2p_acs: clear would clear ReqRedir and CmpltRedir on these"] * bool(redirecting)
        return Plan(notes=tuple(notes))
    if not pcie_p2p.acs_seen(tree):
        return Plan(settings=(Setting(ACS, "", "", "", State.UNSEEN, "lspci shows access control to root alone"),))
    refused = []
    if system is not None and system.hypervisor:
        refused.append("pcie_p2p_acs: clear is refused in a virtual machine: the bridges are not the real ones")
    if control is None or not control.setpci:
        refused.append("pcie_p2p_acs: clear needs setpci: install pciutils")
    if control is not None and (control.vfio or control.machines):
        who = ", ".join((*control.vfio, *control.machines))
        refused.append(f"pcie_p2p_acs: clear is refused while functions are given to virtual machines ({who}): "
                       "redirect is what keeps them apart")  # fmt: skip
    because = "it lies between GPUs, and their traffic goes up to the root while it redirects"
    settings = tuple(
        setting(f"ACS of {b.address}", "no redirect", " ".join(b.redirects) or "no redirect", because, path=b.address)
        for b in found
    )
    return Plan(settings=settings, refused=tuple(refused))


def _module(control: PcieControl | None, params: DriverParams | None, chosen: Mapping[str, Any]) -> Plan:
    wanted: dict[tuple[str, str], Derived[str]] = {}
    waiting, refused = [], []
    if chosen["hmm"] != "leave":
        off = chosen["hmm"] == "off"
        because = "asked for: without heterogeneous memory management" if off else "asked for"
        wanted["nvidia_uvm", "uvm_disable_hmm"] = Derived("1" if off else "0", because)
        if control is not None and control.hmm is not None and control.hmm is off:
            waiting.append(f"uvm_disable_hmm={'1' if off else '0'}")
    if chosen["registry"]:
        words = ";".join(f"{k}={v}" for k, v in chosen["registry"].items())
        wanted["nvidia", "NVreg_RegistryDwords"] = Derived(words, "asked for; the driver does not document these keys")
        if params is not None and params.params.get("RegistryDwords", "") != words:
            waiting.append(f"RegistryDwords={words}")
    settings = []
    for (module, name), value in wanted.items():
        own = [o for o in control.options if o.file == MODPROBE and o.module == module] if control else []
        current = None if control is None else next((o.options[name] for o in own if name in o.options), "")
        settings.append(setting(f"{MODULE}{module}.{name}", value.value, current, value.because, path=MODPROBE))
        other = control.chosen(module, name, outside=MODPROBE) if control else None
        if other is not None and other.options[name] != value.value:
            refused.append(f"{other.file} sets {name}={other.options[name]} as well: remove it there first")
    notes = [f"not in force until the driver's modules are loaded anew, or a reboot: {', '.join(waiting)}"]
    return Plan(settings=tuple(settings), refused=tuple(refused), notes=tuple(notes) if waiting else ())


PLAN = RolePlan(
    role="pcie_p2p",
    kinds=(
        BootLoader,
        PcieControl,
        PcieTree,
        Topology,
        Iommu,
        KernelCommandLine,
        KernelLog,
        System,
        DriverParams,
        Intent,
    ),
    defaults={
        "manage": True,
        "iommu": "leave",
        "aspm": "leave",
        "port_pm": "leave",
        "acs": "report",
        "hmm": "leave",
        "registry": {},
    },
    make=make,
)
