"""One module for each role: from evidence and the inventory's choices to what the role would set, and why."""

from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.plans.container_engine import PLAN as CONTAINER_ENGINE
from qops.plans.container_toolkit import PLAN as CONTAINER_TOOLKIT
from qops.plans.firewall import PLAN as FIREWALL
from qops.plans.gpu_power import PLAN as GPU_POWER
from qops.plans.host_tuning import PLAN as HOST_TUNING
from qops.plans.inference_image import PLAN as INFERENCE_IMAGE
from qops.plans.inference_service import PLAN as INFERENCE_SERVICE
from qops.plans.model_store import PLAN as MODEL_STORE
from qops.plans.monitoring import PLAN as MONITORING
from qops.plans.nvidia_driver import PLAN as NVIDIA_DRIVER
from qops.plans.pcie_p2p import PLAN as PCIE_P2P
from qops.plans.preflight import PLAN as PREFLIGHT
from qops.plans.rdma_network import PLAN as RDMA_NETWORK
from qops.plans.reboot import PLAN as REBOOT

__all__ = ["ALL", "BY_ROLE", "Options", "Plan", "RolePlan", "Seen"]

# In the order in which site.yml runs the roles.
ALL: tuple[RolePlan, ...] = (
    PREFLIGHT,
    NVIDIA_DRIVER,
    CONTAINER_ENGINE,
    CONTAINER_TOOLKIT,
    HOST_TUNING,
    GPU_POWER,
    PCIE_P2P,
    RDMA_NETWORK,
    INFERENCE_IMAGE,
    MODEL_STORE,
    INFERENCE_SERVICE,
    FIREWALL,
    MONITORING,
    REBOOT,  # by playbooks/reboot.yml alone
)
BY_ROLE = {plan.role: plan for plan in ALL}
