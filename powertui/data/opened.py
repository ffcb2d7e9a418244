"""A run as opened: what was read of it, and everything that was worked out from it so far.

Screens, report, API and export ask an `Opened`; none of them reads or computes for itself, so that
one question has one answer and is answered once. `Opened` itself knows no answers: whoever works
one out keeps it here with `cached`, under a key of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Protocol, TypeVar, cast

from powertui.data import loading
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.logdir import RunEntry
from powertui.data.model import Clock, Epochs, Process, Run, Stat, Steps, Trace, Warn
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of one host of an opened run."""

    opened: Opened
    index: int

    @property
    def trace(self) -> Trace:
        """Its events."""
        return self.opened.run.traces[self.index]

    @property
    def steps(self) -> Steps:
        """Its steps."""
        return self.opened.run.steps[self.index]

    @property
    def epochs(self) -> Epochs:
        """Its epochs and phases."""
        return self.opened.run.epochs[self.index]

    @property
    def host(self) -> str:
        """The host, by the name of its file."""
        return self.trace.host

    @property
    def clock(self) -> Clock:
        """Where its zero lies in Unix time."""
        return self.trace.clock

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """As `Opened.cached`, for this host."""
        prepared = self.trace.prepared(key)
        if prepared is not None:
            return cast(T, prepared)
        return self.opened.cached((self.index, key), make)

    def metadata(self, process: Process) -> Iterator[tuple[str, tuple[Stat, ...]]]:
        """(name, stats) of everything that one plane's table of names describes: HLO protos of
        `/host:metadata`, say.
        """
        names = self.trace.names
        for index in getattr(process.source, "names", ()):
            yield names.full(index), names.stats(index)


class EnclosingTraining(Protocol):
    """The training that a run is a session of, as far as those below it ask.

    It knows its runs; they know only this of it.
    """

    @property
    def beside(self) -> loading.Beside:
        """Its scalars and power, read once for all of its sessions."""
        ...

    def around_ns(self, profile: Profile) -> tuple[int, int] | None:
        """When it ran (Unix ns), for what has to meet it; None where the profile's own clock puts
        it elsewhere.
        """
        ...

    def placed(self, profile: Profile, found: Any, aligning: Aligning) -> Any:
        """Power on one of its profiles, where the whole training places it surer than the profile
        alone.
        """
        ...

    def by_wall(self, profile: Profile, account: Any, aligning: Aligning) -> Any:
        """The account of one of its profiles as wall time alone knows power and epochs; None where
        it does not.
        """
        ...

    def looks_around(self, profile: Profile, aligning: Aligning) -> bool:
        """Whether it looks itself at the power around one of its profiles."""
        ...

    def findings(self, profile: Profile, found: Any, aligning: Aligning) -> Any:
        """What stands out in one of its profiles, with what stands out around it."""
        ...


class Opened:
    """One run.

    Reading it happens at the first question that needs it, or elsewhere: then it is handed over
    with `adopt`.
    """

    def __init__(
        self,
        entry: RunEntry,
        options: ReadOptions | None = None,
        run: Run | None = None,
        *,
        around: EnclosingTraining | None = None,
        beside: loading.Beside | None = None,
    ) -> None:
        self.entry = entry
        self.around = around  # the training that it is a session of, when somebody opened that
        self._beside = beside  # what others have read of its scalars and power
        self.options = options or ReadOptions()
        self._run = run
        self.complete = run is not None  # False while it is still being read
        self._lock = threading.RLock()
        self._answers: dict[Hashable, Any] = {}
        self._making: dict[Hashable, threading.Lock] = {}
        self._listen()

    @property
    def name(self) -> str:
        """The run's name, as TensorBoard shows it."""
        return self.entry.name

    @property
    def path(self) -> str:
        """The run's folder or file."""
        return self.entry.path

    @property
    def why_no_power(self) -> str:
        """Why it has no power: nothing was found, or what was is no log; "" where it has some."""
        if self.run.power:
            return ""
        unread = self.entry.unread_power(self.run.warnings)
        if unread is not None:
            return f"No power log beside this run was taken. {unread}"
        return "No power log was found with this run. Name one: --power FILE."

    @property
    def run(self) -> Run:
        """What was read. Reads it now when nobody has."""
        with self._lock:
            if self._run is None:
                beside = self.around.beside if self.around is not None else self._beside
                self._run = loading.load_run(self.entry, options=self.options, beside=beside)
                self.complete = True
                self._listen()
            return self._run

    def run_or_problem(self) -> tuple[Run | None, str]:
        """The run, or why nothing of it could be read.

        A power log that was named and cannot be read is an error all the same.
        """
        entry = self.entry
        if not (entry.profiles or entry.tfevents or entry.power or self.options.power):
            return None, ""
        try:
            return self.run, ""
        except UnreadableFile as error:
            if error.path in self.options.power:
                raise
            return None, str(Warn(file=error.path, where="", cause=error.cause))

    @property
    def is_read(self) -> bool:
        """Whether there is something to ask without reading first."""
        return self._run is not None

    def adopt(self, run: Run, *, complete: bool = True) -> None:
        """The run as somebody else read it, perhaps only a part so far.

        What was worked out from the part before is let go.
        """
        with self._lock:
            self._run = run
            self.complete = complete
            self._answers.clear()
            self._listen()

    def _listen(self) -> None:
        """Hear of hosts whose events are let go of: what was worked out of them goes with them."""
        if self._run is not None and self._run.traces:
            self._run.traces[0].on_dropped(self._let_go_of_host)

    def _let_go_of_host(self, index: int) -> None:
        self.forget(index)

    def keep(self, key: Hashable, made: object) -> None:
        """What somebody else worked out: `cached` will answer with it."""
        with self._lock:
            self._answers[key] = made

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One per host."""
        return tuple(Profile(self, index) for index in range(len(self.run.traces)))

    @property
    def warnings(self) -> tuple[Warn, ...]:
        """Everything that could not be read or believed, in the run and in its traces and power
        logs.
        """
        run = self.run
        return (
            *run.warnings,
            *(w for t in run.traces for w in t.warnings),
            *(w for s in run.power for w in s.warnings),
        )

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under this key; made now when nobody asked before.

        Two threads that ask at once make it once.
        """
        with self._lock:
            if key in self._answers:
                return cast(T, self._answers[key])
            run = self._run
            gate = self._making.setdefault(key, threading.Lock())
        with gate:
            with self._lock:
                if key in self._answers:
                    return cast(T, self._answers[key])
            made = make()
            with self._lock:
                if run is None or run is self._run:  # else it was made from a part that is gone
                    self._answers[key] = made
                self._making.pop(key, None)
            return made

    def known(self, key: Hashable) -> Any:
        """What is kept under this key; None when nobody has worked it out."""
        with self._lock:
            return self._answers.get(key)

    def forget(self, *prefix: Hashable, but: Hashable = None) -> None:
        """Let go of everything whose key begins like this, but for one."""
        with self._lock:
            for key in [
                k
                for k in self._answers
                if isinstance(k, tuple) and k[: len(prefix)] == prefix and k != but
            ]:
                del self._answers[key]
