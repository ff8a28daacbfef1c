from judging import text

from qops.probes.services import parse, recognise

SAID = """== host services
Id=ssh.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled
MemoryMin=536870912
MemoryLow=0

Id=user.slice
LoadState=loaded
ActiveState=active
UnitFileState=static
MemoryMin=0
MemoryLow=infinity

Id=chrony.service
LoadState=not-found
ActiveState=inactive
UnitFileState=

RuntimeWatchdogUSec=0
RuntimeWatchdogSec=30s
RuntimeWatchdogSec=1min
ours: 30s
NTPSynchronized=no
watchdog: SBSA Generic Watchdog
rdma: rocep1s0f0
rdma: roceP2p1s0f0
cgroups: 2
manager: dpkg
limit: * soft memlock 64
limit: *   -   memlock unlimited
limit: root - memlock unlimited
raises: yes
"""


def test_what_a_host_says() -> None:
    found = parse([text(SAID)])
    assert found is not None
    ssh = found.unit("sshd.service", "ssh.service")
    assert ssh is not None
    assert (ssh.at_work, ssh.memory_min, ssh.memory_low) == (True, 536870912, 0)
    assert found.units["user.slice"].memory_low == 1 << 63
    assert found.unit("chrony.service") is None
    assert (found.watchdog, found.watchdog_configured) == ("0", "1min")  # the last file wins
    assert found.watchdog_ours == "30s"
    assert found.watchdog_devices == ("SBSA Generic Watchdog",)
    assert (found.synchronised, found.unified_cgroups, found.raises_limits) == (False, True, True)
    assert found.rdma_devices == ("rocep1s0f0", "roceP2p1s0f0")
    assert found.memlock == {"*": "unlimited", "root": "unlimited"}
    assert found.package_manager == "dpkg"


def test_a_system_without_systemd_says_little() -> None:
    found = parse([text("== host services\n\ncgroups: 1\n")])
    assert found is not None
    assert (found.units, found.watchdog, found.synchronised, found.unified_cgroups) == ({}, "", None, False)
    assert found.raises_limits is None


def test_other_text_is_none() -> None:
    for other in ("Id=ssh.service\nMemoryMin=0\n", "", "== host services of something\n"):
        assert parse([text(other)]) is None
        assert not recognise(text(other))
    assert recognise(text(SAID))
