import pytest
from judging import text

from qops.probes.environment import parse, recognise


def read(content: str, source: str = "job.log") -> list[tuple[str, str, str]]:
    found = parse([text(content, source)])
    return [(v.name, v.value, v.owner) for v in found.variables] if found else []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("NCCL_P2P_LEVEL=SYS", [("NCCL_P2P_LEVEL", "SYS", "shell")]),
        ("CUDA_VISIBLE_DEVICES=", [("CUDA_VISIBLE_DEVICES", "", "shell")]),
        ("  export NCCL_DEBUG=INFO", [("NCCL_DEBUG", "INFO", "shell")]),
        ('export NCCL_DEBUG="INFO" NCCL_IB_DISABLE=1 && ./x', [("NCCL_DEBUG", "INFO", "shell"), ("NCCL_IB_DISABLE", "1", "shell")]),
        ('declare -x CUDA_VISIBLE_DEVICES="2"', [("CUDA_VISIBLE_DEVICES", "2", "shell")]),
        ("NCCL_P2P_DISABLE=1 torchrun --nproc-per-node 2 x.py", [("NCCL_P2P_DISABLE", "1", "job")]),
        ("$ env NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=bond3 python3 -m x", [("NCCL_DEBUG", "INFO", "job"), ("NCCL_SOCKET_IFNAME", "bond3", "job")]),
        ("timeout -k 5 45 env NCCL_DEBUG=WARN python3 x.py", [("NCCL_DEBUG", "WARN", "job")]),
        ("docker run --gpus all -e NCCL_P2P_LEVEL=NVL --env=HF_HUB_OFFLINE=1 img", [("NCCL_P2P_LEVEL", "NVL", "container"), ("HF_HUB_OFFLINE", "1", "container")]),
        ("mpirun -np 2 -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH ./all_reduce_perf", [("NCCL_DEBUG", "INFO", "container")]),
        ("Environment=NCCL_DEBUG=INFO", [("NCCL_DEBUG", "INFO", "unit")]),
        ('Environment="CUDA_VISIBLE_DEVICES=0,1" "NCCL_P2P_LEVEL=PIX"', [("CUDA_VISIBLE_DEVICES", "0,1", "unit"), ("NCCL_P2P_LEVEL", "PIX", "unit")]),
        ("ENV NCCL_DEBUG INFO", [("NCCL_DEBUG", "INFO", "image")]),
        ("ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:${LD_LIBRARY_PATH}", [("LD_LIBRARY_PATH", "/usr/local/cuda/compat:${LD_LIBRARY_PATH}", "image")]),
        ("NCCL_P2P_LEVEL=4 (SYS)", [("NCCL_P2P_LEVEL", "4", "shell")]),
        ("NCCL_IB_HCA=mlx5_0  # the rail next to GPU 0", [("NCCL_IB_HCA", "mlx5_0", "shell")]),
        ("env: NCCL_P2P_LEVEL=4 (SYS), NCCL_DEBUG=INFO", [("NCCL_P2P_LEVEL", "4", "shell"), ("NCCL_DEBUG", "INFO", "shell")]),
        ("- `NCCL_P2P_DISABLE=1`", [("NCCL_P2P_DISABLE", "1", "shell")]),
        ('            "NCCL_VERSION=2.28.3-1",', [("NCCL_VERSION", "2.28.3-1", "container")]),
        ("GPU_MEM_UTIL=0.87", [("GPU_MEM_UTIL", "0.87", "shell")]),
    ],
)  # fmt: skip
def test_lines_that_set_variables(line: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "If memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        "Please disable it (NCCL_NVLS_ENABLE=0) if you wish",
        "NCCL_NVLS_ENABLE=0) if you wish",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "NCCL_P2P_DISABLE=1 makes it work for us",
        'os.environ["NCCL_DEBUG"] = "INFO"',
        "host:12:34 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to SYS",
        "if (NCCL_DEBUG == 1) return;",
        "nccl_debug=INFO",
        "MY_OWN=1",
        "rank=0 world_size=2",
    ],
)
def test_words_and_code_about_variables(line: str) -> None:
    assert read(line) == []
    assert not recognise(text(line))


def test_compose_mapping_and_list() -> None:
    content = (
        'services:\n  llm:\n    environment:\n      NCCL_SOCKET_IFNAME: "eth0"\n      VLLM_LOGGING_LEVEL: DEBUG  # more\n'
        "    ports:\n      - 8000:8000\n  other:\n    environment:\n      - NCCL_SHM_DISABLE=1\n"
    )
    assert read(content) == [
        ("NCCL_SOCKET_IFNAME", "eth0", "container"),
        ("VLLM_LOGGING_LEVEL", "DEBUG", "container"),
        ("NCCL_SHM_DISABLE", "1", "container"),
    ]


def test_pod_specification() -> None:
    assert read('env:\n- name: NCCL_DEBUG\n  value: "WARN"\n- name: OTHER\n  value: x\n') == [
        ("NCCL_DEBUG", "WARN", "container")
    ]


def test_a_list_as_env_prints_it_may_hold_blanks() -> None:
    content = (
        "CUDA_VERSION=13.0.2\nNVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=tesla,driver>=535\nNVIDIA_VISIBLE_DEVICES=0,1\n"
    )
    assert ("NVIDIA_REQUIRE_CUDA", "cuda>=13.0 brand=tesla,driver>=535", "shell") in read(content)


def test_the_answer_of_our_own_script() -> None:
    content = (
        "== pid 101\nNCCL_DEBUG=INFO\nHF_HUB_TOKEN=<redacted>\nRANK=0\n== pid 102\nNCCL_DEBUG=WARN\nRANK=1\n"
        "== file /etc/nccl.conf\n# of this machine\nNCCL_IB_DISABLE=1\n"
    )
    assert read(content) == [
        ("NCCL_DEBUG", "INFO", "pid 101"),
        ("HF_HUB_TOKEN", "<redacted>", "pid 101"),
        ("RANK", "0", "pid 101"),
        ("NCCL_DEBUG", "WARN", "pid 102"),
        ("RANK", "1", "pid 102"),
        ("NCCL_IB_DISABLE", "1", "/etc/nccl.conf"),
    ]


def test_settings_files() -> None:
    assert read("NCCL_DEBUG=INFO\n", "/etc/nccl.conf") == [("NCCL_DEBUG", "INFO", "/etc/nccl.conf")]
    assert read("$ cat /etc/nccl.conf\nNCCL_DEBUG=INFO\n\nNCCL_DEBUG=WARN\n") == [
        ("NCCL_DEBUG", "INFO", "/etc/nccl.conf"),
        ("NCCL_DEBUG", "WARN", "shell"),
    ]


def test_the_same_thing_twice_counts_once() -> None:
    assert len(read("export NCCL_DEBUG=INFO\nexport NCCL_DEBUG=INFO\nexport NCCL_DEBUG=WARN\n")) == 2
