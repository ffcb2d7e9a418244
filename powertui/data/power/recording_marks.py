"""Marks and windows of a recording: its rows `mark`, `begin` and `end` put on one time and
paired.
"""

from __future__ import annotations

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
    return [moment._replace(ns=moment.ns + _moved(rows, joined, moment)) for moment in rows.moments]


def _moved(rows: RecordingRows, joined: Joined, moment: NamedMoment) -> int:
    """As far as that reading was moved whose two clocks lie as far apart as this row's: the one
    before it, or the one after.
    """
    beside = [row for row in (moment.row - 1, moment.row) if 0 <= row < len(rows.ns)]

    def clocks_apart(row: int) -> float:
        by_wall_s = (moment.ns - int(rows.ns[row])) / times.S
        by_monotonic_s = moment.mono - float(rows.mono[row])
        apart_s = abs(by_wall_s - by_monotonic_s)
        # NaN: a row without the second clock.
        return apart_s if apart_s == apart_s else float("inf")

    nearest = min(beside, key=clocks_apart)
    return int(joined.ns[nearest]) - int(rows.ns[nearest])


def limits(
    moments: Sequence[NamedMoment],
    zero: int,
) -> dict[tuple[str, str], tuple[PowerCap, ...]]:
    """What each channel, (source, name), is held to, and from when on."""
    caps_of_channel: dict[tuple[str, str], list[PowerCap]] = {}
    changes = [moment for moment in moments if moment.kind == LIMIT]
    changes.sort(key=lambda moment: moment.ns)
    for change in changes:
        caps = caps_of_channel.setdefault((change.source, change.name), [])
        caps.append(PowerCap(change.ns - zero, change.watts))
    return {key: tuple(caps) for key, caps in caps_of_channel.items()}


def paired(moments: Sequence[NamedMoment], zero: int) -> tuple[Mark, ...]:
    """Marks by their start. An end closes the last window of its name that is open; one that was
    never ended is a moment.

    An end without a begin (its part of the file is gone) says nothing.
    """
    marks: list[Mark] = []
    open_windows: dict[str, list[int]] = {}  # places among the marks, by name
    for moment in moments:
        since_zero = moment.ns - zero
        if moment.kind == LIMIT:
            continue
        if moment.kind == END:
            if opened := open_windows.get(moment.name):
                place = opened.pop()
                name = marks[place].name
                start = marks[place].start_ns
                marks[place] = Mark(name, start, max(start, since_zero))
            continue
        if moment.kind == BEGIN:
            open_windows.setdefault(moment.name, []).append(len(marks))
        marks.append(Mark(moment.name, since_zero))
    return tuple(sorted(marks, key=lambda mark: mark.start_ns))
