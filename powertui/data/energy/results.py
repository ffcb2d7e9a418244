"""What the energy module knows of one host, as `Result`s: joules of epochs and steps, what stands
out, the sensors.

Asked through the registry of tools, which names these functions by module and imports them when
they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from powertui.data.energy import account, badges, device_energy, host_energy, tables
from powertui.data.energy import sensor as sensors
from powertui.data.energy.account import Account
from powertui.data.energy.align import Placed
from powertui.data.energy.device_energy import DevicePower
from powertui.data.energy.findings import finding_texts as words
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.integrate import Energy
from powertui.data.model import PS_PER_NS, PS_PER_S, Badge, PowerSeries
from powertui.data.table import Column, Fact, Lazy, Place, Result, Table, optional, text_column
from powertui.data.tools import steps as step_tool
from powertui.data.tools.registry import Question
from powertui.data.window import touches

_NO_POWER = "No power log was found with this run. Name one: --power FILE."

# ── joules of epochs and steps ───────────────────────────────────────────────────────────────────


def energy(question: Question) -> Result:
    """Energy of every epoch and every step that touches the window, and of the window itself."""
    found = account.energy_account(question.profile, question.aligning)
    whole = question.lo is None and question.hi is None
    lo, hi = found.trace.span if whole else question.window
    total = found.of_window(lo, hi)
    facts = [_joules("energy", "energy of the profile" if whole else "energy of the window", total)]
    if total is not None and total.resolved:
        facts += _parts(found, total)
    facts += _stands_on(found)
    shown = [_epochs(question, found), _steps(question, found), *_devices(question, found)]
    if len(question.opened.profiles) > 1:
        shown.append(
            host_energy.table(
                question.opened, host_energy.run_energy(question.opened, question.aligning)
            )
        )
    return Result("energy", "Energy", tuple(shown), tuple(facts), notes=_notes(found, total))


def _joules(id: str, label: str, one: Energy | None) -> Fact:
    if one is None or not one.resolved:
        return Fact(id, label, None, "number", "J", why=_NO_POWER if one is None else one.reason)
    return Fact(id, label, one.joules, "number", "J", one.badge, one.lo, one.hi)


def _parts(found: Account, total: Energy) -> list[Fact]:
    facts = [Fact("mean", "mean power", total.mean_w, "number", "W", total.badge)]
    if total.idle_joules is not None and total.active_joules is not None:
        at_most, at_least = (", at most", ", at least") if found.idle_at_most else ("", "")
        facts.append(
            Fact(
                "idle_joules",
                f"of which idle{at_most}",
                total.idle_joules,
                "number",
                "J",
                Badge.ESTIMATED,
            )
        )
        facts.append(
            Fact(
                "active_joules",
                f"above idle{at_least}",
                total.active_joules,
                "number",
                "J",
                Badge.ESTIMATED,
            )
        )
    if total.coverage < 0.9995:
        facts.append(Fact("coverage", "sampled", total.coverage, "share"))
    return facts


def _stands_on(found: Account) -> list[Fact]:
    facts = []
    if found.idle is not None or found.idle_text:
        badge, value = (
            (found.idle.badge, found.idle.value) if found.idle is not None else (None, None)
        )
        facts.append(Fact("idle", "idle power", value, "number", "W", badge, why=found.idle_text))
    alignment = found.alignment
    if alignment is not None and alignment.offset_s is not None:
        why = f"{alignment.status}, {alignment.source}"
        at = Fact(
            "offset",
            "power log begins at",
            alignment.offset_s,
            "number",
            "s",
            None,
            alignment.lo_s,
            alignment.hi_s,
            why,
        )
        facts += [at, Fact("placed", "placed", why)]
    return facts


def _notes(found: Account, total: Energy | None) -> tuple[str, ...]:
    whose = found.share.notes if found.share is not None else ()
    if not found.placed:
        return whose or (_NO_POWER,)
    notes = [*whose, *([f"Counted: {found.text}."] if found.text else [])]
    if found.apart:
        notes.append(found.apart)
    if total is not None and total.gain_j:
        notes.append(
            f"The sensor's own gain: ± {total.gain_j:.3g} J on this energy, systematic, not in "
            "the intervals."
        )
    steps = found.step_energies
    unresolved = [one for one in steps if not one.resolved]
    if unresolved:
        notes.append(f"Single steps: {len(unresolved):,} of {len(steps):,} {unresolved[0].reason}.")
    epochs = (one.energy for one in found.epoch_energies)
    if legend := badges.legend([total, *unresolved[:1], *epochs]):
        notes.append(f"{legend[0].upper()}{legend[1:]}.")
    return tuple(notes)


def _figures(found: Sequence[Energy | None]) -> tuple[Column, ...]:
    return (
        *tables.figures(found),
        optional(
            "max_watts",
            "max",
            "number",
            [e.max_w if e else None for e in found],
            unit="W",
            weight=2,
        ),
        optional(
            "active_joules",
            "above idle",
            "number",
            [e.active_joules if e else None for e in found],
            unit="J",
            weight=2,
        ),
    )


def _epochs(question: Question, found: Account) -> Table:
    windows = list(found.epoch_energies)
    if question.lo is not None or question.hi is not None:
        lo, hi = (
            np.array(side, np.int64)
            for side in ([one.lo for one in windows], [one.hi for one in windows])
        )
        windows = [windows[at] for at in np.flatnonzero(touches(lo, hi, *question.window)).tolist()]
    per_step = [found.per_step(one.index) for one in windows]
    means = [None if e is None or not e.resolved else e.joules for e in per_step]
    starts, ends = (
        np.array(side, np.int64)
        for side in ([one.lo for one in windows], [one.hi for one in windows])
    )
    columns = (
        Column(
            "number",
            "epoch",
            "integer",
            np.array([one.number for one in windows], np.int64),
            weight=9,
        ),
        Column("start_s", "start", "instant", starts, weight=6),
        Column("end_s", "end", "instant", ends, weight=3),
        Column("duration_s", "duration", "duration", ends - starts, weight=7),
        *_figures([one.energy for one in windows]),
        optional("joules_per_step", "a step", "number", means, unit="J", weight=5),
    )

    def place(row: int) -> Place:
        return Place(question.opened.name, question.host, int(starts[row]), int(ends[row]))

    return Table(
        "epochs",
        "Energy of each epoch",
        columns,
        place,
        ("number", False),
        "No epoch with known bounds.",
        ("number",),
        "epoch",
    )


def _steps(question: Question, found: Account) -> Table:
    steps = found.steps
    rows = step_tool.inside(question, steps)
    known = found.step_energies
    energies: list[Energy | None] = [known[row] if known else None for row in rows.tolist()]
    starts, ends = steps.start[rows], steps.ends()[rows]
    columns = (
        step_tool.epoch_column(steps, found.epochs, rows),
        step_tool.number_column(steps, rows),
        Column(
            "name",
            "name",
            "text",
            Lazy(len(rows), lambda row: steps.names[int(rows[row])]),
            weight=2,
        ),
        Column("start_s", "start", "instant", starts, weight=6),
        Column("end_s", "end", "instant", ends, weight=3),
        *_figures(energies),
    )

    def place(row: int) -> Place:
        return Place(question.opened.name, question.host, int(starts[row]), int(ends[row]))

    empty = step_tool.empty(steps)
    return Table(
        "steps",
        "Energy of each step",
        columns,
        place,
        ("start_s", False),
        empty,
        ("start_s",),
        "step",
    )


# ── joules of devices ────────────────────────────────────────────────────────────────────────────


def _devices(question: Question, found: Account) -> list[Table]:
    """The GPUs of the trace over the window, and each of its steps on each of them.

    Nothing where no GPU's power was logged.
    """
    known = device_energy.device_powers(found)
    if not known:
        return []
    whole = question.lo is None and question.hi is None
    lo, hi = found.trace.span if whole else question.window
    energies = [one.energy(lo, hi) for one in known]
    means = [one.per_step(None) for one in known]
    columns = (
        text_column("device", "device", [one.pair.device for one in known], weight=9),
        *_channel_columns(known),
        *_figures(energies),
        optional(
            "joules_per_step",
            "a step",
            "number",
            [e.joules if e else None for e in means],
            unit="J",
            weight=5,
        ),
    )

    def place(_row: int) -> Place:
        return Place(question.opened.name, question.host, lo, hi)

    table = Table(
        "devices",
        "Energy of each device",
        columns,
        place,
        ("device", False),
        "",
        ("device",),
        "device",
    )
    return [table, _device_steps(question, found, known)]


def _channel_columns(known: Sequence[DevicePower]) -> tuple[Column, ...]:
    return (
        text_column(
            "sensor",
            "sensor",
            [one.channel.sensor.label if one.channel is not None else None for one in known],
            weight=7,
        ),
        optional("sure", "sure", "flag", [one.pair.sure for one in known], weight=6),
        text_column("why", "taken for it", [one.pair.why for one in known], weight=3),
    )


def _device_steps(question: Question, found: Account, known: Sequence[DevicePower]) -> Table:
    steps = found.steps
    rows = step_tool.inside(question, steps)
    per_device = [one.step_energies for one in known]
    each = np.repeat(rows, len(known))
    own = np.tile(np.arange(len(known)), len(rows))
    energies: list[Energy | None] = [
        per_device[device][row] if per_device[device] else None
        for row, device in zip(each.tolist(), own.tolist(), strict=True)
    ]
    starts, ends = steps.start[each], steps.ends()[each]
    columns = (
        step_tool.epoch_column(steps, found.epochs, each),
        step_tool.number_column(steps, each),
        text_column(
            "device", "device", [known[device].pair.device for device in own.tolist()], weight=8
        ),
        Column("start_s", "start", "instant", starts, weight=6),
        Column("end_s", "end", "instant", ends, weight=3),
        *tables.figures(energies),
    )

    def place(row: int) -> Place:
        return Place(question.opened.name, question.host, int(starts[row]), int(ends[row]))

    empty = step_tool.empty(steps)
    return Table(
        "device_steps",
        "Energy of each step on each device",
        columns,
        place,
        ("start_s", False),
        empty,
        ("start_s",),
        "step",
    )


# ── what stands out ──────────────────────────────────────────────────────────────────────────────


def findings(question: Question) -> Result:
    """Stretches that drew power, or took time, that neither the trace, nor other epochs, nor their
    neighbours let expect.
    """
    profile = question.profile
    told = account.findings(profile, question.aligning)
    if question.lo is not None or question.hi is not None:
        starts, ends = (
            np.array([span[side] for span in _spans(told)], np.int64) for side in (0, 1)
        )
        rows = np.flatnonzero(touches(starts, ends, *question.window)).tolist()
        told = replace(told, findings=tuple(told.findings[row] for row in rows))
    notes = [words.folded(len(told.smaller)) + ", not listed"] if told.smaller else []
    notes += [
        text
        for text in (told.could, f"epochs were not compared: {told.reason}" if told.reason else "")
        if text
    ]
    return Result(
        "findings", "Findings", (tables.findings(told, profile),), notes=(*notes, *told.notes)
    )


def _spans(told: Findings) -> list[tuple[int, int]]:
    return [(one.start_ps, one.end_ps) for one in told.findings]


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

    def figures(id: str, label: str, unit: str, name: str, weight: int) -> Column:
        known = [getattr(one.series.sensor, name) for one in listed]
        return optional(
            id,
            label,
            "number",
            [None if f is None else f.value for f in known],
            unit=unit,
            weight=weight,
        )

    spans = [
        int(s.times[-1] - s.times[0]) * PS_PER_NS / PS_PER_S if len(s := one.series) > 1 else None
        for one in listed
    ]
    columns = (
        text_column("name", "sensor", [one.series.sensor.name for one in listed], weight=9),
        text_column("scope", "scope", [one.series.sensor.scope.value for one in listed], weight=7),
        text_column("source", "source", [one.series.sensor.source for one in listed], weight=6),
        text_column("sensor_host", "host", [one.series.sensor.host for one in listed], weight=1),
        Column(
            "readings",
            "readings",
            "integer",
            np.array([len(one.series) for one in listed], np.int64),
            weight=4,
        ),
        optional("span_s", "over", "number", spans, unit="s", weight=4),
        figures("poll_s", "polled", "s", "poll_s", 7),
        figures("refresh_s", "changes", "s", "refresh_s", 8),
        figures("quantum_w", "in steps of", "W", "quantum_w", 7),
        figures("window_s", "mean of", "s", "window_s", 3),
        figures("delay_s", "late by", "s", "delay_s", 2),
        figures("gain", "gain ±", "", "gain", 2),
        text_column("placed", "placed", [one.placed for one in listed], weight=5),
        optional("counted", "counted", "flag", [one.counted for one in listed], weight=5),
        text_column(
            "text", "what it resolves", [sensors.sentence(one.series) for one in listed], weight=2
        ),
        text_column("file", "file", [one.series.path for one in listed], weight=0),
    )
    table = Table(
        "sensors", "Sensors", columns, empty=_NO_POWER, key=("name", "file"), noun="channel"
    )
    return Result("sensors", "Sensors", (table,))


def _channels(question: Question) -> list[_Channel]:
    if not question.opened.profiles:
        described = (
            s if s.sensor.poll_s is not None else sensors.describe(s)
            for s in question.opened.run.power
        )
        return [_Channel(series, "no profile", None) for series in described]
    found = account.energy_account(question.profile, question.aligning)
    return [
        _Channel(one.power.series, _placed(one), at in found.counted)
        for at, one in enumerate(found.placed)
    ]


def _placed(one: Placed) -> str:
    """How a channel lies on the trace, or why it does not."""
    if one.alignment.elsewhere:
        return one.alignment.elsewhere
    return "unknown" if one.power.status == "none" else f"{one.power.status}, {one.power.source}"
