"""Processes beside the screens, which read the hosts of runs of many while a person looks at the
first.

They are made before the first screen: a process with threads cannot be copied. Where none can be
made, hosts are read in a thread, as those of runs are that come to light later.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import active_children
from typing import TYPE_CHECKING

from powertui.cores import usable_cores
from powertui.data import processes
from powertui.data.host_readers import HostReading

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from multiprocessing.process import BaseProcess

# Each holds the host that it reads: more of them take memory that a page may need.
_MAX_WORKERS = 8
# By so much they stand back for the screens: a key is answered before a host is read.
_NICE_STEPS = 10


class _Workers:
    """Processes of our own that read hosts."""

    name = "processes beside the screen"

    def __init__(self, executor: Executor, started: list[BaseProcess]) -> None:
        self.executor = executor
        self._started = started
        self._lost = 0

    @property
    def cores(self) -> int:
        """How many hosts are read at once."""
        return len(self._started)

    def lost_workers(self) -> tuple[int, int]:
        """(how many ended since somebody asked last, how many there were)."""
        before, self._lost = self._lost, sum(not worker.is_alive() for worker in self._started)
        return self._lost - before, len(self._started) - before

    def has_workers(self) -> bool:
        """Whether they all live. Of an executor that has lost one no answer is certain to come."""
        return all(worker.is_alive() for worker in self._started)


@contextmanager
def reading_beside_screens() -> Iterator[HostReading]:
    """Who reads hosts while there are screens. At the end they are gone, whatever they read."""
    before = active_children()
    workers = _made()
    reading = HostReading(cluster=workers) if workers is not None else HostReading()
    try:
        yield reading
    finally:
        _end([child for child in active_children() if child not in before])


def _made() -> _Workers | None:
    """New processes; None where none can be made."""
    if threading.active_count() > 1:
        return None
    before = active_children()
    count = min(usable_cores(), _MAX_WORKERS)
    pool = processes.allowed_pool(count, prepare=_leave_screens)
    if pool is None:
        return None
    return _Workers(pool, [child for child in active_children() if child not in before])


def _end(workers: list[BaseProcess]) -> None:
    """End processes at once. The executor is left alone: one that was writing an answer may be
    waited for without an end.
    """
    for worker in workers:
        worker.kill()


def _leave_screens() -> None:
    """In a new process: the terminal and its signals are the parent's alone."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # one that was closed, or is no file
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    with suppress(OSError):
        os.nice(_NICE_STEPS)
