"""Running the command line: every error becomes one clear message and an exit status, in this one place."""

import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from qops import __version__
from qops.cli.group import qops
from qops.errors import INTERNAL, INTERRUPTED, USAGE, QopsError


def run(arguments: Sequence[str]) -> int:
    """Run `qops` with `arguments` and return the exit status."""
    debug = "--debug" in arguments
    nagios = "--exit-codes=nagios" in arguments or ("--exit-codes", "nagios") in itertools.pairwise(arguments)

    def failed(kind: str, message: str, hint: str, status: int) -> int:
        return _unknown(message) if nagios else _say(kind, message, hint, status)

    try:
        status = qops.main(args=list(arguments), prog_name="qops", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        message = error.format_message()
        hint = f"see {context.command_path} --help" if context else ""
        return failed("error", message[:1].lower() + message[1:].rstrip("."), hint, USAGE)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`qops … | head`); Python must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except QopsError as error:
        if debug:
            _show_traceback()
        return failed("error", error.message, error.hint, error.exit_code)
    except Exception as error:
        if debug:
            _show_traceback()
            return INTERNAL
        hint = f"this is a fault of qops {__version__}; report it with {_save_traceback()}"
        return failed("internal error", f"{type(error).__name__}: {error}", hint, INTERNAL)
    return status if isinstance(status, int) else 0


def _say(kind: str, message: str, hint: str, status: int) -> int:
    print(f"{kind}: {message}", file=sys.stderr)  # noqa: T201
    if hint:
        print(f"  hint: {hint}", file=sys.stderr)  # noqa: T201
    return status


def _unknown(message: str) -> int:
    """Say as a plugin of Nagios that nothing is known: by a line on standard output, and its status for that."""
    from qops.render import nagios

    sys.stdout.write(f"QOPS UNKNOWN - {nagios.line(message)}\n")
    return nagios.UNKNOWN


def _show_traceback() -> None:
    import traceback

    traceback.print_exc()


def _save_traceback() -> Path:
    import tempfile
    import traceback

    descriptor, name = tempfile.mkstemp(prefix="qops-traceback-", suffix=".txt")
    with os.fdopen(descriptor, "w") as file:
        traceback.print_exc(file=file)
    return Path(name)
