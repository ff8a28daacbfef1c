"""What shows that a machine works, what only looks like it, and what it may not outweigh."""

import pytest
from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rule import Rule
from qops.rules.cuda.torch_sees_gpu import torch_sees_gpu
from qops.rules.host.diagnostic_passed import diagnostic_passed
from qops.rules.host.driver_loaded import driver_loaded
from qops.rules.host.gpu_runtime_known import gpu_runtime_known
from qops.rules.host.gpus_answer import gpus_answer
from qops.rules.host.pcie_link_full import pcie_link_full
from qops.rules.host.service_runs import service_runs
from qops.rules.nccl.communicators_ended import communicators_ended
from qops.rules.serve.engine_initialised import engine_initialised
from qops.rules.serve.engine_ready import engine_ready

LOAD = (
    "[    4.210001] nvidia-nvlink: Nvlink Core is being initialized, major device number 234\n"
    "[    4.801200] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)\n"
    "[    5.102030] nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  580.95.05\n"
)
UNIT = (
    "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
    "     Loaded: loaded (/usr/lib/systemd/system/nvidia-fabricmanager.service; enabled; preset: enabled)\n"
    "     Active: {state} since Mon 2026-11-30 08:00:02 UTC; 3h ago\n"
)
DIAG = (
    "Successfully ran diagnostic for group.\n"
    "+---------------------------+------------------------------------------------+\n"
    "| Denylist                  | Pass                                           |\n"
    "| PCIe                      | {result}                                           |\n"
)
LINK = (
    "17:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)\n"
    "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
    "\t\tLnkSta:\tSpeed {speed}, Width {width}\n"
)
MATRIX = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNODE\t0-31\t0\t\tN/A\n"
    "GPU1\tNODE\t X \t0-31\t0\t\tN/A\n"
)
DMON = (
    "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk\n"
    "# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz\n"
    "    0    {a}     51      -     98     {mem}      0      0      0      0   9000   1700\n"
    "    0    {b}     52      -     99     {mem}      0      0      0      0   9000   1710\n"
)
PMON = (
    "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command\n"
    "# Idx           #    C/G      %      %      %      %      %      %    name\n"
    "    0          -     -      -      -      -      -      -      -    -\n"
)
ENDED = "node7:81:81 [0] NCCL INFO comm 0x55aa01 rank 0 nranks 2 cudaDev 0 busId 17000 - {end} COMPLETE\n"
CORE = "(EngineCore pid=70) INFO 11-30 09:00:44 [core.py:218] init engine (profile, create kv cache, warmup model) took {s}\n"
RATE = (
    "(APIServer pid=9) INFO 11-30 09:10:02 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    "Avg generation throughput: {rate} tokens/s, Running: 2 reqs, Waiting: 0 reqs\n"
)
TORCH = "PyTorch version: 2.9.1+cu130\nIs CUDA available            : {answer}\nCUDA runtime version: 13.0.88\n"

GOOD: list[tuple[Rule, str]] = [
    (driver_loaded, LOAD),
    (service_runs, UNIT.format(state="active (running)")),
    (gpu_runtime_known, " Server Version: 29.1.0\n Runtimes: io.containerd.runc.v2 nvidia runc\n Default Runtime: runc\n"),
    (diagnostic_passed, DIAG.format(result="Pass")),
    (pcie_link_full, LINK.format(speed="16GT/s (ok)", width="x16 (ok)")),
    (torch_sees_gpu, TORCH.format(answer="True")),
    (gpus_answer, DMON.format(a=310, b=288, mem=61)),
    (gpus_answer, DMON.format(a=310, b=180, mem=0) + DMON.format(a=250, b=300, mem=0)),  # power that moves is work
    (gpus_answer, PMON),
    (communicators_ended, ENDED.format(end="Destroy")),
    (engine_initialised, CORE.format(s="31.20 seconds")),
    (engine_ready, RATE.format(rate="41.7")),
    (
        engine_ready,
        "[2026-11-30 09:01:02 TP0] Decode batch, #running-req: 3, #token: 812, token usage: 0.01, cuda graph: True, "
        "gen throughput (token/s): 122.40, #queue-req: 0\n",
    ),
    (engine_ready, '[2026-11-30 09:01:02] INFO:     192.0.2.7:51022 - "POST /generate HTTP/1.1" 200 OK\n'),
]  # fmt: skip
BAD: list[tuple[Rule, str]] = [
    (driver_loaded, LOAD + "[    6.000100] NVRM: something new went wrong with 0000:17:00.0\n"),
    (service_runs, UNIT.format(state="activating (auto-restart) (Result: exit-code)")),
    (service_runs, "● cups.service - CUPS Scheduler\n     Active: active (running) since Mon 2026-11-30 08:00:02 UTC\n"),
    (gpu_runtime_known, " Runtimes: io.containerd.runc.v2 runc\n Default Runtime: runc\n"),
    (diagnostic_passed, DIAG.format(result="Fail")),
    (diagnostic_passed, "| Denylist                  | Pass                                           |\n"),
    (pcie_link_full, LINK.format(speed="16GT/s (ok)", width="x8 (downgraded)")),
    (pcie_link_full, LINK.format(speed="16GT/s (ok)", width="x16 (ok)") + "\t\tACSCtl:\tSrcValid+ ReqRedir+ CmpltRedir+\n"),
    (torch_sees_gpu, TORCH.format(answer="False")),
    (gpus_answer, MATRIX),  # which paths there are says nothing of what goes over them
    (gpus_answer, DMON.format(a=121, b=122, mem=0)),  # may wait in a collective
    (communicators_ended, ENDED.format(end="Destroy") + ENDED.format(end="Abort")),
    (engine_initialised, CORE.format(s="31.20 seconds") + "INFO 11-30 09:10:02 [api.py:9] vLLM API server version 0.30.0\n"),
    (engine_ready, RATE.format(rate="41.7") + RATE.format(rate="0.0")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "said"), GOOD)
def test_a_sign_makes_the_verdict_healthy(rule: Rule, said: str) -> None:
    report = diagnose({"answer.txt": said})
    assert report.verdict is Verdict.HEALTHY
    assert rule.cause in [f.cause for f in report.findings]


@pytest.mark.parametrize(("rule", "said"), BAD)
def test_what_only_looks_like_a_sign_is_none(rule: Rule, said: str) -> None:
    report = diagnose({"answer.txt": said})
    assert rule.cause not in [f.cause for f in report.findings]
    assert report.verdict is not Verdict.HEALTHY


@pytest.mark.parametrize(
    "beside",
    [
        "Traceback (most recent call last):\nodd.module.NewException: what\n",
        "INFO 11-30 09:00:01 [api_server.py:1884] vLLM API server version 0.30.0\n",
        "node7:81:90 [0] NCCL INFO Connected all rings\n",
    ],
    ids=["an error that nobody knows", "an engine that starts", "a job that may hang"],
)
@pytest.mark.parametrize("said", [said for rule, said in GOOD[:6]], ids=[rule.cause for rule, _ in GOOD[:6]])
def test_a_sign_does_not_outweigh_what_is_shown_beside_it(said: str, beside: str) -> None:
    assert diagnose({"answer.txt": said, "job.log": beside}).verdict is not Verdict.HEALTHY


@pytest.mark.parametrize("rule", [driver_loaded, pcie_link_full, engine_initialised], ids=lambda r: r.cause)
def test_nothing_seen_is_unknown(rule: Rule) -> None:
    assert outcomes(rule, {}) is None


def test_a_note_on_the_module_is_no_sign_where_its_driver_complains() -> None:
    taint = "[    4.1] nvidia: loading out-of-tree module taints kernel.\n"
    assert diagnose({"dmesg.txt": taint + LOAD}).verdict is Verdict.HEALTHY
    assert diagnose({"dmesg.txt": taint + LOAD + "[    9.1] NVRM: something new\n"}).verdict is Verdict.UNDETERMINED
