from judging import found, judged, outcomes

from qops.evidence.driver_setup import DriverSetup
from qops.evidence.text import Quote
from qops.rules.host.driver_change_unfinished import driver_change_unfinished

QUOTE = Quote("driver setup", 1, "== driver setup")


def test_a_journal_that_stayed() -> None:
    (one,) = found(driver_change_unfinished, DriverSetup(unfinished='{"step": "install"}', quote=QUOTE))
    assert one.message == 'a change of the driver did not come to its end: {"step": "install"}'


def test_no_journal() -> None:
    assert judged(driver_change_unfinished, DriverSetup(quote=QUOTE)) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(driver_change_unfinished, {}) is None
