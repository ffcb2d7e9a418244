"""What a table is of, in words: the window, exactly; how long it is; its steps; the host and its devices."""

from __future__ import annotations

import numpy as np

from powertui import units
from powertui.data.opened import Profile
from powertui.data.table import plural
from powertui.data.window import touches
from powertui.plain import plain


def words(profile: Profile, window: tuple[int, int] | None) -> str:
    """One line, the window first."""
    trace, steps = profile.trace, profile.steps
    lo, hi = window or trace.span
    start, end = steps.start, steps.ends()
    inside = np.flatnonzero(touches(start, end, lo, hi))
    parts = [units.duration(hi - lo)]
    if len(inside):
        part = window is not None and (int(start[inside[0]]) < lo or int(end[inside[-1]]) > hi)
        parts.append(f"{'parts of ' * part}{len(inside):,} {plural('step', len(inside))}")
    hosts = len(profile.opened.profiles)
    host = plain(trace.host, 30)
    if host:
        parts.append(f"host {host}" + (f" ({profile.index + 1} of {hosts})" if hosts > 1 else ""))
    if trace.devices:
        parts.append(f"{len(trace.devices)} {plural('device', len(trace.devices))}")
    return f"{_named(profile, window)}: {', '.join(parts)}"


def _named(profile: Profile, window: tuple[int, int] | None) -> str:
    if window is None:
        return "whole profile"
    lo, hi = window
    steps, epochs = profile.steps, profile.epochs
    for epoch in range(len(epochs)):
        if epochs.bounds(epoch, steps) == (lo, hi):
            return f"epoch {epochs[epoch].number}, exactly"
    first = np.flatnonzero(steps.start == lo)
    last = np.flatnonzero((steps.ends() == hi) | (steps.start + steps.duration == hi))
    if len(first) and len(last) and last[-1] >= first[0]:
        a, b = int(first[0]), int(last[-1])
        epoch = int(steps.epoch[a])
        where = f"epoch {epochs[epoch].number}, " if 0 <= epoch < len(epochs) else ""
        numbers = [int(steps.number[row]) if steps.number[row] >= 0 else row for row in (a, b)]
        return f"{where}step {numbers[0]}, exactly" if a == b else f"{where}steps {numbers[0]} to {numbers[1]}, exactly"
    grid = units.resolution(hi - lo)
    return f"{units.instant(lo, grid)} to {units.instant(hi, grid)}, events across its ends count by the part inside"
