"""Step rate and step numbers: from any tag's steps with their wall times, else from a recording's
marks, else from the sessions.

Each tag may count in a unit of its own (batches, samples, epochs). The one that is logged most
often and only grows tells the steps; another tag counts the same where its numbers lie on that
one's line, and epochs where it has one record an epoch. Where no tag tells, windows and marks named
`step 120` do, and at last the numbers that the profiles of its sessions hold: between sessions they
are interpolated. What lies outside the sessions then is not known: how many steps an epoch had,
whether it paused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.formats.filenames import MARKERS_FOLDER
from powertui.data.model import UNKNOWN, Int64s, Mark, ScalarSeries, Steps
from powertui.data.training.training_parts import NO_RATE, Rate, ScalarStrip

_MIN_RATE_RECORDS = 4  # records that tell a rate
# Of the steps between two records: so near the line a tag counts the same. Chosen, not measured.
_MAX_LINE_ERROR = 0.02
_EPOCH = "epoch"
_NUMBERED = re.compile(
    r"^(?:global[ _-]?)?(?:step|batch|iteration|iter)[ _:#=-]*(\d{1,15})$", re.IGNORECASE
)
_NO_STEPS = ("validation", "val", "valid", "eval", "test", MARKERS_FOLDER)


def scalar_strips(scalars: Sequence[ScalarSeries]) -> tuple[ScalarStrip, ...]:
    """Every tag as one strip: what several files hold of it joined, by time."""
    by: dict[tuple[str, str], list[ScalarSeries]] = {}
    for series in scalars:
        by.setdefault((series.group, series.tag), []).append(series)
    joined = []
    for (group, tag), parts in by.items():
        at = (
            np.concatenate([series.wall_ns for series in parts])
            if len(parts) > 1
            else parts[0].wall_ns
        )
        step = (
            np.concatenate([series.steps for series in parts]) if len(parts) > 1 else parts[0].steps
        )
        values = (
            np.concatenate([series.values for series in parts])
            if len(parts) > 1
            else parts[0].values
        )
        if len(at) > 1 and (np.diff(at) < 0).any():
            order = np.argsort(at, kind="stable")
            at, step, values = at[order], step[order], values[order]
        joined.append(ScalarStrip(group, tag, at, step, values, ""))
    main = _main(joined)
    return tuple(_with_unit(series, main) for series in joined)


def step_rate(strips: Sequence[ScalarStrip]) -> Rate:
    """The rate by the strip that tells it best; empty where none does."""
    main = _main(strips)
    return NO_RATE if main is None else _rate(main)


def rate_from_marks(marks: Iterable[Mark]) -> Rate:
    """By windows and marks named `step 120` or `batch 7` (their times are Unix ns): so many were
    done when it began.
    """
    rows = set()
    for mark in marks:
        match = _NUMBERED.match(mark.name.strip())
        if match is not None:
            rows.add((mark.start_ns, int(match[1])))
            if mark.end_ns is not None:
                rows.add((mark.end_ns, int(match[1]) + 1))
    return _numbered(sorted(rows), "marks of a recording", 0)


class SessionSteps(NamedTuple):
    """The steps of one session, and where its zero lies (Unix ns, give or take)."""

    steps: Steps
    zero_ns: int
    half_ns: int


def rate_from_sessions(sessions: Iterable[SessionSteps]) -> Rate:
    """By the numbers that the program gave its steps in the profiles: so many were done when each
    began and when the last ended.
    """
    rows: list[tuple[int, int]] = []
    within: list[tuple[int, int]] = []
    half = 0
    for session in sessions:
        numbered = session.steps.number != UNKNOWN
        if session.steps.inferred or numbered.sum() < _MIN_RATE_RECORDS:
            continue
        half = max(half, session.half_ns)
        number, at = (
            session.steps.number[numbered],
            session.zero_ns + session.steps.start[numbered] // 1000,
        )
        ends = at + session.steps.duration[numbered] // 1000
        last = np.append(
            number[1:] < number[:-1], True
        )  # of its turn: when it was done, the next one's start does not tell
        ends[:-1] = np.where(last[:-1], np.minimum(ends[:-1], at[1:] - 1), ends[:-1])
        rows += zip(at.tolist(), number.tolist(), strict=True)
        rows += zip(ends[last].tolist(), (number[last] + 1).tolist(), strict=True)
        within.append((int(at.min()), int(ends.max())))
    return replace(
        _numbered(sorted(rows), "the profiles' own step numbers", half),
        within=tuple(sorted(within)),
    )


def _numbered(rows: Sequence[tuple[int, int]], source: str, half_ns: int) -> Rate:
    if len(rows) < _MIN_RATE_RECORDS:
        return NO_RATE
    at, step = np.array(rows, np.int64).T
    if not _grows(step):
        return NO_RATE
    rate = _rate(ScalarStrip("", source, at, step, np.zeros(len(at)), "steps"))
    return replace(rate, half_ns=half_ns)


def _rate(main: ScalarStrip) -> Rate:
    """The rate by one strip. Of records with one and the same step the first counts."""
    moved = np.concatenate([[True], (np.diff(main.step) != 0)])
    at, step = main.at_ns[moved], main.step[moved]
    change = np.diff(step)
    goes_on = np.concatenate([[False], change > 0])
    forward = change[change > 0]
    every = int(np.median(forward)) if len(forward) else 0
    each = "every step" if every == 1 else f"every {every} steps"
    return Rate(at, step, goes_on, f"{main.label}, {each}", every)


def _main(strips: Sequence[ScalarStrip]) -> ScalarStrip | None:
    """The strip with the finest steps of training; epochs are none."""
    usable = [
        strip
        for strip in strips
        if strip.group not in _NO_STEPS
        and not _counts_epochs(strip)
        and _grows(strip.step) >= _MIN_RATE_RECORDS
    ]
    if not usable:
        return None
    # Of equally many records the one that counts slowest: samples seen are steps times the batch.
    return max(
        usable,
        key=lambda strip: (
            len(strip.step) // 2,
            -int(strip.step.max() - strip.step.min()),
            strip.tag,
        ),
    )


def _grows(step: Int64s) -> int:
    """How many records there are, where their steps grow but for a few restarts; else 0."""
    if len(step) < 2:
        return 0
    moved = np.diff(step)
    forward = int((moved > 0).sum())
    return forward + 1 if forward >= 0.9 * max(1, int((moved != 0).sum())) else 0


def _counts_epochs(strip: ScalarStrip) -> bool:
    """Whether a tag has one record an epoch: by its name, which Keras and many people give."""
    if strip.tag.startswith("epoch_"):
        return True
    moved = np.diff(strip.step)
    return _EPOCH in strip.tag.casefold() and len(moved) > 0 and bool((moved[moved > 0] == 1).all())


def _with_unit(strip: ScalarStrip, main: ScalarStrip | None) -> ScalarStrip:
    unit = ""
    if _counts_epochs(strip):
        unit = "epochs"
    elif main is not None and (strip is main or _same_line(strip, main)):
        unit = "steps"
    return ScalarStrip(strip.group, strip.tag, strip.at_ns, strip.step, strip.values, unit)


def _same_line(strip: ScalarStrip, main: ScalarStrip) -> bool:
    """Whether its numbers are between those that the main strip had logged before and after."""
    count = len(strip.at_ns)
    if not count or len(main.at_ns) < 2:
        return False
    rows = np.linspace(0, count - 1, min(count, 64)).astype(np.int64)
    step = strip.step[rows]
    row = np.clip(main.at_ns.searchsorted(strip.at_ns[rows]), 1, len(main.at_ns) - 1)
    before, after = main.step[row - 1], main.step[row]
    slack = np.maximum(np.abs(after - before), 1)
    inside = (step >= before - slack) & (step <= after + slack)
    return bool(inside.mean() > 0.9)
