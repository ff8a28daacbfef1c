"""The NVIDIA container toolkit: its packages, its repository, and what older guides left behind."""

# The four are released together, and a mix is untested (NVIDIA/cloud-native-docs, container-toolkit/install-guide.md).
PACKAGES = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)
NEWEST = "1.20.0-1"  # release notes; the revision has been 1 in all releases since 1.0
# Since then a unit writes the specification when the driver or the toolkit changes, and at boot (its CHANGELOG).
REFRESHES = (1, 18)
UNITS = ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")
SPECIFICATION = "/var/run/cdi/nvidia.yaml"  # where that unit writes

REPOSITORY = "https://nvidia.github.io/libnvidia-container"
# The guide's own names, so that a host that followed the guide is recognised. Its keyring is converted by gpg, which a
# host may not have; apt reads the key as it is under a name in .asc.
APT_LIST = "/etc/apt/sources.list.d/nvidia-container-toolkit.list"
APT_KEY = "/usr/share/keyrings/nvidia-container-toolkit-keyring.asc"
YUM_REPO = "/etc/yum.repos.d/nvidia-container-toolkit.repo"
# With one of these beside the list, apt stops: "Conflicting values set for option Signed-By" (container-toolkit
# troubleshooting.md).
OLD_LISTS = tuple(
    f"/etc/apt/sources.list.d/{name}.list"
    for name in ("nvidia-docker", "nvidia-container-runtime", "libnvidia-container")
)
RUNTIME = {"args": [], "path": "nvidia-container-runtime"}  # as `nvidia-ctk runtime configure` writes it
