"""Each class answers in the fields that a real host of it has; the values here are written by hand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from simulated import NAMES, Host, scenario, simulated_host

__all__ = ["simulated_host"]  # the fixture `host`


def test_every_scenario_is_there_and_names_its_hosts_apart() -> None:
    assert set(NAMES) == {"spark", "spark-pair", "rtx5090", "rtxpro4", "rtxpro8", "hgx8", "h200x2"}
    hosts = [one["name"] for name in NAMES for one in scenario(name)["hosts"]]
    assert len(hosts) == len(set(hosts)) == 8


@pytest.mark.parametrize("name", NAMES)
def test_every_form_answers_on_every_class(host: Host, name: str) -> None:
    host.become(name)
    for arguments in (
        [],
        ["-L"],
        ["-q"],
        ["topo", "-m"],
        ["topo", "-p2p", "r"],
        ["dmon", "-c", "1"],
        ["pmon", "-c", "1"],
    ):
        answer = host.smi(*arguments)
        assert (answer.status, answer.err) == (0, ""), arguments
        assert answer.out
    table = host.smi().rows[1:]
    assert {len(row) for row in table if row} == {91}
    report = ElementTree.fromstring(host.smi("-q", "-x").out.split("\n", 2)[2])
    gpus = len(report.findall("gpu"))
    assert int(report.findtext("attached_gpus") or 0) == gpus == len(host.smi("-L").rows)
    assert len(host.run("lspci", "-d", "10de:").rows) >= gpus


def test_a_spark_has_no_memory_and_no_power_limit_to_tell(host: Host) -> None:
    host.become("spark")
    row = next(row for row in host.smi().rows if "C    P8" in row)
    assert row == "| N/A   40C    P8              4W /  N/A  | Not Supported          |      0%      Default |"
    fields = "name,pci.bus_id,memory.total,memory.used,power.limit,ecc.mode.current,clocks.mem,compute_cap"
    assert host.query(fields) == [
        ["NVIDIA GB10", "0000000F:01:00.0", "[N/A]", "[N/A]", "[N/A]", "[N/A]", "[N/A]", "12.1"]
    ]


def test_a_spark_joins_the_two_functions_of_one_nic(host: Host) -> None:
    rows = host.become("spark").smi("topo", "-m").rows
    assert rows[1].split("\t") == ["GPU0", " X ", "NODE", "NODE", "NODE", "NODE", "0-19", "0", "", "N/A"]
    assert rows[2].split("\t")[1:6] == ["NODE", " X ", "PIX", "NODE", "NODE"]
    assert rows[-5:-1] == [
        "  NIC0: rocep1s0f0", "  NIC1: rocep1s0f1", "  NIC2: roceP2p1s0f0", "  NIC3: roceP2p1s0f1"
    ]  # fmt: skip


def test_two_5090_cannot_reach_each_other(host: Host) -> None:
    answer = host.become("rtx5090").smi("topo", "-p2p", "r")
    assert answer.rows[1:3] == [" GPU0\tX\tGNS\t", " GPU1\tGNS\tX\t"]
    assert "  DR   = Disabled by regkey" in answer.rows
    assert host.query("name,power.default_limit,fan.speed")[0] == ["NVIDIA GeForce RTX 5090", "575.00", "0"]


def test_eight_cards_pair_up_behind_switches_of_two_sockets(host: Host) -> None:
    rows = host.become("rtxpro8").smi("topo", "-m").rows
    assert rows[1].split("\t")[1:9] == [" X ", "PIX", "NODE", "NODE", "SYS", "SYS", "SYS", "SYS"]
    assert rows[6].split("\t")[1:9] == ["SYS", "SYS", "SYS", "SYS", "PIX", " X ", "NODE", "NODE"]
    # At rest the link runs at generation 1, which is no fault.
    fields = "pcie.link.gen.current,pcie.link.gen.max,pstate,memory.total,power.min_limit"
    assert host.query(fields)[0] == ["1", "5", "P8", "97887", "300.00"]


def test_the_595_report_has_its_own_fields(host: Host) -> None:
    new, old = host.become("rtxpro8").smi("-q").out, host.become("h200x2").smi("-q").out
    assert "EDPp Multiplier" in new
    assert "EDPp Multiplier" not in old
    assert "Inactive Correctable Error" in old
    assert "Inactive Correctable Error" not in new
    assert "        Chassis Serial Number                          :\n" in new
    assert "Peer Type                                      : Direct Connected" in new


def test_an_hgx_joins_all_gpus_by_nvlink_and_each_pair_to_two_nics(host: Host) -> None:
    rows = host.become("hgx8").smi("topo", "-m").rows
    assert rows[1].split("\t")[1:10] == [" X ", *["NV18"] * 7, "PIX"]
    assert host.smi("nvlink", "-s").out.count("26.562 GB/s") == 8 * 18
    assert host.query("fabric.state,fabric.status")[7] == ["Completed", "Success"]


def test_counters_move_with_the_clock_and_only_with_it(host: Host) -> None:
    host.become("rtxpro4").run("qops-lab-load", "busy")
    fields = "utilization.gpu,power.draw,clocks.sm,memory.used,pstate"
    seen = []
    for second in range(4):
        host.at(1796033771 + second)
        first = host.query(fields)
        assert host.query(fields) == first
        seen.append(first[0])
    assert len({tuple(row) for row in seen}) > 1
    assert all(int(row[0]) > 90 and float(row[1]) > 580 and int(row[3]) > 0 and row[4] == "P1" for row in seen)
    host.run("qops-lab-load", "spinning")
    util, memory, power = (float(value) for value in host.query("utilization.gpu,utilization.memory,power.draw")[0])
    assert (util, memory) == (100, 0)
    assert power < 150
    host.run("qops-lab-load", "auto")
    assert host.query("utilization.gpu")[0] == ["0"]


def test_a_scenarios_cycle_of_loads_is_followed(host: Host) -> None:
    host.become("rtxpro4")
    path = host.folder / "etc" / "hardware.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('{"profile": "idle", "seconds": 60}',
                                 '{"profile": "idle", "seconds": 10}, {"profile": "busy", "seconds": 10}'),
                    encoding="utf-8")  # fmt: skip
    host.at(1000)
    assert host.query("utilization.gpu")[0] == ["0"]
    host.at(1015)
    assert int(host.query("utilization.gpu")[0][0]) > 90


def test_the_engines_processes_are_on_the_gpus_of_their_ranks(host: Host) -> None:
    host.become("rtxpro4")
    for pid, title in ((40, "VLLM::EngineCore"), (41, "VLLM::Worker_TP0"), (42, "VLLM::Worker_TP1"), (7, "sshd")):
        folder = host.folder / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "cmdline").write_bytes(title.encode() + b"\0")
    answer = host.smi("--query-compute-apps=pid,process_name,used_memory", "--format=csv")
    assert answer.rows == [
        "pid, process_name, used_gpu_memory [MiB]",
        "41, VLLM::Worker_TP0, 88098 MiB",
        "42, VLLM::Worker_TP1, 88098 MiB",
    ]
    assert [row[0] for row in host.query("memory.used")] == ["88098", "88098", "0", "0"]
    assert re.search(r"\|    1   N/A  N/A              42      C   VLLM::Worker_TP1 +88098MiB \|", host.smi().out)
    assert "            Used GPU Memory                            : 88098 MiB" in host.smi("-q", "-i", "0").out
    assert host.smi("pmon", "-c", "1", "-s", "um").rows[2].split()[:3] == ["0", "41", "C"]


def test_sections_fields_and_gpus_are_chosen_as_asked(host: Host) -> None:
    host.become("h200x2")
    report = host.smi("-q", "-d", "POWER,FABRIC", "-i", "1").out
    assert report.count("GPU 00000000:00:07.0") == 1
    assert "Default Power Limit" in report
    assert "Fabric" in report
    assert "Serial Number" not in report
    wrong = host.smi("--query-gpu=bogus.field", "--format=csv")
    assert (wrong.status, wrong.out) == (2, 'Field "bogus.field" is not a valid field to query.\n\n')
    header = host.smi("--query-gpu=clocks.gr,gpu_name", "--format=csv").rows[0]
    assert header == "clocks.current.graphics [MHz], name"
    assert host.smi("-i", "9", "-q").status == 6


def test_loops_print_the_header_once_and_stop_at_their_count(host: Host) -> None:
    host.become("h200x2")
    rows = host.smi("--query-gpu=timestamp,index", "--format=csv", "-lms", "100", "-c", "3").rows
    assert len(rows) == 1 + 3 * 2
    assert rows[1].startswith("2026/11/30 10:16:11.000, 0")
    rows = host.smi("dmon", "-c", "2", "-s", "pucm").rows
    assert rows[0] == (
        "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk     fb   bar1   ccpm "
    )
    assert len(rows) == 2 + 2 * 2


def test_dmon_stamps_its_lines_and_keeps_the_order_asked_for(host: Host) -> None:
    rows = host.become("h200x2").smi("dmon", "-s", "mt", "-o", "DT", "-c", "1").rows
    assert rows[0] == "#Date       Time        gpu     fb   bar1   ccpm  rxpci  txpci "
    assert rows[1] == "#YYYYMMDD   HH:MM:SS    Idx     MB     MB     MB   MB/s   MB/s "
    assert rows[2] == " 20261130   10:16:11      0      0      1      0      0      0 "
