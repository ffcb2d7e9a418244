"""One line on standard error while something comes from another machine: drawn over on a terminal,
one now and then in a file.
"""

from __future__ import annotations

import contextlib
import os
import sys
import termios
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.data.elsewhere import TransferProgress

_FIRST_S = 1.0  # what takes no longer needs no word
_EVERY_S = 0.25  # a person reads no faster
# Where it is no terminal, each report stays as a line of its own.
_FIRST_IN_FILE_S = 10.0
_EVERY_IN_FILE_S = 30.0
_LOGIN_S = 5.0  # before that ssh's own question, if it has one, stands alone
_ERASE = "\r\x1b[K"


class _TransferLine:
    """The line, for as long as one verb runs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn_over = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._began = self._next = 0.0
        self._login_mentioned = False
        self._stands = False

    def show(self, progress: TransferProgress | None) -> None:
        """How far it has come; None when it is over."""
        now = time.monotonic()
        if progress is None:
            self.erase()
            return
        if not self._began:
            self._began = now
            self._next = now + (_FIRST_S if self._drawn_over else _FIRST_IN_FILE_S)
        if self._drawn_over and progress.phase == "login":
            self._mention_login(progress)
        elif now >= self._next:
            self._next = now + (_EVERY_S if self._drawn_over else _EVERY_IN_FILE_S)
            self._draw(f"powertui: {plain(str(progress))} (Ctrl+C stops)")

    def _draw(self, text: str) -> None:
        if self._drawn_over:
            width = 80
            with contextlib.suppress(OSError):
                width = os.get_terminal_size(self._stream.fileno()).columns
            self._stands = True
            self._write(f"{_ERASE}{text[: width - 1]}")
        else:
            self._write(f"{text}\n")

    def _mention_login(self, progress: TransferProgress) -> None:
        """Once, on a line of its own: ssh may have asked for something on the line where the cursor
        stands.
        """
        if self._login_mentioned or progress.quiet_s < _LOGIN_S or not _echoes():
            return
        self._login_mentioned = True
        self._write(f"\npowertui: {plain(str(progress))} (Ctrl+C stops)\n")

    def erase(self) -> None:
        """Take it away."""
        if self._stands:
            self._stands = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        with contextlib.suppress(
            OSError, ValueError
        ):  # nobody listens: the answer does not depend on it
            self._stream.write(text)
            self._stream.flush()


def _echoes() -> bool:
    """Whether the terminal shows what is typed: while ssh asks for a password it does not."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return True
    try:
        return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
    except termios.error:
        return True
    finally:
        os.close(terminal)


@contextlib.contextmanager
def transfers_shown() -> Iterator[None]:
    """While this goes on, transfers in this thread are shown on standard error."""
    from powertui.data.elsewhere import progress

    if sys.stderr is None:
        yield
        return
    line = _TransferLine(sys.stderr)
    try:
        with progress.listening(line.show):
            yield
    finally:
        line.erase()
