"""The other tools, the executables, and what the simulator may import."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from simulated import Host, simulated_host

from qops.lab.sim import entry

__all__ = ["simulated_host"]  # the fixture `host`

SIM = Path(entry.__file__).parent


def test_lspci_forms(host: Host) -> None:
    host.become("rtxpro8")
    assert host.run("lspci", "-nn", "-s", "06:00.0").out == (
        "06:00.0 3D controller [0302]: NVIDIA Corporation GB202GL [RTX PRO 6000 Blackwell Server Edition] "
        "[10de:2bb5] (rev a1)\n"
    )
    assert host.run("lspci", "-n", "-D", "-d", "10de:2bb5").rows[0] == "0000:06:00.0 0302: 10de:2bb5 (rev a1)"
    verbose = host.run("lspci", "-vvv", "-s", "06:00.0").out
    assert "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16\n" in verbose
    assert verbose.endswith("\tKernel driver in use: nvidia\n\n")
    assert host.become("spark").run("lspci").rows[0].startswith("0000:")
    host.monkeypatch.delenv("QOPS_LAB_AS_ROOT")
    host.monkeypatch.setattr("os.geteuid", lambda: 1000)
    denied = host.run("lspci", "-vvv").out
    assert "Capabilities: <access denied>" in denied
    assert "LnkSta" not in denied


def test_rdma_tools(host: Host) -> None:
    host.become("spark-pair")
    assert host.run("ibdev2netdev").rows == [
        "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)",
        "rocep1s0f1 port 1 ==> enp1s0f1np1 (Down)",
        "roceP2p1s0f0 port 1 ==> enP2p1s0f0np0 (Up)",
        "roceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Down)",
    ]
    table = host.run("show_gids").rows
    assert "rocep1s0f0\t1\t3\t0000:0000:0000:0000:0000:ffff:c0a8:c802\t192.168.200.2  \tv2\tenp1s0f0np0" in table
    assert table[-1] == "n_gids_found=12"
    stat = host.run("ibstat", "roceP2p1s0f0").out
    assert "\t\tState: Active\n" in stat
    assert "\tCA type: MT4129\n" in stat
    assert "\tSpeed: 200000Mb/s\n" in host.run("ethtool", "enp1s0f0np0").out
    assert "bus-info: 0002:01:00.0\n" in host.run("ethtool", "-i", "enP2p1s0f0np0").out


def test_the_boot_log(host: Host) -> None:
    host.become("rtxpro8").run("qops-lab-boot")
    rows = host.run("dmesg").rows
    assert any(row.startswith("[    8.043688] nvidia-nvlink: Nvlink Core") for row in rows)
    assert host.run("dmesg", "-T").rows[0].startswith("[Mon Nov 30 10:16:11 2026] Linux version 6.1.0")


@pytest.mark.parametrize("tool", sorted(path.name for path in (SIM / "bin").iterdir()))
def test_each_executable_runs_from_a_copy_and_says_that_it_is_a_simulator(
    host: Host, tool: str, tmp_path: Path
) -> None:  # fmt: skip
    copy = tmp_path / "opt" / "sim"
    shutil.copytree(SIM, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / "bin" / tool).read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/python3 -IS\n")
    assert "a simulator" in text
    assert os.access(copy / "bin" / tool, os.X_OK)
    if tool.startswith("qops-lab-"):
        return
    host.become("spark-pair")
    done = subprocess.run(
        [sys.executable, "-IS", str(copy / "bin" / tool), "-h"],
        capture_output=True, text=True, check=False, env={**os.environ}, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "simulated, no GPU is behind it" in done.stdout


def test_without_a_scenario_the_real_tool_answers(host: Host, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "lspci").write_text("#!/bin/sh\necho real $*\n")
    (real / "lspci").chmod(0o755)
    path = f"{SIM / 'bin'}:{real}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-IS", str(SIM / "bin" / "lspci"), "-nn"],
        capture_output=True, text=True, check=False, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.stdout == "real -nn\n"


def test_it_imports_the_standard_library_and_itself_only() -> None:
    for path in SIM.rglob("*.py"):
        # 3.9 is the oldest Python that a host may have.
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"
