import subprocess
from pathlib import Path

import pytest
from judging import text

from qops.evidence.kernel import CpuFrequency
from qops.probes.cpu_frequency import SCRIPT, parse, recognise

AT = "/sys/devices/system/cpu/cpu"


def test_governors_are_counted() -> None:
    answer = (
        f"{AT}0/cpufreq/scaling_governor:powersave\n{AT}1/cpufreq/scaling_governor:performance\n"
        f"{AT}2/cpufreq/scaling_governor:powersave\n"
        f"{AT}0/cpufreq/scaling_available_governors:performance powersave \n"
        f"{AT}1/cpufreq/scaling_available_governors:performance powersave schedutil\n"
        f"{AT}0/cpufreq/scaling_driver:amd-pstate-epp\n"
    )
    found = parse([text(answer)])
    assert found is not None
    assert found.governors == {"powersave": 2, "performance": 1}
    assert found.available == ("performance", "powersave")
    assert (found.driver, found.autonomous) == ("amd-pstate-epp", None)
    assert found.quote is not None and found.quote.line == 1


@pytest.mark.parametrize(("value", "wanted"), [("1", True), ("0", False), ("Y", True), ("N", False)])
def test_autonomous_selection(value: str, wanted: bool) -> None:
    found = parse([text(f"/sys/module/cppc_cpufreq/parameters/auto_sel_mode:{value}")])
    assert found is not None and found.autonomous is wanted


def test_no_cpufreq_at_all() -> None:
    assert parse([text("/sys/devices/system/cpu/cpufreq: none")]) == CpuFrequency({})


def test_policy_folders_as_people_grep_them() -> None:
    answer = "  /sys/devices/system/cpu/cpufreq/policy0/scaling_governor:schedutil\n"
    assert recognise(text(answer))
    found = parse([text(answer)])
    assert found is not None and found.governors == {"schedutil": 1}


def test_a_command_in_prose_says_nothing() -> None:
    prose = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor\nscaling_governor matters\n"
    assert not recognise(text(prose))
    assert parse([text(prose)]) is None


def test_the_script_reads_the_redirected_tree(tmp_path: Path) -> None:
    for cpu in range(2):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text("ondemand\n")
        (folder / "scaling_available_governors").write_text("ondemand performance\n")
    done = subprocess.run(
        ["sh", "-c", SCRIPT],
        env={"QOPS_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = parse([text(done.stdout)])
    assert found is not None and found.governors == {"ondemand": 2}
    (tmp_path / "sys/devices/system/cpu/cpu0").rename(tmp_path / "gone0")
    (tmp_path / "sys/devices/system/cpu/cpu1").rename(tmp_path / "gone1")
    done = subprocess.run(
        ["sh", "-c", SCRIPT],
        env={"QOPS_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert parse([text(done.stdout)]) == CpuFrequency({})
