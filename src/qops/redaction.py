"""Secrets, taken out of what a host answered before it is written to a bundle.

The same secret gets the same `<redacted:N>` everywhere in a bundle. Lines stay lines, so that quotes keep their
numbers. What stands for what is known only while the bundle is written.
"""

import re
from collections import Counter

PROPAGATED = 12  # bytes a secret must have to be looked for everywhere, also where nothing says that it is one
MANY = 100  # secrets that are looked for everywhere
_FLAGS = re.IGNORECASE | re.MULTILINE

# What a name ends with when its value is a secret. Plurals (`max_num_batched_tokens`), ids (`eos_token_id`) and files
# (`HF_TOKEN_PATH`) end differently, and stay: they are evidence.
_NAME = (
    rb"(?P<name>token|secret|password|passwd|passphrase|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|"
    rb"auth[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|credentials?|dockerconfigjson|_pwd|cookie|"
    rb"(?-i:[A-Z0-9]_KEY))(?:[_-](?:value|base64|b64|\d{1,2}))?"
)
# Words before `token` that make it one of a vocabulary or a count.
_VOCABULARY = re.compile(
    rb"(?:eos|bos|pad|unk|sep|cls|mask|image|audio|video|vision|special|stop|start|end|next|new|last|first|per|num|max|"
    rb"min|one|each|every|draft|added|sampled|think|bad|prompt|output|input|tool|system|bonus|mem)[_\s.-]?$",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(
    rb"(?:none|null|nil|true|false|yes|no|on|off|auto|\*+|<[^>]*>|\.{3}|\$[{(].*|(?-i:\$[A-Z_][A-Z0-9_]*)|\{\{.*)$",
    re.I,
)
_NUMBER = re.compile(rb"[\d.]{1,9}$")
_IDENTIFIER = re.compile(rb"[a-z_.]+\(?$")
_Q = rb"\\{0,3}[\"']"  # a quote, also one inside a string
_BARE = rb"[^\s\"'\\,;&|)}\]\x00]{1,8000}"
_WORD = rb"[^\s\"'\\,\x00]{1,8000}"


def _pattern(*parts: bytes) -> re.Pattern[bytes]:
    return re.compile(b"".join(parts), _FLAGS)


# Each pattern has the secret in the group `s`. The unbounded parts of a pattern cannot match the same bytes, so that
# no text takes long.
_TOKENS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("Hugging Face token", re.compile(rb"(?<![A-Za-z0-9])(?P<s>(?:hf|api_org)_[A-Za-z0-9]{16,200})")),
    ("API key", re.compile(rb"(?<![\w-])(?P<s>sk-[A-Za-z0-9_-]{16,300})")),
    ("GitHub token", re.compile(rb"(?<![A-Za-z0-9])(?P<s>(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}))")),
    ("GitLab token", re.compile(rb"(?<![A-Za-z0-9])(?P<s>glpat-[A-Za-z0-9_-]{20,200})")),
    ("NVIDIA API key", re.compile(rb"(?<![A-Za-z0-9])(?P<s>nvapi-[A-Za-z0-9_-]{20,200})")),
    ("AWS key", re.compile(rb"(?<![A-Za-z0-9])(?P<s>(?:AKIA|ASIA)[A-Z0-9]{16})(?![A-Za-z0-9])")),
    ("Google key", re.compile(rb"(?<![A-Za-z0-9])(?P<s>AIza[A-Za-z0-9_-]{35})")),
    ("Slack token", re.compile(rb"(?<![A-Za-z0-9])(?P<s>xox[abeprs]-[A-Za-z0-9-]{10,250})")),
    ("JWT", re.compile(rb"(?<![\w-])(?P<s>eyJ[\w-]{6,4000}\.[\w-]{6,8000}(?:\.[\w-]{0,4000})?)")),
    (
        "authorization",
        _pattern(
            rb"authorization(?:", _Q, rb")?[ \t]*[:=][ \t]*(?:", _Q, rb")?(?:\w{1,20}[ \t]+)?(?P<s>", _WORD, rb")"
        ),
    ),
    ("bearer token", _pattern(rb"\bbearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{12,8000})")),
    ("URL password", re.compile(rb"://[^\s:/@\"'<>\x00]{0,256}:(?P<s>[^\s/@\"'<>\x00]{1,512})@")),
    ("URL user", re.compile(rb"https?://(?P<s>[^\s:/@\"'<>\x00]{8,512})@")),
    (
        "curl password",
        _pattern(rb"\bcurl\b[^\n]{0,500}?[ \t](?:-u|--user)[ \t=]{1,8}[\"']?[^\s:\"']{1,256}:(?P<s>", _WORD, rb")"),
    ),
    (
        "netrc password",
        _pattern(
            rb"\blogin\s{1,80}\S{1,256}\s{1,80}(?:account\s{1,80}\S{1,256}\s{1,80})?password\s{1,80}(?P<s>\S{1,512})"
        ),
    ),
    ("netrc password", _pattern(rb"^[ \t]*password[ \t]+(?P<s>\S{1,512})[ \t]*$")),
    (
        "registry login",
        _pattern(
            _Q,
            rb"(?:auth|identitytoken|registrytoken)",
            _Q,
            rb"\s{0,20}:\s{0,20}",
            _Q,
            rb"(?P<s>[A-Za-z0-9+/=._-]{4,8000})",
        ),
    ),
)
# Those whose `name` says that the value is a secret.
_ARGUMENT = _pattern(
    rb"(?<![\w-])--?(?!no-)[a-z0-9_-]{0,40}?",
    _NAME,
    rb"(?:=(?:",
    _Q,
    rb")?|(?:",
    _Q,
    rb")?[,\s\x00]{1,80}(?:",
    _Q,
    rb")?)(?!-)(?P<s>",
    _WORD,
    rb")",
)
_PAIR = _pattern(  # {"name": "HF_TOKEN", "value": "…"} as Kubernetes has it, in JSON or YAML
    rb"\bname(?:",
    _Q,
    rb")?\s{0,20}:\s{0,20}(?:",
    _Q,
    rb")?[\w.-]{0,80}?",
    _NAME,
    rb"(?:",
    _Q,
    rb")?\s{0,20},?\s{0,80}(?:",
    _Q,
    rb")?value(?:",
    _Q,
    rb")?\s{0,20}:\s{0,20}(?:",
    _Q,
    rb")?(?P<s>",
    _WORD,
    rb")",
)
_YAML = _pattern(rb"^[ \t]*(?:- )?[\w.-]{0,80}?", _NAME, rb":[ \t]{1,80}(?P<s>[^\s\"'\[{|>&*!][^\n\x00]{0,8000})$")
_QUOTED = _pattern(
    _NAME,
    rb"(?:",
    _Q,
    rb")?[ \t]{0,20}[=:][ \t]{0,20}(?:\[[ \t]*)?(?P<q>[\"'])(?P<s>(?:(?!(?P=q))[^\\\n\x00]|\\.){1,8000})",
)
_ASSIGNED = _pattern(
    _NAME, rb"(?:", _Q, rb")?[ \t]{0,20}[=:][ \t]{0,20}(?:\[[ \t]*)?(?:", _Q, rb")?(?P<s>", _BARE, rb")"
)
_VARIABLE = _pattern(rb"(?:^|(?<=\x00))(?:export |declare -x )?[\w.-]{0,200}?", _NAME, rb"=(?P<s>[^\n\x00]{1,65536})")
_ANY_VARIABLE = re.compile(rb"^(?:export |declare -x )?[A-Za-z_]\w{0,200}=", re.MULTILINE)
_KEY = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?P<s>(?:(?:\\r|\\n|\r?\n)[ \t]*(?:[A-Z][A-Za-z-]{2,30}:[^\n\\]{0,200}|[A-Za-z0-9+/=]*)[ \t]*)+)"
)
_KEY_LINE = re.compile(rb"[A-Za-z0-9+/=][^\r\n\\]*")


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


class Redactor:
    """Takes secrets out of texts; one for each bundle. `counts` says how many of each kind were replaced."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._numbers: dict[bytes, int] = {}
        self._everywhere: list[bytes] = []

    def __call__(self, data: bytes) -> bytes:
        """Return `data` without secrets, with as many lines."""
        if b"PRIVATE KEY" in data:
            data = _KEY.sub(self._key, data)
        environment = _is_environment(data)
        parts: list[bytes] = []
        at = 0
        for begin, end in _spans(data):
            parts += (data[at:begin], self._redact(data[begin:end], environment))
            at = end
        data = b"".join((*parts, data[at:])) if parts else data
        for secret in self._everywhere:
            if secret in data:
                self.counts["known secret"] += data.count(secret)
                data = data.replace(secret, self._mark(secret))
        return data

    def _redact(self, data: bytes, environment: bool) -> bytes:
        for kind, pattern in _TOKENS:
            data = pattern.sub(lambda match, kind=kind: self._put(match, kind), data)  # type: ignore[misc]
        for pattern in (*((_VARIABLE,) if environment else ()), _ARGUMENT, _PAIR, _YAML, _QUOTED, _ASSIGNED):
            data = pattern.sub(self._named, data)
        return data

    def _mark(self, secret: bytes) -> bytes:
        return b"<redacted:%d>" % self._numbers.setdefault(secret, len(self._numbers) + 1)

    def _put(self, match: re.Match[bytes], kind: str) -> bytes:
        """Return the match with a mark in the place of its secret; quotes and blanks around that stay."""
        secret = match["s"].strip(b"\"' \t\r")
        if not secret or _NO_VALUE.match(secret):
            return match[0]
        at = match.start("s") - match.start() + match["s"].index(secret)
        self.counts[kind] += 1
        new = secret not in self._numbers
        mark = self._mark(secret)
        if new and len(self._everywhere) < MANY and _is_random(secret):
            self._everywhere.append(secret)
        return match[0][:at] + mark + match[0][at + len(secret) :]

    def _named(self, match: re.Match[bytes]) -> bytes:
        if match["name"].lower() == b"token":
            before = match.string[max(0, match.start("name") - 16) : match.start("name")]
            if _VOCABULARY.search(before) or _NUMBER.match(match["s"]):
                return match[0]
            # `token=token` in a line of Python is evidence
            if match.re is _ASSIGNED and match["name"] == b"token" and _IDENTIFIER.match(match["s"]):
                return match[0]
        return self._put(match, "named secret")

    def _key(self, match: re.Match[bytes]) -> bytes:
        self.counts["private key"] += 1
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
    found = []
    for kind, pattern in _TOKENS:
        match = pattern.search(data)
        if match and not _NO_VALUE.match(match["s"].strip(b"\"' \t\r")):
            found.append(kind)
    return ("private key", *found) if _KEY.search(data) else tuple(found)
