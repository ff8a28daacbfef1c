"""Which GPUs run code that was made for a target of the CUDA compiler, such as sm_90a."""


def runs_on(target: str, capability: tuple[int, int]) -> bool:
    """Return whether a GPU of a compute capability runs the code of a target.

    CUDA programming guide, compute capabilities: machine code runs on later minors of its major, with `a` on its own
    alone, with `f` within the family (here: the major); PTX is compiled for any later GPU, with a suffix as above.
    """
    kind, _, number = target.partition("_")
    suffix = number[-1:] if number[-1:] in ("a", "f") else ""
    digits = number.rstrip("af")
    if not digits.isdigit() or len(digits) < 2:
        return False
    made_for = int(digits[:-1]), int(digits[-1])
    if suffix == "a":
        return made_for == capability
    if suffix == "f" or kind == "sm":
        return made_for[0] == capability[0] and made_for[1] <= capability[1]
    return made_for <= capability
