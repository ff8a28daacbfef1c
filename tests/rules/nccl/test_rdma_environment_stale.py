from judging import outcomes

from qops.rules.nccl.rdma_environment_stale import rdma_environment_stale

CONFIG = "== network config\nconf hcas=rocep1s0f0,roceP2p1s0f0\n"
TOLD = CONFIG + "environment\nenv NCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0\nenv NCCL_IB_GID_INDEX=3\n"
PORT = "{} port=1 net= pci=0000:01:00.0 numa=0 speed=200000 layer=Ethernet rate=200 Gb/sec (4X HDR) state={}\n"
PORTS = "== rdma ports\n" + PORT.format("rocep1s0f0", "4: ACTIVE") + PORT.format("roceP2p1s0f0", "4: ACTIVE")
AT = "/sys/class/infiniband/{}/ports/1/"
MAPPED = "0000:0000:0000:0000:0000:ffff:c0a8:c801"


def _gids(first: int = 3, second: int = 3) -> str:
    lines = ""
    for name, index in (("rocep1s0f0", first), ("roceP2p1s0f0", second)):
        lines += AT.format(name) + f"gids/{index}:{MAPPED}\n" + AT.format(name) + f"gid_attrs/types/{index}:RoCE v2\n"
    return lines


def _messages(config: str, ports: str = PORTS, gids: str | None = None) -> list[str]:
    seen = {"config.txt": config, "ports.txt": ports, "gids.txt": _gids() if gids is None else gids}
    return [o.message for o in outcomes(rdma_environment_stale, seen) or ()]  # type: ignore[union-attr]


def test_there_is_no_file() -> None:
    (message,) = _messages(CONFIG)
    assert message.startswith("there is no /run/qops/nccl-rdma.env")


def test_the_index_has_moved() -> None:
    assert _messages(TOLD, gids=_gids(3, 4)) == ["NCCL_IB_GID_INDEX=3 is no RoCE v2 address of roceP2p1s0f0 any more"]
    assert len(_messages(TOLD, gids=_gids().replace("RoCE v2", "IB/RoCE v1"))) == 2


def test_a_device_is_not_linked() -> None:
    down = PORTS.replace("roceP2p1s0f0 port=1 net= pci=0000:01:00.0 numa=0 speed=200000 layer=Ethernet rate=200 Gb/sec "
                         "(4X HDR) state=4: ACTIVE", PORT.format("roceP2p1s0f0", "1: DOWN").strip())  # fmt: skip
    assert _messages(TOLD, down)[0] == "NCCL_IB_HCA names roceP2p1s0f0, which is not linked"


def test_look_alike_all_fits() -> None:
    assert _messages(TOLD) == []


def test_look_alike_infiniband_has_no_index() -> None:
    told = TOLD.replace("env NCCL_IB_GID_INDEX=3\n", "")
    assert _messages(told, gids=_gids(1, 2)) == []


def test_look_alike_the_role_was_never_run() -> None:
    assert _messages("== network config\nmanager netplan\n") == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rdma_environment_stale, {"ports.txt": PORTS}) is None
