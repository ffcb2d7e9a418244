"""powertui in a notebook: runs, traces, events, steps and epochs as DataFrames.

    import powertui
    runs = powertui.open("~/logs")            # nothing is read yet
    run = runs[0]                             # or runs["train/2026_11_21_00_51_44"]
    run.steps()                               # one row per step of every host
    run.events(track="python", name="Profiled batch", stats=["step_num"])

Times are whole picoseconds (int64) since the profile's own zero; `run.traces[0].clock` says where that lies in
Unix time, and how surely. Everything is read when it is asked for, once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import pandas as pd

from powertui.data import loading, logdir
from powertui.data.asked import Reading
from powertui.data.limits import Limit
from powertui.data.logdir import Logdir, RunEntry
from powertui.data.model import Bools, Clock, Epochs, Int64s, Names, Process, Run, StatColumn, Steps, Trace, Track, Warn

__all__ = ["RunView", "Runs", "TraceView", "open"]

# What a name must be: the text itself, a pattern that is found in it, or a question about it. None: any.
Match: TypeAlias = "str | re.Pattern[str] | Callable[[str], bool] | None"


def open(
    path: str | os.PathLike[str],
    *,
    power: Sequence[str | os.PathLike[str]] = (),
    tz: str | None = None,
    step_marker: str | None = None,
    max_memory: str | int | None = None,
) -> Runs:
    """The runs below a logdir, in a run folder, or of one profile. Only names and sizes are looked at now.

    `power` names power logs for these runs (else those that lie beside them are taken), `tz` is the zone of
    local times, `step_marker` a regular expression for the names of events that start a step. `max_memory` is how much
    memory one file may take when it is read ("24G", bytes, or "none"); without it, half of what is free.
    Raises `powertui.errors.UnreadableFile` when there is nothing at that path.
    """
    named = tuple(str(Path(p).expanduser()) for p in power)
    options = Reading(step_marker=step_marker, tz=tz, power=named, find_power=not named, limit=Limit.parse(max_memory))
    where = "-" if os.fspath(path) == "-" else str(Path(path).expanduser())
    return Runs(logdir.scan(where), options)


class Runs(Sequence["RunView"]):
    """The runs that were found: by number, by name, or one after the other."""

    def __init__(self, found: Logdir, options: Reading) -> None:
        self.logdir = found
        self._views = tuple(RunView(entry, options) for entry in found.runs)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all runs, as TensorBoard shows them."""
        return tuple(view.name for view in self._views)

    def __len__(self) -> int:
        return len(self._views)

    @overload
    def __getitem__(self, key: int | str) -> RunView: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[RunView, ...]: ...
    def __getitem__(self, key: int | str | slice) -> RunView | tuple[RunView, ...]:
        """By number or name. A part of a name will do when it fits one run only."""
        if isinstance(key, int) and not -len(self) <= key < len(self):
            raise IndexError(f"no run {key}; there are {len(self)}: {', '.join(self.names) or 'none'}")
        if not isinstance(key, str):
            return self._views[key]
        fits = [view for view in self._views if view.name == key] or [view for view in self._views if key in view.name]
        if len(fits) != 1:
            what = "no run" if not fits else f"{len(fits)} runs"
            raise KeyError(f"{what} named {key!r}; there are: {', '.join(self.names) or 'none'}")
        return fits[0]

    def __iter__(self) -> Iterator[RunView]:
        return iter(self._views)

    def __repr__(self) -> str:
        return f"<Runs of {self.logdir.path}: {', '.join(self.names) or 'none'}>"


class RunView:
    """One run. Reading it happens at the first question that needs it."""

    def __init__(self, entry: RunEntry, options: Reading) -> None:
        self.entry = entry
        self._options = options

    @property
    def name(self) -> str:
        """The run's name, as TensorBoard shows it."""
        return self.entry.name

    @property
    def path(self) -> str:
        """The run's folder or file."""
        return self.entry.path

    @property
    def hosts(self) -> tuple[str, ...]:
        """Its hosts, by the names of their files."""
        return self.entry.hosts

    @cached_property
    def run(self) -> Run:
        """The run itself, as `powertui.data.model` describes it. Reads it."""
        return loading.load_run(self.entry, options=self._options)

    @cached_property
    def traces(self) -> tuple[TraceView, ...]:
        """One per host. Reads the run."""
        run = self.run
        return tuple(TraceView(*parts) for parts in zip(run.traces, run.steps, run.epochs, strict=True))

    @property
    def warnings(self) -> tuple[Warn, ...]:
        """Everything that could not be read or believed, in the run and in its traces and power logs."""
        run = self.run
        return (*run.warnings, *(w for t in run.traces for w in t.warnings), *(w for s in run.power for w in s.warnings))

    def events(
        self,
        process: Match = None,
        track: Match = None,
        name: Match = None,
        lo: int | None = None,
        hi: int | None = None,
        *,
        stats: Sequence[str] = (),
    ) -> pd.DataFrame:
        """Events of all hosts, with the host as the first column. See `TraceView.events`."""
        return self._of_hosts([trace.events(process, track, name, lo, hi, stats=stats) for trace in self.traces], _NO_EVENTS)

    def steps(self) -> pd.DataFrame:
        """Steps of all hosts, with the host as the first column. See `TraceView.steps`."""
        return self._of_hosts([trace.steps() for trace in self.traces], _NO_STEPS)

    def epochs(self) -> pd.DataFrame:
        """Epochs of all hosts, with the host as the first column. See `TraceView.epochs`."""
        return self._of_hosts([trace.epochs() for trace in self.traces], _NO_EPOCHS)

    def scalars(self) -> pd.DataFrame:
        """What the training logged: group ("train", "validation"), tag, step, wall_ns (Unix), value."""
        series = self.run.scalars
        return _frame(
            {
                "group": _texts([s.group for s in series for _ in s.steps]),
                "tag": _texts([s.tag for s in series for _ in s.steps]),
                "step": _joined([s.steps for s in series], np.int64),
                "wall_ns": _joined([s.wall_ns for s in series], np.int64),
                "value": _joined([s.values for s in series], np.float64),
            }
        )

    def power(self) -> pd.DataFrame:
        """Every sample of every power log: sensor, host, scope, time_ns (since the log's own zero), watts."""
        series = self.run.power
        return _frame(
            {
                "sensor": _texts([s.sensor.name for s in series for _ in s.times]),
                "host": _texts([s.sensor.host for s in series for _ in s.times]),
                "scope": _texts([s.sensor.scope.value for s in series for _ in s.times]),
                "time_ns": _joined([s.times for s in series], np.int64),
                "watts": _joined([s.watts for s in series], np.float64),
            }
        )

    def _of_hosts(self, frames: list[pd.DataFrame], empty: tuple[str, ...]) -> pd.DataFrame:
        for trace, frame in zip(self.traces, frames, strict=True):
            frame.insert(0, "host", _texts([trace.host] * len(frame)))
        if not frames:
            return _frame({name: [] for name in ("host", *empty)})
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {', '.join(self.hosts) or 'no host'}, {self.entry.size:,} bytes of profiles>"


class TraceView:
    """The profile of one host."""

    def __init__(self, trace: Trace, steps: Steps, epochs: Epochs) -> None:
        self.trace = trace
        self._steps = steps
        self._epochs = epochs

    @property
    def host(self) -> str:
        """The host, by the name of its file."""
        return self.trace.host

    @property
    def clock(self) -> Clock:
        """Where the profile's zero lies in Unix time: an interval in ns, and the evidence."""
        return self.trace.clock

    @property
    def tracks(self) -> pd.DataFrame:
        """The lines of the profile: process, track, kind, whether it was drawn from others, events, lanes."""
        rows = [
            (process.name, track.name, track.kind.value, track.derived, len(track.events), track.lane_count)
            for process, track in self.trace.tracks()
        ]
        names = ("process", "track", "kind", "derived", "events", "lanes")
        kinds = {"derived": np.bool_, "events": np.int64, "lanes": np.int64}
        columns: dict[str, list[Any]] = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        return _frame({n: np.array(v, kinds[n]) if n in kinds else _texts(v) for n, v in columns.items()})

    def events(
        self,
        process: Match = None,
        track: Match = None,
        name: Match = None,
        lo: int | None = None,
        hi: int | None = None,
        *,
        stats: Sequence[str] = (),
    ) -> pd.DataFrame:
        """Events as rows: process, track, lane, name, full_name, start and duration (ps).

        `process`, `track` and `name` are a text (equal to the name, shown or full), a compiled pattern (found in
        it) or a function. `lo` and `hi` (ps) keep events that overlap that stretch. Each of `stats` becomes a
        column: whole numbers stay whole (Int64), missing values are missing.
        """
        fits = _name_filter(self.trace.names, name)
        parts = []
        for owner, line in self.trace.tracks():
            if _matches(process, owner.name) and _matches(track, line.name):
                rows = _rows(line, fits, lo, hi)
                if len(rows):
                    parts.append((owner, line, rows))
        return _events_frame(self.trace.names, parts, stats)

    def steps(self) -> pd.DataFrame:
        """Steps as rows: number (the program's own), name, epoch, start, duration, start_to_start (ps).

        `epoch` is the epoch's number; it and start_to_start are missing where there is none.
        """
        steps, marks = self._steps, self._epochs
        numbers = np.array([epoch.number for epoch in marks], np.int64)
        index = steps.epoch.astype(np.int64)
        has = (index >= 0) & (index < len(numbers))
        gaps = steps.start_to_start()
        return _frame(
            {
                "number": steps.number,
                "name": _texts(list(steps.names)),
                "epoch": _nullable(numbers[np.where(has, index, 0)] if len(numbers) else np.zeros(len(index), np.int64), has),
                "start": steps.start,
                "duration": steps.duration,
                "start_to_start": _nullable(gaps, gaps >= 0),
            }
        )

    def epochs(self) -> pd.DataFrame:
        """Epochs as rows: number, start, end, slack (ps; missing where nothing tells), source, and a column per scalar."""
        marks = list(self._epochs)
        frame = _frame(
            {
                "number": np.array([epoch.number for epoch in marks], np.int64),
                "start": _optional([epoch.start for epoch in marks]),
                "end": _optional([epoch.end for epoch in marks]),
                "slack": np.array([epoch.slack for epoch in marks], np.int64),
                "source": _texts([epoch.source for epoch in marks]),
            }
        )
        for tag in dict.fromkeys(tag for epoch in marks for tag, _ in epoch.scalars):
            frame[tag] = np.array([dict(epoch.scalars).get(tag, np.nan) for epoch in marks], np.float64)
        return frame

    def __repr__(self) -> str:
        return f"<Trace of {self.host}: {self.trace.event_count:,} events>"


# ── columns ──────────────────────────────────────────────────────────────────────────────────────

_NO_EVENTS = ("process", "track", "lane", "name", "full_name", "start", "duration")
_NO_STEPS = ("number", "name", "epoch", "start", "duration", "start_to_start")
_NO_EPOCHS = ("number", "start", "end", "slack", "source")


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame


def _matches(wanted: Match, text: str) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return wanted == text
    return wanted.search(text) is not None if isinstance(wanted, re.Pattern) else bool(wanted(text))


def _name_filter(names: Names, wanted: Match) -> Bools | None:
    """Which names fit; None when all do. Names are asked once each, not once per event."""
    if wanted is None:
        return None
    return np.array([_matches(wanted, names.display(i)) or _matches(wanted, names.full(i)) for i in range(len(names))], np.bool_)


def _rows(track: Track, fits: Bools | None, lo: int | None, hi: int | None) -> Int64s:
    events = track.events
    keep = np.ones(len(events), np.bool_) if fits is None else fits[events.name]
    if hi is not None:
        keep &= events.start < hi
    if lo is not None:
        # an event of no length belongs to the moment it stands at
        keep &= (events.end > lo) | (events.start >= lo)
    return np.flatnonzero(keep)


def _events_frame(names: Names, parts: list[tuple[Process, Track, Int64s]], stats: Sequence[str]) -> pd.DataFrame:
    counts = [len(rows) for _, _, rows in parts]
    index = _joined([track.events.name[rows] for _, track, rows in parts], np.uint32)
    used, which = np.unique(index, return_inverse=True)
    frame = _frame(
        {
            "process": _repeated([process.name for process, _, _ in parts], counts),
            "track": _repeated([track.name for _, track, _ in parts], counts),
            "lane": _joined([np.searchsorted(track.lanes, rows, side="right") - 1 for _, track, rows in parts], np.int64),
            "name": _texts(_taken([names.display(i) for i in used.tolist()], which)),
            "full_name": _texts(_taken([names.full(i) for i in used.tolist()], which)),
            "start": _joined([track.events.start[rows] for _, track, rows in parts], np.int64),
            "duration": _joined([track.events.duration[rows] for _, track, rows in parts], np.int64),
        }
    )
    found = [process.source.columns(track.events.positions(rows), list(stats)) if stats else {} for process, track, rows in parts]
    for stat in stats:
        frame[stat] = _stat_column([columns[stat] for columns in found])
    return frame


def _stat_column(columns: list[StatColumn]) -> Any:
    """One stat of all rows: Int64 when all are whole numbers, float64 when all are numbers, else texts."""
    present = _joined([c.present for c in columns], np.bool_)
    floats = _joined([c.floats for c in columns], np.float64)
    ints = _joined([c.ints for c in columns], np.int64)
    numeric = ~np.isnan(floats)
    # ints hold 0 for numbers that are not whole; uint64 values beyond int64 have wrapped
    whole = numeric & (floats == np.where(ints < 0, np.where(floats < 0, ints, np.nan), ints).astype(np.float64))
    if (whole | ~present).all():
        return _nullable(ints, present)
    if (numeric | ~present).all():
        return floats
    return _texts([c.text(row) for c in columns for row in range(len(c))])


def _joined(parts: Sequence[Any], dtype: Any) -> Any:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype)


def _taken(texts: list[str], which: Any) -> Any:
    return np.array(texts, object)[which] if texts else np.empty(0, object)


def _repeated(texts: list[str], counts: list[int]) -> Any:
    return _texts(np.repeat(np.array(texts, object), counts) if texts else np.empty(0, object))


def _texts(values: Any) -> Any:
    """A column of texts, `str` in pandas 3 and `object` before; None stays missing."""
    series = pd.Series(values, dtype=object)
    return series if pd.__version__.startswith(("1.", "2.")) else series.astype("str")


def _nullable(values: Int64s, present: Bools) -> Any:
    return pd.array(np.where(present, values, 0), dtype="Int64") if present.all() else _masked(values, present)


def _masked(values: Int64s, present: Bools) -> Any:
    column = pd.array(np.where(present, values, 0), dtype="Int64")
    column[~present] = pd.NA
    return column


def _optional(values: list[int | None]) -> Any:
    present = np.array([value is not None for value in values], np.bool_)
    return _nullable(np.array([value or 0 for value in values], np.int64), present)
