import os
import subprocess
from pathlib import Path

from judging import text

from qops.evidence.text import Text
from qops.probes.sysctls import KEYS, PROBE, SCRIPT, parse, recognise


def test_values_and_absent_keys() -> None:
    found = parse(
        [
            text(
                "vm.max_map_count = 65530\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\nvm.foo absent\n"
                "sysctl: cannot stat /proc/sys/kernel/numa_balancing: No such file or directory\nvm.swappiness=10\n"
            )
        ]
    )
    assert found is not None
    assert found.values == {
        "vm.max_map_count": "65530",
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
        "vm.swappiness": "10",
    }
    assert found.absent == ("vm.foo", "kernel.numa_balancing")


def test_the_hosts_own_answer_wins_over_a_file() -> None:
    loose = text("vm.swappiness = 1", "sysctl.conf")
    found = parse([loose, Text("sysctl", ("vm.swappiness = 60",), probe=PROBE.name)])
    assert found is not None
    assert found.values["vm.swappiness"] == "60"


def test_every_key_is_asked() -> None:
    assert all(f" {key.replace('.', '/')}" in SCRIPT.replace("\n", " ") for key in KEYS)


def test_the_script_prints_the_settings_of_another_root(tmp_path: Path) -> None:
    for key, value in (("vm/swappiness", "10"), ("net/ipv4/tcp_rmem", "4096\t131072\t6291456")):
        (tmp_path / "proc/sys" / key).parent.mkdir(parents=True)
        (tmp_path / "proc/sys" / key).write_text(value + "\n")
    environment = {**os.environ, "QOPS_ROOT": str(tmp_path)}
    said = subprocess.run(["sh", "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True).stdout
    found = parse([Text("sysctl", tuple(said.splitlines()), probe=PROBE.name)])
    assert found is not None
    assert found.values == {"vm.swappiness": "10", "net.ipv4.tcp_rmem": "4096 131072 6291456"}
    assert set(found.absent) == set(KEYS) - set(found.values)


def test_prose_sets_nothing() -> None:
    assert not recognise(text("set vm.max_map_count = 1 in sysctl.conf\nsysctl -w vm.max_map_count=262144"))
