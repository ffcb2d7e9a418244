"""What stands beside the timeline: where the cursor is, what is under it, what the selection holds.

Facts only, no drawing.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from powertui import units
from powertui.data import window as windows
from powertui.data.category import MEANINGS, Category
from powertui.data.model import PS_PER_NS, PS_PER_S, PS_PER_US, Badge, Int64s, PowerOnTrace
from powertui.plain import plain
from powertui.value_types import dataclass
from powertui.view import power_facts
from powertui.view.power_curve import channel_curve
from powertui.view.power_facts import LinePower
from powertui.view.surroundings import Surroundings
from powertui.view.time_navigation import State
from powertui.view.timeline_model import Selected, TimelineModel

if TYPE_CHECKING:
    from powertui.data.energy.measured_energy import Energy

_MAX_NAMED_DEVICES = 2  # of more the numbers say as much (chosen by eye)
_MAX_NOTE_CHARS = 300  # of a note in the pane; the list of notes has all of it
# Rows of the pane that each kind of fact may take (chosen by eye: more would push the others out of
# a small window).
_MAX_SENSORS = 2  # channels whose sensors are shown
_MAX_NOTES = 2
_MAX_SCALARS = 4
_MAX_PROCESSES = 8
# Of many epochs a glance has the first two, whose difference a person asks for, and the last.
MAX_GLANCE_EPOCHS = 3
_FOREMOST = ("notes", "selected", "window")  # titles of what a person pointed at


def _wall_time(ps: int, grid: int) -> str:
    """A moment of Unix time in ps, as fine as the grid, in UTC."""
    seconds, fraction_ps = divmod(ps, PS_PER_S)
    try:
        moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    except (OverflowError, OSError, ValueError):
        return "out of range"
    clock = moment.strftime("%H:%M:%S")
    decimals = min(9, units.decimals_for(grid, PS_PER_S))
    if decimals:
        fraction = fraction_ps // 10 ** (12 - decimals)
        clock += f".{fraction:0{decimals}d}"
    return f"{clock} UTC"


@dataclass(frozen=True)
class ContextLine:
    """One line: a name, a value, and how far the value can be trusted where it is a figure of
    energy or power.
    """

    name: str
    value: str
    badge: Badge | None = None
    category: Category | None = None  # coloured after it


@dataclass(frozen=True)
class Section:
    title: str
    facts: tuple[ContextLine, ...]


@dataclass(frozen=True)
class Context:
    """Sections from top to bottom. Everything in it is safe to draw."""

    sections: tuple[Section, ...]
    is_pointed: bool = False  # whether something is selected, marked or noted there

    @classmethod
    def for_state(
        cls, model: TimelineModel, state: State, power: Sequence[PowerOnTrace] = ()
    ) -> Context:
        lines = power_facts.power_lines(model, state, power)
        sections = [_run(model), _place(model, state, power, lines)]
        sections.extend(_step(model, state, lines))
        if state.selection is not None:
            sections.append(_event(model, state, state.selection, lines))
        else:
            sections.extend(_under_cursor(model, state))
        if state.window is not None:
            sections.append(_window(model, state.window, lines))
        elif not len(model.tracks):
            # What each channel is worth, where nothing else is to be told beside it.
            sections.extend(_sensor(channel) for channel in power[:_MAX_SENSORS])
        is_pointed = state.selection is not None or state.window is not None
        return cls(tuple(section for section in sections if section.facts), is_pointed)

    def for_low_pane(self) -> tuple[Section, ...]:
        """The sections by what a person looks at now, as a low pane loses the last: what was
        selected, marked or written there first; the run itself, which the heading names, last.
        """

        def place(section: Section) -> int:
            if section.title in _FOREMOST:
                return 0
            return 2 if section.title == "run" else 1

        return tuple(sorted(self.sections, key=place))

    def with_notes(self, texts: Sequence[str]) -> Context:
        """The same with notes that a person wrote here, before everything else."""
        if not texts:
            return self
        lines = tuple(ContextLine("note", plain(text, _MAX_NOTE_CHARS)) for text in texts)
        return Context((Section("notes", lines), *self.sections), is_pointed=True)


def _names(devices: Sequence[str]) -> str:
    """The names, or the first and the last number where they count up: "/device:GPU:0 to 7"."""
    first = devices[0]
    stem = first.rstrip("0123456789")
    number = first[len(stem) :]
    if number and len(devices) > _MAX_NAMED_DEVICES:
        counted = [f"{stem}{index}" for index in range(int(number), int(number) + len(devices))]
        if list(devices) == counted:
            return f"{first} to {int(number) + len(devices) - 1}"
    return ", ".join(devices)


def _run(model: TimelineModel) -> Section:
    trace = model.trace
    if not len(model.tracks) and model.surroundings is not None:
        return _unprofiled(model, model.surroundings)
    start, end = trace.span
    facts = [
        ContextLine("run", plain(model.run.name, 200)),
        ContextLine("host", plain(trace.host, 100) or "–"),
    ]
    devices = [plain(name, 80) for name in trace.devices]
    if len(devices) == 1:
        facts.append(ContextLine("devices", devices[0]))
    elif devices:
        facts.append(ContextLine("devices", f"{len(devices)}: {_names(devices)}"))
    facts += [
        ContextLine("events", units.count(trace.event_count)),
        ContextLine("duration", units.duration(end - start)),
    ]
    if not trace.complete:
        facts.append(ContextLine("loading", "still reading"))
    facts += _elsewhere(model)
    if model.power_note:
        facts.append(ContextLine("power", plain(model.power_note, 300)))
    return Section("run", tuple(facts))


def _unprofiled(model: TimelineModel, surroundings: Surroundings) -> Section:
    """A training of which nothing that was profiled is open."""
    start, end = surroundings.span
    profiles = "none: a capture would show what ran"
    if surroundings.profiles:
        profiles = f"{len(surroundings.profiles)}, none of them read yet"
    facts = (
        ContextLine("training", plain(model.run.name, 200)),
        ContextLine("length", units.duration(end - start)),
        ContextLine("profiles", profiles),
        *_elsewhere(model),
    )
    return Section("training", facts)


def _elsewhere(model: TimelineModel) -> list[ContextLine]:
    """Sessions of the training that have no place on its axis, and why."""
    if model.surroundings is None:
        return []
    notes = model.surroundings.notes[:_MAX_NOTES]
    return [ContextLine("no place", plain(note, 200)) for note in notes]


def _sensor(channel: PowerOnTrace) -> Section:
    """What a channel is worth."""
    sensor = channel.series.sensor
    curve = channel_curve(channel)
    facts = [ContextLine("readings", f"{len(channel.series):,}")]
    if curve.range is not None:
        lowest = units.quantity(curve.range[0], "W")
        highest = units.quantity(curve.range[1], "W")
        facts.append(ContextLine("range", f"{lowest} to {highest}"))
    traits = (
        ("refresh", sensor.refresh_s, "s"),
        ("step", sensor.quantum_w, "W"),
        ("averages", sensor.window_s, "s"),
    )
    for name, figure, unit in traits:
        if figure is not None:
            text = units.quantity(figure.value, unit, 3)
            facts.append(ContextLine(name, text, figure.badge))
    gaps = f"{curve.unknown:,}" if curve.unknown else "none"
    facts.append(ContextLine("gaps", gaps))
    if len(channel.times) > 1:
        from powertui.data.energy import mixture  # the first picture is there without energies

        first_ps = int(channel.times[0])
        last_ps = int(channel.times[-1])
        facts += _energy_facts(mixture.energy(channel, first_ps, last_ps))
    return Section(plain(sensor.label, 40), tuple(facts))


def _place(
    model: TimelineModel, state: State, power: Sequence[PowerOnTrace], lines: Sequence[LinePower]
) -> Section:
    """The moment under the cursor, and what is known of it."""
    cursor_ps = state.cursor_ps
    grid_ps = state.viewport.cell_ps
    time = units.instant(cursor_ps - model.origin(state.viewport), grid_ps)
    facts = [ContextLine("time", time)]
    surroundings = model.surroundings
    if surroundings is not None and surroundings.clock:
        unix_ps = surroundings.zero_ns * PS_PER_NS + cursor_ps
        facts.append(ContextLine("clock", _wall_time(unix_ps, grid_ps)))
    epoch_facts = _epoch(model, cursor_ps)
    facts += epoch_facts[:1]  # its number; its scalars come last
    phase = model.phase_at(cursor_ps)
    if phase is not None:
        facts.append(ContextLine("phase", plain(phase.name, 80)))
    for finding in model.findings:
        if finding.lo <= cursor_ps < finding.hi:
            facts.append(ContextLine("found", plain(finding.texts[0], 300)))
    for line in lines:
        watts = line.watts(cursor_ps)
        if np.isnan(watts):
            facts.append(ContextLine(line.name, "no value here"))
        else:
            facts.append(ContextLine(line.name, units.quantity(watts, "W"), line.badge))
    # Scalars after the watts: a low pane loses its last lines.
    facts += epoch_facts[1:]
    main_log_text = power_facts.main_log_reason(tuple(power), model.trace.span)
    if main_log_text:
        facts.append(ContextLine("logs", plain(main_log_text, 300)))
    return Section("cursor", tuple(facts))


def _epoch(model: TimelineModel, ps: int) -> list[ContextLine]:
    """The epoch at a moment, with the first of what it logged."""
    index = model.epoch_at(ps)
    if index is None:
        return []
    epoch = model.epochs[index]
    number = str(epoch.number)
    if epoch.slack:
        number += f" ±{units.duration(epoch.slack, 2)}"
    facts = [ContextLine("epoch", number)]
    for tag, value in epoch.scalars[:_MAX_SCALARS]:
        name = plain(tag.replace("epoch_", ""), 40)
        facts.append(ContextLine(name, f"{value:.4g}"))
    return facts


def _step(model: TimelineModel, state: State, lines: Sequence[LinePower]) -> list[Section]:
    step = model.step_at(state.cursor_ps)
    if step is None:
        return []
    number = str(step.number) if step.number >= 0 else "without a number"
    facts = [ContextLine("step", number)]
    if step.name and step.name != str(step.number):
        facts.append(ContextLine("name", plain(step.name, 100)))
    grid_ps = units.resolution(step.duration)
    facts.append(ContextLine("start", units.instant(step.start, grid_ps)))
    times = (
        ("step time", step.step),
        ("host time", step.host),
        ("device time", step.device),
        ("to next", step.start_to_start),
    )
    for name, length in times:
        if length is not None:
            facts.append(ContextLine(name, units.duration(length)))
    facts += _energies(lines, step.start, step.end)
    return [Section("step", tuple(facts))]


def _event(
    model: TimelineModel, state: State, selected: Selected, lines: Sequence[LinePower]
) -> Section:
    event = model.facts(selected)
    grid_ps = units.resolution(max(event.duration, PS_PER_US))
    facts = [
        ContextLine("name", plain(event.display, 300)),
        ContextLine("kind", MEANINGS[event.category], category=event.category),
        ContextLine("line", plain(event.track, 100)),
        ContextLine("start", units.instant(event.start, grid_ps)),
        ContextLine("duration", units.duration(event.duration)),
    ]
    busy = _children(model, selected)
    if busy:
        facts.append(ContextLine("self", units.duration(event.duration - busy)))
    facts.extend(_energies(lines, event.start, event.end))
    trace = model.trace
    name = int(model.tracks[selected.track].track.events.name[selected.row])
    window = state.window
    if window is None:
        window = (trace.span[0], trace.span[1] + 1)
    from powertui.view.alike_events import alike_facts  # nothing is selected in the first picture

    facts.extend(ContextLine(*fact) for fact in alike_facts(trace, name, window))
    return Section("selected", tuple(facts))


def _children(model: TimelineModel, selected: Selected) -> int:
    """How much of the selected event its children cover."""
    track = model.tracks[selected.track].track
    depth = track.depth_of(selected.row)
    lo, hi = model.extent(selected)
    if depth + 1 >= track.lane_count or hi <= lo:
        return 0
    lane = model.forest.lane_number(selected.track, depth + 1)
    frame = model.forest.frame(np.array([lo, hi], np.int64), [lane])
    return int(frame.busy[0, 0])


def _under_cursor(model: TimelineModel, state: State) -> list[Section]:
    """The cell under the cursor: how many events, how busy, and the one that its color is of."""
    rows = model.rows(state.folds)
    if not 0 <= state.cursor_row < len(rows):
        return []
    row = rows[state.cursor_row]
    if not row.lanes:
        return []
    view = state.viewport
    column = view.column(state.cursor_ps)
    edges = np.array([view.time(column), view.time(column + 1)], np.int64)
    frame = model.forest.summary(edges, row.lanes)
    count = int(frame.count[0, 0])
    if not count:
        facts = (
            ContextLine("line", row.label or "–"),
            ContextLine("events", "none in this cell"),
        )
        return [Section("under the cursor", facts)]
    lane = row.lanes[int(frame.lane[0, 0])]
    name = int(model.names_of(lane, frame.dominant[0])[0])
    label = model.labels.text(name)
    share = int(frame.busy[0, 0]) / view.cell_ps
    lines = (
        ContextLine("mostly", label, category=model.category(name)),
        ContextLine("events", f"{count:,} in this cell"),
        ContextLine("covered", units.percent(share)),
    )
    return [Section("under the cursor", lines)]


def _window(model: TimelineModel, window: tuple[int, int], power: Sequence[LinePower]) -> Section:
    lo, hi = window
    summary = windows.window_summary(model.trace, lo, hi, steps=model.steps, epochs=model.epochs)
    grid_ps = units.resolution(hi - lo)
    facts = [
        ContextLine("from", units.instant(lo, grid_ps)),
        ContextLine("to", units.instant(hi, grid_ps)),
        ContextLine("length", units.duration(hi - lo)),
    ]
    epoch_energy = None
    # Of exactly one epoch the training's own joules are shown, so that both pages agree.
    if model.surroundings is not None and len(power) == 1:
        epoch_energy = model.surroundings.energy_of(model.epochs, lo, hi)
    if epoch_energy is not None:
        facts += _energy_facts(epoch_energy)
    else:
        facts += _energies(power, lo, hi)
    # A pane without rows for all loses the last ones: joules are what a window is marked for.
    facts.append(ContextLine("events", f"{summary.event_count():,}"))
    rows = summary.step_rows()
    if len(rows):
        facts.append(ContextLine("steps", _step_count(model.steps.number[rows])))
    facts += _busy(model, lo, hi)
    return Section("window", tuple(facts))


def _step_count(numbers: Int64s) -> str:
    """How many steps, and from which to which number where all have one."""
    count = f"{len(numbers):,}"
    lowest = int(numbers.min())
    highest = int(numbers.max())
    if lowest >= 0 and len(numbers) > 1:
        return f"{count} ({lowest} to {highest})"
    return count


def _busy(model: TimelineModel, lo: int, hi: int) -> list[ContextLine]:
    """Of each process: how busy its busiest line is.

    Lines run side by side, so they are not added up.
    """
    lanes_of_process: dict[int, list[int]] = {}
    for info in model.tracks:
        # A derived line repeats what other lines show.
        if not len(info.track.events) or info.track.derived:
            continue
        lane = model.forest.lane_number(info.number, 0)
        lanes_of_process.setdefault(info.process_number, []).append(lane)
    edges = np.array([lo, hi], np.int64)
    length = max(1, hi - lo)
    facts = []
    for number in sorted(lanes_of_process)[:_MAX_PROCESSES]:
        frame = model.forest.summary(edges, lanes_of_process[number])
        share = int(frame.busy[0, 0]) / length
        process = model.trace.processes[number]
        name = plain(process.name, 60)
        facts.append(ContextLine(name, f"busiest line {units.percent(share)}"))
    return facts


# ── energy ───────────────────────────────────────────────────────────────────────────────────────


def _energies(power: Sequence[LinePower], lo: int, hi: int) -> list[ContextLine]:
    """Energy and mean power of a stretch, per channel; where it is not resolved, why."""
    facts: list[ContextLine] = []
    if hi <= lo:
        return facts
    for line in power:
        energy = line.energy(lo, hi)
        if energy is not None:
            suffix = ""
            if len(power) > 1 or line.named:
                suffix = f" {line.name}"
            facts.extend(_energy_facts(energy, suffix))
    return facts


def _energy_facts(energy: Energy, suffix: str = "") -> list[ContextLine]:
    """Joules with their interval and badge, or the reason why there is no number."""
    name = f"energy{suffix}"
    if not energy.resolved or energy.joules is None:
        return [ContextLine(name, plain(energy.reason, 200))]
    text = units.energy(energy.joules)
    if energy.interval is not None:
        text = units.energy_interval(*energy.interval)
    facts = [ContextLine(name, text, energy.badge)]
    if energy.mean_w is not None:
        mean = units.quantity(energy.mean_w, "W")
        facts.append(ContextLine(f"mean{suffix}", mean, energy.badge))
    return facts
