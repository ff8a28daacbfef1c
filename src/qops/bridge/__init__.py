"""What Ansible calls: a transport over its connection, evidence as plain data, plans and verdicts."""

from qops.bridge.connection import shell_of
from qops.bridge.facts import KINDS, evidence, facts, plain
from qops.bridge.looking import look, look_by_name
from qops.bridge.planning import judged, kinds, needed, planned, role_plan, rules, said
from qops.bridge.remembered import Remembered, wanted_soon
from qops.bridge.transport import AnsibleTransport, Shell

__all__ = [
    "KINDS",
    "AnsibleTransport",
    "Remembered",
    "Shell",
    "evidence",
    "facts",
    "judged",
    "kinds",
    "look",
    "look_by_name",
    "needed",
    "plain",
    "planned",
    "role_plan",
    "rules",
    "said",
    "shell_of",
    "wanted_soon",
]
