"""What a table is of, in words: the window, exactly; how long it is; its steps; the host and its
devices.
"""

from __future__ import annotations

import numpy as np

from powertui import units
from powertui.data import window as windows
from powertui.data.opened import Profile
from powertui.data.table import plural
from powertui.data.window import touches
from powertui.plain import plain, width
from powertui.view import truncation

_STRADDLED = "events across its ends count by the part inside"
_STRADDLED_SHORT = "events cut at its ends"


def table_heading(profile: Profile, window: tuple[int, int] | None, cells: int) -> str:
    """One line, the window first, of at most so many cells: what tells least is left out, and no
    figure is cut.
    """
    forms = _forms(profile, window)
    return next((form for form in forms if width(form) <= cells), truncation.end(forms[-1], cells))


def _forms(profile: Profile, window: tuple[int, int] | None) -> list[str]:
    """The same in ever fewer words."""
    trace, steps = profile.trace, profile.steps
    lo, hi = window or trace.span
    start, end = steps.start, steps.ends()
    inside = np.flatnonzero(touches(start, end, lo, hi))
    length, counted = units.duration(hi - lo), ""
    if len(inside) and window != (
        int(start[inside[0]]),
        int(end[inside[0]]),
    ):  # one step that is the window is named already
        part = window is not None and (int(start[inside[0]]) < lo or int(end[inside[-1]]) > hi)
        counted = f"{'parts of ' * part}{len(inside):,} {plural('step', len(inside))}"
    hosts = len(profile.opened.profiles)
    host = plain(trace.host, 30)
    if host:
        host = f"host {host}" + (f" ({profile.index + 1} of {hosts})" if hosts > 1 else "")
    devices = (
        f"{len(trace.devices)} {plural('device', len(trace.devices))}" if trace.devices else ""
    )
    named = _named(profile, window)
    straddled = window is not None and windows.window_summary(trace, lo, hi).straddled
    long, short = (_STRADDLED, _STRADDLED_SHORT) if straddled else ("", "")

    def form(parts: tuple[str, ...], remark: str) -> str:
        return f"{named}: {', '.join(part for part in parts if part)}{'; ' * bool(remark)}{remark}"

    return [
        form((length, counted, host, devices), long),
        form((length, counted, host, devices), short),
        form((length, counted, host), short),
        form((length, counted), short),
        form((length, counted, host), ""),
        form((length, counted), ""),
        form((length,), short),
        form((length,), ""),
        named,
    ]


def _named(profile: Profile, window: tuple[int, int] | None) -> str:
    if window is None:
        return "whole profile"
    lo, hi = window
    steps, epochs = profile.steps, profile.epochs
    for epoch in range(len(epochs)):
        if epochs.bounds(epoch, steps) == (lo, hi):
            return f"epoch {epochs[epoch].number}, exactly"
    end = steps.ends()
    first = np.flatnonzero(steps.start == lo)
    last = np.flatnonzero(end == hi)
    if len(first) and len(last) and last[-1] >= first[0]:
        a, b = int(first[0]), int(last[-1])
        epoch = int(steps.epoch[a])
        where = f"epoch {epochs[epoch].number}, " if 0 <= epoch < len(epochs) else ""
        numbers = [int(steps.number[row]) if steps.number[row] >= 0 else row for row in (a, b)]
        return (
            f"{where}step {numbers[0]}, exactly"
            if a == b
            else f"{where}steps {numbers[0]} to {numbers[1]}, exactly"
        )
    grid = units.resolution(hi - lo)
    return f"{units.instant(lo, grid)} to {units.instant(hi, grid)}"
