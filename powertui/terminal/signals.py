"""Leaving in order when told to: SIGTERM, SIGHUP and SIGINT end the program with the terminal restored.

Textual installs no handlers: a plain `kill` would leave the terminal in its alternate screen, with the mouse reporting into
the shell.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}


def install(loop: asyncio.AbstractEventLoop, leave: Callable[[int], None]) -> Callable[[], None]:
    """Call `leave(exit code)` for each signal. Returns the way back to the defaults."""
    for number, code in CODES.items():
        loop.add_signal_handler(number, leave, code)

    def remove() -> None:
        for number in CODES:
            loop.remove_signal_handler(number)

    return remove
