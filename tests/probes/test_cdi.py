from judging import text

from qops.engine import observe
from qops.evidence.cdi import Cdi

HEAD = "== container toolkit\n"
# As nvidia-ctk 1.19 and later write it, with the lines that the script keeps.
SPEC = """== cdi /var/run/cdi/nvidia.yaml
2:cdiVersion: 0.7.0
5:  - major: 195
6:    path: /dev/nvidiactl
7:  - path: /dev/nvidia-uvm
8:    major: 510
9:  - path: /dev/nvidia-modeset
20:  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.595.71.05
21:    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.595.71.05
40:- containerEdits:
42:    - path: /dev/nvidia0
44:  name: "0"
50:- name: all
60:kind: nvidia.com/gpu
== end
"""
JSON = """== cdi /etc/cdi/own.json
1:{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",
2: "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia-uvm", "major": 511}]},
3: "devices": [{"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}]}
== end
"""
REST = """device 195 nvidia
device 509 nvidia-uvm
node c3 /dev/nvidia0
node 1fd /var/lib/qops-lab/root/dev/nvidia-uvm
unit nvidia-cdi-refresh.path LoadState=loaded ActiveState=active UnitFileState=enabled Result=success
unit nvidia-cdi-refresh.service LoadState=loaded ActiveState=failed UnitFileState=disabled Result=exit-code
/etc/nvidia-container-runtime/config.toml:17:no-cgroups = true
/etc/apt/sources.list.d/nvidia-docker.list:1:deb https://nvidia.github.io/nvidia-docker/ubuntu18.04/$(ARCH) /
"""


def _seen(content: str) -> Cdi:
    found = observe([text(HEAD + content)])[Cdi]
    assert isinstance(found, Cdi)
    return found


def test_a_specification_in_yaml() -> None:
    cdi = _seen("NVIDIA Container Toolkit CLI version 1.20.0\n" + SPEC)
    (spec,) = cdi.specs
    assert (cdi.version, spec.version, spec.kind, spec.devices) == ("1.20.0", "0.7.0", "nvidia.com/gpu", ("0", "all"))
    assert {n.path: n.major for n in spec.nodes} == {
        "/dev/nvidiactl": 195,
        "/dev/nvidia-uvm": 510,
        "/dev/nvidia-modeset": None,
        "/dev/nvidia0": None,
    }
    assert (spec.driver, spec.driver_quote.line if spec.driver_quote else 0) == ("595.71.05", 20)
    assert spec.generated
    uvm = next(n for n in spec.nodes if n.path == "/dev/nvidia-uvm")
    assert (uvm.quote.source, uvm.quote.line) == ("/var/run/cdi/nvidia.yaml", 7)


def test_a_specification_in_json() -> None:
    (spec,) = _seen(JSON).specs
    assert (spec.kind, spec.devices, spec.generated) == ("nvidia.com/gpu", ("0",), False)
    assert [(n.path, n.major) for n in spec.nodes] == [("/dev/nvidia-uvm", 511), ("/dev/nvidia0", None)]


def test_the_one_in_var_run_wins() -> None:
    effective = _seen(JSON + SPEC).effective()
    assert effective is not None and effective.path == "/var/run/cdi/nvidia.yaml"
    alone = _seen(JSON).effective()
    assert alone is not None and alone.path == "/etc/cdi/own.json"
    assert _seen("").effective() is None


def test_numbers_units_and_repositories() -> None:
    cdi = _seen(REST)
    assert cdi.majors == {"nvidia": 195, "nvidia-uvm": 509}
    assert cdi.nodes == {"/dev/nvidia0": 195, "/dev/nvidia-uvm": 509}
    assert cdi.units["nvidia-cdi-refresh.path"].enabled == "enabled"
    assert cdi.units["nvidia-cdi-refresh.service"].result == "exit-code"
    assert cdi.no_cgroups is not None and cdi.no_cgroups.line == 17
    assert [source.path for source in cdi.sources] == ["/etc/apt/sources.list.d/nvidia-docker.list"]


def test_a_damaged_json_says_nothing_and_stops_nothing() -> None:
    (first, second) = _seen(JSON.replace('"devices"', "devices") + SPEC).specs
    assert (first.devices, second.devices) == ((), ("0", "all"))


def test_other_text_says_nothing() -> None:
    assert Cdi not in observe([text("cdiVersion: 0.7.0\nkind: nvidia.com/gpu\n")])
