import pytest
from judging import causes, outcomes
from nccl_pictures import FAR, gpu_list, p2p, spin, start

from qops.rule import Confidence, Found
from qops.rules.nccl.p2p_patched_driver_no_bar1 import p2p_patched_driver_no_bar1 as rule

BOARDS = gpu_list("NVIDIA GeForce RTX 5090", driver="595.71.05")
HANG = {"topo.txt": FAR, "p2p.txt": p2p(), "gpus.csv": BOARDS, "smi.csv": spin(88.0)}
PARAMS = 'ResmanDebugLevel: 4294967295\nEnableResizableBar: 0\nRegistryDwords: "{}"\nRegistryDwordsPerDevice: ""\n'


def test_an_ok_matrix_on_5090_and_a_stall() -> None:
    assert causes(HANG)[:1] == ["p2p-patched-driver-no-bar1"]
    (found,) = outcomes(rule, HANG | {"params": PARAMS.format("ForceP2P=0x11")}) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.LIKELY


def test_the_kernel_says_that_it_cannot_map() -> None:
    log = (
        "[  311.02] NVRM: The peer DMA address 0x2000400000 is not aligned at 0x20000000\n"
        "[  311.02] NVRM: IOMMU mapping failed from GPU1 to GPU0\n"
    )
    assert causes({"dmesg.txt": log}) == ["p2p-patched-driver-no-bar1"]


def test_a_static_bar1_and_a_stock_driver_are_no_fault() -> None:
    keys = PARAMS.format("RMForceStaticBar1=1;PeerMappingOverride=1;ForceP2P=0x11")
    assert "p2p-patched-driver-no-bar1" not in causes(HANG | {"params": keys})
    stock = {"topo.txt": FAR, "p2p.txt": p2p("GNS"), "gpus.csv": BOARDS, "job.log": start("SHM/direct/direct")}
    assert "p2p-patched-driver-no-bar1" not in causes(stock)


def test_a_patched_module_that_works_is_no_fault() -> None:
    assert causes({"topo.txt": FAR, "p2p.txt": p2p(), "gpus.csv": BOARDS}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_which_driver_offers_no_p2p_on_the_40_series_by_itself() -> None:
    hang = {"topo.txt": FAR, "p2p.txt": p2p(), "smi.csv": spin(88.0)}
    new = hang | {"gpus.csv": gpu_list("NVIDIA GeForce RTX 4090", driver="570.86.15", capability="8.9")}
    assert causes(new)[:1] == ["p2p-patched-driver-no-bar1"]
    old = hang | {"gpus.csv": gpu_list("NVIDIA GeForce RTX 4090", driver="525.60.13", capability="8.9")}
    assert causes(old)[:1] == ["p2p-broken-by-driver"]


SAMPLE = (
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    "Device: 0, {0}, pciBusID: 21, pciDeviceID: 0, pciDomainID:0\nDevice: 1, {0}, pciBusID: 41, pciDeviceID: 0, pciDomainID:0\n"
    "Device=0 CAN Access Peer Device=1\n"
)


@pytest.mark.parametrize(
    "error",
    [
        "Cuda failure p2pBandwidthLatencyTest.cu:191: 'mapping of buffer object failed'\n",
        'CUDA error at simpleP2P.cu:129 code=205(cudaErrorMapBufferObjectFailed) "cudaDeviceEnablePeerAccess(gpuid[1], 0)"\n',
    ],
)
def test_a_peers_memory_cannot_be_mapped(error: str) -> None:
    assert causes({"p2p.log": SAMPLE.format("NVIDIA GeForce RTX 4090") + error}) == ["p2p-patched-driver-no-bar1"]
    assert causes({"p2p.log": SAMPLE.format("NVIDIA RTX 6000 Ada Generation") + error}) == []


def test_a_bar1_that_is_smaller_than_the_memory() -> None:
    error = "RuntimeError: CUDA error: mapping of buffer object failed\n"
    boards = (
        "index, name, memory.total [MiB], driver_version\n0, NVIDIA GeForce RTX 4090 D, 49140 MiB, 570.86.15\n"
        "1, NVIDIA GeForce RTX 4090 D, 49140 MiB, 570.86.15\n"
    )
    query = "GPU 00000000:{}:00.0\n    Product Name                          : NVIDIA GeForce RTX 4090 D\n    FB Memory Usage\n        Total                             : 49140 MiB\n    BAR1 Memory Usage\n        Total                             : {} MiB\n"
    small = query.format("21", 32768) + query.format("41", 32768)
    assert causes({"job.log": error, "q.txt": small})[:1] == ["p2p-patched-driver-no-bar1"]
    assert causes({"job.log": error, "gpus.csv": boards}) == []


def test_pieces_that_do_not_say_whose_bar1_it_is() -> None:
    error = "RuntimeError: CUDA error: mapping of buffer object failed\n"
    table = "".join(
        f"|   {i}  NVIDIA GeForce RTX 4090 D      On  |   00000000:{bus}:00.0 Off |                  Off |\n"
        "| 30%   40C    P0             51W /  425W |       1MiB /  49140MiB |      0%      Default |\n"
        for i, bus in enumerate(("21", "41"))
    )
    head = "| NVIDIA-SMI 570.86.15              Driver Version: 570.86.15      CUDA Version: 12.8     |\n"
    bar = "    BAR1 Memory Usage\n        Total                             : {} MiB\n"
    assert causes({"job.log": error, "smi.txt": head + table + bar.format(32768)})[:1] == ["p2p-patched-driver-no-bar1"]
    assert causes({"job.log": error, "smi.txt": head + table + bar.format(65536)}) == []
