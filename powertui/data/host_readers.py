"""Who reads the hosts of a run, and the runs of a list: copies of this process, or any
`concurrent.futures.Executor`, such as that of a Dask cluster.

Nothing here imports what reads: most runs have few hosts, and are read without any of this.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from powertui.data.host_parts import HostPart, HostQuestion
from powertui.named_tuples import NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from powertui.data.model import Warn

Q = TypeVar("Q")
R = TypeVar("R")

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

    @property
    def cores(self) -> int:
        """How many questions are answered at once."""
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


class _Failure(NamedTuple):
    """Something that was not answered elsewhere."""

    error: BaseException
    noun: str  # "host" or "run"
    how_many: int


class HostReading:
    """Reads hosts by an executor, or by a process a core. Opened runs share one."""

    def __init__(self, executor: Executor | None = None, cluster: _Cluster | None = None) -> None:
        self._executor = cluster.executor if cluster is not None else executor
        self._cluster = cluster
        self._failures: list[_Failure] = []
        self._lock = threading.Lock()
        self._noun = "host"  # of what was asked about last

    def parts(
        self,
        questions: Sequence[HostQuestion],
        on_wait: Callable[[], None],
    ) -> Iterator[HostPart]:
        """The hosts in order; `on_wait` is called now and then, and may raise."""
        from powertui.data import processes
        from powertui.data.tools.host_reading import read_host

        if self._executor is None:
            largest = max((question.entry.size for question in questions), default=0)
            yield from processes.each(read_host, questions, largest, min_items=_MIN_HOSTS_EACH)
            return
        parts = self._answers(self._executor, read_host, questions, on_wait=on_wait)
        for question, part in zip(questions, parts, strict=True):
            if part.unlike:
                self.failed(OSError(part.unlike), "host")
                part = read_host(question)
            yield part

    @property
    def cores(self) -> int:
        """How many questions are answered at once elsewhere; 0: all are answered here."""
        if self._executor is None:
            return 0
        if self._cluster is not None:
            return self._cluster.cores
        from powertui.cores import usable_cores

        return usable_cores()

    def answers(
        self,
        function: Callable[[Q], R],
        questions: Sequence[Q],
        counts: Sequence[int],
    ) -> Iterator[R]:
        """What is said of several runs, in order; each question is about so many of them."""
        assert self._executor is not None
        yield from self._answers(self._executor, function, questions, counts=counts, noun="run")

    def _answers(
        self,
        executor: Executor,
        function: Callable[[Q], R],
        questions: Sequence[Q],
        *,
        counts: Sequence[int] = (),
        noun: str = "host",
        on_wait: Callable[[], None] = lambda: None,
    ) -> Iterator[R]:
        from powertui.data import processes

        self._noun = noun
        given = 0

        def fail(error: BaseException) -> None:
            self.failed(error, noun, counts[given] if counts else 1)

        watched = _Watched(self._cluster, on_wait)
        answers = processes.answers(
            executor,
            function,
            questions,
            on_wait=watched.wait,
            on_failed=fail,
        )
        try:
            for answer in answers:
                given += 1
                yield answer
        except _NobodyLeftError as error:
            while given < len(questions):
                fail(error)
                on_wait()
                answer = function(questions[given])
                given += 1
                yield answer

    def failed(self, error: BaseException, noun: str, count: int = 1) -> None:
        """So many hosts or runs are read here, because of this."""
        with self._lock:
            self._failures.append(_Failure(error=error, noun=noun, how_many=count))

    def warnings(self) -> tuple[Warn, ...]:
        """What went wrong since somebody asked, and was read all the same."""
        from powertui.data.model import Warn

        with self._lock:
            failures, self._failures = self._failures, []
        name = self._cluster.name if self._cluster is not None else "the executor"
        warnings = []
        for noun in dict.fromkeys(failure.noun for failure in failures):
            of_noun = [failure for failure in failures if failure.noun == noun]
            count = sum(failure.how_many for failure in of_noun)
            were = f"1 {noun} was" if count == 1 else f"{count:,} {noun}s were"
            error = of_noun[0].error
            why = str(error).partition("\n")[0] or type(error).__name__
            warnings.append(
                Warn(
                    file=name,
                    where="",
                    cause=f"{were} read here instead: {why}",
                )
            )
        if self._cluster is not None:
            lost, of_count = self._cluster.lost_workers()
            if lost:
                were = "was" if lost == 1 else "were"
                again = f"their {self._noun}s were read again"
                cause = f"{lost} of {of_count} workers {were} lost; {again}"
                warnings.append(Warn(file=name, where="", cause=cause))
        return tuple(warnings)
