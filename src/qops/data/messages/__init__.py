"""Messages that programs print, one module per program; `ALL` is every message that a scan looks for."""

from qops.data.messages import (
    backend,
    cluster,
    cuda,
    device,
    engine,
    health,
    kernel,
    launch,
    model,
    nccl,
    process,
    rdma,
    system,
    threads,
    torch,
)
from qops.evidence.message import Message


def _of(module: object) -> tuple[Message, ...]:
    return tuple(v for v in vars(module).values() if isinstance(v, Message))


ALL: tuple[Message, ...] = tuple(
    m
    for module in (
        *(nccl, rdma, launch, torch, cuda, backend, kernel, device, system),
        *(cluster, process, engine, threads, model, health),
    )
    for m in _of(module)
)
