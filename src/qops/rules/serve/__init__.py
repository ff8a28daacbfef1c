"""Rules of the serve family, one file per cause."""

from qops.rule import Rule

RULES: tuple[Rule, ...] = ()
