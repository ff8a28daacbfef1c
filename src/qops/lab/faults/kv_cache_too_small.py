"""A context that one request alone could not keep in the cache."""

from qops.lab.fault import Fault

# The model allows 262144 tokens of 16 KiB each, which is 4 GiB with one rank and 2 GiB each with two; the engine
# has 1 GiB for each rank.
FAULT = Fault(
    cause="kv-cache-too-small",
    about="the engine is to serve a context of 262144 tokens, and its KV cache holds less",
    plant=(
        "qops-lab-engine override context 'Environment=MAX_MODEL_LEN=262144'",
        "qops-lab-engine failed",
    ),
    mend=("qops-lab-engine restore context", "qops-lab-engine ready"),
    check="systemctl show -p Environment --value vllm | grep -q MAX_MODEL_LEN=262144",
    engine=True,
)
