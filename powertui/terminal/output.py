"""Writing to the terminal from a thread of its own, so that a stalled line never stalls the
program.

Textual's own writer blocks the program once thirty writes are queued, and dies with a traceback
when the terminal is gone. Here the queue has no limit (the paint gate keeps it to one frame), a
terminal that is gone is reported once and then written to no more, and stopping waits only so long
for a line that does not move.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import threading
from collections.abc import Callable
from queue import SimpleQueue

_STOP_S = 1.0  # how long leaving waits for the last bytes to go out


class OutputThread(threading.Thread):
    """Has the interface of Textual's WriterThread: write, start, stop."""

    def __init__(self, fileno: int, encoding: str, on_gone: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="powertui-output")
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._fileno = fileno
        self._encoding = encoding
        self._on_gone = on_gone
        self._gone = False
        self._writing = threading.Lock()  # one write at a time, and none after `seize`
        self.written = 0

    def write(self, text: str) -> None:
        """Queue a text. Never blocks."""
        self._queue.put(text)

    def run(self) -> None:
        """Write what is queued until `stop`."""
        while True:
            text = self._queue.get()
            if text is None:
                return
            # What is queued by now leaves in one write: fewer packets on the line.
            parts = [text]
            stop = False
            while not self._queue.empty():
                more = self._queue.get()
                if more is None:
                    stop = True
                    break
                parts.append(more)
            if not self._gone:
                self._send("".join(parts).encode(self._encoding, "replace"))
            if stop:
                return

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                with self._writing:
                    if self._gone:
                        return
                    count = os.write(self._fileno, view)
                    self.written += count
                view = view[count:]
        except OSError:
            self._gone = True
            self._on_gone()

    def stop(self) -> bool:
        """Let the queue run empty, but do not wait for a terminal that does not read.

        Whether everything has left.
        """
        self._queue.put(None)
        self.join(_STOP_S)
        return not self.is_alive()

    def seize(self) -> bool:
        """Write nothing more, whatever is queued. Whether anything was written until now. Safe in a
        signal handler.

        A terminal that does not read holds up the write that is going on: what it has not taken by
        then is thrown away.
        """
        if not self._writing.acquire(timeout=_STOP_S):
            self._gone = True
            self._make_room()
            signal.signal(signal.SIGURG, lambda *_: None)
            if self.ident is not None:
                signal.pthread_kill(
                    self.ident, signal.SIGURG
                )  # the kernel wakes a write for a signal, not for the room
            if not self._writing.acquire(timeout=_STOP_S):
                return False  # it hangs in the kernel: nothing of ours would get through either
        self._gone = True
        self._writing.release()
        return self.written > 0

    def last_words(self, data: bytes) -> None:
        """After `seize`: a few bytes, past the queue."""
        with contextlib.suppress(OSError, ValueError):
            if not select.select([], [self._fileno], [], _STOP_S)[1]:
                self._make_room()
            os.write(self._fileno, data)

    def _make_room(self) -> None:
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fileno, termios.TCOFLUSH)
