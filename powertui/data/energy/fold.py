"""Epochs laid onto each other step by step: by step number, not by time, because steps differ in
length.

What cannot be compared is named, not hidden: the first steps of an epoch that traced or compiled,
and what is around its steps (validation).
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.expected_work import TRACING_STEP_FACTOR
from powertui.data.model import PS_PER_S, Bools, Epochs, Floats, Int64s, PowerOnTrace, Steps
from powertui.data.quantiles import known_medians, median_of_column
from powertui.value_types import dataclass

_MAX_TRACING_STEPS = settings.USUAL_STEPS  # later long steps are no first run
# Of a step by readings: with less its mean is that of its neighbors.
_MIN_COVERAGE = settings.MAJORITY_SHARE


@dataclass(frozen=True, eq=False)
class Folded:
    """Columns are the steps that at least two epochs have, rows are the epochs.

    NaN and -1 where an epoch lacks one.
    """

    epochs: tuple[int, ...]  # the program's own numbers
    numbers: Int64s  # [epochs, steps]: the program's own step number
    start: Int64s  # ps
    end: Int64s  # ps: the next step's start, so that nothing between two steps is lost
    watts: Floats  # mean over each step; NaN without power
    seconds: Floats
    tracing: Bools  # [epochs, steps]: a first step that is known to be another kind of work
    notes: tuple[str, ...]

    @property
    def steps(self) -> int:
        return int(self.numbers.shape[1])


def fold(
    steps: Steps,
    epochs: Epochs,
    power: PowerOnTrace | None,
) -> Folded | str:
    """The folded epochs of one trace, or in a sentence why there is nothing to fold."""
    if not len(steps):
        return f"no steps were found: {steps.source}" if steps.source else "no steps were found"
    present = _epochs_with_steps(steps)
    if not present:
        return "the steps belong to no epoch"
    if len(present) < 2:
        return (
            "the profile has several steps of one epoch only, so there is none to compare it with"
        )
    rows = [np.flatnonzero(steps.epoch == epoch) for epoch in present]
    keys = _keys(steps, rows)
    names, counts = np.unique(np.concatenate(keys), return_counts=True)
    shared = names[counts >= 2]
    if not len(shared):
        return "no two epochs have a step number in common"
    shape = (len(present), len(shared))
    numbers, start, end = np.full((3, *shape), -1, np.int64)
    ends = steps.ends()
    for line, (epoch_rows, key) in enumerate(zip(rows, keys, strict=True)):
        is_shared = np.isin(key, shared)
        column = np.searchsorted(shared, key[is_shared])
        row = epoch_rows[is_shared]
        counted = np.flatnonzero(is_shared)
        number = steps.number[row]
        numbers[line, column] = np.where(number >= 0, number, counted)
        start[line, column] = steps.start[row]
        end[line, column] = ends[row]
    exists = start >= 0
    seconds = np.where(exists, (end - start) / PS_PER_S, np.nan)
    tracing = _tracing(seconds)
    watts = np.full(shape, np.nan)
    if power is not None and power.status != "none":
        watts = _watts(power, start, end, exists)
    labels = tuple(epochs[row].number if row < len(epochs) else row for row in present)
    return Folded(
        epochs=labels,
        numbers=numbers,
        start=start,
        end=end,
        watts=watts,
        seconds=seconds,
        tracing=tracing,
        notes=(*_tracing_notes(labels, tracing, seconds, numbers), *_phase_notes(epochs)),
    )


def _epochs_with_steps(steps: Steps) -> list[int]:
    """The epochs of two steps or more; of fewer there is nothing to lay on another one."""
    epochs, counts = np.unique(steps.epoch, return_counts=True)
    is_long = (epochs >= 0) & (counts >= 2)
    return [int(epoch) for epoch in epochs[is_long]]


def _median(values: Floats) -> float:
    """Of those that are known; NaN when none is.

    (numpy's own warns then, on the person's terminal.)
    """
    finite = values[np.isfinite(values)]
    if len(finite):
        return median_of_column(finite)
    return float("nan")


def medians(values: Floats) -> Floats:
    """The same of each column."""
    some = np.isfinite(values).any(axis=0)
    out = np.full(values.shape[1], np.nan)
    out[some] = known_medians(values[:, some])
    return out


def _keys(steps: Steps, rows: list[Int64s]) -> list[Int64s]:
    """What makes two steps the same: the program's number, counted within the epoch where it runs
    on over epochs.
    """
    numbers = [steps.number[epoch_rows] for epoch_rows in rows]
    if any((of_epoch < 0).any() for of_epoch in numbers):
        return [np.arange(len(epoch_rows)) for epoch_rows in rows]
    first, second = numbers[:2]
    shared = set(first.tolist()) & set(second.tolist())
    shorter = min(len(first), len(second))
    if 2 * len(shared) >= shorter:
        return numbers
    return [of_epoch - of_epoch[0] for of_epoch in numbers]


def _tracing(seconds: Floats) -> Bools:
    """Long steps at the very beginning of an epoch: the first, and those after it as long as they
    stay long.
    """
    longest_usual = TRACING_STEP_FACTOR * _median(seconds)
    is_slow = np.asarray(np.nan_to_num(seconds, nan=0.0) > longest_usual, np.bool_)
    is_slow[:, _MAX_TRACING_STEPS:] = False
    since_start: Bools = np.logical_and.accumulate(is_slow, axis=1)
    return since_start


def _watts(
    power: PowerOnTrace,
    start: Int64s,
    end: Int64s,
    exists: Bools,
) -> Floats:
    from powertui.data.energy import integrate  # only where power is

    energies = integrate.energies(power, start[exists], end[exists])
    covered_s = energies.coverage * (energies.hi_ps - energies.lo_ps) / PS_PER_S
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_w = energies.covered_joules / covered_s
    out = np.full(start.shape, np.nan)
    out[exists] = np.where(energies.coverage >= _MIN_COVERAGE, mean_w, np.nan)
    return out


def _tracing_notes(
    labels: tuple[int, ...],
    tracing: Bools,
    seconds: Floats,
    numbers: Int64s,
) -> list[str]:
    notes = []
    median_s = _median(seconds)
    for line, label in enumerate(labels):
        count = int(tracing[line].sum())
        if not count:
            continue
        took_s = np.nansum(seconds[line, :count])
        extra = float(took_s - count * median_s)
        first = int(numbers[line, 0])
        last = int(numbers[line, count - 1])
        steps = f"steps {first}-{last}"
        if count == 1:
            steps = f"step {first}"
        notes.append(
            f"epoch {label}, {steps}: tracing and first run, {extra:.2f} s longer than the "
            "median step; not compared"
        )
    return notes


def _phase_notes(epochs: Epochs) -> list[str]:
    notes = []
    for phase in epochs.phases:
        if phase.name == "tracing":
            continue  # noted above, step by step
        where = "between epochs"
        if phase.epoch is not None and phase.epoch < len(epochs):
            where = f"epoch {epochs[phase.epoch].number}"
        length_s = (phase.end - phase.start) / PS_PER_S
        notes.append(f"{where}: {phase.name}, {length_s:.2f} s; not compared")
    return notes
