import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

_state = SimpleNamespace(rank=0, folder=Path(), calls={}, said=set())


class FileStore:
    def __init__(self, path, count):
        self.folder = Path(f"{path}-d")
        self.folder.mkdir(exist_ok=True)
        _state.folder = self.folder

    def add(self, key, number):
        if number:
            (self.folder / f"{key} {os.environ['RANK']}").touch()
        return len(list(self.folder.glob(f"{key} *")))


def init_process_group(backend, store, rank, world_size, timeout):
    assert backend == "nccl"
    _state.rank = rank


def new_group(members):
    return tuple(members)


def all_reduce(data, group):
    off = os.environ.get("NCCL_P2P_DISABLE") == "1"
    me = group.index(_state.rank)
    if group not in _state.said:
        _state.said.add(group)
        via = "SHM/direct/direct" if off else os.environ.get("FAKE_VIA", "P2P/CUMEM")
        if "FAKE_WIDE" in os.environ and os.environ.get("NCCL_P2P_LEVEL") == "SYS":
            via = os.environ["FAKE_WIDE"]
        head = f"rtx-7:{os.getpid()}:{os.getpid()} [{_state.rank}] NCCL INFO"
        other = (me + 1) % len(group)
        sys.stdout.write(f"{head} NCCL_P2P_DISABLE set by environment to 1.\n" if off else "")
        sys.stdout.write(f"{head} Channel 00/0 : {me}[{_state.rank}] -> {other}[{group[other]}] via {via}\n")
    fault = "" if off else os.environ.get("FAKE_FAULT", "")
    if fault == "fail" and me == 1:
        raise RuntimeError("unhandled cuda error, NCCL version 2.28.9")
    if fault == "hang":
        time.sleep(600)
    number = _state.calls[group] = _state.calls.get(group, 0) + 1
    name = "-".join(map(str, group)) + f" {number} "
    part = _state.folder / f"{name}{_state.rank}.part"
    part.write_text(json.dumps(data.values))
    part.rename(part.with_suffix(".json"))
    files = [_state.folder / f"{name}{rank}.json" for rank in group]
    while not all(file.exists() for file in files):
        time.sleep(0.002)
    data.values = [sum(values) for values in zip(*(json.loads(file.read_text()) for file in files), strict=True)]
    if fault == "wrong" and me == 0 and number == 2:
        data.values[5] += 1
