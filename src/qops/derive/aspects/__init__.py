"""The aspects of a host that two looks are compared in."""

from qops.derive.aspects.aspect import Aspect, Matter
from qops.derive.aspects.faults import FAULT
from qops.derive.aspects.machine import MACHINE
from qops.derive.aspects.software import SOFTWARE

__all__ = ["ALL", "Aspect", "Matter"]

ALL: tuple[Aspect, ...] = (FAULT, *MACHINE, *SOFTWARE)
