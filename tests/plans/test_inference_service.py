import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import serving_hosts
from msgspec.structs import replace
from served import PATHS, TINY, host, running

from qops import recipes
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.service_unit import quoted
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.inference import InferenceService
from qops.evidence.services import Services
from qops.plans import Plan, service
from qops.plans.inference_service import PLAN

GOLDENS = Path(__file__).parent / "goldens/inference_service"
HGX = Derived(HardwareClass.HGX, "nvidia-smi shows 2 boards H200")
WHALE = {
    "name": "whale",
    "image": "vllm/vllm-openai:v0.33.0",
    "command": ["vllm", "serve", "/models/whale", "--served-model-name", "whale", "--shutdown-timeout", "45"],
    "volumes": ["/var/lib/qops/models/acme--whale:/models/whale:ro"],
    "gpus": ["GPU-1"],
}


def _plan(seen: dict[type, Any], *instances: Any, **options: Any) -> Plan:
    return PLAN.make(seen, HGX, {**PLAN.defaults, "instances": list(instances), **options})


def _written(plan: Plan) -> dict[str, str]:
    return {file["dest"]: file["content"] for file in plan.facts["files"] if "content" in file}


def _digests(plan: Plan) -> dict[str, str]:
    return {path: hashlib.sha256(_written(plan)[path].encode()).hexdigest() for path in PATHS}


@pytest.mark.parametrize(
    ("name", "instance", "secrets", "cdi"),
    [
        ("venv", {**TINY, "gpus": [1], "environment": {"A": 'say "$5"', "B": "C:\\x"}, "user": "llm"}, {}, True),
        ("venv-secret", TINY, {"tiny": {"VLLM_API_KEY": "x"}}, True),
        ("docker-cdi", WHALE, {}, True),
        ("docker-gpus", {**WHALE, "gpus": [0, 1]}, {}, False),
        ("docker-one-by-gpus", WHALE, {}, False),
        ("docker-secret", WHALE, {"whale": {"VLLM_API_KEY": "x", "HF_TOKEN": "y"}}, True),
        ("sglang", {**WHALE, "image": "lmsysorg/sglang:v0.5.23", "command": "sglang serve --model-path /m"}, {}, True),
    ],
)
def test_what_is_written(
    name: str, instance: dict[str, Any], secrets: dict[str, Any], cdi: bool, tmp_path: Path
) -> None:
    plan = _plan(host(cdi=cdi), instance, secrets=secrets)
    assert plan.refused == ()
    files = [f"--- {path}\n{content}" for path, content in _written(plan).items()]
    written, golden = "".join(files), GOLDENS / f"{name}.txt"
    if os.environ.get("QOPS_UPDATE_GOLDENS"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(written, encoding="utf-8")
    assert written == golden.read_text(encoding="utf-8")
    if verify := shutil.which("systemd-analyze"):
        unit = tmp_path / Path(next(iter(_written(plan)))).name
        # What the unit runs is not on this machine.
        unit.write_text(
            next(iter(_written(plan).values())).replace("=+/usr/local/sbin/qops-serve-start", "=+/bin/true")
        )
        text = unit.read_text()
        for program in ("/opt/vllm/bin/vllm", "/usr/bin/docker"):
            text = text.replace(f"={program}", "=/bin/true").replace(f"=-{program}", "=-/bin/true")
        unit.write_text(text)
        done = subprocess.run([verify, "verify", str(unit)], capture_output=True, text=True, check=False)
        assert [line for line in done.stderr.splitlines() if unit.name in line and "User" not in line] == []


def test_a_bare_host_gets_files_a_start_and_a_watch() -> None:
    plan = _plan(host(), TINY)
    assert plan.differs and plan.refused == () and plan.notes == ()
    assert str(plan.settings[0]) == "service tiny = running (was not there): tiny on port 8010, venv, all GPUs"
    facts = plan.facts
    assert (facts["start"], facts["restart"], facts["watch"], facts["reload"]) == (["tiny"], [], ["tiny"], False)


def test_no_services_is_nothing_to_do() -> None:
    plan = _plan(host())
    assert (plan.differs, plan.settings, plan.facts["files"]) == (False, (), [])


def test_one_that_runs_as_it_should_is_left_alone() -> None:
    plan = _plan(host(running(_digests(_plan(host(), TINY)))), TINY)
    assert not plan.differs
    assert (plan.facts["start"], plan.facts["restart"], plan.facts["watch"], plan.facts["reload"]) == (
        [],
        [],
        [],
        False,
    )


def test_a_change_waits_and_stays_off_the_disk_until_a_restart_is_allowed() -> None:
    now = running(_digests(_plan(host(), TINY)))
    changed = {**TINY, "environment": {"OMP_NUM_THREADS": "8"}}
    plan = _plan(host(now), changed)
    assert not plan.differs and _written(plan) == {} and plan.facts["restart"] == []
    assert plan.notes == (
        "service tiny runs with other environment than the inventory says, and is not restarted: set"
        " inference_service_restart: true when its requests may end",
    )
    plan = _plan(host(now), changed, restart=True)
    assert plan.differs and plan.facts["restart"] == ["tiny"] and plan.facts["reload"] is False
    plan = _plan(host(now), {**TINY, "command": TINY["command"] + " --max-num-seqs 4"}, restart=True)
    # The reload stands between stop and start, so the gate does it.
    assert plan.facts["restart"] == plan.facts["change"] == ["tiny"] and plan.facts["reload"] is False


def test_a_change_touches_only_its_own_service() -> None:
    one, two = {**TINY, "gpus": [0]}, {**TINY, "name": "small", "port": 8011, "gpus": [1]}
    now = running(_digests(_plan(host(), one, two)))
    plan = _plan(host(now), one, two, restart=True)
    assert (plan.facts["restart"], plan.facts["start"]) == ([], ["small"])


def test_changed_secrets_are_told() -> None:
    now = running(_digests(_plan(host(), TINY, secrets={"tiny": {"K": "x"}})), secret_changed=True)
    plan = _plan(host(now), TINY, secrets={"tiny": {"K": "y"}})
    assert "other secrets than the inventory says" in plan.notes[0]
    assert "'y'" not in repr(plan)


def test_no_reload_where_a_container_would_lose_its_gpus() -> None:
    now = running(_digests(_plan(host(), TINY)))
    plan = _plan(host(now, by_gpus=True), {**TINY, "command": TINY["command"] + " --x"}, restart=True)
    assert plan.facts["reload"] is False and plan.facts["restart"] == [] and _written(plan) == {}
    assert "containers with GPUs by --gpus would lose them" in plan.notes[0]
    assert _plan(host(by_gpus=True), TINY).facts["start"] == ["tiny"]  # a new unit needs no reload


def test_a_held_service_is_not_started() -> None:
    held = InferenceService("tiny", running({}).quote, loaded=True, active="inactive", held="the machine went down")
    plan = _plan(host(held), TINY)
    assert plan.facts["start"] == [] and not plan.differs
    assert plan.notes == ("service tiny is held: the machine went down",)


def test_a_failed_service_is_started_again() -> None:
    failed = running(_digests(_plan(host(), TINY)), active="failed", sub="failed", status=2)
    plan = _plan(host(failed), TINY)
    assert "was failed (status 2)" in str(plan.settings[0]) and plan.facts["start"] == ["tiny"]


def test_what_the_inventory_forgot_is_told() -> None:
    plan = _plan(host(running({})))
    assert "service tiny is on the host and runs, and not in the inventory" in plan.notes[0] and not plan.differs


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"name": "tiny", "port": 8011, "gpus": [1]}, "two services are called tiny"),
        ({"name": "b", "port": 8010, "gpus": [1]}, "tiny and b both want port 8010"),
        ({"name": "b", "port": 8011, "gpus": ["GPU-0"]}, "tiny and b both want GPU 0"),
        ({"name": "b", "port": 8011, "gpus": "all"}, "tiny and b both want GPU 0"),
    ],
)
def test_services_that_do_not_get_along(second: dict[str, Any], words: str) -> None:
    (reason,) = _plan(host(), {**TINY, "gpus": [0]}, {**TINY, **second}).refused
    assert words in reason


def test_a_port_that_another_program_has() -> None:
    plan = _plan(host(ports={8010: "nginx"}), TINY)
    assert "port 8010 is taken by nginx" in plan.refused[0]
    assert _plan(host(running({}), ports={8010: "vllm"}), TINY).refused == ()


def test_a_container_without_a_way_to_gpus() -> None:
    seen = host(cdi=False)
    from msgspec import structs

    from qops.evidence.container_engine import ContainerEngine, DockerInfo

    seen[ContainerEngine] = structs.replace(seen[ContainerEngine], info=DockerInfo(version="28.1"))
    assert "no specification for CDI describes the GPUs" in _plan(seen, WHALE).refused[0]
    seen[ContainerEngine] = structs.replace(seen[ContainerEngine], active="failed")
    assert "docker does not run" in _plan(seen, WHALE).refused[0]


def test_a_host_that_may_not_lift_limits() -> None:
    plan = _plan(host(raises=False), TINY)
    assert "LimitMEMLOCK" not in _written(plan)[PATHS[0]] and "may not lift limits" in plan.notes[0]


def test_units_that_were_not_seen_are_unknown() -> None:
    seen = {kind: value for kind, value in host().items() if kind.__name__ != "InferenceServices"}
    assert _plan(seen, TINY).settings[0].state is State.UNSEEN


@pytest.mark.parametrize(
    ("instance", "words"),
    [
        ({"name": "Tiny"}, "is no name"),
        ({**TINY, "gpu": 1}, "holds gpu"),
        ({"name": "tiny"}, "has no command"),
        ({**TINY, "command": "vllm serve /m"}, "is no absolute path"),
        ({**TINY, "command": "/v/vllm serve /m --port 9000"}, "its command says 9000"),
        ({**TINY, "command": "/v/vllm serve /m --api-key k"}, "--api-key would show its secret"),
        ({**TINY, "environment": {"HF_TOKEN": "x"}}, "HF_TOKEN looks like a secret"),
        ({**TINY, "environment": {"A": "x\ny"}}, "cannot be"),
        ({**TINY, "gpus": [7]}, "there is no GPU 7"),
        ({**TINY, "runtime": "docker"}, "without an image"),
        ({**TINY, "image": "a:1", "runtime": "venv"}, "with an image"),
        ({**TINY, "port": "x"}, "port cannot be"),
        ({**TINY, "address": "example.com"}, "is no address"),
        ({**TINY, "volumes": ["x"]}, "volumes cannot be"),
        ({**TINY, "drain": "long"}, "drain cannot be"),
        ({**TINY, "user": "a b"}, "is no user"),
        ({"name": "x", "recipe": "none-such"}, "no recipe is called"),
        ({"name": "x", "recipe": "none-such", "command": "a"}, "which says its command"),
        ("tiny", "holds 'tiny'"),
    ],
)
def test_what_cannot_be(instance: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        _plan(host(), instance)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("secrets", "words"),
    [
        ({"none": {"A": "x"}}, "names none, which is no service"),
        ({"tiny": {"A": "it's"}}, "inference_service_secrets.tiny.A cannot be"),
        ({"tiny": "x"}, "is no mapping"),
    ],
)
def test_secrets_that_cannot_be_are_not_shown(secrets: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        _plan(host(), TINY, secrets=secrets)
    assert words in caught.value.message and "it's" not in caught.value.message


def test_several_services_name_their_gpus() -> None:
    with pytest.raises(UsageError, match="does not say its gpus"):
        _plan(host(), TINY, {**TINY, "name": "b"})


def test_a_recipe_serves_as_its_own_plan_says() -> None:
    seen = {**host(), **serving_hosts.rtxpro(8, sockets=2)}
    instance = {"name": "qwen", "recipe": "qwen3.5-397b-fp8-vllm-8gpu", "port": 8001}
    options = {**PLAN.defaults, "instances": [instance], "secrets": {"qwen": {"VLLM_API_KEY": "x"}}}
    plan = PLAN.make(seen, serving_hosts.hardware("rtxpro"), options)
    assert plan.refused == () and plan.facts["start"] == ["qwen"]
    unit = _written(plan)["/etc/systemd/system/qops-serve-qwen.service"]
    recipe = recipes.load()["qwen3.5-397b-fp8-vllm-8gpu"]
    own = service.make(recipe, seen, serving_hosts.hardware("rtxpro"), service.Options(name="qwen", port=8001))
    for word in own.service.words[1:]:
        assert quoted(word) in unit
    assert f"TimeoutStopSec={own.service.stop + 30}" in unit and "--device=nvidia.com/gpu=all" in unit
    assert unit.count("dst=/root/.cache") == 1 and "VLLM_API_KEY" not in unit
    written = _written(plan)["/etc/qops/serve/qwen.env"]
    assert all(f"{name}={value}\n" in written for name, value in own.service.environment.items())


def test_a_recipe_that_does_not_fit_is_refused_under_its_services_name() -> None:
    plan = _plan(host(), {"name": "qwen", "recipe": "qwen3.5-397b-fp8-vllm-8gpu"})
    assert plan.refused and all(reason.startswith("service qwen: ") for reason in plan.refused)


def test_an_option_that_the_image_s_release_does_not_take_is_refused() -> None:
    plan = _plan(host(), {**WHALE, "command": [*WHALE["command"], "--no-such-option", "3"]})
    (why,) = plan.refused
    assert why.startswith("service whale: vllm 0.33.0, --no-such-option: ")
    nobody_knows = {**WHALE, "image": "qops.local/engine:current", "command": [*WHALE["command"], "--no-such-option"]}
    assert _plan(host(), nobody_knows).refused == ()


def test_a_moved_tag_and_a_changed_template_wait_like_any_change() -> None:
    command = [*WHALE["command"], "--chat-template", "/models/chat.jinja"]
    whale = {**WHALE, "command": command, "volumes": [*WHALE["volumes"], "/etc/chat.jinja:/models/chat.jinja:ro"]}
    plan = _plan(host(), whale)
    described = next(text for path, text in _written(plan).items() if path.endswith("whale.json"))
    assert '"/etc/chat.jinja"' in described
    files = {path.replace("tiny", "whale"): "" for path in PATHS}
    files = {path: hashlib.sha256(_written(plan)[path].encode()).hexdigest() for path in files}
    moved = ("image vllm/vllm-openai:v0.33.0 from sha256:1 to sha256:2", "/etc/chat.jinja")
    now = replace(running(files, moved=moved), name="whale")
    plan = _plan(host(now), whale)
    assert plan.facts["restart"] == [] and not plan.differs
    assert "runs with other image vllm/vllm-openai:v0.33.0 from sha256:1 to sha256:2 and template" in plan.notes[0]
    assert _plan(host(now), whale, restart=True).facts["restart"] == ["whale"]


def test_a_number_of_releases_is_a_number() -> None:
    with pytest.raises(UsageError, match="inference_service_keep cannot be 'many'"):
        _plan(host(), TINY, keep="many")


def test_what_was_not_seen_changes_no_unit() -> None:
    now = running(_digests(_plan(host(raises=False), TINY)))
    for unseen in (Services({}, None), None):
        plan = _plan({**host(now), Services: unseen}, TINY, restart=True)
        assert plan.facts["restart"] == [] and _written(plan) == {}
        assert plan.settings[0].state is State.UNSEEN
