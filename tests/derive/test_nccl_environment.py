"""What NCCL is told, on boards of the three kinds that qops serves, and what is said of settings made by hand."""

import pytest
from msgspec.structs import replace

from qops.derive.nccl_environment import Environment, Machine, Probed, environment, flags, review
from qops.evidence.gpu import P2pPair, P2pStatus, Pair, Path, Topology
from qops.evidence.kernel import Iommu, System
from qops.evidence.pcie import PcieDevice, PcieTree
from qops.evidence.text import Quote

Q = Quote("topo", 1, "GPU0 X NODE")
AMD = System(machine="x86_64", cpu_vendor="AuthenticAMD")
NODES = [(a, b) for a in range(4) for b in range(a + 1, 4)]


def _topology(path: Path, gpus: int = 4) -> Topology:
    return Topology(tuple(Pair(f"GPU{a}", f"GPU{b}", path, Q) for a, b in NODES if b < gpus))


def _status(word: str, gpus: int = 4) -> P2pStatus:
    return P2pStatus(tuple(P2pPair(f"GPU{a}", f"GPU{b}", "r", word, Q) for a, b in NODES if b < gpus))


BRIDGE = PcieDevice("0000:40:01.1", "PCI bridge", "root port", Q, bridge=True, secondary=0x41, subordinate=0x41,
                    acs=("SrcValid", "ReqRedir"), acs_quote=Q)  # fmt: skip
CARD = PcieDevice("0000:41:00.0", "VGA compatible controller", "GB202GL", Q, nvidia=True)
FOUR = Machine(4, _topology(Path.NODE), _status("OK"), system=AMD, nccl="2.28.9")
TWO = Machine(2, _topology(Path.NODE, 2), _status("OK", 2), system=AMD, nccl="2.28.9")
REDIRECTS = PcieTree((BRIDGE, CARD))
TRANSLATES = Iommu(("dmar0",), ("DMA-FQ",), Q)


def _why(made: Environment, name: str) -> str:
    return next(c.because for c in made.variables if c.name == name)


def test_one_gpu_is_told_nothing() -> None:
    made = environment(Machine(1))
    assert (made.written, made.pairs, flags("vllm", made)) == ({}, (), ())


def test_four_far_boards_go_over_shared_memory_until_a_probe_passes() -> None:
    made = environment(FOUR)
    assert made.written == {"NCCL_DEBUG": "WARN"}
    assert {p.transport for p in made.pairs} == {"SHM"}
    assert "stops at PXB" in _why(made, "NCCL_P2P_LEVEL")
    assert made.open == ("qops probe p2p",)


def test_a_probe_that_passed_lets_peer_to_peer_reach_as_far_as_needed_and_no_further() -> None:
    made = environment(replace(FOUR, probed=Probed.PASSED))
    assert made.written["NCCL_P2P_LEVEL"] == "PHB"  # nvidia-smi's NODE; SYS is for pairs of two sockets
    assert {p.transport for p in made.pairs} == {"P2P"}
    across = environment(replace(FOUR, topology=_topology(Path.SYS), probed=Probed.PASSED))
    assert across.written["NCCL_P2P_LEVEL"] == "SYS"
    near = environment(replace(FOUR, topology=_topology(Path.PIX), probed=Probed.PASSED))
    assert "NCCL_P2P_LEVEL" not in near.written


@pytest.mark.parametrize(
    "machine", [replace(FOUR, probed=Probed.FAILED), replace(FOUR, topology=_topology(Path.PIX), probed=Probed.FAILED)]
)
def test_broken_peer_to_peer_is_off_for_every_user_of_it(machine: Machine) -> None:
    made = environment(machine)
    assert made.written["NCCL_P2P_DISABLE"] == "1"
    assert "NCCL_P2P_LEVEL" not in made.written
    assert {p.transport for p in made.pairs} == {"SHM"}
    for engine in ("vllm", "sglang"):
        (flag,) = flags(engine, made)
        assert (flag.name, "peer-to-peer as well" in flag.because) == ("--disable-custom-all-reduce", True)


def test_two_boards_of_an_amd_machine_use_peer_to_peer_by_default() -> None:
    made = environment(TWO)
    assert {p.transport for p in made.pairs} == {"P2P"}
    assert "NCCL_P2P_DISABLE" not in made.written
    assert "1 of 1 pairs use peer-to-peer" in _why(made, "NCCL_P2P_LEVEL")


def test_redirected_and_translated_requests_are_not_tried() -> None:
    made = environment(replace(TWO, pcie=REDIRECTS, iommu=TRANSLATES))
    assert made.written["NCCL_P2P_DISABLE"] == "1"
    assert "0000:40:01.1" in made.off
    slow = environment(replace(TWO, pcie=REDIRECTS, iommu=Iommu(())))
    assert "NCCL_P2P_DISABLE" not in slow.written
    assert "role pcie_p2p" in _why(slow, "NCCL_P2P_LEVEL")
    four = environment(replace(FOUR, pcie=REDIRECTS, iommu=TRANSLATES))  # nobody uses it there: nothing to switch off
    assert "NCCL_P2P_DISABLE" not in four.written


def test_what_the_driver_refuses_needs_no_variable() -> None:
    made = environment(replace(TWO, status=_status("GNS", 2)))
    assert made.written == {"NCCL_DEBUG": "WARN"}
    assert "GNS" in _why(made, "NCCL_P2P_DISABLE")
    assert made.off == ""


def test_nvlink_needs_no_variable() -> None:
    made = environment(Machine(2, _topology(Path.NV, 2), nccl="2.28.9"))
    assert made.written == {"NCCL_DEBUG": "WARN"}
    assert "NVLink" in _why(made, "NCCL_P2P_LEVEL")


def test_a_topology_that_nobody_saw_is_not_guessed() -> None:
    made = environment(Machine(4))
    assert made.written == {"NCCL_DEBUG": "WARN"}
    assert made.open == ("nvidia-smi topo -m",)


def test_two_sparks_are_told_their_network_by_exact_names() -> None:
    made = environment(
        Machine(1, nodes=2, interface="enp1s0f0np0", adapters=("rocep1s0f0", "roceP2p1s0f0"), nccl="2.28.9")
    )
    assert made.written == {
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "=enp1s0f0np0",
        "GLOO_SOCKET_IFNAME": "enp1s0f0np0",
        "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
    }
    assert "from 2.21 on" in _why(made, "NCCL_IB_GID_INDEX")


class TestSettingsMadeByHand:
    """The advice that goes round for four boards on PCIe, each line with what becomes of it."""

    def review(self, machine: Machine, **by_hand: str) -> dict[str, tuple[str | None, str]]:
        return {c.name: (c.value, c.because) for c in review(by_hand, environment(machine), machine)}

    def test_sys_forces_no_nvlink(self) -> None:
        value, because = self.review(FOUR, NCCL_P2P_LEVEL="SYS")["NCCL_P2P_LEVEL"]
        assert value is None
        assert "forces no NVLink" in because and "stops at PXB" in because

    def test_sys_does_what_phb_does_where_a_probe_passed(self) -> None:
        value, because = self.review(replace(FOUR, probed=Probed.PASSED), NCCL_P2P_LEVEL="SYS")["NCCL_P2P_LEVEL"]
        assert (value, "PHB does the same" in because) == ("PHB", True)
        value, because = self.review(replace(FOUR, probed=Probed.PASSED), NCCL_P2P_LEVEL="PHB")["NCCL_P2P_LEVEL"]
        assert (value, because.startswith("the same is derived")) == ("PHB", True)
        value, because = self.review(replace(FOUR, probed=Probed.PASSED), NCCL_P2P_LEVEL="3")["NCCL_P2P_LEVEL"]
        assert (value, "3 is the old number" in because) == ("PHB", True)

    def test_the_old_number_2_is_the_default(self) -> None:
        value, because = self.review(FOUR, NCCL_P2P_LEVEL="2")["NCCL_P2P_LEVEL"]
        assert (value, "no further than the default PXB" in because) == (None, True)

    def test_a_level_that_does_not_exist(self) -> None:
        assert "no level" in self.review(FOUR, NCCL_P2P_LEVEL="NODE")["NCCL_P2P_LEVEL"][1]

    def test_switches_that_do_nothing(self) -> None:
        told = self.review(FOUR, NCCL_P2P_DISABLE="0", NCCL_IB_DISABLE="1", SAFETENSORS_FAST_GPU="1")
        assert told["NCCL_P2P_DISABLE"] == (None, "NCCL_P2P_DISABLE=0 does nothing: only 1 acts")
        assert "one machine" in told["NCCL_IB_DISABLE"][1]
        assert told["SAFETENSORS_FAST_GPU"] == (None, "nothing seen on this machine asks for it")

    def test_a_switch_that_is_right(self) -> None:
        value, because = self.review(replace(FOUR, probed=Probed.FAILED), NCCL_P2P_DISABLE="1")["NCCL_P2P_DISABLE"]
        assert (value, because.startswith("the same is derived")) == ("1", True)
