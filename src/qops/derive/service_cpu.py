"""How many threads an engine gets for its own arithmetic, and to which memory its workers are bound.

Read in the wheels of vLLM 0.32.0 and 0.33.0 (v1/executor/multiproc_executor.py, v1/engine/utils.py,
utils/torch_utils.py, utils/numa_utils.py) and of SGLang 0.5.23 (model_executor/model_runner.py, utils/numa_utils.py).
"""

from collections.abc import Collection

from qops.data import engines
from qops.derive.nccl_environment import Choice
from qops.evidence.gpu import Topology
from qops.evidence.kernel import System

_SIZES_ONE = "0.32.0"  # the first release in which vLLM was seen to size the threads of an engine with one worker
_NUMA_BIND = "0.20.0"  # vLLM's --numa-bind
_MOST = 8  # more threads than this were never seen to gain anything

THREADS = "OMP_NUM_THREADS"


def threads(engine: str, version: str, gpus: int, system: System | None) -> Choice:
    """Return OMP_NUM_THREADS for an engine on `gpus` GPUs; left out where the engine chooses better by itself."""
    if engine == "sglang":
        return Choice(THREADS, None, "SGLang's workers go down to one thread by themselves")
    if gpus > 1 or engines.order(version) >= engines.order(_SIZES_ONE):
        because = "vLLM sizes its threads to load and goes down to one to serve, unless this is set"
        return Choice(THREADS, None, because)
    if system is None or not system.cpus:
        return Choice(THREADS, None, "how many processors there are was not seen (lscpu)")
    share = max(1, min(_MOST, system.cpus // 2))
    because = (
        f"vLLM before {_SIZES_ONE} starts a thread for each of {system.cpus} processors, and they wait by spinning;"
        f" half of them, {_MOST} at most, are enough"
    )
    return Choice(THREADS, str(share), because, (system.quote,) if system.quote else ())


def binding(
    engine: str, version: str, gpus: Collection[str], topology: Topology | None, system: System | None
) -> tuple[Choice, ...]:
    """Return what binds workers to the memory next to their GPU; `gpus` as in the topology ("GPU0").

    `--cap-add` among them is an option of the container, all others are the engine's.
    """
    flag = "--numa-bind" if engine == "vllm" else "--numa-node"
    nodes = dict(topology.numa) if topology else {}
    own = [nodes.get(gpu, "") for gpu in gpus]
    if system is not None and system.sockets == 1 and len(set(own)) < 2:
        return (Choice(flag, None, "one socket and one node: all memory is equally near"),)
    if not own or not all(node.isascii() and node.isdigit() for node in own):
        return (Choice(flag, None, "which memory is next to which GPU was not seen (nvidia-smi topo -m)"),)
    far = f"{', '.join(gpus)} are on the NUMA nodes {', '.join(own)}"
    permission = Choice("--cap-add", "SYS_NICE", f"a container may not choose its memory without ({far})")
    if engine == "vllm":
        if engines.order(version) < engines.order(_NUMA_BIND):
            return (Choice(flag, None, f"vLLM has it from {_NUMA_BIND} on"),)
        return (Choice(flag, "", f"workers stay next to their GPU: {far}"), permission)
    states = engines.load("sglang").variables.get("SGLANG_AUTO_NUMA_BIND", ())
    if any(not one.gone and engines.order(one.since) <= engines.order(version) for one in states):
        return (Choice(flag, None, "SGLang finds each GPU's node by itself"), permission)
    return (Choice(flag, " ".join(own), f"workers stay next to their GPU: {far}"), permission)
