import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qops.derive import daemon_json, json_file
from qops.errors import UsageError
from qops.evidence.container_engine import ContainerEngine, DaemonFlag, DaemonJson
from qops.evidence.text import Quote

LINE = Quote("/etc/systemd/system/docker.service.d/own.conf", 3, "ExecStart=/usr/bin/dockerd --add-runtime nvidia=/x")
KEYS = st.text("abc-", min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(KEYS, v)
)
OBJECTS = st.dictionaries(KEYS, VALUES)


def _file(text: str) -> DaemonJson:
    return DaemonJson(tuple(text.split("\n")), Quote(daemon_json.PATH, 1, ""))


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('{\n "a": 1,\n}', 3, "is no JSON"),
        ('{\n "a": 1\n "b": 2\n}', 3, "is no JSON"),
        ("[1]", 1, "holds no object but a list"),
        ("{" * 100_000, 1, "is no JSON"),
        ('{\n "a": "\ufffd"\n}', 2, "is not UTF-8"),
    ],
)
def test_what_docker_cannot_read_is_named_with_its_line(text: str, line: int, word: str) -> None:
    content = daemon_json.read(_file(text))
    assert content.line == line
    assert daemon_json.problem(content).startswith(f"{daemon_json.PATH}:{line} {word}")
    assert daemon_json.refusals(content, {}, ())


@pytest.mark.parametrize("file", [None, _file(""), _file("  \n"), _file("{}")])
def test_nothing_is_an_empty_object(file: DaemonJson | None) -> None:
    assert daemon_json.read(file) == json_file.Content()


@given(OBJECTS, OBJECTS)
def test_merging_keeps_every_other_key_and_is_idempotent(before: dict[str, object], wanted: dict[str, object]) -> None:
    once = json_file.merged(before, wanted)
    assert json_file.merged(once, wanted) == once
    assert list(once)[: len(before)] == list(before)
    assert all(once[key] == before[key] for key in before if key not in wanted)
    written = json_file.laid_over("x", json.dumps(before).encode(), wanted)
    assert json.loads(written) == once


def test_a_file_that_has_it_all_keeps_its_bytes() -> None:
    own = b'{"runtimes":{"nvidia":{"path":"/usr/bin/nvidia-container-runtime"}},   "debug":true}'
    assert json_file.laid_over("x", own, {"debug": True}) == own
    with pytest.raises(UsageError, match="x:1 is no JSON"):
        json_file.laid_over("x", b"{,}", {"debug": True})


def test_a_flag_that_says_the_same_is_named_with_its_line() -> None:
    flags = (DaemonFlag("add-runtime", LINE), DaemonFlag("containerd", LINE))
    (reason,) = daemon_json.refusals(json_file.Content(), {"runtimes": {}}, flags)
    assert "runtimes is passed to dockerd by /etc/systemd/system/docker.service.d/own.conf:3" in reason
    assert daemon_json.refusals(json_file.Content(), {"features": {"cdi": True}}, flags) == []


def test_a_clash_that_is_there_already_is_refused_too() -> None:
    content = json_file.Content({"runtimes": {}})
    assert daemon_json.refusals(content, {"features": {}}, (DaemonFlag("add-runtime", LINE),))
    engine = ContainerEngine(daemon_json=_file('{"runtimes": {}}'), flags=(DaemonFlag("add-runtime", LINE),))
    assert [quote for _, quote in daemon_json.stops(engine)] == [LINE]


def test_a_value_of_another_kind_is_refused() -> None:
    (reason,) = daemon_json.refusals(json_file.Content({"features": ["cdi"]}), {"features": {"cdi": True}}, ())
    assert "features as a list" in reason
