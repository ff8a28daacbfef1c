"""Messages and settings of an engine's CPU threads, and of the CPUs that it gets."""

from qops.evidence.message import Message

THREADS = Message(
    "engine-thread-oversubscription",
    r"Reducing Torch parallelism from (?P<from>\d+) threads? to (?P<to>\d+) to avoid unnecessary CPU contention|"
    r"OpenMP threads? .{0,40}(?:oversubscri|exceed|outnumber)|omp_barrier|kmp_flag|__kmp_wait|gomp_team_barrier_wait",
    ("Reducing Torch parallelism", "OpenMP thread", "omp_barrier", "kmp_flag", "__kmp_wait", "gomp_team_barrier_wait"),
    "vllm/executor/multiproc_worker_utils.py; LLVM openmp kmp_wait_release.h; libgomp team.c",
)
CPU_QUOTA = Message(
    "engine-cpu-quota",
    r"\bcpu\.max\W{1,4}(?P<quota>\d{4,9})[ \t]{1,4}(?P<period>\d{4,7})\b|\bcpu\.cfs_quota_us\W{1,4}(?P<cfs>\d{4,9})\b|"
    r"(?:--cpus|\bcpus|--cpus-per-task)(?:\W{1,3}|\s{1,3})(?P<cpus>\d{1,4}(?:\.\d{1,3})?)\b(?![-,]\d)|"
    r"\b(?:cpu|CPU) (?:limit|quota)\W{0,3}(?:of |is |= ?)?(?P<limit>\d{1,4}(?:\.\d{1,3})?)\b(?! ?%)|"
    r"^\s*(?P<bare>\d{4,9}) 100000\s*$|^\s{2,40}cpu: ['\"]?(?P<pod>\d{1,4})['\"]?\s*$",
    ("cpu.max", "cpu.cfs_quota_us", "--cpus", "cpus:", "cpus=", "cpu limit", "cpu quota", " 100000", "cpu: "),
    "Linux cgroup-v2 cpu.max, cgroup-v1; docker run; compose; sbatch; people's own words",
)
CPU_THROTTLED = Message(
    "engine-cpu-throttled",
    r"\bnr_periods\W{1,3}(?P<periods>\d{1,15})\b(?:\W{1,12}nr_throttled\W{1,3}(?P<both>\d{1,15})\b)?|"
    r"\bnr_throttled\W{1,3}(?P<throttled>\d{1,15})\b",
    ("nr_periods", "nr_throttled"),
    "Linux cgroup cpu.stat",
)
THREADS_ASKED = Message(
    "engine-threads-asked",
    r"(?:--threads|\bn_threads|get_num_threads\(\)|leaving Torch threads at|\bOMP_NUM_THREADS)\W{1,4}(?:is )?"
    r"(?P<threads>\d{1,4})\b",
    ("--threads", "n_threads", "get_num_threads()", "Torch threads at", "OMP_NUM_THREADS"),
    "llama.cpp and ollama command lines; vllm/utils/torch_utils.py set_torch_threads_for_runtime (0.26 on)",
)
OMP_MENDS = Message(
    "engine-omp-mends",
    r"\bOMP_NUM_THREADS\b.{0,80}?(?<!not )\b(?:solve[sd]|fixe[sd]|resolve[sd]|disappear(?:s|ed)|helped|back to normal)\b|"
    r"(?<!not )\b(?:solved|fixed|resolved|disappear(?:s|ed)|went away|helped)\b.{0,60}?\bOMP_NUM_THREADS\b",
    ("OMP_NUM_THREADS",),
    "people's own words: vllm#9113, #49013",
)
TENSOR_PARALLEL = Message(
    "engine-tensor-parallel",
    r"(?:--tensor[-_]parallel[-_]size|\btensor_parallel_size|--tp(?:-size)?|\s-tp)[\s=:]{1,3}(?P<ranks>\d{1,3})\b",
    ("tensor-parallel-size", "tensor_parallel_size", "--tp", "-tp "),
    "vllm and sglang arguments",
)
