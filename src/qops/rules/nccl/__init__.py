"""Rules of the nccl family, one file per cause."""

from qops.rule import Rule

RULES: tuple[Rule, ...] = ()
