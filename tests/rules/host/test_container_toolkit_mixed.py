from judging import found, judged

from qops.data.container_toolkit import PACKAGES
from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote
from qops.rules.host.container_toolkit_mixed import container_toolkit_mixed

QUOTE = Quote("packages", 1, "== packages dpkg amd64")


def _packages(*versions: str, whole: bool = True) -> Packages:
    found = {
        n: Package(n, v, "amd64", whole=whole or n != PACKAGES[0]) for n, v in zip(PACKAGES, versions, strict=True)
    }
    return Packages("dpkg", found, QUOTE)


def test_two_versions() -> None:
    (one,) = found(container_toolkit_mixed, _packages("1.20.0-1", "1.20.0-1", "1.19.1-1", "1.20.0-1"))
    assert "libnvidia-container-tools 1.19.1-1" in one.message


def test_a_package_that_is_half_installed() -> None:
    (one,) = found(container_toolkit_mixed, _packages(*["1.20.0-1"] * 4, whole=False))
    assert "nvidia-container-toolkit 1.20.0-1 (not whole)" in one.message


def test_one_version_and_none_at_all_are_left_alone() -> None:
    assert judged(container_toolkit_mixed, _packages(*["1.20.0-1"] * 4)) == ()
    assert judged(container_toolkit_mixed, Packages("dpkg", {}, QUOTE)) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(container_toolkit_mixed) is None
