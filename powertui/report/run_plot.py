"""A run as a picture of matplotlib: power with its findings, and the steps below it.

matplotlib is no dependency: it is imported when somebody asks for a picture. Nothing touches
`pyplot`, so that no window opens, no backend is chosen, and no figure stays in memory.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from powertui.data.energy import account
from powertui.data.energy.findings.finding import Finding
from powertui.data.export.readings import about
from powertui.data.export.sheets import channel_names
from powertui.data.model import PS_PER_S, PS_PER_US, Floats, PowerOnTrace
from powertui.data.opened import Profile
from powertui.data.window import Window, window_summary
from powertui.errors import UsageError
from powertui.plain import plain

_SIZE_INCHES = (10.0, 5.0)  # readable at the width of a notebook
_POINTS_A_LINE = 20_000  # more than a wide picture has pixels: extremes of stretches are drawn
_NAME_CHARACTERS = 60
_MAX_LINEAR_RATIO = 8  # of the longest step to the median; chosen, not measured
_FINDING_COLOR = "tab:red"
_EPOCH_COLOR = "0.5"


def run_figure(profile: Profile, lo: int, hi: int) -> Any:
    """The picture of one host's profile between two times, as a `matplotlib.figure.Figure`.

    Raises `UsageError` where matplotlib is not installed.
    """
    try:
        matplotlib = importlib.import_module("matplotlib")
        importlib.import_module("matplotlib.figure")
    except ImportError:
        raise UsageError(
            "A picture of a run needs matplotlib, which is not installed here.",
            hint='pip install matplotlib. run.html("run.html") writes a page without it.',
        ) from None
    # Names come from files, and LaTeX runs what it is given.
    with matplotlib.rc_context({"text.usetex": False}):
        return _drawn(_figure_class(matplotlib), profile, lo, hi)


def _figure_class(matplotlib: Any) -> Any:
    """A `Figure` that shows itself in a notebook, which one without `pyplot` does not."""

    class RunFigure(matplotlib.figure.Figure):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", bbox_inches="tight")
            return buffer.getvalue()

    return RunFigure


def _drawn(figure_class: Any, profile: Profile, lo: int, hi: int) -> Any:
    energies = account.energy_account(profile)
    window = window_summary(
        profile.trace,
        lo,
        hi,
        steps=profile.steps,
        epochs=profile.epochs,
        power=energies.drawn,
    )
    figure = figure_class(figsize=_SIZE_INCHES, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for axes in (above, below):
        axes.grid(visible=True, alpha=0.3)
    _draw_power(above, window)
    _draw_findings(above, below, profile, window)
    _draw_steps(below, window)
    _draw_epochs(above, below, window)
    above.set_title(_text(f"{profile.opened.name}, host {profile.host}"), loc="left", fontsize=10)
    below.set_xlim(window.lo / PS_PER_S, window.hi / PS_PER_S)
    below.set_xlabel("time of the profile, s")
    if above.get_legend_handles_labels()[1]:
        above.legend(loc="lower right", fontsize=8)
    return figure


def _draw_power(axes: Any, window: Window) -> None:
    """A line for each channel that has a place on this profile; a gap stays one."""
    axes.set_ylabel("power, W")
    for name, channel in zip(channel_names(window.power), window.power, strict=True):
        times, watts = _in_sight(channel, window)
        label = f"{name} ({channel.badge.value})"
        axes.plot(times, watts, drawstyle="steps-mid", linewidth=1, label=_label(label))
    if not window.power:
        reason = "No power log is aligned with this profile."
        axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", va="center")
        axes.set_yticks([])
    elif len(axes.lines):
        axes.set_ylim(bottom=0)


def _in_sight(channel: PowerOnTrace, window: Window) -> tuple[Floats, Floats]:
    """Its readings (s, W) that are about the window; of very many the extremes of each stretch."""
    moments = about(channel)
    rows = np.flatnonzero((moments >= window.lo) & (moments < window.hi))
    times = moments[rows] / PS_PER_S
    watts = channel.watts[rows]
    if len(rows) <= _POINTS_A_LINE:
        return times, watts
    shown = []
    for part in np.array_split(np.arange(len(rows)), _POINTS_A_LINE // 2):
        part_watts = watts[part]
        if np.isnan(part_watts).all():
            shown.append(part[:1])
            continue
        lowest = int(np.nanargmin(part_watts))
        highest = int(np.nanargmax(part_watts))
        shown.append(part[sorted({lowest, highest})])
    chosen = np.concatenate(shown)
    return times[chosen], watts[chosen]


def _draw_findings(above: Any, below: Any, profile: Profile, window: Window) -> None:
    """A box over both charts for each finding."""
    for number, finding in enumerate(_findings(profile, window)):
        start = finding.start_ps / PS_PER_S
        end = finding.end_ps / PS_PER_S
        label = "finding" if number == 0 else None
        above.axvspan(start, end, color=_FINDING_COLOR, alpha=0.15, label=label)
        below.axvspan(start, end, color=_FINDING_COLOR, alpha=0.15)


def _findings(profile: Profile, window: Window) -> Iterator[Finding]:
    for finding in account.findings(profile).findings:
        if finding.start_ps < window.hi and finding.end_ps > window.lo:
            yield finding


def _draw_steps(axes: Any, window: Window) -> None:
    """A line from the start to the end of each step, as high as the step is long."""
    axes.set_ylabel("step, ms")
    rows = window.step_rows()
    if not len(rows):
        reason = "No step is known in this window."
        axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", va="center")
        axes.set_yticks([])
        return
    start = window.steps.start[rows]
    duration = window.steps.duration[rows]
    lengths = duration / (1000 * PS_PER_US)
    axes.hlines(lengths, start / PS_PER_S, (start + duration) / PS_PER_S, linewidth=2)
    known = lengths[lengths > 0]
    if len(known) and known.max() > _MAX_LINEAR_RATIO * np.median(known):
        # A step that compiles would press all others onto the axis.
        axes.set_yscale("log")
        axes.set_ylabel("step, ms (log scale)")
    else:
        axes.set_ylim(bottom=0)


def _draw_epochs(above: Any, below: Any, window: Window) -> None:
    """The number of each epoch, and a dashed line where it starts."""
    for index in window.epoch_rows():
        bounds = window.epochs.bounds(index, window.steps)
        if bounds is None:
            continue
        start = max(bounds[0], window.lo) / PS_PER_S
        if bounds[0] > window.lo:
            for axes in (above, below):
                axes.axvline(start, color=_EPOCH_COLOR, linestyle="--", linewidth=0.8)
        number = window.epochs[index].number
        above.annotate(
            f" epoch {number}",
            (start, 1),
            xycoords=("data", "axes fraction"),
            va="top",
            fontsize=8,
        )


def _label(text: str) -> str:
    """For a legend, which leaves out what begins with an underscore."""
    return _text(text if not text.startswith("_") else f" {text}")


def _text(text: str) -> str:
    """A name as matplotlib draws it: no formula between dollar signs."""
    return plain(text, _NAME_CHARACTERS).replace("$", r"\$")
