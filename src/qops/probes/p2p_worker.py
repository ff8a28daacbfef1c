"""An all-reduce whose data is checked, among all GPUs and then in each pair of them.

`qops probe p2p` runs this file with the Python that serves models (in an image, or a virtual environment), so it needs
Python 3.9 and PyTorch, and nothing of qops. Started without RANK it starts a process for each GPU and hands on what
they print, a JSON object on each line; what NCCL says comes along as {"nccl": line}. Nobody here waits for a rank that
hangs: whoever started this ends the whole group when its time is over.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import IO, Any

CHECKED = 3  # all-reduces of each size whose data is compared
TIMED = 10  # all-reduces of each size that are timed together
PATTERN = 1021  # a prime: the pattern repeats at no boundary of a buffer or a packet
PATIENCE = 3600  # seconds that PyTorch waits; longer than anybody's limit
LAST_WORDS = 3.0  # seconds for the others to say why, when one rank has failed
POLL = 0.01  # seconds between two looks at whether the others are here


def main() -> int:
    """Run as the rank that RANK names, or start all ranks. Arguments: how many, and the sizes in bytes."""
    count, sizes = int(sys.argv[1]), [int(size) for size in sys.argv[2].split(",")]
    if "RANK" in os.environ:
        return _rank(int(os.environ["RANK"]), count, sizes)
    with tempfile.TemporaryDirectory() as folder:
        return _launch(count, str(Path(folder, "store")))


def _launch(count: int, store: str) -> int:
    """Start the ranks, hand on their lines, and return the worst of their exit statuses."""
    lock = threading.Lock()
    ranks = [
        subprocess.Popen(
            [sys.executable, "-u", __file__, *sys.argv[1:]],
            env={**os.environ, "RANK": str(rank), "QOPS_STORE": store},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for rank in range(count)
    ]
    readers = [
        threading.Thread(target=_hand_on, args=(rank, process.stdout, lock), daemon=True)
        for rank, process in enumerate(ranks)
    ]
    for reader in readers:
        reader.start()
    while any(process.poll() is None for process in ranks):
        if any(process.poll() for process in ranks):
            time.sleep(LAST_WORDS)
            for process in ranks:
                process.kill()  # one that failed leaves the others waiting for ever
        time.sleep(POLL)
    for reader in readers:
        reader.join(LAST_WORDS)
    return max(abs(process.wait()) for process in ranks)


def _hand_on(rank: int, stream: IO[str], lock: Any) -> None:
    """Print the lines of one rank as objects; what is none of ours is NCCL's, or a traceback."""
    for line in stream:
        with lock:
            sys.stdout.write(json.dumps({"rank": rank, **_object(line.rstrip())}) + "\n")
            sys.stdout.flush()


def _object(text: str) -> dict[str, Any]:
    try:
        if text.startswith('{"event":'):
            return dict(json.loads(text))
    except ValueError:
        pass  # two threads printed over each other
    return {"nccl" if " NCCL INFO " in text else "said": text[:2000]}


def _say(event: str, **more: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **more}) + "\n")
    sys.stdout.flush()


def _rank(rank: int, count: int, sizes: list[int]) -> int:
    try:
        torch: Any = importlib.import_module("torch")
        dist: Any = importlib.import_module("torch.distributed")
    except ImportError as error:
        _say("no torch", why=str(error))
        return 3
    if not torch.cuda.is_available() or torch.cuda.device_count() < count:
        _say("no gpus", why=f"PyTorch {torch.__version__} sees {torch.cuda.device_count()} of {count} GPUs")
        return 3
    torch.cuda.set_device(rank)
    version = ".".join(map(str, torch.cuda.nccl.version()))
    _say("start", torch=str(torch.__version__), cuda=str(torch.version.cuda), nccl=version)
    store = dist.FileStore(os.environ["QOPS_STORE"], count)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=count, timeout=timedelta(seconds=PATIENCE))
    pairs = [list(pair) for pair in combinations(range(count), 2)] if count > 2 else []
    for number, members in enumerate([list(range(count)), *pairs]):
        _together(store, f"before {number}", count)
        group = dist.new_group(members)
        if rank in members:
            _reduce(torch, dist, group, members, rank, sizes)
    _together(store, "end", count)
    _say("end")
    # Not destroyed: leaving must not be one more collective that can hang.
    sys.stdout.flush()
    os._exit(0)


def _together(store: Any, key: str, count: int) -> None:
    """Wait until every rank is here. By the store and not by NCCL, which is what is being tried."""
    store.add(key, 1)
    while store.add(key, 0) < count:
        time.sleep(POLL)


def _reduce(torch: Any, dist: Any, group: Any, members: list[int], rank: int, sizes: list[int]) -> None:
    share, total = members.index(rank) + 1, len(members) * (len(members) + 1) // 2
    for size in sizes:
        _say("begin", gpus=members, bytes=size)
        pattern = torch.arange(size // 4, device="cuda", dtype=torch.int32) % PATTERN + 1
        wrong = 0
        for round_ in range(CHECKED):
            data = (pattern + round_) * share
            dist.all_reduce(data, group=group)
            wrong += int((data != (pattern + round_) * total).sum().item())
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(TIMED):
            dist.all_reduce(data, group=group)
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - begun) / TIMED
        _say("done", gpus=members, bytes=size, wrong=wrong, seconds=round(seconds, 9))


if __name__ == "__main__":
    sys.exit(main())
