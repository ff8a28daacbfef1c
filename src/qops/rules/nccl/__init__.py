"""Rules of the nccl family, one file per cause."""

from qops.rule import Rule
from qops.rules.nccl.benign_loading import benign_loading
from qops.rules.nccl.benign_notice import benign_notice
from qops.rules.nccl.benign_ras_port_busy import benign_ras_port_busy
from qops.rules.nccl.benign_slow_rank import benign_slow_rank
from qops.rules.nccl.benign_waiting_for_compiler import benign_waiting_for_compiler
from qops.rules.nccl.benign_working import benign_working
from qops.rules.nccl.collective_hang import collective_hang
from qops.rules.nccl.collective_mismatch import collective_mismatch
from qops.rules.nccl.communicator_order_deadlock import communicator_order_deadlock
from qops.rules.nccl.custom_allreduce_unsupported import custom_allreduce_unsupported
from qops.rules.nccl.duplicate_gpu import duplicate_gpu
from qops.rules.nccl.graph_capture_multinode_deadlock import graph_capture_multinode_deadlock
from qops.rules.nccl.ib_completion_error import ib_completion_error
from qops.rules.nccl.job_failed import job_failed
from qops.rules.nccl.job_finished import job_finished
from qops.rules.nccl.memlock_too_small import memlock_too_small
from qops.rules.nccl.mtu_mismatch_or_small import mtu_mismatch_or_small
from qops.rules.nccl.nccl_cumem_setting import nccl_cumem_setting
from qops.rules.nccl.nccl_error import nccl_error
from qops.rules.nccl.nccl_link_not_used import nccl_link_not_used
from qops.rules.nccl.nccl_p2p_level_forced import nccl_p2p_level_forced
from qops.rules.nccl.nccl_rank_config_mismatch import nccl_rank_config_mismatch
from qops.rules.nccl.nccl_setting_conflict import nccl_setting_conflict
from qops.rules.nccl.nccl_setting_no_effect import nccl_setting_no_effect
from qops.rules.nccl.nccl_setting_typo import nccl_setting_typo
from qops.rules.nccl.nccl_too_old_for_arch import nccl_too_old_for_arch
from qops.rules.nccl.nvlink_pair_without_p2p import nvlink_pair_without_p2p
from qops.rules.nccl.nvls_multicast_fabric_state import nvls_multicast_fabric_state
from qops.rules.nccl.p2p_blocked_by_acs_iommu import p2p_blocked_by_acs_iommu
from qops.rules.nccl.p2p_broken_by_driver import p2p_broken_by_driver
from qops.rules.nccl.p2p_patched_driver_no_bar1 import p2p_patched_driver_no_bar1
from qops.rules.nccl.p2p_probe_failed import p2p_probe_failed
from qops.rules.nccl.p2p_slow_acs_redirect import p2p_slow_acs_redirect
from qops.rules.nccl.p2p_slower_than_shared_memory import p2p_slower_than_shared_memory
from qops.rules.nccl.pcie_switch_write_collapse import pcie_switch_write_collapse
from qops.rules.nccl.peer_closed_connection import peer_closed_connection
from qops.rules.nccl.rank_missing_from_collective import rank_missing_from_collective
from qops.rules.nccl.rank_stopped import rank_stopped
from qops.rules.nccl.ray_version_mismatch import ray_version_mismatch
from qops.rules.nccl.rdma_device_not_selected import rdma_device_not_selected
from qops.rules.nccl.rdma_environment_stale import rdma_environment_stale
from qops.rules.nccl.rdma_link_below_rate import rdma_link_below_rate
from qops.rules.nccl.rdma_twins_not_in_two_subnets import rdma_twins_not_in_two_subnets
from qops.rules.nccl.roce_gid_index_wrong import roce_gid_index_wrong
from qops.rules.nccl.roce_rail_cross_nic import roce_rail_cross_nic
from qops.rules.nccl.shm_too_small import shm_too_small
from qops.rules.nccl.socket_ifname_wrong import socket_ifname_wrong
from qops.rules.nccl.vgpu_preload_interposer_hang import vgpu_preload_interposer_hang
from qops.rules.nccl.watchdog_timeout import watchdog_timeout

RULES: tuple[Rule, ...] = (
    rank_missing_from_collective,
    rank_stopped,
    collective_mismatch,
    communicator_order_deadlock,
    nccl_rank_config_mismatch,
    duplicate_gpu,
    p2p_blocked_by_acs_iommu,
    p2p_slow_acs_redirect,
    p2p_broken_by_driver,
    p2p_patched_driver_no_bar1,
    nccl_p2p_level_forced,
    custom_allreduce_unsupported,
    pcie_switch_write_collapse,
    nccl_too_old_for_arch,
    nccl_cumem_setting,
    nvls_multicast_fabric_state,
    vgpu_preload_interposer_hang,
    shm_too_small,
    memlock_too_small,
    socket_ifname_wrong,
    roce_gid_index_wrong,
    roce_rail_cross_nic,
    rdma_device_not_selected,
    mtu_mismatch_or_small,
    graph_capture_multinode_deadlock,
    ray_version_mismatch,
    nvlink_pair_without_p2p,
    nccl_setting_typo,
    nccl_setting_conflict,
    nccl_setting_no_effect,
    nccl_link_not_used,
    benign_ras_port_busy,
    benign_notice,
    benign_working,
    benign_loading,
    benign_waiting_for_compiler,
    job_finished,
    collective_hang,
    watchdog_timeout,
    job_failed,
    peer_closed_connection,
    nccl_error,
    ib_completion_error,
    rdma_twins_not_in_two_subnets,
    rdma_link_below_rate,
    rdma_environment_stale,
    benign_slow_rank,
    p2p_probe_failed,
    p2p_slower_than_shared_memory,
)
