import os
import subprocess
from pathlib import Path

from judging import text

from qops.evidence.driver_setup import AptPin, DriverSetup
from qops.probes.driver_setup import SCRIPT, parse, recognise

ANSWER = """\
== driver setup
running kernel: 6.8.0-87-generic
installed kernel: 6.8.0-87-generic
installed kernel: 6.8.0-90-generic
installed kernel: 0-rescue-0123456789abcdef
installed kernel: 6.8.0-87-generic.old
module for kernel: 6.8.0-87-generic
loaded module: nvidia_uvm
loaded module: nvidia
stale initramfs: /boot/initrd.img-6.8.0-87-generic
secure boot: 1
module on disk version: 580.105.08
module on disk license: Dual MIT/GPL
option /etc/modprobe.d/gpu.conf:options nvidia NVreg_EnableStreamMemOPs=1 NVreg_RegistryDwords="ForceP2P=0x11;A=1"
pin /etc/apt/preferences.d/nvidia-driver-pinning-580.pref|*nvidia* libcuda1|version 580.*|1000
unattended-upgrades: installed
not upgraded: nvidia-
not upgraded: libcuda1$
unit nvidia-persistenced.service: active
unit nvidia-fabricmanager.service: absent
unfinished: {"step": "install"}
"""


def test_all_of_it() -> None:
    found = parse([text(ANSWER, "driver setup")])
    assert found is not None
    assert (found.kernel, found.kernels) == ("6.8.0-87-generic", ("6.8.0-87-generic", "6.8.0-90-generic"))
    assert (found.kernels_with_module, found.loaded) == (("6.8.0-87-generic",), ("nvidia_uvm", "nvidia"))
    assert (found.secure_boot, found.disk_version, found.disk_license) == (True, "580.105.08", "Dual MIT/GPL")
    assert [(o.name, o.value) for o in found.options] == [
        ("EnableStreamMemOPs", "1"),
        ("RegistryDwords", "ForceP2P=0x11;A=1"),
    ]
    assert found.pins == (
        AptPin("/etc/apt/preferences.d/nvidia-driver-pinning-580.pref", "*nvidia* libcuda1", "version 580.*", "1000"),
    )
    assert found.kept_from_upgrades == ("nvidia-", "libcuda1$")
    assert found.units == {"nvidia-persistenced.service": "active", "nvidia-fabricmanager.service": "absent"}
    assert found.stale_initramfs == ("/boot/initrd.img-6.8.0-87-generic",)
    assert found.unfinished == '{"step": "install"}'
    assert found.dgx == "" and not found.run_file


def test_a_spark_after_two_updates() -> None:
    found = parse(
        [
            text(
                "== driver setup\nrunning kernel: 6.14.0-1015-nvidia\ndgx NAME: DGX Spark\ndgx SWBUILD_VERSION: 7.2.3\n"
                "dgx OTA_VERSION: 7.3.1\ndgx OTA_VERSION: 7.5.0\ndgx: yes\n"
            )
        ]
    )
    assert found is not None
    assert found.dgx == "DGX Spark 7.5.0"
    assert found.secure_boot is None and found.kept_from_upgrades is None


def test_a_vendors_system_without_a_name() -> None:
    found = parse([text("== driver setup\ndgx: yes\n")])
    assert found is not None and found.dgx == "DGX OS"


def test_a_driver_from_a_run_file() -> None:
    found = parse([text("== driver setup\ninstalled by: .run file\nsecure boot: 0\n")])
    assert found is not None and found.run_file and found.secure_boot is False


def test_other_text() -> None:
    assert not recognise(text("running kernel: 6.8.0-87-generic"))
    assert parse([text("unit nvidia-persistenced.service: active")]) is None


def test_the_script_on_a_root_of_its_own(tmp_path: Path) -> None:
    for path, content in {
        "proc/sys/kernel/osrelease": "6.12.57+deb13-amd64\n",
        "proc/modules": "nouveau 2400000 1 - Live 0xffffffffc0a00000\nsnd 1 0 - Live 0x0\n",
        "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\x06\x00\x00\x00\x01",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    done = subprocess.run(
        ["sh", "-c", SCRIPT], env={**os.environ, "QOPS_ROOT": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    found = parse([text(done.stdout)])
    assert isinstance(found, DriverSetup)
    assert found.kernel == "6.12.57+deb13-amd64"
    assert found.loaded == ("nouveau",)
    assert found.secure_boot is True
