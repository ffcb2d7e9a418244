"""The epochs of a training from its scalars: train and validation, each bound with its ± and what
says so.

    epoch scalars    one record an epoch, logged at its END (Keras, and any tag named so)
    windows          named "epoch N" in a recording
    an `epoch` tag   whose value is the number of the epoch (Lightning): it changes between two
                     records
    a training tag   with one record an epoch

The first of these that tells any epoch tells all. Validation began after the last step that was
logged in the epoch, and ended when its results were.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import NS_PER_S, Int64s, Mark
from powertui.data.run.logged_epochs import LOGGED_NS, LoggedEpoch, from_logs
from powertui.data.training.training_parts import (
    Moment,
    Rate,
    ScalarStrip,
    TrainedEpoch,
    bounded_epochs,
    steps_of_each_epoch,
)
from powertui.patterns import late_pattern

_WINDOW = late_pattern(r"^epoch[ _-]?(\d+)$", re.IGNORECASE)
_TRAIN = ("train", "training", "")
_MAX_RESULTS = 100_000  # of validation, that are looked at; chosen, not measured
# Before the end of an epoch, that show how far apart they usually are; chosen.
_USUAL_RECORDS = settings.USUAL_STEPS


def trained_epochs(
    logs: Sequence[EventLog],
    strips: Sequence[ScalarStrip],
    rate: Rate,
    marks: Iterable[Mark],
) -> tuple[TrainedEpoch, ...]:
    """All of them, by number. `marks` are on Unix time."""
    program_logs = [log for log in logs if not log.is_marker]
    epochs = [_of_logged(epoch) for epoch in from_logs(program_logs)]
    if not epochs:
        epochs = _by_windows(marks) or _by_value(strips) or _by_tags(strips, rate)
    return tuple(numbered(epochs, strips, rate))


def _of_logged(logged: LoggedEpoch) -> TrainedEpoch:
    start = Moment(logged.start, LOGGED_NS) if logged.start is not None else None
    end = Moment(logged.end, LOGGED_NS)
    epoch = _bare_epoch(logged.number, start, end, "epoch scalars in tfevents")
    return replace(epoch, scalars=logged.scalars)


def _bare_epoch(number: int, start: Moment | None, end: Moment, source: str) -> TrainedEpoch:
    """An epoch whose steps and validation are not known yet."""
    return TrainedEpoch(
        number=number,
        start=start,
        end=end,
        validation=None,
        steps=None,
        source=source,
    )


def _by_windows(marks: Iterable[Mark]) -> list[TrainedEpoch]:
    epochs = []
    for mark in marks:
        match = _WINDOW.match(mark.name.strip())
        if match is not None and mark.end_ns is not None:
            start = Moment(mark.start_ns)
            end = Moment(mark.end_ns)
            epochs.append(_bare_epoch(int(match[1]), start, end, "windows of a recording"))
    return sorted(epochs, key=lambda epoch: epoch.number)


def _by_value(strips: Sequence[ScalarStrip]) -> list[TrainedEpoch]:
    """From a tag `epoch` whose value is the epoch's number."""
    tag = _epoch_tag(strips)
    if tag is None:
        return []
    source = "values of the tag epoch"
    number = np.floor(tag.values + 1e-6)
    change = np.diff(number)
    if not np.isfinite(number).all():
        return []
    if (change < 0).any() or not (change > 0).any():
        return []
    start = Moment(int(tag.at_ns[0]))
    epochs = []
    for row in np.flatnonzero(change > 0).tolist():
        before = int(tag.at_ns[row])
        after = int(tag.at_ns[row + 1])
        end = _between(before, after)
        epochs.append(_bare_epoch(int(number[row]), start, end, source))
        start = end
    end_of_last = Moment(int(tag.at_ns[-1]))
    epochs.append(_bare_epoch(int(number[-1]), start, end_of_last, source))
    return epochs


def _epoch_tag(strips: Sequence[ScalarStrip]) -> ScalarStrip | None:
    for strip in strips:
        if strip.tag.casefold() in ("epoch", "train/epoch") and len(strip.values) > 1:
            return strip
    return None


def _by_tags(strips: Sequence[ScalarStrip], rate: Rate) -> list[TrainedEpoch]:
    """From a tag of the training with one record an epoch."""
    usable = []
    for strip in strips:
        if strip.unit == "epochs" and strip.group in _TRAIN and len(strip.step) > 1:
            usable.append(strip)
    if not usable:
        return []
    tag = max(usable, key=lambda strip: len(strip.step))
    start: Moment | None = None
    if len(rate) and rate.at_ns[0] < tag.at_ns[0]:
        start = Moment(int(rate.at_ns[0]), LOGGED_NS)
    source = f"one record of {tag.label} an epoch"
    epochs = []
    for number, end_ns in zip(tag.step.tolist(), tag.at_ns.tolist(), strict=True):
        end = Moment(end_ns, LOGGED_NS)
        epochs.append(_bare_epoch(number, start, end, source))
        start = end
    return epochs


def _between(lo: int, hi: int) -> Moment:
    return Moment((lo + hi) // 2, (hi - lo + 1) // 2)


# ── steps and validation ─────────────────────────────────────────────────────────────────────────


def numbered(
    epochs: Sequence[TrainedEpoch],
    strips: Sequence[ScalarStrip],
    rate: Rate,
) -> list[TrainedEpoch]:
    """With the steps of each, and when its validation ran."""
    results = _validation_results(strips)
    numbered_epochs = []
    last_step: int | None = None  # of the epoch before
    steps_of_each = steps_of_each_epoch(epochs, rate)
    for place, epoch in enumerate(epochs):
        if epoch.end is None:
            numbered_epochs.append(epoch)
            continue
        lo = -(1 << 62)
        if epoch.start is not None:
            lo = epoch.start.ns
        hi = epoch.end.ns
        is_after = rate.at_ns > _turn(rate, lo)
        is_before = rate.at_ns <= _turn(rate, hi)
        rows = np.flatnonzero(is_after & is_before)
        if not len(rows) or not rate.tells(lo, hi):
            last_step = None
            numbered_epochs.append(replace(epoch, validation=None, steps=None))
            continue
        first = int(rate.step[rows[0]])
        last = int(rate.step[rows[-1]])
        done_before = last_step
        if done_before is None:
            # A record says what is done, a profile where its first step begins.
            done_before = max(0, first - (0 if rate.within else rate.every))
        steps = (min(done_before, first), last)
        if steps_of_each is not None and steps_of_each[0] == steps_of_each[1]:
            each = steps_of_each[0]
            steps = (each * place, each * (place + 1))
        validation = _validation(epoch, results, rate, int(rows[-1]))
        last_step = last
        numbered_epochs.append(replace(epoch, validation=validation, steps=steps))
    return numbered_epochs


def _validation_results(strips: Sequence[ScalarStrip]) -> Int64s:
    """When results of validation were logged, sorted; of very many a part."""
    moments: set[int] = set()
    for strip in strips:
        if strip.group not in _TRAIN:
            every = max(1, len(strip.at_ns) // _MAX_RESULTS)
            moments.update(strip.at_ns[::every].tolist())
    return np.array(sorted(moments), np.int64)


def has_validation(strips: Sequence[ScalarStrip]) -> bool:
    """Whether results of validation were logged."""
    return any(len(strip.at_ns) and strip.group not in _TRAIN for strip in strips)


def _turn(rate: Rate, bound: int) -> int:
    """The last moment of the turn that ends with an epoch: where its numbers start anew right at
    the bound, that moment.
    """
    starts_anew = ~rate.goes_on[1:]
    anew = rate.at_ns[1:][starts_anew]
    distance = np.abs(anew - bound)
    near = anew[distance <= LOGGED_NS]
    if not len(near):
        return bound
    return int(near[0]) - 1


def iterations(epochs: Sequence[TrainedEpoch], strips: Sequence[ScalarStrip]) -> int | None:
    """Steps of an epoch by tags that count iterations at its end (Keras'
    `evaluation_…_vs_iterations`); None: they disagree.
    """
    counts: set[int] = set()
    for strip in strips:
        if not strip.tag.endswith("_vs_iterations"):
            continue
        for wall_ns, step in zip(strip.at_ns.tolist(), strip.step.tolist(), strict=True):
            for epoch, start, end in bounded_epochs(epochs):
                if start.ns < wall_ns <= end.ns + NS_PER_S:
                    each, rest = divmod(step, epoch.number + 1)
                    counts.add(each if not rest else 0)
                    break
    if len(counts) == 1 and 0 not in counts:
        return counts.pop()
    return None


def _validation(
    epoch: TrainedEpoch,
    results: Int64s,
    rate: Rate,
    last: int,
) -> tuple[Moment, Moment] | None:
    """From the last logged step of an epoch (and at most as many more as there are between two
    records) to when results were logged.
    """
    assert epoch.end is not None
    begin_ns = int(rate.at_ns[last])
    latest_ns = epoch.end.ns + NS_PER_S
    near = results[(results > begin_ns) & (results <= latest_ns)]
    if not len(near) or last < 1:
        return None
    end_ns = int(near[0])
    first = max(0, last - _USUAL_RECORDS)
    gaps = np.diff(rate.at_ns[first : last + 1])
    usual_gap_ns = float(np.nanmedian(gaps))
    # No longer than from one record to the next: that there was a validation cannot be told.
    if end_ns - begin_ns <= 2 * usual_gap_ns:
        return None
    end_ns = min(end_ns, epoch.end.ns + LOGGED_NS)
    return Moment(begin_ns, LOGGED_NS), Moment(end_ns, LOGGED_NS)
