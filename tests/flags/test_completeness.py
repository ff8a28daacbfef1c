"""The data against the real engines: option names, and what their parsers take and refuse.

The lists were made by the engines themselves: `vllm serve --help=all` of vLLM 0.32.0 (CPU build), the parser that
SGLang 0.5.23 makes, and what both said to 132 and 55 command lines.
"""

from pathlib import Path

import pytest

from qops.data import engines
from qops.flags import Severity, check, made
from qops.flags.accepted import Accepted

HERE = Path(__file__).parent
RELEASES = {"vllm": "0.32.0", "sglang": "0.5.23"}
VERDICTS = [
    (engine, *line.split("\t"))
    for engine, version in RELEASES.items()
    for line in (HERE / f"{engine}-{version}-verdicts.tsv").read_text(encoding="utf-8").splitlines()
]
# The parser takes any name, and the server fails later, when it looks the name up; that is what the checker is for.
LATER = {
    "M --tool-call-parser nosuch",
    "M --quantization nosuch",
    "M --attention-backend nosuch",
    "M --load-format foo",
    "M --tokenizer-mode foo",
    "M --tokenizer-mode slow",
    "M --optimization-level 4",
}


@pytest.mark.parametrize(("engine", "version"), RELEASES.items())
def test_every_option_name_is_known_and_no_other(engine: str, version: str) -> None:
    real = set((HERE / f"{engine}-{version}-options.txt").read_text(encoding="utf-8").split())
    known = set(Accepted(engines.load(engine), version).names)
    own = {"--model-type"} if engine == "sglang" else set()  # taken by `sglang serve` before its parser
    assert known - own == real


@pytest.mark.parametrize(("engine", "verdict", "arguments"), VERDICTS)
def test_the_checker_refuses_what_the_engine_refuses(engine: str, verdict: str, arguments: str) -> None:
    remarks = check(engines.load(engine), RELEASES[engine], made(engine, arguments.split(), {}))
    errors = [one for one in remarks if one.severity is Severity.ERROR]
    refused = verdict == "refused" or arguments in LATER
    assert bool(errors) == refused, errors


def test_the_data_is_small_and_every_state_belongs_to_a_release() -> None:
    folder = Path(engines.__file__).parent
    assert sum(path.stat().st_size for path in folder.glob("*.json")) < 400_000
    for name in engines.ENGINES:
        engine = engines.load(name)
        assert list(engine.versions) == sorted(engine.versions, key=engines.order)
        configs = [keys for one in engine.configs.values() for keys in one.values()]
        for states in (*engine.options.values(), *configs, *engine.variables.values()):
            assert [one.since for one in states] == sorted({one.since for one in states}, key=engines.order)
            assert {one.since for one in states} <= set(engine.versions)


@pytest.mark.parametrize("name", engines.ENGINES)
def test_what_is_to_be_written_instead_is_an_option_of_that_release(name: str) -> None:
    engine = engines.load(name)
    for version in engine.versions:
        accepted = Accepted(engine, version)
        for key, states in engine.options.items():
            option = accepted.now(states)
            if option and option.instead.startswith("--") and "{" not in option.instead:
                flag = option.instead.partition("=")[0].partition(" ")[0].partition(".")[0]
                assert flag in accepted.names, (version, key, option.instead)
