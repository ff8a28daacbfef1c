import pytest
from judging import text

from qops.evidence.text import Text
from qops.probes.hugepages import FILE, PROBE, parse, recognise


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("always [madvise] never", "madvise"),
        ("[always] madvise never", "always"),
        (f"{FILE}:always madvise [never]", "never"),
        ("THP: [always] madvise never", "always"),
    ],
)
def test_the_choice_in_force(line: str, wanted: str) -> None:
    found = parse([text(line)])
    assert found is not None
    assert (found.enabled, found.choices) == (wanted, ("always", "madvise", "never"))


@pytest.mark.parametrize(
    "line",
    [
        "always defer defer+madvise [madvise] never",  # defrag
        "always inherit madvise [never]",  # one size
        "/sys/kernel/mm/transparent_hugepage/defrag:[always] madvise never",
        "we tried always, [madvise] and never",
        "[always] [madvise] never",
    ],
)
def test_look_alikes(line: str) -> None:
    assert not recognise(text(line))
    assert parse([text(line)]) is None


def test_a_kernel_without_them() -> None:
    found = parse([text(f"{FILE}: none")])
    assert found is not None and (found.enabled, found.choices) == ("", ())


def test_the_hosts_own_answer_wins() -> None:
    own = Text("hugepages", (f"{FILE}:always [madvise] never",), probe=PROBE.name)
    found = parse([text("[always] madvise never"), own])
    assert found is not None and found.enabled == "madvise"
