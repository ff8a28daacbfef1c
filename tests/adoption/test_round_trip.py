"""What qops writes, adopted and planned again, is the same service."""

import json
from collections.abc import Callable

import pytest
from adopting import only, planned
from hypothesis import given, settings
from hypothesis import strategies as st
from recipe_plans import LIVE, plan

from qops.derive import service_unit
from qops.derive.service import Mount, Service
from qops.plans.service import Options, ServicePlan
from qops.render.artefacts import compose, environment, run, unit

Write = Callable[[ServicePlan], str]
FORMS = pytest.mark.parametrize("write", [compose, run, unit], ids=["compose", "run", "unit"])


def _same(one: Service, made: Service) -> None:
    assert (one.name, one.engine, one.model, one.image) == (made.name, made.engine, made.model, made.image)
    assert one.words == made.words
    assert (one.port, one.address, one.gpus, one.mounts) == (made.port, made.address, made.gpus, made.mounts)
    assert one.environment.items() >= made.environment.items()


@pytest.mark.parametrize("name", LIVE)
@FORMS
def test_what_qops_writes_comes_back(name: str, write: Write) -> None:
    made = plan(name, Options(address="0.0.0.0", name="own"))
    one = only(write(made), "own.service", {service_unit.environment_path("own"): environment(made)})
    assert one.refused == () and not one.wrong
    (back,) = planned(one, gpus=8 if max(made.service.gpus) > 3 else len(made.service.gpus))
    _same(back, made.service)


@FORMS
def test_the_form_with_secrets_comes_back_without_its_shell(write: Write) -> None:
    made = plan("qwen3.5-397b-nvfp4-vllm", Options(secrets=("VLLM_API_KEY",), name="own"))
    one = only(write(made), "own.service", {service_unit.environment_path("own"): environment(made)})
    (back,) = planned(one, gpus=4)
    _same(back, made.service)
    assert any("name them in inference_service_secrets" in left.because for left in one.left)


@pytest.mark.parametrize("name", LIVE)
def test_a_container_as_docker_describes_it(name: str) -> None:
    made = plan(name, Options(name="own"))
    service = made.service
    program, words = service_unit.entry(service)
    container = {
        "Id": "4f1c", "Name": "/qops-serve-own", "Image": "sha256:1",
        "Config": {
            "Image": service.image, "Entrypoint": [program], "Cmd": list(words),
            "Env": ["PATH=/usr/bin", *(f"{key}={value}" for key, value in service.environment.items())],
        },
        "HostConfig": {
            "PortBindings": {f"{service.port}/tcp": [{"HostIp": service.address, "HostPort": str(service.port)}]},
            "DeviceRequests": [{"Driver": "cdi", "Count": 0, "DeviceIDs": list(service_unit.devices(service))}],
            "NetworkMode": "bridge", "ShmSize": service.shared_memory, "RestartPolicy": {"Name": "no"},
        },
        "Mounts": [
            {"Type": "bind", "Source": mount.source, "Destination": mount.target, "RW": mount.writable}
            for mount in service_unit.mounts(service)
        ],
    }  # fmt: skip
    image = {"Id": "sha256:1", "RepoTags": [service.image], "Config": {"Env": ["PATH=/usr/bin"]}}
    one = only(json.dumps([container], indent=4) + "\n" + json.dumps([image]))
    (back,) = planned(one, gpus=8 if max(service.gpus) > 3 else len(service.gpus))
    _same(back, service)
    assert "PATH" not in one.instance["environment"]


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=20)


@given(st.lists(WORDS.filter(lambda word: not word.startswith("-")), max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_word_comes_through_the_inventory(values: list[str]) -> None:
    made = plan("qwen3.6-35b-gdn4lm4-spark-vllm", Options(name="own"))
    flags = tuple(word for place, value in enumerate(values) for word in (f"--option-{place}", value))
    service = Service(
        name="own", words=("vllm", "serve", "/m", "--served-model-name", "m", *flags), engine="vllm", model="m",
        port=8000, image=made.service.image, mounts=(Mount("/m", "/m"),), gpus=(0,), gpus_by="cdi",
    )  # fmt: skip
    container = {
        "Name": "/own", "Config": {"Image": service.image, "Cmd": list(service.words)}, "HostConfig": {
            "DeviceRequests": [{"DeviceIDs": ["0"]}], "PortBindings": {"8000/tcp": [{"HostPort": "8000"}]},
        },
    }  # fmt: skip
    (back,) = planned(only(json.dumps([container])))
    assert back.words == (*service.words, "--host", "0.0.0.0")
