"""HST122: the description of the GPUs that containers are started with is no longer true."""

from collections.abc import Iterator

from qops.derive import cdi as derive
from qops.evidence.cdi import Cdi
from qops.evidence.gpu import DriverModule
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST122",
    "cdi-spec-stale",
    explains=("no-visible-gpu", "cuda-error", "nvml-failed", "driver-library-version-mismatch"),
    fix=(
        Fix(
            "describe the GPUs anew, then start the containers again",
            commands=("sudo systemctl restart nvidia-cdi-refresh.service", "nvidia-ctk cdi list"),
            variable="container_toolkit_remove_old_cdi",
            tag="container_toolkit",
        ),
    ),
)
def cdi_spec_stale(cdi: Cdi, driver: DriverModule | None) -> Iterator[Found | RuledOut]:
    """The CDI specification that containers are started with no longer fits the driver."""
    spec = cdi.effective()
    if spec is None:
        return
    wrong = derive.stale(spec, cdi, driver.version if driver else "")
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        yield Found(
            subject="CDI specification",
            message=f"{spec.path} is of another driver or boot: {wrong[0][0]}{more}",
            evidence=tuple(quote for _, quote in wrong[:3]),
            confidence=Confidence.CERTAIN,
        )
        return
    hidden = [other for other in cdi.specs if other is not spec and other.kind == spec.kind]
    if hidden and derive.stale(hidden[0], cdi, driver.version if driver else ""):
        yield RuledOut(f"{hidden[0].path} is stale, and {spec.path}, which wins, is not", (hidden[0].quote,))
