"""A model folder that is not there."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="engine-model-not-found",
    about="the engine's unit names a model folder that does not exist",
    plant=(
        "qops-lab-engine override model 'Environment=MODEL=/srv/models/tiny-qwen3-v2'",
        "qops-lab-engine failed",
    ),
    mend=("qops-lab-engine restore model", "qops-lab-engine ready"),
    check="systemctl show -p Environment --value vllm | grep -q /srv/models/tiny-qwen3-v2",
    engine=True,
)
