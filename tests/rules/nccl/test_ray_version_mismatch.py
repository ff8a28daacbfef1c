from judging import causes, diagnose, outcomes

from qops.rule import Found
from qops.rules.nccl.ray_version_mismatch import ray_version_mismatch as rule

TEXT = """RuntimeError: Version mismatch: The cluster was started with:
    Ray: {}
    Python: {}
This process on node 10.20.0.9 was started with:
    Ray: {}
    Python: {}
"""


def test_ray_differs() -> None:
    (found,) = outcomes(rule, {"worker.log": TEXT.format("2.46.0", "3.12.9", "2.44.1", "3.12.9")}) or ()
    assert isinstance(found, Found)
    assert "Ray 2.46.0 and 2.44.1" in found.message and "Python" not in found.message


def test_only_the_last_number_of_python_differs() -> None:
    files = {"worker.log": TEXT.format("2.46.0", "3.12.9", "2.46.0", "3.12.3")}
    assert causes(files) == ["ray-version-mismatch"]
    assert "Python 3.12.9 and 3.12.3" in diagnose(files).findings[0].message


def test_the_clients_warning_is_no_fault() -> None:
    warning = TEXT.format("2.41.0", "3.12.8", "2.41.0", "3.12.3").replace(
        "RuntimeError: Version", "WARNING Python patch version"
    )
    assert causes({"client.log": warning}) == []


def test_versions_without_the_error_are_no_fault() -> None:
    assert causes({"versions.txt": "Ray: 2.46.0\nPython: 3.12.9\nRay: 2.44.1\n"}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_the_client_says_it_in_its_own_words() -> None:
    line = "RuntimeError: Python minor versions differ between client and server: client is 3.11.4, server is 3.12.9\n"
    assert causes({"job.log": line}) == ["ray-version-mismatch"]
