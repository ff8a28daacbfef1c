"""The value that mends a finding on a host: what the plan of its role makes of it, or what a person must say."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from qops.derive.derived import Derived
from qops.derive.setting import State
from qops.errors import UsageError
from qops.plans import BY_ROLE, Seen, making

PROPOSED = {
    "power-cap-below-need": Derived("default", "it is the board's own, and nobody wrote down that another is meant"),
    "p2p-blocked-by-acs-iommu": Derived("clear", "redirect keeps the GPUs from each other"),
    "p2p-slow-acs-redirect": Derived("clear", "redirect sends what GPUs tell each other through the root port"),
    "p2p-probe-failed": Derived("clear", "redirect keeps the GPUs from each other"),
    "uvm-hmm-conflict": Derived("off", "inference does not use it"),
}
"""By cause, for variables whose default leaves the host as it is: the value that is tried on the host's evidence."""

ASKED = {
    "api-port-open": (
        "the networks whose clients may connect, such as '[10.0.0.0/8]'; on the host `ss -Htn state established` names "
        "who is connected now"
    ),
    "image-needs-newer-driver": "the images that the host is to have, such as one of `qops recipes list`",
    "image-without-code-for-gpu": "the images that the host is to have, such as one of `qops recipes list`",
    "image-too-new-for-driver": "a driver branch that runs the image's CUDA, such as 580; the finding says which",
    "rdma-twins-not-in-two-subnets": "the linked hosts, the same list on each, such as '[spark-1, spark-2]'",
}
"""By cause: what no evidence of the host tells, and the role needs. What to give, and where it is."""


class Proposal(Struct, frozen=True):
    """A value for the variable of a fix, and what the role would then set, each with its reason."""

    value: str
    because: str
    settings: tuple[str, ...]


def propose(cause: str, role: str, variable: str, seen: Seen, variables: Mapping[str, Any]) -> Proposal:
    """Return the value that mends `cause`; `variables` are the inventory's, by full name.

    Raises UsageError where the role refuses it on this host, or it would change nothing.
    """
    wanted = PROPOSED[cause]
    planned = making.of_host(BY_ROLE[role], seen, {**variables, variable: wanted.value})
    if planned.failed:
        raise UsageError(
            f"{variable}: {wanted.value} cannot be had on this host: {'; '.join(planned.failed)}", "--set another value"
        )
    differing = tuple(str(one) for one in planned.plan.settings if one.state is State.DIFFERS)
    if not differing:
        left = "; ".join(dict.fromkeys(one.because for one in planned.plan.settings if one.because))
        raise UsageError(
            f"{variable}: {wanted.value} would change nothing on this host" + (f": {left}" if left else ""),
            f"give the value with --set; `qops plan -i INVENTORY HOST --role {role}` shows what is there",
        )
    return Proposal(wanted.value, wanted.because, differing)
