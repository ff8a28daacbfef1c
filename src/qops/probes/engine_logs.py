"""The logs of vLLM (0.6 to 0.33) and SGLang (0.4 to 0.5.23): version, arguments, whether it serves.

Wording: vllm entrypoints/{openai/api_server,utils,common/startup}.py, v1/engine/core.py, engine/llm_engine.py and
distributed/device_communicators/pynccl.py; sglang srt/entrypoints/{engine,http_server}.py, and pynccl.py there.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from qops.evidence.engine import EngineLog, EngineLogs
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.engine_arguments import pairs
from qops.probes.engine_log_script import HEADER, SCRIPT

MOST_LOGS = 1000

_NUMBER = r"v?(\d{1,4}\.\d{1,4}[\w.+-]{0,60})"
_VLLM_VERSION = lazy(
    rf"vLLM (?:API )?server version {_NUMBER}|Initializing an? (?:V1 )?LLM engine \({_NUMBER}\)"
    rf"|[█▀▄]\s+version\s+{_NUMBER}|\bvLLM Version\s*: {_NUMBER}|\bvllm=={_NUMBER}",
    re.ASCII,
)
_SGLANG_VERSION = lazy(rf"\bsglang(?:==| version:? |: {{1,20}}| v){_NUMBER}", re.ASCII | re.IGNORECASE)
# The banner ends its line; in a sentence about it, it does not.
_NCCL = lazy(r"\b(?P<engine>vLLM|sglang) is using nccl==(?P<version>\d[\d.]{0,18}\d)\s*$", re.ASCII)
_VLLM_ARGUMENTS = lazy(r"non-default args: (?=\{)|\bargs: (?=Namespace\()", re.ASCII)
_SGLANG_ARGUMENTS = lazy(r"\bserver_args=(?=ServerArgs\(|\{)", re.ASCII)
# vLLM: `(EngineCore_DP0 pid=7) INFO 11-30 10:00:00 [core.py:61] …`; 0.6 wrote `INFO 11-30 10:00:00 core.py:61] …`.
_VLLM_LINE = lazy(
    r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})? \[?[\w./]{1,80}:\d{1,6}\]",
    re.ASCII,
)
_SGLANG_LINE = lazy(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?P<worker>(?: [A-Z]{2,4}\d{1,4}){0,6})\] ", re.ASCII
)

# vllm v1/metrics/loggers.py, v1/spec_decode/metrics.py; sglang srt/managers/scheduler_metrics_mixin.py; uvicorn.
_RATE = lazy(
    r"(?:Avg generation throughput: |Accepted throughput: |gen throughput \(token/s\): )"
    r"(?P<rate>\d{1,9}(?:\.\d{1,6})?)(?: tokens/s, Running: (?P<running>\d{1,6}) req)?",
    re.ASCII,
)
_ANSWERED = lazy(
    r'"POST /(?:v1/(?:chat/completions|completions|embeddings|responses|messages)|generate) HTTP/[\d.]{1,3}" 200\b',
    re.ASCII,
)
_MADE = "init engine ("  # vllm v1/engine/core.py: "(profile, create kv cache, warmup model) took 25.99 seconds"

_VLLM_START = ("vLLM API server version", "vLLM server version")
_VLLM_READY = "Application startup complete."
_SGLANG_READY = "The server is fired up and ready to roll!"
_VLLM_SIGNS = (
    *_VLLM_START,
    "Starting vLLM ",
    "(EngineCore",
    "non-default args: {",
)
_SGLANG_SIGNS = (_SGLANG_READY, "server_args=", "gen throughput (token/s): ", '"POST /generate ')


class _Engine(Struct):
    name: str
    first: Quote | None = None
    version: str = ""
    ready: bool = False
    arguments: tuple[tuple[str, str], ...] = ()
    nccl: str = ""
    last: Quote | None = None
    early: Quote | None = None  # the ready line, in an excerpt that begins with it
    made: Quote | None = None
    served: Quote | None = None

    def begin(self) -> None:
        """Forget what an earlier start came to."""
        self.ready, self.made, self.served = False, None, None


def parse(texts: Sequence[Text]) -> EngineLogs | None:
    """Return one entry for each engine in each of `texts`, or None. Pure and total."""
    logs = [log for text in texts for log in _logs(text)]
    return EngineLogs(tuple(logs[:MOST_LOGS])) if logs else None


def _logs(text: Text) -> list[EngineLog]:
    vllm, sglang = _Engine("vllm"), _Engine("sglang")
    engines = [vllm, sglang]
    for index, line in enumerate(text.lines):
        if line.startswith(HEADER):  # the answer of a host with several engines
            vllm, sglang = _Engine("vllm"), _Engine("sglang")
            engines += [vllm, sglang]
        _vllm(line, index, text, vllm)
        _sglang(line, index, text, sglang)
    found = []
    for engine in engines:
        if engine.first is None:
            continue
        last = engine.last
        end = text.last_line.strip()[:2000]  # of a log that was reduced
        if end and (last is None or last.text != end):
            last = Quote(text.source, 0, end)
        found.append(
            EngineLog(
                engine=engine.name,
                quote=engine.first,
                version=engine.version,
                ready=engine.ready,
                arguments=engine.arguments,
                nccl=engine.nccl,
                last=last or engine.first,
                made=engine.made,
                served=engine.served,
            )
        )
    return found


def _vllm(line: str, index: int, text: Text, log: _Engine) -> None:
    formatted = ":" in line and _VLLM_LINE.search(line) is not None
    if formatted:
        log.last = text.quote(index)
        log.first = log.first or log.last
    if log.first is None and any(sign in line for sign in _VLLM_SIGNS):
        log.first = text.quote(index)
    if any(start in line for start in _VLLM_START):
        log.begin()
    if ("ersion" in line or "LLM engine (" in line or "vllm==" in line) and (said := _VLLM_VERSION.search(line)):
        log.version = next(v for v in said.groups() if v)
    if "args: " in line and (arguments := _VLLM_ARGUMENTS.search(line)):
        log.arguments = pairs(line[arguments.end() :]) or log.arguments
        log.first = log.first or text.quote(index)
        log.begin()  # it was started again
    if "is using nccl==" in line and (nccl := _NCCL.search(line)) and nccl["engine"] == "vLLM":
        log.nccl = nccl["version"]
        log.first = log.first or text.quote(index)
    if _MADE in line and " took " in line:
        log.made = text.quote(index)
    _serves(line, index, text, log)
    # uvicorn says this of any application, SGLang's too, but vLLM says nothing later.
    if _VLLM_READY in line:
        if log.first is None:
            log.early = text.quote(index)
        else:
            log.ready = True
            log.last = text.quote(index)
    elif log.early is not None and log.first is not None:
        log.first, log.early, log.ready = log.early, None, not any(start in line for start in _VLLM_START)


def _sglang(line: str, index: int, text: Text, log: _Engine) -> None:
    if "[20" in line and (formatted := _SGLANG_LINE.search(line)):
        log.last = text.quote(index)
        if formatted["worker"]:
            log.first = log.first or log.last
    if log.first is None and any(sign in line for sign in _SGLANG_SIGNS):
        if "server_args=" in line and _SGLANG_ARGUMENTS.search(line) is None:
            return
        log.first = text.quote(index)
    if "server_args=" in line and (arguments := _SGLANG_ARGUMENTS.search(line)):
        log.arguments = pairs(line[arguments.end() :]) or log.arguments
        log.begin()  # it was started again
    if "glang" in line and (said := _SGLANG_VERSION.search(line)):
        log.version = said[1]
    if "is using nccl==" in line and (nccl := _NCCL.search(line)) and nccl["engine"] == "sglang":
        log.nccl = nccl["version"]
        log.first = log.first or text.quote(index)
    _serves(line, index, text, log)
    if _SGLANG_READY in line:
        log.ready = True
        log.last = text.quote(index)


def _serves(line: str, index: int, text: Text, log: _Engine) -> None:
    if log.first is None:
        return
    if "throughput" in line and (rate := _RATE.search(line)):
        if float(rate["rate"]) > 0:
            log.served = text.quote(index)
        elif int(rate["running"] or 0) > 0:
            log.served = None
    elif "POST /" in line and _ANSWERED.search(line):
        log.served = text.quote(index)


def recognise(text: Text) -> bool:
    """Tell whether `text` holds lines of an engine's log."""
    return bool(_logs(text))


PROBE = Probe(
    name="engine-logs",
    makes=EngineLogs,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "the log of the last start of each vLLM and SGLang unit, and of the containers that run one",
            root=True,
            live_only=True,
            name="engine logs",
        ),
    ),
    families=("nccl", "serve"),
    literals=(
        "vllm api server version",
        "vllm server version",
        "  version ",
        "vllm version",
        "vllm==",
        "llm engine (v",
        "non-default args: ",
        "args: namespace(",
        "is using nccl==",
        "starting vllm ",
        "application startup complete",
        "server_args=",
        "sglang version",
        "sglang==",
        "fired up and ready to roll",
    ),
)
