"""The first page of what has no profile: a power log alone, or a training of which only scalars and
power were kept.

What was measured, how well, what it came to, and the windows that can be gone to: epochs, phases,
hours, and those that the recording itself marked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data import elsewhere
from powertui.data.columns import Column, optional, text_column
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.tables import joules_fact, no_joules_fact
from powertui.data.model import NS_PER_S, PS_PER_S, PowerOnTrace
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.training.training_energy import training_energy
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_window import TrainingWindow

_ID = "training_overview"


def answer(axis: TrainingOnAxis) -> Result:
    """What there is of a training, on its own axis."""
    energy = training_energy(axis)
    all_of_it = energy.whole()
    facts = [
        Fact(
            id="length",
            label="length",
            value=all_of_it.end - all_of_it.start,
            kind="duration",
        ),
        *_when(axis),
        *_energy(all_of_it.energy),
    ]
    windows = [
        window
        for window in (energy.training(), *energy.epochs(), *energy.phases(), *energy.hours())
        if window is not None
    ]
    marked = [_marked(axis, mark) for mark in axis.marks]
    tables = (
        _windows([all_of_it, *windows, *marked]),
        _sensors([window.power for window in axis.placements]),
    )
    return Result(
        id=_ID,
        title="Overview",
        tables=tables,
        facts=tuple(facts),
        notes=_notes(axis),
    )


def _when(axis: TrainingOnAxis) -> list[Fact]:
    if not axis.wall:
        return []
    began = np.datetime64(axis.unix_ns(axis.start) // NS_PER_S, "s")
    return [
        Fact(
            id="from",
            label="from",
            value=f"{str(began).replace('T', ' ')} UTC",
        )
    ]


def _energy(energy: Energy | None) -> list[Fact]:
    if energy is None:
        return [no_joules_fact("energy", "energy", "no power was logged")]
    if not energy.resolved:
        return [no_joules_fact("energy", "energy", energy.reason)]
    facts = [
        joules_fact("energy", "energy", energy),
        Fact(
            id="mean",
            label="mean power",
            value=energy.mean_w,
            kind="number",
            unit="W",
            badge=energy.badge,
        ),
    ]
    if energy.max_w is not None:
        facts.append(
            Fact(
                id="max",
                label="highest reading",
                value=energy.max_w,
                kind="number",
                unit="W",
                badge=energy.badge,
            )
        )
    else:
        # Channels that were added up: no sensor read their sum.
        reason = "no sensor reads several channels together"
        facts.append(
            Fact(
                id="max",
                label="highest reading",
                value=None,
                kind="number",
                unit="W",
                why=reason,
            )
        )
    if energy.coverage < 0.9995:
        facts.append(
            Fact(
                id="coverage",
                label="sampled",
                value=energy.coverage,
                kind="share",
            )
        )
    return facts


def _marked(axis: TrainingOnAxis, mark: MarkOnTrace) -> TrainingWindow:
    end = mark.end_ps if mark.end_ps is not None else mark.start_ps
    energy = training_energy(axis).energy(mark.start_ps, end) if end > mark.start_ps else None
    return TrainingWindow(
        kind="marked",
        name=mark.name,
        epoch=None,
        start=mark.start_ps,
        end=end,
        half=0,
        energy=energy,
    )


def _windows(rows: Sequence[TrainingWindow]) -> Table:
    energies = [
        window.energy if window.energy is not None and window.energy.resolved else None
        for window in rows
    ]
    half = [
        (e.hi - e.lo) / 2 if e is not None and e.lo is not None and e.hi is not None else None
        for e in energies
    ]
    columns = (
        text_column("name", "window", [window.name for window in rows], weight=9),
        text_column("kind", "kind", [window.kind for window in rows], weight=2),
        Column(
            id="start_s",
            label="from",
            kind="instant",
            values=np.array([window.start for window in rows], np.int64),
            weight=6,
        ),
        Column(
            id="length_s",
            label="length",
            kind="duration",
            values=np.array([window.end - window.start for window in rows], np.int64),
            weight=8,
        ),
        optional(
            "joules",
            "energy",
            "number",
            [e.joules if e is not None else None for e in energies],
            unit="J",
            weight=9,
        ),
        optional("half_j", "±", "number", half, unit="J", weight=7),
        optional(
            "mean_w",
            "mean power",
            "number",
            [e.mean_w if e is not None else None for e in energies],
            unit="W",
            weight=8,
        ),
        text_column("why", "why no joules", [_why(window) for window in rows], weight=1),
    )

    def place(row: int) -> Place:
        return Place(lo=rows[row].start, hi=rows[row].end)

    return Table(
        id="windows",
        title="Windows",
        columns=columns,
        place=place,
        key=("name", "start_s"),
        noun="window",
    )


def _why(window: TrainingWindow) -> str:
    if window.energy is not None and not window.energy.resolved:
        return window.energy.reason
    return ""


def _sensors(channels: Sequence[PowerOnTrace]) -> Table:
    def figures(id: str, label: str, unit: str, weight: int) -> Column:
        figures_ = [getattr(channel.series.sensor, id) for channel in channels]
        return optional(
            id,
            label,
            "number",
            [None if figure is None else figure.value for figure in figures_],
            unit=unit,
            weight=weight,
        )

    gaps = [int(np.isnan(np.asarray(channel.series.watts)).sum()) for channel in channels]
    columns = (
        text_column(
            "name", "sensor", [channel.series.sensor.label for channel in channels], weight=9
        ),
        text_column(
            "source", "source", [channel.series.sensor.source for channel in channels], weight=4
        ),
        Column(
            id="readings",
            label="readings",
            kind="integer",
            values=np.array([len(channel.series) for channel in channels], np.int64),
            weight=7,
        ),
        Column(
            id="gaps",
            label="gaps",
            kind="integer",
            values=np.array(gaps, np.int64),
            weight=6,
        ),
        figures("poll_s", "polled", "s", 7),
        figures("refresh_s", "changes", "s", 8),
        figures("quantum_w", "in steps of", "W", 7),
        text_column(
            "placed",
            "placed",
            [
                f"{channel.status}, {channel.source}" if channel.status != "none" else "unknown"
                for channel in channels
            ],
            weight=5,
        ),
    )
    return Table(
        id="sensors",
        title="Sensors",
        columns=columns,
        empty="No power was logged.",
        key=("name",),
        noun="channel",
    )


def _notes(axis: TrainingOnAxis) -> tuple[str, ...]:
    hand = [
        (
            "Put together by hand: "
            f"{'; '.join(reason for reason in axis.training.entry.reasons if 'by hand' in reason)}."
        )
    ]
    warnings = [
        elsewhere.warning_text(warn)
        for placed in axis.placements
        for warn in placed.power.series.warnings
    ]
    clock = (
        "" if axis.wall else "Nothing here has wall time: times count from the start of this axis."
    )
    far = (
        f"Where things are in wall time is known to ±{units.duration(axis.half)}."
        if axis.half > PS_PER_S
        else ""
    )
    return tuple(
        dict.fromkeys(
            note for note in (clock, far, *hand[: axis.training.entry.by_hand], *warnings) if note
        )
    )
