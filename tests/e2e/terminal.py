"""A terminal in memory around a real process: pyte behind a pty, with the answers that a terminal
gives.

    with Terminal(["python", "-m", "powertui", path], size=(120, 30)) as terminal:
        terminal.wait_for("Timeline")
        terminal.press("d", "D", "Enter")
        terminal.settle()
        print(terminal.text())

Bytes are counted, modes that the program switched on are remembered, and cursor queries are
answered, at once or after a delay.

Nothing here depends on how fast the machine is. `settle` waits until the program has nothing left
to do, which the kernel knows. It does not wait for silence alone: on a busy machine a program is
silent because it waits for the processor. Limits are there to end a test that hangs.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte

from tests.emulated_screen import EmulatedScreen

from .processes import Watch

LIMIT_S = 120.0  # for whatever surely comes
# the program tells a lone escape from the beginning of a sequence by time: 0.1 s, looked at every
# 0.1 s
ESCAPE_S = 0.25

KEYS = {
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    "Home": "\x1b[H",
    "End": "\x1b[F",
    "PgUp": "\x1b[5~",
    "PgDn": "\x1b[6~",
    "Enter": "\r",
    "Tab": "\t",
    "S-Tab": "\x1b[Z",
    "Esc": "\x1b",
    "Space": " ",
    "Backspace": "\x7f",
    "F1": "\x1bOP",
    "S-Left": "\x1b[1;2D",
    "S-Right": "\x1b[1;2C",
}

MODES = {
    1000: "mouse",
    1002: "mouse drag",
    1003: "mouse motion",
    1004: "focus",
    1006: "mouse sgr",
    1015: "mouse urxvt",
    1049: "alternate screen",
    2004: "bracketed paste",
    2026: "synchronized",
    2048: "in-band resize",
}

_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
# Unfinished at the end of a read: kept for the next.
_PARTIAL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*)?$|\x1b[\]P_^][^\x07\x1b]*\x1b?$")
# Sequences that pyte would misread: private queries and keyboard modes, device control strings.
_PRIVATE = re.compile(
    rb"\x1b\[[<>=][0-?]*[ -/]*[@-~]|\x1b\[\?[0-?]*[ "
    rb"-/]+[@-~]|\x1b\[\?[0-?]*[mu]|\x1b[P_^][^\x1b]*\x1b\\"
)
_OSC52 = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")


def encode(key: str) -> bytes:
    """The bytes of a key: "q", "Down", "C-c"."""
    if key in KEYS:
        return KEYS[key].encode()
    if key.startswith("C-") and len(key) == 3:
        return bytes([ord(key[2].upper()) & 0x1F])
    return key.encode()


def environment(
    term: str = "xterm-256color", extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A clean environment: nothing of the machine that runs the tests shines through."""
    env = {
        key: os.environ[key]
        for key in ("PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR", "COVERAGE_PROCESS_START")
        if key in os.environ
    }
    env.update(
        TERM=term,
        LANG="C.UTF-8",
        XDG_CONFIG_HOME="/nonexistent",
        PYTHONWARNINGS="error::ResourceWarning",
    )
    env.update(extra or {})
    return env


def modes_in(output: bytes) -> dict[int, bool]:
    """The private modes that this output switches, each as it was switched last."""
    modes: dict[int, bool] = {}
    for match in _MODE.finditer(output):
        for number in match[1].split(b";"):
            modes[int(number)] = match[2] == b"h"
    return modes


class Terminal:
    """One process in one terminal."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        answers: bool = True,
        encoding: str = "utf-8",
        beside: Sequence[int] = (),
    ) -> None:
        """`beside`: processes that have a part in what is shown here and are no children of the
        program, like an sshd.
        """
        self.screen = EmulatedScreen(*size)
        self._stream = pyte.ByteStream(self.screen)
        if encoding != "utf-8":
            self._stream.use_utf8 = False
        self._answers = answers
        self.questions = 0  # for the cursor's position: one for each frame
        self._unanswered = 0
        self._held = b""
        self.raw = bytearray()
        self.modes: dict[int, bool] = {}
        self.cursor_shown = True
        self.clipboard: list[bytes] = []
        self.eof = False
        self.status: int | None = None
        self.last_byte = self.first_byte = 0.0
        self.started = time.monotonic()
        self._beside = tuple(beside)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:  # pragma: no cover
            try:
                for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
                    signal.signal(
                        number, signal.SIG_DFL
                    )  # whoever started us in the background made us ignore some
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
                if cwd is not None:
                    os.chdir(cwd)
                os.execvpe(
                    command[0], list(command), dict(env if env is not None else environment())
                )
            finally:
                os._exit(127)
        self._settings = termios.tcgetattr(self.fd)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    @property
    def total(self) -> int:
        """Bytes that the program has written."""
        return len(self.raw)

    def read(self, timeout: float) -> int:
        """Take what is there within `timeout` seconds: how many bytes, -1 at the end."""
        ready, _, _ = select.select([self.fd], [], [], max(0.0, timeout))
        if not ready:
            return 0
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            self.eof = True
            return -1
        self.last_byte = time.monotonic()
        self.first_byte = self.first_byte or self.last_byte
        self.feed(data)
        return len(data)

    def feed(self, data: bytes) -> None:
        """What a terminal does with output: draw, remember modes, answer questions."""
        self.raw += data
        data = self._held + data
        partial = _PARTIAL.search(data)
        self._held = b""
        if partial:
            self._held, data = data[partial.start() :], data[: partial.start()]
        switched = modes_in(data)
        self.modes.update(switched)
        self.cursor_shown = switched.get(25, self.cursor_shown)
        self.clipboard += [match[1] for match in _OSC52.finditer(data)]
        self._stream.feed(_PRIVATE.sub(b"", data))
        asked = data.count(b"\x1b[6n")
        self.questions += asked
        self._unanswered += asked
        while self._answers and self._unanswered:
            self._answer()

    def write(self, data: bytes) -> None:
        """What the person (or the terminal) sends."""
        try:
            os.write(self.fd, data)
        except OSError:
            self.eof = True

    def hold_answers(self) -> None:
        """Answer no question from now on, like a terminal behind a slow line."""
        self._answers = False

    def give_answers(self) -> None:
        """Answer again: first the questions that were left."""
        self._answers = True
        while self._unanswered:
            self._answer()

    def _answer(self) -> None:
        self._unanswered -= 1
        self.write(
            b"\x1b[%d;%dR"
            % (self.screen.cursor.y + 1, min(self.screen.cursor.x, self.screen.columns - 1) + 1)
        )

    def press(self, *keys: str) -> None:
        """Press keys one after another, reading what is there between them."""
        for key in keys:
            self.write(encode(key))
            if key == "Esc":
                self.settle(ESCAPE_S, limit=2.0)
            else:
                self.read(0.005)

    def click(self, x: int, y: int, button: int = 0, release: bool = True) -> None:
        """A mouse button at a cell (from 0)."""
        self.write(b"\x1b[<%d;%d;%dM" % (button, x + 1, y + 1))
        if release:
            self.write(b"\x1b[<%d;%d;%dm" % (button, x + 1, y + 1))

    def drag(self, start: tuple[int, int], stop: tuple[int, int]) -> None:
        """Press, move, release."""
        self.click(*start, release=False)
        for step in range(1, 5):
            x = start[0] + (stop[0] - start[0]) * step // 4
            y = start[1] + (stop[1] - start[1]) * step // 4
            self.write(b"\x1b[<32;%d;%dM" % (x + 1, y + 1))
            self.read(0.02)
        self.write(b"\x1b[<0;%d;%dm" % (stop[0] + 1, stop[1] + 1))

    def run(self, seconds: float) -> int:
        """Read for so long: how many bytes came."""
        before, end = self.total, time.monotonic() + seconds
        while not self.eof and time.monotonic() < end:
            self.read(min(0.02, end - time.monotonic()))
        return self.total - before

    def settle(self, quiet: float = 0.3, limit: float = LIMIT_S) -> int:
        """Read until the program has had nothing to do, and nothing to say, for `quiet` seconds:
        how many bytes came.
        """
        before, start = self.total, time.monotonic()
        watch = Watch((self.pid, *self._beside))
        idle_since = start
        while not self.eof and time.monotonic() - start < limit:
            if self.read(0.02) > 0 or watch.busy():
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since >= quiet:
                break
        return self.total - before

    def wait_for(self, pattern: str | Callable[[str], bool], limit: float = LIMIT_S) -> None:
        """Read until the screen shows a text (regular expression), or what a function wants
        to see.
        """
        test = pattern if callable(pattern) else re.compile(pattern).search
        self.wait_until(lambda: bool(test(self.text())), repr(pattern), limit)

    def wait_until(self, true: Callable[[], bool], what: str, limit: float = LIMIT_S) -> None:
        """Read until something has come true; `what` says in words what it is."""
        end = time.monotonic() + limit
        while not true():
            if self.eof or time.monotonic() > end:
                reason = "the program has ended" if self.eof else f"not seen within {limit:.0f} s"
                raise AssertionError(f"{what}: {reason}. The screen:\n{self.text()}")
            self.read(0.05)

    def wait_exit(self, limit: float = LIMIT_S) -> int:
        """Read until the program has ended: its exit code, or minus the signal that ended it."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if not self.eof:
                self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while not self.eof and self.read(0.05) > 0:
                    pass
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            if self.eof:
                time.sleep(0.01)
        raise AssertionError(f"still running after {limit:.0f} s. The screen:\n{self.text()}")

    # ── looking ──────────────────────────────────────────────────────────────────────────────────

    def text(self) -> str:
        """The screen as text."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def left_on(self) -> list[str]:
        """Modes that are switched on, by name; a hidden cursor too."""
        return [name for number, name in MODES.items() if self.modes.get(number)] + (
            [] if self.cursor_shown else ["cursor hidden"]
        )

    def as_before(self) -> bool:
        """Whether the line discipline (echo, signals, line by line) is what it was when the program
        started.
        """
        return termios.tcgetattr(self.fd) == self._settings

    # ── the outside ──────────────────────────────────────────────────────────────────────────────

    def resize(self, columns: int, rows: int) -> None:
        """Another window size; the kernel tells the program."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: int) -> None:
        """A signal to the program."""
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Close the terminal under the program."""
        os.close(self.fd)
        self.fd = -1
        self.eof = True

    def close(self) -> None:
        """End the program if it still runs, and clean up."""
        if self.status is None:
            try:
                pid, _ = os.waitpid(self.pid, os.WNOHANG)
                if not pid:
                    os.kill(self.pid, signal.SIGKILL)
                    os.waitpid(self.pid, 0)
            except ChildProcessError:
                pass
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
