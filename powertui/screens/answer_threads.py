"""The threads beside the screen. The end of the program waits for what is being written, and not
for answers that nobody will see.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_changed = threading.Condition()
_writing_count = 0


def writing(work: Callable[[], None]) -> Callable[[], None]:
    """Work that writes a file: once it has begun, the program does not end before it is done."""

    def run() -> None:
        global _writing_count
        with _changed:
            _writing_count += 1
        try:
            work()
        finally:
            with _changed:
                _writing_count -= 1
                _changed.notify_all()

    return run


class AnswerThreads(ThreadPoolExecutor):
    """The default executor of the event loop, which waits for all of its threads at the end."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of all but what is being written. The process ends without joining the threads
        (see `__main__.run`).
        """
        with _changed:
            _changed.wait_for(lambda: not _writing_count)
        super().shutdown(wait=False, cancel_futures=True)
