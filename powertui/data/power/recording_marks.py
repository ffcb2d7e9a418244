"""Marks and windows of a recording: its rows `mark`, `begin` and `end` put on one time and
paired.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from powertui.data.model import Mark, PowerCap
from powertui.data.power import times
from powertui.data.power.recording_rows import BEGIN, END, LIMIT, NamedMoment, RecordingRows
from powertui.data.power.steps_of_clock import Joined


def on_one_time(rows: RecordingRows, joined: Joined) -> list[NamedMoment]:
    """What was said, moved with the readings around it where the machine's clock was set.

    `rows` still has its own times.
    """
    if not joined.steps_ns:
        return rows.moments
    moved = []
    for moment in rows.moments:
        nearest = _nearest_row(rows, moment)
        moved_ns = int(joined.ns[nearest]) - int(rows.ns[nearest])
        moved.append(moment._replace(ns=moment.ns + moved_ns))
    return moved


def _nearest_row(rows: RecordingRows, moment: NamedMoment) -> int:
    """The reading whose two clocks lie as far apart as this row's: the one before it, or the one
    after.
    """
    before = moment.row - 1
    after = moment.row
    if before < 0:
        return after
    if after >= len(rows.ns):
        return before
    if _clocks_apart_s(rows, after, moment) < _clocks_apart_s(rows, before, moment):
        return after
    return before


def _clocks_apart_s(rows: RecordingRows, row: int, moment: NamedMoment) -> float:
    """By how much the two clocks disagree on how long a moment is from a reading."""
    by_wall_s = (moment.ns - int(rows.ns[row])) / times.S
    by_monotonic_s = moment.mono - float(rows.mono[row])
    apart_s = abs(by_wall_s - by_monotonic_s)
    if math.isnan(apart_s):
        return math.inf  # a row without the second clock
    return apart_s


def limits(
    moments: Sequence[NamedMoment],
    zero: int,
) -> dict[tuple[str, str], tuple[PowerCap, ...]]:
    """What each channel, (source, name), is held to, and from when on."""
    caps_of_channel: dict[tuple[str, str], list[PowerCap]] = {}
    for moment in sorted(moments, key=lambda moment: moment.ns):
        if moment.kind != LIMIT:
            continue
        channel = (moment.source, moment.name)
        cap = PowerCap(moment.ns - zero, moment.watts)
        caps_of_channel.setdefault(channel, []).append(cap)
    return {channel: tuple(caps) for channel, caps in caps_of_channel.items()}


def paired(moments: Sequence[NamedMoment], zero: int) -> tuple[Mark, ...]:
    """Marks by their start. An end closes the last window of its name that is open; one that was
    never ended is a moment.

    An end without a begin (its part of the file is gone) says nothing.
    """
    marks: list[Mark] = []
    open_windows: dict[str, list[int]] = {}  # places among the marks, by name
    for moment in moments:
        if moment.kind == LIMIT:
            continue
        since_zero = moment.ns - zero
        windows_of_name = open_windows.setdefault(moment.name, [])
        if moment.kind == END:
            if windows_of_name:
                place = windows_of_name.pop()
                start = marks[place].start_ns
                end = max(start, since_zero)
                marks[place] = Mark(marks[place].name, start, end)
            continue
        if moment.kind == BEGIN:
            windows_of_name.append(len(marks))
        marks.append(Mark(moment.name, since_zero))
    return tuple(sorted(marks, key=lambda mark: mark.start_ns))
