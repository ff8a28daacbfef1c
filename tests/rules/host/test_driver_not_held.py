from judging import found, judged, outcomes

from qops.evidence.driver_setup import DriverSetup
from qops.evidence.intent import Intent
from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.driver_not_held import driver_not_held

QUOTE = Quote("packages", 1, "== packages dpkg amd64")
OURS = Intent(("nvidia_driver",))


def packages(**held: bool) -> Packages:
    rows = {n.replace("_", "-"): Package(n.replace("_", "-"), "580.95.05-1", "amd64", h) for n, h in held.items()}
    return Packages("dpkg", rows, QUOTE)


def setup(*kept: str, installed: bool = True) -> DriverSetup:
    return DriverSetup(kept_from_upgrades=kept if installed else None, quote=QUOTE)


def test_unattended_upgrades_would_take_a_part() -> None:
    (one,) = found(driver_not_held, packages(libcuda1=False, nvidia_smi=True), setup("nvidia-"))
    assert one.message == "unattended upgrades may replace libcuda1: not held"


def test_the_role_promised_to_hold_all() -> None:
    loose = packages(libcuda1=False, nvidia_smi=True)
    (one,) = found(driver_not_held, loose, setup(installed=False), OURS)
    assert one.message == "the next upgrade may replace libcuda1: not held"


def test_look_alike_on_the_blacklist() -> None:
    assert judged(driver_not_held, packages(libcuda1=False, nvidia_smi=False), setup("lib", "nvidia-", "(")) == ()


def test_held() -> None:
    (outcome,) = judged(driver_not_held, packages(libcuda1=True), setup(), OURS) or ()
    assert outcome == RuledOut("all 1 packages of the driver are held", (QUOTE,))


def test_left_on_purpose_or_the_vendors() -> None:
    chosen = Intent(("nvidia_driver",), settings={"driver.hold": "leave"})
    (outcome,) = judged(driver_not_held, packages(libcuda1=False), setup(), chosen) or ()
    assert isinstance(outcome, RuledOut)
    dgx = DriverSetup(dgx="DGX Spark 7.2.3", kept_from_upgrades=(), quote=QUOTE)
    assert judged(driver_not_held, packages(libcuda1=False), dgx) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(driver_not_held, {}) is None
