"""The plan of the role nvidia_driver: which driver, from where, and what has to be done for it."""

from collections.abc import Mapping
from typing import Any

from qops.data import driver_packages as data
from qops.derive import driver, driver_packages, driver_state, fabric
from qops.derive.derived import Derived
from qops.derive.driver_packages import PackageSet
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverModule, DriverParams, Gpus
from qops.evidence.kernel import System
from qops.evidence.packages import Packages
from qops.evidence.pcie import PcieTree
from qops.evidence.process import Processes
from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.plans.nvidia_driver_options import DEFAULTS, DriverOptions, options_of
from qops.plans.nvidia_driver_source import repository


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    own = options_of(options)
    setup, packages = seen.get(DriverSetup), seen.get(Packages)
    if setup is None or packages is None:
        unseen = [setting("driver", "", None, "neither packages nor setup were seen")]
        return Plan(settings=tuple(unseen), facts=_nothing("unseen"))
    if setup.dgx:
        return _vendors(setup, seen.get(DriverModule))
    machine = seen.get(System) or System()
    where = data.system(machine.os)
    if where is None:
        why = f"for {machine.os or 'this system'} no names of driver packages are known. "
        return Plan(refused=(f"{why}Set nvidia_driver_manage to false",), facts=_nothing("unknown system"))
    return _Making(seen, hardware.value, own, where, machine, setup, packages).plan()


def _vendors(setup: DriverSetup, module: DriverModule | None) -> Plan:
    now = module.version if module else "none loaded"
    left = Setting("driver", "", "", now, State.LEFT, f"{setup.dgx}: the vendor's system brings and updates its driver")
    unsafe = () if module else (f"no NVIDIA module is loaded, and {setup.dgx} owns the driver: repair it there",)
    said = f"{setup.dgx} owns the driver ({now}), so it is left alone"
    return Plan(settings=(left,), refused=unsafe, unsafe=unsafe, notes=(said,), facts=_nothing(setup.dgx))


def _nothing(why: str) -> dict[str, Any]:
    return {"left": why, "disruptive": False, "parameters": {}, "spec": {}, "repository": {}, "apt": False}


class _Making:
    """One plan in the making."""

    def __init__(
        self,
        seen: Seen,
        hardware: HardwareClass,
        own: DriverOptions,
        where: data.System,
        machine: System,
        setup: DriverSetup,
        packages: Packages,
    ) -> None:
        self.seen, self.hardware, self.own, self.where = seen, hardware, own, where
        self.machine, self.setup, self.packages = machine, setup, packages
        gpus, pcie = seen.get(Gpus), seen.get(PcieTree)
        self.boards = [g.name for g in gpus.gpus if g.name] if gpus else []
        self.boards = self.boards or ([d.name for d in pcie.gpus] if pcie else [])
        self.now = driver_state.installed_version(packages)
        module = seen.get(DriverModule)  # of an image or an installer that packages know nothing of
        loaded = module.version if module else ""
        self.version = driver.version(own.version, self.now or loaded, self.boards, hardware)
        there = driver_state.installed_flavour(packages, setup)
        if not there and module and module.open_kernel is not None:
            there = "open" if module.open_kernel else "proprietary"
        if there == "proprietary" and driver.refused_flavour(self.boards, hardware, there, self.version.value[:3]):
            there = ""  # a newer branch no longer has it
        self.flavour = driver.flavour(self.boards, hardware, own.flavour, there)
        self.archive = driver.archive(
            where,
            own.source,
            self.version.value,
            secure_boot=bool(setup.secure_boot),
            installed=tuple(driver_packages.installed(packages)),
        )
        self.fabric = fabric.switches(pcie, self.boards)
        self.wanted = driver_packages.package_set(
            where,
            machine=machine.machine,
            version=self.version.value,
            flavour=self.flavour.value,
            archive=self.archive.value,
            fabric=bool(self.fabric.value),
            nvlink5=bool(self.fabric.value) and fabric.nvlink5(self.boards),
            packages=packages,
            kernel=setup.kernel,
        )

    def plan(self) -> Plan:
        """Return it."""
        settings = (
            *self._source(),
            *driver_state.settings(
                self.wanted,
                self.version,
                self.flavour,
                packages=self.packages,
                setup=self.setup,
                module=self.seen.get(DriverModule),
                params=self.seen.get(DriverParams),
                parameters=self.own.parameters,
                hold=self.own.hold,
                fabric=self.fabric,
            ),
        )
        disruptive = self._disruptive(settings)
        return Plan(
            settings=settings,
            refused=tuple(filter(None, self._refused(disruptive))),
            unsafe=tuple(filter(None, self._unsafe())),
            notes=tuple(filter(None, self._notes(disruptive))),
            facts={
                "left": "",
                "disruptive": disruptive,
                "parameters": dict(self.own.parameters),
                "spec": self._spec(self.wanted),
                "repository": repository(
                    self.where, self.machine.machine, self.own.repository, self.packages, archive=self.archive.value
                ),
                "apt": self.where.manager == "apt",
                "kept_from_upgrades": list(data.KEPT_FROM_UPGRADES),
            },
            intent={
                **({driver_state.VERSION: self.own.version} if self.own.version != "auto" else {}),
                **({driver_state.HOLD: "leave"} if not self.own.hold else {}),
            },
        )

    def _source(self) -> tuple[Setting, ...]:
        if not self.archive.because:  # there is no choice
            return ()
        value = "archive" if self.archive.value else "vendor"
        return (Setting("driver.source", "", value, "", State.SET, self.archive.because),)

    def _disruptive(self, settings: tuple[Setting, ...]) -> bool:
        wrong = {s.key for s in settings if s.state is State.DIFFERS}
        half = driver_state.not_whole(self.packages) or driver_state.of_other_version(self.packages)
        named = bool(wrong & set(driver_state.DISRUPTIVE)) or bool(half)
        return named or any(key.startswith(driver_state.PARAM) for key in wrong)

    def _users(self) -> str:
        gpus, processes = self.seen.get(Gpus), self.seen.get(Processes)
        found = {p.pid: p.name for p in (gpus.processes or ())} if gpus else {}
        if processes:
            found = {p.pid: p.name or p.command.partition(" ")[0] for p in processes.samples} | found
        told = [f"{name or 'process'} ({pid})" for pid, name in sorted(found.items())]
        return ", ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")

    def _refused(self, disruptive: bool) -> list[str]:
        version, branch = self.version.value, self.version.value.partition(".")[0]
        users = self._users()
        return [
            driver.refused_flavour(self.boards, self.hardware, self.flavour.value, branch),
            driver.too_old(version, self.boards, self.hardware),
            "the driver was installed by the vendor's .run file, whose files would lie beside those of packages: "
            "run nvidia-uninstall first"
            if self.setup.run_file
            else "",
            f"{self.machine.os} has no signed modules of branch {branch} "
            f"(it has {', '.join(self.where.archive) or 'none'}). "
            "Set nvidia_driver_source to vendor or auto"
            if self.archive.value and branch not in self.where.archive
            else "",
            f"{self.machine.os} keeps its newest release of a branch alone, so {version} cannot be had there. "
            f"Set nvidia_driver_version to {branch}, or nvidia_driver_source to vendor"
            if self.archive.value and version != branch
            else "",
            self._secure_boot(),
            f"the driver must be unloaded, and the GPUs are in use by {users}. Stop them, or set "
            "nvidia_driver_stop_clients: their units are then stopped and started again"
            if disruptive and users and not self.own.stop_clients
            else "",
        ]

    def _secure_boot(self) -> str:
        works = self.seen.get(DriverModule) is not None  # so the firmware knows the key already
        if not self.setup.secure_boot or self.archive.value or works or self.own.key_enrolled:
            return ""
        return (
            "Secure Boot is on, and a module that DKMS builds is not loaded until its key is enrolled, which takes "
            "somebody at the console: mokutil --import /var/lib/dkms/mok.pub (Ubuntu: /var/lib/shim-signed/mok/MOK.der)"
            ", reboot, choose 'Enroll MOK'. Then set nvidia_driver_key_enrolled. Or use signed modules "
            "(nvidia_driver_source: archive, on Ubuntu), or switch Secure Boot off"
        )

    def _unsafe(self) -> list[str]:
        module = self.seen.get(DriverModule)
        if module is None:
            return ["no NVIDIA module is loaded"]
        half = driver_state.not_whole(self.packages)
        return [
            f"the loaded module is {module.version} and the installed driver {self.now}: they do not work together"
            if self.now and module.version != self.now
            else "",
            "the proprietary module is loaded, and these GPUs need the open one"
            if module.open_kernel is False and driver.needs_open(self.boards, self.hardware)
            else "",
            f"packages of the driver are half installed: {', '.join(half)}" if half else "",
        ]

    def _notes(self, disruptive: bool) -> list[str]:
        users = self._users() if disruptive else ""
        return [
            f"stops what uses the GPUs: {users}" if users and self.own.stop_clients else "",
            f"dkms comes from EPEL. Where it is not enabled: {data.epel(self.machine.os, self.machine.machine)}"
            if self.where.manager == "dnf" and not self.packages.version("dkms")
            else "",
        ]

    def _spec(self, wanted: PackageSet) -> Mapping[str, Any]:
        """Return what the program on the host needs to know."""
        return {
            "manager": wanted.manager,
            "version": self.version.value,
            "flavour": self.flavour.value,
            "lead": wanted.lead,
            "versioned": list(wanted.versioned),
            "plain": list(wanted.plain),
            "explicit": not wanted.prebuilt,  # an archive has one version, and its modules name the one they fit
            "pin": wanted.pin,
            "stream": wanted.stream,
            "hold": self.own.hold,
            "held_besides": list(wanted.held_besides),
            "stop_clients": self.own.stop_clients,
            "clients": list(self.own.clients),
            "units": ["nvidia-persistenced.service", *(["nvidia-fabricmanager.service"] if self.fabric.value else [])],
            "parameters": dict(self.own.parameters),
            "family": data.FAMILY.pattern,
            "not_family": data.NOT_OF_DRIVER.pattern,
            "signed_modules": data.SIGNED_MODULES.pattern,
            "first_number": data.FIRST_NUMBER,
        }


PLAN = RolePlan(
    role="nvidia_driver",
    kinds=(Gpus, PcieTree, DriverSetup, Packages, System, DriverModule, DriverParams, Processes),
    defaults=DEFAULTS,
    make=make,
)
