"""The order, labels and XML names of `nvidia-smi -q`, one line a field.

A line is `label | xml tag | value | versions`. The indent is the text report's. `-` as a label means
XML only, as a tag text only. A value that begins with `=` is printed as it stands, one with `@` is a
block that report.py writes, any other is a key of the GPU's facts. `^` before a tag: the XML has the
field one level higher. `595` in the last column: since that driver branch, `<595`: before it.
Taken from the project's recording of 580.159.04; the 595 differences from a public report of an
RTX PRO 6000 host (595.58.03).
"""

from __future__ import annotations

LAYOUT = """\
Product Name | product_name | name
Product Brand | product_brand | brand
Product Architecture | product_architecture | architecture
Display Mode | display_mode | =Requested functionality has been deprecated
Display Attached | display_attached | display_attached
Display Active | display_active | =Disabled
Persistence Mode | persistence_mode | persistence
Addressing Mode | addressing_mode | addressing_mode
MIG Mode | mig_mode
    Current | current_mig | mig
    Pending | pending_mig | mig
- | mig_devices | @none
Accounting Mode | accounting_mode | =Disabled
Accounting Mode Buffer Size | accounting_mode_buffer_size | =4000
Driver Model | driver_model
    Current | current_dm | =N/A
    Pending | pending_dm | =N/A
Serial Number | serial | serial
GPU UUID | uuid | uuid
GPU PDI | pdi | pdi
Minor Number | minor_number | minor
VBIOS Version | vbios_version | vbios
MultiGPU Board | multigpu_board | =No
Board ID | board_id | board_id
Board Part Number | board_part_number | board_part
GPU Part Number | gpu_part_number | gpu_part
FRU Part Number | gpu_fru_part_number | =N/A
Platform Info | platformInfo
    Chassis Serial Number | chassis_serial_number | chassis_serial
    Slot Number | slot_number | slot_number
    Tray Index | tray_index | tray_index
    Host ID | host_id | host_id
    Peer Type | peer_type | peer_type
    Module Id | module_id | module_id
    GPU Fabric GUID | gpu_fabric_guid | fabric_guid
Inforom Version | inforom_version
    Image Version | img_version | inforom_image
    OEM Object | oem_object | inforom_oem
    ECC Object | ecc_object | inforom_ecc
    Power Management Object | pwr_object | =N/A
Inforom BBX Object Flush | inforom_bbx_flush
    Latest Timestamp | latest_timestamp | =N/A
    Latest Duration | latest_duration | =N/A
GPU Operation Mode | gpu_operation_mode
    Current | current_gom | =N/A
    Pending | pending_gom | =N/A
GPU C2C Mode | c2c_mode | c2c
GPU Virtualization Mode | gpu_virtualization_mode
    Virtualization Mode | virtualization_mode | virtualization
    Host VGPU Mode | host_vgpu_mode | =N/A
    vGPU Heterogeneous Mode | vgpu_heterogeneous_mode | =N/A
GPU Recovery Action | gpu_recovery_action | recovery
GSP Firmware Version | gsp_firmware_version | driver
IBMNPU | ibmnpu
    Relaxed Ordering Mode | relaxed_ordering_mode | =N/A
PCI | pci
    Bus | pci_bus | bus
    Device | pci_device | device
    Domain | pci_domain | domain
    Base Classcode | pci_base_class | =0x3
    Sub Classcode | pci_sub_class | =0x2
    Device Id | pci_device_id | device_id
    Bus Id | pci_bus_id | bus_id
    Sub System Id | pci_sub_system_id | subsystem_id
    GPU Link Info | pci_gpu_link_info
        PCIe Generation | pcie_gen
            Max | max_link_gen | gen_max
            Current | current_link_gen | gen
            Device Current | device_current_link_gen | gen
            Device Max | max_device_link_gen | gen_max
            Host Max | max_host_link_gen | gen_host
        Link Width | link_widths
            Max | max_link_width | width_max
            Current | current_link_width | width
    Bridge Chip | pci_bridge_chip
        Type | bridge_chip_type | =N/A
        Firmware | bridge_chip_fw | =N/A
    Replays Since Reset | replay_counter | replays
    Replay Number Rollovers | replay_rollover_counter | =0
    Tx Throughput | tx_util | tx
    Rx Throughput | rx_util | rx
    Atomic Caps Outbound | atomic_caps_outbound | =N/A
    Atomic Caps Inbound | atomic_caps_inbound | atomic_inbound
Fan Speed | fan_speed | fan
Performance State | performance_state | pstate
Clocks Event Reasons | clocks_event_reasons
    Idle | clocks_event_reason_gpu_idle | reason_idle
    Applications Clocks Setting | clocks_event_reason_applications_clocks_setting | reason_app_clocks
    SW Power Cap | clocks_event_reason_sw_power_cap | reason_sw_power_cap
    HW Slowdown | clocks_event_reason_hw_slowdown | reason_hw_slowdown
        HW Thermal Slowdown | ^clocks_event_reason_hw_thermal_slowdown | reason_hw_thermal
        HW Power Brake Slowdown | ^clocks_event_reason_hw_power_brake_slowdown | reason_hw_power_brake
    Sync Boost | clocks_event_reason_sync_boost | reason_sync_boost
    SW Thermal Slowdown | clocks_event_reason_sw_thermal_slowdown | reason_sw_thermal
    Display Clock Setting | clocks_event_reason_display_clocks_setting | reason_display
Clocks Event Reasons Counters | clocks_event_reasons_counters
    SW Power Capping | clocks_event_reasons_counters_sw_power_cap | counter_sw_power_cap
    Sync Boost | clocks_event_reasons_counters_sync_boost | counter_sync_boost
    SW Thermal Slowdown | clocks_event_reasons_counters_sw_therm_slowdown | counter_sw_thermal
    HW Thermal Slowdown | clocks_event_reasons_counters_hw_therm_slowdown | counter_hw_thermal
    HW Power Braking | clocks_event_reasons_counters_hw_power_brake | counter_hw_power_brake
Sparse Operation Mode | sparse_operation_mode | sparse
FB Memory Usage | fb_memory_usage
    Total | total | fb_total
    Reserved | reserved | fb_reserved
    Used | used | fb_used
    Free | free | fb_free
BAR1 Memory Usage | bar1_memory_usage
    Total | total | bar1_total
    Used | used | bar1_used
    Free | free | bar1_free
Conf Compute Protected Memory Usage | cc_protected_memory_usage
    Total | total | =0 MiB
    Used | used | =0 MiB
    Free | free | =0 MiB
Compute Mode | compute_mode | =Default
Utilization | utilization
    GPU | gpu_util | util
    Memory | memory_util | util_memory
    Encoder | encoder_util | =0 %
    Decoder | decoder_util | =0 %
    JPEG | jpeg_util | =0 %
    OFA | ofa_util | =0 %
Encoder Stats | encoder_stats
    Active Sessions | session_count | =0
    Average FPS | average_fps | =0
    Average Latency | average_latency | =0
FBC Stats | fbc_stats
    Active Sessions | session_count | =0
    Average FPS | average_fps | =0
    Average Latency | average_latency | =0
DRAM Encryption Mode | dram_encryption_mode
    Current | current_dram_encryption | dram_encryption
    Pending | pending_dram_encryption | dram_encryption
ECC Mode | ecc_mode
    Current | current_ecc | ecc
    Pending | pending_ecc | ecc
ECC Errors | ecc_errors
    Volatile | volatile
        SRAM Correctable | sram_correctable | ecc_v_sram_correctable
        SRAM Uncorrectable Parity | sram_uncorrectable_parity | ecc_v_sram_uncorrectable_parity
        SRAM Uncorrectable SEC-DED | sram_uncorrectable_secded | ecc_v_sram_uncorrectable_secded
        DRAM Correctable | dram_correctable | ecc_v_dram_correctable
        DRAM Uncorrectable | dram_uncorrectable | ecc_v_dram_uncorrectable
    Aggregate | aggregate
        SRAM Correctable | sram_correctable | ecc_a_sram_correctable
        SRAM Uncorrectable Parity | sram_uncorrectable_parity | ecc_a_sram_uncorrectable_parity
        SRAM Uncorrectable SEC-DED | sram_uncorrectable_secded | ecc_a_sram_uncorrectable_secded
        DRAM Correctable | dram_correctable | ecc_a_dram_correctable
        DRAM Uncorrectable | dram_uncorrectable | ecc_a_dram_uncorrectable
        SRAM Threshold Exceeded | sram_threshold_exceeded | ecc_a_sram_threshold_exceeded
    Aggregate Uncorrectable SRAM Sources | aggregate_uncorrectable_sram_sources
        SRAM L2 | sram_l2 | ecc_s_sram_l2
        SRAM SM | sram_sm | ecc_s_sram_sm
        SRAM Microcontroller | sram_microcontroller | ecc_s_sram_microcontroller
        SRAM PCIE | sram_pcie | ecc_s_sram_pcie
        SRAM Other | sram_other | ecc_s_sram_other
    Channel Repair Pending | channel_repair_pending | ecc_channel_repair_pending
    TPC Repair Pending | tpc_repair_pending | ecc_tpc_repair_pending
    Unrepairable Memory | unrepairable_memory | ecc_unrepairable_memory
Retired Pages | retired_pages
    Single Bit ECC | - | =N/A
    Double Bit ECC | - | =N/A
    Pending Page Blacklist | - | =N/A
    - | multiple_single_bit_retirement
        - | retired_count | =N/A
        - | retired_pagelist | =N/A
    - | double_bit_retirement
        - | retired_count | =N/A
        - | retired_pagelist | =N/A
    - | pending_blacklist | =N/A
    - | pending_retirement | =N/A
Remapped Rows | remapped_rows
    Correctable Error | remapped_row_corr | remap_correctable_error
    Inactive Correctable Error | remapped_row_corr_inactive | remap_inactive_correctable_error | <595
    Uncorrectable Error | remapped_row_unc | remap_uncorrectable_error
    Inactive Uncorrectable Error | remapped_row_unc_inactive | remap_inactive_uncorrectable_error | <595
    Pending | remapped_row_pending | remap_pending
    Remapping Failure Occurred | remapped_row_failure | remap_remapping_failure_occurred
    Bank Remap Availability Histogram | row_remapper_histogram
        Max | row_remapper_histogram_max | remap_max
        High | row_remapper_histogram_high | remap_high
        Partial | row_remapper_histogram_partial | remap_partial
        Low | row_remapper_histogram_low | remap_low
        None | row_remapper_histogram_none | remap_none
Temperature | temperature
    GPU Current Temp | gpu_temp | temp
    GPU T.Limit Temp | gpu_temp_tlimit | tlimit
    GPU Shutdown T.Limit Temp | gpu_temp_max_tlimit_threshold | tlimit_shutdown
    GPU Slowdown T.Limit Temp | gpu_temp_slow_tlimit_threshold | tlimit_slowdown
    GPU Max Operating T.Limit Temp | gpu_temp_max_gpu_tlimit_threshold | tlimit_max
    GPU Target Temperature | gpu_target_temperature | target_temp
    Memory Current Temp | memory_temp | temp_memory
    Memory Max Operating T.Limit Temp | gpu_temp_max_mem_tlimit_threshold | tlimit_memory
- | supported_gpu_target_temp
    - | gpu_target_temp_min | =N/A
    - | gpu_target_temp_max | =N/A
GPU Power Readings | gpu_power_readings
    - | power_state | pstate
    Average Power Draw | average_power_draw | power
    Instantaneous Power Draw | instant_power_draw | power_instant
    Current Power Limit | current_power_limit | limit
    Requested Power Limit | requested_power_limit | limit_requested
    Default Power Limit | default_power_limit | limit_default
    Min Power Limit | min_power_limit | limit_min
    Max Power Limit | max_power_limit | limit_max
GPU Memory Power Readings_ | gpu_memory_power_readings
    Average Power Draw | average_power_draw | power_memory
    Instantaneous Power Draw | instant_power_draw | =N/A
Module Power Readings | module_power_readings
    - | power_state | pstate
    Average Power Draw | average_power_draw | =N/A
    Instantaneous Power Draw | instant_power_draw | =N/A
    Current Power Limit | current_power_limit | =N/A
    Requested Power Limit | requested_power_limit | =N/A
    Default Power Limit | default_power_limit | =N/A
    Min Power Limit | min_power_limit | =N/A
    Max Power Limit | max_power_limit | =N/A
Power Smoothing | power_smoothing | =N/A
Workload Power Profiles | power_profiles
    Requested Profiles | power_profile_requested_profiles | =N/A
    Enforced Profiles | power_profile_enforced_profiles | =N/A
EDPp Multiplier | edpp_multiplier | =N/A | 595
Clocks | clocks
    Graphics | graphics_clock | clock_graphics
    SM | sm_clock | clock_sm
    Memory | mem_clock | clock_memory
    Video | video_clock | clock_video
Applications Clocks | applications_clocks
    Graphics | graphics_clock | app_graphics
    Memory | mem_clock | app_memory
Default Applications Clocks | default_applications_clocks
    Graphics | graphics_clock | app_graphics
    Memory | mem_clock | app_memory
Deferred Clocks | deferred_clocks
    Memory | mem_clock | =N/A
Max Clocks | max_clocks
    Graphics | graphics_clock | max_graphics
    SM | sm_clock | max_graphics
    Memory | mem_clock | max_memory
    Video | video_clock | max_video
Max Customer Boost Clocks | max_customer_boost_clocks
    Graphics | graphics_clock | max_graphics
Clock Policy | clock_policy
    Auto Boost | auto_boost | =N/A
    Auto Boost Default | auto_boost_default | =N/A
Fabric | fabric
    State | state | fabric_state
    Status | status | fabric_status
    CliqueId | cliqueId | fabric_clique
    ClusterUUID | clusterUuid | fabric_cluster
    Health | health
        Summary | summary | =N/A
        Bandwidth | bandwidth | =N/A
        Route Recovery in progress | route_recovery_in_progress | =N/A
        Route Unhealthy | route_unhealthy | =N/A
        Access Timeout Recovery | access_timeout_recovery | =N/A
        Incorrect Configuration | incorrect_configuration | =N/A
        Partition Assigned | partition_assigned | =N/A
- | supported_clocks | @supported_clocks
Processes | - | @processes_text
- | processes | @processes
- | accounted_processes | @nothing
Capabilities | capabilities
    EGM | egm | egm
"""
