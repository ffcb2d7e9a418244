"""Who reads the hosts of a run: copies of this process, or any `concurrent.futures.Executor`, such
as that of a Dask cluster.

Nothing here imports what reads: most runs have few hosts, and are read without any of this.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from powertui.data.host_parts import HostPart, HostQuestion

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from powertui.data.model import Warn

# Hosts for each process: fewer are read sooner than a process is made. A host of 50,000 events
# takes 0.05 s, a process 0.02 s.
_MIN_HOSTS_EACH = 4
# How often a cluster that is waited for is asked whether it has workers. Chosen: the question takes
# its scheduler a millisecond.
_LOOK_EVERY_S = 1.0


class _Cluster(Protocol):
    """Machines that answer instead of this one."""

    @property
    def name(self) -> str:
        """Its address, for a person."""
        ...

    @property
    def executor(self) -> Executor:
        """Whom to ask."""
        ...

    def lost_workers(self) -> tuple[int, int]:
        """(how many workers were lost since it was opened or asked last, how many there were)."""
        ...

    def has_workers(self) -> bool:
        """Whether there is anybody who can answer."""
        ...


class _NobodyLeftError(Exception):
    """All workers of a cluster are gone, which would be waited for without an end."""


class _Watched:
    """Waiting for a cluster that may lose all of its workers."""

    def __init__(self, cluster: _Cluster | None, on_wait: Callable[[], None]) -> None:
        self._cluster = cluster
        self._on_wait = on_wait
        self._looked = time.monotonic()

    def wait(self) -> None:
        """Called now and then; raises where nobody is left to wait for."""
        self._on_wait()
        now = time.monotonic()
        if self._cluster is None or now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        if not self._cluster.has_workers():
            raise _NobodyLeftError("no worker is left")


class HostReading:
    """Reads hosts by an executor, or by a process a core. Opened runs share one."""

    def __init__(self, executor: Executor | None = None, cluster: _Cluster | None = None) -> None:
        self._executor = cluster.executor if cluster is not None else executor
        self._cluster = cluster
        self._failures: list[BaseException] = []
        self._lock = threading.Lock()

    def parts(
        self, questions: Sequence[HostQuestion], on_wait: Callable[[], None]
    ) -> Iterator[HostPart]:
        """The hosts in order; `on_wait` is called now and then, and may raise."""
        from powertui.data import processes
        from powertui.data.tools.host_reading import read_host

        if self._executor is None:
            largest = max((question.entry.size for question in questions), default=0)
            yield from processes.each(read_host, questions, largest, min_items=_MIN_HOSTS_EACH)
            return
        watched = _Watched(self._cluster, on_wait)
        answers = processes.answers(
            self._executor, read_host, questions, on_wait=watched.wait, on_failed=self._failed
        )
        given = 0
        try:
            for question, part in zip(questions, answers, strict=True):
                if part.unlike:
                    self._failed(OSError(part.unlike))
                    part = read_host(question)
                given += 1
                yield part
        except _NobodyLeftError as error:
            for question in questions[given:]:
                self._failed(error)
                on_wait()
                yield read_host(question)

    def _failed(self, error: BaseException) -> None:
        with self._lock:
            self._failures.append(error)

    def warnings(self) -> tuple[Warn, ...]:
        """What went wrong since somebody asked, and was read all the same."""
        from powertui.data.model import Warn

        with self._lock:
            failures, self._failures = self._failures, []
        name = self._cluster.name if self._cluster is not None else "the executor"
        warnings = []
        if failures:
            count = len(failures)
            hosts = "1 host was" if count == 1 else f"{count:,} hosts were"
            why = str(failures[0]).partition("\n")[0] or type(failures[0]).__name__
            warnings.append(Warn(name, "", f"{hosts} read here instead: {why}"))
        if self._cluster is not None:
            lost, of_count = self._cluster.lost_workers()
            if lost:
                were = "was" if lost == 1 else "were"
                cause = f"{lost} of {of_count} workers {were} lost; their hosts were read again"
                warnings.append(Warn(name, "", cause))
        return tuple(warnings)
