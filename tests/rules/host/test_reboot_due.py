from judging import causes, found, judged, outcomes

from qops.evidence.boot import BootLoader
from qops.evidence.kernel import KernelCommandLine
from qops.evidence.readiness import Standing
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.reboot_due import reboot_due

Q = Quote("standing", 1, "== standing")


def test_a_newer_kernel_waits() -> None:
    said = Standing(Q, "6.1.0-28-amd64", ("6.1.0-31-amd64", "6.1.0-28-amd64"))
    (one,) = found(reboot_due, said)
    assert one.message == "a reboot is due: kernel 6.1.0-31-amd64 is installed and 6.1.0-28-amd64 runs"


def test_other_options_wait() -> None:
    line = KernelCommandLine(("BOOT_IMAGE=/vmlinuz", "ro"), Q)
    boot = BootLoader("grubby", Q, ("ro", "iommu=pt", "$tuned_params"))
    (one,) = found(reboot_due, Standing(Q, "6.1.0-28-amd64"), line, boot)
    assert "(+iommu=pt)" in one.message


def test_a_host_that_runs_what_is_installed_is_left_alone() -> None:
    (only,) = judged(reboot_due, Standing(Q, "6.1.0-28-amd64", ("6.1.0-28-amd64",))) or ()
    assert isinstance(only, RuledOut)


def test_it_is_no_cause_of_a_fault() -> None:
    assert causes({"s.txt": "== standing\nrunning: 6.1.0-28-amd64\nrequired:\n"}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(reboot_due, {}) is None
