"""The scripts that the units of rdma_network and pcie_p2p run, on trees and tools of their own."""

import subprocess
from pathlib import Path

import pytest
from playing import ROOT

ENVIRONMENT = ROOT / "roles/rdma_network/files/qops-rdma-env.sh"
BRIDGES = ROOT / "roles/pcie_p2p/files/qops-pcie-acs.sh"
LOCAL = "fe80:0000:0000:0000:4ebb:47ff:fe00:0100"
NONE = "0000:0000:0000:0000:0000:0000:0000:0000"
V1, V2 = "IB/RoCE v1", "RoCE v2"


def mapped(last: int, third: int = 200) -> str:
    return f"0000:0000:0000:0000:0000:ffff:c0a8:{third:02x}{last:02x}"


USUAL = [(LOCAL, V1), (LOCAL, V2), (mapped(1), V1), (mapped(1), V2), (NONE, "")]


def device(root: Path, name: str, table: list[tuple[str, str]], state: str = "4: ACTIVE") -> None:
    port = root / f"sys/class/infiniband/{name}/ports/1"
    for folder in ("gids", "gid_attrs/types"):
        (port / folder).mkdir(parents=True, exist_ok=True)
    (port / "state").write_text(state + "\n")
    for index, (gid, kind) in enumerate(table):
        (port / f"gids/{index}").write_text(gid + "\n")
        if kind:  # the type of an unused entry cannot be read
            (port / f"gid_attrs/types/{index}").write_text(kind + "\n")


def resolve(root: Path, hcas: str, **conf: str) -> subprocess.CompletedProcess[str]:
    given = {"hcas": hcas, "gid": "resolve", "socket": "", "wait": "0", **conf}
    config = root / "rdma-network.conf"
    config.write_text("# Ansible managed\n" + "".join(f"{k}={v}\n" for k, v in given.items()))
    (root / "ip").write_text(
        '#!/bin/sh\n[ "$6" = enp1s0f0np0 ] && echo "4: enp1s0f0np0    inet 192.168.200.1/24 brd 192.168.200.255"\ntrue\n'
    )
    (root / "ip").chmod(0o755)
    return subprocess.run(
        ["/bin/sh", str(ENVIRONMENT)],
        env={
            "QOPS_ROOT": str(root),
            "QOPS_RDMA_CONF": str(config),
            "QOPS_RDMA_ENV": str(root / "run/qops/nccl-rdma.env"),
            "PATH": f"{root}:/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def told(root: Path) -> str | None:
    file = root / "run/qops/nccl-rdma.env"
    return file.read_text() if file.exists() else None


def test_the_index_that_both_functions_have(tmp_path: Path) -> None:
    device(tmp_path, "rocep1s0f0", USUAL)
    device(tmp_path, "roceP2p1s0f0", USUAL)
    done = resolve(tmp_path, "rocep1s0f0,roceP2p1s0f0", socket="enp1s0f0np0")
    assert done.returncode == 0, done.stderr
    assert told(tmp_path) == (
        "NCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0\n"
        "NCCL_IB_GID_INDEX=3\n"
        "NCCL_SOCKET_IFNAME==enp1s0f0np0\n"
        "GLOO_SOCKET_IFNAME=enp1s0f0np0\n"
        "TP_SOCKET_IFNAME=enp1s0f0np0\n"
        "VLLM_HOST_IP=192.168.200.1\n"
    )
    again = resolve(tmp_path, "rocep1s0f0,roceP2p1s0f0", socket="enp1s0f0np0")
    assert (again.returncode, again.stdout) == (0, "")  # says nothing where nothing changed


def test_the_lowest_of_several_in_common(tmp_path: Path) -> None:
    device(tmp_path, "a", [*USUAL[:4], (mapped(9), V1), (mapped(9), V2), *[(NONE, "")] * 5, (mapped(7), V2)])
    device(tmp_path, "b", [*[(LOCAL, V2)] * 5, (mapped(1, 201), V2), *[(NONE, "")] * 5, (mapped(8), V2)])
    assert resolve(tmp_path, "a,b").returncode == 0
    assert "NCCL_IB_GID_INDEX=5\n" in (told(tmp_path) or "")


def test_no_index_in_common_fails_and_leaves_no_file(tmp_path: Path) -> None:
    device(tmp_path, "a", USUAL)
    device(tmp_path, "b", USUAL)
    assert resolve(tmp_path, "a,b").returncode == 0
    device(tmp_path, "b", [(LOCAL, V1), (LOCAL, V2), (mapped(1), V1), (mapped(4), V1), (mapped(4), V2)])
    done = resolve(tmp_path, "a,b")
    assert done.returncode == 1
    assert done.stderr == "no index is a RoCE v2 IPv4 address of all devices, a has 3 , b has 4 \n"
    assert told(tmp_path) is None


@pytest.mark.parametrize(
    "table",
    [[(LOCAL, V1), (LOCAL, V2)], [(mapped(1), V1)], [(NONE, ""), ("fe80:0000:0000:0000:4ebb:ffff:fe00:0100", V2)]],
)
def test_link_local_and_v1_entries_do_not_count(tmp_path: Path, table: list[tuple[str, str]]) -> None:
    device(tmp_path, "a", table)
    done = resolve(tmp_path, "a")
    assert (done.returncode, told(tmp_path)) == (1, None)
    assert "a has none" in done.stderr


def test_a_device_that_is_not_linked_or_not_there(tmp_path: Path) -> None:
    device(tmp_path, "a", USUAL)
    device(tmp_path, "b", USUAL, "1: DOWN")
    assert resolve(tmp_path, "a,b").stderr == "b is not linked (1: DOWN)\n"
    assert resolve(tmp_path, "a,c").stderr == "c is not linked (not there)\n"


def test_without_an_index_to_find_only_the_devices_are_told(tmp_path: Path) -> None:
    device(tmp_path, "mlx5_0", [(LOCAL, V1)])
    assert resolve(tmp_path, "mlx5_0", gid="leave").returncode == 0
    assert told(tmp_path) == "NCCL_IB_HCA==mlx5_0\n"


def test_a_socket_interface_without_an_address(tmp_path: Path) -> None:
    device(tmp_path, "a", USUAL)
    done = resolve(tmp_path, "a", socket="enp9s9")
    assert (done.returncode, done.stderr) == (1, "enp9s9 has no IPv4 address\n")


def test_it_waits_for_an_address_that_comes_late(tmp_path: Path) -> None:
    device(tmp_path, "a", [(LOCAL, V2)])
    late = subprocess.Popen(
        ["/bin/sh", "-c", f"sleep 1; echo '{mapped(1)}' >'{tmp_path}/sys/class/infiniband/a/ports/1/gids/0'"]
    )
    done = resolve(tmp_path, "a", wait="10")
    late.wait()
    assert done.returncode == 0, done.stderr
    assert "NCCL_IB_GID_INDEX=0\n" in (told(tmp_path) or "")


SETPCI = """#!/bin/sh
# setpci -s BRIDGE ECAP_ACS+6.w[=VALUE:MASK] on files of a folder
f=$REGISTERS/$2
[ -e "$f" ] || exit 1
case $3 in
  *=*) [ -e "$f.stuck" ] || printf '%04x\\n' $((0x$(cat "$f") & ~0x${3##*:})) >"$f"; echo "$2 $3" >>"$REGISTERS/writes" ;;
  *) cat "$f" ;;
esac
"""


def clear(root: Path, registers: dict[str, str], listed: str) -> subprocess.CompletedProcess[str]:
    (root / "setpci").write_text(SETPCI)
    (root / "setpci").chmod(0o755)
    (root / "registers").mkdir(exist_ok=True)
    for bridge, word in registers.items():
        (root / "registers" / bridge).write_text(word + "\n")
    (root / "pcie-acs.conf").write_text(listed)
    return subprocess.run(
        ["/bin/sh", str(BRIDGES)],
        env={
            "QOPS_ROOT": str(root),
            "QOPS_PCIE_ACS_CONF": str(root / "pcie-acs.conf"),
            "REGISTERS": str(root / "registers"),
            "PATH": f"{root}:/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_only_the_redirect_bits_of_the_listed_bridges_are_cleared(tmp_path: Path) -> None:
    registers = {"0000:00:01.1": "001d", "0000:05:00.0": "0011", "0000:99:00.0": "001d"}
    done = clear(tmp_path, registers, "# Ansible managed\n0000:00:01.1 AMD Device 153e\n0000:05:00.0 PEX890xx\n")
    assert (done.returncode, done.stdout) == (0, "0000:00:01.1: 001d -> 0011\n"), done.stderr
    assert (tmp_path / "registers/writes").read_text() == "0000:00:01.1 ECAP_ACS+6.w=0000:000c\n"
    assert (tmp_path / "registers/0000:99:00.0").read_text() == "001d\n"


def test_a_bridge_that_is_gone_or_stuck_fails_and_the_rest_is_done(tmp_path: Path) -> None:
    registers = {"0000:00:01.1": "001d", "0000:05:00.0": "000c"}
    (tmp_path / "registers").mkdir()
    (tmp_path / "registers/0000:00:01.1.stuck").touch()
    done = clear(tmp_path, registers, "0000:42:00.0 gone\n0000:00:01.1\n0000:05:00.0\n")
    assert done.returncode == 1
    assert "0000:42:00.0: it is not there, or has no access control (gone)" in done.stderr
    assert "0000:00:01.1: still 001d" in done.stderr
    assert done.stdout == "0000:05:00.0: 000c -> 0000\n"


def test_nothing_is_cleared_while_virtual_machines_have_functions(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/drivers/vfio-pci/0000:41:00.0").mkdir(parents=True)
    done = clear(tmp_path, {"0000:00:01.1": "001d"}, "0000:00:01.1\n")
    assert done.returncode == 1
    assert "0000:41:00.0 belongs to vfio-pci" in done.stderr
    assert not (tmp_path / "registers/writes").exists()
