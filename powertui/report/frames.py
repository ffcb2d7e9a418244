"""What a run holds, as DataFrames: events, steps, epochs, lines, scalars, power.

Times are seconds, or whole picoseconds where they are asked for; their columns end in `_s` or
`_ps`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from powertui.data.model import (
    PS_PER_S,
    UNKNOWN,
    Bools,
    Epochs,
    Int64s,
    Names,
    PowerSeries,
    Process,
    ScalarSeries,
    StatColumn,
    Steps,
    Trace,
    Track,
)
from powertui.data.window import touches
from powertui.report.writers.as_frame import frame, joined, nullable, texts
from powertui.value_types import dataclass

# What a name must be: the text itself, a pattern that is in it, or a function that is true of it.
# None: any.
Match: TypeAlias = "str | re.Pattern[str] | Callable[[str], bool] | None"
TimeUnit: TypeAlias = Literal["s", "ps"]
UNITS: tuple[TimeUnit, ...] = ("s", "ps")


def steps(steps: Steps, epochs: Epochs, unit: TimeUnit = "s") -> pd.DataFrame:
    """One row a step, with the number of its epoch.

    The epoch, start_to_start and the three times of a step (host, device, step) are missing where
    they are not known.
    """
    rows = steps.epoch.astype(np.int64)
    has_epoch = (rows >= 0) & (rows < len(epochs))
    # The last number is for steps without an epoch, whose row is -1: it is never shown.
    numbers = np.array([*(epoch.number for epoch in epochs), 0], np.int64)
    epoch_numbers = numbers[np.where(has_epoch, rows, -1)]
    columns = {
        "number": steps.number,
        "name": texts(list(steps.names)),
        "epoch": nullable(epoch_numbers, has_epoch),
        f"start_{unit}": _times(steps.start, unit),
        f"duration_{unit}": _times(steps.duration, unit),
    }
    gaps = steps.start_to_start()
    columns[f"start_to_start_{unit}"] = _known(gaps, gaps >= 0, unit)
    times = {"host": steps.host, "device": steps.device, "step": steps.step}
    for name, ps in times.items():
        columns[f"{name}_{unit}"] = _known(ps, ps != UNKNOWN, unit)
    return frame(columns)


def _times(ps: Int64s, unit: TimeUnit) -> Any:
    if unit == "ps":
        return ps
    return ps / PS_PER_S


def _known(ps: Int64s, present: Bools, unit: TimeUnit) -> Any:
    """Those that are not known are missing."""
    if unit == "ps":
        return nullable(ps, present)
    return np.where(present, ps / PS_PER_S, np.nan)


def epochs(epochs: Epochs, unit: TimeUnit = "s") -> pd.DataFrame:
    """One row an epoch, and a column per scalar."""
    numbers: list[int] = []
    starts: list[int | None] = []
    ends: list[int | None] = []
    slacks: list[int] = []
    sources: list[str] = []
    scalars: list[dict[str, float]] = []
    for epoch in epochs:
        numbers.append(epoch.number)
        starts.append(epoch.start)
        ends.append(epoch.end)
        slacks.append(epoch.slack)
        sources.append(epoch.source)
        scalars.append(dict(epoch.scalars))
    rows = frame(
        {
            "number": np.array(numbers, np.int64),
            f"start_{unit}": _optional(starts, unit),
            f"end_{unit}": _optional(ends, unit),
            f"slack_{unit}": _times(np.array(slacks, np.int64), unit),
            "source": texts(sources),
        }
    )
    # Not every epoch has every scalar: a validation may be logged each fifth epoch.
    for tag in dict.fromkeys(tag for values in scalars for tag in values):
        rows[tag] = np.array([values.get(tag, np.nan) for values in scalars], np.float64)
    return rows


def tracks(lines: Iterable[tuple[Process, Track]]) -> pd.DataFrame:
    """One row a line of the profile."""
    process_names = []
    track_names = []
    kinds = []
    derived = []
    event_counts = []
    lane_counts = []
    for process, track in lines:
        process_names.append(process.name)
        track_names.append(track.name)
        kinds.append(track.kind.value)
        derived.append(track.derived)
        event_counts.append(track.event_count)
        lane_counts.append(track.lane_count)
    return frame(
        {
            "process": texts(process_names),
            "track": texts(track_names),
            "kind": texts(kinds),
            "derived": np.array(derived, np.bool_),
            "events": np.array(event_counts, np.int64),
            "lanes": np.array(lane_counts, np.int64),
        }
    )


def scalars(series: Sequence[ScalarSeries]) -> pd.DataFrame:
    """One row a value that the training logged."""
    counts = [len(scalar.steps) for scalar in series]
    groups = [scalar.group for scalar in series]
    tags = [scalar.tag for scalar in series]
    return frame(
        {
            "group": _repeated(groups, counts),
            "tag": _repeated(tags, counts),
            "step": joined([scalar.steps for scalar in series], np.int64),
            "wall_ns": joined([scalar.wall_ns for scalar in series], np.int64),
            "value": joined([scalar.values for scalar in series], np.float64),
        }
    )


def power(series: Sequence[PowerSeries]) -> pd.DataFrame:
    """One row a sample."""
    counts = [len(channel.times) for channel in series]
    sensors = [channel.sensor for channel in series]
    return frame(
        {
            "sensor": _repeated([sensor.name for sensor in sensors], counts),
            "host": _repeated([sensor.host for sensor in sensors], counts),
            "scope": _repeated([sensor.scope.value for sensor in sensors], counts),
            "time_ns": joined([channel.times for channel in series], np.int64),
            "watts": joined([channel.watts for channel in series], np.float64),
        }
    )


# ── events ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class EventFilter:
    """Which events: by the names of their process, their track and themselves, and by time."""

    process: Match = None
    track: Match = None
    name: Match = None  # a text fits as a part of the name
    exact: str | None = None  # the complete name
    lo: int | None = None  # events that touch this window, ps
    hi: int | None = None

    def tracks(self, trace: Trace) -> Iterator[tuple[Process, Track]]:
        """The tracks whose events may fit."""
        for process, track in trace.tracks():
            if _matches(self.process, process.name) and _matches(self.track, track.name):
                yield process, track

    def names(self, names: Names) -> Bools | None:
        """Which names fit; None when all do."""
        if self.name is None and self.exact is None:
            return None
        fits = []
        for id in range(len(names)):
            fits.append(self._fits(names.display(id)) or self._fits(names.full(id)))
        return np.array(fits, np.bool_)

    def _fits(self, name: str) -> bool:
        if self.exact not in (None, name):
            return False
        if isinstance(self.name, str):
            return self.name in name
        return _matches(self.name, name)

    def rows(self, track: Track, names_that_fit: Bools | None) -> Int64s:
        """The rows of a track that fit."""
        events = track.events
        keep = np.ones(len(events), np.bool_)
        if names_that_fit is not None:
            keep = names_that_fit[events.name]
        if self.lo is not None or self.hi is not None:
            limits = np.iinfo(np.int64)
            first = limits.min if self.lo is None else self.lo
            last = limits.max if self.hi is None else self.hi
            keep &= touches(events.start, events.end, first, last)
        return np.flatnonzero(keep)


def events(
    trace: Trace | None,
    event_filter: EventFilter,
    stats: Sequence[str],
    unit: TimeUnit,
) -> pd.DataFrame:
    """One row an event that fits; without a trace, no row of the same columns."""
    if trace is None:
        return _events_frame([], [], stats, unit)
    names_that_fit = event_filter.names(trace.names)
    parts: list[_Part] = []
    for process, track in event_filter.tracks(trace):
        rows = event_filter.rows(track, names_that_fit)
        if len(rows):
            parts.append((process, track, rows))
    name_ids = joined([track.events.name[rows] for _, track, rows in parts], np.uint32)
    # Each name is looked up once, not once per event.
    ids, inverse = np.unique(name_ids, return_inverse=True)
    short_names = []
    full_names = []
    for id in ids.tolist():
        short_names.append(trace.names.display(id))
        full_names.append(trace.names.full(id))
    short = np.array(short_names, object)
    full = np.array(full_names, object)
    return _events_frame([short[inverse], full[inverse]], parts, stats, unit)


_Part: TypeAlias = tuple[Process, Track, Int64s]  # the rows of a track that fit


def _matches(match: Match, text: str) -> bool:
    if match is None:
        return True
    if isinstance(match, str):
        return match == text
    if isinstance(match, re.Pattern):
        return match.search(text) is not None
    return bool(match(text))


def _events_frame(
    names: Sequence[Any],
    parts: list[_Part],
    stats: Sequence[str],
    unit: TimeUnit,
) -> pd.DataFrame:
    """`names`: the short name of every row, and its full one."""
    short, full = names or ([], [])
    counts = []
    process_names = []
    track_names = []
    lanes = []
    starts = []
    durations = []
    for process, track, rows in parts:
        counts.append(len(rows))
        process_names.append(process.name)
        track_names.append(track.name)
        # `track.lanes` has the first row of each lane.
        lanes.append(np.searchsorted(track.lanes, rows, side="right") - 1)
        starts.append(track.events.start[rows])
        durations.append(track.events.duration[rows])
    events = frame(
        {
            "process": _repeated(process_names, counts),
            "track": _repeated(track_names, counts),
            "lane": joined(lanes, np.int64),
            "name": texts(short),
            "full_name": texts(full),
            f"start_{unit}": _times(joined(starts, np.int64), unit),
            f"duration_{unit}": _times(joined(durations, np.int64), unit),
        }
    )
    if not stats:
        return events
    stats_by_part = []
    for process, track, rows in parts:
        positions = track.events.positions(rows)
        stats_by_part.append(process.source.columns(positions, list(stats)))
    for stat in stats:
        events[stat] = _stat_column([columns[stat] for columns in stats_by_part])
    return events


def _stat_column(columns: list[StatColumn]) -> Any:
    """One stat of all rows: Int64 for integers, else float64 for numbers, else texts."""
    present = joined([column.present for column in columns], np.bool_)
    floats = joined([column.floats for column in columns], np.float64)
    ints = joined([column.ints for column in columns], np.int64)
    is_number = ~np.isnan(floats)
    # `ints` is 0 where a number has a fraction. Where it is negative and the number is not, a
    # uint64 beyond int64 has wrapped.
    has_wrapped = (ints < 0) & ~(floats < 0)
    is_integer = is_number & ~has_wrapped & (floats == ints.astype(np.float64))
    if (is_integer | ~present).all():
        return nullable(ints, present)
    if (is_number | ~present).all():
        return floats
    values: list[str | None] = []
    for column in columns:
        values += map(column.text, range(len(column)))
    return texts(values)


def _repeated(values: list[str], counts: list[int]) -> Any:
    # The type of the counts is named: an empty list would be one of floats.
    return texts(np.repeat(np.array(values, object), np.array(counts, np.int64)))


def _optional(values: list[int | None], unit: TimeUnit) -> Any:
    present = np.array([value is not None for value in values], np.bool_)
    filled = np.array([value or 0 for value in values], np.int64)
    return _known(filled, present, unit)
