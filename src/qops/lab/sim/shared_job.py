"""`qops-lab-job`: a job that spans practice hosts, one rank on each, which sum numbers over TCP for ever.

It stands in for a job on GPUs: its processes, their environment and titles, and the connections between the hosts are
real, and a rank that is stopped really keeps the others waiting. No GPU and no NCCL are behind it; the title is that of
a worker of vLLM, so that the simulator shows the process on its GPU.
"""

from __future__ import annotations

import argparse
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import NOTICE

PAUSE_S = 0.05  # between two sums: a job that is to be seen, not to keep processors busy
PATIENCE_S = 60.0  # in which all ranks have to come
_NUMBER = struct.Struct("!q")


def main(arguments: Sequence[str]) -> int:
    """Start this host's worker and wait for it; return its exit status."""
    parser = argparse.ArgumentParser(prog="qops-lab-job", description=NOTICE)
    for name in ("nnodes", "node-rank", "master-port"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--master-addr", required=True)
    told = parser.parse_args(arguments)
    own = {"RANK": told.node_rank, "WORLD_SIZE": told.nnodes, "MASTER_ADDR": told.master_addr}
    environment = {
        **os.environ,
        **{name: str(value) for name, value in own.items()},
        "MASTER_PORT": str(told.master_port),
    }
    argv = [f"VLLM::Worker_TP{told.node_rank}", "-m", "sim.shared_job"]
    folder = Path(__file__).parent.parent  # that of the package
    return subprocess.Popen(argv, executable=sys.executable, env=environment, cwd=folder).wait()


def work() -> None:
    """Take part in the sums as the rank that the environment names."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    first = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    Path("/proc/self/comm").write_text(f"VLLM::Worker_TP{rank}", encoding="ascii")
    peers = _gather(first, size - 1) if rank == 0 else [_reach(first)]
    count = 0
    while True:
        count += 1
        if rank == 0:
            total = sum(_hear(peer) for peer in peers)
            for peer in peers:
                peer.sendall(_NUMBER.pack(total))
        else:
            peers[0].sendall(_NUMBER.pack(rank))
            total = _hear(peers[0])
        if total != size * (size - 1) // 2:
            sys.exit(f"rank {rank}: sum {count} is {total}")
        if count % 100 == 1:
            sys.stdout.write(f"rank {rank}: {count} sums\n")
            sys.stdout.flush()
        time.sleep(PAUSE_S)


def _gather(first: tuple[str, int], others: int) -> list[socket.socket]:
    with socket.create_server(first) as server:
        server.settimeout(PATIENCE_S)
        found = [server.accept()[0] for _ in range(others)]
    for one in found:
        one.settimeout(None)
    return found


def _reach(first: tuple[str, int]) -> socket.socket:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(first)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _hear(peer: socket.socket) -> int:
    data = b""
    while len(data) < _NUMBER.size:
        part = peer.recv(_NUMBER.size - len(data))
        if not part:
            sys.exit("a rank has gone")
        data += part
    return int(_NUMBER.unpack(data)[0])


if __name__ == "__main__":
    work()
