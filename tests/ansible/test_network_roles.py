"""What the templates of pcie_p2p and rdma_network write, rendered by Ansible's own lookup in one run."""

import json
import os
from pathlib import Path

import pytest
from pcie_trees import OWN_ROOT, SWITCH
from playing import ROOT, play

from qops import bridge
from qops.engine import observe
from qops.evidence.text import Text
from qops.transports.base import lines

GOLDENS = Path(__file__).parent / "goldens/network"
GPUS = "".join(
    f"GPU {n}: NVIDIA RTX PRO 6000 Blackwell Server Edition (UUID: GPU-0a0a0a0a-0000-0000-0000-00000000001{n})\n"
    for n in range(3)
)
RTXPRO = {
    "smi": GPUS,
    "lspci": SWITCH + OWN_ROOT,
    "iommu": "== iommu units\nunit ivhd0\n== iommu groups\n     40 DMA-FQ\n",
    "cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.1.0-41-amd64 root=/dev/md0 ro quiet\n",
    "boot": "== boot loader\ntool update-grub\nnext root=/dev/md0 ro quiet\n",
    "control": "== pcie control\nsetpci yes\nhmm-disabled N\n",
}
ASKED = {
    "iommu": "auto", "aspm": "off", "acs": "clear", "hmm": "off", "registry": {"ForceP2P": "0x11", "RMForceP2PType": 1},
}  # fmt: skip
PORT = "{} port=1 net={} pci={} numa=0 speed=200000 layer=Ethernet rate=200 Gb/sec (4X HDR) state=4: ACTIVE\n"
SPARK = {
    "smi": "GPU 0: NVIDIA GB10 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000002)\n",
    "ports": "== rdma ports\n"
    + PORT.format("rocep1s0f0", "enp1s0f0np0", "0000:01:00.0")
    + PORT.format("roceP2p1s0f0", "enP2p1s0f0np0", "0002:01:00.0"),
    "config": "== network config\nmanager netplan\ndefault enP7s7\n",
    "ip": "2: enp1s0f0np0: <BROADCAST,UP> mtu 1500 state UP\n3: enP2p1s0f0np0: <BROADCAST,UP> mtu 1500 state UP\n",
}
CABLED = {"hosts": ["spark-a", "spark-b"], "host": "spark-a"}
TEMPLATES = ["pcie_p2p/grub.cfg", "pcie_p2p/modprobe.conf", "pcie_p2p/pcie-acs.conf", "rdma_network/rdma-network.conf"]


def _planned(role: str, seen: dict[str, str], options: dict[str, object]) -> dict[str, object]:
    found = observe([Text(name, lines(content.encode())) for name, content in seen.items()])
    plan: dict[str, object] = bridge.planned(role, found, options)
    assert plan["failed"] == []
    return plan


@pytest.fixture(scope="module", name="rendered")
def render(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("rendered")
    plans = {
        "pcie_p2p": _planned("pcie_p2p", RTXPRO, ASKED),
        "rdma_network": _planned("rdma_network", SPARK, CABLED),
    }
    pieces = [
        f"'{name}': lookup('ansible.builtin.template', '{ROOT}/roles/{role}/templates/{file}.j2', "
        f"template_vars={{'__{role}_plan': plans.{role}}})"
        for name in TEMPLATES
        for role, file in (name.split("/"),)
    ]
    content = "{{ {" + ", ".join(pieces) + "} | to_json }}"
    copy = {"content": content, "dest": str(folder / "all.json"), "mode": "0600"}
    status, output = play(folder, [{"name": "Render", "ansible.builtin.copy": copy}], {"plans": plans})
    assert status == 0, output
    loaded: dict[str, str] = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_is_written(rendered: dict[str, str], name: str) -> None:
    golden = GOLDENS / name
    if os.environ.get("QOPS_UPDATE_GOLDENS"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(rendered[name], encoding="utf-8")
    assert rendered[name] == golden.read_text(encoding="utf-8")


def test_every_file_that_a_plan_names_exists() -> None:
    for role, seen, options in (("pcie_p2p", RTXPRO, ASKED), ("rdma_network", SPARK, CABLED)):
        files = _planned(role, seen, options)["facts"]["files"]  # type: ignore[index]
        for file in files:
            for key, folder in (("template", "templates"), ("file", "files")):
                assert key not in file or (ROOT / "roles" / role / folder / file[key]).exists()


def test_the_tasks_that_a_manager_needs_exist() -> None:
    for manager in ("netplan", "NetworkManager", "systemd-networkd"):
        assert (ROOT / f"roles/rdma_network/tasks/{manager}.yml").exists()
