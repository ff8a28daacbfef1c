"""Forms in which people paste what these rules look for, beside those in the rules' own tests."""

import pytest
from judging import causes, diagnose

from qops.report import Verdict

FORMS = {
    "gpu-fell-off-bus": [
        "NVRM: nvCheckOkFailedNoLog: Check failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F)",
        "NVRM: fallen off the bus and is not responding to commands.",
        "nvidia 0000:0a:00.0: Unable to change power state from D3cold to D0, device inaccessible",
    ],
    "gsp-rpc-timeout": ["NVRM: _kgspLogXid119: ****** GSP Timeout ******"],
    "secure-boot-module-rejected": [
        "SecureBoot enabled\n/var/lib/shim-signed/mok/MOK.der is not enrolled\n"
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    ],
    "systemd-boot-order-race": [
        "nvidia-ctk[77]: failed to generate CDI spec: failed to create device CDI specs: failed to initialize NVML: "
        "Driver Not Loaded\nsystemd[1]: nvidia-cdi-refresh.service: Failed with result 'exit-code'.",
    ],
}


@pytest.mark.parametrize(("cause", "text"), [(c, t) for c, texts in FORMS.items() for t in texts])
def test_the_cause_comes_first(cause: str, text: str) -> None:
    assert causes({"paste.txt": text + "\n"})[:1] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        "SecureBoot enabled\nnvidia-smi: couldn't communicate with the NVIDIA driver",
        "SecureBoot disabled\nMOK.der is not enrolled\ncouldn't communicate with the NVIDIA driver",
        "xhci_hcd 0000:0a:00.2: Unable to change power state from D3cold to D0, device inaccessible",
    ],
)
def test_look_alikes(text: str) -> None:
    assert causes({"paste.txt": text + "\n"}) == []


def test_an_adapter_that_cannot_be_set_up_is_a_symptom() -> None:
    files = {"k.txt": "NVRM: loading NVIDIA UNIX\nNVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x26:0x56:1482)\n"}
    assert diagnose(files).findings[0].cause == "nvml-failed"


def test_nvtop_at_idle() -> None:
    line = "Device 0 [NVIDIA L40S] PCIe GEN 1@16x RX: 0.000 KiB/s TX: 0.000 KiB/s\n"
    assert diagnose({"nvtop.txt": line}).verdict is Verdict.HEALTHY


TABLE = """\
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
|   0  NVIDIA L40S                    On  |   00000000:0A:00.0 Off |                    0 |
| N/A   48C    P0             {watts}W /  350W |     733MiB /  46068MiB |    100%      Default |
"""


def test_busy_without_drawing_power_is_not_called_healthy() -> None:
    assert diagnose({"smi.txt": TABLE.format(watts=" 84")}).verdict is Verdict.UNDETERMINED
    assert diagnose({"smi.txt": TABLE.format(watts="291")}).verdict is Verdict.HEALTHY


def test_idle_gpus_say_nothing_for_an_engine_that_does_not_serve_yet() -> None:
    files = {
        "smi.txt": "GPU 0: NVIDIA L40S (UUID: GPU-0a1b2c3d)\n",
        "e.log": "INFO 10-02 11:00:00 [gpu_model_runner.py:2600] Starting to load model acme/tiny...\n",
    }
    assert diagnose(files).verdict is Verdict.UNDETERMINED


def test_look_alike_a_module_that_a_host_can_do_without() -> None:
    files = {
        "m.txt": "modprobe: FATAL: Module nvidia_peermem not found in directory /lib/modules/6.8.0-50-generic\n",
        "s.txt": "GPU 0: NVIDIA L40S (UUID: GPU-0a1b2c3d)\n",
    }
    assert diagnose(files).verdict is Verdict.HEALTHY
    files["m.txt"] = files["m.txt"].replace("nvidia_peermem", "nvidia-uvm")
    assert causes(files)[:1] == ["kernel-upgrade-no-module"]


def test_a_gpu_that_answers_err_is_not_called_healthy() -> None:
    table = (
        TABLE.format(watts="291") + "|ERR!  ERR! ERR!            N/A /  N/A |   GPU is lost |     ERR!      Default |\n"
    )
    assert diagnose({"smi.txt": table.replace("GPU is lost", "unknown")}).verdict is Verdict.UNDETERMINED


LINK = "pcie.link.gen.current: {gen}\npcie.link.gen.max: 4\npcie.link.width.current: {width}\npcie.link.width.max: 16\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (LINK.format(gen=4, width=8) + "utilization.gpu: 97 %\n", "pcie-link-degraded"),
        (LINK.format(gen=1, width=16) + "utilization.gpu: 99 %\n", "pcie-link-degraded"),
        ("SW Thermal Slowdown: 210 s since boot\n", "thermal-throttle"),
        ("Remapped Rows: Pending: Yes\n", "gpu-memory-ecc-hardware"),
        ("lsmod: nouveau loaded, nvidia not loaded\n", "nouveau-conflict"),
    ],
)
def test_one_property_a_line_or_in_ones_own_words(text: str, cause: str) -> None:
    assert causes({"o.txt": text})[:1] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        LINK.format(gen=1, width=16) + "utilization.gpu: 0 %\n",
        "Xid 154, GPU recovery action changed from 0x1 to 0x0 (None)\n",
    ],
)
def test_own_words_for_what_is_no_fault(text: str) -> None:
    assert diagnose({"o.txt": text}).verdict is Verdict.HEALTHY


@pytest.mark.parametrize("text", ["SW Thermal Slowdown: 3 s since boot\n", "Remapped Rows: Pending: No\n"])
def test_look_alikes_in_ones_own_words(text: str) -> None:
    assert causes({"o.txt": text}) == []


def test_lockdown_that_names_no_module_beside_modprobe_that_does() -> None:
    files = {
        "k.txt": "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7\n",
        "m.txt": "modprobe: ERROR: could not insert 'nvidia': Operation not permitted\n",
    }
    assert causes(files)[:1] == ["secure-boot-module-rejected"]
    assert causes({"m.txt": files["m.txt"]}) == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "kernel: NVRM: GPU1 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 41000 heartbeat 0 timeout 5200\n",
            "gsp-rpc-timeout",
        ),
        ("NVRM: GPU1 _kgspRpcRecvPoll: LibOS heartbeat timed out\n", "gsp-rpc-timeout"),
        (
            "docker: Error response from daemon: failed to discover GPU vendor from CDI: no known GPU vendor found\n",
            "container-toolkit-missing",
        ),
        (
            "ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most frequently when\n"
            "-> Kernel module load error: Key was rejected by service\n",
            "secure-boot-module-rejected",
        ),
        (
            "Detected a WARNING in health system Thermal: 'Detected clocks event due to thermal violation in GPU 5.\n",
            "thermal-throttle",
        ),
        ("Detected clock throttling due to thermal violation in GPU 1.\n", "thermal-throttle"),
        ("There were thermal violations totaling 12.4 seconds for GPU 3\n", "thermal-throttle"),
        ("GPU 2 has uncorrectable memory errors and row remappings are pending\n", "gpu-memory-ecc-hardware"),
        ("GPU 2 had uncorrectable memory errors and 3 rows were remapped\n", "gpu-memory-ecc-hardware"),
        ("Detected 2 volatile double-bit ECC error(s) in GPU 6.\n", "gpu-memory-ecc-hardware"),
        ("GPU 7 had uncorrectable memory errors and row remapping failed.\n", "gpu-memory-ecc-hardware"),
        (
            "GPU 4 is running at PCI link width 8X, which is below the minimum allowed link generation of 16 "
            "(parameter 'min_pci_width')\n",
            "pcie-link-degraded",
        ),
    ],
)
def test_words_of_the_driver_and_of_dcgm(text: str, cause: str) -> None:
    assert causes({"paste.txt": text})[:1] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        "Detected clocks event due to power violation in GPU 5.\n",
        "There were thermal violations totaling 0.0 seconds for GPU 3\n",
        "Detected 0 volatile double-bit ECC error(s) in GPU 6.\n",
        "Leader 7 heartbeat timed out, attempting takeover\n",
    ],
)
def test_look_alikes_of_the_driver_and_of_dcgm(text: str) -> None:
    assert causes({"paste.txt": text}) == []


def test_a_module_that_the_installer_cannot_load_is_a_symptom() -> None:
    text = "ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most frequently when\n"
    assert diagnose({"paste.txt": text}).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: GPU2 kgspHealthCheck_TU102: ********** GSP-CrashCat Report **********\n",
        "NVRM: Xid (PCI:0000:41:00): 62, 21a0 0000 00000000\nNVRM: GSP task watchdog timeout @ pc:0x1a2b3c, partition:4#0\n",
    ],
)
def test_the_firmware_reports_its_own_end(text: str) -> None:
    assert causes({"dmesg.txt": text})[:1] == ["gsp-rpc-timeout"]


PLUGIN = [
    "E0402 factory.go:116] If this is a GPU node, did you configure the NVIDIA Container Toolkit?\n",
    "If this is a GPU node, did you set the docker default runtime to 'nvidia'?\n",
]


@pytest.mark.parametrize("text", PLUGIN)
def test_a_device_plugin_without_nvml(text: str) -> None:
    assert causes({"pod.log": text}) == ["container-toolkit-missing"]
    refused = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    assert causes({"pod.log": text, "smi.txt": refused}) == []


@pytest.mark.parametrize(("watts", "verdict"), [("14", Verdict.UNDETERMINED), ("38", Verdict.HEALTHY)])
def test_a_busy_gb10_that_draws_next_to_nothing_is_not_called_healthy(watts: str, verdict: Verdict) -> None:
    table = (
        "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |\n"
        f"| N/A   51C    P0             {watts}W /  N/A  | Not Supported          |     97%      Default |\n"
    )
    assert diagnose({"smi.txt": table}).verdict is verdict


def test_look_alike_a_toolkit_that_gives_no_container_a_device() -> None:
    refused = "$ docker run --rm --gpus all debian nvidia-smi\nFailed to initialize NVML: Unknown Error\n"
    assert causes({"d.txt": refused + "no-cgroups = true\n"}) == []
    assert causes({"d.txt": refused + "#no-cgroups = true\n"}) == ["container-lost-gpu-cgroup"]
    reloaded = "systemd[1]: Reloading.\n"
    assert causes({"d.txt": refused + "no-cgroups = true\n", "j.txt": reloaded}) == ["container-lost-gpu-cgroup"]


FINDS_NONE = 'srv[812]: level=INFO source=gpu.go:377 msg="no compatible GPUs were discovered"\n'
LOADS = "kernel: nvidia-uvm: Loaded the UVM driver, major device number 234.\n"
BOOTS = "-- Boot 0a1b2c3d4e5f60718293a4b5c6d7e8f9 --\n"


def test_a_service_that_looks_before_the_driver_is_loaded() -> None:
    assert causes({"j.txt": BOOTS + FINDS_NONE + LOADS}) == ["systemd-boot-order-race"]


@pytest.mark.parametrize("text", [BOOTS + LOADS + FINDS_NONE, FINDS_NONE + LOADS, BOOTS + FINDS_NONE])
def test_look_alikes_of_a_service_that_looks_too_early(text: str) -> None:
    assert causes({"j.txt": text}) == []


def test_a_damaged_inforom_is_not_called_healthy() -> None:
    rows = "GPU 0: NVIDIA L4 (UUID: GPU-0a1b2c3d)\nWARNING: infoROM is corrupted at gpu 0000:0A:00.0\n"
    assert diagnose({"smi.txt": rows}).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("status", "verdict"), [("Success", Verdict.HEALTHY), ("Insufficient Resources", Verdict.UNDETERMINED)]
)
def test_a_gpu_that_could_not_join_its_fabric_is_not_called_healthy(status: str, verdict: Verdict) -> None:
    section = (
        "GPU 00000000:1B:00.0\n"
        "    Product Name                          : NVIDIA H200\n"
        "    Fabric\n"
        "        State                             : Completed\n"
        f"        Status                            : {status}\n"
    )
    assert diagnose({"smi.txt": section}).verdict is verdict


def test_cuda_alone_tells_of_an_nvlink_error() -> None:
    # MIC-DKFZ/nnUNet#1519: one process's words, and no kernel log to say which link.
    report = diagnose({"e.log": "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution\n"})
    assert report.verdict is Verdict.UNDETERMINED
    assert [f.cause for f in report.findings][:1] == ["nvlink-error"]


def test_the_kernel_fails_in_the_code_for_hmm() -> None:
    oops = "RIP: 0010:{}+0x51/0x3a0 [nvidia_uvm]\n"
    assert causes({"k.txt": oops.format("uvm_hmm_unregister_gpu")}) == ["uvm-hmm-conflict"]
    assert causes({"k.txt": oops.format("uvm_va_space_destroy")}) == []
