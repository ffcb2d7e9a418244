"""What the energy module knows of one host, as `Result`s: joules of epochs and steps, what stands
out, the sensors.

Asked through the registry of tools, which names these functions by module and imports them when
they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import account, badges, device_energy, host_energy, tables
from powertui.data.energy import sensor as sensors
from powertui.data.energy.account import Account
from powertui.data.energy.device_energy import DevicePower
from powertui.data.energy.findings import finding_texts as words
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_NS, PS_PER_S, Badge, PowerSeries
from powertui.data.table import Column, Fact, Lazy, Place, Result, Table, optional, text_column
from powertui.data.tools import steps as step_tool
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.value_types import dataclass

_NO_POWER = "No power log was found with this run. Name one: --power FILE."

# ── joules of epochs and steps ───────────────────────────────────────────────────────────────────


def energy(question: Question) -> Result:
    """Energy of every epoch and every step that touches the window, and of the window itself."""
    host_account = account.energy_account(question.profile, question.aligning)
    is_whole_profile = question.lo is None and question.hi is None
    lo, hi = host_account.trace.span if is_whole_profile else question.window
    total = host_account.of_window(lo, hi)
    facts = [
        _joules(
            "energy", "energy of the profile" if is_whole_profile else "energy of the window", total
        )
    ]
    if total is not None and total.resolved:
        facts += _parts(host_account, total)
    facts += _stands_on(host_account)
    shown = [
        _epochs(question, host_account),
        _steps(question, host_account),
        *_devices(question, host_account),
    ]
    if len(question.opened.profiles) > 1:
        shown.append(
            host_energy.table(
                question.opened, host_energy.run_energy(question.opened, question.aligning)
            )
        )
    return Result("energy", "Energy", tuple(shown), tuple(facts), notes=_notes(host_account, total))


def _joules(id: str, label: str, measured: Energy | None) -> Fact:
    if measured is None or not measured.resolved:
        return Fact(
            id, label, None, "number", "J", why=_NO_POWER if measured is None else measured.reason
        )
    return Fact(id, label, measured.joules, "number", "J", measured.badge, measured.lo, measured.hi)


def _parts(host_account: Account, total: Energy) -> list[Fact]:
    facts = [Fact("mean", "mean power", total.mean_w, "number", "W", total.badge)]
    if total.idle_joules is not None and total.active_joules is not None:
        at_most, at_least = (", at most", ", at least") if host_account.idle_at_most else ("", "")
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


def _stands_on(host_account: Account) -> list[Fact]:
    facts = []
    if host_account.idle is not None or host_account.idle_text:
        badge, value = (
            (host_account.idle.badge, host_account.idle.value)
            if host_account.idle is not None
            else (None, None)
        )
        facts.append(
            Fact("idle", "idle power", value, "number", "W", badge, why=host_account.idle_text)
        )
    alignment = host_account.alignment
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


def _notes(host_account: Account, total: Energy | None) -> tuple[str, ...]:
    whose = host_account.owner_notes
    if not host_account.placed:
        return whose or (_NO_POWER,)
    notes = [*whose, *([f"Counted: {host_account.text}."] if host_account.text else [])]
    if host_account.apart:
        notes.append(host_account.apart)
    if total is not None and total.gain_j:
        notes.append(
            f"The intervals contain the sensor's gain, ± {total.gain_j:.3g} J on this energy, "
            f"which is the same for every window; the rest is ± {total.half:.3g} J."
        )
    steps = host_account.step_energies
    unresolved = [part for part in steps if not part.resolved]
    if unresolved:
        notes.append(f"Single steps: {len(unresolved):,} of {len(steps):,} {unresolved[0].reason}.")
    epochs = (part.energy for part in host_account.epoch_energies)
    if legend := badges.legend([total, *unresolved[:1], *epochs]):
        notes.append(f"{legend[0].upper()}{legend[1:]}.")
    return tuple(notes)


def _epochs(question: Question, host_account: Account) -> Table:
    windows = list(host_account.epoch_energies)
    if question.lo is not None or question.hi is not None:
        lo, hi = (
            np.array(side, np.int64)
            for side in ([epoch.lo for epoch in windows], [epoch.hi for epoch in windows])
        )
        windows = [windows[at] for at in np.flatnonzero(touches(lo, hi, *question.window)).tolist()]
    per_step = [host_account.per_step(epoch.index) for epoch in windows]
    means = [None if e is None or not e.resolved else e.joules for e in per_step]
    starts, ends = (
        np.array(side, np.int64)
        for side in ([epoch.lo for epoch in windows], [epoch.hi for epoch in windows])
    )
    columns = (
        Column(
            "number",
            "epoch",
            "integer",
            np.array([epoch.number for epoch in windows], np.int64),
            weight=9,
        ),
        Column("start_s", "start", "instant", starts, weight=6),
        Column("end_s", "end", "instant", ends, weight=3),
        Column("duration_s", "duration", "duration", ends - starts, weight=7),
        *tables.all_figures([epoch.energy for epoch in windows]),
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


def _steps(question: Question, host_account: Account) -> Table:
    steps = host_account.steps
    rows = step_tool.inside(question, steps)
    step_energies = host_account.step_energies
    energies: list[Energy | None] = [
        step_energies[row] if step_energies else None for row in rows.tolist()
    ]
    starts, ends = steps.start[rows], steps.ends()[rows]
    columns = (
        step_tool.epoch_column(steps, host_account.epochs, rows),
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
        *tables.all_figures(energies),
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


def _devices(question: Question, host_account: Account) -> list[Table]:
    """The GPUs of the trace over the window, and each of its steps on each of them.

    Nothing where no GPU's power was logged.
    """
    devices = device_energy.device_powers(host_account)
    if not devices:
        return []
    is_whole_profile = question.lo is None and question.hi is None
    lo, hi = host_account.trace.span if is_whole_profile else question.window
    energies = [device.energy(lo, hi) for device in devices]
    means = [device.per_step(None) for device in devices]
    columns = (
        text_column("device", "device", [device.pair.device for device in devices], weight=9),
        *_channel_columns(devices),
        *tables.all_figures(energies),
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
    return [table, _device_steps(question, host_account, devices)]


def _channel_columns(devices: Sequence[DevicePower]) -> tuple[Column, ...]:
    return (
        text_column(
            "sensor",
            "sensor",
            [
                device.channel.sensor.label if device.channel is not None else None
                for device in devices
            ],
            weight=7,
        ),
        optional("sure", "sure", "flag", [device.pair.sure for device in devices], weight=6),
        text_column("why", "taken for it", [device.pair.why for device in devices], weight=3),
    )


def _device_steps(
    question: Question, host_account: Account, devices: Sequence[DevicePower]
) -> Table:
    steps = host_account.steps
    rows = step_tool.inside(question, steps)
    per_device = [device_power.step_energies for device_power in devices]
    each = np.repeat(rows, len(devices))
    device_rows = np.tile(np.arange(len(devices)), len(rows))
    energies: list[Energy | None] = [
        per_device[device][row] if per_device[device] else None
        for row, device in zip(each.tolist(), device_rows.tolist(), strict=True)
    ]
    starts, ends = steps.start[each], steps.ends()[each]
    columns = (
        step_tool.epoch_column(steps, host_account.epochs, each),
        step_tool.number_column(steps, each),
        text_column(
            "device",
            "device",
            [devices[device].pair.device for device in device_rows.tolist()],
            weight=8,
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
    result = account.findings(profile, question.aligning)
    if question.lo is not None or question.hi is not None:
        starts, ends = (
            np.array([span[side] for span in _spans(result)], np.int64) for side in (0, 1)
        )
        rows = np.flatnonzero(touches(starts, ends, *question.window)).tolist()
        result = replace(result, findings=tuple(result.findings[row] for row in rows))
    notes = [words.folded(len(result.smaller)) + ", not listed"] if result.smaller else []
    notes += [
        text
        for text in (
            result.could,
            f"epochs were not compared: {result.reason}" if result.reason else "",
        )
        if text
    ]
    return Result(
        "findings", "Findings", (tables.findings(result, profile),), notes=(*notes, *result.notes)
    )


def _spans(result: Findings) -> list[tuple[int, int]]:
    return [(finding.start_ps, finding.end_ps) for finding in result.findings]


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
        values = [getattr(channel.series.sensor, name) for channel in listed]
        return optional(
            id,
            label,
            "number",
            [None if figure is None else figure.value for figure in values],
            unit=unit,
            weight=weight,
        )

    spans = [
        int(s.times[-1] - s.times[0]) * PS_PER_NS / PS_PER_S
        if len(s := channel.series) > 1
        else None
        for channel in listed
    ]
    columns = (
        text_column("name", "sensor", [channel.series.sensor.name for channel in listed], weight=9),
        text_column(
            "scope", "scope", [channel.series.sensor.scope.value for channel in listed], weight=7
        ),
        text_column(
            "source", "source", [channel.series.sensor.source for channel in listed], weight=6
        ),
        text_column(
            "sensor_host", "host", [channel.series.sensor.host for channel in listed], weight=1
        ),
        Column(
            "readings",
            "readings",
            "integer",
            np.array([len(channel.series) for channel in listed], np.int64),
            weight=4,
        ),
        optional("span_s", "over", "number", spans, unit="s", weight=4),
        figures("poll_s", "polled", "s", "poll_s", 7),
        figures("refresh_s", "changes", "s", "refresh_s", 8),
        figures("quantum_w", "in steps of", "W", "quantum_w", 7),
        figures("window_s", "mean of", "s", "window_s", 3),
        figures("delay_s", "late by", "s", "delay_s", 2),
        figures("gain", "gain ±", "", "gain", 2),
        text_column("placed", "placed", [channel.placed for channel in listed], weight=5),
        optional("counted", "counted", "flag", [channel.counted for channel in listed], weight=5),
        text_column(
            "text",
            "what it resolves",
            [sensors.sentence(channel.series) for channel in listed],
            weight=2,
        ),
        text_column("file", "file", [channel.series.path for channel in listed], weight=0),
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
    host_account = account.energy_account(question.profile, question.aligning)
    return [
        _Channel(channel.power.series, _placed(channel), at in host_account.counted)
        for at, channel in enumerate(host_account.placed)
    ]


def _placed(channel: Placed) -> str:
    """How a channel lies on the trace, or why it does not."""
    if channel.alignment.elsewhere:
        return channel.alignment.elsewhere
    return (
        "unknown"
        if channel.power.status == "none"
        else f"{channel.power.status}, {channel.power.source}"
    )
