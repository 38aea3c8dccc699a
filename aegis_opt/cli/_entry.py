"""From the words typed to the command that they name, and from errors to exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from typing import NoReturn

from aegis_opt._native import ctrl_c_after
from aegis_opt._shown import without_controls
from aegis_opt.cli._parser import build_parser
from aegis_opt.errors import AegisError

_FAILED, _INTERRUPTED, _PIPE_CLOSED = 1, 130, 141  # the latter two: 128 + the number of the signal
_AGAIN_SECONDS = 0.05  # after which Ctrl-C that was dropped comes again


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
    with ExitStack() as opened:
        for name, redirected in (("stdout", redirect_stdout), ("stderr", redirect_stderr)):
            if getattr(sys, name) is None:  # closed by who started us: what is written there goes nowhere
                opened.enter_context(redirected(opened.enter_context(open(os.devnull, "w"))))
        opened.enter_context(_no_ctrl_c_dropped())
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    """Run one command and return its exit code; there is somewhere to write to."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show must not stop us
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = build_parser().parse_args(argv)
        if arguments.check is not None:
            arguments.check(arguments)
        with ctrl_c_after():  # which NumPy, where it is loaded, takes for a broken installation
            import_module("numpy")
        command = arguments.command
        getattr(import_module(f"aegis_opt.cli._{command}"), f"run_{command}")(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        own = argv is None and threading.current_thread() is threading.main_thread()
        if own:  # a process that ends now: the next Ctrl-C has nothing to do
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("aegis-opt: interrupted", file=sys.stderr)
        if own:  # an engine that could not be stopped must not delay its end
            from aegis_opt._files import remove_temporary

            remove_temporary()
            _end_process(_INTERRUPTED)
        return _INTERRUPTED
    except (AegisError, OSError) as error:
        print(f"aegis-opt: error: {without_controls(_explain(error))}", file=sys.stderr)
        return _FAILED
    return 0


@contextmanager
def _no_ctrl_c_dropped() -> Iterator[None]:
    """Let Ctrl-C come again where Python drops it: in finalisers, and where an import is about to end.

    Nothing can be raised there, so Python prints what was raised, and goes on.
    """
    known, waiting = sys.unraisablehook, list[threading.Timer]()

    def press_again(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            known(dropped)
            return
        main = threading.main_thread().ident
        again = threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (main, signal.SIGINT))
        again.daemon = True
        waiting.append(again)
        again.start()

    sys.unraisablehook = press_again
    try:
        yield
    finally:
        sys.unraisablehook = known
        for again in waiting:
            again.cancel()


def _discard_output() -> None:
    """Let what is still buffered go nowhere, at the interpreter's last flush: it cannot be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _end_process(code: int) -> NoReturn:
    """End this process without waiting for other threads; what was printed is printed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads it
            stream.flush()
    os._exit(code)


def _explain(error: AegisError | OSError) -> str:
    if isinstance(error, AegisError) or not error.strerror:
        return str(error)
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    try:
        print(flush=True)  # tells whether the error was about the output: it does not say what it is about
    except OSError as reason:
        _discard_output()
        return (
            f"the standard output cannot be written: {reason.strerror}; free some space, or send it elsewhere"
        )
    return str(error)
