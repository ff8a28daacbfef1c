"""inference_image and model_store on a practice host: the lab's own registry, and a model hub of the test's."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_hub import COMMIT, REPO, Hub
from playing import ansible_playbook
from practice_lab import Qops, practice

pytestmark = pytest.mark.lab
FOLDER = f"/var/lib/qops/models/lab--tiny/{COMMIT}"
WEIGHTS = f"{FOLDER}/model-00001-of-00002.safetensors"


@pytest.fixture(scope="module", name="lab")
def one_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "stores", "rtx5090") as lab:
        yield lab


@pytest.fixture(scope="module", name="hub")
def hub_that_the_host_reaches(lab: Qops) -> Iterator[Hub]:
    form = "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}"
    shown = subprocess.run(
        ["docker", "inspect", "-f", form, f"qops-{lab.name}-rtx5090-1"], capture_output=True, text=True, check=True
    )
    with Hub(token="hf_of_the_test", address=shown.stdout.strip()) as hub:
        yield hub


@pytest.fixture(scope="module", name="pinned")
def digest_of_the_image(lab: Qops) -> str:
    services = json.loads(lab("status", "--format", "json"))["services"]
    offers: list[str] = [offer for service in services for offer in service["offers"]]
    return next(offer for offer in offers if "lab/inference:1.1@" in offer)


def _play(lab: Qops, book: str, folder: Path, variables: dict[str, Any], *options: str) -> tuple[int, str, int]:
    """Run a playbook for both roles; return the status, the output and how many tasks changed something."""
    given = folder / "given.json"
    given.write_text(json.dumps(variables))
    chosen = ("-e", f"@{given}", "-vvv", "--tags", "inference_image,model_store", "-l", "rtx5090")
    status, output = ansible_playbook(book, *chosen, *options, env=lab.environment, timeout=300)
    match = re.search(r"^rtx5090-1 +: ok=\d+ +changed=(\d+)", output, re.M)
    return (
        status,
        " ".join(output[-6000:].split()) if status else " ".join(output.split()),
        int(match.group(1)) if match else -1,
    )


def test_images_and_models_from_a_bare_host_to_one_that_needs_nobody(
    lab: Qops, hub: Hub, pinned: str, tmp_path: Path
) -> None:
    model = {
        "repo": REPO,
        "revision": COMMIT,
        "exclude": ["original/*"],
        "overlay": {"append": {"config.json": {"quantization_config.ignore": ["re:.*in_proj_ba$"]}}},
    }
    given = {
        "inference_image_images": [{"name": "engine", "image": pinned}],
        "inference_image_keep_free_gb": 1,
        "model_store_endpoint": hub.url,
        "model_store_token": hub.token,
        "model_store_keep_free_gb": 1,
        "model_store_models": [model],
    }
    status, output, _ = _play(lab, "playbooks/provision.yml", tmp_path, given, "--check", "--diff")
    assert status == 0, output
    there = lab("ssh", "rtx5090-1", "--", "docker image ls -q; ls /var/lib/qops 2>&1 || true").strip()
    assert there.endswith("No such file or directory")

    status, output, changed = _play(lab, "playbooks/provision.yml", tmp_path, given)
    assert (status, changed > 0) == (0, True), output
    assert hub.token not in output
    assert hub.token not in lab(
        "ssh", "rtx5090-1", "--", "journalctl -b --no-pager; grep -rs hf_ /root /tmp /var/tmp || true"
    )
    served = json.loads(lab("ssh", "rtx5090-1", "--", f"cat {FOLDER}--served/config.json"))
    assert served["quantization_config"]["ignore"] == ["lm_head", "re:.*in_proj_ba$"]
    status, output, changed = _play(lab, "playbooks/provision.yml", tmp_path, given)
    assert (status, changed) == (0, 0), output

    # Somebody writes into the weights; registry gone, and the hub asked for one file only.
    lab("ssh", "rtx5090-1", "--", f"printf damage | dd of={WEIGHTS} bs=1 seek=999 conv=notrunc status=none")
    subprocess.run(["docker", "stop", f"qops-{lab.name}-registry"], capture_output=True, check=True)
    status, output, _ = _play(lab, "playbooks/verify.yml", tmp_path, given)
    assert status == 2 and "SRV061 weights-corrupt: lab/tiny: changed since it was proved: model-00001" in output
    hub.asked.clear()
    status, output, _ = _play(lab, "playbooks/provision.yml", tmp_path, given)
    assert status == 0, output
    assert {path for path in hub.asked if "/resolve/" in path} == {f"/{REPO}/resolve/{COMMIT}/{WEIGHTS.split('/')[-1]}"}
    status, output, _ = _play(lab, "playbooks/verify.yml", tmp_path, given)
    assert status == 0, output
