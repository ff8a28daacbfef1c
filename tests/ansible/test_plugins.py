"""The plugins inside ansible-playbook, where values are lazy templates and tagged strings."""

from pathlib import Path

import pytest
from playing import facts, play


def _print(expression: str) -> dict[str, object]:
    return {"name": "Print", "ansible.builtin.debug": {"msg": "{{ " + expression + " }}"}}


def test_filters_take_lazy_and_tagged_values(tmp_path: Path) -> None:
    """The evidence and the choices are templates of templates, as they come from an inventory."""
    variables = {
        "given": facts("hgx"),
        "lazy": "{{ given }}",
        "swap": 5,
        "chosen": {"vm.swappiness": "{{ swap }}", "cpu.governor": "auto"},
        "codes": ["HST06{{ 1 }}", "HST062"],
        "class_of_inventory": "{{ 'sp' ~ 'ark' }}",
    }
    tasks = [
        _print("lazy | qops_hardware_class"),
        _print("lazy | qops_hardware_class(class_of_inventory)"),
        _print("(lazy | qops_host_tuning('', chosen)).report"),
        _print("(lazy | qops_judge(codes)).findings"),
    ]
    status, output = play(tmp_path, tasks, variables)
    assert status == 0, output
    assert "value: hgx" in output
    assert "value: spark" in output
    assert "vm.swappiness = 5 (was 60): the inventory says so" in output
    assert "HST061 swappiness-too-high: vm.swappiness is 60 and should be 1" in output


def test_an_error_of_a_filter_is_one_sentence(tmp_path: Path) -> None:
    status, output = play(tmp_path, [_print("{} | qops_hardware_class('toaster')")], {})
    assert status == 2
    assert "'toaster' is no hardware class" in output
    assert "Traceback" not in output


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
