"""The plugins inside ansible-playbook, where values are lazy templates and tagged strings."""

import re
from pathlib import Path

import pytest
from playing import play


def _print(expression: str) -> dict[str, object]:
    return {"name": "Print", "ansible.builtin.debug": {"msg": "{{ " + expression + " }}"}}


def test_a_plan_takes_the_roles_variables_lazy_as_they_are(tmp_path: Path) -> None:
    variables = {
        "swap": 5,
        "host_tuning_swappiness": "{{ swap }}",
        "host_tuning_governor": "leave",
        "qops_hardware_class": "{{ 'sp' ~ 'ark' }}",
    }
    tasks = [{"name": "Plan", "qops_plan": {"role": "host_tuning"}, "register": "plan"}, _print("plan.report")]
    folder = tmp_path / "root/proc/sys/vm"
    folder.mkdir(parents=True)
    (folder / "swappiness").write_text("33\n")
    _, output = play(tmp_path, tasks, variables, "--check", env={"QOPS_ROOT": str(tmp_path / "root")})
    assert "vm.swappiness = 5 (was 33): the inventory says so" in output, output
    assert "changed=0" in output


def test_a_plan_is_printed_in_lines_and_its_facts_only_on_demand(tmp_path: Path) -> None:
    tasks = [
        {"name": "Plan", "qops_plan": {"role": "host_tuning"}, "register": "plan"},
        _print("plan.facts | length > 0"),
    ]
    variables = {"qops_hardware_class": "spark", "host_tuning_swappiness": 5}
    folder = tmp_path / "root/proc/sys/vm"
    folder.mkdir(parents=True)
    (folder / "swappiness").write_text("33\n")
    for options, shown in ((("--check",), False), (("--check", "-v"), False), (("--check", "-vvv"), True)):
        _, output = play(tmp_path, tasks, variables, *options, env={"QOPS_ROOT": str(tmp_path / "root")})
        assert "vm.swappiness = 5 (was 33): the inventory says so" in output, output
        assert bool(re.search(r"^ *facts:", output, re.M)) is shown, output
        assert "msg: true" in output  # what is not printed is there for the tasks


def test_a_plan_of_a_host_without_gpus_fails_with_what_to_do(tmp_path: Path) -> None:
    status, output = play(tmp_path, [{"name": "Plan", "qops_plan": {"role": "host_tuning"}}], {})
    assert status == 2
    assert "Set qops_hardware_class for this host if you know better" in output
    off = {"host_tuning_manage": "no"}
    status, output = play(tmp_path, [{"name": "Plan", "qops_plan": {"role": "host_tuning"}}], off)
    assert status == 0, output


def test_judging_by_the_rules_of_a_role(tmp_path: Path) -> None:
    folder = tmp_path / "root/proc/sys/vm"
    folder.mkdir(parents=True)
    (folder / "swappiness").write_text("60\n")
    (tmp_path / "root/proc/meminfo").write_text("MemTotal:  131072000 kB\nSwapTotal:   8388604 kB\n")
    tasks = [{"name": "Judge", "qops_verify": {"rules": ["HST06{{ 1 }}"]}}]
    here = {"QOPS_ROOT": str(tmp_path / "root")}
    status, output = play(tmp_path, tasks, {"qops_hardware_class": "hgx"}, env=here)
    assert status == 2
    assert "HST061 swappiness-too-high: vm.swappiness is 60 and should be 1" in output
    (folder / "swappiness").write_text("1\n")
    status, output = play(tmp_path, tasks, {"qops_hardware_class": "hgx"}, env=here)
    assert status == 0, output


class TestFiles:
    """Files that are compared in one round trip."""

    def files(self, folder: Path) -> list[dict[str, object]]:
        own = {"owner": "{{ lookup('pipe', 'id -un') }}", "group": "{{ lookup('pipe', 'id -gn') }}"}
        return [
            {"dest": f"{folder}/made", "state": "directory", **own},
            {"dest": f"{folder}/made/a file", "content": "one {{ 1 + 1 }}\nümläut\n", "mode": "0600", **own},
            {"dest": f"{folder}/made/link", "state": "link", "src": "a file"},
            {"dest": f"{folder}/gone", "state": "absent"},
            {"dest": f"{folder}/kept", "content": "new", "once": True, **own},
        ]

    def run(self, folder: Path, tmp_path: Path, *options: str) -> tuple[int, str]:
        tasks = [
            {"name": "Write", "qops_files": {"files": self.files(folder)}, "register": "done"},
            _print("done.changed_files | map('basename') | join('+')"),
        ]
        return play(tmp_path, tasks, {}, *options)

    def test_what_differs_is_written_once(self, tmp_path: Path) -> None:
        folder = tmp_path / "it's here"
        folder.mkdir()
        (folder / "gone").write_text("old")
        (folder / "kept").write_text("mine")
        status, output = self.run(folder, tmp_path, "--check", "--diff")
        assert status == 0, output
        assert "made+a file+link+gone" in output
        assert "+one 2" in output
        assert sorted(p.name for p in folder.iterdir()) == ["gone", "kept"]  # check mode wrote nothing
        status, output = self.run(folder, tmp_path)
        assert status == 0, output
        made = folder / "made/a file"
        assert (made.read_text(encoding="utf-8"), made.stat().st_mode & 0o777) == ("one 2\nümläut\n", 0o600)
        assert (folder / "made/link").readlink() == Path("a file")
        assert not (folder / "gone").exists()
        assert (folder / "kept").read_text() == "mine"
        status, output = self.run(folder, tmp_path)
        assert status == 0, output
        assert "changed=0" in output
        made.chmod(0o644)
        status, output = self.run(folder, tmp_path)
        assert "changed=1" in output
        assert made.stat().st_mode & 0o777 == 0o600

    def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(self, tmp_path: Path) -> None:
        folder = tmp_path / "here"
        (folder / "made").mkdir(parents=True)
        (folder / "precious").write_text("precious")
        (folder / "made/a file").symlink_to(folder / "precious")
        status, output = self.run(folder, tmp_path)
        assert status == 0, output
        assert (folder / "precious").read_text() == "precious"
        assert not (folder / "made/a file").is_symlink()

    def test_what_is_wrong_with_a_file_is_said(self, tmp_path: Path) -> None:
        for files, told in (
            ([{"dest": "/x", "contents": "y"}], "no such option: contents"),
            ([{"dest": "/x"}], "neither content, template nor file"),
            ([{"dest": "/proc/none/x", "content": "y"}], "/proc/none/x"),
        ):
            status, output = play(tmp_path, [{"name": "Write", "qops_files": {"files": files}}], {})
            assert status == 2
            assert told in output


@pytest.mark.parametrize("check", [(), ("--check", "--diff")], ids=["run", "check"])
def test_evidence_of_this_machine(tmp_path: Path, check: tuple[str, ...]) -> None:
    tasks = [
        {"name": "Look", "qops_evidence": {"kinds": ["Sysctls", "Hugepages", "{{ 'Mem' ~ 'ory' }}"]}},
        _print("ansible_facts.qops_evidence | list"),
        _print("'total is ' ~ ansible_facts.qops_evidence.Memory.total"),
    ]
    status, output = play(tmp_path, tasks, {}, *check)
    assert status == 0, output
    assert "total is 1" in output or "total is " in output
    assert "changed=0" in output
    for kind in ("Sysctls", "Hugepages", "Memory", "Gaps"):
        assert f"- {kind}" in output


def test_evidence_below_another_root(tmp_path: Path) -> None:
    folder = tmp_path / "root/proc/sys/vm"
    folder.mkdir(parents=True)
    (folder / "swappiness").write_text("33\n")
    tasks = [
        {"name": "Look", "qops_evidence": {"kinds": ["Sysctls"]}},
        _print("ansible_facts.qops_evidence.Sysctls"),
    ]
    status, output = play(tmp_path, tasks, {}, env={"QOPS_ROOT": str(tmp_path / "root")})
    assert status == 0, output
    assert "vm.swappiness: '33'" in output
    assert "- kernel.numa_balancing" in output  # absent there, whatever this machine has


def test_options_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    status, output = play(tmp_path, [{"name": "Look", "qops_evidence": {"kinds": ["Gpu"]}}], {})
    assert status == 2
    assert "no such kind of evidence: Gpu" in output
    status, output = play(tmp_path, [{"name": "Look", "qops_evidence": {"kind": ["Gpus"]}}], {})
    assert status == 2
    assert "Unsupported parameters" in output


def test_an_unreachable_host_is_unreachable(tmp_path: Path) -> None:
    tasks = [{"name": "Look", "qops_evidence": {"kinds": ["Memory"]}}]
    where = ("-e", "ansible_connection=ssh", "-e", "ansible_host=127.0.0.1", "-e", "ansible_port=9")
    status, output = play(tmp_path, tasks, {}, *where)
    assert status == 4, output
    assert "unreachable=1" in output
