"""A flag that this version of the engine does not know."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="engine-bad-flag",
    about="the engine's unit has a flag that this vLLM does not know; it ends with status 2",
    plant=(
        "qops-lab-engine override flags 'Environment=\"EXTRA_FLAGS=--enable-prefix-cacheing\"'",
        "qops-lab-engine failed",
    ),
    mend=("qops-lab-engine restore flags", "qops-lab-engine ready"),
    check="journalctl -u vllm -n 50 -o cat --no-pager | grep -q 'unrecognized arguments'",
    engine=True,
)
