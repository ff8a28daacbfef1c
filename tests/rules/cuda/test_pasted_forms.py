"""Forms in which people paste what these rules look for, beside those in the rules' own tests."""

import pytest
from judging import causes, diagnose

from qops.report import Verdict

FORMS = {
    "backend-silent-garbage-on-arch": [
        {"o.txt": "--moe-backend cutlass: the output is byte garbage\n"},
        {
            "e.log": "INFO Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM\n\"content\": \"!!!!!!!!!!!!!!!!\"\n",
            "o.txt": "marlin gives a coherent answer\n",
        },
    ],
    "backend-unsupported-on-arch": [
        {"e.log": "RuntimeError: kernel does not support current device cuda\n"},
        {"e.log": "RuntimeError: Unsupported architecture for sparse decode: FlashMLA\n"},
    ],
    "fabric-manager-not-running": [{"e.log": "cuda driver library init failure: 802\n"}],
    "kernel-bug-illegal-access": [
        {
            "k.txt": "NVRM: Xid (PCI:0000:21:00): 31, pid=91, name=srv, Ch 00000008, intr 00000000. MMU Fault: ENGINE "
            "GRAPHICS GPC2 GPCCLIENT_T1_3 faulted @ 0x7e10_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ\n",
            "e.log": "CUDA error: unspecified launch failure\n",
        },
        {"k.txt": "NVRM: Xid (PCI:0000:21:00): 13, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address\n"},
    ],
    "specdecode-kernel-illegal-access": [
        {
            "e.log": '  File "/srv/sglang/srt/speculative/eagle_worker.py", line 31, in verify\n'
            "RuntimeError: CUDA error: an illegal memory access was encountered\n"
        },
    ],
    "no-visible-gpu": [
        {"e.log": "RuntimeError: Failed to infer device type\n", "d.txt": "docker run -e NVIDIA_VISIBLE_DEVICES=none srv\n"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(("cause", "files"), [(c, f) for c, forms in FORMS.items() for f in forms])
def test_the_cause_comes_first(cause: str, files: dict[str, str]) -> None:
    assert causes(files)[:1] == [cause]


@pytest.mark.parametrize(
    "files",
    [
        {"e.log": "RuntimeError: Failed to infer device type\n"},
        {"o.txt": "the output is garbage since this week\n"},
        {"k.txt": "NVRM: Xid (PCI:0000:21:00): 13, Graphics Exception: ESR 0x50c730=0x2000e\n"},
    ],
)
def test_look_alikes(files: dict[str, str]) -> None:
    assert causes(files) == []


def test_look_alike_a_manager_without_switches() -> None:
    files = {
        "j.txt": "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do "
        "[NV_WARN_NOTHING_TO_DO]\nnvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE\n",
        "s.txt": "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-0a1b2c3d)\n",
    }
    assert diagnose(files).verdict is Verdict.HEALTHY


def test_the_same_with_802_is_a_fault() -> None:
    files = {
        "j.txt": "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do "
        "[NV_WARN_NOTHING_TO_DO]\nnvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE\n",
        "e.log": "CUDA error: system not yet initialized\n",
    }
    assert causes(files)[:1] == ["fabric-manager-not-running"]


def test_look_alike_a_stopped_manager_beside_cards() -> None:
    unit = "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Active: inactive (dead)\n"
    cards = {"j.txt": unit, "s.txt": "GPU 0: NVIDIA L40S (UUID: GPU-0a1b2c3d)\n"}
    assert diagnose(cards).verdict is Verdict.HEALTHY
    board = {"j.txt": unit, "s.txt": "GPU 0: NVIDIA H200 (UUID: GPU-0a1b2c3d)\n"}
    assert causes(board)[:1] == ["fabric-manager-not-running"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "the bundled ptxas 12.8 says: Value 'sm_121a' is not defined for option 'gpu-name'\n",
            "ptxas-too-old-for-arch",
        ),
        ("ninja: command not found\n", "jit-compiler-missing"),
    ],
)
def test_in_ones_own_words(text: str, cause: str) -> None:
    assert causes({"o.txt": text})[:1] == [cause]


def test_look_alike_a_command_that_a_person_typed() -> None:
    assert causes({"o.txt": "bash: ninja: command not found\n"}) == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('level=WARN msg="old CUDA driver detected - please upgrade" version=11.4\n', "driver-too-old-for-image"),
        (
            "RuntimeError: MLA requires compute capability of 10.0 but the device has 12.1\n",
            "backend-unsupported-on-arch",
        ),
        ("AssertionError: NVCC not found: /opt/cuda/bin/nvcc\n", "jit-compiler-missing"),
    ],
)
def test_words_of_other_programs(text: str, cause: str) -> None:
    assert causes({"o.txt": text})[:1] == [cause]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "ptxas /tmp/k.ptx, line 5; fatal   : Unsupported .version 9.0; current version is '8.7'\n",
            "ptxas-too-old-for-arch",
        ),
        # The driver's own compiler, which no setting of Triton replaces.
        (
            "ptxas application ptx input, line 9; fatal   : Unsupported .version 8.7; current version is '8.4'\n",
            "driver-too-old-for-image",
        ),
        (
            "NotImplementedError: FlashInfer backend currently does not support attention sinks, please use trtllm\n",
            "backend-unsupported-on-arch",
        ),
        ("ptxas error : Feature '.tile::scatter4' not supported on .target 'sm_121a'\n", "backend-unsupported-on-arch"),
        ("ptxas: Instruction 'tcgen05.fence' not supported on .target 'sm_120f'\n", "backend-unsupported-on-arch"),
        ("RuntimeError: FlashMLA decode only supports SM90a architecture\n", "backend-unsupported-on-arch"),
        (
            "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
            "RuntimeError: Failed to infer device type\n",
            "no-visible-gpu",
        ),
    ],
)
def test_more_forms(text: str, cause: str) -> None:
    assert causes({"job.log": text})[:1] == [cause]


def test_an_image_that_runs_without_a_gpu_on_purpose_is_no_fault() -> None:
    banner = "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
    assert causes({"job.log": banner}) == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Quadro RTX 6000 "
            "GPU has compute capability 7.5. You can use float16 instead.\n",
            "backend-unsupported-on-arch",
        ),
        ("RuntimeError: GPUs with compute capability below 7.0 are not supported.\n", "backend-unsupported-on-arch"),
        (
            "RuntimeError: ('Quantization scheme is not supported for ', 'the current GPU. Min capability: 80. ', "
            "'Current capability: 75.')\n",
            "backend-unsupported-on-arch",
        ),
        (
            "AssertionError: Only {'triton', 'fa4'} backends are supported on Blackwell GPUs for hybrid models. Got flashinfer.\n",
            "backend-unsupported-on-arch",
        ),
        ("RuntimeError: prefill of this layer requires the FlashInfer Blackwell path\n", "backend-unsupported-on-arch"),
        ("Error: unsupported CUDA version: driver 9.0 < image 10.1\n", "driver-too-old-for-image"),
        (
            "    Found GPU0 Tesla P40 which is of cuda capability 6.1.\n    Minimum and Maximum cuda capability supported by "
            "this version of PyTorch is\n    (7.0) - (12.0)\n",
            "no-kernel-image-for-arch",
        ),
        (
            "    PyTorch no longer supports this GPU because it is too old.\n    The minimum cuda capability supported by "
            "this library is 3.7.\n",
            "no-kernel-image-for-arch",
        ),
    ],
)
def test_what_an_architecture_lacks(text: str, cause: str) -> None:
    assert causes({"job.log": text})[:1] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        # 12.1 runs the code of 12.0, and torch warns all the same.
        "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.\nMinimum and Maximum cuda capability supported by this "
        "version of PyTorch is\n(8.0) - (12.0)\n",
        "MXFP4 quantization is only supported on GPUs with compute capability >= 7.5. We will default to dequantizing.\n",
        "the triton backend is supported on Blackwell GPUs\n",
    ],
)
def test_look_alikes_of_what_an_architecture_lacks(text: str) -> None:
    assert causes({"job.log": text}) == []


def test_the_torch_range_beside_an_engine_that_serves() -> None:
    text = (
        "Found GPU1 Quadro P600 which is of cuda capability 6.1.\n(7.0) - (12.0)\n"
        "INFO:     Application startup complete.\n"
    )
    assert causes({"job.log": text}) == []


def test_a_page_fault_after_an_error_of_the_link_is_no_bug_of_a_kernel() -> None:
    text = (
        "pcieport 0000:00:03.1: AER: Uncorrectable (Non-Fatal) error received from 0000:2a:00.0\n"
        "nvidia 0000:2a:00.0: AER: can't recover (no error_detected callback)\n"
        "NVRM: Xid (PCI:0000:2a:00): 31, pid=812, name=srv, MMU Fault: ENGINE GR_HOST0. Fault is of type FAULT_PDE\n"
    )
    found = causes({"dmesg.txt": text, "cmd.txt": "--speculative-num-steps 3\n"})
    assert not {"kernel-bug-illegal-access", "specdecode-kernel-illegal-access"} & set(found)


def test_802_beside_cards_is_not_the_fabric_managers() -> None:
    files = {
        "e.log": "RuntimeError: CUDA error: system not yet initialized\n",
        "nvidia_smi.txt": "GPU 0: NVIDIA H100 NVL (UUID: GPU-1c0f2a3b-0000-1111-2222-333344445555)\n",
    }
    assert "fabric-manager-not-running" not in causes(files)


DSO = "E cuda_diagnostics.cc:313] kernel version 535.54.3 does not match DSO version 535.86.5 -- cannot find working devices\n"


def test_the_words_of_tensorflow_and_jax_for_a_mismatch() -> None:
    refused = "failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver\n"
    assert causes({"e.log": DSO}) == ["driver-library-version-mismatch"]
    assert causes({"e.log": refused + DSO}) == ["driver-library-version-mismatch"]


def test_look_alike_another_libcuda_than_the_hosts() -> None:
    smi = "| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: 12.2     |\n"
    folder = "LD_LIBRARY_PATH=/usr/local/cuda-12.2/compat:/opt/lib\n"
    assert "driver-library-version-mismatch" not in causes({"e.log": DSO, "nvidia_smi.txt": smi})
    assert "driver-library-version-mismatch" not in causes({"e.log": DSO, "env.txt": folder})


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("FATAL: kernel `fmha_cutlassB_f16` is for sm75-sm80, but was built for sm50\n", "no-kernel-image-for-arch"),
        (
            "FATAL: FlashAttention requires building with sm version sm80-sm90, but was built for < 8.0!\n",
            "no-kernel-image-for-arch",
        ),
        (
            "AssertionError: Device compute capability 8.9 or higher required for FP8 execution.\n",
            "backend-unsupported-on-arch",
        ),
        ("    assert is_sm90_supported() or is_sm100_supported()\nAssertionError\n", "backend-unsupported-on-arch"),
    ],
)
def test_what_a_library_was_built_for(text: str, cause: str) -> None:
    assert causes({"e.log": text})[:1] == [cause]


def test_an_assertion_that_names_nothing_is_not_outweighed_by_idle_gpus() -> None:
    files = {
        "e.log": "    assert len(a) == len(b)\nAssertionError\n",
        "smi.txt": "GPU 0: NVIDIA L4 (UUID: GPU-0a1b2c3d)\n",
    }
    assert diagnose(files).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "sign",
    [
        "metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.61, Accepted throughput: 41.20 tokens/s\n",
        "Decode batch. #running-req: 3, #token: 812, token usage: 0.02, accept len: 2.31, gen throughput (token/s): 210.4\n",
        "llama-server -m main.gguf -md draft.gguf -ngl 99\n",
        "./llama-cli -m main.gguf --model-draft draft.gguf --draft-max 8\n",
    ],
)
def test_signs_of_speculative_decoding(sign: str) -> None:
    error = "CUDA error: an illegal memory access was encountered\n"
    assert causes({"e.log": sign + error})[:1] == ["specdecode-kernel-illegal-access"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)\n",
            "jit-compiler-missing",
        ),
        (
            "ERRO[0000] failed to generate CDI spec: failed to initalize NVML: ERROR_LIB_RM_VERSION_MISMATCH\n",
            "driver-library-version-mismatch",
        ),
        (
            "`fa2B@2.8.3` is not supported because:\n    requires device with capability >= (8, 0) but your GPU has "
            "capability (7, 5) (too old)\n",
            "backend-unsupported-on-arch",
        ),
    ],
)
def test_words_of_deepspeed_of_the_toolkit_and_of_xformers(text: str, cause: str) -> None:
    assert causes({"e.log": text})[:1] == [cause]


def test_look_alike_a_toolkit_of_another_release_is_there() -> None:
    text = (
        "CUDAMismatchException: Installed CUDA version 12.4 does not match the version torch was compiled with 11.8\n"
    )
    assert causes({"e.log": text}) == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        # triton-lang/triton#3899
        (
            "ptxas /tmp/t.ptx, line 118; error   : Feature 'cvt with .e4m3x2/.e5m2x2 on sm_89' requires PTX ISA "
            ".version 8.1 or later\n",
            "ptxas-too-old-for-arch",
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_120'\n", "ptxas-too-old-for-arch"),
        (
            "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e5',)\n",
            "backend-unsupported-on-arch",
        ),
        ("NotImplementedError: W4AFP8 MoE is unsupported on SM89.\n", "backend-unsupported-on-arch"),
        # state-spaces/mamba#269
        (
            "ptxas /tmp/compile-ptx-src-0cc16a, line 388; error   : Feature '.bf16' requires .target sm_80 or higher\n",
            "backend-unsupported-on-arch",
        ),
    ],
)
def test_words_of_triton_and_of_its_assembler(text: str, cause: str) -> None:
    assert causes({"o.txt": text})[:1] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        # CUDA 13 dropped it: the toolkit is too new, and a newer one does not help.
        "nvcc fatal   : Unsupported gpu architecture 'compute_61'\n",
        "GPU 0: Tesla P40 (UUID: GPU-12b0aa31-1c1a-4ca6-8a4b-90cc1bff1e10)\n"
        "RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)\n",
        # A build for an architecture that was named to nvcc, whatever GPU is there.
        "ptxas /tmp/tmpxft_000004a1_00000000-6_m.ptx, line 3; error   : Feature 'cp.async' requires .target sm_80 or "
        "higher\n",
    ],
)
def test_look_alikes_of_an_assembler_that_is_too_old(text: str) -> None:
    assert causes({"o.txt": text}) == []
    assert diagnose({"o.txt": text}).verdict is Verdict.UNDETERMINED
