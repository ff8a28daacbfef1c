"""Whether the release of a service's engine takes its command; before anything is written, let alone stopped."""

from dataclasses import replace

from qops.data import engines
from qops.derive.service import Service
from qops.flags import Assignment, Severity, check, find
from qops.flags.shell import Word


def checked(service: Service) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the release refuses in the command, and what else is to be said of it.

    The release is the one that the image's tag names; where nothing names it, there is nothing to say.
    """
    command = find([Word(one) for one in service.words], service.image)
    if command is None or command.tag not in engines.load(command.engine).versions:
        return (), ()
    variables = (*command.environment, *(Assignment(name, value) for name, value in service.environment.items()))
    own = replace(command, environment=variables)
    refused: list[str] = []
    notes: list[str] = []
    for one in check(engines.load(command.engine), command.tag, own):
        text = f"service {service.name}: {command.engine} {command.tag}, {one.flag}: {one.message}"
        if one.severity is not Severity.INFO:
            (refused if one.severity is Severity.ERROR else notes).append(text)
    return tuple(refused), tuple(notes)
