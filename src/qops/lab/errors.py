"""The one error of the lab: this machine, or the lab on it, cannot do what was asked."""

from qops.errors import QopsError


class LabError(QopsError):
    """The lab cannot do it here. Exit status 2, like any request that cannot be carried out as it stands."""

    exit_code = 2
