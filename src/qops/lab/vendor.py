"""What makes a practice host of a DGX machine say that it runs DGX OS, and have what that brings beside the driver.

Keys and their order: /etc/dgx-release as owners of a DGX Spark print it. DGX OS 7 is Ubuntu 24.04 by its os-release,
and brings docker with the container toolkit set up: here the stand-ins of the lab's packages, known to no package.
"""

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

TOOLKIT = "1.19.1"

_DGX_RELEASE = """DGX_NAME="{name}"
DGX_PRETTY_NAME="NVIDIA {name}"
DGX_SWBUILD_DATE="2025-09-10-13-50-03"
DGX_SWBUILD_VERSION="{version}"
DGX_COMMIT_ID="0000000"
DGX_PLATFORM="practice host of qops lab"
DGX_SERIAL_NUMBER="0000000000000"
"""
_OS_RELEASE = """PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.3 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=noble
"""
_REFRESH = """[Unit]
Description=Refresh NVIDIA CDI specification file
ConditionPathExists=/usr/bin/nvidia-ctk
After=multi-user.target

[Service]
Type=oneshot
Environment=NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=/var/run/cdi/nvidia.yaml
ExecStart=/usr/bin/nvidia-ctk cdi generate
RemainAfterExit=yes

[Install]
WantedBy=multi-user.target
"""


def files(system: Mapping[str, Any]) -> Iterator[tuple[str, bytes, int]]:
    """Yield path, content and mode of what a vendor's system of a name and a version brings."""
    yield "/etc/dgx-release", _DGX_RELEASE.format(name=system["name"], version=system["version"]).encode(), 0o644
    yield "/etc/os-release", _OS_RELEASE.encode(), 0o644
    programs = resources.files("qops.lab.packages") / "files"
    for name in ("nvidia-ctk", "nvidia-container-runtime"):
        content = (programs / name).read_text(encoding="utf-8").replace("@release@", TOOLKIT)
        yield f"/usr/bin/{name}", content.encode(), 0o755
    yield "/usr/lib/systemd/system/nvidia-cdi-refresh.service", _REFRESH.encode(), 0o644


def links() -> Iterator[tuple[str, str]]:
    """Yield path and target of the links that go with the files."""
    unit = "nvidia-cdi-refresh.service"
    yield f"/etc/systemd/system/multi-user.target.wants/{unit}", f"/usr/lib/systemd/system/{unit}"


def daemon_json() -> bytes:
    """Return docker's configuration as the vendor's system has it."""
    return json.dumps({"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}).encode()
