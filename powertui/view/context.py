"""What stands beside the timeline: where the cursor is, what is under it, what the selection holds.

Facts only, no drawing.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data import window as windows
from powertui.data.category import MEANINGS
from powertui.data.model import PS_PER_NS, PS_PER_S, PS_PER_US, Int64s, PowerOnTrace
from powertui.plain import plain
from powertui.value_types import dataclass
from powertui.view import power_facts
from powertui.view.context_lines import ContextLine, Section, SectionLines, energies, energy_lines
from powertui.view.power_curve import channel_curve
from powertui.view.power_facts import LinePower
from powertui.view.surroundings import Surroundings
from powertui.view.time_navigation import State
from powertui.view.timeline_model import Selected, TimelineModel

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
class Context:
    """Sections from top to bottom. Everything in it is safe to draw."""

    sections: tuple[Section, ...]
    is_pointed: bool = False  # whether something is selected, marked or noted there

    @classmethod
    def for_state(
        cls,
        model: TimelineModel,
        state: State,
        power: Sequence[PowerOnTrace] = (),
    ) -> Context:
        lines = power_facts.power_lines(model, state, power)
        sections = [_run(model)]
        sections.append(_place(model, state, power, lines))
        sections += _step(model, state, lines)
        selection = state.selection
        if selection is not None:
            sections.append(_event(model, state, selection, lines))
        else:
            sections += _under_cursor(model, state)
        window = state.window
        if window is not None:
            sections.append(_window(model, window, lines))
        elif not len(model.tracks):
            # What each channel is worth, where nothing else is to be told beside it.
            for channel in power[:_MAX_SENSORS]:
                sections.append(_sensor(channel))
        with_facts = tuple(section for section in sections if section.facts)
        is_pointed = selection is not None or window is not None
        return cls(with_facts, is_pointed)

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
        notes = SectionLines("notes")
        for text in texts:
            notes.add("note", plain(text, _MAX_NOTE_CHARS))
        sections = (notes.section(), *self.sections)
        return Context(sections, is_pointed=True)


def _names(devices: Sequence[str]) -> str:
    """The names, or the first and the last number where they count up: "/device:GPU:0 to 7"."""
    first = devices[0]
    stem = first.rstrip("0123456789")
    number = first[len(stem) :]
    if number and len(devices) > _MAX_NAMED_DEVICES:
        first_number = int(number)
        end = first_number + len(devices)
        counted = [f"{stem}{index}" for index in range(first_number, end)]
        if list(devices) == counted:
            return f"{first} to {end - 1}"
    return ", ".join(devices)


def _run(model: TimelineModel) -> Section:
    trace = model.trace
    if not len(model.tracks) and model.surroundings is not None:
        return _unprofiled(model, model.surroundings)
    run = SectionLines("run")
    run.add("run", plain(model.run.name, 200))
    run.add("host", plain(trace.host, 100) or "–")
    devices = [plain(name, 80) for name in trace.devices]
    if len(devices) == 1:
        run.add("devices", devices[0])
    elif devices:
        run.add("devices", f"{len(devices)}: {_names(devices)}")
    run.add("events", units.count(trace.event_count))
    start, end = trace.span
    run.add("duration", units.duration(end - start))
    if not trace.complete:
        run.add("loading", "still reading")
    run.extend(_elsewhere(model))
    if model.power_note:
        run.add("power", plain(model.power_note, 300))
    return run.section()


def _unprofiled(model: TimelineModel, surroundings: Surroundings) -> Section:
    """A training of which nothing that was profiled is open."""
    start, end = surroundings.span
    profiles = "none: a capture would show what ran"
    if surroundings.profiles:
        profiles = f"{len(surroundings.profiles)}, none of them read yet"
    training = SectionLines("training")
    training.add("training", plain(model.run.name, 200))
    training.add("length", units.duration(end - start))
    training.add("profiles", profiles)
    training.extend(_elsewhere(model))
    return training.section()


def _elsewhere(model: TimelineModel) -> list[ContextLine]:
    """Sessions of the training that have no place on its axis, and why."""
    if model.surroundings is None:
        return []
    lines = []
    for note in model.surroundings.notes[:_MAX_NOTES]:
        lines.append(ContextLine("no place", plain(note, 200)))
    return lines


def _sensor(channel: PowerOnTrace) -> Section:
    """What a channel is worth."""
    sensor = channel.series.sensor
    curve = channel_curve(channel)
    lines = SectionLines(plain(sensor.label, 40))
    lines.add("readings", f"{len(channel.series):,}")
    if curve.range is not None:
        lowest_w, highest_w = curve.range
        lowest = units.quantity(lowest_w, "W")
        highest = units.quantity(highest_w, "W")
        lines.add("range", f"{lowest} to {highest}")
    traits = (
        ("refresh", sensor.refresh_s, "s"),
        ("step", sensor.quantum_w, "W"),
        ("averages", sensor.window_s, "s"),
    )
    for name, figure, unit in traits:
        if figure is not None:
            text = units.quantity(figure.value, unit, 3)
            lines.add(name, text, figure.badge)
    gaps = "none"
    if curve.unknown:
        gaps = f"{curve.unknown:,}"
    lines.add("gaps", gaps)
    if len(channel.times) > 1:
        from powertui.data.energy import mixture  # the first picture is there without energies

        first_ps = int(channel.times[0])
        last_ps = int(channel.times[-1])
        energy = mixture.energy(channel, first_ps, last_ps)
        lines.extend(energy_lines(energy))
    return lines.section()


def _place(
    model: TimelineModel,
    state: State,
    power: Sequence[PowerOnTrace],
    power_lines: Sequence[LinePower],
) -> Section:
    """The moment under the cursor, and what is known of it."""
    cursor_ps = state.cursor_ps
    grid_ps = state.viewport.cell_ps
    origin_ps = model.origin(state.viewport)
    place = SectionLines("cursor")
    place.add("time", units.instant(cursor_ps - origin_ps, grid_ps))
    surroundings = model.surroundings
    if surroundings is not None and surroundings.clock:
        unix_ps = surroundings.zero_ns * PS_PER_NS + cursor_ps
        place.add("clock", _wall_time(unix_ps, grid_ps))
    epoch_facts = _epoch(model, cursor_ps)
    place.extend(epoch_facts[:1])  # its number; its scalars come last
    phase = model.phase_at(cursor_ps)
    if phase is not None:
        place.add("phase", plain(phase.name, 80))
    for finding in model.findings:
        if finding.lo <= cursor_ps < finding.hi:
            sentence = finding.texts[0]
            place.add("found", plain(sentence, 300))
    for line in power_lines:
        watts = line.watts(cursor_ps)
        if np.isnan(watts):
            place.add(line.name, "no value here")
        else:
            place.add(line.name, units.quantity(watts, "W"), line.badge)
    # Scalars after the watts: a low pane loses its last lines.
    place.extend(epoch_facts[1:])
    main_log_text = power_facts.main_log_reason(tuple(power), model.trace.span)
    if main_log_text:
        place.add("logs", plain(main_log_text, 300))
    return place.section()


def _epoch(model: TimelineModel, ps: int) -> list[ContextLine]:
    """The epoch at a moment, with the first of what it logged."""
    index = model.epoch_at(ps)
    if index is None:
        return []
    epoch = model.epochs[index]
    number = str(epoch.number)
    if epoch.slack:
        slack = units.duration(epoch.slack, 2)
        number += f" ±{slack}"
    facts = [ContextLine("epoch", number)]
    for tag, value in epoch.scalars[:_MAX_SCALARS]:
        name = plain(tag.replace("epoch_", ""), 40)
        fact = ContextLine(name, f"{value:.4g}")
        facts.append(fact)
    return facts


def _step(
    model: TimelineModel,
    state: State,
    power: Sequence[LinePower],
) -> list[Section]:
    step = model.step_at(state.cursor_ps)
    if step is None:
        return []
    lines = SectionLines("step")
    number = "without a number"
    if step.number >= 0:
        number = str(step.number)
    lines.add("step", number)
    if step.name and step.name != str(step.number):
        lines.add("name", plain(step.name, 100))
    grid_ps = units.resolution(step.duration)
    lines.add("start", units.instant(step.start, grid_ps))
    times = (
        ("step time", step.step),
        ("host time", step.host),
        ("device time", step.device),
        ("to next", step.start_to_start),
    )
    for name, length in times:
        if length is not None:
            lines.add(name, units.duration(length))
    step_energies = energies(power, step.start, step.end)
    lines.extend(step_energies)
    return [lines.section()]


def _event(
    model: TimelineModel,
    state: State,
    selected: Selected,
    power: Sequence[LinePower],
) -> Section:
    event = model.facts(selected)
    grid_ps = units.resolution(max(event.duration, PS_PER_US))
    lines = SectionLines("selected")
    lines.add("name", plain(event.display, 300))
    lines.add("kind", MEANINGS[event.category], category=event.category)
    lines.add("line", plain(event.track, 100))
    lines.add("start", units.instant(event.start, grid_ps))
    lines.add("duration", units.duration(event.duration))
    children_ps = _children(model, selected)
    if children_ps:
        lines.add("self", units.duration(event.duration - children_ps))
    lines.extend(energies(power, event.start, event.end))
    window = state.window
    if window is None:
        start, end = model.trace.span
        window = (start, end + 1)
    from powertui.view.alike_events import alike_facts  # nothing is selected in the first picture

    track = model.tracks[selected.track].track
    name = int(track.events.name[selected.row])
    for alike_fact in alike_facts(model.trace, name, window):
        lines.add(*alike_fact)
    return lines.section()


def _children(model: TimelineModel, selected: Selected) -> int:
    """How much of the selected event its children cover."""
    track = model.tracks[selected.track].track
    depth_below = track.depth_of(selected.row) + 1
    start, end = model.extent(selected)
    if depth_below >= track.lane_count or end <= start:
        return 0
    forest = model.forest
    lane = forest.lane_number(selected.track, depth_below)
    edges = np.array([start, end], np.int64)
    frame = forest.frame(edges, [lane])
    return int(frame.busy[0, 0])


def _under_cursor(model: TimelineModel, state: State) -> list[Section]:
    """The cell under the cursor: how many events, how busy, and the one that its color is of."""
    rows = model.rows(state.folds)
    if not 0 <= state.cursor_row < len(rows):
        return []
    row = rows[state.cursor_row]
    if not row.lanes:
        return []
    lines = SectionLines("under the cursor")
    view = state.viewport
    column = view.column(state.cursor_ps)
    cell_edges = [view.time(column), view.time(column + 1)]
    frame = model.forest.summary(np.array(cell_edges, np.int64), row.lanes)
    count = int(frame.count[0, 0])
    if not count:
        lines.add("line", row.label or "–")
        lines.add("events", "none in this cell")
        return [lines.section()]
    busiest = int(frame.lane[0, 0])
    names = model.names_of(row.lanes[busiest], frame.dominant[0])
    name = int(names[0])
    busy_ps = int(frame.busy[0, 0])
    lines.add("mostly", model.labels.text(name), category=model.category(name))
    lines.add("events", f"{count:,} in this cell")
    lines.add("covered", units.percent(busy_ps / view.cell_ps))
    return [lines.section()]


def _window(
    model: TimelineModel,
    window: tuple[int, int],
    power: Sequence[LinePower],
) -> Section:
    lo, hi = window
    summary = windows.window_summary(
        model.trace,
        lo,
        hi,
        steps=model.steps,
        epochs=model.epochs,
    )
    grid_ps = units.resolution(hi - lo)
    lines = SectionLines("window")
    lines.add("from", units.instant(lo, grid_ps))
    lines.add("to", units.instant(hi, grid_ps))
    lines.add("length", units.duration(hi - lo))
    epoch_energy = None
    # Of exactly one epoch the training's own joules are shown, so that both pages agree.
    if model.surroundings is not None and len(power) == 1:
        epoch_energy = model.surroundings.energy_of(model.epochs, lo, hi)
    if epoch_energy is not None:
        lines.extend(energy_lines(epoch_energy))
    else:
        lines.extend(energies(power, lo, hi))
    # A pane without rows for all loses the last ones: joules are what a window is marked for.
    lines.add("events", f"{summary.event_count():,}")
    step_rows = summary.step_rows()
    if len(step_rows):
        numbers = model.steps.number[step_rows]
        lines.add("steps", _step_count(numbers))
    lines.extend(_busy(model, lo, hi))
    return lines.section()


def _step_count(numbers: Int64s) -> str:
    """How many steps, and from which to which number where all have one."""
    count = len(numbers)
    lowest = int(numbers.min())
    highest = int(numbers.max())
    have_numbers = lowest >= 0
    if have_numbers and count > 1:
        return f"{count:,} ({lowest} to {highest})"
    return f"{count:,}"


def _busy(model: TimelineModel, lo: int, hi: int) -> list[ContextLine]:
    """Of each process: how busy its busiest line is.

    Lines run side by side, so they are not added up.
    """
    lanes_of_process: dict[int, list[int]] = {}
    for info in model.tracks:
        # A derived line repeats what other lines show.
        if info.track.derived or not len(info.track.events):
            continue
        lanes = lanes_of_process.setdefault(info.process_number, [])
        lanes.append(model.forest.lane_number(info.number, 0))
    edges = np.array([lo, hi], np.int64)
    length_ps = max(1, hi - lo)
    facts = []
    for number in sorted(lanes_of_process)[:_MAX_PROCESSES]:
        lanes = lanes_of_process[number]
        frame = model.forest.summary(edges, lanes)
        busy_ps = int(frame.busy[0, 0])
        share = units.percent(busy_ps / length_ps)
        process = model.trace.processes[number]
        fact = ContextLine(plain(process.name, 60), f"busiest line {share}")
        facts.append(fact)
    return facts


# ── energy ───────────────────────────────────────────────────────────────────────────────────────
