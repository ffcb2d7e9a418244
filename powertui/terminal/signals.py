"""SIGTERM, SIGHUP and SIGINT, from the program's first line to its last.

    at_once()        from the first line: nothing has to be put in order, so the process ends there
                     and then. Python's own answer to ctrl+c is an exception, which breaks out of
                     whatever is being imported with a page of traceback.
    by_exception()   verbs that write files or ask for passwords: `finally` blocks run, the code is
                     the same
    hand_to(…)       the screens, before the terminal is theirs: it is given back first (see
                     screens/shell.py)

The exit code is 128 + the signal's number, as a shell says it. A signal that was ignored when the
program started stays ignored: that is what `nohup` asks for, and a shell for its background jobs.
In the first milliseconds, while Python itself starts, the system's own answer holds: the process
dies of the signal, for which a shell says the same code. (For ctrl+c it is Python's answer, a
traceback.)
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

HANGUP = 129
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_exit_code: int | None = None
PATIENCE_S = 5.0  # leaving in order takes a moment; whatever takes longer is stuck


def at_once() -> None:
    """End without another step, whatever is going on."""
    hand_to(leave)


def leave(code: int) -> None:
    """End the process, and each ssh that it started: one that waits for a silent host would outlive
    it.

    Nothing is imported here: a signal may come in the middle of any import.
    """
    ssh = sys.modules.get("powertui.data.elsewhere.ssh_process")
    end_all = getattr(ssh, "end_all", None)
    if end_all is not None:
        end_all()
    os._exit(code)


def by_exception() -> None:
    """Unwind: KeyboardInterrupt for ctrl+c, SystemExit for the others."""
    hand_to(_unwind)


def broken_off() -> int | None:
    """The exit code that a signal asked for while `by_exception` held; None when there was none.

    Its exception may not arrive: compiled code that imports a module (PyCapsule_Import, as in
    numpy) reports an ImportError of its own instead.
    """
    return _exit_code


def hand_to(leave: Callable[[int], object]) -> None:
    """Call `leave(exit code)` for each signal, in the main thread, between any two steps of it."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _frame: leave(128 + number) and None)


def _unwind(code: int) -> None:
    global _exit_code
    _exit_code = code
    raise KeyboardInterrupt if code == 128 + signal.SIGINT else SystemExit(code)


def no_later_than(seconds: float, leave: Callable[[], object]) -> None:
    """Call `leave()` in so many seconds, unless `in_time` is called before."""
    signal.signal(signal.SIGALRM, lambda _number, _frame: leave() and None)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def in_time() -> None:
    """What had a limit is done."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def let_go() -> None:
    """After a hang-up: what is still buffered for the lost terminal must not become an error (and
    exit code 120) at the end.

    The terminal's own SIGHUP may come later than the end of its input, which was what told us: it
    changes nothing any more.
    """
    import contextlib

    from powertui.errors import PowertuiError

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, PowertuiError):
            stream.flush()
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
