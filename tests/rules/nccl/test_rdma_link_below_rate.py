from judging import outcomes

from qops.rules.nccl.rdma_link_below_rate import rdma_link_below_rate

SPARK = "GPU 0: NVIDIA GB10 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000002)\n"
H200 = "GPU 0: NVIDIA H200 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000001)\n"
PORT = "{} port=1 net= pci=0000:{}:00.0 numa=0 speed={} layer={} rate={} Gb/sec (4X) state={}\n"
USED = "== network config\nconf hcas=mlx5_0,mlx5_1\n"


def _ports(*rows: tuple[str, int, str]) -> str:
    lines = [
        PORT.format(name, f"1{n}", speed * 1000, "Ethernet", speed, state)
        for n, (name, speed, state) in enumerate(rows)
    ]
    return "== rdma ports\n" + "".join(lines)


def _subjects(ports: str, smi: str, config: str = USED) -> list[str]:
    found = outcomes(rdma_link_below_rate, {"smi.txt": smi, "ports.txt": ports, "config.txt": config}) or ()
    return [o.subject for o in found]  # type: ignore[union-attr]


def test_a_spark_s_link_at_half_rate() -> None:
    ports = _ports(("rocep1s0f0", 100, "4: ACTIVE"), ("roceP2p1s0f0", 200, "4: ACTIVE"))
    assert _subjects(ports, SPARK) == ["RDMA device rocep1s0f0"]


def test_one_of_a_job_s_devices_is_slower_than_the_others() -> None:
    ports = _ports(("mlx5_0", 400, "4: ACTIVE"), ("mlx5_1", 200, "4: ACTIVE"), ("mlx5_2", 25, "4: ACTIVE"))
    assert _subjects(ports, H200) == ["RDMA device mlx5_1"]  # mlx5_2 is not used


def test_look_alike_all_alike_or_not_linked() -> None:
    ports = _ports(("mlx5_0", 400, "4: ACTIVE"), ("mlx5_1", 40, "1: DOWN"))
    assert _subjects(ports, H200) == []
    assert _subjects(_ports(("rocep1s0f0", 200, "4: ACTIVE"), ("rocep1s0f1", 40, "1: DOWN")), SPARK) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rdma_link_below_rate, {"smi.txt": SPARK}) is None
