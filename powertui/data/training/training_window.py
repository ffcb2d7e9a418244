"""A stretch of a training with a name and its energy, and rows of such stretches that add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from powertui.data.energy import energy_rows
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_S
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Phases that are shorter get no row, and none in which they are named. Chosen, not measured.
MIN_PHASE_S = 0.5
# Energy from one moment of the axis to another (ps), with the ± of both.
EnergyBetween = Callable[[int, int, int], Energy | None]


@dataclass(frozen=True)
class TrainingWindow:
    """A stretch of a training with a name, and what it drew (None: there is no power)."""

    # "epoch", "validation", "pause", "checkpoint", "starting", "before", "after", "hour",
    # "training", "whole", "window"
    kind: str
    name: str
    epoch: int | None
    start: int  # ps on the axis
    end: int
    half: int  # ± of both bounds
    energy: Energy | None
    steps: tuple[int, int] | None = None  # of the rate's numbers
    joules_per_step: tuple[float, float, float] | None = None  # with its interval

    @property
    def step_count(self) -> int | None:
        """How many steps it had, where that is known."""
        if self.steps is not None:
            return self.steps[1] - self.steps[0]
        return None

    def row(self, name: str, level: int) -> EnergyRow:
        """The stretch as a row of a table."""
        return EnergyRow(
            kind=self.kind,
            name=name,
            epoch=self.epoch,
            length=self.end - self.start,
            energy=self.energy,
            start=self.start,
            level=level,
            steps=self.step_count,
        )


class WindowsOfTraining(NamedTuple):
    """The stretches that all rows are made of."""

    total: TrainingWindow
    training: TrainingWindow | None
    epochs: Sequence[TrainingWindow]
    phases: Sequence[TrainingWindow]  # by time, with those before and after the training


def rows_that_add_up(windows: WindowsOfTraining, energy_between: EnergyBetween) -> list[EnergyRow]:
    """Rows that add up: what is before and after the training, in it its epochs, and in each of
    these its start-up, validation, checkpoints, pauses and steps. The last row is all of it.
    """
    total = windows.total.row("all of it", 0)
    rows = [phase.row("before", 0) for phase in windows.phases if phase.kind == "before"]
    if windows.training is not None:
        rows += _rows_of_training(windows.training, windows, energy_between)
    rows += [phase.row("after", 0) for phase in windows.phases if phase.kind == "after"]
    top = [row for row in rows if not row.level]
    rest = energy_rows.remainder_row(total, top, "the rest") if top else None
    if rest is not None:
        rows.append(rest)
    return [*rows, total]


def _rows_of_training(
    training: TrainingWindow,
    windows: WindowsOfTraining,
    energy_between: EnergyBetween,
) -> list[EnergyRow]:
    """The training and its epochs; without any, what it is made of itself."""
    rows = [training.row(training.name, 0)]
    if not windows.epochs:
        return rows + _rows_inside(training, windows.phases, 1, energy_between)
    for epoch in windows.epochs:
        rows.append(epoch.row(epoch.name, 1))
        rows += _rows_inside(epoch, windows.phases, 2, energy_between)
    epochs = [row for row in rows if row.level == 1]
    rest = energy_rows.remainder_row(training.row("", 0), epochs, "between the epochs")
    if rest is not None:
        rows.append(replace(rest, level=1))
    return rows


def _rows_inside(
    window: TrainingWindow,
    phases: Sequence[TrainingWindow],
    level: int,
    energy_between: EnergyBetween,
) -> list[EnergyRow]:
    """What an epoch is made of; nothing where that is steps alone."""
    rows = []
    begin = window.start
    for phase in phases:
        lo = max(phase.start, begin)
        hi = min(phase.end, window.end)
        if phase.kind in ("before", "after") or hi - lo < MIN_PHASE_S * PS_PER_S:
            continue
        energy = phase.energy
        if (lo, hi) != (phase.start, phase.end):
            energy = energy_between(lo, hi, phase.half)
        if energy is None or not energy.resolved:
            continue
        rows.append(
            EnergyRow(
                kind=phase.kind,
                name=phase.name.replace(f" in epoch {phase.epoch}", ""),
                epoch=window.epoch,
                length=hi - lo,
                energy=energy,
                start=lo,
                level=level,
            )
        )
        begin = hi
    if not rows:
        return []
    rest = energy_rows.remainder_row(window.row("", 0), rows, "")
    if rest is not None:
        count = window.step_count
        name = energy_rows.rest_name(count)
        steps = replace(
            rest,
            kind="steps",
            name=name,
            epoch=window.epoch,
            level=level,
            steps=count,
        )
        rows.append(steps)
    return rows


def joules_per_step(
    energy: Energy | None,
    steps: tuple[int, int] | None,
    every: int,
) -> tuple[float, float, float] | None:
    """Joules of one step by how many were logged: the interval contains that of the energy, and a
    record more or less.
    """
    if steps is None or energy is None or energy.interval is None:
        return None
    count = steps[1] - steps[0]
    if count <= 0:
        return None
    joules, lo, hi = energy.interval
    spare = every / 2 if every > 1 else 0.0
    lowest = lo / (count + spare)
    highest = hi / max(count - spare, 1.0)
    return joules / count, lowest, highest
