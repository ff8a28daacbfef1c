"""HST004: the key that signed the module is not enrolled."""

from collections.abc import Iterator

from qops.data.messages import device, kernel, system
from qops.evidence.kernel import Modules
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST004",
    "secure-boot-module-rejected",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error", "kernel-upgrade-no-module", "driver-too-old-for-image"),
    fix=(
        Fix(
            "enrol the key that signs the module, then confirm it on the console at the next boot",
            commands=("mokutil --sb-state", "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der"),
            needs_reboot=True,
        ),
        Fix("switch Secure Boot off in the firmware", kind="workaround", needs_reboot=True),
    ),
)
def secure_boot_module_rejected(logs: Logs, modules: Modules | None) -> Iterator[Found | RuledOut]:
    """Secure Boot is on and the key that signed the NVIDIA module is not enrolled."""
    hits = logs.find(kernel.KEY_REJECTED)
    named = tuple(h for h in hits if _module(h).startswith("nvidia"))
    nameless = tuple(h for h in hits if not _module(h))
    context = logs.find(system.DRIVER_UNREACHABLE, device.INSTALLER_FAILED)
    enabled = logs.find(kernel.SECURE_BOOT)
    unenrolled = logs.find(system.KEY_NOT_ENROLLED) if enabled and context else ()
    refused = logs.find(system.NOT_PERMITTED) if nameless else ()
    if not named and not (nameless and (context or refused)) and not unenrolled:
        return
    if modules and "nvidia" in modules.loaded:
        yield RuledOut("the NVIDIA module is loaded", (modules.quote,) if modules.quote else ())
        return
    yield Found(
        subject="nvidia module",
        message="the kernel refuses the NVIDIA module because its signing key is not enrolled",
        evidence=(*quotes((*named, *nameless, *unenrolled, *refused), 2), *quotes(enabled, 1), *quotes(context, 1)),
        confidence=Confidence.CERTAIN if named else Confidence.LIKELY,
    )


def _module(hit: Hit) -> str:
    return hit.groups.get("module") or hit.groups.get("named") or ""
