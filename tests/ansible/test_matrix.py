"""Every role has what it needs for each operating system, or needs nothing of it."""

import re

import pytest
from playing import ROOT

from qops.data import container_engines, driver_packages, systems

ROLES = sorted(path.parent.name for path in (ROOT / "roles").glob("*/meta"))
# Names, versions and repositories differ: a table has a row for each system.
BY_SYSTEM = {"nvidia_driver", "container_engine"}
# The same package everywhere, brought by apt or by dnf.
BY_MANAGER = {"container_toolkit", "firewall", "host_tuning"}
# Kernel, systemd and files alone, or only what is there already.
INDEPENDENT = {
    "gpu_power",
    "inference_image",
    "inference_service",
    "model_store",
    "monitoring",
    "pcie_p2p",
    "preflight",
    "rdma_network",
    "reboot",
}
OWN = [system for system in systems.ALL if system.tested is not systems.Tested.VENDOR]
each_system = pytest.mark.parametrize("system", OWN, ids=lambda s: s.key)
# As os-release names them.
NAMED = {
    "rhel 9.6": "el 9",
    "rocky 9.5": "el 9",
    "almalinux 10.0": "el 10",
    "centos 10": "el 10",
    "ubuntu 24.04": "ubuntu 24.04",
}


def _modules(role: str) -> set[str]:
    tasks = "\n".join(p.read_text() for p in (ROOT / "roles" / role / "tasks").glob("*.yml"))
    return set(re.findall(r"^\s+ansible\.builtin\.(\w+):", tasks, re.M))


def test_every_role_says_how_it_stands_to_systems() -> None:
    kinds = [BY_SYSTEM, BY_MANAGER, INDEPENDENT]
    assert sorted(name for kind in kinds for name in kind if name in ROLES) == ROLES


@pytest.mark.parametrize("role", sorted(INDEPENDENT & set(ROLES)))
def test_an_independent_role_installs_nothing(role: str) -> None:
    assert _modules(role) & {"apt", "dnf", "package", "deb822_repository", "yum_repository", "rpm_key"} == set()


@pytest.mark.parametrize("role", sorted((BY_SYSTEM | BY_MANAGER) & set(ROLES)))
def test_a_role_that_installs_does_so_with_apt_and_with_dnf(role: str) -> None:
    used = _modules(role)
    text = "\n".join(p.read_text() for p in (ROOT / "roles" / role).rglob("*") if p.is_file())
    for manager in ("apt", "dnf"):
        assert manager in used or re.search(rf"\b{manager}\b", text), manager


@each_system
def test_the_driver_has_a_row_for_it(system: systems.System) -> None:
    row = driver_packages.system(system.key)
    assert row is not None
    assert row.manager == ("dnf" if system.family == "el" else "apt")


@each_system
def test_the_container_engine_has_a_row_for_it(system: systems.System) -> None:
    assert container_engines.OFFERS[system.key].folder


def test_tables_know_no_system_that_the_matrix_does_not() -> None:
    keys = {system.key for system in OWN}
    assert set(driver_packages.SYSTEMS) == keys
    assert set(container_engines.OFFERS) == keys


@pytest.mark.parametrize("said", NAMED)
def test_likes_of_a_system_are_that_system_in_every_table(said: str) -> None:
    key = systems.key(said)
    assert key == NAMED[said]
    assert driver_packages.system(said) == driver_packages.SYSTEMS[key]
    assert container_engines.offer(said) == container_engines.OFFERS[key]


def test_only_what_has_a_base_image_in_the_lab_counts_as_converged() -> None:
    from qops.lab.images import SUITES

    converged = {s.key.replace(" ", "") for s in systems.ALL if s.tested is systems.Tested.CONVERGED}
    assert converged == set(SUITES)


def test_dgx_os_belongs_to_its_vendor() -> None:
    assert systems.key("ubuntu 24.04", "DGX Spark 7.2.3") == "dgx 7"
    assert systems.BY_KEY["dgx 7"].tested is systems.Tested.VENDOR


@pytest.mark.parametrize(
    ("release", "flavour"),
    [
        ("6.8.0-45-generic", "generic"),
        ("6.17.0-1014-nvidia", "nvidia"),
        ("6.8.0-1012-nvidia-64k", "nvidia-64k"),
        ("6.12.57+deb13-amd64", "amd64"),
        ("6.1.0-28-cloud-amd64", "cloud"),
        ("5.14.0-503.11.1.el9_5.x86_64", "el9"),
        ("6.12.0-55.el10_0.x86_64", "el10"),
        ("6.15.2-custom", ""),
    ],
)
def test_flavours_of_kernels(release: str, flavour: str) -> None:
    assert systems.kernel(release)[0] == flavour


def test_the_readme_has_the_matrix() -> None:
    """Each system stands in the row that says how it is tested."""
    rows = {line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")}
    words = {
        systems.Tested.CONVERGED: "converged in the lab",
        systems.Tested.RENDERED: "nobody ran it",
        systems.Tested.VENDOR: "vendor owns",
    }
    for system in systems.ALL:
        (row,) = (line for line in rows if words[system.tested] in line)
        name, _, release = system.title.rpartition(" ")
        assert name.split(",")[0] in row and release in row
