"""Mistakes in inventories: found in files of every kind, told with file and line, and without the value."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from qops.errors import UsageError
from qops.inventory import check, declared, specs
from qops.inventory.mistakes import Mistake
from qops.inventory.specs import Spec, Specs

ROOT = Path(__file__).parent.parent.parent
SPECS = Specs(
    ("firewall", "model_store", "nvidia_driver"),
    {
        "nvidia_driver_manage": Spec("bool"),
        "nvidia_driver_version": Spec("str"),
        "nvidia_driver_flavour": Spec("str", choices=("auto", "open", "proprietary")),
        "firewall_allow": Spec("list", elements="str"),
        "model_store_connections": Spec("int"),
        "model_store_token": Spec("str"),
        "model_store_models": Spec(
            "list", elements="dict", options={"repo": Spec("str"), "exact": Spec("bool"), "size": Spec("float")}
        ),
        "model_store_extra": Spec("dict"),
    },
)
GROUPS = {"all": ["a", "b", "c"], "hgx": ["a", "b"], "spark": ["c"], "rack1": ["a"], "rtxpro": []}
HF = "hf_" + "Ab3" * 12


def _check(tmp_path: Path, files: dict[str, str], hosts: tuple[str, ...] = ("a", "b"), **more: Any) -> list[Mistake]:
    for name, content in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return list(check.check(declared.read([tmp_path]), SPECS, more.pop("groups", GROUPS), hosts, **more))


def _told(found: list[Mistake], folder: Path) -> list[str]:
    return [str(one).replace(f"{folder}/", "") for one in found]


def test_a_misspelt_variable_is_told_with_its_place_and_the_nearest_name(tmp_path: Path) -> None:
    found = _check(tmp_path, {"group_vars/hgx.yml": "---\n# ours\nnvidia_driver_verison: '580'\n"})
    assert _told(found, tmp_path) == [
        "group_vars/hgx.yml:3: nvidia_driver_verison is no variable of the role nvidia_driver, so it does nothing; "
        "did you mean nvidia_driver_version?"
    ]
    assert found[0].grave


def test_a_misspelt_role_is_told_and_does_not_stop(tmp_path: Path) -> None:
    found = _check(tmp_path, {"group_vars/all.yml": "nvidia_drivr_version: '580'\nntp_servers: [x]\n"})
    assert [(one.grave, "did you mean nvidia_driver_version?" in one.message) for one in found] == [(False, True)]


def test_the_variables_that_the_playbooks_take_are_known(tmp_path: Path) -> None:
    taken = {
        name
        for book in (ROOT / "playbooks").glob("*.yml")
        for name in re.findall(r"\bqops_\w+(?= *\||\b is)", book.read_text())
    }
    assert taken
    assert not _check(tmp_path, {"group_vars/all.yml": "".join(f"{name}: 1\n" for name in sorted(taken))})


def test_own_variables_are_left_alone(tmp_path: Path) -> None:
    files = {"group_vars/all.yml": "firewall_zone: home\n"}
    assert len(_check(tmp_path, files)) == 1
    assert _check(tmp_path, files, own=["firewall_zone"]) == []


def test_a_variable_that_is_gone_names_what_is_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qops.inventory.mistakes.REMOVED", {"nvidia_driver_branch": ("0.5", "nvidia_driver_version")})
    (one,) = _check(tmp_path, {"host_vars/a.yml": "nvidia_driver_branch: 580\n"})
    assert one.message == "nvidia_driver_branch is gone since release 0.5; nvidia_driver_version is in its place"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('nvidia_driver_manage: "false"', "nvidia_driver_manage is a boolean written as text"),
        ("nvidia_driver_manage: never", "nvidia_driver_manage must be true or false"),
        ('model_store_connections: "4"', "model_store_connections is a number written as text"),
        ("model_store_connections: 4.5", "model_store_connections must be a whole number"),
        ("model_store_connections: true", "model_store_connections must be a number"),
        ("nvidia_driver_version: no", "nvidia_driver_version is a boolean, and the role takes text"),
        ("nvidia_driver_version: [580]", "nvidia_driver_version must be text"),
        ("nvidia_driver_flavour: closed", "nvidia_driver_flavour must be one of auto, open, proprietary"),
        ("firewall_allow: 10.0.0.0/8", "firewall_allow must be a list"),
        ("firewall_allow: [10.0.0.0/8, [x]]", "firewall_allow[1] must be text"),
        ("model_store_extra: [x]", "model_store_extra must be a mapping"),
        ("model_store_models: [{repo: a/b, exact: 'yes'}]", "model_store_models[0].exact is a boolean written as text"),
        (
            "model_store_models: [{rpo: a/b}]",
            "model_store_models[0] has the key rpo, which means nothing; did you mean",
        ),
    ],
)
def test_a_value_of_the_wrong_type(tmp_path: Path, line: str, message: str) -> None:
    (one,) = _check(tmp_path, {"host_vars/a.yml": f"{line}\n"})
    assert one.message.startswith(message)
    assert one.grave


@pytest.mark.parametrize(
    "line",
    [
        "nvidia_driver_manage: no",
        "nvidia_driver_version: 580",
        "nvidia_driver_version: '{{ pinned }}'",
        "model_store_connections: '{{ 2 * 4 }}'",
        "firewall_allow: '{{ office }}'",
        "model_store_models: [{repo: a/b, exact: true, size: 3}]",
        "model_store_token: ''",
        'model_store_token: \'{{ lookup("env", "HF_TOKEN") }}\'',
        "model_store_token: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n",
        "nvidia_driver_manage:",
    ],
)
def test_a_value_that_is_right(tmp_path: Path, line: str) -> None:
    assert _check(tmp_path, {"host_vars/a.yml": f"{line}\n"}) == []


def test_texts_of_an_ini_file_are_no_mistake(tmp_path: Path) -> None:
    ini = "[hgx]\na nvidia_driver_manage=false model_store_connections=4\n[hgx:vars]\nnvidia_driver_flavour=opn\n"
    assert [one.message for one in _check(tmp_path, {"hosts.ini": ini})] == [
        "nvidia_driver_flavour must be one of auto, open, proprietary"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"my_hub: {HF}", "my_hub holds a secret in plain text (Hugging Face token)"),
        ("notes: {key: sk-abcdefghijklmnopqrstuv}", "notes.key holds a secret in plain text (API key)"),
        ("ansible_become_password: hunter2", "ansible_become_password holds a secret in plain text"),
        ("ansible_ssh_pass: 12345", "ansible_ssh_pass holds a secret in plain text"),
        ("model_store_token: abcdef", "model_store_token holds a secret in plain text"),
        ("proxy: http://u:pw@proxy:3128", "proxy holds a secret in plain text (URL password)"),
        ("keys: ['-----BEGIN OPENSSH PRIVATE KEY-----\\nAAAA\\n']", "keys holds a secret in plain text"),
    ],
)
def test_a_secret_is_named_and_never_shown(tmp_path: Path, line: str, said: str) -> None:
    (one,) = _check(tmp_path, {"group_vars/all/main.yml": f"x: 1\n{line}\n"})
    assert one.message.startswith(said)
    assert one.where.endswith("group_vars/all/main.yml:2")
    for secret in (HF, "hunter2", "12345", "abcdef", "pw@", "AAAA"):
        assert secret not in str(one)
    (told,) = _check(tmp_path, {}, plain_secrets=True)
    assert not told.grave


def test_names_that_only_say_where_a_secret_is(tmp_path: Path) -> None:
    quiet = "token_file: /etc/token\nHF_TOKEN_PATH: /x\nansible_become_password: '{{ vaulted }}'\nmax_tokens: 4096\n"
    assert _check(tmp_path, {"group_vars/all.yml": quiet}) == []


def test_an_encrypted_file_is_passed_over(tmp_path: Path) -> None:
    assert _check(tmp_path, {"group_vars/all/vault.yml": "$ANSIBLE_VAULT;1.1;AES256\n3132\n"}) == []


def test_a_pipe_that_ansible_has_read_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "63")
    assert declared.read([tmp_path / "63"]).variables == []


def test_a_key_that_is_given_twice(tmp_path: Path) -> None:
    (one,) = _check(tmp_path, {"host_vars/a.yml": "nvidia_driver_version: '580'\nnvidia_driver_version: '595'\n"})
    assert one.where.endswith("a.yml:2") and "a second time" in one.message


def test_a_host_of_two_classes(tmp_path: Path) -> None:
    both = {**GROUPS, "spark": ["c", "a"]}
    (one,) = _check(tmp_path, {}, groups=both)
    assert one.message == "a is in the groups spark and hgx, and a host has one class of hardware"
    assert _check(tmp_path, {}, ("b",), groups=both) == []


def test_pins_of_two_groups_that_contradict_each_other(tmp_path: Path) -> None:
    files = {
        "group_vars/hgx.yml": "nvidia_driver_version: '580'\n",
        "group_vars/rack1.yml": "nvidia_driver_version: '595'\n",
        "hosts.yml": "hgx: {hosts: {a: , b: }}\nrack1: {hosts: {a: }}\n",
    }
    (one,) = _check(tmp_path, files)
    assert "has another value in group rack1" in one.message and "a is in both" in one.message
    assert _check(tmp_path, {"host_vars/a.yml": "nvidia_driver_version: '595'\n"}) == []  # the host's own word wins


def test_a_group_in_a_group_may_say_otherwise(tmp_path: Path) -> None:
    files = {
        "group_vars/hgx.yml": "nvidia_driver_version: '580'\n",
        "group_vars/rack1.yml": "nvidia_driver_version: '595'\n",
        "hosts.yml": "hgx:\n  hosts: {b: }\n  children:\n    rack1: {hosts: {a: }}\n",
    }
    assert _check(tmp_path, files) == []


def test_variables_of_a_group_that_does_not_exist(tmp_path: Path) -> None:
    found = _check(tmp_path, {"group_vars/hgxx.yml": "x: 1\n", "group_vars/elsewhere/main.yml": "x: 1\n"})
    assert [(one.grave, one.message) for one in found] == [
        (True, "there is no group hgxx, so nothing in it is used; did you mean hgx?"),
        (False, "there is no group elsewhere, so nothing in it is used"),
    ]


def test_an_empty_group_is_told_unless_it_is_a_class(tmp_path: Path) -> None:
    found = _check(tmp_path, {}, groups={**GROUPS, "canary": []})
    assert [(one.grave, one.message) for one in found] == [(False, "group canary has no hosts")]


def test_a_mistake_of_other_hosts_does_not_stop_this_one(tmp_path: Path) -> None:
    files = {"group_vars/spark.yml": "nvidia_driver_verison: '580'\n", "host_vars/c.yml": f"t: {HF}\n"}
    assert [one.grave for one in _check(tmp_path, files)] == [False, False]
    assert [one.grave for one in _check(tmp_path, files, ("c",))] == [True, True]


def test_what_stands_in_no_file(tmp_path: Path) -> None:
    (one,) = _check(tmp_path, {}, given={"nvidia_driver_manage": "false", "firewall_alow": []})
    assert str(one).startswith("given by -e or by a plug-in: firewall_alow is no variable of the role firewall")


def test_variables_of_groups_and_hosts_inside_an_inventory(tmp_path: Path) -> None:
    yaml = """\
all:
  vars: {nvidia_driver_manage: "yes"}
  children:
    hgx:
      hosts:
        a: {model_store_connections: "8"}
"""
    found = _check(tmp_path, {"hosts.yml": yaml})
    assert [one.where.rpartition("/")[2] for one in found] == ["hosts.yml:2", "hosts.yml:6"]


def test_what_only_ansible_can_read_is_passed_over(tmp_path: Path) -> None:
    files = {"cloud.yml": "plugin: cloud\nfirewall_x: 1\n", "run.sh": "#!/bin/sh\n", "notes.md": "firewall_x: 1\n"}
    assert _check(tmp_path, files) == []


def test_damaged_yaml_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"hosts\.yml is not YAML"):
        _check(tmp_path, {"hosts.yml": "a: [\n"})


def test_the_shipped_inventory_has_no_mistake() -> None:
    said = declared.read([ROOT / "inventory"], ROOT / "playbooks")
    groups = {"all": ["x"], "spark": ["x"], "rtxpro": [], "rtx5090": [], "hgx": []}
    assert check.check(said, specs.read(ROOT / "roles"), groups, ["x"]) == ()


def test_specs_of_all_roles_can_be_read() -> None:
    known = specs.read(ROOT / "roles")
    assert known.variables["host_tuning_manage"].type == "bool"
    assert known.role_of("host_tuning_governor") == "host_tuning"
    assert known.role_of("hosts") == ""
