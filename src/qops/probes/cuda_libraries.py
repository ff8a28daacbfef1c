"""The libcuda, NCCL and NVML files of a machine, and which libcuda the loader takes."""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from qops.evidence.process import CudaLibraries, CudaLibrary
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes import elf
from qops.probes.base import Command, Probe
from qops.probes.loader import picked

# Lists what exists, without opening a device. `-> ` gives what a link means. The compat note is a text of less than
# a thousand bytes in a library of a hundred megabytes: grep finds it in well under a second.
SCRIPT = r"""echo '== libraries'
for d in /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/lib /usr/lib/wsl/lib \
    /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/local/cuda*/compat /usr/local/cuda*/compat/lib.real \
    /usr/local/cuda*/lib64/stubs /usr/local/cuda*/targets/*/lib/stubs; do
  for f in "$d"/libcuda.so* "$d"/libnvidia-ml.so* "$d"/libnccl.so*; do
    [ -e "$f" ] && echo "$f -> $(readlink -f "$f")"
  done
done
echo '== loader'
PATH="$PATH:/sbin:/usr/sbin"
ldconfig -p 2>/dev/null | grep -E 'lib(cuda|nccl|nvidia-ml)\.so'
echo "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
grep -HE '^[^#]*(compat|stubs)' /etc/ld.so.conf /etc/ld.so.conf.d/*.conf 2>/dev/null
echo '== compat notes'
last=
for f in /usr/local/cuda*/compat/libcuda.so.*.*; do
  real=$(readlink -f "$f"); [ -e "$real" ] && [ "$real" != "$last" ] || continue
  last=$real
  echo "note $real $(grep -aoE '\{"[^{}]*"CUDA [Vv]ersion"[^{}]*\}' "$real" 2>/dev/null | head -n 1)"
done
true
"""

_KIND = r"lib(?:cuda|nccl|nvidia-ml)\.so(?:\.[0-9]{1,5}){0,4}"
_PATH = rf"(/[\w.+@/\-]{{0,300}}/{_KIND})"
_PLAIN = lazy(rf"^\s*{_PATH}(?:\s+->\s+(\S{{1,300}}))?\s*$")
_CACHED = lazy(rf"^\s*({_KIND}) \([^)]{{1,80}}\) => {_PATH}\s*$")
_LDD = lazy(rf"^\s*({_KIND}) => {_PATH} \(0x[0-9a-f]{{1,16}}\)\s*$")
_FOLDER = lazy(r"^\s*(/[\w.+@/\-]{1,300}):\s*$")
_COMMAND = lazy(r"(?:^|[$#>] ?)\s*(?:sudo )?ls\s+(?:-\w+\s+)*(/[\w.+@/\-]{1,300}?)/?\s*$")
_ENTRY = lazy(rf"^\s*(?:[-lrwxsStT.+]{{10,11}}\s.{{1,120}}?\s)?({_KIND})(?:\s+->\s+(\S{{1,300}}))?\s*$")
_LONG = lazy(rf"^[-lrwxsStT.+]{{10,11}}\s.{{1,120}}?\s{_PATH}(?:\s+->\s+(\S{{1,300}}))?\s*$")
_MAPPED = lazy(rf"^/proc/([0-9]{{1,10}})/maps:.{{0,120}}?{_PATH}(?: \(deleted\))?\s*$")
_MAP_ROW = lazy(rf"^[0-9a-f]{{8,16}}-[0-9a-f]{{8,16}} [rwxps-]{{4}} .{{1,80}}?{_PATH}(?: \(deleted\))?\s*$")
_NOTE = lazy(rf"^note {_PATH} (\{{.{{1,2000}}\}})\s*$")
_SEARCH = lazy(r"(?:^|[\s\"'])LD_LIBRARY_PATH=[\"']?(/[^\s\"']{0,4000}|)")
# pip's record of the NCCL package lies beside the folder `nvidia/nccl/lib`; the library's own name says only `.so.2`.
_PACKAGE = lazy(r"(/[\w.+@/\-]{1,300})/nvidia_nccl_cu[0-9]{1,3}-([0-9]{1,3}(?:\.[0-9]{1,4}){1,3})\.dist-info\b")
_OWNER = lazy(r"^== pid ([0-9]{1,10})\b")
_VERSION = lazy(r"\.so\.([0-9]{1,5}\.[0-9]{1,5}(?:\.[0-9]{1,5})?)$")
_DRIVER_NAME = "libcuda.so.1"


class _Seen(Struct):
    libraries: dict[str, CudaLibrary] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    cache: list[tuple[str, str]] = field(default_factory=list)
    loaded: dict[tuple[int, str], None] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)  # folder of Python packages: NCCL's version in it
    search: str | None = None

    def add(self, path: str, quote: Quote, target: str = "") -> None:
        """Note a file, and what it links to."""
        self.libraries.setdefault(path, _library(path, quote))
        if target:
            real = target if target.startswith("/") else f"{path.rpartition('/')[0]}/{target}"
            self.links[path] = real
            if _PLAIN.match(real):
                self.libraries.setdefault(real, _library(real, quote))


def recognise(text: Text) -> bool:
    """Return whether `text` lists such libraries, or is one."""
    if text.data:
        return elf.is_elf(text.data)
    return bool(_read((text,)).libraries)


def parse(texts: Sequence[Text]) -> CudaLibraries | None:
    """Return the libraries, the order in which the loader takes them, and what processes have loaded."""
    seen = _read(texts)
    if not seen.libraries:
        return None
    order = picked(_DRIVER_NAME, seen.search or "", seen.cache, seen.libraries)
    # Without LD_LIBRARY_PATH and without the cache nobody knows what the loader does.
    return CudaLibraries(
        libraries=tuple(_versioned(library, seen) for library in seen.libraries.values()),
        picked=order if seen.cache or seen.search else (),
        loaded=tuple(seen.loaded),
    )


def _library(path: str, quote: Quote) -> CudaLibrary:
    match = _VERSION.search(path)
    return CudaLibrary(
        path=path,
        version=match[1] if match else "",
        quote=quote,
        compat="/compat/" in path,
        stub="/stubs/" in path,
    )


def _read(texts: Sequence[Text]) -> _Seen:
    seen = _Seen()
    for text in texts:
        if text.data:
            _read_binary(text, seen)
            continue
        folder, pid = "", None
        for index, line in enumerate(text.lines):
            if len(line) > 5000 or not (folder or "/" in line or line.startswith("==")):
                continue
            if owner := _OWNER.match(line):
                pid = int(owner[1])
            if match := _FOLDER.match(line) or _COMMAND.search(line):
                folder = match[1]
            elif "LD_LIBRARY_PATH=" in line and (match := _SEARCH.search(line)):
                seen.search = match[1] if seen.search is None else seen.search
            elif "dist-info" in line and (match := _PACKAGE.search(line)):
                seen.packages[match[1]] = match[2]
            elif ".so" in line:
                _read_line(text, index, folder, pid, seen)
            elif not line.strip() or line.startswith("=="):
                folder = ""
    return seen


def _read_line(text: Text, index: int, folder: str, pid: int | None, seen: _Seen) -> None:
    line, quote = text.lines[index], text.quote(index)
    if match := _CACHED.match(line) or _LDD.match(line):
        seen.cache.append((match[1], match[2]))
        seen.add(match[2], quote)
    elif match := _MAPPED.match(line):
        seen.loaded[(int(match[1]), match[2])] = None
        seen.add(match[2], quote)
    elif match := _MAP_ROW.match(line):
        seen.add(match[1], quote)
        if pid is not None:
            seen.loaded[(pid, match[1])] = None
    elif match := _NOTE.match(line):
        seen.add(match[1], quote)
        note = elf.note_from_json(match[2])
        if note:
            seen.libraries[match[1]] = replace(
                seen.libraries[match[1]], compat_drivers=note.drivers, compat_cuda=note.cuda
            )
    elif match := _PLAIN.match(line) or _LONG.match(line):
        seen.add(match[1], quote, match[2] or "")
    elif folder and (match := _ENTRY.match(line)):
        seen.add(f"{folder}/{match[1]}", quote, match[2] or "")


def _read_binary(text: Text, seen: _Seen) -> None:
    path = text.source if text.source.startswith("/") else f"/{text.source}"
    quote = Quote(text.source, 0, "ELF file")
    library = _library(path, quote)
    note = elf.compat_note(text.data)
    if note:
        library = replace(library, compat=True, compat_drivers=note.drivers, compat_cuda=note.cuda)
    if "libnccl" in path.rpartition("/")[2]:
        library = replace(library, version=elf.nccl_version(text.data) or library.version)
    if note or "libcuda" in path or "libnccl" in path or "libnvidia-ml" in path:
        seen.libraries[path] = library


def _versioned(library: CudaLibrary, seen: _Seen) -> CudaLibrary:
    """Give a bare name (`libcuda.so.1`) the version of the file that it links to, or of the only one beside it."""
    site, found, _ = library.path.partition("/nvidia/nccl/lib/")
    if found and not library.version and site in seen.packages:
        return replace(library, version=seen.packages[site])
    real = seen.libraries.get(seen.links.get(library.path, ""))
    if real is None and not library.version:
        folder, _, name = library.path.rpartition("/")
        stem = f"{folder}/{name.partition('.so')[0]}.so."
        beside = {x.version: x for path, x in seen.libraries.items() if path.startswith(stem) and x.version}
        real = next(iter(beside.values())) if len(beside) == 1 else None
    if real is None or real is library:
        return library
    return replace(
        library,
        version=library.version or real.version,
        compat=library.compat or real.compat,
        compat_drivers=library.compat_drivers or real.compat_drivers,
        compat_cuda=library.compat_cuda or real.compat_cuda,
    )


PROBE = Probe(
    name="cuda_libraries",
    makes=CudaLibraries,
    shares=("processes",),  # the libraries that each has loaded
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "which libcuda, NCCL and NVML are installed, and which libcuda a program gets",
            name="cuda libraries",
        ),
    ),
)
