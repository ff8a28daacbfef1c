import subprocess
from pathlib import Path

import pytest
from judging import text

from qops.evidence.packages import Package
from qops.probes.packages import SCRIPT, parse, recognise

DPKG = """\
== packages dpkg amd64
ii |adduser|3.137|all
hi |nvidia-open|580.105.08-1|amd64
iU |nvidia-dkms-open|580.105.08-1|amd64
iF |libnvidia-compute|580.105.08-1|amd64
iHR|nvidia-smi-broken|1:2~rc1|amd64
it |man-db|2.13.1-1|amd64
rc |nvidia-driver-bin|570.124.06-1|amd64
un |gone||amd64
ii |libc6|2.41-12|amd64
ii |libc6|2.41-12|i386
ii |only32|1.0|i386
"""

RPM = """\
== packages rpm x86_64
lock|nvidia-driver-3:580.105.08-1.el9.*
lock|*nvidia-persistenced*580*
lock|kmod-nvidia-open-dkms
1764000000|nvidia-driver|3:580.105.08-1.el9|x86_64
1764000000|nvidia-driver|3:580.105.08-1.el9|i686
1764000000|nvidia-persistenced|3:580.105.08-1.el9|x86_64
1764000000|kmod-nvidia-open-dkms|3:580.105.08-1.el9|noarch
1764000000|nvidia-settings|3:580.105.08-1.el9|x86_64
1764000300|kernel|5.14.0-611.9.1.el9_7|x86_64
1764000200|kernel|5.14.0-611.5.1.el9_7|x86_64
1764000000|gpg-pubkey|d42d0685-62589a51|(none)
"""


def test_dpkg() -> None:
    found = parse([text(DPKG, "packages")])
    assert found is not None
    assert found.manager == "dpkg"
    assert found.quote is not None and found.quote.line == 1
    assert found.packages["adduser"] == Package("adduser", "3.137", "all")
    assert found.packages["nvidia-open"] == Package("nvidia-open", "580.105.08-1", "amd64", held=True)
    assert found.version("nvidia-open") == "580.105.08-1"


def test_what_dpkg_has_not_finished_is_not_whole() -> None:
    found = parse([text(DPKG)])
    assert found is not None
    half = [name for name, package in found.packages.items() if not package.whole]
    assert half == ["nvidia-dkms-open", "libnvidia-compute", "nvidia-smi-broken", "man-db", "nvidia-driver-bin"]
    assert found.packages["nvidia-driver-bin"].version == ""  # only its configuration is left
    assert found.packages["nvidia-dkms-open"].version == "580.105.08-1"
    assert found.version("nvidia-dkms-open") == ""


def test_the_hosts_own_architecture_wins() -> None:
    found = parse([text(DPKG)])
    assert found is not None
    assert found.packages["libc6"].architecture == "amd64"
    assert found.packages["only32"].architecture == "i386"
    assert "gone" not in found.packages


def test_rpm_with_its_locks() -> None:
    found = parse([text(RPM)])
    assert found is not None
    assert found.manager == "rpm"
    assert found.version("nvidia-driver") == "3:580.105.08-1.el9"
    assert found.packages["nvidia-driver"].architecture == "x86_64"
    held = [name for name, package in found.packages.items() if package.held]
    assert held == ["nvidia-driver", "nvidia-persistenced", "kmod-nvidia-open-dkms"]
    assert found.version("kernel") == "5.14.0-611.9.1.el9_7"  # installed last
    assert "gpg-pubkey" not in found.packages


@pytest.mark.parametrize(
    ("lock", "held"),
    [
        ("bash-0:5.1.8-9.el9.*", True),
        ("bash-5.1.8-9.el9", True),
        ("bash-5.2*", False),
        ("bash", True),
        ("bash-completion", False),
    ],
)
def test_forms_of_a_lock(lock: str, held: bool) -> None:
    found = parse([text(f"== packages rpm x86_64\nlock|{lock}\n1764000000|bash|5.1.8-9.el9|x86_64\n")])
    assert found is not None
    assert found.packages["bash"].held is held


def test_other_text() -> None:
    assert not recognise(text("ii |adduser|3.137|all"))
    assert parse([text("== packages of the day\n")]) is None


@pytest.mark.skipif(not Path("/var/lib/dpkg/status").exists(), reason="this machine has no dpkg")
def test_the_script_on_this_machine() -> None:
    done = subprocess.run(["sh", "-c", SCRIPT], capture_output=True, text=True, check=True)
    found = parse([text(done.stdout)])
    assert found is not None
    assert found.version("dpkg")
    listed = [line for line in done.stdout.splitlines()[1:] if line]
    assert len(found.packages) > 0.5 * len(listed)
