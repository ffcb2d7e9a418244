"""Reading one run: all its hosts, its scalars, its power; what went wrong is counted and hides
nothing else.

`load_run` gives the whole run. `stream_run` gives it as it grows, so that the first part can be
looked at while the rest is still being read. Both stop at once when `progress` raises `Cancelled`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, cast

from powertui.data import elsewhere
from powertui.data.asked import LogColumns, ReadOptions
from powertui.data.formats import registry, tfevents
from powertui.data.formats.registry import Progress, silent
from powertui.data.formats.tfevents import EventLog
from powertui.data.limits import MemoryLimit
from powertui.data.logdir import ProfileFile, RunEntry
from powertui.data.model import Clock, Epochs, PowerSeries, Run, Steps, Trace, Warn
from powertui.data.run import clocks, epochs
from powertui.data.run.steps import find_steps_and_others as find_steps
from powertui.data.run.steps import no_steps as no_steps
from powertui.errors import FileChanged, UnreadableFile
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.power.options import PowerLog
    from powertui.power_server import FetchedPower, PowerQuestion, PowerServer

LOADING = "still loading"


# From this size on freed memory is kept for the next columns. Chosen, not measured.
_LARGE_PROFILE_BYTES = 32 << 20
_NO_POWER_UNITS = ("", "bytes")  # of counters, which nearly all have: no need to look closer


class Beside:
    """What lies beside several runs of one training: its scalars and power logs, each file read
    once for all of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By kind, path, and how it is to be read.
        self._outcomes: dict[tuple[str, str, LogColumns | None], object] = {}
        self._answers: dict[str, tuple[PowerQuestion, FetchedPower]] = {}  # by the server's address
        self._logs: dict[str, PowerLog] = {}  # the same, read

    def tfevents(self, path: str, group: str, limit: MemoryLimit) -> EventLog:
        """A tfevents file. Raises `UnreadableFile` every time when it cannot be read."""
        return cast(
            "EventLog",
            self._once(("tfevents", path, None), lambda: tfevents.read(path, group, limit)),
        )

    def power(self, path: str, options: LogColumns) -> PowerLog:
        """A power log. The same."""
        # All dialects of logs: only for those who have one.
        from powertui.data.power import registry as power

        return cast(
            "PowerLog", self._once(("power", path, options), lambda: power.load(path, options))
        )

    def fetched(
        self,
        url: str,
        server: PowerServer,
        question: PowerQuestion,
        options: LogColumns,
    ) -> PowerLog:
        """What a server has of a time. It is asked again only for what it was not asked for yet."""
        from powertui.data.power import fetched

        with self._lock:
            known = self._answers.get(url)
            if known is not None:
                asked, answer = known
                has_hosts = not asked.hosts or question.hosts <= asked.hosts
                if has_hosts and answer.covers(question):
                    return self._logs[url]
                question = question.joined(asked)
            answer = fetched.fetch(server, url, question)
            self._answers[url] = question, answer
            self._logs[url] = fetched.load(url, answer, options)
            return self._logs[url]

    def _once(self, key: tuple[str, str, LogColumns | None], read: Callable[[], object]) -> object:
        with self._lock:
            if key not in self._outcomes:
                try:
                    self._outcomes[key] = read()
                except UnreadableFile as error:
                    self._outcomes[key] = error
            outcome = self._outcomes[key]
        if isinstance(outcome, UnreadableFile):
            raise outcome
        return outcome


def load_run(
    entry: RunEntry,
    *,
    options: ReadOptions | None = None,
    progress: Progress = silent,
    beside: Beside | None = None,
) -> Run:
    """Read a run wholly; `beside`: where its scalars and power lie read already, or will for
    others.

    Raises `UnreadableFile` when nothing at all is left of it: no profile, no scalars, no power.
    """
    loader = RunLoader(
        entry=entry,
        options=options or ReadOptions(),
        progress=progress,
        beside=beside or Beside(),
    )
    for _ in loader.traces(partial=False):
        pass
    return loader.finish()


def stream_run(
    entry: RunEntry,
    *,
    options: ReadOptions | None = None,
    progress: Progress = silent,
    beside: Beside | None = None,
) -> Iterator[Run]:
    """Read a run and give it as it grows.

    The last one is whole; those before have no steps for traces that still grow.
    """
    loader = RunLoader(
        entry=entry,
        options=options or ReadOptions(),
        progress=progress,
        beside=beside or Beside(),
    )
    yield from loader.traces(partial=True)
    yield loader.finish()


class LoadedHost(NamedTuple):
    """One host of a run, wholly."""

    trace: Trace | None  # None where none of its files could be read
    steps: Steps
    epochs: Epochs
    power: tuple[PowerSeries, ...]  # that its profile itself holds
    warnings: tuple[Warn, ...]
    errors: tuple[UnreadableFile, ...]


def load_host(entry: RunEntry, options: ReadOptions, beside: Beside) -> LoadedHost:
    """Read the only host of an entry; `beside`: where the scalars of its run are read already."""
    loader = RunLoader(
        entry=entry,
        options=options,
        progress=silent,
        beside=beside,
    )
    loader.read_logs()
    loader.warnings.clear()  # those of the scalars are the run's
    loader.errors.clear()
    for _ in loader.read_profile(entry.profiles[0], partial=False):
        pass
    warnings = tuple(loader.warnings)
    errors = tuple(loader.errors)
    if not loader.done:
        return LoadedHost(
            trace=None,
            steps=no_steps("").steps,
            epochs=Epochs(),
            power=(),
            warnings=warnings,
            errors=errors,
        )
    trace = loader.done[0]
    power = tuple(_power_in_trace(trace))
    return LoadedHost(
        trace=trace,
        steps=loader.steps[0],
        epochs=loader.epochs[0],
        power=power,
        warnings=warnings,
        errors=errors,
    )


def _power_in_trace(trace: Trace) -> Sequence[PowerSeries]:
    """What a profile itself recorded of power."""
    if all(counter.unit in _NO_POWER_UNITS for counter in trace.counters):
        return ()
    from powertui.data.power import in_trace

    return tuple(in_trace.series(trace))


@dataclass
class RunLoader:
    """What was read of a run so far."""

    entry: RunEntry
    options: ReadOptions
    progress: Progress
    beside: Beside
    logs: list[tfevents.EventLog] = field(default_factory=list)
    done: list[Trace] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    epochs: list[Epochs] = field(default_factory=list)
    power: list[PowerSeries] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)
    errors: list[UnreadableFile] = field(default_factory=list)
    # Power that was found in the profiles of hosts whose events are not kept.
    power_of_hosts: list[PowerSeries] = field(default_factory=list)
    has_host_parts: bool = False
    bytes_before: int = 0
    events_before: int = 0

    def traces(self, *, partial: bool) -> Iterator[Run]:
        """Read all profiles. Small things come first: the clock of the first part needs them."""
        self.warnings += self.entry.problems
        self.read_logs()
        reader = self.options.hosts
        if reader is not None and self._has_many_hosts():
            from powertui.data.hosts_of_run import HostsOfRun

            yield from HostsOfRun(self).read(reader, partial=partial)
            return
        for file in self.entry.profiles:
            yield from self.read_profile(file, partial=partial)

    def finish(self) -> Run:
        """What is left to read, and the run."""
        self._read_power()
        if self.power:
            from powertui.data.power import hosts_like_parts

            hosts = [name for trace in self.done for name in (trace.machine, trace.host)]
            self.power = hosts_like_parts.with_hosts(self.power, hosts)
            if self.options.shown_names:
                from powertui.data.power import called_hosts

                self.power = called_hosts.with_names(self.power, self.options.shown_names)
        self._power_in_traces()
        if self.options.match_clocks:
            from powertui.data.run.matched_clocks import with_matched_clocks

            self.done, warnings = with_matched_clocks(self.done)
            self.warnings += warnings
        run = self.so_far()
        if self.errors and not run.traces and not run.scalars and not run.power:
            raise self.errors[0]
        return run

    def so_far(self, growing: Trace | None = None) -> Run:
        """The run as far as it was read; `growing`: the trace that is being read."""
        traces = list(self.done)
        steps = list(self.steps)
        marks = list(self.epochs)
        if growing is not None:
            traces.append(growing)
            steps.append(Steps.none(LOADING))
            marks.append(Epochs(source=LOADING))
        scalars = tuple(series for log in self.logs for series in log.scalars)
        return Run(
            name=self.entry.name,
            path=self.entry.path,
            traces=tuple(traces),
            steps=tuple(steps),
            epochs=tuple(marks),
            scalars=scalars,
            power=tuple(self.power),
            warnings=tuple(self.warnings),
            power_hosts=self.options.assigned_hosts,
        )

    def _failed(self, error: UnreadableFile) -> None:
        self.errors.append(error)
        self.warnings.append(Warn(file=error.path, where="", cause=error.cause))

    # ── profiles ──

    def read_profile(self, file: ProfileFile, *, partial: bool) -> Iterator[Run]:
        """One host, from its best file; from its second one when the first cannot be read."""
        if file.size >= _LARGE_PROFILE_BYTES:
            from powertui.data import free_memory  # only for large ones

            free_memory.keep_for_large_profile()
        seconds = [alternate for alternate in self.entry.alternates if alternate.host == file.host]
        for candidate in (file, *seconds):
            try:
                elsewhere.at_hand(candidate.path, self._report_progress)
                for trace in registry.load(
                    candidate.path, self._report_progress, self.options.limit
                ):
                    if file.host and file.host != trace.host:
                        trace = replace(trace, host=file.host)
                    if trace.complete:
                        self._add(trace)
                    elif partial:
                        yield self.so_far(replace(trace, clock=self._clock(trace)))
                break
            except UnreadableFile as error:
                self._failed(error)
        self.bytes_before += file.size

    def _report_progress(self, done: int, total: int, events: int, /) -> None:
        total_bytes = max(self.entry.size, self.bytes_before + total)
        self.progress(self.bytes_before + done, total_bytes, self.events_before + events)

    def _clock(
        self,
        trace: Trace,
        marked: Steps | None = None,
        *,
        epoch_num: bool = False,
    ) -> Clock:
        return clocks.best_clock(
            trace,
            self.entry,
            self.logs,
            tz=self.options.tz,
            steps=marked,
            epoch_num=epoch_num,
        )

    def _add(self, trace: Trace) -> None:
        try:
            found_steps = find_steps(trace, marker=self.options.step_marker)
        except FileChanged as error:  # what marks a step is read from the file
            found_steps = no_steps(f"the file {error.problem}")
            self.warnings.append(
                Warn(
                    file=trace.path,
                    where="",
                    cause=f"{error.problem} before its steps were found. {error.hint}",
                )
            )
        trace = replace(
            trace, clock=self._clock(trace, found_steps.steps, epoch_num=found_steps.epoch_num)
        )
        marked, marks = epochs.place(trace, found_steps, self.logs)
        self.done.append(trace)
        self.steps.append(marked)
        self.epochs.append(marks)
        self.events_before += trace.event_count

    # ── many hosts ──

    def _has_many_hosts(self) -> bool:
        """Whether their events are let go of, and read again when asked for: not those of files
        that are still on another machine, or of a pipe.
        """
        if not self.entry.has_many_hosts:
            return False
        files = (*self.entry.profiles, *self.entry.alternates)
        return not any(file.path == "-" or elsewhere.away(file.path) for file in files)

    # ── what lies beside them ──

    def read_logs(self) -> None:
        for file in self.entry.tfevents:
            try:
                log = self.beside.tfevents(file.path, file.group, self.options.limit)
            except UnreadableFile as error:
                self._failed(error)
                continue
            self.logs.append(log)
            self.warnings += log.warnings

    def keep_power_of_host(self, trace: Trace) -> None:
        """The power that a profile holds whose events are let go of."""
        self.power_of_hosts += _power_in_trace(trace)

    def _power_in_traces(self) -> None:
        if self.has_host_parts:
            self.power += self.power_of_hosts
            return
        for trace in self.done:
            self.power += _power_in_trace(trace)

    def _read_power(self) -> None:
        paths = self.options.power_paths(
            [file.path for file in self.entry.power], is_log_alone=self.entry.is_log_alone
        )
        if not paths:
            self.warnings += self.entry.refused
            return
        options = self.options.columns or LogColumns(tz=self.options.tz, limit=self.options.limit)
        from powertui.data.power import log_columns

        columns = log_columns.columns_by_log(paths, options)
        for path in paths:
            try:
                log = self._power_log(path, columns[path])
            except UnreadableFile as error:
                if path in self.options.power:
                    raise  # it was asked for by name
                self._failed(error)
                continue
            self.power += log.series
            self.warnings += log.warnings
        if len(paths) > 1:
            from powertui.data.power import repeated_logs

            kept, warnings = repeated_logs.without_repeats(self.power)
            self.power = list(kept)
            self.warnings += warnings

    def _power_log(self, path: str, columns: LogColumns) -> PowerLog:
        server = self.options.server(path)
        if server is None:
            return self.beside.power(path, columns)
        hosts = [name for trace in self.done for name in (trace.machine, trace.host)]
        from powertui.data import server_question

        bounds = server_question.bounds_of_run(self.done, self.logs)
        question = server_question.question(path, bounds, hosts, self.options)
        return self.beside.fetched(path, server, question, columns)
