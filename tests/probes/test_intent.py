from judging import text

from qops.evidence.intent import Intent
from qops.probes.intent import parse, recognise


def test_roles_are_put_together() -> None:
    files = (
        '{"qops_role": "first", "hardware_class": "spark", "settings": {"a.b": "1"}}\n'
        '{"qops_role": "second", "hardware_class": "", "settings": {"a.b": "2", "c.d": 3}}\n'
    )
    assert parse([text(files)]) == Intent(("first", "second"), "", {"a.b": "2"})


def test_other_json_is_not_a_roles() -> None:
    for line in ('{"role": "x"}', '{"qops_role": 1}', '{"qops_role": "x"', '{"qops_role":' + "[" * 5000):
        assert not recognise(text(line))
        assert parse([text(line)]) is None
