"""Running the command line: every error becomes one clear message and an exit status, in this one place."""

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
    try:
        status = qops.main(args=list(arguments), prog_name="qops", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        message = error.format_message()
        _say(
            "error",
            message[:1].lower() + message[1:].rstrip("."),
            f"see {context.command_path} --help" if context else "",
        )
        return USAGE
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
        _say("error", error.message, error.hint)
        return error.exit_code
    except Exception as error:
        if debug:
            _show_traceback()
            return INTERNAL
        where = _save_traceback()
        _say(
            "internal error",
            f"{type(error).__name__}: {error}",
            f"this is a fault of qops {__version__}; report it with {where}",
        )
        return INTERNAL
    return status if isinstance(status, int) else 0


def _say(kind: str, message: str, hint: str) -> None:
    print(f"{kind}: {message}", file=sys.stderr)  # noqa: T201
    if hint:
        print(f"  hint: {hint}", file=sys.stderr)  # noqa: T201


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
