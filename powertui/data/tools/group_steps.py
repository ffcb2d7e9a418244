"""The step of each group of events: from its mark on the host, or from its work on a device."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Int64s, Process, ProcessKind, Trace, Track, TrackKind
from powertui.data.run.grouping import Groups
from powertui.data.tools import pieces
from powertui.data.tools.pieces import LinePiece
from powertui.data.tools.typed_events import Typed

_NONE = np.empty(0, np.int64)


class GroupedPieces:
    """Events that belong to a group, and the marks of the host among them."""

    def __init__(
        self,
        groups: Groups,
        devices: list[Typed],
        hosts: list[Typed],
        *,
        only_devices: bool,
    ) -> None:
        self.devices, _ = pieces.line_pieces(groups, devices)
        self.hosts, self.marks = pieces.line_pieces(groups, [] if only_devices else hosts)


def longest_of_groups(group: Int64s, lo: Int64s, hi: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """The longest of each group's stretches, the first of several; both ends 0 where there
    is none.
    """
    longest_lo = np.zeros(count, np.int64)
    longest_hi = np.zeros(count, np.int64)
    length = hi - lo
    order = np.lexsort((lo, -length, group))
    groups, first = np.unique(group[order], return_index=True)
    longest = order[first]
    longest_lo[groups] = lo[longest]
    longest_hi[groups] = hi[longest]
    return longest_lo, longest_hi


def device_steps(
    trace: Trace,
    groups: Groups,
    work: list[LinePiece],
) -> tuple[Int64s, Int64s, dict[str, Bools]]:
    """(start and end of each group's longest step on a device, which groups each device has a step
    of).

    What the device's line of steps says; where it has none, from the first to the last of the
    group's work there.
    """
    count = len(groups.groups)
    drawn: dict[str, Bools] = {}
    group = [_NONE]
    lo = [_NONE]
    hi = [_NONE]
    for number, (process, track) in enumerate(trace.tracks()):
        if not _is_step_line(process, track):
            continue
        group_of_step = groups.groups_on_line(number).astype(np.int64)
        has_group = group_of_step >= 0
        on_device = drawn.setdefault(process.name, np.zeros(count, np.bool_))
        on_device[group_of_step[has_group]] = True
        group.append(group_of_step[has_group])
        lo.append(track.events.start[has_group])
        hi.append(track.events.end[has_group])
    for name in dict.fromkeys(piece.line.process.name for piece in work):
        if name in drawn:
            continue
        device_work = [piece for piece in work if piece.line.process.name == name]
        first_start, last_end = pieces.bounds(device_work, count)
        # No line of steps: what the group ran there is its step.
        drawn[name] = last_end > first_start
        worked = np.flatnonzero(drawn[name])
        group.append(worked)
        lo.append(first_start[worked])
        hi.append(last_end[worked])
    longest_lo, longest_hi = longest_of_groups(
        np.concatenate(group), np.concatenate(lo), np.concatenate(hi), count
    )
    return longest_lo, longest_hi, drawn


def _is_step_line(process: Process, track: Track) -> bool:
    is_of_device = process.kind is ProcessKind.DEVICE
    return is_of_device and track.kind is TrackKind.STEPS and len(track.events) > 0
