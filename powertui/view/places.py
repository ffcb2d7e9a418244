"""Where ":" goes: times, wall times, steps and epochs as a person writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import Int64s
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.place_words import PlaceWords, StretchWords, not_a_place, parse_stretch
from powertui.units import duration

if TYPE_CHECKING:
    from powertui.view.timeline_model import TimelineModel

_MAX_NAMED_EPOCHS = 4  # in a note that stands behind a place on one line


class Destination(NamedTuple):
    """A stretch of the timeline, or a moment where both ends are the same."""

    lo: int
    hi: int
    note: str = ""  # what else the words could mean, or what of it is not there


class SightPlace(NamedTuple):
    """What a place is in one profile: what is marked, what is in sight, and the cursor."""

    stretch: Destination | None
    view: Destination | None
    cursor: int | None


def destination(model: TimelineModel, text: str, near_ps: int | None) -> Destination:
    """Where a text leads: "27.31s-28.78s", "27.31s", "19:52:50", "step 12", "step 185-258", "epoch
    1", "epoch 1 step 185-258".

    Raises `UsageError` where it leads nowhere.
    """
    stretch = parse_stretch(text)
    return stretch_destination(model, stretch, near_ps)


def stretch_destination(
    model: TimelineModel,
    stretch: StretchWords,
    near_ps: int | None,
) -> Destination:
    """The same of a text that was read."""
    if stretch.steps is not None:
        return _steps(
            model,
            stretch.epoch,
            *stretch.steps,
            near_ps,
        )
    if stretch.epoch is not None:
        return _epoch(model, stretch.epoch)
    times = _by_clock(model, stretch) or stretch.times
    if times is None:  # wall time of a training that has none
        raise not_a_place(stretch.text)
    return _within(model, *times)


def place_in_sight(
    model: TimelineModel,
    words: PlaceWords,
    near_ps: int | None,
) -> SightPlace:
    """A place of this profile. Raises `UsageError` with what there is where it is none."""
    stretch = view = None
    if words.stretch is not None:
        stretch = stretch_destination(model, words.stretch, near_ps)
    if words.view is not None:
        view = _within(model, *words.view)
    if words.cursor is not None:
        _within(model, words.cursor, words.cursor)
    return SightPlace(stretch, view, words.cursor)


def _within(model: TimelineModel, lo: int, hi: int) -> Destination:
    """A stretch of time, as far as there is a timeline."""
    begin, end = model.span
    what = "profile" if model.surroundings is None else "training"
    if lo >= end:
        raise UsageError(
            f"{duration(lo)} is after the end: this {what} ends at {duration(end)}.",
            hint="Press End to go there.",
        )
    if hi < begin:
        raise UsageError(
            f"{duration(hi)} is before the start: this {what} starts at {duration(begin)}.",
            hint="Press Home to go there.",
        )
    if hi > end:
        return Destination(
            lo,
            end,
            f"this {what} ends there, before {duration(hi)}",
        )
    return Destination(lo, hi)


def _by_clock(model: TimelineModel, stretch: StretchWords) -> tuple[int, int] | None:
    """ "19:52:50" and "19:52:50-19:53:10": wall time in UTC, where the training has one."""
    surroundings = model.surroundings
    if surroundings is None or not surroundings.clock or stretch.wall is None:
        return None
    first_words, last_words = stretch.wall
    first = surroundings.at_clock(first_words)
    last = surroundings.at_clock(last_words)
    if first is None or last is None:
        return None
    return min(first, last), max(first, last)


# ── steps and epochs ─────────────────────────────────────────────────────────────────────────────


def _epoch(model: TimelineModel, number: int) -> Destination:
    bounds = model.epoch_bounds(_epoch_index(model, number))
    if bounds is None:
        raise UsageError(
            f"The start and end of epoch {number} are not known.",
            hint="Go to one of its steps instead.",
        )
    return Destination(*bounds)


def _steps(
    model: TimelineModel,
    epoch: int | None,
    first: int,
    last: int,
    near_ps: int | None,
) -> Destination:
    """From the start of the first of these steps to the end of the last."""
    steps = model.steps
    low = min(first, last)
    high = max(first, last)
    rows = np.flatnonzero((steps.number >= low) & (steps.number <= high))
    where = ""
    if epoch is not None:
        where = f" in epoch {epoch}"
        index = _epoch_index(model, epoch)
        rows = rows[steps.epoch[rows] == index]
    if not len(rows):
        raise UsageError(
            f"There is no step {first}{where} in this profile.", hint=_step_hint(model)
        )
    occurrences = _occurrences(model, rows)
    chosen = _nearest(model, occurrences, near_ps)
    note = ""
    if len(occurrences) > 1:
        note = _choice_note(model, occurrences, chosen)
    rows = occurrences[chosen]
    lo = int(steps.start[rows].min())
    hi = int(steps.ends()[rows].max())
    return Destination(lo, max(lo + 1, hi), note)


def _epoch_index(model: TimelineModel, number: int) -> int:
    for index, epoch in enumerate(model.epochs):
        if epoch.number == number:
            return index
    numbers = ", ".join(str(epoch.number) for epoch in model.epochs)
    raise UsageError(
        f"There is no epoch {number}.",
        hint=f"Epochs in this profile: {numbers or 'none'}.",
    )


def _step_hint(model: TimelineModel) -> str:
    steps = model.steps
    if not len(steps):
        return "No steps were found. Mark them with --step-marker REGEX."
    first = int(steps.number.min())
    last = int(steps.number.max())
    return f"Steps here: {first} to {last}."


def _occurrences(model: TimelineModel, rows: Int64s) -> list[Int64s]:
    """Each time that steps of these numbers ran: a counter that starts again, another epoch, or
    other steps between two of them begin a new one.
    """
    steps = model.steps
    number_change = np.diff(steps.number[rows])
    epoch_change = np.diff(steps.epoch[rows])
    has_steps_between = np.diff(rows) > 1
    begins = has_steps_between | (number_change <= 0) | (epoch_change != 0)
    # Steps that ran beside one another (of several hosts) follow with one number.
    starts = steps.start[rows]
    ends = steps.ends()[rows]
    overlaps = starts[1:] < ends[:-1]
    is_other_host = (number_change == 0) & overlaps
    last_rows = np.flatnonzero(begins & ~is_other_host)
    return np.split(rows, last_rows + 1)


def _nearest(
    model: TimelineModel,
    occurrences: list[Int64s],
    near_ps: int | None,
) -> int:
    """The occurrence in the cursor's epoch, else the one nearest to the cursor."""
    if near_ps is None:
        return 0
    steps = model.steps
    cursor_epoch = model.epoch_at(near_ps)

    def distance(occurrence: int) -> tuple[bool, int]:
        rows = occurrences[occurrence]
        lo = int(steps.start[rows].min())
        hi = int(steps.ends()[rows].max())
        epoch = int(steps.epoch[rows[0]])
        is_elsewhere = cursor_epoch is None or epoch != cursor_epoch
        distance_ps = max(lo - near_ps, near_ps - hi, 0)
        return is_elsewhere, distance_ps

    return min(range(len(occurrences)), key=distance)


def _choice_note(model: TimelineModel, occurrences: list[Int64s], chosen: int) -> str:
    """Which occurrence was chosen, and which others there are."""
    epochs = []
    for rows in occurrences:
        first_row = rows[0]
        epochs.append(int(model.steps.epoch[first_row]))
    is_once_in_each = len(set(epochs)) == len(epochs)
    if min(epochs) < 0 or not is_once_in_each:
        return f"{chosen + 1} of {len(occurrences)} times that this step ran"
    numbers = [str(model.epochs[epoch].number) for epoch in epochs]
    chosen_number = numbers.pop(chosen)
    noun = "epochs" if len(numbers) > 1 else "epoch"
    others = ", ".join(numbers[:_MAX_NAMED_EPOCHS])
    if len(numbers) > _MAX_NAMED_EPOCHS:
        others += " …"
    return f"epoch {chosen_number}; also in {noun} {others}"
