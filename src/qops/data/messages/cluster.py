"""Messages of Kubernetes' parts that hand out GPUs."""

from qops.evidence.message import Message

PLUGIN_WITHOUT_NVML = Message(
    "cluster-plugin-without-nvml",
    r"If this is a GPU node, did you (?:set the docker default runtime to .?nvidia|configure the NVIDIA Container Toolkit)",
    ("If this is a GPU node",),
    "NVIDIA k8s-device-plugin 0.9 to 0.19: what it says when the container that it runs in has no NVML",
)
