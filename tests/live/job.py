"""A real job of two ranks that comes into one state and stays there: `torchrun --nproc-per-node 2 job.py CASE`."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist

STAY = float(os.environ.get("STAY", "120"))  # seconds


def main() -> None:
    case, rank = sys.argv[1], int(os.environ["RANK"])
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", timeout=timedelta(seconds=600), device_id=device)
    data = torch.ones(16 << 20, device="cuda")
    dist.all_reduce(data)
    torch.cuda.synchronize()
    print(f"rank {rank} pid {os.getpid()} is in case {case}", flush=True)
    end = time.monotonic() + STAY
    if case == "missing":
        _wait_unless(rank == 0, data, end)
    elif case == "asleep":
        if rank == 1:
            time.sleep(STAY)  # its main thread does not run again
        _wait_unless(rank == 0, data, end)
    elif case == "missing-busy-cpu":
        while rank == 1 and time.monotonic() < end:
            sum(range(10_000))
        _wait_unless(rank == 0, data, end)
    elif case == "stopped":
        if rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        _wait_unless(True, data, end)
    elif case == "sizes":
        dist.all_reduce(data if rank == 0 else data[: 1 << 10])
        torch.cuda.synchronize()
    elif case == "order":
        other = dist.new_group([0, 1])
        dist.all_reduce(data, group=other)
        torch.cuda.synchronize()
        first, second = (None, other) if rank == 0 else (other, None)
        dist.all_reduce(data, group=first)
        torch.cuda.synchronize()
        dist.all_reduce(data, group=second)
        torch.cuda.synchronize()
    elif case == "compiling":
        if rank == 0:
            _compile(end)
        _wait_unless(rank == 1, data, end)
    elif case == "busy":
        a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
        while time.monotonic() < end:
            for _ in range(20):
                a = (a @ a).clamp_(-1, 1)
            dist.all_reduce(data)
            torch.cuda.synchronize()
    elif case == "collectives":
        while time.monotonic() < end:
            dist.all_reduce(data)
            torch.cuda.synchronize()
    elif case == "slow":
        while time.monotonic() < end:
            if rank == 1:
                time.sleep(1.5)  # like a rank with more to do than the other
            dist.all_reduce(data)
            torch.cuda.synchronize()
    elif case == "killed":
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        _wait_unless(True, data, end)
    elif case == "oom":
        if rank == 1:
            torch.empty(200 << 30, dtype=torch.uint8, device="cuda")
        _wait_unless(True, data, end)
    elif case == "wild":
        if rank == 1:
            _write_where_nothing_is()
        _wait_unless(True, data, end)
    elif case == "loading":
        kept = []
        while time.monotonic() < end and len(kept) < 100:
            kept.append(torch.empty(256 << 20, dtype=torch.uint8).to("cuda"))
            time.sleep(0.4)
    else:
        sys.exit(f"unknown case {case}")


def _wait_unless(joins: bool, data: torch.Tensor, end: float) -> None:
    if joins:
        dist.all_reduce(data)
        torch.cuda.synchronize()
    while time.monotonic() < end:
        time.sleep(1)


def _write_where_nothing_is() -> None:
    """Let a kernel write far behind its buffer, as a wrong index does."""
    import cupy

    kernel = cupy.RawKernel('extern "C" __global__ void wild(char* p) { p[1ull << 45] = 1; }', "wild")
    kernel((1,), (1,), (cupy.zeros(16),))
    torch.cuda.synchronize()


def _compile(end: float) -> None:
    """Compile a file that takes nvcc longer than the test lasts."""
    body = "".join(
        f"template<int N> __global__ void k{i}(float* x) {{\n#pragma unroll\nfor (int j = 0; j < 800; j++) "
        f"x[j % N] = sinf(x[j]) + tanf(x[(j * 7) % N]) * powf(x[j % 3], {i}.5f); }}\n"
        f"template __global__ void k{i}<64>(float*); template __global__ void k{i}<65>(float*);\n"
        for i in range(60)
    )
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "kernels.cu")  # noqa: PTH118
        with open(source, "w") as file:  # noqa: PTH123
            file.write(body)
        while time.monotonic() < end:
            subprocess.run(["nvcc", "-O3", "-arch=sm_90", "-c", source, "-o", source + ".o"], check=False)


if __name__ == "__main__":
    main()
