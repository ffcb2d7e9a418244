"""The rows of samples: every reading of a window, with its part of the window's energy and what the
program did at the moment that it is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.energy import expected_work, marks
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.export.readings import ChannelReadings, together
from powertui.data.export.sheets import (
    CHUNK_ROWS,
    Batch,
    ExportColumn,
    Sheet,
    channel_names,
    epoch_number,
    placed_channels,
    seconds,
    unix_seconds,
    utc_moments,
)
from powertui.data.model import Int64s, Trace
from powertui.data.sorted_columns import last_begun, open_at
from powertui.data.window import Window
from powertui.value_types import dataclass

_DEPTHS = 64  # of lanes that are told apart where kinds of work are equally heavy


def samples(window: Window) -> Sheet:
    """Every reading that is about a moment of the window; channels share rows."""
    power = placed_channels(window)
    windows = [mark for mark in marks.on_trace(power) if mark.end_ps is not None]
    columns = list(_columns(channel_names(power), has_windows=bool(windows)))

    def batches() -> Iterator[Batch]:
        channels = [ChannelReadings.in_window(channel, window.lo, window.hi) for channel in power]
        rows = together(channels)
        running = _Running(window.trace)
        for start in range(0, len(rows.at), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            at = rows.at[chunk]
            about = rows.about[chunk]
            watts: list[ExportColumn] = []
            joules: list[ExportColumn] = []
            for channel, channel_rows in zip(channels, rows.channel_rows, strict=True):
                watts.append(channel.watts(channel_rows[chunk]))
                joules.append(channel.joules(channel_rows[chunk]))
            epochs, steps = _step_at(window, about)
            cells: list[ExportColumn] = [
                unix_seconds(window.trace, at),
                utc_moments(window.trace, at),
                seconds(at),
                seconds(about),
                *watts,
                *joules,
                epochs,
                steps,
                running.names(about),
            ]
            if windows:
                cells.append(_window_at(windows, about))
            yield Batch(len(at), cells)

    return Sheet(
        columns=tuple((name, meaning) for name, meaning, _ in columns),
        batches=batches,
        kinds=tuple(kind for _, _, kind in columns),
    )


def _columns(names: Sequence[str], *, has_windows: bool) -> Iterator[tuple[str, str, str]]:
    """(name, what it holds, kind) of each column."""
    yield "unix_s", "Unix time of the reading", "unix time"
    yield "time_utc", "the same as date and time", "moment"
    yield "trace_s", "the same on the profile's clock", "time"
    about = "the moment the reading is about: earlier by half the sensor's window and its delay"
    yield "about_s", about, "time"
    for name in names:
        yield f"watts: {name}", "W, empty where this channel has no reading", "number"
    part = "its part of the window's energy, which they add up to; empty when not resolved"
    for name in names:
        yield f"joules: {name}", part, "number"
    yield "epoch", "at about_s", "integer"
    yield "step", "at about_s", "integer"
    yield "op", "what ran at about_s, the deepest of the heaviest kind", "text"
    if has_windows:
        innermost = "at about_s: the window of the recording, the innermost of several"
        yield "window", innermost, "text"


def _window_at(windows: Sequence[MarkOnTrace], at: Int64s) -> list[str | None]:
    """The name of the shortest window around each moment."""

    def end(mark: MarkOnTrace) -> int:
        return mark.end_ps or mark.start_ps

    longest_first = sorted(windows, key=lambda mark: mark.start_ps - end(mark))
    names: list[str | None] = [None] * len(at)
    for mark in longest_first:  # the shortest is written last
        is_inside = at >= mark.start_ps
        is_inside &= at < end(mark)
        for row in np.flatnonzero(is_inside).tolist():
            names[row] = mark.name
    return names


def _step_at(window: Window, at: Int64s) -> tuple[list[int | None], list[int | None]]:
    """(epoch, step) at each moment, by the program's own numbers.

    Where there is a step, its epoch is meant.
    """
    epochs = _epoch_at(window, at)
    steps = window.steps
    numbers: list[int | None] = [None] * len(at)
    if not len(steps):
        return epochs, numbers
    any_begun, step = last_begun(steps.start, at)
    step_ends = steps.ends()[step]
    # Between two steps no step is named.
    in_step = any_begun & (at < step_ends)
    for row in np.flatnonzero(in_step).tolist():
        index = int(step[row])
        number = int(steps.number[index])
        if number < 0:
            # A step without a number of the program's own has that of its place in the list.
            number = index
        numbers[row] = number
        epoch = int(steps.epoch[index])
        epochs[row] = None
        if epoch >= 0:
            epochs[row] = epoch_number(window, epoch)
    return epochs, numbers


def _epoch_at(window: Window, at: Int64s) -> list[int | None]:
    numbers: list[int | None] = [None] * len(at)
    for index, epoch in enumerate(window.epochs):
        bounds = window.epochs.bounds(index, window.steps)
        if bounds is None:
            continue
        lo, hi = bounds
        is_inside = (at >= lo) & (at < hi)
        for row in np.flatnonzero(is_inside).tolist():
            numbers[row] = epoch.number
    return numbers


@dataclass
class _Running:
    """What ran at any moment: of all lines the innermost event of the heaviest kind of work."""

    trace: Trace

    def __post_init__(self) -> None:
        self._weight_of_name = expected_work.kinds_of_names(self.trace)

    def names(self, at: Int64s) -> list[str | None]:
        """The op at each moment; None where nothing ran."""
        best_weight = np.full(len(at), -1, np.int64)
        name = np.full(len(at), -1, np.int64)
        for _, track in self.trace.tracks():
            if track.derived:
                continue
            for depth in range(track.lane_count):
                lane = track.lane(depth)
                if not len(lane):
                    continue
                runs, row = open_at(lane.start, lane.end, at)
                lane_name = lane.name[row]
                # The kind of work goes first, then the depth.
                kind_weight = self._weight_of_name[lane_name] * _DEPTHS
                weight = kind_weight + min(depth, _DEPTHS - 1)
                is_better = runs & (weight > best_weight)
                best_weight = np.where(is_better, weight, best_weight)
                name = np.where(is_better, lane_name.astype(np.int64), name)
        display = self.trace.names.display
        return [display(number) if number >= 0 else None for number in name.tolist()]
