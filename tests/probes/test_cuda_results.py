import pytest
from judging import text

from qops.probes.cuda_results import parse, recognise


@pytest.mark.parametrize("content", ["803\n", "$ python3 probe.py\n803\n[rc=0]\n", "\n  803  \n\n"])
def test_a_number_alone(content: str) -> None:
    found = parse([text(content)])
    assert found is not None
    assert [r.code for r in found.results] == [803]


@pytest.mark.parametrize("content", ["", "[rc=0]", "12\n", "803\n804\n", "803 tokens\n", "step\n100\n", "100\n" * 40])
def test_other_numbers(content: str) -> None:
    assert not recognise(text(content))
    assert parse([text(content)]) is None
