"""Rules of the host family, one file per cause."""

from qops.rule import Rule
from qops.rules.host.api_port_open import api_port_open
from qops.rules.host.benign_acs_source_validation import benign_acs_source_validation
from qops.rules.host.benign_aer_correctable import benign_aer_correctable
from qops.rules.host.benign_exit_137 import benign_exit_137
from qops.rules.host.benign_iommu_translated_off import benign_iommu_translated_off
from qops.rules.host.benign_module_taint import benign_module_taint
from qops.rules.host.benign_pcie_idle_speed import benign_pcie_idle_speed
from qops.rules.host.benign_persistence_notice import benign_persistence_notice
from qops.rules.host.benign_recovery_action_none import benign_recovery_action_none
from qops.rules.host.benign_sw_power_cap import benign_sw_power_cap
from qops.rules.host.bridge_redirects_again import bridge_redirects_again
from qops.rules.host.cdi_spec_stale import cdi_spec_stale
from qops.rules.host.container_engine_not_running import container_engine_not_running
from qops.rules.host.container_gpus_unavailable import container_gpus_unavailable
from qops.rules.host.container_lost_gpu_cgroup import container_lost_gpu_cgroup
from qops.rules.host.container_of_old_driver import container_of_old_driver
from qops.rules.host.container_toolkit_missing import container_toolkit_missing
from qops.rules.host.container_toolkit_mixed import container_toolkit_mixed
from qops.rules.host.cpu_governor_not_performance import cpu_governor_not_performance
from qops.rules.host.disk_full import disk_full
from qops.rules.host.docker_daemon_json_broken import docker_daemon_json_broken
from qops.rules.host.docker_overlay_sync_stall import docker_overlay_sync_stall
from qops.rules.host.driver_change_unfinished import driver_change_unfinished
from qops.rules.host.driver_libraries_not_visible import driver_libraries_not_visible
from qops.rules.host.driver_not_held import driver_not_held
from qops.rules.host.driver_packages_disagree import driver_packages_disagree
from qops.rules.host.driver_parameter_not_in_force import driver_parameter_not_in_force
from qops.rules.host.gb10_low_power_state import gb10_low_power_state
from qops.rules.host.gpu_busy_without_process import gpu_busy_without_process
from qops.rules.host.gpu_fell_off_bus import gpu_fell_off_bus
from qops.rules.host.gpu_memory_ecc_hardware import gpu_memory_ecc_hardware
from qops.rules.host.gpu_needs_reset import gpu_needs_reset
from qops.rules.host.gpu_not_supported_by_driver import gpu_not_supported_by_driver
from qops.rules.host.gpu_pci_memory_not_assigned import gpu_pci_memory_not_assigned
from qops.rules.host.gpu_power_drifted import gpu_power_drifted
from qops.rules.host.gpus_answer import gpus_answer
from qops.rules.host.gsp_rpc_timeout import gsp_rpc_timeout
from qops.rules.host.host_oom_killer import host_oom_killer
from qops.rules.host.kernel_option_not_in_force import kernel_option_not_in_force
from qops.rules.host.kernel_upgrade_no_module import kernel_upgrade_no_module
from qops.rules.host.kernel_without_driver_module import kernel_without_driver_module
from qops.rules.host.module_option_not_in_force import module_option_not_in_force
from qops.rules.host.nouveau_conflict import nouveau_conflict
from qops.rules.host.numa_balancing_on import numa_balancing_on
from qops.rules.host.nvidia_smi_hung import nvidia_smi_hung
from qops.rules.host.nvlink_error import nvlink_error
from qops.rules.host.nvml_failed import nvml_failed
from qops.rules.host.open_files_exhausted import open_files_exhausted
from qops.rules.host.open_kernel_module_required import open_kernel_module_required
from qops.rules.host.pcie_link_degraded import pcie_link_degraded
from qops.rules.host.pcie_surprise_link_down import pcie_surprise_link_down
from qops.rules.host.power_brake_slowdown import power_brake_slowdown
from qops.rules.host.power_cap_below_need import power_cap_below_need
from qops.rules.host.process_killed import process_killed
from qops.rules.host.process_stuck_in_driver import process_stuck_in_driver
from qops.rules.host.program_failed import program_failed
from qops.rules.host.reboot_due import reboot_due
from qops.rules.host.secure_boot_module_rejected import secure_boot_module_rejected
from qops.rules.host.swappiness_too_high import swappiness_too_high
from qops.rules.host.systemd_boot_order_race import systemd_boot_order_race
from qops.rules.host.systemd_ordering_cycle import systemd_ordering_cycle
from qops.rules.host.task_blocked import task_blocked
from qops.rules.host.thermal_throttle import thermal_throttle
from qops.rules.host.thp_not_madvise import thp_not_madvise
from qops.rules.host.uvm_hmm_conflict import uvm_hmm_conflict
from qops.rules.host.xid_event import xid_event

RULES: tuple[Rule, ...] = (
    container_toolkit_missing,
    container_lost_gpu_cgroup,
    kernel_upgrade_no_module,
    secure_boot_module_rejected,
    nouveau_conflict,
    systemd_boot_order_race,
    systemd_ordering_cycle,
    gpu_fell_off_bus,
    gpu_memory_ecc_hardware,
    gsp_rpc_timeout,
    pcie_link_degraded,
    pcie_surprise_link_down,
    thermal_throttle,
    host_oom_killer,
    docker_overlay_sync_stall,
    open_kernel_module_required,
    power_brake_slowdown,
    cpu_governor_not_performance,
    swappiness_too_high,
    numa_balancing_on,
    thp_not_madvise,
    gpu_power_drifted,
    driver_libraries_not_visible,
    gpu_not_supported_by_driver,
    gpus_answer,
    benign_sw_power_cap,
    benign_pcie_idle_speed,
    benign_acs_source_validation,
    benign_iommu_translated_off,
    benign_module_taint,
    benign_persistence_notice,
    benign_aer_correctable,
    benign_exit_137,
    benign_recovery_action_none,
    xid_event,
    nvml_failed,
    nvidia_smi_hung,
    process_killed,
    program_failed,
    task_blocked,
    api_port_open,
    power_cap_below_need,
    kernel_option_not_in_force,
    bridge_redirects_again,
    module_option_not_in_force,
    reboot_due,
    docker_daemon_json_broken,
    container_engine_not_running,
    cdi_spec_stale,
    container_toolkit_mixed,
    container_gpus_unavailable,
    driver_packages_disagree,
    kernel_without_driver_module,
    driver_not_held,
    driver_change_unfinished,
    driver_parameter_not_in_force,
    disk_full,
    nvlink_error,
    uvm_hmm_conflict,
    open_files_exhausted,
    process_stuck_in_driver,
    gb10_low_power_state,
    gpu_pci_memory_not_assigned,
    gpu_busy_without_process,
    gpu_needs_reset,
    container_of_old_driver,
)
