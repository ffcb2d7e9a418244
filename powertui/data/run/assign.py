"""Which step each piece of device work belongs to, by the best link that the file has, and which
that is.

In this order: the collector's own group ids; the call that launched the work (a correlation id, or
a run id), by the step in which it began; the step line of the device that ran the work; and where
nothing else tells, the time at which it ran. The last is wrong as soon as the host runs ahead, and
is therefore named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import Int64s
from powertui.data.run.asked_work import asked_by_mark
from powertui.data.run.device_intervals import DeviceWork
from powertui.data.run.drawn_steps import MAJORITY, DrawnSteps, in_drawn_steps
from powertui.data.run.step_rows import StepRows
from powertui.data.sorted_columns import looked_up, open_at
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.run.device_work import HandOvers

# How the step of device work is known.
_GROUP = "group id"
LINE = "device step line"
_ORDER = "order of modules"
TIME = "time"


@dataclass(frozen=True, eq=False)
class StepOfWork:
    """The row of each event of `Work`, -1 for none, and how it is known."""

    row: Int64s
    by: str
    # Launches are inside marks; else only inside the stretch from one mark to the next.
    direct: bool = True


def with_cut_work(
    given: StepOfWork,
    work: DeviceWork,
    drawn: DrawnSteps,
    cut: Int64s,
) -> StepOfWork:
    """Work without a step that ran in the line of one whose mark was cut off belongs to that."""
    if not len(cut):
        return given
    lines = DrawnSteps(
        device=[drawn.device[i] for i in cut.tolist()],
        start=drawn.start[cut],
        duration=drawn.duration[cut],
        row=drawn.row[cut],
    )
    cut_row = in_drawn_steps(work, lines)
    row = np.where(given.row >= 0, given.row, cut_row)
    return replace(given, row=row)


def steps_of_work(
    work: DeviceWork,
    rows: StepRows,
    lines: DrawnSteps,
    modules: DrawnSteps,
    ends: Int64s,
    thread_handovers: Callable[[], HandOvers | None],
) -> StepOfWork:
    """The step of all work.

    `ends` is where each step ends at the latest: where the next one begins.
    """
    if (work.group >= 0).mean() > MAJORITY:
        row = looked_up(work.group, rows.marks.group, rows.row_of)
        if (row >= 0).any():
            return StepOfWork(row, _GROUP)
    made_of_lines = lines.row is rows.row_of
    if work.launched.mean() > MAJORITY and not made_of_lines:
        asked = lines.asked
        if asked is None:
            asked = asked_by_mark(work, rows)
        if asked.by_other_threads:
            handovers = thread_handovers()
            if handovers is not None:
                asked = asked_by_mark(work, rows, handovers)
        if asked.holds_for_most and (asked.row >= 0).any():
            return StepOfWork(asked.row, work.link)
        given = _between_marks(work, rows, lines, ends, asked.row)
        if (given.row >= 0).any():
            return given
    if (lines.row >= 0).any():
        row = in_drawn_steps(work, lines)
        return StepOfWork(row, LINE)
    if len(modules.row):
        row = in_drawn_steps(work, modules)
        return StepOfWork(row, _ORDER)
    row = _in_stretch(work.start, rows.start, ends)
    return StepOfWork(row, TIME, direct=False)


def _between_marks(
    work: DeviceWork,
    rows: StepRows,
    lines: DrawnSteps,
    ends: Int64s,
    row: Int64s,
) -> StepOfWork:
    """The step of work most of which was launched while no mark was open: the one that its device
    drew around it, else the one whose mark came before the launch.

    A step that nobody marked begins where its device does, and its launch comes before that: by the
    launch it would be the step before.
    """
    unknown = (row < 0) & work.launched
    drawn_row = in_drawn_steps(work, lines)
    by_line = np.where(unknown, drawn_row, -1)
    without_line = unknown & (by_line < 0)
    row_before = _in_stretch(work.launch, rows.start, ends)
    by_launch = np.where(without_line, row_before, -1)
    known_or_drawn = np.maximum(row, by_line)
    drawn_count = int((by_line >= 0).sum())
    mostly_by_line = drawn_count > MAJORITY * int(unknown.sum())
    return StepOfWork(
        row=np.maximum(known_or_drawn, by_launch),
        by=LINE if mostly_by_line else work.link,
        direct=mostly_by_line,
    )


def _in_stretch(moments: Int64s, start: Int64s, ends: Int64s) -> Int64s:
    """Which of these stretches, by start and apart from each other, each moment is in; -1: none."""
    is_inside, stretch = open_at(start, ends, moments)
    return np.where(is_inside, stretch, -1)
