"""The fields of `--query-gpu`: the name in the header, the key of the GPU's facts, the unit.

A key that begins with `=` is the value itself. The names are of `nvidia-smi --help-query-gpu`.
"""

from __future__ import annotations

_FIELDS = """\
index index
name name
uuid uuid
serial serial
count count
driver_version driver
compute_cap compute_cap
vbios_version vbios
pci.bus_id bus_id
pci.domain domain
pci.bus bus
pci.device device
pci.device_id device_id
pci.sub_device_id subsystem_id
persistence_mode persistence
addressing_mode addressing_mode
display_attached display_attached
display_active =Disabled
accounting.mode =Disabled
compute_mode =Default
mig.mode.current mig
mig.mode.pending mig
pstate pstate
gsp.mode.current =Enabled
gsp.mode.default =N/A
pcie.link.gen.current gen
pcie.link.gen.gpucurrent gen
pcie.link.gen.max gen_max
pcie.link.gen.gpumax gen_max
pcie.link.gen.hostmax gen_host
pcie.link.width.current width
pcie.link.width.max width_max
fan.speed fan %
memory.total fb_total MiB
memory.reserved fb_reserved MiB
memory.used fb_used MiB
memory.free fb_free MiB
utilization.gpu util %
utilization.memory util_memory %
temperature.gpu temp
temperature.gpu.tlimit tlimit
temperature.memory temp_memory
power.draw power W
power.draw.average power W
power.draw.instant power_instant W
power.limit limit_requested W
enforced.power.limit limit W
power.default_limit limit_default W
power.min_limit limit_min W
power.max_limit limit_max W
clocks.current.graphics clock_graphics MHz
clocks.current.sm clock_sm MHz
clocks.current.memory clock_memory MHz
clocks.current.video clock_video MHz
clocks.max.graphics max_graphics MHz
clocks.max.sm max_graphics MHz
clocks.max.memory max_memory MHz
clocks.applications.graphics app_graphics MHz
clocks.applications.memory app_memory MHz
clocks.default_applications.graphics app_graphics MHz
clocks.default_applications.memory app_memory MHz
clocks_event_reasons.supported =0x00000000000001FF
clocks_event_reasons.active reasons
clocks_event_reasons.gpu_idle reason_idle
clocks_event_reasons.applications_clocks_setting reason_app_clocks
clocks_event_reasons.sw_power_cap reason_sw_power_cap
clocks_event_reasons.hw_slowdown reason_hw_slowdown
clocks_event_reasons.hw_thermal_slowdown reason_hw_thermal
clocks_event_reasons.hw_power_brake_slowdown reason_hw_power_brake
clocks_event_reasons.sw_thermal_slowdown reason_sw_thermal
clocks_event_reasons.sync_boost reason_sync_boost
clocks_event_reasons_counters.sw_power_cap counter_sw_power_cap us
clocks_event_reasons_counters.sw_thermal_slowdown counter_sw_thermal us
clocks_event_reasons_counters.hw_thermal_slowdown counter_hw_thermal us
ecc.mode.current ecc
ecc.mode.pending ecc
ecc.errors.corrected.volatile.total ecc_v_dram_correctable
ecc.errors.corrected.aggregate.total ecc_a_dram_correctable
ecc.errors.uncorrected.volatile.total ecc_v_dram_uncorrectable
ecc.errors.uncorrected.volatile.dram ecc_v_dram_uncorrectable
ecc.errors.uncorrected.aggregate.total ecc_a_dram_uncorrectable
ecc.errors.uncorrected.aggregate.dram ecc_a_dram_uncorrectable
retired_pages.single_bit_ecc.count =N/A
retired_pages.double_bit.count =N/A
retired_pages.pending =N/A
remapped_rows.correctable remap_correctable_error
remapped_rows.uncorrectable remap_uncorrectable_error
remapped_rows.pending remap_pending
remapped_rows.failure remap_remapping_failure_occurred
fabric.state fabric_state
fabric.status fabric_status
gpu_recovery_action recovery
timestamp timestamp
"""

# Other names that the tool takes; the header prints the name on the right.
_ALIASES = """\
gpu_name name
gpu_uuid uuid
gpu_serial serial
gpu_bus_id pci.bus_id
clocks.gr clocks.current.graphics
clocks.sm clocks.current.sm
clocks.mem clocks.current.memory
clocks.video clocks.current.video
clocks.max.gr clocks.max.graphics
clocks.max.mem clocks.max.memory
clocks.applications.gr clocks.applications.graphics
clocks.applications.mem clocks.applications.memory
"""

FIELDS: dict[str, tuple[str, str]] = {
    name: (key, unit) for name, key, unit in (f"{row} ".split(" ")[:3] for row in _FIELDS.splitlines())
}
ALIASES: dict[str, str] = dict(row.split(" ", 1) for row in _ALIASES.splitlines())
