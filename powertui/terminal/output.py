"""Writing to the terminal from a thread of its own, so that a stalled line never stalls the program.

Textual's own writer blocks the program once thirty writes are queued, and dies with a traceback when the terminal is gone. Here the
queue has no limit (the paint gate keeps it to one frame), a terminal that is gone is reported once and then written to no more, and
stopping waits only so long for a line that does not move.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

STOP_S = 1.0  # how long leaving waits for the last bytes to go out


class OutputThread(threading.Thread):
    """Has the interface of Textual's WriterThread: write, start, stop."""

    def __init__(self, fileno: int, encoding: str, on_gone: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="powertui-output")
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._fileno = fileno
        self._encoding = encoding
        self._on_gone = on_gone
        self._gone = False
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
                count = os.write(self._fileno, view)
                self.written += count
                view = view[count:]
        except OSError:
            self._gone = True
            self._on_gone()

    def stop(self) -> None:
        """Let the queue run empty, but do not wait for a terminal that does not read."""
        self._queue.put(None)
        self.join(STOP_S)
