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

import numpy as np

from powertui.data.energy import settings
from powertui.data.formats.filenames import MARKERS_FOLDER
from powertui.data.model import PS_PER_NS, UNKNOWN, Int64s, Mark, ScalarSeries, Steps
from powertui.data.quantiles import median_of_column
from powertui.data.training.training_parts import NO_RATE, Rate, ScalarStrip
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_MIN_RATE_RECORDS = settings.MIN_SPREAD_VALUES  # records that tell a rate
# Of the records of a tag: so many grow, or are on the main tag's line, but for a few restarts.
# Chosen, not measured.
_MIN_FORWARD_SHARE = settings.NEARLY_ALL_SHARE
_SAMPLED_RECORDS = 64  # of a tag, that are held against the main one; chosen, not measured
_EPOCH = "epoch"
_NUMBERED = late_pattern(
    r"^(?:global[ _-]?)?(?:step|batch|iteration|iter)[ _:#=-]*(\d{1,15})$", re.IGNORECASE
)
_NO_STEPS = ("validation", "val", "valid", "eval", "test", MARKERS_FOLDER)


def scalar_strips(scalars: Sequence[ScalarSeries]) -> tuple[ScalarStrip, ...]:
    """Every tag as one strip: what several files contain of it joined, by time."""
    series_by_tag: dict[tuple[str, str], list[ScalarSeries]] = {}
    for series in scalars:
        series_by_tag.setdefault((series.group, series.tag), []).append(series)
    strips = [_joined(group, tag, parts) for (group, tag), parts in series_by_tag.items()]
    main = _main(strips)
    return tuple(_with_unit(strip, main) for strip in strips)


def _joined(group: str, tag: str, parts: Sequence[ScalarSeries]) -> ScalarStrip:
    """One tag of several files, in the order of time."""
    at = parts[0].wall_ns
    step = parts[0].steps
    values = parts[0].values
    if len(parts) > 1:
        at = np.concatenate([series.wall_ns for series in parts])
        step = np.concatenate([series.steps for series in parts])
        values = np.concatenate([series.values for series in parts])
    falls = np.diff(at) < 0
    if falls.any():
        order = np.argsort(at, kind="stable")
        at = at[order]
        step = step[order]
        values = values[order]
    return ScalarStrip(
        group=group,
        tag=tag,
        at_ns=at,
        step=step,
        values=values,
        unit="",
    )


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
        if match is None:
            continue
        number = int(match[1])
        rows.add((mark.start_ns, number))
        if mark.end_ns is not None:
            rows.add((mark.end_ns, number + 1))
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
    half_ns = 0
    for session in sessions:
        steps = session.steps
        numbered = steps.number != UNKNOWN
        if steps.inferred or numbered.sum() < _MIN_RATE_RECORDS:
            continue
        half_ns = max(half_ns, session.half_ns)
        number = steps.number[numbered]
        starts = session.zero_ns + steps.start[numbered] // PS_PER_NS
        ends = starts + steps.duration[numbered] // PS_PER_NS
        # Where the numbers start over, the next step's start does not say when the last one of a
        # turn was done: its own end does.
        starts_over = number[1:] < number[:-1]
        is_last = np.append(starts_over, True)
        before_next = np.minimum(ends[:-1], starts[1:] - 1)
        ends[:-1] = np.where(is_last[:-1], before_next, ends[:-1])
        done_at_last = number[is_last] + 1
        rows += zip(starts.tolist(), number.tolist(), strict=True)
        rows += zip(ends[is_last].tolist(), done_at_last.tolist(), strict=True)
        within.append((int(starts.min()), int(ends.max())))
    rate = _numbered(sorted(rows), "the profiles' own step numbers", half_ns)
    return replace(rate, within=tuple(sorted(within)))


def _numbered(rows: Sequence[tuple[int, int]], source: str, half_ns: int) -> Rate:
    if len(rows) < _MIN_RATE_RECORDS:
        return NO_RATE
    at, step = np.array(rows, np.int64).T
    if not _grows(step):
        return NO_RATE
    rate = _rate(
        ScalarStrip(
            group="",
            tag=source,
            at_ns=at,
            step=step,
            values=np.zeros(len(at)),
            unit="steps",
        )
    )
    return replace(rate, half_ns=half_ns)


def _rate(main: ScalarStrip) -> Rate:
    """The rate by one strip. Of records with one and the same step the first counts."""
    is_moved = np.concatenate([[True], np.diff(main.step) != 0])
    step = main.step[is_moved]
    change = np.diff(step)
    is_forward = change > 0
    every = 0
    if is_forward.any():
        every = int(median_of_column(change[is_forward]))
    each = "every step" if every == 1 else f"every {every} steps"
    return Rate(
        at_ns=main.at_ns[is_moved],
        step=step,
        goes_on=np.concatenate([[False], is_forward]),
        source=f"{main.label}, {each}",
        every=every,
    )


def _main(strips: Sequence[ScalarStrip]) -> ScalarStrip | None:
    """The strip with the finest steps of training; epochs are none."""
    usable = []
    for strip in strips:
        if strip.group in _NO_STEPS or _counts_epochs(strip):
            continue
        if _grows(strip.step) >= _MIN_RATE_RECORDS:
            usable.append(strip)
    return max(usable, key=_fineness, default=None)


def _fineness(strip: ScalarStrip) -> tuple[int, int, str]:
    """By how finely a strip shows the steps: of about equally many records the one that counts
    slowest, for samples seen are steps times the batch.
    """
    counted = int(strip.step.max() - strip.step.min())
    return len(strip.step) // 2, -counted, strip.tag


def _grows(step: Int64s) -> int:
    """How many records there are, where their steps grow but for a few restarts; else 0."""
    if len(step) < 2:
        return 0
    change = np.diff(step)
    forward = int((change > 0).sum())
    moved = int((change != 0).sum())
    if forward >= _MIN_FORWARD_SHARE * max(1, moved):
        return forward + 1
    return 0


def _counts_epochs(strip: ScalarStrip) -> bool:
    """Whether a tag has one record an epoch: by its name, which Keras and many people give."""
    if strip.tag.startswith("epoch_"):
        return True
    if _EPOCH not in strip.tag.casefold() or len(strip.step) < 2:
        return False
    change = np.diff(strip.step)
    return bool((change[change > 0] == 1).all())


def _with_unit(strip: ScalarStrip, main: ScalarStrip | None) -> ScalarStrip:
    unit = ""
    if _counts_epochs(strip):
        unit = "epochs"
    elif main is not None and (strip is main or _same_line(strip, main)):
        unit = "steps"
    return replace(strip, unit=unit)


def _same_line(strip: ScalarStrip, main: ScalarStrip) -> bool:
    """Whether its numbers are between those that the main strip had logged before and after."""
    count = len(strip.at_ns)
    if not count or len(main.at_ns) < 2:
        return False
    sample_count = min(count, _SAMPLED_RECORDS)
    sampled = np.linspace(0, count - 1, sample_count).astype(np.int64)
    step = strip.step[sampled]
    last = len(main.at_ns) - 1
    following = main.at_ns.searchsorted(strip.at_ns[sampled])
    following = np.clip(following, 1, last)
    main_before = main.step[following - 1]
    main_after = main.step[following]
    # Both count as they log, so one may be a record ahead of the other.
    slack = np.maximum(np.abs(main_after - main_before), 1)
    is_above = step >= main_before - slack
    is_below = step <= main_after + slack
    is_inside = is_above & is_below
    return bool(is_inside.mean() > _MIN_FORWARD_SHARE)
