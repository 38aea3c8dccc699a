"""From the words typed to the command that they name, and from errors to exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from aegis_opt._shown import without_controls
from aegis_opt.cli._parser import build_parser
from aegis_opt.errors import AegisError

_FAILED, _INTERRUPTED, _PIPE_CLOSED = 1, 130, 141  # the latter two: 128 + the number of the signal


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``aegis-opt``; by default those of this process.

    Returns
    -------
    int
        The exit code: 0 where it worked, 1 where it did not, 130 after Ctrl-C, 141 where the reader of the
        output went away. Wrong usage leaves by `SystemExit` with code 2.

    Examples
    --------
    >>> main(["advise", "nowhere.json"])
    1
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show must not stop us
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = build_parser().parse_args(argv)
        if arguments.check is not None:
            arguments.check(arguments)
        command = arguments.command
        getattr(import_module(f"aegis_opt.cli._{command}"), f"run_{command}")(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # what is still buffered has no reader: let the interpreter's last flush go nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        print("aegis-opt: interrupted", file=sys.stderr)
        if argv is None:  # a process of its own: an engine that could not be stopped must not delay its end
            _end_process(_INTERRUPTED)
        return _INTERRUPTED
    except (AegisError, OSError) as error:
        print(f"aegis-opt: error: {without_controls(_explain(error))}", file=sys.stderr)
        return _FAILED
    return 0


def _end_process(code: int) -> NoReturn:
    """End this process without waiting for other threads; what was printed is printed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads it
            stream.flush()
    os._exit(code)


def _explain(error: AegisError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
