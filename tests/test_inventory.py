import importlib.util
import os
import sys
from pathlib import Path

import pytest

from qops.errors import UsageError
from qops.inventory import Host, hosts
from qops.inventory.files import NEEDS
from qops.inventory.host import host
from qops.inventory.pattern import select

HAS_ANSIBLE = importlib.util.find_spec("ansible") is not None
READERS = [False, pytest.param(True, marks=pytest.mark.skipif(not HAS_ANSIBLE, reason="pip install 'qops[provision]'"))]
both = pytest.mark.parametrize("ansible", READERS, ids=["own reader", "ansible-core"])

YAML = """\
all:
  vars:
    ansible_user: operator
gpu:
  children:
    spark: {}
    hgx:
      hosts:
        hgx-[01:03]: {ansible_port: 2222}
  vars: {ansible_become: true}
spark:
  hosts:
    spark-a: {ansible_host: 192.0.2.11}
    spark-b:
      ansible_host: 192.0.2.12
      ansible_ssh_common_args: -J bastion -o UserKnownHostsFile=/etc/qops/known -o "IdentitiesOnly yes"
"""
INI = """\
# the same in the older form
solo ansible_host=198.51.100.9

[spark]
spark-a ansible_host=192.0.2.11
spark-b ansible_host=192.0.2.12 ansible_ssh_common_args='-J bastion -o UserKnownHostsFile=/etc/qops/known -o "IdentitiesOnly yes"'

[hgx]
hgx-[01:03] ansible_port=2222

[gpu:children]
spark
hgx

[gpu:vars]
ansible_become=yes

[all:vars]
ansible_user = operator
"""


@pytest.fixture
def yaml(tmp_path: Path) -> str:
    (tmp_path / "hosts.yml").write_text(YAML)
    return str(tmp_path / "hosts.yml")


def names(source: str, pattern: str, ansible: bool) -> list[str]:
    return sorted(h.name for h in hosts(source, pattern, ansible=ansible))


@both
def test_a_host_has_what_its_groups_and_it_itself_say(yaml: str, ansible: bool) -> None:
    a, b = hosts(yaml, "spark", ansible=ansible)
    assert a == Host("spark-a", "192.0.2.11", 0, "operator", become=True, class_="spark")
    assert b == Host(
        "spark-b", "192.0.2.12", 0, "operator", known_hosts=("/etc/qops/known",), jump="bastion", become=True,
        class_="spark", only_key=True,
    )  # fmt: skip
    assert hosts(yaml, "hgx-02", ansible=ansible) == (
        Host("hgx-02", "hgx-02", 2222, "operator", become=True, class_="hgx"),
    )


@both
def test_the_ini_form_says_the_same(yaml: str, tmp_path: Path, ansible: bool) -> None:
    (tmp_path / "hosts").write_text(INI)
    assert set(hosts(str(tmp_path / "hosts"), "gpu", ansible=ansible)) == set(hosts(yaml, "gpu", ansible=ansible))
    assert hosts(str(tmp_path / "hosts"), "solo", ansible=ansible) == (Host("solo", "198.51.100.9", user="operator"),)


@both
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("all", ["hgx-01", "hgx-02", "hgx-03", "spark-a", "spark-b"]),
        ("*", ["hgx-01", "hgx-02", "hgx-03", "spark-a", "spark-b"]),
        ("spark", ["spark-a", "spark-b"]),
        ("spark-a,hgx-03", ["hgx-03", "spark-a"]),
        ("spark-a:hgx-03", ["hgx-03", "spark-a"]),
        ("spark:&gpu", ["spark-a", "spark-b"]),
        ("spark:&hgx", []),
        ("gpu:!hgx", ["spark-a", "spark-b"]),
        ("!spark-a,gpu", ["hgx-01", "hgx-02", "hgx-03", "spark-b"]),
        ("!spark", ["hgx-01", "hgx-02", "hgx-03"]),
        ("hgx-0[13]", []),
        ("*-a,hgx-*1", ["hgx-01", "spark-a"]),
        ("~(spark|hgx)-(b|02)", ["hgx-02", "spark-b"]),
        ("gpu:!none-such", ["hgx-01", "hgx-02", "hgx-03", "spark-a", "spark-b"]),
    ],
)
def test_patterns(yaml: str, pattern: str, expected: list[str], ansible: bool) -> None:
    if expected:
        assert names(yaml, pattern, ansible) == expected
    else:
        with pytest.raises(UsageError):
            hosts(yaml, pattern, ansible=ansible)


@both
def test_a_pattern_that_names_nothing_says_what_there_is(yaml: str, ansible: bool) -> None:
    with pytest.raises(UsageError) as caught:
        hosts(yaml, "sparc", ansible=ansible)
    assert "'sparc'" in caught.value.message
    assert "spark-a" in caught.value.hint


@both
def test_folders_of_variables_stand_beside_the_inventory(yaml: str, ansible: bool) -> None:
    folder = Path(yaml).parent
    (folder / "group_vars/spark").mkdir(parents=True)
    (folder / "group_vars/spark/main.yml").write_text("ansible_port: 2022\nansible_become: false\n")
    (folder / "group_vars/gpu.yml").write_text("ansible_port: 9\nansible_private_key_file: /keys/gpu\n")
    (folder / "host_vars").mkdir()
    (folder / "host_vars/spark-b.yaml").write_text("ansible_port: 2023\nqops_hardware_class: rtxpro\n")
    a, b = hosts(yaml, "spark", ansible=ansible)
    assert (a.port, a.become, a.key, a.class_) == (2022, False, "/keys/gpu", "spark")
    assert (b.port, b.class_) == (2023, "rtxpro")


@both
def test_a_list_of_hosts_is_an_inventory(ansible: bool) -> None:
    assert hosts("192.0.2.1,other,", ansible=ansible) == (Host("192.0.2.1", "192.0.2.1"), Host("other", "other"))


@both
def test_a_pipe_is_read_once(ansible: bool) -> None:
    read, write = os.pipe()
    os.write(write, YAML.encode())
    os.close(write)
    try:
        assert len(hosts(f"/dev/fd/{read}", ansible=ansible)) == 5
    finally:
        os.close(read)


@both
@pytest.mark.parametrize(
    "text", ["[spark\nx", "spark: [a, b", "spark:\n  hosts: 7\n", "", "a: &a\n  children: *a\n", "- x\n", "all: {}\n"]
)
def test_what_is_no_inventory_is_an_error_in_one_line(tmp_path: Path, text: str, ansible: bool) -> None:
    (tmp_path / "bad.yml").write_text(text)
    with pytest.raises(UsageError) as caught:
        hosts(str(tmp_path / "bad.yml"), ansible=ansible)
    assert "bad.yml" in caught.value.message
    assert "\n" not in caught.value.message


@both
def test_a_file_that_is_not_there(ansible: bool) -> None:
    with pytest.raises(UsageError, match=r"there is no inventory /none/hosts\.yml"):
        hosts("/none/hosts.yml", ansible=ansible)


@pytest.mark.skipif(not HAS_ANSIBLE, reason="pip install 'qops[provision]'")
def test_ansible_resolves_templates(tmp_path: Path) -> None:
    (tmp_path / "h.yml").write_text("g:\n  hosts: {n1: {at: 192.0.2.7}}\n  vars: {ansible_host: '{{ at }}'}\n")
    (one,) = hosts(str(tmp_path / "h.yml"), ansible=True)
    assert one.address == "192.0.2.7"
    assert {type(value) for value in (one.name, one.address)} == {str}  # not Ansible's own kind


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("h.yml", "g:\n  hosts: {n1: {ansible_host: '{{ at }}'}}\n", "is a template"),
        ("h.yml", "plugin: some.where\n", "names the plug-in some.where"),
        ("h.yml", "$ANSIBLE_VAULT;1.1;AES256\n61\n", "is encrypted by ansible-vault"),
        ("h.yml", "g:\n  vars:\n    p: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n", "is encrypted by ansible-vault"),
        ("h.sh", "#!/bin/sh\necho '{}'\n", "is a program that makes an inventory"),
    ],
)
def test_what_takes_ansible_says_so(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(0o755)
    with pytest.raises(UsageError, match=words) as caught:
        hosts(str(tmp_path / name), ansible=False)
    assert caught.value.hint == NEEDS
    with pytest.raises(UsageError):
        hosts(str(tmp_path), ansible=False)


def test_ranges_have_an_end(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("[g]\nn[0:8:4]-[a:b]\n")
    assert names(str(tmp_path / "h"), "all", False) == ["n0-a", "n0-b", "n4-a", "n4-b", "n8-a", "n8-b"]
    for text in ("n[0:999999999]", "n[0:99][0:999]", "n[1:b]", "n[1:9:0]"):
        (tmp_path / "h").write_text(f"[g]\n{text}\n")
        with pytest.raises(UsageError):
            hosts(str(tmp_path / "h"), ansible=False)


def test_the_last_name_for_a_thing_holds_and_paths_are_spelled_out() -> None:
    home = str(Path.home())
    told = {
        "ansible_host": "a", "ansible_ssh_host": "b", "ansible_private_key_file": "/one",
        "ansible_ssh_private_key_file": "~/two", "ansible_ssh_args": "-o ControlMaster=auto -C -vvv -p 7",
        "ansible_ssh_extra_args": "-oProxyCommand='ssh -W %h:%p gate' -F ~/cfg -o UserKnownHostsFile='~/k1 /dev/null'",
    }  # fmt: skip
    one = host("n", told)
    assert (one.address, one.key, one.config) == ("b", f"{home}/two", f"{home}/cfg")
    assert (one.port, one.proxy_command, one.known_hosts) == (7, "ssh -W %h:%p gate", (f"{home}/k1",))


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ansible_connection": "local"}, "qops asks other hosts by SSH alone"),
        ({"ansible_become": "yes", "ansible_become_method": "su"}, "can only become root by sudo"),
        ({"ansible_become": "yes", "ansible_become_user": "vllm"}, "can only become root by sudo"),
        ({"ansible_port": "ssh"}, "has the port 'ssh'"),
        ({"ansible_port": "٢٢"}, "has the port"),
        ({"ansible_ssh_common_args": "-o 'x"}, "cannot be read"),
    ],
)
def test_what_qops_cannot_do_for_a_host_is_said(variables: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        host("n", variables)


def test_a_pattern_that_is_no_regular_expression() -> None:
    with pytest.raises(UsageError):
        select("~(", ["a"], {})
    with pytest.raises(UsageError):
        select("@file", ["a"], {})


def test_nothing_heavy_is_imported_to_read_a_simple_inventory(yaml: str) -> None:
    import subprocess

    code = (
        f"import sys; from qops.inventory import hosts; hosts({yaml!r}, ansible=False); "
        "print([m for m in ('ansible', 'fabric', 'paramiko') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
