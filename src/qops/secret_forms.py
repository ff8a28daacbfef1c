"""What secrets look like. Imported when something may be one: compiling the patterns takes a tenth of a short run."""

import re

_FLAGS = re.IGNORECASE | re.MULTILINE

# What a name ends with when its value is a secret. Plurals (`max_num_batched_tokens`), ids (`eos_token_id`) and files
# (`HF_TOKEN_PATH`) end differently, and stay: they are evidence.
_NAME = (
    rb"(?P<name>token|secret|password|passwd|passphrase|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|"
    rb"auth[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|credentials?|dockerconfigjson|_pwd|cookie|"
    rb"(?-i:[A-Z0-9]_KEY))(?:[_-](?:value|base64|b64|\d{1,2}))?"
)
_Q = rb"\\{0,3}[\"']"  # a quote, also one inside a string
_BARE = rb"[^\s\"'\\,;&|)}\]\x00]{1,8000}"
_WORD = rb"[^\s\"'\\,\x00]{1,8000}"


def _pattern(*parts: bytes) -> re.Pattern[bytes]:
    return re.compile(b"".join(parts), _FLAGS)


# Each pattern has the secret in the group `s`. The unbounded parts of a pattern cannot match the same bytes, so that
# no text takes long.
TOKENS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
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
ARGUMENT = _pattern(
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
PAIR = _pattern(  # {"name": "HF_TOKEN", "value": "…"} as Kubernetes has it, in JSON or YAML
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
YAML = _pattern(rb"^[ \t]*(?:- )?[\w.-]{0,80}?", _NAME, rb":[ \t]{1,80}(?P<s>[^\s\"'\[{|>&*!][^\n\x00]{0,8000})$")
QUOTED = _pattern(
    _NAME,
    rb"(?:",
    _Q,
    rb")?[ \t]{0,20}[=:][ \t]{0,20}(?:\[[ \t]*)?(?P<q>[\"'])(?P<s>(?:(?!(?P=q))[^\\\n\x00]|\\.){1,8000})",
)
ASSIGNED = _pattern(
    _NAME, rb"(?:", _Q, rb")?[ \t]{0,20}[=:][ \t]{0,20}(?:\[[ \t]*)?(?:", _Q, rb")?(?P<s>", _BARE, rb")"
)
VARIABLE = _pattern(rb"(?:^|(?<=\x00))(?:export |declare -x )?[\w.-]{0,200}?", _NAME, rb"=(?P<s>[^\n\x00]{1,65536})")
