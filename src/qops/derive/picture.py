"""What of a host's evidence can be drawn: how its GPUs are connected, and what they did over the sampled time."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from qops.derive.progress import Stretch, spinning
from qops.evidence.gpu import Gpus, GpuSample, GpuSamples, Topology


class Picture(Struct, frozen=True):
    """The drawable part of a host's evidence: small, whatever its logs were. `spinning` is where kernels only wait."""

    boards: tuple[tuple[int, str], ...] = ()  # (index, name)
    topology: Topology | None = None
    samples: tuple[GpuSample, ...] = ()
    spinning: tuple[Stretch, ...] = ()


def picture(evidence: Mapping[type, Any]) -> Picture:
    """Return what of `evidence` can be drawn. A single moment of a GPU is no series, and is left out."""
    gpus: Gpus | None = evidence.get(Gpus)
    samples: GpuSamples | None = evidence.get(GpuSamples)
    series = (
        [one for index in samples.indexes if len(samples.of(index)) > 1 for one in samples.of(index)] if samples else []
    )
    return Picture(
        boards=tuple((gpu.index, gpu.name) for gpu in gpus.gpus) if gpus else (),
        topology=evidence.get(Topology),
        samples=tuple(series),
        spinning=spinning(samples, gpus),
    )
