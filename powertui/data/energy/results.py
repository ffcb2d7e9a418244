"""What the energy module knows of one host, as `Result`s: joules of epochs and steps, what stands
out, the sensors.

Asked through the registry of tools, which names these functions by module and imports them when
they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.columns import Column, Lazy, optional, text_column
from powertui.data.energy import account, badges, host_energy, tables
from powertui.data.energy import sensor as sensors
from powertui.data.energy.device_tables import device_tables, table_of_steps
from powertui.data.energy.findings import finding_texts as words
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account, EpochEnergy
from powertui.data.model import PS_PER_NS, PS_PER_S, Badge, Int64s, PowerSeries
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools import steps as step_tool
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.value_types import dataclass

_WRITTEN_AS_FULL = 0.9995  # a share that is written as 100 %

# ── joules of epochs and steps ───────────────────────────────────────────────────────────────────


def energy(question: Question) -> Result:
    """Energy of every epoch and every step that touches the window, and of the window itself."""
    host_account = account.energy_account(question.profile, question.aligning)
    lo, hi = host_account.trace.span if question.is_of_all_time else question.window
    total = host_account.of_window(lo, hi)
    label = "energy of the profile" if question.is_of_all_time else "energy of the window"
    opened = question.opened
    facts = [_joules("energy", label, total, opened.why_no_power or tables.NO_POWER)]
    if total is not None and total.resolved:
        facts += _parts(host_account, total)
    facts += _stands_on(host_account)
    shown = [
        _epochs(question, host_account),
        _steps(question, host_account),
        *device_tables(question, host_account),
    ]
    if len(opened.profiles) > 1:
        shown.append(host_energy.table(opened, host_energy.run_energy(opened, question.aligning)))
    return Result(
        id="energy",
        title="Energy",
        tables=tuple(shown),
        facts=tuple(facts),
        notes=_notes(host_account, total) or tuple(filter(None, [opened.why_no_power])),
    )


def _joules(id: str, label: str, measured: Energy | None, why_none: str) -> Fact:
    if measured is None:
        return tables.no_joules_fact(id, label, why_none)
    if not measured.resolved:
        return tables.no_joules_fact(id, label, measured.reason)
    return tables.joules_fact(id, label, measured)


def _parts(host_account: Account, total: Energy) -> list[Fact]:
    facts = [
        Fact(
            id="mean",
            label="mean power",
            value=total.mean_w,
            kind="number",
            unit="W",
            badge=total.badge,
        )
    ]
    if total.idle_joules is not None and total.active_joules is not None:
        at_most, at_least = (", at most", ", at least") if host_account.idle_at_most else ("", "")
        idle = f"of which idle{at_most}"
        active = f"above idle{at_least}"
        facts += [
            Fact(
                id="idle_joules",
                label=idle,
                value=total.idle_joules,
                kind="number",
                unit="J",
                badge=Badge.ESTIMATED,
            ),
            Fact(
                id="active_joules",
                label=active,
                value=total.active_joules,
                kind="number",
                unit="J",
                badge=Badge.ESTIMATED,
            ),
        ]
    if total.coverage < _WRITTEN_AS_FULL:
        facts.append(Fact("coverage", "sampled", total.coverage, "share"))
    return facts


def _stands_on(host_account: Account) -> list[Fact]:
    facts = []
    idle, idle_text = host_account.idle, host_account.idle_text
    if idle is not None:
        watts, badge = idle.value, idle.badge
        facts.append(
            Fact(
                id="idle",
                label="idle power",
                value=watts,
                kind="number",
                unit="W",
                badge=badge,
                why=idle_text,
            )
        )
    elif idle_text:
        facts.append(
            Fact(
                id="idle",
                label="idle power",
                value=None,
                kind="number",
                unit="W",
                why=idle_text,
            )
        )
    alignment = host_account.alignment
    if alignment is not None and alignment.offset_s is not None:
        why = f"{alignment.status}, {alignment.source}"
        facts.append(
            Fact(
                id="offset",
                label="power log begins at",
                value=alignment.offset_s,
                kind="number",
                unit="s",
                lo=alignment.lo_s,
                hi=alignment.hi_s,
                why=why,
            )
        )
        facts.append(Fact("placed", "placed", why))
    return facts


def _notes(host_account: Account, total: Energy | None) -> tuple[str, ...]:
    if not host_account.placed:
        return host_account.owner_notes
    notes = [*host_account.owner_notes]
    if host_account.text:
        notes.append(f"Counted: {host_account.text}.")
    if host_account.apart:
        notes.append(host_account.apart)
    if total is not None and total.gain_j:
        gain = units.energy(total.gain_j, figures=2)
        rest = units.energy(total.error, figures=2)
        notes.append(
            f"The intervals contain the sensor's gain, ± {gain} on this energy, "
            f"which is the same for every window; the rest is ± {rest}."
        )
    steps = host_account.step_energies
    unresolved = [part for part in steps if not part.resolved]
    if unresolved:
        notes.append(f"Single steps: {len(unresolved):,} of {len(steps):,} {unresolved[0].reason}.")
    epochs = (part.energy for part in host_account.epoch_energies)
    legend = badges.legend([total, *unresolved[:1], *epochs])
    if legend:
        notes.append(f"{legend[0].upper()}{legend[1:]}.")
    return tuple(notes)


def _bounds(epochs: Sequence[EpochEnergy]) -> tuple[Int64s, Int64s]:
    starts = np.array([epoch.lo for epoch in epochs], np.int64)
    ends = np.array([epoch.hi for epoch in epochs], np.int64)
    return starts, ends


def _epochs(question: Question, host_account: Account) -> Table:
    epochs = list(host_account.epoch_energies)
    if question.lo is not None or question.hi is not None:
        rows = np.flatnonzero(touches(*_bounds(epochs), *question.window))
        epochs = [epochs[row] for row in rows.tolist()]
    per_step: list[float | None] = []
    for epoch in epochs:
        mean = host_account.per_step(epoch.index)
        per_step.append(mean.joules if mean is not None and mean.resolved else None)
    starts, ends = _bounds(epochs)
    numbers = np.array([epoch.number for epoch in epochs], np.int64)
    columns = (
        Column("number", "epoch", "integer", numbers, weight=9),
        Column("start_s", "start", "instant", starts, weight=6),
        Column("end_s", "end", "instant", ends, weight=3),
        Column("duration_s", "duration", "duration", ends - starts, weight=7),
        *tables.all_figures([epoch.energy for epoch in epochs]),
        optional("joules_per_step", "a step", "number", per_step, unit="J", weight=5),
    )

    def place(row: int) -> Place:
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=int(starts[row]),
            hi=int(ends[row]),
        )

    return Table(
        id="epochs",
        title="Energy of each epoch",
        columns=columns,
        place=place,
        order=("number", False),
        empty="No epoch with known bounds.",
        key=("number",),
        noun="epoch",
    )


def _steps(question: Question, host_account: Account) -> Table:
    steps = host_account.steps
    rows = step_tool.inside(question, steps)
    step_energies = host_account.step_energies
    energies: list[Energy | None] = [None] * len(rows)
    if step_energies:
        energies = [step_energies[row] for row in rows.tolist()]
    starts = steps.start[rows]
    ends = steps.ends()[rows]
    names = Lazy(len(rows), lambda row: steps.names[int(rows[row])])
    columns = (
        step_tool.epoch_column(steps, host_account.epochs, rows),
        step_tool.number_column(steps, rows),
        Column("name", "name", "text", names, weight=2),
        Column("start_s", "start", "instant", starts, weight=6),
        Column("end_s", "end", "instant", ends, weight=3),
        *tables.all_figures(energies),
    )

    return table_of_steps("steps", "Energy of each step", columns, question, (steps, rows))


# ── what stands out ──────────────────────────────────────────────────────────────────────────────


def findings(question: Question) -> Result:
    """Stretches that drew power, or took time, that neither the trace, nor other epochs, nor their
    neighbors let expect.
    """
    profile = question.profile
    result = account.findings(profile, question.aligning)
    if question.lo is not None or question.hi is not None:
        result = _within(result, *question.window)
    notes = []
    if result.smaller:
        notes.append(f"{words.folded(len(result.smaller))}, not listed")
    if result.could:
        notes.append(result.could)
    if result.reason:
        notes.append(f"epochs were not compared: {result.reason}")
    table = tables.findings(result, profile)
    return Result(
        id="findings",
        title="Findings",
        tables=(table,),
        notes=(*notes, *result.notes),
    )


def _within(result: Findings, lo: int, hi: int) -> Findings:
    """The findings that touch a window."""
    starts = np.array([finding.start_ps for finding in result.findings], np.int64)
    ends = np.array([finding.end_ps for finding in result.findings], np.int64)
    rows = np.flatnonzero(touches(starts, ends, lo, hi)).tolist()
    return replace(result, findings=tuple(result.findings[row] for row in rows))


# ── sensors ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Channel:
    """One channel of a power log, and how it lies on the trace."""

    series: PowerSeries
    placed: str
    counted: bool | None


def sensors_found(question: Question) -> Result:
    """The channels of power found with the run, and what each can resolve.

    Asked of a run without a profile, too.
    """
    listed = _channels(question)
    all_series = [channel.series for channel in listed]

    def figures(
        id: str,
        label: str,
        unit: str,
        name: str,
        weight: int,
    ) -> Column:
        figures = [getattr(series.sensor, name) for series in all_series]
        values = [None if figure is None else figure.value for figure in figures]
        return optional(id, label, "number", values, unit=unit, weight=weight)

    scopes = [series.sensor.scope.value for series in all_series]
    sentences = [sensors.sentence(series) for series in all_series]
    counts = np.array([len(series) for series in all_series], np.int64)
    spans = [_span_s(series) for series in all_series]
    counted = [channel.counted for channel in listed]
    columns = (
        text_column("name", "sensor", [series.sensor.name for series in all_series], weight=9),
        text_column("scope", "scope", scopes, weight=7),
        text_column("source", "source", [series.sensor.source for series in all_series], weight=6),
        text_column(
            "sensor_host", "host", [series.sensor.shown_host for series in all_series], weight=1
        ),
        Column("readings", "readings", "integer", counts, weight=4),
        optional("span_s", "over", "number", spans, unit="s", weight=4),
        figures("poll_s", "polled", "s", "poll_s", 7),
        figures("refresh_s", "changes", "s", "refresh_s", 8),
        figures("quantum_w", "in steps of", "W", "quantum_w", 7),
        figures("window_s", "mean of", "s", "window_s", 3),
        figures("delay_s", "late by", "s", "delay_s", 2),
        figures("gain", "gain ±", "", "gain", 2),
        text_column("placed", "placed", [channel.placed for channel in listed], weight=5),
        optional("counted", "counted", "flag", counted, weight=5),
        text_column("text", "what it resolves", sentences, weight=2),
        text_column("file", "file", [series.path for series in all_series], weight=0),
    )
    table = Table(
        id="sensors",
        title="Sensors",
        columns=columns,
        empty=question.opened.why_no_power,
        key=("name", "file"),
        noun="channel",
    )
    return Result("sensors", "Sensors", (table,))


def _span_s(series: PowerSeries) -> float | None:
    if len(series) < 2:
        return None
    return int(series.times[-1] - series.times[0]) * PS_PER_NS / PS_PER_S


def _channels(question: Question) -> list[_Channel]:
    if not question.opened.profiles:
        channels = []
        for series in question.opened.run.power:
            channels.append(_Channel(sensors.described(series), "no profile", None))
        return channels
    host_account = account.energy_account(question.profile, question.aligning)
    return [
        _Channel(channel.power.series, _placed(channel), row in host_account.counted)
        for row, channel in enumerate(host_account.placed)
    ]


def _placed(channel: Placed) -> str:
    """How a channel is placed on the trace, or why it is not."""
    if channel.alignment.elsewhere:
        return channel.alignment.elsewhere
    if channel.power.status == "none":
        return "unknown"
    return f"{channel.power.status}, {channel.power.source}"
