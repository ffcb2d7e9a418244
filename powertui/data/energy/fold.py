"""Epochs laid onto each other step by step: by step number, not by time, because steps differ in
length.

What cannot be compared is named, not hidden: the first steps of an epoch that traced or compiled,
and the steps at an epoch's ends whose sensor window reaches into what lies around them (validation,
the profile's edges).
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import integrate
from powertui.data.model import PS_PER_S, Bools, Epochs, Floats, Int64s, PowerOnTrace, Steps
from powertui.value_types import dataclass

# A first step that takes this many times the usual one traced or compiled. Chosen, not measured.
TRACING_STEP_FACTOR = 2.5


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
    comparable: Bools  # [epochs, steps]: power may be compared here
    tracing: Bools  # [epochs, steps]: a first step that is known to be another kind of work
    notes: tuple[str, ...]

    @property
    def steps(self) -> int:
        return int(self.numbers.shape[1])


def fold(steps: Steps, epochs: Epochs, power: PowerOnTrace | None) -> Folded | str:
    """The folded epochs of one trace, or in a sentence why there is nothing to fold."""
    if not len(steps):
        return "no steps were found" + (f": {steps.source}" if steps.source else "")
    present = [int(e) for e in np.unique(steps.epoch) if e >= 0]
    present = [e for e in present if (steps.epoch == e).sum() >= 2]
    if len(present) < 2:
        return (
            "the profile has several steps of one epoch only, so there is none to compare it with"
            if present
            else "the steps belong to no epoch"
        )
    rows = [np.flatnonzero(steps.epoch == e) for e in present]
    keys = _keys(steps, rows)
    names, counts = np.unique(np.concatenate(keys), return_counts=True)
    shared = names[counts >= 2]
    if not len(shared):
        return "no two epochs have a step number in common"
    shape = (len(present), len(shared))
    numbers, start, end = (np.full(shape, -1, np.int64) for _ in range(3))
    last = np.zeros(shape, np.bool_)
    ends = steps.ends()
    for line, (chosen, key) in enumerate(zip(rows, keys, strict=True)):
        column = np.searchsorted(shared, key)
        fits = column < len(shared)
        fits[fits] = shared[column[fits]] == key[fits]
        at, row = column[fits], chosen[fits]
        numbers[line, at] = np.where(
            steps.number[row] >= 0, steps.number[row], np.arange(len(chosen))[fits]
        )
        start[line, at] = steps.start[row]
        end[line, at] = ends[row]
        last[line, at[-1:]] = True
    there = start >= 0
    seconds = np.where(there, (end - start) / PS_PER_S, np.nan)
    tracing = _tracing(seconds)
    watts, comparable = np.full(shape, np.nan), np.zeros(shape, np.bool_)
    if power is not None and power.status != "none":
        watts = _watts(power, start, end, there)
        comparable = _clear(power, start, end, there) & ~tracing & np.isfinite(watts)
    labels = tuple(epochs[e].number if e < len(epochs) else e for e in present)
    return Folded(
        labels,
        numbers,
        start,
        end,
        watts,
        seconds,
        comparable,
        tracing,
        _notes(labels, tracing, seconds, numbers, epochs),
    )


def median(values: Floats) -> float:
    """Of those that are known; NaN when none is.

    (numpy's own warns then, on the person's terminal.)
    """
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def medians(values: Floats) -> Floats:
    """The same of each column."""
    some = np.isfinite(values).any(axis=0)
    out = np.full(values.shape[1], np.nan)
    out[some] = np.nanmedian(values[:, some], axis=0)
    return out


def _keys(steps: Steps, rows: list[Int64s]) -> list[Int64s]:
    """What makes two steps the same: the program's number, counted within the epoch where it runs
    on over epochs.
    """
    numbers = [steps.number[r] for r in rows]
    if any((n < 0).any() for n in numbers):
        return [np.arange(len(r)) for r in rows]
    shared = np.intersect1d(numbers[0], numbers[1])
    if 2 * len(shared) >= min(len(numbers[0]), len(numbers[1])):
        return numbers
    return [n - n[0] for n in numbers]


def _tracing(seconds: Floats) -> Bools:
    """Long steps at the very beginning of an epoch: the first, and those after it as long as they
    stay long.
    """
    usual = median(seconds)
    slow = np.asarray(np.nan_to_num(seconds, nan=0.0) > TRACING_STEP_FACTOR * usual, np.bool_)
    slow[:, min(20, slow.shape[1]) :] = False
    running: Bools = np.logical_and.accumulate(slow, axis=1)
    return running


def _watts(power: PowerOnTrace, start: Int64s, end: Int64s, there: Bools) -> Floats:
    energies = integrate.energies(power, start[there], end[there])
    length = energies.coverage * (energies.hi_ps - energies.lo_ps) / PS_PER_S
    out = np.full(start.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        out[there] = np.where(energies.coverage >= 0.5, energies.covered_joules / length, np.nan)
    return out


def _reach_ps(power: PowerOnTrace) -> float:
    """How far the power at a moment is mixed with what lies around it: half a window and half a
    refresh.
    """
    sensor = power.series.sensor
    window = sensor.window_s.value if sensor.window_s else 0.0
    refresh = (
        sensor.refresh_s.value
        if sensor.refresh_s
        else sensor.poll_s.value
        if sensor.poll_s
        else 0.0
    )
    return (window + refresh) / 2 * PS_PER_S


def _clear(power: PowerOnTrace, start: Int64s, end: Int64s, there: Bools) -> Bools:
    """Steps whose power is their own: the sensor's reach, and the alignment's, stays within the
    epoch's steps.
    """
    certain = (power.offset_hi_ps - power.offset_lo_ps) / 2 if power.status == "aligned" else 0
    reach = _reach_ps(power) + min(certain, _reach_ps(power))
    out: Bools = there.copy()
    for line in range(len(start)):
        if there[line].any():
            first, last = start[line][there[line]][0], end[line][there[line]][-1]
            out[line] &= (start[line] - reach >= first) & (end[line] + reach <= last)
    return out


def _notes(
    labels: tuple[int, ...], tracing: Bools, seconds: Floats, numbers: Int64s, epochs: Epochs
) -> tuple[str, ...]:
    notes = []
    for line, label in enumerate(labels):
        count = int(tracing[line].sum())
        if count:
            extra = float(np.nansum(seconds[line, :count]) - count * median(seconds))
            first, last = int(numbers[line, 0]), int(numbers[line, count - 1])
            what = f"step {first}" if count == 1 else f"steps {first}-{last}"
            notes.append(
                f"epoch {label}, {what}: tracing and first run, {extra:.2f} s longer than a "
                "usual step; not compared"
            )
    for phase in epochs.phases:
        if phase.name == "tracing":
            continue  # told above, step by step
        where = (
            f"epoch {epochs[phase.epoch].number}"
            if phase.epoch is not None and phase.epoch < len(epochs)
            else "between epochs"
        )
        notes.append(
            f"{where}: {phase.name}, {(phase.end - phase.start) / PS_PER_S:.2f} s; not compared"
        )
    return tuple(notes)
