"""What a fault is that the lab can plant: data, and no code."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, named by the cause id that a diagnosis must find.

    The simulator is told of every planted fault with its `parameters`. `plant` and `mend` are shell steps
    run as root on the host for what can be real; both must bear being run twice. `check` is a shell command
    that succeeds while the real part of the fault is there. `requires` are shell commands that must succeed before
    anything is planted, each with what is wrong with the host where it does not.
    """

    cause: str
    about: str
    plant: tuple[str, ...] = ()
    mend: tuple[str, ...] = ()
    check: str = ""
    requires: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()  # hardware classes that can have it; none means all
    parameters: tuple[tuple[str, str | int], ...] = ()
    after_boot: bool = False  # whether it shows, and goes, only with a boot of the (simulated) hardware
    engine: bool = False  # whether it is the serving engine's, and so needs a host with one
    shared: "Fault | None" = None  # the same where there is no engine: in the job over all hosts of the scenario
