"""All rules, one file per cause; the order is the order of `qops rules`."""

from qops.rule import Rule
from qops.rules.cuda import RULES as CUDA
from qops.rules.host import RULES as HOST
from qops.rules.nccl import RULES as NCCL
from qops.rules.serve import RULES as SERVE

ALL: tuple[Rule, ...] = (*NCCL, *CUDA, *HOST, *SERVE)

RETIRED: dict[str, str] = {}  # code of a rule that is no more -> why; a code is never used again
