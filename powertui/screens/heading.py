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
    for form in forms:
        if width(form) <= cells:
            return form
    return truncation.end(forms[-1], cells)


def _forms(profile: Profile, window: tuple[int, int] | None) -> list[str]:
    """The heading in ever fewer words."""
    trace = profile.trace
    lo, hi = window or trace.span
    length = units.duration(hi - lo)
    steps = _step_count(profile, window)
    host = _host(profile)
    # Beside sentences about all hosts a table of one of them must say so, however narrow it is.
    host_count = len(profile.opened.profiles)
    which_host = ""
    if host_count > 1:
        which_host = f"host {profile.index + 1} of {host_count}"
    devices = ""
    if trace.devices:
        count = len(trace.devices)
        devices = f"{count} {plural('device', count)}"
    name = _window_name(profile, window)
    long, short = "", ""
    if window is not None and windows.window_summary(trace, lo, hi).straddled:
        long = _STRADDLED
        short = _STRADDLED_SHORT

    def form(*parts: str, remark: str = "") -> str:
        words = f"{name}: {', '.join(filter(None, parts))}"
        if remark:
            words += f"; {remark}"
        return words

    return [
        form(length, steps, host, devices, remark=long),
        form(length, steps, host, devices, remark=short),
        form(length, steps, host, remark=short),
        form(length, steps, which_host, remark=short),
        form(length, steps, host),
        form(length, steps, which_host),
        form(length, which_host, remark=short),
        form(length, which_host),
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
    count = f"{len(inside):,} {plural('step', len(inside))}"
    is_cut = int(start[first]) < lo or int(end[last]) > hi
    if window is not None and is_cut:
        return f"parts of {count}"
    return count


def _host(profile: Profile) -> str:
    """The host; of several its number too."""
    host = plain(profile.trace.host, 30)
    if not host:
        return ""
    count = len(profile.opened.profiles)
    if count > 1:
        return f"host {host} ({profile.index + 1} of {count})"
    return f"host {host}"


def _window_name(profile: Profile, window: tuple[int, int] | None) -> str:
    """An epoch or steps where the window is exactly these, else its two ends."""
    if window is None:
        return "whole profile"
    lo, hi = window
    epochs = profile.epochs
    for epoch in range(len(epochs)):
        if epochs.bounds(epoch, profile.steps) == (lo, hi):
            return f"epoch {epochs[epoch].number}"
    steps = _steps_name(profile, lo, hi)
    if steps:
        return steps
    grid = units.resolution(hi - lo)
    return f"{units.instant(lo, grid)} to {units.instant(hi, grid)}"


def _steps_name(profile: Profile, lo: int, hi: int) -> str:
    """The step, or the steps, that a window is exactly; "" where it is none."""
    steps = profile.steps
    starts = np.flatnonzero(steps.start == lo)
    ends = np.flatnonzero(steps.ends() == hi)
    if not len(starts) or not len(ends) or ends[-1] < starts[0]:
        return ""
    first = int(starts[0])
    last = int(ends[-1])
    where = ""
    epoch = int(steps.epoch[first])
    if 0 <= epoch < len(profile.epochs):
        where = f"epoch {profile.epochs[epoch].number}, "
    first_number = _step_number(steps, first)
    if first == last:
        return f"{where}step {first_number}"
    return f"{where}steps {first_number} to {_step_number(steps, last)}"


def _step_number(steps: Steps, row: int) -> int:
    """The step's number; its row where the profile has no numbers."""
    number = int(steps.number[row])
    if number < 0:
        return row
    return number
