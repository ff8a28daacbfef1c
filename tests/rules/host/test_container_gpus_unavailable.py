from judging import found, judged

from qops.evidence.cdi import Cdi, CdiSpec
from qops.evidence.container_engine import ContainerEngine, DockerInfo
from qops.evidence.gpu import DriverModule
from qops.evidence.intent import Intent
from qops.evidence.text import Quote
from qops.rules.host.container_gpus_unavailable import container_gpus_unavailable

QUOTE = Quote("container toolkit", 1, "== container toolkit")
MEANT = Intent(("container_toolkit",))
DRIVER = DriverModule("595.71.05", True, QUOTE)
SPEC = CdiSpec("/var/run/cdi/nvidia.yaml", QUOTE, "nvidia.com/gpu", "0.7.0", ("0", "all"))


def _docker(*runtimes: str, folders: tuple[str, ...] = ()) -> ContainerEngine:
    info = DockerInfo("29.1.3", ("runc", *runtimes), folders, quote=QUOTE)
    return ContainerEngine(docker="/usr/bin/docker", active="active", info=info, quote=QUOTE)


def test_docker_knows_neither() -> None:
    (one,) = found(container_gpus_unavailable, Cdi("1.20.0", (SPEC,), quote=QUOTE), _docker(), DRIVER, MEANT)
    assert "docker knows neither a runtime nvidia nor CDI" in one.message


def test_no_specification_after_a_boot() -> None:
    (one,) = found(container_gpus_unavailable, Cdi("1.20.0", quote=QUOTE), _docker("nvidia"), DRIVER, MEANT)
    assert "no CDI specification describes nvidia.com/gpu" in one.message


def test_the_toolkit_is_gone() -> None:
    (one,) = found(container_gpus_unavailable, Cdi(quote=QUOTE), _docker("nvidia"), DRIVER, MEANT)
    assert "nvidia-ctk is gone" in one.message


def test_what_works_and_what_nobody_meant_is_left_alone() -> None:
    whole = Cdi("1.20.0", (SPEC,), quote=QUOTE)
    assert judged(container_gpus_unavailable, whole, _docker("nvidia"), DRIVER, MEANT) == ()
    assert judged(container_gpus_unavailable, whole, _docker(folders=("/etc/cdi",)), DRIVER, MEANT) == ()
    assert judged(container_gpus_unavailable, Cdi(quote=QUOTE), _docker(), DRIVER) == ()
    # Without a driver there is nothing to describe.
    assert judged(container_gpus_unavailable, Cdi("1.20.0", quote=QUOTE), _docker("nvidia"), MEANT) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(container_gpus_unavailable, MEANT) is None
