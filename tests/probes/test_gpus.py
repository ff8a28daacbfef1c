import textwrap

import pytest
from judging import text
from mangling import parses_anything

from qops.errors import ParseError
from qops.evidence.gpu import Gpu, Gpus
from qops.probes import gpus

MIB = 1024 * 1024

TABLE_580 = """\
Tue Mar  3 08:01:02 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    2 |
| N/A   51C    P0            412W /  700W |   61234MiB /  81559MiB |     97%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3         Off  |   00000000:43:00.0 Off |                  N/A |
| N/A   ERR!   P8            N/A /   700W |       0MiB /  81559MiB |     ERR!     Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            7001      C   /opt/env/bin/python3                  61220MiB |
|    0   N/A  N/A            7002    C+G   a name with blanks                        N/A |
+-----------------------------------------------------------------------------------------+
"""

TABLE_470 = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla T4            On   | 00000000:00:1E.0 Off |                    0 |
| 30%   40C    P8    10W /  70W |    105MiB / 15109MiB |      3%      Default |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0      4242      C   python                                       95MiB |
+-----------------------------------------------------------------------------+
"""

TABLE_610 = """\
| NVIDIA-SMI 610.43.02              KMD Version: 610.47        CUDA UMD Version: 13.3     |
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   39C    P8              5W /  N/A  | Not Supported          |      0%      Default |
"""

LOG = """\
==============NVSMI LOG==============

Timestamp                                              : Tue Mar  3 08:01:02 2026
Driver Version                                         : 575.57.08
CUDA Version                                           : 12.9

Attached GPUs                                          : 2
GPU 00000000:1B:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    Persistence Mode                                   : Enabled
    Addressing Mode                                    : HMM
    GPU UUID                                           : GPU-11111111-2222-3333-4444-555555555555
    Minor Number                                       : 3
    GPU Recovery Action                                : Drain and Reset
    PCI
        Bus Id                                         : 00000000:1B:00.0
        GPU Link Info
            PCIe Generation
                Max                                    : 5
                Current                                : 4
                Device Current                         : 4
                Host Max                               : 5
            Link Width
                Max                                    : 16x
                Current                                : 8x
    Performance State                                  : P0
    Clocks Event Reasons
        Idle                                           : Not Active
        SW Power Cap                                   : Active
        HW Slowdown                                    : Active
            HW Thermal Slowdown                        : Active
            HW Power Brake Slowdown                    : Not Active
    Clocks Event Reasons Counters
        SW Thermal Slowdown                            : 100 us
    FB Memory Usage
        Total                                          : 81559 MiB
        Used                                           : 61234 MiB
    BAR1 Memory Usage
        Total                                          : 131072 MiB
        Used                                           : 1 MiB
    Utilization
        GPU                                            : 97 %
        Memory                                         : 33 %
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity                  : 1
            SRAM Uncorrectable SEC-DED                 : 0
            DRAM Correctable                           : 50
            DRAM Uncorrectable                         : 2
        Aggregate
            DRAM Uncorrectable                         : 900
    Remapped Rows
        Pending                                        : Yes
        Remapping Failure Occurred                     : No
    Temperature
        GPU Current Temp                               : 51 C
        GPU Max Operating T.Limit Temp                 : 0 C
    GPU Power Readings
        Average Power Draw                             : 412.10 W
        Instantaneous Power Draw                       : 415.00 W
        Current Power Limit                            : 650.00 W
        Default Power Limit                            : 700.00 W
        Min Power Limit                                : 200.00 W
        Max Power Limit                                : 700.00 W
    Module Power Readings
        Average Power Draw                             : 999.00 W
        Current Power Limit                            : 999.00 W
    Clocks
        SM                                             : 1755 MHz
    Max Clocks
        SM                                             : 1980 MHz
    Fabric
        State                                          : Completed
        Status                                         : Success
    Processes
        GPU instance ID                                : N/A
        Process ID                                     : 7001
            Type                                       : C
            Name                                       : /opt/env/bin/python3
            Used GPU Memory                            : 61220 MiB
GPU 00000000:43:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    Persistence Mode                                   : Disabled
    FB Memory Usage
        Total                                          : N/A
    Utilization
        GPU                                            : N/A
    Processes                                          : None
"""

XML = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<driver_version>550.90.07</driver_version>
\t<cuda_version>12.4</cuda_version>
\t<attached_gpus>2</attached_gpus>
\t<gpu id="00000000:1B:00.0">
\t\t<product_name>NVIDIA H100 80GB HBM3</product_name>
\t\t<persistence_mode>Enabled</persistence_mode>
\t\t<uuid>GPU-11111111-2222-3333-4444-555555555555</uuid>
\t\t<pci>
\t\t\t<pci_gpu_link_info>
\t\t\t\t<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
\t\t\t\t<link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>
\t\t\t</pci_gpu_link_info>
\t\t</pci>
\t\t<clocks_event_reasons>
\t\t\t<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
\t\t\t<clocks_event_reason_sw_thermal_slowdown>Active</clocks_event_reason_sw_thermal_slowdown>
\t\t</clocks_event_reasons>
\t\t<fb_memory_usage><total>81559 MiB</total><used>0 MiB</used></fb_memory_usage>
\t\t<utilization><gpu_util>0 %</gpu_util><memory_util>N/A</memory_util></utilization>
\t\t<ecc_errors><volatile><dram_uncorrectable>4</dram_uncorrectable></volatile></ecc_errors>
\t\t<remapped_rows>
\t\t\t<remapped_row_pending>No</remapped_row_pending>
\t\t\t<remapped_row_failure>Yes</remapped_row_failure>
\t\t</remapped_rows>
\t\t<gpu_power_readings>
\t\t\t<power_draw>70.5 W</power_draw><current_power_limit>N/A</current_power_limit>
\t\t</gpu_power_readings>
\t\t<clocks><sm_clock>345 MHz</sm_clock></clocks>
\t\t<processes>
\t\t\t<process_info>
\t\t\t\t<pid>7001</pid><process_name>python3 &amp; co</process_name><used_memory>518 MiB</used_memory>
\t\t\t</process_info>
\t\t</processes>
\t</gpu>
\t<gpu id="00000000:43:00.0">
\t\t<product_name>NVIDIA H100 80GB HBM3</product_name>
\t\t<fabric><state>In Progress</state><status>N/A</status></fabric>
\t</gpu>
</nvidia_smi_log>
"""

LIST = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)
  MIG 1g.10gb     Device  0: (UUID: MIG-aaaaaaaa-2222-3333-4444-555555555555)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-99999999-2222-3333-4444-555555555555)
"""

CSV = """\
pstate, index, memory.total [MiB], compute_cap, clocks_event_reasons.active, pci.bus_id, power.limit [W]
P8, 0, 81559 MiB, 9.0, 0x0000000000000044, 00000000:1B:00.0, [N/A]
P0, 1, 81559 MiB, 9.0, Not Active, 00000000:43:00.0, 700.00 W
"""

APPS = """\
gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-11111111-2222-3333-4444-555555555555, 7001, python3 -c a, b, 518 MiB
GPU-99999999-2222-3333-4444-555555555555, 7002, [Not Found], [N/A]
"""

SAMPLES = (TABLE_580, TABLE_470, TABLE_610, LOG, XML, LIST, CSV, APPS)


def parse(*contents: str, source: str = "smi.txt") -> Gpus:
    found = gpus.parse([text(content, source) for content in contents])
    assert found is not None
    assert all(gpus.recognise(text(content, source)) for content in contents)
    return found


def only(content: str) -> Gpu:
    (gpu,) = parse(content).gpus
    return gpu


def test_table() -> None:
    found = parse(TABLE_580)
    first, second = found.gpus
    assert (found.driver, found.cuda, found.attached) == ("580.95.05", "13.0", None)
    assert (first.index, first.name, first.bus_id) == (0, "NVIDIA H100 80GB HBM3", "00000000:1b:00.0")
    assert (first.persistence, first.ecc_uncorrected, first.pstate, first.temperature) == (True, 2, "P0", 51)
    assert (first.power, first.power_limit, first.utilization) == (412.0, 700.0, 97)
    assert (first.memory_used, first.memory_total) == (61234 * MIB, 81559 * MIB)
    assert first.quote.line == 9
    assert (second.persistence, second.ecc_uncorrected, second.temperature) == (False, None, None)
    assert (second.power, second.power_limit, second.utilization) == (None, 700.0, None)
    assert found.processes is not None
    assert [(p.pid, p.gpu, p.name, p.memory) for p in found.processes] == [
        (7001, "0", "/opt/env/bin/python3", 61220 * MIB),
        (7002, "0", "a name with blanks", None),
    ]


def test_old_table_without_mig() -> None:
    found = parse(TABLE_470)
    (gpu,) = found.gpus
    assert (gpu.name, gpu.power, gpu.memory_used, gpu.utilization) == ("Tesla T4", 10.0, 105 * MIB, 3)
    assert found.processes is not None
    assert [(p.pid, p.name) for p in found.processes] == [(4242, "python")]


def test_unified_memory_is_not_said_rather_than_zero() -> None:
    found = parse(TABLE_610)
    (gpu,) = found.gpus
    assert (found.driver, found.cuda) == ("610.47", "13.3")
    assert (gpu.memory_total, gpu.memory_used, gpu.power_limit, gpu.ecc_uncorrected) == (None, None, None, None)
    assert (gpu.power, gpu.utilization, gpu.bus_id) == (5.0, 0, "0000000f:01:00.0")
    assert found.processes is None


def test_row_of_a_table_alone() -> None:
    gpu = only("| N/A   51C    P0   120W /  700W |     624MiB /  81559MiB |    100%      Default |\n")
    assert (gpu.index, gpu.power, gpu.utilization) == (-1, 120.0, 100)


def test_table_with_a_prefix_on_each_line() -> None:
    prefixed = "".join(f"probe-1  | {line}\n" for line in TABLE_580.splitlines())
    assert [g.index for g in parse(prefixed).gpus] == [0, 1]


def test_log() -> None:
    found = parse(LOG)
    first, second = found.gpus
    assert (found.driver, found.cuda, found.attached) == ("575.57.08", "12.9", 2)
    assert [g.index for g in found.gpus] == [0, 1]
    assert (first.link_gen, first.link_gen_max, first.link_width, first.link_width_max) == (4, 5, 8, 16)
    assert first.throttle == ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown")
    assert (first.memory_total, first.bar1_total) == (81559 * MIB, 131072 * MIB)
    assert (first.utilization, first.memory_utilization) == (97, 33)
    assert first.ecc_uncorrected == 3
    assert (first.remap_pending, first.remap_failed) == (True, False)
    assert (first.power, first.power_limit, first.power_limit_default) == (412.1, 650.0, 700.0)
    assert (first.sm_clock, first.sm_clock_max, first.temperature) == (1755, 1980, 51)
    assert (first.fabric_state, first.fabric_status) == ("Completed", "Success")
    assert (first.recovery_action, first.addressing_mode) == ("Drain and Reset", "HMM")
    assert (second.memory_total, second.utilization, second.persistence) == (None, None, False)
    assert found.processes is not None
    assert [(p.pid, p.name) for p in found.processes] == [(7001, "/opt/env/bin/python3")]


def test_one_of_several_gpus_has_no_known_index() -> None:
    (gpu,) = parse(LOG.partition("GPU 00000000:43")[0]).gpus
    assert (gpu.index, gpu.bus_id) == (-1, "00000000:1b:00.0")


def test_log_cut_by_grep() -> None:
    keep = ("Attached", "GPU 0000", "Current", "Max ", "Uncorrectable", "Fabric", "State")
    found = parse("".join(line + "\n" for line in LOG.splitlines() if any(k in line for k in keep)))
    assert found.attached == 2
    assert (found.gpus[0].link_gen, found.gpus[0].link_width, found.gpus[0].fabric_state) == (4, 8, "Completed")


@pytest.mark.parametrize(
    ("content", "field", "value"),
    [
        ("        Fabric\n            State            : In Progress\n", "fabric_state", "In Progress"),
        ("Fabric / State : In Progress", "fabric_state", "In Progress"),
        ("SW Power Cap : Active", "throttle", ("sw_power_cap",)),
        ("    HW Thermal Slowdown          : Active", "throttle", ("hw_thermal_slowdown",)),
        ("clocks_event_reasons.active: 0x0000000000000008", "throttle", ("hw_slowdown",)),
        ("Clocks Event Reasons Active : 0x84", "throttle", ("sw_power_cap", "hw_power_brake_slowdown")),
        ("Remapping Failure Occurred : Yes", "remap_failed", True),
        ("BAR1 Memory Usage\n    Total : 256 MiB\n", "bar1_total", 256 * MIB),
        ("(EngineCore pid=77) Persistence Mode : Disabled", "persistence", False),
    ],
)
def test_lone_lines(content: str, field: str, value: object) -> None:
    gpu = only(content)
    assert (gpu.index, getattr(gpu, field)) == (-1, value)


def test_attached_count_alone() -> None:
    found = parse("Attached GPUs                          : 7\n")
    assert (found.attached, found.gpus) == (7, ())


def test_product_name_of_another_program_is_no_gpu() -> None:
    assert gpus.parse([text("System Information\n\tProduct Name: Server 9000\n")]) is None


def test_xml() -> None:
    found = parse(XML)
    first, second = found.gpus
    assert (found.driver, found.cuda, found.attached) == ("550.90.07", "12.4", 2)
    assert (first.bus_id, first.uuid[:8], first.quote.line) == ("00000000:1b:00.0", "GPU-1111", 7)
    assert (first.link_gen, first.link_gen_max, first.link_width) == (1, 5, 16)
    assert (first.throttle, first.ecc_uncorrected) == (("sw_thermal_slowdown",), 4)
    assert (first.memory_used, first.memory_utilization, first.power_limit) == (0, None, None)
    assert (first.remap_pending, first.remap_failed, first.power) == (False, True, 70.5)
    assert (second.fabric_state, second.fabric_status, second.memory_used) == ("In Progress", "", None)
    assert found.processes is not None
    assert [(p.pid, p.gpu, p.name, p.memory) for p in found.processes] == [(7001, "0", "python3 & co", 518 * MIB)]


def test_truncated_xml_gives_what_was_complete() -> None:
    found = parse(XML.partition("\t\t<clocks><sm_clock>")[0])
    assert [g.index for g in found.gpus] == [0]
    assert found.gpus[0].power == 70.5


def test_xml_in_the_middle_of_a_log() -> None:
    assert [g.index for g in parse(f"$ nvidia-smi -q -x\n{XML}\nother lines\n").gpus] == [0, 1]


@pytest.mark.parametrize(
    "bomb",
    [
        '<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<nvidia_smi_log>&b;</nvidia_smi_log>\n',
        '<!DOCTYPE nvidia_smi_log [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<nvidia_smi_log>&x;</nvidia_smi_log>\n',
        "<nvidia_smi_log>" + "<a>" * 5000,
        "<nvidia_smi_log></a>\n",
    ],
)
def test_hostile_xml_is_a_parse_error(bomb: str) -> None:
    with pytest.raises(ParseError) as error:
        gpus.parse([text(bomb, "bad.xml")])
    assert error.value.source == "bad.xml"
    assert error.value.line in (1, 2)


def test_hostile_xml_does_not_hide_another_answer() -> None:
    assert len(parse("<nvidia_smi_log><b></a>\n", LIST).gpus) == 2


def test_cuda_version_of_an_image_is_not_the_drivers() -> None:
    assert gpus.parse([text("CUDA_VERSION: 12.8.1\nCUDA_VERSION=12.8.1\nNV_CUDA_LIB_VERSION: 12.8.1-1\n")]) is None


def test_list() -> None:
    first, second = parse(LIST).gpus
    assert (first.index, second.index, second.name) == (0, 1, "NVIDIA H100 80GB HBM3")


def test_csv_in_any_order() -> None:
    first, second = parse(CSV).gpus
    assert (first.pstate, first.compute_capability, first.power_limit) == ("P8", "9.0", None)
    assert first.throttle == ("sw_power_cap", "hw_thermal_slowdown")
    assert (second.throttle, second.power_limit) == ((), 700.0)


def test_csv_without_header_needs_the_command() -> None:
    rows = "NVIDIA H100 80GB HBM3, 81559, 5\nNVIDIA H100 80GB HBM3, 81559, 9\n"
    command = "nvidia-smi --query-gpu=name,memory.total,utilization.gpu --format=csv,noheader,nounits"
    found = gpus.parse([text(rows, command)])
    assert found is not None
    assert [(g.index, g.memory_total, g.utilization) for g in found.gpus] == [(0, 81559 * MIB, 5), (1, 81559 * MIB, 9)]
    assert gpus.parse([text(rows)]) is None
    assert [g.index for g in parse(f"$ {command}\n{rows}").gpus] == [0, 1]


def test_failure_of_the_command_is_no_gpu() -> None:
    command = "nvidia-smi --query-gpu=name --format=csv,noheader"
    assert gpus.parse([text("No devices were found\n", command)]) is None


def test_compute_apps() -> None:
    found = parse(APPS)
    assert found.processes is not None
    assert [(p.pid, p.name, p.memory) for p in found.processes] == [
        (7001, "python3 -c a, b", 518 * MIB),
        (7002, "[Not Found]", None),
    ]
    assert parse("pid, process_name, used_gpu_memory [MiB]\n").processes == ()


def test_forms_are_merged_by_what_names_the_gpu() -> None:
    found = parse(XML, CSV, LIST, APPS)
    first, second = found.gpus
    assert (first.index, first.compute_capability, first.power, first.pstate) == (0, "9.0", 70.5, "P8")
    assert (second.index, second.uuid[:8], second.power_limit) == (1, "GPU-9999", 700.0)
    assert found.processes is not None
    assert len(found.processes) == 3  # the same process under its index and under its UUID


def test_gpus_of_two_hosts_stay_apart() -> None:
    other = TABLE_580.replace("1B:00.0", "C1:00.0")
    assert [g.bus_id[9:11] for g in parse(TABLE_580, other).gpus if g.index == 0] == ["1b", "c1"]


def test_other_text_is_nothing() -> None:
    content = textwrap.dedent(
        """\
        INFO 03-03 worker.py: Memory profiling takes 1.2 seconds
        State: R (running)
        | a | table | of | something |
        colour, value
        x, 1
        """
    )
    assert gpus.parse([text(content)]) is None
    assert not gpus.recognise(text(content))


def test_any_text() -> None:
    parses_anything(gpus.PROBE, SAMPLES, 400)


ECC = """\
Attached GPUs                             : 2
GPU 00000000:17:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    ECC Errors
        Volatile
            DRAM Uncorrectable            : 0
    Remapped Rows
        Pending                           : No
GPU 00000000:65:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    ECC Errors
        Volatile
            DRAM Uncorrectable            : 2
    Remapped Rows
        Pending                           : Yes
"""


def test_a_value_is_quoted_where_it_is_said() -> None:
    good, bad = parse(ECC).gpus
    assert [q.line for q in bad.said("ecc_uncorrected", "remap_pending")] == [13, 15]
    assert [q.line for q in good.said("ecc_uncorrected")] == [2]  # a count of none has no line to show
    assert bad.said("fabric_state") == (bad.quote,)


def test_a_row_of_a_table_is_the_line_of_all_it_says() -> None:
    (first, *_) = parse(TABLE_580).gpus
    assert first.said("ecc_uncorrected") == (first.quote,)
