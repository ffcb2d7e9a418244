"""The terminal as Textual sees it, with what Textual's Linux driver lacks.

* Output goes to standard output (Textual writes to standard error), through `OutputThread`.
* The end of input (a closed pty, a dropped line) ends the program; Textual would spin or show a
  traceback.
* Answers to the paint gate's question go to the gate at once, not through the queue of key presses.
* Only clicks, drags and the wheel are asked for: with Textual's "any motion" every twitch of the
  mouse crosses the line.
* Leaving takes no tenth of a second: the input thread is woken through a pipe.
* The terminal can be given back at once, from a signal handler, at any moment between taking it and
  leaving it.

The overridden names are Textual's own and private to it: `textual_private.py` lists them.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import select
import signal
import sys
import termios
import time
from threading import Event, Thread, get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any

from textual import events
from textual.drivers.linux_driver import LinuxDriver

from powertui.terminal.output import OutputThread
from powertui.terminal.textual_private import XTermParser

if TYPE_CHECKING:
    from powertui.terminal.paced import PacedApp

ASK_POSITION = "\x1b[6n"
_READ_SIZE = 4096
# how long leaving waits for an answer that is on its way: it would appear behind the shell's prompt
_ANSWER_S = 0.2

# Everything that was switched on, off. First what ends a sequence that broke off in the middle.
RESTORE = (
    b"\x18\x1b[?2026l\x1b[0m\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?2048l\x1b[?1004l\x1b[?7h"
    b"\x1b[<u\x1b[?1049l\x1b[?25h"
)


class TerminalDriver(LinuxDriver):
    """Input and output of one terminal."""

    def __init__(self, app: PacedApp[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._paced = app
        if sys.__stdout__ is not None:
            self._file = sys.__stdout__
        self._wake_read, self._wake_write = os.pipe()
        self._hung_up = False
        self._output: OutputThread | None = None
        self._unanswered = 0
        self._reports_motion = False
        self.holds_terminal = False  # from before the first byte to after the last
        self._settled = (
            False  # wholly in possession of the terminal: not while taking it or giving it back
        )
        self._away = False  # suspended
        self._wanted_back = self._coming_back = False

    # Textual assigns its own writer here: ours takes its place.
    @property  # type: ignore[override]
    def _writer_thread(self) -> OutputThread | None:
        return self._output

    @_writer_thread.setter
    def _writer_thread(self, thread: object) -> None:
        self._output = None
        if thread is not None:
            assert sys.__stdout__ is not None
            self._output = OutputThread(
                sys.__stdout__.fileno(), self._paced.capabilities.encoding, self._gone
            )

    def start_application_mode(self) -> None:
        """Take over the terminal, now or again after a suspension."""
        self.holds_terminal = True
        self._unanswered = 0
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._watch_window()
        self._paced.terminal_taken()
        self._settled = self._key_thread is not None

    def stop_application_mode(self) -> None:
        """Give the terminal back, for a while or for good."""
        self._settled = False
        super().stop_application_mode()

    def _watch_window(self) -> None:
        """Hear of each change of the window's size beside Textual, which looks at the last alone.

        Textual takes its own handler away, and with it this one, when it leaves.
        """
        told = signal.getsignal(signal.SIGWINCH)
        if not callable(told):
            return  # the terminal could not be taken

        def changed(number: int, frame: FrameType | None) -> None:
            told(number, frame)
            size = self._get_terminal_size()
            self._call(lambda: self._paced.window_changed(size))

        signal.signal(signal.SIGWINCH, changed)

    # ── suspending: signals come between any two steps, also while the terminal is being taken or
    # given back ──────────

    def _sigtstp_application(self, *_: object) -> None:
        if not self._settled:
            return  # a second Ctrl+Z, typed before the terminal was ours again
        self.suspend_application_mode()
        # To this very thread: what follows is done after `fg`. To wait for the handler of SIGCONT
        # would not do: one more Ctrl+Z on the terminal, which is the shell's now, takes that signal
        # back.
        signal.pthread_kill(get_ident(), signal.SIGSTOP)
        self._away = self._must_signal_resume = True
        self._sigcont_application()

    def _sigcont_application(self, *_: object) -> None:
        self._wanted_back = True
        if self._coming_back:
            return  # the call that this one interrupts looks again
        self._coming_back = True
        try:
            if self._settled and not self._away and self._was_taken():
                self.suspend_application_mode()
                self._away = self._must_signal_resume = True
            while self._away and self._wanted_back:
                self._wanted_back = False
                self.resume_application_mode()
                self._away = (
                    self._key_thread is None
                )  # in the background the terminal cannot be taken: `fg` comes later
        finally:
            self._coming_back = False

    def _was_taken(self) -> bool:
        """Whether a shell had the terminal, and gave it back, without asking: SIGSTOP and `fg`, or
        a debugger.

        A shell that takes the terminal has it echo, and hand over whole lines.
        """
        try:
            in_front = os.tcgetpgrp(self.fileno) == os.getpgrp()
            return in_front and bool(
                termios.tcgetattr(self.fileno)[3] & (termios.ICANON | termios.ECHO)
            )
        except (OSError, termios.error):
            return False

    def write(self, data: str) -> None:
        """Queue something for the terminal.

        The shape of a mouse pointer (OSC 22) is not worth bytes: few terminals know it.
        """
        if self._output is not None and not data.startswith("\x1b]22;"):
            self._unanswered += data == ASK_POSITION
            self._output.write(data)

    def close(self) -> None:
        """Let the last bytes go out."""
        if self._output is not None:
            if not self._output.stop() and self._output.seize():
                self._output.last_words(RESTORE)
            self._output = None
        self.holds_terminal = False

    def give_back(self) -> None:
        """Put the terminal in order now, past every queue: for a signal handler, after which the
        process ends.
        """
        if not self.holds_terminal:
            return
        self.holds_terminal = False
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # in the background, too
        if self._output is not None and self._output.seize():
            self._output.last_words(RESTORE)
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error):
                self._await_answers()
                termios.tcflush(self.fileno, termios.TCIFLUSH)
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)

    def _await_answers(self) -> None:
        """The input thread takes them.

        A terminal that answers does it soon, or is too far away to wait for.
        """
        gate = self._paced.gate
        if not gate.acknowledged and gate.frames > 1:
            return  # it never answers
        until = time.monotonic() + _ANSWER_S
        while not self._hung_up and self._unanswered > 0 and time.monotonic() < until:
            time.sleep(0.005)

    # ── mouse ────────────────────────────────────────────────────────────────────────────────────

    def _enable_mouse_support(self) -> None:
        if self._mouse:
            self.write("\x1b[?1000h\x1b[?1002h\x1b[?1006h")

    def _disable_mouse_support(self) -> None:
        self.report_motion(False)
        if self._mouse:
            self.write("\x1b[?1006l\x1b[?1002l\x1b[?1000l")

    def report_motion(self, wanted: bool) -> None:
        """Have each motion of the pointer reported, or only drags: what is under it is named."""
        if not self._mouse or wanted == self._reports_motion:
            return
        self._reports_motion = wanted
        # Some terminals know one mode at a time: drags are asked for again.
        self.write("\x1b[?1003h" if wanted else "\x1b[?1003l\x1b[?1002h")

    # ── input ────────────────────────────────────────────────────────────────────────────────────

    def disable_input(self) -> None:
        """Stop reading keys."""
        thread: Thread | None = self._key_thread
        self._key_thread = None
        if thread is not None:
            self._await_answers()
            self.exit_event.set()
            os.write(self._wake_write, b"x")
            thread.join(1.0)
            # Each thread has an event of its own: one that is late still ends, and what was to wake
            # it does not end the next.
            self.exit_event = Event()
            while select.select([self._wake_read], [], [], 0)[0]:
                os.read(self._wake_read, 64)
        super().disable_input()

    def run_input_thread(self) -> None:
        """Read keys until told to stop; the end of input is a hang-up."""
        parser = XTermParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        leave = self.exit_event
        while not leave.is_set():
            ready, _, _ = select.select([self.fileno, self._wake_read], [], [], 0.1)
            if self._wake_read in ready:
                os.read(self._wake_read, 64)
                break
            if self.fileno in ready:
                try:
                    data = os.read(self.fileno, _READ_SIZE)
                except OSError:
                    data = b""
                if not data:
                    self._gone()
                    break
                for message in parser.feed(decode(data)):
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def process_message(self, message: Any) -> None:
        """Hand an event to the application (called in the input thread)."""
        if isinstance(message, events.CursorPosition):
            self._unanswered -= 1
            self._call(self._paced.frame_acknowledged)
            return
        super().process_message(message)

    def _gone(self) -> None:
        """The terminal is not there any more (called in the input or the output thread)."""
        if not self._hung_up:
            self._hung_up = True
            self._call(self._paced.hang_up)

    def _call(self, function: Any) -> None:
        loop: asyncio.AbstractEventLoop = self._loop
        if not loop.is_closed():
            loop.call_soon_threadsafe(function)
