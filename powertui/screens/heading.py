"""The heading of a table in words: its window, length, steps, host and devices."""

from __future__ import annotations

import numpy as np

from powertui import units
from powertui.data import window as windows
from powertui.data.model import Steps
from powertui.data.opened import Profile
from powertui.data.table import plural
from powertui.data.window import touches
from powertui.plain import plain, width
from powertui.view import truncation

_STRADDLED = "events across its ends count by the part inside"
_STRADDLED_SHORT = "events cut at its ends"


def table_heading(profile: Profile, window: tuple[int, int] | None, cells: int) -> str:
    """One line of at most so many cells, the window first.

    What says least is left out where room is short; no figure is cut.
    """
    forms = _forms(profile, window)
    return next((form for form in forms if width(form) <= cells), truncation.end(forms[-1], cells))


def _forms(profile: Profile, window: tuple[int, int] | None) -> list[str]:
    """The heading in ever fewer words."""
    trace = profile.trace
    lo, hi = window or trace.span
    length = units.duration(hi - lo)
    steps = _step_count(profile, window)
    host = _host(profile)
    devices = ""
    if trace.devices:
        devices = f"{len(trace.devices)} {plural('device', len(trace.devices))}"
    name = _window_name(profile, window)
    long, short = "", ""
    if window is not None and windows.window_summary(trace, lo, hi).straddled:
        long = _STRADDLED
        short = _STRADDLED_SHORT

    def form(*parts: str, remark: str = "") -> str:
        words = f"{name}: {', '.join(part for part in parts if part)}"
        return f"{words}; {remark}" if remark else words

    return [
        form(length, steps, host, devices, remark=long),
        form(length, steps, host, devices, remark=short),
        form(length, steps, host, remark=short),
        form(length, steps, remark=short),
        form(length, steps, host),
        form(length, steps),
        form(length, remark=short),
        form(length),
        name,
    ]


def _step_count(profile: Profile, window: tuple[int, int] | None) -> str:
    """How many steps are in the window; "" for none."""
    start = profile.steps.start
    end = profile.steps.ends()
    lo, hi = window or profile.trace.span
    inside = np.flatnonzero(touches(start, end, lo, hi))
    if not len(inside):
        return ""
    first = inside[0]
    last = inside[-1]
    if window == (int(start[first]), int(end[first])):
        return ""  # the window is this one step, and is named so already
    is_cut = window is not None and (int(start[first]) < lo or int(end[last]) > hi)
    count = f"{len(inside):,} {plural('step', len(inside))}"
    return f"parts of {count}" if is_cut else count


def _host(profile: Profile) -> str:
    """The host; of several its number too."""
    host = plain(profile.trace.host, 30)
    if not host:
        return ""
    count = len(profile.opened.profiles)
    return f"host {host} ({profile.index + 1} of {count})" if count > 1 else f"host {host}"


def _window_name(profile: Profile, window: tuple[int, int] | None) -> str:
    """An epoch or steps where the window is exactly these, else its two ends."""
    if window is None:
        return "whole profile"
    lo, hi = window
    steps = profile.steps
    epochs = profile.epochs
    for epoch in range(len(epochs)):
        if epochs.bounds(epoch, steps) == (lo, hi):
            return f"epoch {epochs[epoch].number}, exactly"
    starts = np.flatnonzero(steps.start == lo)
    ends = np.flatnonzero(steps.ends() == hi)
    if len(starts) and len(ends) and ends[-1] >= starts[0]:
        first = int(starts[0])
        last = int(ends[-1])
        epoch = int(steps.epoch[first])
        where = f"epoch {epochs[epoch].number}, " if 0 <= epoch < len(epochs) else ""
        if first == last:
            return f"{where}step {_step_number(steps, first)}, exactly"
        numbers = f"{_step_number(steps, first)} to {_step_number(steps, last)}"
        return f"{where}steps {numbers}, exactly"
    grid = units.resolution(hi - lo)
    return f"{units.instant(lo, grid)} to {units.instant(hi, grid)}"


def _step_number(steps: Steps, row: int) -> int:
    """The step's number; its row where the profile has no numbers."""
    number = int(steps.number[row])
    return number if number >= 0 else row
