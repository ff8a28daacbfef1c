"""A model's folder on another host: one script sends what the reader needs of each file, and nothing of the weights."""

import errno
import re
import zlib

from qops.errors import EvidenceError
from qops.probes.base import Command
from qops.transports.base import clean

SECONDS = 60.0  # for one folder: an index and some hundred headers, from a disk that is busy
MOST = 512 << 20  # bytes of one folder's documents and headers, unpacked
_ENTRY = re.compile(rb"(file|gone|closed) ([0-9]{1,19}) ([0-9]{1,10}) ([^/\n]{1,255})\n")
_END = b"end\n"

# For each file a line "KIND SIZE TAKEN NAME" and then TAKEN bytes: documents whole, of weights the header, of others
# nothing. The reader judges both; here only the bytes are bounded, so that a hostile file costs no more than any other.
# The first argument is the folder, the others are the reader's limits: bytes of a document, and of a header.
_SCRIPT = r"""[ -d "$1" ] || { echo "$1 is no folder there" >&2; exit 2; }
cd -- "$1" || exit
put() {
  case $f in *"
"* | */*) return ;; esac
  printf '%s %s %s %s\n' "$1" "$2" "$3" "$f"
  [ "$3" = 0 ] || head -c "$3" -- "$f"
}
{
  for f in *; do
    [ -d "$f" ] && continue
    if [ ! -e "$f" ]; then if [ -L "$f" ]; then put gone 0 0; fi; continue; fi
    size=$(stat -L -c %s -- "$f") || continue
    if [ ! -f "$f" ] || [ ! -r "$f" ]; then put closed "$size" 0; continue; fi
    take=0
    case $f in
      *.safetensors)
        take=$(od -A n -t u8 -N 8 -- "$f" | tr -d ' ')
        case $take in '' | ????????????*) take=0 ;; esac
        [ "$take" -le "$3" ] && take=$((take + 8)) || take=0
        [ "$take" -ge 64 ] || take=64 ;;
      config.json | hf_quant_config.json | tokenizer_config.json | *.safetensors.index.json) take=$2 ;;
    esac
    [ "$take" -le "$size" ] || take=$size
    put file "$size" "$take"
  done
  echo end
} | gzip -1 -c"""


def question(path: str, document: int, header: int) -> Command:
    """Return the command that sends the folder `path`: documents of at most `document` bytes, headers of `header`."""
    return Command(
        ("sh", "-c", _SCRIPT, "model", path, str(document), str(header)),
        "the documents of a model's folder and the headers of its weights",
        timeout=SECONDS,
        name=f"folder {path}",
        binary=True,
    )


class Sent:
    """The folder that an answer to `question` holds."""

    def __init__(self, path: str, answer: bytes) -> None:
        """Unpack an answer. EvidenceError when it is damaged, cut short or larger than MOST."""
        self.name = path
        self._files: dict[str, tuple[str, int, bytes]] = {}
        data = _unpacked(path, answer)
        at = 0
        while not (data.startswith(_END, at) and at + len(_END) == len(data)):
            entry = _ENTRY.match(data, at)
            if entry is None:
                raise _damaged(path)
            end = entry.end() + int(entry[3])
            name = clean(entry[4].decode(errors="replace"))
            self._files[name] = (entry[1].decode(), int(entry[2]), bytes(data[entry.end() : end]))
            if end > len(data):
                raise _damaged(path)
            at = end

    def names(self) -> tuple[str, ...]:
        """Return the names of all that is no folder, in order."""
        return tuple(sorted(self._files))

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        return self._file(name)[0]

    def start(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file. OSError when more is wanted than was sent."""
        size, sent = self._file(name)
        if min(most, size) > len(sent):
            raise OSError(errno.EFBIG, "more of it would be needed than a host is asked for")
        return sent[:most]

    def _file(self, name: str) -> tuple[int, bytes]:
        kind, size, sent = self._files.get(name, ("gone", 0, b""))
        if kind == "gone":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", name)
        if kind == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", name)
        return size, sent


def _unpacked(path: str, answer: bytes) -> bytes:
    unpack = zlib.decompressobj(wbits=31)  # gzip's form
    try:
        data = unpack.decompress(answer, MOST)
    except zlib.error:
        raise _damaged(path) from None
    if unpack.unconsumed_tail:
        raise EvidenceError(
            f"{path}: its documents and headers have more than {MOST >> 20} MiB",
            "run qops on that host, where it reads them one by one",
        )
    if not unpack.eof:
        raise _damaged(path)
    return data


def _damaged(path: str) -> EvidenceError:
    return EvidenceError(
        f"{path}: the host's answer is damaged or cut short",
        "look again; if files change meanwhile, wait for the download",
    )
