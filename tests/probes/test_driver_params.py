from judging import text
from mangling import parses_anything

from qops.evidence.text import Text
from qops.probes import driver_params

PARAMS = """\
ResmanDebugLevel: 4294967295
EnableGpuFirmware: 18
DmaRemapPeerMmio: 1
RegistryDwords: "RMForceStaticBar1=1;PeerMappingOverride=1"
ExcludedGpus: ""
"""


def test_params() -> None:
    found = driver_params.parse([text(PARAMS, "params.txt")])
    assert found is not None
    assert found.params == {
        "ResmanDebugLevel": "4294967295",
        "EnableGpuFirmware": "18",
        "DmaRemapPeerMmio": "1",
        "RegistryDwords": "RMForceStaticBar1=1;PeerMappingOverride=1",
        "ExcludedGpus": "",
    }
    assert found.source == "params.txt"


def test_new_names_are_taken_from_the_file_itself_only() -> None:
    path = "/proc/driver/nvidia/params"
    found = driver_params.parse([Text(path, ("SomethingNew: 1",), probe="driver_params")])
    assert found is not None
    assert found.params == {"SomethingNew": "1"}
    assert driver_params.parse([text("SomethingNew: 1\nState: R\n")]) is None


def test_one_line_in_a_log() -> None:
    content = "cmdline: quiet\n  DmaRemapPeerMmio: 1\nNote: EnableMSI: 1\n"
    assert driver_params.PROBE.recognise(text(content))
    found = driver_params.parse([text(content)])
    assert found is not None
    assert found.params == {"DmaRemapPeerMmio": "1"}


def test_any_text() -> None:
    parses_anything(driver_params.PROBE, (PARAMS,))
