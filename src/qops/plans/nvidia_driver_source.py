"""Where a host gets the driver's packages from."""

from typing import Any

from qops.data import driver_packages as data
from qops.evidence.packages import Packages


def repository(where: data.System, machine: str, chosen: str, packages: Packages, *, archive: bool) -> dict[str, Any]:
    """Return the file that names the repository, and the URL of the package with its key; {} where both are left.

    `chosen` is auto (the vendor's), leave, or the URL of a mirror of the vendor's folder for this system.
    """
    if chosen == "leave" or archive:
        return {}
    arch = data.REPOSITORY_MACHINES.get(machine, machine)
    base = f"{data.REPOSITORY}/{where.repository}/{arch}" if chosen == "auto" else chosen
    if where.manager == "dnf":
        lines = (
            f"[cuda-{where.repository}-{arch}]",
            f"name=cuda-{where.repository}-{arch}",
            f"baseurl={base}",
            "enabled=1",
            "gpgcheck=1",
            f"gpgkey={base}/{data.RPM_KEY}",
        )
        return {"dest": f"/etc/yum.repos.d/cuda-{where.repository}.repo", "content": "\n".join(lines) + "\n", "key": ""}
    # The name of the file that the keyring's package brings, so that there is one entry and not two.
    return {
        "dest": f"/etc/apt/sources.list.d/cuda-{where.repository}-{arch}.list",
        "content": f"deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] {base}/ /\n",
        "key": "" if packages.version(data.KEYRING) else f"{base}/{data.KEYRING_FILE}",
    }
