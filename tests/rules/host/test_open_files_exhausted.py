import pytest
from judging import causes, outcomes

from qops.rule import RuledOut
from qops.rules.host.open_files_exhausted import open_files_exhausted


@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 24] Too many open files: '/models/part-00007.safetensors'",
        "node3:88:140 [2] NCCL WARN Call to socket failed: Too many open files",
        "accept4: too many open files; retrying in 1s",
        'Error: Os { code: 24, kind: Uncategorized, message: "Too many open files" }',
    ],
)
def test_however_it_is_said(line: str) -> None:
    assert causes({"job.log": line + "\n"})[0] == "open-files-exhausted"


def test_watches_of_files_have_a_limit_of_their_own() -> None:
    line = "failed to create fsnotify watcher: too many open files\n"
    (outcome,) = outcomes(open_files_exhausted, {"job.log": line}) or ()
    assert isinstance(outcome, RuledOut)


def test_a_warning_that_it_could_happen_is_no_fault() -> None:
    line = (
        "(APIServer pid=7) WARNING 11-30 09:12:07 [system_utils.py:255] Found ulimit of 4096 and failed to automatically "
        "increase with error current limit exceeds maximum limit. This can cause fd limit errors like "
        "`OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n\n"
    )
    (outcome,) = outcomes(open_files_exhausted, {"job.log": line}) or ()
    assert isinstance(outcome, RuledOut)
    assert causes({"job.log": line}) == []


def test_the_limit_of_the_whole_machine_is_another() -> None:
    assert causes({"job.log": "OSError: [Errno 23] Too many open files in system\n"}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(open_files_exhausted, {}) is None
