"""A process with a terminal of its own, without forking this one: it has threads, and newer Pythons
object to that.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Makes standard input the controlling terminal of its new session, then becomes the command.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


class PtyProcess:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self._fd, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**environment, "TERM": "dumb"},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(terminal)
        self.text = ""  # what was printed since the last wait()

    def send(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def read(self, seconds: float) -> bool:
        """Take what is there. False when the terminal is closed."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        try:
            data = os.read(self._fd, 65536) if ready else None
        except OSError:
            return False
        if data:
            self.text += data.decode(errors="replace")
        return data != b""

    def wait(self, expected: str, seconds: float = 120.0) -> str:
        """Everything up to and with `expected`."""
        end = time.monotonic() + seconds
        while expected not in self.text:
            if time.monotonic() > end or not self.read(0.2):
                raise TimeoutError(f"{expected!r} not in {self.text!r}")
        seen, found, self.text = self.text.partition(expected)
        return seen + found

    def echoes(self) -> bool:
        """Whether what is typed appears."""
        return bool(termios.tcgetattr(self._fd)[3] & termios.ECHO)

    def close(self) -> int:
        """Drop the link, as a lost connection does, and return the exit code."""
        os.close(self._fd)
        return self.process.wait(120)
