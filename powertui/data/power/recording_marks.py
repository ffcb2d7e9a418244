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
        return rows.said
    return [said._replace(ns=said.ns + _moved(rows, joined, said)) for said in rows.said]


def _moved(rows: RecordingRows, joined: Joined, said: NamedMoment) -> int:
    """As far as that reading was moved whose two clocks lie as far apart as this row's: the one
    before it, or the one after.
    """
    beside = [row for row in (said.row - 1, said.row) if 0 <= row < len(rows.ns)]

    def apart(row: int) -> float:
        off = (said.ns - int(rows.ns[row])) / times.S - (said.mono - float(rows.mono[row]))
        return abs(off) if off == off else float("inf")

    nearest = min(beside, key=apart)
    return int(joined.ns[nearest]) - int(rows.ns[nearest])


def limits(said: Sequence[NamedMoment], zero: int) -> dict[tuple[str, str], tuple[PowerCap, ...]]:
    """What each channel, (source, name), is held to, and from when on."""
    found: dict[tuple[str, str], list[PowerCap]] = {}
    for one in sorted((one for one in said if one.kind == LIMIT), key=lambda one: one.ns):
        found.setdefault((one.source, one.name), []).append(PowerCap(one.ns - zero, one.watts))
    return {key: tuple(caps) for key, caps in found.items()}


def paired(said: Sequence[NamedMoment], zero: int) -> tuple[Mark, ...]:
    """Marks by their start. An end closes the last window of its name that is open; one that was
    never ended is a moment.

    An end without a begin (its part of the file is gone) says nothing.
    """
    found: list[Mark] = []
    waiting: dict[str, list[int]] = {}
    for one in said:
        if one.kind == LIMIT:
            continue
        if one.kind == END:
            if opened := waiting.get(one.name):
                at = opened.pop()
                begun = found[at]
                found[at] = Mark(begun.name, begun.start_ns, max(begun.start_ns, one.ns - zero))
            continue
        if one.kind == BEGIN:
            waiting.setdefault(one.name, []).append(len(found))
        found.append(Mark(one.name, one.ns - zero))
    return tuple(sorted(found, key=lambda mark: mark.start_ns))
