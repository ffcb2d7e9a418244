"""The epochs of a training from its scalars: train and validation, each bound with its ± and what
says so.

    epoch scalars    one record an epoch, logged at its END (Keras, and any tag named so)
    an `epoch` tag   whose value is the number of the epoch (Lightning): it changes between two
                     records
    windows          named "epoch N" in a recording

Validation began after the last step that was logged in the epoch, and ended when its results were.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from powertui.data.formats.tfevents import EventLog
from powertui.data.model import Mark
from powertui.data.run.logged_epochs import LOGGED_NS, LoggedEpoch, from_logs
from powertui.data.training.training_parts import Moment, Rate, ScalarStrip, TrainedEpoch

_WINDOW = re.compile(r"^epoch[ _-]?(\d+)$", re.IGNORECASE)
_TRAIN = ("train", "training", "")


def trained_epochs(
    logs: Sequence[EventLog], strips: Sequence[ScalarStrip], rate: Rate, marks: Iterable[Mark] = ()
) -> tuple[TrainedEpoch, ...]:
    """All of them, by number. `marks` lie on Unix time."""
    own_logs = [log for log in logs if not log.is_marker]
    epochs = [_of_logged(epoch) for epoch in from_logs(own_logs)]
    if not epochs:
        epochs = _by_windows(marks) or _by_value(strips) or _by_tags(strips, rate)
    return tuple(numbered(epochs, strips, rate))


def _of_logged(logged: LoggedEpoch) -> TrainedEpoch:
    start = Moment(logged.start, LOGGED_NS) if logged.start is not None else None
    return TrainedEpoch(
        logged.number,
        start,
        Moment(logged.end, LOGGED_NS),
        None,
        None,
        "epoch scalars in tfevents",
        logged.scalars,
    )


def _by_windows(marks: Iterable[Mark]) -> list[TrainedEpoch]:
    epochs = []
    for mark in marks:
        match = _WINDOW.match(mark.name.strip())
        if match is not None and mark.end_ns is not None:
            epochs.append(
                TrainedEpoch(
                    int(match[1]),
                    Moment(mark.start_ns),
                    Moment(mark.end_ns),
                    None,
                    None,
                    "windows of a recording",
                )
            )
    return sorted(epochs, key=lambda epoch: epoch.number)


def _by_value(strips: Sequence[ScalarStrip]) -> list[TrainedEpoch]:
    """From a tag `epoch` whose value is the epoch's number."""
    tag = next(
        (
            strip
            for strip in strips
            if strip.tag.casefold() in ("epoch", "train/epoch") and len(strip.values) > 1
        ),
        None,
    )
    if tag is None:
        return []
    number = np.floor(tag.values + 1e-6)
    if not np.isfinite(number).all() or (np.diff(number) < 0).any() or number[-1] - number[0] < 1:
        return []
    at = np.flatnonzero(np.diff(number) > 0)
    bounds = [Moment(int(tag.at_ns[0]))]
    bounds += [_between(int(tag.at_ns[row]), int(tag.at_ns[row + 1])) for row in at.tolist()]
    bounds.append(Moment(int(tag.at_ns[-1])))
    names = [int(number[0]), *(int(number[row + 1]) for row in at.tolist())]
    return [
        TrainedEpoch(name, first, last, None, None, "values of the tag epoch")
        for name, first, last in zip(names, bounds, bounds[1:], strict=False)
    ]


def _by_tags(strips: Sequence[ScalarStrip], rate: Rate) -> list[TrainedEpoch]:
    """From a tag of the training with one record an epoch."""
    usable = [
        strip
        for strip in strips
        if strip.unit == "epochs" and strip.group in _TRAIN and len(strip.step) > 1
    ]
    if not usable:
        return []
    tag = max(usable, key=lambda strip: len(strip.step))
    first = int(rate.at_ns[0]) if len(rate) and rate.at_ns[0] < tag.at_ns[0] else None
    out = []
    for row, number in enumerate(tag.step.tolist()):
        start = (
            Moment(int(tag.at_ns[row - 1]), LOGGED_NS)
            if row
            else Moment(first, LOGGED_NS)
            if first is not None
            else None
        )
        out.append(
            TrainedEpoch(
                number,
                start,
                Moment(int(tag.at_ns[row]), LOGGED_NS),
                None,
                None,
                f"one record of {tag.label} an epoch",
            )
        )
    return out


def _between(lo: int, hi: int) -> Moment:
    return Moment((lo + hi) // 2, (hi - lo + 1) // 2)


# ── steps and validation ─────────────────────────────────────────────────────────────────────────


def numbered(
    epochs: Sequence[TrainedEpoch], strips: Sequence[ScalarStrip], rate: Rate
) -> list[TrainedEpoch]:
    """With the steps of each, and when its validation ran."""
    results = sorted(
        {
            int(ns)
            for strip in strips
            if strip.group not in _TRAIN
            for ns in strip.at_ns[:: max(1, len(strip.at_ns) // 100_000)].tolist()
        }
    )
    starts = np.array(results, np.int64)
    out = []
    before: int | None = None
    each = _steps_of_each(epochs, rate)
    for place, epoch in enumerate(epochs):
        if epoch.end is None:
            out.append(epoch)
            continue
        lo = epoch.start.ns if epoch.start is not None else -(1 << 62)
        rows = np.flatnonzero(
            (rate.at_ns > _turn(rate, lo)) & (rate.at_ns <= _turn(rate, epoch.end.ns))
        )
        steps = validation = last = None
        if len(rows) and rate.tells(lo, epoch.end.ns):
            last = int(rate.step[rows[-1]])
            already = (
                0 if rate.within else rate.every
            )  # a record tells what is done, a profile where its first begins
            first = before if before is not None else max(0, int(rate.step[rows[0]]) - already)
            first = min(first, int(rate.step[rows[0]]))
            steps = (first, last) if each is None else (each * place, each * (place + 1))
            validation = _validation(epoch, starts, rate, int(rows[-1]))
        before = last
        out.append(
            TrainedEpoch(
                epoch.number, epoch.start, epoch.end, validation, steps, epoch.source, epoch.scalars
            )
        )
    return out


def _turn(rate: Rate, bound: int) -> int:
    """The last moment of the turn that ends with an epoch: where its numbers start anew right at
    the bound, that moment.
    """
    anew = rate.at_ns[1:][~rate.goes_on[1:]]
    near = anew[np.abs(anew - bound) <= LOGGED_NS]
    return int(near[0]) - 1 if len(near) else bound


def _steps_of_each(epochs: Sequence[TrainedEpoch], rate: Rate) -> int | None:
    """How many steps an epoch has, where the records at the ends of all epochs leave one number."""
    low, high = 0.0, np.inf
    if (
        not len(rate)
        or rate.within
        or rate.every < 1
        or not rate.goes_on[1:].all()
        or rate.step[0] > 2 * rate.every
    ):
        return None
    for place, epoch in enumerate(epochs, 1):
        if epoch.end is None or epoch.number != epochs[0].number + place - 1:
            return None
        row = int(np.searchsorted(rate.at_ns, epoch.end.ns, side="right")) - 1
        if row < 0:
            return None
        low, high = (
            max(low, int(rate.step[row]) / place),
            min(high, (int(rate.step[row]) + rate.every) / place),
        )
    first = int(np.ceil(low - 1e-9))
    return first if epochs and first > 0 and first < high and first + 1 >= high - 1e-9 else None


def iterations(epochs: Sequence[TrainedEpoch], strips: Sequence[ScalarStrip]) -> int | None:
    """Steps of an epoch by tags that count iterations at its end (Keras'
    `evaluation_…_vs_iterations`); None: they disagree.
    """
    counts: set[int] = set()
    for strip in strips:
        if not strip.tag.endswith("_vs_iterations"):
            continue
        for wall, step in zip(strip.at_ns.tolist(), strip.step.tolist(), strict=True):
            for epoch in epochs:
                if (
                    epoch.start is not None
                    and epoch.end is not None
                    and epoch.start.ns < wall <= epoch.end.ns + 1_000_000_000
                ):
                    each, rest = divmod(step, epoch.number + 1)
                    counts.add(each if not rest else 0)
                    break
    return counts.pop() if len(counts) == 1 and 0 not in counts else None


def _validation(
    epoch: TrainedEpoch,
    results: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    rate: Rate,
    last: int,
) -> tuple[Moment, Moment] | None:
    """From the last logged step of an epoch (and at most as many more as lie between two records)
    to when results were logged.
    """
    assert epoch.end is not None
    near = results[(results > rate.at_ns[last]) & (results <= epoch.end.ns + 1_000_000_000)]
    if not len(near) or last < 1:
        return None
    end = int(near[0])
    gap = end - int(rate.at_ns[last])
    usual = float(np.nanmedian(np.diff(rate.at_ns[max(0, last - 20) : last + 1]))) if last else 0.0
    if gap <= 2 * usual:
        # no longer than from one record to the next: that there was a validation cannot be told
        return None
    begin = int(rate.at_ns[last])
    return Moment(begin, LOGGED_NS), Moment(min(end, epoch.end.ns + LOGGED_NS), LOGGED_NS)
