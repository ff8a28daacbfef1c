import pytest

from qops.probes.sizes import limit, size


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("64M", 1, 64 << 20),
        ("1.5GiB", 1, 3 << 29),
        ("65536k", 1, 64 << 20),
        ("251Gi", 1, 251 << 30),
        ("16gb", 1, 16 << 30),
        ("65536", 1024, 64 << 20),
        ("0", 1024, 0),
        ("", 1, None),
        ("9" * 5000, 1, None),
        ("٣M", 1, None),
        ("many", 1, None),
    ],
)
def test_size(text: str, unit: int, value: int | None) -> None:
    assert size(text, unit) == value


def test_limit_knows_unlimited() -> None:
    assert limit("unlimited") == limit("infinity") == limit("-1") == -1
    assert limit("64", 1024) == 65536
