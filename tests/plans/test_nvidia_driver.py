import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverModule, DriverParams, Gpu, GpuProcess, Gpus
from qops.evidence.kernel import System
from qops.evidence.packages import Package, Packages
from qops.evidence.pcie import PcieDevice, PcieTree
from qops.evidence.text import Quote
from qops.plans import Plan
from qops.plans.nvidia_driver import PLAN

QUOTE = Quote("x", 1, "x")
KERNEL = "6.12.57+deb13-amd64"
RTX5090 = Derived(HardwareClass.RTX5090, "nvidia-smi shows 2 boards GeForce RTX 5090")
HGX = Derived(HardwareClass.HGX, "nvidia-smi shows 8 boards B200")
BARE = DriverSetup(kernel=KERNEL, kernels=(KERNEL,), units={"nvidia-persistenced.service": "absent"}, quote=QUOTE)
READY = replace(
    BARE,
    kernels_with_module=(KERNEL,),
    loaded=("nvidia", "nvidia_uvm"),
    disk_license="Dual MIT/GPL",
    units={"nvidia-persistenced.service": "active"},
)
NAMES = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libcuda1", "nvidia-persistenced")


def packages(version: str, *more: Package, held: bool = True) -> Packages:
    rows = [Package(n, f"{version}-1", "amd64", held) for n in NAMES]
    pin = f"nvidia-driver-pinning-{version.partition('.')[0]}"
    rest = [Package(pin, f"{version}-1"), Package("dkms", "3.0.10-8"), Package("linux-headers-amd64", "6.12.57-1")]
    return Packages("dpkg", {p.name: p for p in (*rows, *rest, *more)}, QUOTE)


def boards(name: str = "NVIDIA GeForce RTX 5090", *users: str) -> Gpus:
    using = tuple(GpuProcess(700 + n, "0", user, None, QUOTE) for n, user in enumerate(users))
    return Gpus((Gpu(0, QUOTE, name),), processes=using)


def plan(
    setup: DriverSetup = READY,
    have: Packages | None = None,
    *,
    loaded: str = "580.159.04",
    gpus: Gpus | None = None,
    hardware: Derived[HardwareClass] = RTX5090,
    os: str = "debian 13",
    params: dict[str, str] | None = None,
    pcie: PcieTree | None = None,
    **options: Any,
) -> Plan:
    seen: dict[type, Any] = {
        DriverSetup: setup,
        Packages: packages("580.159.04") if have is None else have,
        System: System(kernel=KERNEL, machine="x86_64", os=os),
        Gpus: boards() if gpus is None else gpus,
    }
    if pcie:
        seen[PcieTree] = pcie
    if loaded:
        seen[DriverModule] = DriverModule(loaded, True, QUOTE)
        seen[DriverParams] = DriverParams(params or {}, "params")
    return PLAN.make(seen, hardware, {**PLAN.defaults, **options})


def differing(made: Plan) -> set[str]:
    return {s.key for s in made.settings if s.state is State.DIFFERS}


def test_a_host_as_it_should_be() -> None:
    made = plan()
    assert (differing(made), made.refused, made.unsafe, made.notes) == (set(), (), (), ())
    assert made.facts["disruptive"] is False


def test_a_bare_host_gets_the_long_term_branch() -> None:
    made = plan(BARE, Packages("dpkg", {}, QUOTE), loaded="")
    assert made.refused == ()
    assert made.facts["spec"]["version"] == "580"
    assert made.facts["spec"]["pin"] == "nvidia-driver-pinning-580"
    assert made.facts["repository"] == {
        "dest": "/etc/apt/sources.list.d/cuda-debian13-x86_64.list",
        "content": "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] "
        "https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64/ /\n",
        "key": "https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64/cuda-keyring_1.1-1_all.deb",
    }
    assert "driver.version" in differing(made) and "driver.loaded" in differing(made)
    assert made.unsafe == ("no NVIDIA module is loaded",)


def test_an_upgrade() -> None:
    made = plan(version="595")
    assert {"driver.version", "driver.loaded", "driver.pin"} <= differing(made)
    assert made.facts["disruptive"] is True
    assert str(made.settings[0]) == "driver.version = 595 (was 580.159.04): the inventory says so"
    assert made.intent == {"driver.version": "595"}


def test_what_is_installed_stays_where_the_inventory_names_nothing() -> None:
    made = plan(have=packages("595.71.05"), loaded="595.71.05")
    assert made.facts["spec"]["version"] == "595" and not made.differs


def test_what_was_loaded_from_an_image_tells_the_branch() -> None:
    made = plan(replace(BARE, loaded=("nvidia",)), Packages("dpkg", {}, QUOTE), loaded="595.58.03")
    assert made.facts["spec"]["version"] == "595" and "driver.packages" in differing(made)


def test_gpus_in_use_are_not_taken_away() -> None:
    busy = boards("NVIDIA GeForce RTX 5090", "VLLM::Worker_TP0")
    (why,) = plan(version="595", gpus=busy).refused
    assert why.startswith("the driver must be unloaded, and the GPUs are in use by VLLM::Worker_TP0 (700)")
    allowed = plan(version="595", gpus=busy, stop_clients=True)
    assert allowed.refused == () and allowed.notes == ("stops what uses the GPUs: VLLM::Worker_TP0 (700)",)
    assert plan(gpus=busy).refused == ()  # nothing is to be done to the driver
    loose = plan(have=packages("580.159.04", held=False), gpus=busy)
    assert (loose.refused, differing(loose)) == ((), {"driver.hold"})  # holding stops nobody


def test_proprietary_is_refused_on_blackwell() -> None:
    (why,) = plan(flavour="proprietary").refused
    assert "Blackwell needs the open one" in why
    hopper = plan(flavour="proprietary", gpus=boards("NVIDIA H200"), hardware=HGX)
    assert hopper.refused == () and "nvidia-kernel-dkms" in hopper.facts["spec"]["versioned"]


def test_a_driver_that_is_too_old() -> None:
    (why,) = plan(version="550").refused
    assert "550 does not know Blackwell" in why


def test_the_vendors_system_is_left_alone() -> None:
    made = plan(replace(READY, dgx="DGX Spark 7.5.0"), Packages("dpkg", {}, QUOTE), version="595")
    assert made.notes == ("DGX Spark 7.5.0 owns the driver (580.159.04), so it is left alone",)
    assert not made.differs and made.facts["left"] == "DGX Spark 7.5.0" and made.refused == ()
    broken = plan(replace(READY, dgx="DGX Spark 7.5.0"), loaded="")
    assert "repair it there" in broken.refused[0]


def test_a_run_file_is_removed_by_its_owner() -> None:
    assert "run nvidia-uninstall first" in plan(replace(READY, run_file=True)).refused[0]


def test_secure_boot_needs_somebody_at_the_console() -> None:
    secure = replace(BARE, secure_boot=True)
    (why,) = plan(secure, Packages("dpkg", {}, QUOTE), loaded="").refused
    assert "mokutil --import" in why
    assert plan(secure, Packages("dpkg", {}, QUOTE), loaded="", key_enrolled=True).refused == ()
    assert plan(replace(READY, secure_boot=True)).refused == ()  # a module is loaded: its key is known
    signed = plan(secure, Packages("dpkg", {}, QUOTE), loaded="", os="ubuntu 24.04")
    assert signed.refused == () and signed.facts["spec"]["plain"][0].startswith("linux-modules-nvidia-580-server-open")


def test_ubuntus_archive_has_neither_every_branch_nor_every_release() -> None:
    bare = Packages("dpkg", {}, QUOTE)
    assert "has no signed modules of branch 610" in plan(BARE, bare, os="ubuntu 24.04", source="archive", version="610").refused[0]  # fmt: skip
    assert "580.95.05 cannot be had there" in plan(BARE, bare, os="ubuntu 24.04", source="archive", version="580.95.05").refused[0]  # fmt: skip


def test_a_system_without_names() -> None:
    assert "no names of driver packages are known" in plan(os="arch").refused[0]


def test_a_library_beside_another_module_is_unsafe() -> None:
    made = plan(have=packages("580.159.04"), loaded="580.95.05")
    assert made.unsafe == (
        "the loaded module is 580.95.05 and the installed driver 580.159.04: they do not work together",
    )
    assert "driver.loaded" in differing(made)


def test_an_interrupted_transaction() -> None:
    half = packages("580.159.04", Package("nvidia-kernel-open-dkms", "595.71.05-1", "amd64", whole=False))
    made = plan(replace(READY, unfinished='{"step": "install"}'), half, version="595")
    assert "half installed: nvidia-kernel-open-dkms" in next(
        str(s) for s in made.settings if s.key == "driver.packages"
    )
    assert "driver.change" in differing(made)


def test_a_kernel_without_a_module_and_an_old_ramdisk() -> None:
    made = plan(replace(READY, kernels=(KERNEL, "6.12.63+deb13-amd64"), stale_initramfs=("/boot/initrd.img-x",)))
    assert differing(made) == {"driver.kernels", "driver.initramfs"} and not made.facts["disruptive"]


def test_nouveau() -> None:
    made = plan(replace(BARE, loaded=("nouveau",)), Packages("dpkg", {}, QUOTE), loaded="")
    assert "nouveau" in differing(made)


def test_parameters() -> None:
    wanted = {"NVreg_EnableStreamMemOPs": 1, "RegistryDwords": "A=1;B=2"}
    made = plan(parameters=wanted, params={"EnableStreamMemOPs": "0", "RegistryDwords": "A=1;B=2"})
    assert differing(made) == {"driver.parameter.EnableStreamMemOPs"} and made.facts["disruptive"]
    gone = plan(parameters={"Gone": "1"}, params={"EnableMSI": "1"})
    assert [s.state for s in gone.settings if s.key.endswith("Gone")] == [State.ABSENT]


def switches(kind: str, **more: Any) -> PcieTree:
    return PcieTree((PcieDevice("0000:07:00.0", kind, "a device", QUOTE, **more),))


def test_an_nvswitch_machine() -> None:
    pcie = switches("Infiniband controller", switch_manager=True)
    made = plan(BARE, Packages("dpkg", {}, QUOTE), loaded="", gpus=boards("NVIDIA B200"), hardware=HGX, pcie=pcie)
    spec = made.facts["spec"]
    assert spec["units"] == ["nvidia-persistenced.service", "nvidia-fabricmanager.service"]
    assert {"nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm"} <= set(spec["versioned"])
    assert "nvlsm" in spec["plain"]
    assert "unit.nvidia-fabricmanager.service" in differing(made)
    pcie = switches("Bridge", nvidia=True)
    h200 = plan(BARE, Packages("dpkg", {}, QUOTE), loaded="", gpus=boards("NVIDIA H200"), hardware=HGX, pcie=pcie)
    assert "nvidia-fabricmanager" in h200.facts["spec"]["versioned"] and "nvlsm" not in h200.facts["spec"]["plain"]


def test_a_guest_whose_host_manages_the_switches() -> None:
    pcie = switches("3D controller", nvidia=True)
    made = plan(BARE, Packages("dpkg", {}, QUOTE), loaded="", gpus=boards("NVIDIA H200"), hardware=HGX, pcie=pcie)
    assert made.facts["spec"]["units"] == ["nvidia-persistenced.service"]
    assert not {"nvidia-fabricmanager", "libnvidia-nscq"} & set(made.facts["spec"]["versioned"])


def test_switches_that_were_not_seen_are_not_guessed() -> None:
    made = plan(BARE, Packages("dpkg", {}, QUOTE), loaded="", gpus=boards("NVIDIA B200"), hardware=HGX)
    assert made.unseen == ("driver.fabric",) and "nvidia-fabricmanager" not in made.facts["spec"]["versioned"]


def test_repositories() -> None:
    bare = Packages("dpkg", {}, QUOTE)
    assert plan(BARE, bare, repository="leave").facts["repository"] == {}
    mirror = plan(BARE, bare, repository="https://mirror.example.org/cuda/").facts["repository"]
    assert "https://mirror.example.org/cuda/ /" in mirror["content"]
    rpm = plan(BARE, Packages("rpm", {}, QUOTE), os="rocky 9.6").facts["repository"]
    assert "gpgkey=https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/D42D0685.pub" in rpm["content"]
    keyring = Packages("dpkg", {"cuda-keyring": Package("cuda-keyring", "1.1-1")}, QUOTE)
    assert plan(BARE, keyring).facts["repository"]["key"] == ""


@pytest.mark.parametrize(
    ("os", "commands"),
    [
        (
            "rhel 9.6",
            "subscription-manager repos --enable codeready-builder-for-rhel-9-x86_64-rpms; dnf install https://dl",
        ),
        ("almalinux 10.0", "dnf config-manager --set-enabled crb; dnf install epel-release"),
        ("ol 9.5", "dnf config-manager --enable ol9_codeready_builder; dnf install oracle-epel-release-el9"),
    ],
)
def test_where_dkms_comes_from(os: str, commands: str) -> None:
    assert (
        f"dkms comes from EPEL. Where it is not enabled: {commands}"
        in plan(BARE, Packages("rpm", {}, QUOTE), os=os).notes[0]
    )
    there = Packages("rpm", {"dkms": Package("dkms", "3.2.2-1.el9")}, QUOTE)
    assert plan(BARE, there, os=os).notes == ()


def test_nothing_seen_is_not_guessed() -> None:
    made = PLAN.make({}, RTX5090, PLAN.defaults)
    assert made.unseen == ("driver",)


@pytest.mark.parametrize(
    "options",
    [
        {"version": "latest"},
        {"version": 580.10},
        {"flavour": "closed"},
        {"source": "ppa"},
        {"repository": "mirror"},
        {"parameters": ["EnableMSI"]},
        {"parameters": {"EnableMSI": 'a"b'}},
        {"parameters": {"options nvidia": "1"}},
        {"clients": "vllm.service"},
        {"clients": ["vllm"]},
    ],
)
def test_what_cannot_be_said(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        plan(**options)


def test_the_spec_is_plain_and_its_patterns_compile() -> None:
    spec = json.loads(json.dumps(plan().facts["spec"]))
    assert re.match(spec["family"], "libnvidia-ml1") and not re.match(spec["family"], "linux-image-amd64")
    assert re.match(spec["not_family"], "nvidia-container-toolkit")


def test_a_library_of_nvidia_settings_tells_no_driver() -> None:
    """Ubuntu's archive has it at 510 whatever driver is there."""
    settings = {n: Package(n, "510.47.03-0ubuntu4.24.04.1", "amd64") for n in ("libxnvctrl0", "nvidia-settings")}
    made = plan(BARE, Packages("dpkg", settings, QUOTE), loaded="580.159.04")
    assert next(s.value for s in made.settings if s.key == "driver.version") == "580"
