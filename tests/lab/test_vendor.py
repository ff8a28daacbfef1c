import json

from judging import text

from qops.lab import scenario, vendor
from qops.probes import driver_setup, system


def test_it_says_that_it_is_dgx_os() -> None:
    files = {path: content for path, content, _ in vendor.files({"name": "DGX Spark", "version": "7.2.3"})}
    found = system.parse([text(files["/etc/os-release"].decode() + "Linux x 6.17.0-1014-nvidia #1 SMP aarch64\n")])
    assert found is not None and found.os == "ubuntu 24.04"
    said = files["/etc/dgx-release"].decode()
    assert 'DGX_NAME="DGX Spark"' in said and 'DGX_SWBUILD_VERSION="7.2.3"' in said
    answer = "== driver setup\ndgx NAME: DGX Spark\ndgx SWBUILD_VERSION: 7.2.3\ndgx: yes\n"
    setup = driver_setup.parse([text(answer)])
    assert setup is not None and setup.dgx == "DGX Spark 7.2.3"


def test_the_toolkit_is_there_and_known_to_docker() -> None:
    files = {path: content for path, content, _ in vendor.files({"name": "DGX Spark", "version": "7.2.3"})}
    assert b"@release@" not in files["/usr/bin/nvidia-ctk"]
    assert "nvidia" in json.loads(vendor.daemon_json())["runtimes"]
    assert all(target in files for _, target in vendor.links())


def test_sparks_have_it_and_others_do_not() -> None:
    assert {name for name in scenario.names() if scenario.load(name).hardware.get("dgx")} == {"spark", "spark-pair"}
