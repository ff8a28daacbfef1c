"""Processes that use the GPUs, their state, their environment and what they load."""

from msgspec import Struct, field

from qops.evidence.text import Quote


class Process(Struct, frozen=True):
    """One process at one moment. `at` is seconds since the collection began; None: said once."""

    pid: int
    quote: Quote
    command: str = ""
    name: str = ""
    state: str = ""  # R, S, D, T, Z, …; "" when not said
    parent: int | None = None
    wchan: str = ""
    cpu_ticks: int | None = None  # user + system, in clock ticks (100 a second on Linux)
    children: tuple[tuple[int, str], ...] = ()  # (pid, name)
    children_cpu_ticks: int | None = None  # of all living descendants
    read_bytes: int | None = None  # /proc/PID/io rchar
    stack: tuple[str, ...] = ()  # innermost first, function names
    libraries: tuple[str, ...] = ()  # mapped NVIDIA and NCCL libraries
    at: float | None = None
    threads: int | None = None
    switches: int | None = None  # times that the kernel put the main thread on or off a processor, since its start


class Processes(Struct, frozen=True):
    """GPU processes in all samples, in order of time."""

    samples: tuple[Process, ...]

    @property
    def pids(self) -> tuple[int, ...]:
        """Every process seen, in order."""
        return tuple(dict.fromkeys(p.pid for p in self.samples))

    def of(self, pid: int) -> tuple[Process, ...]:
        """Return the samples of one process, in order of time."""
        return tuple(p for p in self.samples if p.pid == pid)


class Variable(Struct, frozen=True):
    """An environment variable, or a line of nccl.conf. `owner` says whose: "pid 615", "shell", "container", a file."""

    name: str
    value: str
    owner: str
    quote: Quote


class Environment(Struct, frozen=True):
    """All variables seen, of all owners."""

    variables: tuple[Variable, ...]

    def get(self, name: str) -> tuple[Variable, ...]:
        """Return each owner's value of `name`."""
        return tuple(v for v in self.variables if v.name == name)

    def value(self, name: str) -> str | None:
        """Return the first value of `name`, or None."""
        return next((v.value for v in self.variables if v.name == name), None)


class CudaLibrary(Struct, frozen=True):
    """A libcuda (or NCCL, or NVML) file. `version` from its name or its own bytes."""

    path: str
    version: str
    quote: Quote
    compat: bool = False  # lies in a cuda-compat folder
    stub: bool = False  # lies in a stubs folder
    compat_drivers: tuple[int, ...] | None = None  # the ELF note's driver majors; None: not read
    compat_cuda: str = ""  # the ELF note's CUDA version


class CudaLibraries(Struct, frozen=True):
    """The libraries that a CUDA program may load. `picked` is what the loader takes, in order, when known."""

    libraries: tuple[CudaLibrary, ...]
    picked: tuple[str, ...] = ()
    loaded: tuple[tuple[int, str], ...] = ()  # (pid, path)

    @property
    def compat(self) -> tuple[CudaLibrary, ...]:
        """Libcuda files of cuda-compat folders."""
        return tuple(x for x in self.libraries if x.compat and "/libcuda.so" in x.path)

    @property
    def driver(self) -> tuple[CudaLibrary, ...]:
        """Libcuda files that belong to the installed driver."""
        return tuple(x for x in self.libraries if "/libcuda.so" in x.path and not x.compat and not x.stub and x.version)


class CudaResult(Struct, frozen=True):
    """A CUDA error number that a program printed as its only answer."""

    code: int
    quote: Quote


class CudaResults(Struct, frozen=True):
    """All such numbers."""

    results: tuple[CudaResult, ...] = field(default_factory=tuple)


class Cgroup(Struct, frozen=True):
    """The memory cgroup of a process. Sizes in bytes; -1: no limit; None: not said."""

    pid: int
    path: str
    quote: Quote
    limit: int | None = None
    used: int | None = None
    oom_kills: int | None = None  # processes that the kernel killed at this limit since the cgroup was made


class Cgroups(Struct, frozen=True):
    """The cgroups of the GPU processes."""

    cgroups: tuple[Cgroup, ...]
