import socket
import subprocess
from typing import Any

import pytest
from judging import text
from msgspec.structs import replace

from qops.derive import readiness
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.errors import UsageError
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.kernel import System
from qops.evidence.readiness import Clock, Contact, Contacts, Disks, Filesystem
from qops.evidence.text import Gap, Gaps, Quote
from qops.plans.base import Plan
from qops.plans.preflight import PLAN
from qops.probes import clock, contacts, disks
from qops.transports.base import lines

Q = Quote("host", 1, "")
HGX = Derived(HardwareClass.HGX, "nvidia-smi shows 8 boards H200")
GB = 1_000_000_000
SEEN: dict[type, Any] = {
    System: System(kernel="6.8.0-45-generic", machine="x86_64", os="ubuntu 24.04", quote=Q),
    DriverSetup: DriverSetup(kernel="6.8.0-45-generic", secure_boot=False, disk_version="580.95.05", quote=Q),
    Disks: Disks((Filesystem("/", "ext4", 900 * GB, 500 * GB, Q),)),
    Clock: Clock(Q, ahead=1, synchronized=True),
}
HUB = "https://hub.example.com"


def _plan(hardware: Derived[HardwareClass] = HGX, seen: dict[type, Any] | None = None, **options: Any) -> Plan:
    return PLAN.make({**SEEN, **(seen or {})}, hardware, {**PLAN.defaults, **PLAN.also, **options})


def _said(plan: Plan) -> dict[str, str]:
    return {s.key: s.value for s in plan.settings}


def test_a_good_host_passes_without_a_word() -> None:
    plan = _plan()
    assert (plan.refused, plan.notes, plan.unseen, plan.differs) == ((), (), (), False)
    assert _said(plan)["system"] == "Ubuntu 24.04"
    assert _said(plan)["kernel"] == "6.8.0-45-generic"


def test_unknown_hardware_is_refused() -> None:
    plan = _plan(Derived(HardwareClass.UNKNOWN, "no NVIDIA GPU was seen"))
    assert plan.refused == ("no NVIDIA GPU was seen. Set qops_hardware_class for this host if you know better",)


def test_a_host_in_the_group_of_another_class_is_refused() -> None:
    assert "the inventory has it in group spark, and it is hgx" in _plan(group_names=["lab", "spark"]).refused[0]
    assert _plan(group_names=["hgx", "lab"]).refused == ()


def test_a_system_that_is_not_known_is_refused_unless_told() -> None:
    fedora = {System: replace(SEEN[System], os="fedora 44")}
    assert "fedora 44 is none of the systems that qops knows (Debian 12" in _plan(seen=fedora).refused[0]
    allowed = _plan(seen=fedora, any_system="true")
    assert allowed.refused == ()
    assert len(allowed.notes) == 1


def test_dgx_os_is_left_to_its_vendor() -> None:
    plan = _plan(seen={DriverSetup: replace(SEEN[DriverSetup], dgx="DGX Spark 7.2.3")})
    assert _said(plan)["system"] == "DGX OS 7"
    assert _said(plan)["driver"] == "the vendor's"
    assert any("left alone here" in str(s) for s in plan.settings)


def test_a_spark_with_another_kernel_is_told() -> None:
    spark = Derived(HardwareClass.SPARK, "nvidia-smi shows 1 board GB10")
    assert "a Spark needs the vendor's kernel" in _plan(spark).notes[0]
    own = {DriverSetup: replace(SEEN[DriverSetup], kernel="6.17.0-1014-nvidia")}
    assert _plan(spark, own).notes == ()


def test_a_driver_of_a_run_file_is_told() -> None:
    assert ".run file" in _plan(seen={DriverSetup: replace(SEEN[DriverSetup], run_file=True)}).notes[0]


@pytest.mark.parametrize(("state", "word"), [(True, "on"), (False, "off"), (None, "not known")])
def test_secure_boot(state: bool | None, word: str) -> None:
    assert _said(_plan(seen={DriverSetup: replace(SEEN[DriverSetup], secure_boot=state)}))["secure boot"] == word


def test_what_was_not_seen_is_unseen() -> None:
    plan = PLAN.make({}, HGX, {**PLAN.defaults, **PLAN.also})
    assert set(plan.unseen) >= {"system", "kernel", "driver", "secure boot", "clock", "disk /"}


def test_little_space_is_told_and_none_is_refused() -> None:
    small = Disks(
        (
            Filesystem("/", "ext4", 100 * GB, 30 * GB, Q),
            Filesystem("/var/lib/docker", "xfs", 90 * GB, GB, Q),
            Filesystem("/srv", "xfs", 90 * GB, 8 * GB, Q),
        )
    )
    plan = _plan(seen={Disks: small}, model_store_root="/srv/models", paths={"/srv/data": 200})
    assert plan.refused == (
        "/var/lib/docker is full (1.0 GB free on /var/lib/docker): nothing can be installed; free some space",
    )
    assert [note.split(" has ")[0] for note in plan.notes] == ["/srv/models", "/srv/data"]


def test_docker_s_own_folder_is_looked_at() -> None:
    assert "disk /data/docker" in _said(_plan(container_engine_daemon={"data-root": "/data/docker"}))


def test_weights_on_the_network_are_not_counted() -> None:
    far = Disks(SEEN[Disks].filesystems, ("/srv/models",))
    assert _said(_plan(seen={Disks: far}, model_store_root="/srv/models"))["disk /srv/models"] == "on the network"


@pytest.mark.parametrize(("ahead", "refused", "notes"), [(5, 0, 0), (-300, 0, 1), (90_000, 1, 0)])
def test_a_wrong_clock(ahead: int, refused: int, notes: int) -> None:
    plan = _plan(seen={Clock: Clock(Q, ahead, False)})
    assert (len(plan.refused), len(plan.notes)) == (refused, notes)


def _contacts(v4: str, v6: str, proxy: str = "") -> dict[type, Any]:
    both = (Contact("hub.example.com", 443, "IPv4", v4, Q), Contact("hub.example.com", 443, "IPv6", v6, Q))
    return {Contacts: Contacts(both, proxy)}


def test_only_what_the_inventory_names_is_tried() -> None:
    def tried(**options: Any) -> list[str]:
        probes = PLAN.asks({**PLAN.defaults, **PLAN.also, **options})
        (argv,) = [p.asks[0].argv for p in probes if p.name == "contacts"] or [()]  # type: ignore[union-attr]
        return list(argv[5:])

    assert tried() == []
    assert tried(model_store_models=[{"repo": "a/b"}]) == ["huggingface.co 443 tls"]
    assert tried(container_engine_repository="http://mirror.example.com:8080/docker") == [
        "mirror.example.com 8080 plain"
    ]
    assert tried(urls=["registry.example.com:5000"]) == ["registry.example.com 5000 tls"]
    assert tried(urls=[HUB], offline=True) == []
    assert tried(urls=[HUB], reach="skip") == []
    assert tried(nvidia_driver_repository="/srv/debs") == []


def test_addresses_are_judged_by_family() -> None:
    assert _plan(seen=_contacts("", ""), urls=[HUB]).notes == ()
    assert _plan(seen=_contacts("", "no address"), urls=[HUB]).notes == ()
    hole = _plan(seen=_contacts("", "timed out"), urls=[HUB])
    assert "answers over IPv4 and not over IPv6 (timed out)" in hole.notes[0]
    none = _plan(seen=_contacts("timed out", "no address"), urls=[HUB])
    assert none.notes == ("hub.example.com is not reached (IPv4: timed out, IPv6: no address)",)
    assert _plan(seen=_contacts("no address", "no address"), urls=[HUB]).notes == (
        "hub.example.com is not reached (its name has no address here)",
    )
    required = _plan(seen=_contacts("refused", "no address"), urls=[HUB], reach="require")
    assert len(required.refused) == 1
    behind = _plan(seen=_contacts("timed out", "no address", "proxy:3128"), urls=[HUB], reach="require")
    assert behind.refused == () and "proxy:3128" in behind.notes[0]


def test_an_air_gapped_host_is_told_what_was_not_tried() -> None:
    assert _plan(urls=[HUB], offline=True).notes == ("not tried, since preflight_offline is true: hub.example.com",)


def test_an_answer_that_did_not_come_is_unseen() -> None:
    late = {Gaps: Gaps((Gap("contacts", "time", "timeout", "contacts"),))}
    assert _plan(seen=late, urls=[HUB]).unseen == ("network",)
    assert _plan(urls=[HUB]).unseen == ()  # `qops plan` asks nobody


@pytest.mark.parametrize(
    "options",
    [{"reach": "maybe"}, {"urls": ["ftp://x"]}, {"images_gb": "many"}, {"paths": {"data": 1}}, {"weights_gb": -1}],
)
def test_what_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _plan(**options)


def test_numbers_of_the_command_line_are_texts() -> None:
    assert _plan(images_gb="600").notes[0].startswith("/var/lib/docker has 500 GB free")


def _asked(probe: Any) -> Any:
    done = subprocess.run(probe.asks[0].argv, capture_output=True, check=False, timeout=30)
    return probe.parse([replace(text("", "host"), lines=lines(done.stdout))])


def test_the_scripts_answer_on_this_machine() -> None:
    free = _asked(disks.PROBE)
    assert free.of("/").available > 0
    assert not any(f.kind == "overlay" and f.mount != "/" for f in free.filesystems)
    assert abs(_asked(clock.compared()).ahead) < 20


def test_contacts_on_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = _asked(contacts.to([("127.0.0.1", port, False), ("127.0.0.1", 1, False)]))
    reasons = {(one.port, one.family): one.reason for one in found.contacts}
    assert reasons[port, "IPv4"] == ""
    assert reasons[1, "IPv4"] == "refused"
    assert reasons[port, "IPv6"] == "no address"


def test_chrony_says_whether_the_clock_is_kept() -> None:
    kept = clock.parse([text("== clock 1796068354 asked \nLeap status     : Normal\n", "clock")])
    assert kept is not None and (kept.ahead, kept.synchronized) == (None, True)
    lost = clock.parse([text("== clock 100 asked 160\nLeap status     : Not synchronised\n", "clock")])
    assert lost is not None and (lost.ahead, lost.synchronized) == (-60, False)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://huggingface.co", ("huggingface.co", 443, True)),
        ("http://mirror:8080/x", ("mirror", 8080, False)),
        ("registry.example.com", ("registry.example.com", 443, True)),
        ("https://[2001:db8::7]:5000/v2", ("2001:db8::7", 5000, True)),
        ("file:///srv", None),
        ("http://host:port/", None),
        ("", None),
    ],
)
def test_where_a_url_leads(url: str, target: object) -> None:
    assert readiness.target(url) == target
