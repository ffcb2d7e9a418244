"""Leaving in order when told to: SIGTERM, SIGHUP and SIGINT end the program with the terminal restored.

Textual installs no handlers: a plain `kill` would leave the terminal in its alternate screen, with the mouse reporting into
the shell.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable

HANGUP = 129
CODES = {signal.SIGTERM: 143, signal.SIGHUP: HANGUP, signal.SIGINT: 130}


def install(loop: asyncio.AbstractEventLoop, leave: Callable[[int], None]) -> Callable[[], None]:
    """Call `leave(exit code)` for each signal. Returns the way back to the defaults."""
    for number, code in CODES.items():
        loop.add_signal_handler(number, leave, code)

    def remove() -> None:
        for number in CODES:
            loop.remove_signal_handler(number)

    return remove


def let_go() -> None:
    """After a hang-up: what is still buffered for the lost terminal must not become an error (and exit code 120) at the end.

    The terminal's own SIGHUP may come later than the end of its input, which was what told us: it changes nothing any more.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
