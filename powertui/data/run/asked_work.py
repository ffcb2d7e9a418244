"""Which step asked for each piece of device work: the step whose mark was open when the call was
made that launched it, on the thread of that call or on one that handed the call on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int32s, Int64s
from powertui.data.run.device_intervals import DeviceWork
from powertui.data.run.step_rows import StepRows
from powertui.data.sorted_columns import among, open_at
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.run.device_work import HandOvers


# Of the launched work: where marks explain less of it, launches show no step.
_MIN_KNOWN_SHARE = 0.5
# Threads that a call was handed through before it was launched. Chosen, not measured.
_MAX_HOPS = 3


@dataclass(frozen=True, eq=False)
class AskedByMark:
    """The row whose mark was open when each piece of work was asked for; -1 for none."""

    row: Int64s
    holds_for_most: bool
    by_other_threads: bool  # some work was launched on a line without a mark


def asked_by_mark(
    work: DeviceWork,
    rows: StepRows,
    handovers: HandOvers | None = None,
) -> AskedByMark:
    """Which step asked for each piece of work.

    `handovers` show who asked for what another thread launched: that thread may be steps behind,
    so it goes before the time.
    """
    lines_with_marks = wire.distinct(rows.marks.lines)
    on_other_line = work.launched & ~among(lines_with_marks, work.launch_line)
    if handovers is None:
        row = _open_at(work.launch, work.launch_line, work.launched, rows)
    else:
        row = _asked_row(work, rows, handovers, on_other_line)
    known_ps = int(work.duration.sum(where=row >= 0))
    launched_ps = int(work.duration.sum(where=work.launched))
    return AskedByMark(
        row=row,
        holds_for_most=known_ps > _MIN_KNOWN_SHARE * launched_ps,
        by_other_threads=bool(on_other_line.any()),
    )


def _asked_row(
    work: DeviceWork,
    rows: StepRows,
    handovers: HandOvers,
    on_other_line: Bools,
) -> Int64s:
    """The row that asked for each piece of work: by the hand-overs where another thread launched
    it, else by the time.
    """
    launch = work.launch[on_other_line]
    line = work.launch_line[on_other_line]
    asked_row, asked_at = _by_handovers(handovers, launch, line, rows)
    row = np.full(len(work), -1, np.int64)
    row[on_other_line] = asked_row
    # Where nothing shows who asked, the time does.
    by_time = work.launched.copy()
    by_time[on_other_line] = (asked_row < 0) & (asked_at == launch)
    row_by_time = _open_at(work.launch, work.launch_line, by_time, rows)
    return np.where(by_time, row_by_time, row)


def _by_handovers(
    handovers: HandOvers,
    moment: Int64s,
    line: Int32s,
    rows: StepRows,
) -> tuple[Int64s, Int64s]:
    """(the row whose mark was open where each call was asked for; when the first of all who asked
    did).
    """
    row = np.full(len(moment), -1, np.int64)
    for _ in range(_MAX_HOPS):
        asked_at, asked_on = handovers.back(moment, line)
        moved = (asked_at != moment) | (asked_on != line)
        moment = asked_at
        line = asked_on
        open_row = _open_at(moment, line, moved, rows)
        row = np.where(row < 0, open_row, row)
    return row, moment


def _open_at(
    moment: Int64s,
    line_of: Int32s,
    asked: Bools,
    rows: StepRows,
) -> Int64s:
    """The row whose mark was open at each moment, -1 for none."""
    marks = rows.marks
    mark_end = marks.end
    by_line = list(marks.by_line())
    if len(by_line) == 1:
        _, marks_of_line = by_line[0]
        starts = marks.start[marks_of_line]
        ends = mark_end[marks_of_line]
        row_of_mark = rows.row_of[marks_of_line]
        is_open, place = open_at(starts, ends, moment)
        is_open &= asked
        return np.where(is_open, row_of_mark.take(place), -1)
    last_possible = np.iinfo(np.int64).max
    open_row = np.full(len(moment), -1, np.int64)
    best_rank = np.full(len(moment), np.iinfo(np.int64).min)
    for line, marks_of_line in by_line:
        starts = marks.start[marks_of_line]
        ends = mark_end[marks_of_line]
        row_of_mark = rows.row_of[marks_of_line]
        is_open, place = open_at(starts, ends, moment)
        is_own_line = line_of == line
        # The mark of the call's own line knows best; of other lines' the one that was opened last.
        rank = np.where(is_own_line, last_possible, starts[place])
        is_better = is_own_line | (rank > best_rank)
        chosen = np.flatnonzero(asked & is_open & is_better)
        open_row[chosen] = row_of_mark[place[chosen]]
        best_rank[chosen] = rank[chosen]
    return open_row
