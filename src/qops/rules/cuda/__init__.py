"""Rules of the cuda family, one file per cause."""

from qops.rule import Rule
from qops.rules.cuda.no_visible_gpu import no_visible_gpu

RULES: tuple[Rule, ...] = (no_visible_gpu,)
