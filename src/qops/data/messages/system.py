"""Messages of nvidia-smi, NVML, containers, services and package managers."""

from qops.evidence.message import Message

# --- NVML and nvidia-smi ---
NVML_MISMATCH = Message(
    "system-nvml-mismatch",
    r"Driver/library version mismatch|RM has detected an NVML/RM version mismatch|ERROR_LIB_RM_VERSION_MISMATCH"
    r"|LibRmVersionMismatch",
    ("Driver/library version mismatch", "version mismatch", "RM_VERSION_MISMATCH", "LibRmVersionMismatch"),
    "nvml.h and go-nvml, which leaves the NVML_ out; nvidia-smi 460 to 580",
)
NVML_UNKNOWN = Message(
    "system-nvml-unknown",
    r"Failed to initialize NVML: Unknown Error|NVMLError_Unknown|nvmlInit\w{0,12}\W.{0,60}Unknown Error"
    r"|nvml error: unknown error|failed to initi?alize NVML: ERROR_UNKNOWN|unable to initialize NVML.{0,20}Unknown",
    ("NVML: Unknown Error", "NVMLError_Unknown", "nvmlInit", "nvml error", "NVML: ERROR_UNKNOWN", "lize NVML"),
    "NVIDIA/nvidia-container-toolkit#48, #251, #1227",
)
NVML_FAILED = Message(
    "system-nvml-failed",
    r"(?:failed|unable) to initi?ali[sz]e NVML|NVML_ERROR_(?!SUCCESS)\w+|NVMLError\w*|nvml error:",
    ("lize NVML", "NVML_ERROR_", "NVMLError", "nvml error"),
    "nvml.h; pynvml",
)
DRIVER_UNREACHABLE = Message(
    "system-driver-unreachable",
    r"couldn.?t communicate with the NVIDIA driver|nvml error: driver not loaded|NVML: Driver Not Loaded"
    r"|DriverNotLoaded|ERROR_DRIVER_NOT_LOADED|Found no NVIDIA driver on your system",
    (
        "communicate with the NVIDIA driver",
        "driver not loaded",
        "DriverNotLoaded",
        "DRIVER_NOT_LOADED",
        "no NVIDIA driver on your system",
    ),
    "nvidia-smi; libnvidia-container; torch/cuda/__init__.py",
)
ADAPTER_FAILED = Message(
    "system-adapter-failed",
    r"RmInitAdapter failed|rm_init_adapter failed",
    ("RmInitAdapter failed", "rm_init_adapter failed"),
    "open-gpu-kernel-modules kernel-open/nvidia/nv.c, src/nvidia/arch/nvalloc/unix/src/osinit.c",
)
NO_SWITCH = Message(
    "system-no-nvswitch",
    r"query NVSwitch device information .{0,80}NV_WARN_NOTHING_TO_DO",
    ("NV_WARN_NOTHING_TO_DO",),
    "nv-fabricmanager on a machine without NVSwitch: NVIDIA/gpu-operator#610",
)
GPU_IN_ERROR = Message(
    "system-gpu-in-error",
    r"^\|.*\bERR!.*\|",
    ("ERR!",),
    "nvidia-smi: the plain table prints ERR! for what a GPU does not answer",
)
NO_DEVICES = Message("system-no-devices", r"^\W*No devices were found", ("No devices were found",), "nvidia-smi")
GPU_LISTED = Message(
    "system-gpu-listed",
    r"^\W{0,6}GPU \d+: .*\(UUID: |^\|\s+\d+\s+NVIDIA .*(?:On|Off)\s*\|",
    ("(UUID: ", "NVIDIA "),
    "nvidia-smi -L; the plain table",
)
NVML_VERSION = Message(
    "system-nvml-version",
    r"NVML library version: (?P<version>\d[\d.]*)",
    ("NVML library version",),
    "nvidia-smi 535 and later, beside the mismatch",
)
ATTACHED = Message("system-attached-gpus", r"Attached GPUs\s*:\s*(?P<count>\d+)", ("Attached GPUs",), "nvidia-smi -q")
SW_POWER_CAP = Message(
    "system-sw-power-cap", r"SW Power Cap(?:ping)?\s*:\s*Active", ("SW Power Cap",), "nvidia-smi -q -d PERFORMANCE"
)
THERMAL_ACTIVE = Message(
    "system-thermal-active",
    r"(?P<which>[HS]W) Thermal Slowdown\s*:\s*Active|(?P<name>[hs]w_thermal_slowdown)['\"]?\s*[:=]\s*['\"]?(?:1|true"
    r"|Active)",
    ("Thermal Slowdown", "_thermal_slowdown"),
    "nvidia-smi -q -d PERFORMANCE; NVML clocks event reasons",
)
THERMAL_COUNTER = Message(
    "system-thermal-counter",
    r"(?P<which>[HS]W) Thermal Slowdown\s*:\s*(?:(?P<us>\d{1,18}) us|(?P<seconds>\d{1,9}(?:\.\d+)?) s)\b",
    ("Thermal Slowdown",),
    "nvidia-smi -q section Clocks Event Reasons Counters; ollama/ollama#13552",
)
REMAP_PENDING = Message(
    "system-remap-pending",
    r"\bremapped rows?\b.{0,60}\bpending\W{1,4}(?:yes|true)\b",
    ("pending",),
    "people's own words; nvidia-smi -q has two lines for it",
)
POWER_BRAKE = Message(
    "system-power-brake",
    r"HW Power Brake(?: Slowdown)?\s*:\s*Active|hw_power_brake_slowdown['\"]?\s*[:=]\s*['\"]?(?:1|true|Active)",
    ("Power Brake", "power_brake"),
    "nvidia-smi -q -d PERFORMANCE",
)
EVENT_MASK = Message(
    "system-event-mask",
    r"(?<![0-9a-fx-])(?<!mem )0x0{13}(?P<mask>[0-9a-f]{3})\b(?!-)",
    ("0x0000000000000",),
    "nvidia-smi --query-gpu=clocks_event_reasons.active; nvml.h nvmlClocksEventReason*",
)

# --- fabric ---
FABRIC_MANAGER_DOWN = Message(
    "system-fabric-manager-down",
    r"fabric[ _-]?manager\b.{0,40}\b(?:not (?:active|running|installed|started|loaded)|inactive|dead)"
    r"|fabric_manager_active\\?['\"]?\s*:\s*false|nvidia-fabricmanager(?:\.service)?\b.{0,80}(?:could not be found|"
    r"Failed with result|failed to start|main process exited|control process exited|loaded failed|not-found)"
    r"|Failed to start NVIDIA fabric manager",
    ("fabric manager", "fabric_manager", "fabricmanager", "fabric-manager"),
    "leptonai/gpud#1151; systemd; NVIDIA fabric manager user guide",
)
FABRIC_MANAGER_VERSION = Message(
    "system-fabric-manager-version",
    r"interface version (?P<manager>[\d.]+) (?:doesn't|don't|does not) match with driver version (?P<driver>[\d.]+)",
    ("match with driver version",),
    "nv-fabricmanager 550 to 610",
)
FABRIC_MANAGER_UP = Message(
    "system-fabric-manager-up",
    r"fabric[ _-]?manager\b.{0,40}\b(?:is |and )(?:active|running)|fabric_manager_active\\?['\"]?\s*:\s*true"
    r"|Started .{0,30}fabric ?manager|Successfully configured all the available .{0,60}NVSwitches"
    r"|nv-fabricmanager.{0,60}Connected to",
    ("fabric manager", "fabric_manager", "fabricmanager", "Successfully configured"),
    "leptonai/gpud#1151; NVIDIA fabric manager log",
)
FABRIC_IN_PROGRESS = Message(
    "system-fabric-in-progress",
    r"\bstate\\?['\"]?\s*[:=]\s*\\?['\"]?In Progress|fabric\S{0,20}.{0,20}In Progress|^\s*(?:\d+, ?)?In Progress\s*(?:,|$)",
    ("In Progress",),
    "nvidia-smi -q section Fabric; --query-gpu=fabric.state",
)
FABRIC_COMPLETED = Message(
    "system-fabric-completed",
    r"\bstate\\?['\"]?\s*[:=]\s*\\?['\"]?Completed",
    ("Completed",),
    "nvidia-smi -q section Fabric; leptonai/gpud#1106",
)

UNIT_HEADER = Message(
    "system-unit-header",
    r"(?P<unit>nvidia-fabricmanager)\.service - ",
    ("nvidia-fabricmanager.service - ",),
    "systemctl status",
)
UNIT_INACTIVE = Message(
    "system-unit-inactive",
    r"^\s*Active: (?:inactive|failed|activating \(auto-restart\))",
    ("Active: ",),
    "systemctl status",
)

# --- containers ---
NO_GPU_RUNTIME = Message(
    "system-no-gpu-runtime",
    r"could not select device driver\s+\\*\"(?:nvidia)?\\*\"\s*with capabilities: \[\[.{0,60}gpu"
    r"|unknown(?: or invalid)? runtime(?: name)?(?: specified)?:? \\*\"?nvidia"
    r"|no runtime for \\*\"nvidia\\*\" is configured"
    r"|nvidia-container-(?:runtime|cli|toolkit)(?:-hook)?\\*[\"']?:? .{0,30}(?:executable file not found|no such file|"
    r"command not found)|nvidia-ctk: (?:command )?not found"
    r"|executable file \W?nvidia-container-[\w-]{1,20}\W? not found",
    (
        *("could not select device driver", "unknown runtime", "unknown or invalid runtime", "no runtime for"),
        *("nvidia-container-", "nvidia-ctk"),
    ),
    "moby daemon/nvidia_linux.go, runtime; containerd cri; NVIDIA/nvidia-docker#1637, #578",
)
CDI_UNRESOLVED = Message(
    "system-cdi-unresolved",
    r"unresolvable CDI devices? (?P<device>\S+)|could not select device driver\s+\\*\"cdi\\*\""
    r"|CDI device injection failed|failed to inject CDI devices|failed to discover GPU vendor from CDI",
    ("CDI device", "could not select device driver", "GPU vendor from CDI"),
    "tags.cncf.io/container-device-interface; moby/moby#49989; NixOS/nixpkgs#353059",
)
DRIVER_FILE_ABSENT = Message(
    "system-driver-file-absent",
    r"(?:crun|runc|OCI runtime|mount)\b.{0,160}(?:stat|open)\w*(?:'ing)?(?: file)?\W{1,3}"
    r"(?P<path>/[\w./+-]{1,200}/lib(?:cuda|nv|EGL_nv|GL\w{0,12}_nv|vdpau_nv)[\w.-]*\.so\.\d{3}[\d.]*)\W{1,4}no such file",
    ("no such file or directory",),
    "crun and runc: NVIDIA/nvidia-container-toolkit#450, Igalia/webkit-container-sdk#23",
)
DEVICE_NODE_MISSING = Message(
    "system-device-node-missing",
    r"(?:gathering device information while adding|lstat|\bstat|open|cannot access)\b.{0,60}/dev/nvidia[\w-]*.{0,4}: "
    r"[Nn]o such file|ConditionPathExists=/dev/nvidia\S* was not met"
    r"|failed to (?:generate|create) .{0,30}CDI.{0,160}(?:Driver[ _]Not[ _]Loaded|failed to initialize NVML)"
    r"|nvidia-cdi-refresh\.service: Failed with result",
    ("/dev/nvidia", "failed to generate", "failed to create", "nvidia-cdi-refresh.service: Failed"),
    "moby; systemd; NVIDIA/nvidia-docker#288; NixOS/nixpkgs#451912; NVIDIA/nvidia-container-toolkit#1611",
)
RESTART_POLICY = Message(
    "system-restart-policy",
    r"restart['\"]?\s*[:=]\s*['\"]?(?:always|unless-stopped)|RestartPolicy\W.{0,30}(?:always|unless-stopped)"
    r"|--restart[= ](?:always|unless-stopped)",
    ("restart",),
    "compose file; docker inspect; docker run",
)
BOOT = Message(
    "system-boot",
    r"nvidia-cdi-refresh|cdi-generator|after (?:a |the )?(?:re)?boot|on boot|at boot|-- Boot [0-9a-f]{8,}"
    r"|Startup finished in"
    r"|Reached target (?:multi-user|Multi-User)|systemd\[1\]: Start(?:ing|ed) (?:docker|Docker|NVIDIA)",
    ("nvidia-cdi-refresh", "cdi-generator", "boot", "Startup finished", "Reached target", "systemd[1]: Start"),
    "journalctl; NVIDIA/nvidia-container-toolkit#1611",
)
DAEMON_RELOAD = Message(
    "system-daemon-reload",
    r"systemctl (?:--system )?daemon-re(?:load|exec)|systemd\[1\]: Reload(?:ing|ed)\b(?!.{0,120}\.service)"
    r"|Reloading requested from"
    r"|Reexecuting",
    ("daemon-re", "systemd[1]: Reload", "Reloading requested", "Reexecuting"),
    "systemd manager; NVIDIA/nvidia-container-toolkit#251",
)
IN_CONTAINER = Message(
    "system-in-container",
    r"\(container\)|(?:docker|podman|nerdctl|ctr|crictl) (?:\S+ )?exec\b|kubectl (?:\S+ ){0,4}exec\b"
    r"|^root@[0-9a-f]{12}:"
    r"|/\.dockerenv|inside (?:the |a |same running )?container",
    (
        *("(container)", " exec", "root@", "/.dockerenv"),
        *("inside container", "inside the container", "inside a container", "inside same running container"),
    ),
    "shell prompts of containers",
)
LIBRARY_LOAD_FAILED = Message(
    "system-library-load-failed",
    r"load library failed: (?P<library>libnvidia-ml\.so\.1|libcuda\.so\.1)",
    ("load library failed",),
    "libnvidia-container; NVIDIA/nvidia-container-toolkit#154",
)

# --- services and packages ---
PROGRAM_FAILED = Message(
    "system-program-failed",
    r"Traceback \(most recent call last\)|Segmentation fault|\(core dumped\)|Fatal Python error|"
    r"terminate called after throwing|died unexpectedly|Main process exited, code=(?:exited, status=(?!0/)|killed|dumped)",
    (
        "Traceback (most recent",
        "Segmentation fault",
        "core dumped",
        "Fatal Python error",
        "terminate called after",
        "died unexpectedly",
        "Main process exited",
    ),
    "Python; bash; libstdc++; vllm v1/executor/multiproc_executor.py; systemd src/core/service.c",
)
ORDERING_CYCLE = Message(
    "system-ordering-cycle",
    r"(?P<unit>[\w@.\\-]{1,120}): Found ordering cycle(?: on|:) (?P<on>[\w@.\\-]+)"
    r"|Unable to break cycle starting with (?P<start>[\w@.\\-]+)"
    r"|Job (?P<job>[\w@.\\-]+)/\w+ deleted to break ordering cycle"
    r"|Breaking ordering cycle by deleting job (?P<deleted>[\w@.\\-]+)",
    ("ordering cycle", "Unable to break cycle"),
    "systemd src/core/transaction.c, 229 to 257",
)
CYCLE_MEMBER = Message(
    "system-cycle-member",
    r"Found dependency on (?P<unit>[\w@.\\-]+)/",
    ("Found dependency on",),
    "systemd src/core/transaction.c",
)
DRIVER_UPGRADED = Message(
    "system-driver-upgraded",
    r"unattended-upgrade|upgraded?:? (?:lib)?nvidia-|\b(?:lib)?nvidia-[\w-]{1,60}:(?:amd64|arm64) \([\d.]"
    r"|--no-kernel-modules",
    ("unattended-upgrade", "upgrade", ":amd64 (", ":arm64 (", "--no-kernel-modules"),
    "apt history.log, dpkg.log, dnf; nvidia-installer",
)
EXIT_KILLED = Message(
    "system-exit-killed",
    r"exit(?:ed)?(?: with)?(?:ed)?[ _]?(?:status|code)?['\"]? {0,3}[:=(]? {0,3}(?:of )?(?:137|-9)\b|\(137\)|exitcode ?: -9"
    r"|signal 9\b|SIGKILL|code=killed, status=9|died with <Signals\.SIGKILL",
    ("exit", "(137)", "signal 9", "SIGKILL", "status=9"),
    "docker; torch elastic; systemd; Python subprocess",
)
NOT_PERMITTED = Message(
    "kernel-insert-not-permitted",
    r"could not insert '?nvidia\w*'?: Operation not permitted",
    ("Operation not permitted",),
    "kmod under lockdown",
)
KEY_NOT_ENROLLED = Message(
    "kernel-key-not-enrolled",
    r"\.(?:pub|der|crt|pem)\b.{0,20}\bis not enrolled",
    ("is not enrolled",),
    "mokutil --test-key (src/mokutil.c)",
)
DISK_FULL = Message(
    "system-disk-full",
    r"^(?!.*(?:/dev/shm|shared memory|shm_open|/torch_|psm_|posix_fallocate))(?=(?:.*?[\s'\"=(](?P<path>/[\w.+@/-]{3,300}))?)"
    r".*(?:no space left on device|disk quota exceeded)",
    ("no space left on device", "disk quota exceeded"),
    "errno 28 and 122 as libc, Python, Go and docker print them",
)
