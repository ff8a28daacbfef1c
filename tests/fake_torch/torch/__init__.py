"""As much of PyTorch as the program of `qops probe p2p` uses, on small lists; NCCL's words are written by hand.

While peer-to-peer is allowed, FAKE_FAULT makes an all-reduce wrong ("wrong"), endless ("hang"), or an error on one rank
("fail"), FAKE_VIA is the transport that the log names, and FAKE_WIDE the one with NCCL_P2P_LEVEL=SYS.
"""

from types import SimpleNamespace

__version__ = "2.11.0+cu130"
version = SimpleNamespace(cuda="13.0")
int32 = "int32"


class Tensor:
    def __init__(self, values):
        self.values = list(values)

    def _each(self, other, work):
        others = other.values if isinstance(other, Tensor) else [other] * len(self.values)
        return Tensor(work(a, b) for a, b in zip(self.values, others, strict=True))

    def __mod__(self, other):
        return self._each(other, lambda a, b: a % b)

    def __add__(self, other):
        return self._each(other, lambda a, b: a + b)

    def __mul__(self, other):
        return self._each(other, lambda a, b: a * b)

    def __ne__(self, other):
        return self._each(other, lambda a, b: a != b)

    def sum(self):
        return SimpleNamespace(item=lambda: sum(self.values))


def arange(count, device, dtype):
    assert (device, dtype) == ("cuda", int32)
    return Tensor(range(count))


cuda = SimpleNamespace(
    is_available=lambda: True,
    device_count=lambda: 8,
    set_device=lambda rank: None,
    synchronize=lambda: None,
    nccl=SimpleNamespace(version=lambda: (2, 28, 9)),
)
