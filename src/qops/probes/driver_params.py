"""The settings with which the kernel module was loaded."""

import re
from collections.abc import Sequence

from qops.evidence.gpu import DriverParams
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Probe, Read
from qops.probes.prefix import strip

# Names that only this file has: enough of them to know it, or a line of it, when it is pasted. Driver 580.
_NAMES = frozenset(
    {
        "ResmanDebugLevel",
        "RmLogonRC",
        "ModifyDeviceFiles",
        "DeviceFileUID",
        "DeviceFileGID",
        "DeviceFileMode",
        "InitializeSystemMemoryAllocations",
        "UsePageAttributeTable",
        "EnableMSI",
        "EnablePCIeGen3",
        "MemoryPoolSize",
        "KMallocHeapMaxSize",
        "VMallocHeapMaxSize",
        "IgnoreMMIOCheck",
        "EnableStreamMemOPs",
        "EnableUserNUMAManagement",
        "NvLinkDisable",
        "RmProfilingAdminOnly",
        "PreserveVideoMemoryAllocations",
        "EnableS0ixPowerManagement",
        "S0ixPowerManagementVideoMemoryThreshold",
        "DynamicPowerManagement",
        "DynamicPowerManagementVideoMemoryThreshold",
        "RegisterPCIDriver",
        "EnablePCIERelaxedOrderingMode",
        "EnableResizableBar",
        "EnableGpuFirmware",
        "EnableGpuFirmwareLogs",
        "RmNvlinkBandwidthLinkCount",
        "EnableDbgBreakpoint",
        "OpenRmEnableUnsupportedGpus",
        "DmaRemapPeerMmio",
        "ImexChannelCount",
        "CreateImexChannel0",
        "GrdmaPciTopoCheckOverride",
        "CoherentGPUMemoryMode",
        "RegistryDwords",
        "RegistryDwordsPerDevice",
        "RmMsg",
        "GpuBlacklist",
        "TemporaryFilePath",
        "ExcludedGpus",
    }
)
_PARAM = lazy(r"\s*([A-Z]\w{2,60}): (.{0,2000})", re.ASCII)


def parse(texts: Sequence[Text]) -> DriverParams | None:
    """Return the parameters that any text lists; the first value of a name stays."""
    params: dict[str, str] = {}
    source = ""
    for text in texts:
        own = text.source.endswith("/proc/driver/nvidia/params") or text.probe == "driver_params"
        for line in text.lines:
            found = _PARAM.fullmatch(strip(line))
            if found and (own or found[1] in _NAMES):
                params.setdefault(found[1], found[2].strip().removeprefix('"').removesuffix('"'))
                source = source or text.source
    return DriverParams(params, source) if params else None


def _is_params(text: Text) -> bool:
    for line in text.lines:
        found = _PARAM.fullmatch(strip(line)) if ": " in line else None
        if found and found[1] in _NAMES:
            return True
    return False


PROBE = Probe(
    name="driver_params",
    makes=DriverParams,
    parse=parse,
    recognise=_is_params,
    asks=(Read("/proc/driver/nvidia/params", "the settings with which the kernel module was loaded"),),
)
