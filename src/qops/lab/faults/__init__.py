"""The faults that the lab can plant, one file each, in the order that `qops lab list` shows them."""

from qops.lab.fault import Fault
from qops.lab.faults.container_lost_gpu_cgroup import FAULT as CONTAINER_LOST_GPU_CGROUP
from qops.lab.faults.container_toolkit_missing import FAULT as CONTAINER_TOOLKIT_MISSING
from qops.lab.faults.cuda_compat_lib_shadows_driver import FAULT as CUDA_COMPAT_LIB_SHADOWS_DRIVER
from qops.lab.faults.driver_library_version_mismatch import FAULT as DRIVER_LIBRARY_VERSION_MISMATCH
from qops.lab.faults.engine_bad_flag import FAULT as ENGINE_BAD_FLAG
from qops.lab.faults.engine_model_not_found import FAULT as ENGINE_MODEL_NOT_FOUND
from qops.lab.faults.fabric_manager_not_running import FAULT as FABRIC_MANAGER_NOT_RUNNING
from qops.lab.faults.gpu_fell_off_bus import FAULT as GPU_FELL_OFF_BUS
from qops.lab.faults.gpu_memory_ecc_hardware import FAULT as GPU_MEMORY_ECC_HARDWARE
from qops.lab.faults.kernel_upgrade_no_module import FAULT as KERNEL_UPGRADE_NO_MODULE
from qops.lab.faults.kv_cache_too_small import FAULT as KV_CACHE_TOO_SMALL
from qops.lab.faults.p2p_slow_acs_redirect import FAULT as P2P_SLOW_ACS_REDIRECT
from qops.lab.faults.port_in_use import FAULT as PORT_IN_USE
from qops.lab.faults.power_cap_below_need import FAULT as POWER_CAP_BELOW_NEED
from qops.lab.faults.rank_stopped import FAULT as RANK_STOPPED
from qops.lab.faults.shm_too_small import FAULT as SHM_TOO_SMALL
from qops.lab.faults.thermal_throttle import FAULT as THERMAL_THROTTLE

ALL: tuple[Fault, ...] = (
    CONTAINER_LOST_GPU_CGROUP,
    CONTAINER_TOOLKIT_MISSING,
    CUDA_COMPAT_LIB_SHADOWS_DRIVER,
    DRIVER_LIBRARY_VERSION_MISMATCH,
    ENGINE_BAD_FLAG,
    ENGINE_MODEL_NOT_FOUND,
    FABRIC_MANAGER_NOT_RUNNING,
    GPU_FELL_OFF_BUS,
    GPU_MEMORY_ECC_HARDWARE,
    KERNEL_UPGRADE_NO_MODULE,
    KV_CACHE_TOO_SMALL,
    P2P_SLOW_ACS_REDIRECT,
    PORT_IN_USE,
    POWER_CAP_BELOW_NEED,
    RANK_STOPPED,
    SHM_TOO_SMALL,
    THERMAL_THROTTLE,
)
