"""Messages and settings of what hands GPUs to containers, beside the container engines themselves."""

from qops.evidence.message import Message

PLUGIN_WITHOUT_NVML = Message(
    "cluster-plugin-without-nvml",
    r"If this is a GPU node, did you (?:set the docker default runtime to .?nvidia|configure the NVIDIA Container Toolkit)",
    ("If this is a GPU node",),
    "NVIDIA k8s-device-plugin 0.9 to 0.19: what it says when the container that it runs in has no NVML",
)
NO_CGROUPS = Message(
    "cluster-no-cgroups",
    r"^(?:[^#]{0,120}[:\s])?no-cgroups\s*=\s*true",
    ("no-cgroups",),
    "nvidia-container-toolkit config.toml; NVIDIA/nvidia-container-toolkit#580",
)
