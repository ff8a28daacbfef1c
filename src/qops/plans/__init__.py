"""One module for each role: from evidence and the inventory's choices to what the role would set, and why."""

from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.plans.host_tuning import PLAN as HOST_TUNING

__all__ = ["ALL", "BY_ROLE", "Options", "Plan", "RolePlan", "Seen"]

ALL: tuple[RolePlan, ...] = (HOST_TUNING,)  # in the order in which site.yml runs the roles
BY_ROLE = {plan.role: plan for plan in ALL}
