"""Secrets, taken out of what a host answered before it is written to a bundle.

The same secret gets the same `<redacted:N>` everywhere in a bundle, and in all bundles of one collection. Lines stay
lines, so that quotes keep their numbers. What stands for what is known only while bundles are written, unless somebody
asks for it.
"""

import re
import threading
from collections import Counter
from collections.abc import Mapping

from qops.pattern import lazy

PROPAGATED = 12  # bytes a secret must have to be looked for everywhere, also where nothing says that it is one
MANY = 100  # secrets that are looked for everywhere

# Words before `token` that make it one of a vocabulary or a count.
_VOCABULARY = lazy(
    rb"(?:eos|bos|pad|unk|sep|cls|mask|image|audio|video|vision|special|stop|start|end|next|new|last|first|per|num|max|"
    rb"min|one|each|every|draft|added|sampled|think|bad|prompt|output|input|tool|system|bonus|mem)[_\s.-]?$",
    re.IGNORECASE,
)
_NO_VALUE = lazy(
    rb"(?:none|null|nil|true|false|yes|no|on|off|auto|changed|-+|\*+|<[^>]*>|\.{3}|\$[{(].*|(?-i:\$[A-Z_][A-Z0-9_]*)|\{\{.*)$",
    re.I,
)
_NUMBER = lazy(rb"[\d.]{1,9}$")
_IDENTIFIER = lazy(rb"[a-z_.]+\(?$")
_ANY_VARIABLE = lazy(rb"^(?:export |declare -x )?[A-Za-z_]\w{0,200}=", re.MULTILINE)
_KEY = lazy(
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?P<s>(?:(?:\\r|\\n|\r?\n)[ \t]*(?:[A-Z][A-Za-z-]{2,30}:[^\n\\]{0,200}|[A-Za-z0-9+/=]*)[ \t]*)+)"
)
_KEY_LINE = lazy(rb"[A-Za-z0-9+/=][^\r\n\\]*")


# One of these is in the first line of everything that the patterns match: looking for them is a hundred times faster.
_HINTS = (
    *(b"hf_", b"api_org_", b"sk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"glpat-", b"nvapi-"),
    *(
        b"akia",
        b"asia",
        b"aiza",
        b"xox",
        b"eyj",
        b"authorization",
        b"bearer",
        b"@",
        b"curl",
        b"login",
        b'"auth',
        b"'auth",
    ),
    *(b"token", b"secret", b"passw", b"passphrase", b"key", b"credential", b"dockerconfigjson", b"_pwd", b"cookie"),
)
_FOLLOWING = 4  # lines after the first one that a match may reach into


def _spans(data: bytes) -> list[tuple[int, int]]:
    """Return (begin, end) of the whole lines that may hold a secret."""
    lowered = data.lower()
    found: list[tuple[int, int]] = []
    for hint in _HINTS:
        at = lowered.find(hint)
        while at >= 0:
            end = data.find(b"\n", at) + 1 or len(data)
            last = end
            for _ in range(_FOLLOWING):
                last = data.find(b"\n", last) + 1 or len(data)
            found.append((data.rfind(b"\n", 0, at) + 1, last))
            at = lowered.find(hint, end)
    spans: list[tuple[int, int]] = []
    for begin, end in sorted(found):
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return spans


_MARK = lazy(rb"<redacted:(\d{1,9})>")


class Redactor:
    """Takes secrets out of texts; one for each bundle, used by one thread at a time.

    `places` says how many secrets of each kind were replaced, by (where, kind). Those that are made `alike` another
    give the same secret the same mark, in whatever thread.
    """

    def __init__(self, alike: "Redactor | None" = None) -> None:
        self.places: Counter[tuple[str, str]] = Counter()
        self._where = ""
        self._numbers: dict[bytes, int] = alike._numbers if alike else {}
        self._everywhere: list[bytes] = alike._everywhere if alike else []
        self._taken: list[int] = alike._taken if alike else [0]  # the highest number that a mark has
        self._lock: threading.Lock = alike._lock if alike else threading.Lock()

    @property
    def counts(self) -> Counter[str]:
        """How many secrets of each kind were replaced."""
        found: Counter[str] = Counter()
        for (_, kind), count in self.places.items():
            found[kind] += count
        return found

    @property
    def secrets(self) -> Mapping[str, str]:
        """What stands for what: the secrets themselves, by their marks."""
        return {f"<redacted:{number}>": secret.decode(errors="replace") for secret, number in self._numbers.items()}

    def know(self, data: bytes) -> None:
        """Take note of the marks that `data` holds already: none of them will stand for another secret."""
        highest = max((int(found[1]) for found in _MARK.finditer(data)), default=0)
        with self._lock:
            self._taken[0] = max(self._taken[0], highest)

    def knows(self, data: bytes) -> bool:
        """Return whether `data` holds a secret that was found elsewhere."""
        return any(secret in data for secret in tuple(self._everywhere))

    def __call__(self, data: bytes, where: str = "") -> bytes:
        """Return `data` without secrets, with as many lines. `where` is how `places` calls it."""
        self._where = where
        if b"PRIVATE KEY" in data:
            data = _KEY.sub(self._key, data)
        environment = _is_environment(data)
        parts: list[bytes] = []
        at = 0
        for begin, end in _spans(data):
            parts += (data[at:begin], self._redact(data[begin:end], environment))
            at = end
        data = b"".join((*parts, data[at:])) if parts else data
        for secret in tuple(self._everywhere):
            if secret in data:
                self.places[where, "known secret"] += data.count(secret)
                data = data.replace(secret, self._mark(secret))
        return data

    def _redact(self, data: bytes, environment: bool) -> bytes:
        from qops import secret_forms as forms

        for kind, pattern in forms.TOKENS:
            data = pattern.sub(lambda match, kind=kind: self._put(match, kind), data)  # type: ignore[misc]
        named = (forms.ARGUMENT, forms.PAIR, forms.YAML, forms.QUOTED, forms.ASSIGNED)
        for pattern in (forms.VARIABLE, *named) if environment else named:
            data = pattern.sub(self._named, data)
        return data

    def _mark(self, secret: bytes) -> bytes:
        with self._lock:
            if secret not in self._numbers:
                self._taken[0] += 1
                self._numbers[secret] = self._taken[0]
            return b"<redacted:%d>" % self._numbers[secret]

    def _put(self, match: re.Match[bytes], kind: str) -> bytes:
        """Return the match with a mark in the place of its secret; quotes and blanks around that stay."""
        secret = match["s"].strip(b"\"' \t\r")
        if not secret or _NO_VALUE.match(secret):
            return match[0]
        at = match.start("s") - match.start() + match["s"].index(secret)
        self.places[self._where, kind] += 1
        new = secret not in self._numbers
        mark = self._mark(secret)
        if new and len(self._everywhere) < MANY and _is_random(secret):
            self._everywhere.append(secret)
        return match[0][:at] + mark + match[0][at + len(secret) :]

    def _named(self, match: re.Match[bytes]) -> bytes:
        from qops.secret_forms import ASSIGNED

        if match["name"].lower() == b"token":
            before = match.string[max(0, match.start("name") - 16) : match.start("name")]
            if _VOCABULARY.search(before) or _NUMBER.match(match["s"]):
                return match[0]
            # `token=token` in a line of Python is evidence
            if match.re is ASSIGNED and match["name"] == b"token" and _IDENTIFIER.match(match["s"]):
                return match[0]
        return self._put(match, "named secret")

    def _key(self, match: re.Match[bytes]) -> bytes:
        self.places[self._where, "private key"] += 1
        begin, body = match[0][: match.start("s") - match.start()], match["s"]
        mark = self._mark(body)
        if b"\n" in body:
            return begin + _KEY_LINE.sub(mark, body)
        return begin + rb"\n" + mark + rb"\n"  # in one line, as JSON has it


def _is_environment(data: bytes) -> bool:
    """Say whether `data` is mostly variables; then a value ends with its line, blanks or not."""
    sample = data[: 1 << 20]
    if b"\0" in sample:
        return True
    variables = len(_ANY_VARIABLE.findall(sample))
    return variables > 2 and 2 * variables > sample.count(b"\n")


def _is_random(secret: bytes) -> bool:
    letters = re.search(rb"[A-Za-z]", secret)
    return len(secret) >= PROPAGATED and bool(letters) and bool(re.search(rb"\d", secret)) and b" " not in secret


def tokens(data: bytes) -> tuple[str, ...]:
    """Return what kinds of tokens `data` holds, of those that their own form gives away ("Hugging Face token")."""
    from qops.secret_forms import TOKENS

    found = []
    for kind, pattern in TOKENS:
        match = pattern.search(data)
        if match and not _NO_VALUE.match(match["s"].strip(b"\"' \t\r")):
            found.append(kind)
    return ("private key", *found) if _KEY.search(data) else tuple(found)
