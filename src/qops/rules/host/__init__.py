"""Rules of the host family, one file per cause."""

from qops.rule import Rule

RULES: tuple[Rule, ...] = ()
