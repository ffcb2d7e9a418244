"""What stands beside the timeline: where the cursor is, what is under it, what the selection holds.

Facts only, no drawing.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data import window as windows
from powertui.data.category import MEANINGS, Category
from powertui.data.energy import main_log, mixture
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_NS, PS_PER_S, PS_PER_US, Badge, PowerOnTrace, Trace
from powertui.plain import plain
from powertui.value_types import dataclass
from powertui.view import power_facts
from powertui.view.power_curve import channel_curve
from powertui.view.power_facts import LinePower
from powertui.view.surroundings import Surroundings
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel

_MAX_SENSORS = 2  # channels whose sensors are shown
_MAX_COUNTED_EVENTS = (
    4_000_000  # among which those of one name are counted while somebody moves from event to event
)


def _wall_time(ps: int, grid: int) -> str:
    """A moment of Unix time in ps, as fine as the grid, in UTC."""
    seconds, rest = divmod(ps, PS_PER_S)
    try:
        shown = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "out of range"
    decimals = min(9, units.decimals_for(grid, PS_PER_S))
    return shown + (f".{rest // 10 ** (12 - decimals):0{decimals}d}" if decimals else "") + " UTC"


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

    @classmethod
    def for_state(
        cls, model: TimelineModel, state: State, power: Sequence[PowerOnTrace] = ()
    ) -> Context:
        sections = [_run(model), _place(model, state, power)]
        sections.extend(_step(model, state, power))
        if state.selection is not None:
            sections.append(_event(model, state, power))
        else:
            under = _under(model, state)
            if under is not None:
                sections.append(under)
        if state.window is None:
            sections.extend(_sensors(model, power))
        else:
            sections.append(
                _window(model, state.window, power_facts.power_lines(model, state, power))
            )
        return cls(tuple(section for section in sections if section.facts))


def _run(model: TimelineModel) -> Section:
    trace = model.trace
    if not len(model.tracks) and model.surroundings is not None:
        return _unprofiled(model, model.surroundings)
    facts = [
        ContextLine("run", plain(model.run.name, 200)),
        ContextLine("host", plain(trace.host, 100) or "–"),
    ]
    devices = [plain(name, 80) for name in trace.devices]
    if devices:
        facts.append(
            ContextLine(
                "devices",
                devices[0] if len(devices) == 1 else f"{len(devices)}: {', '.join(devices)}",
            )
        )
    facts.append(ContextLine("events", units.count(trace.event_count)))
    facts.append(ContextLine("duration", units.duration(trace.span[1] - trace.span[0])))
    if not trace.complete:
        facts.append(ContextLine("loading", "still reading"))
    facts.extend(_elsewhere(model))
    if model.power_note:
        facts.append(ContextLine("power", plain(model.power_note, 300)))
    return Section("run", tuple(facts))


def _unprofiled(model: TimelineModel, surroundings: Surroundings) -> Section:
    """A training of which nothing that was profiled is open."""
    facts = [
        ContextLine("training", plain(model.run.name, 200)),
        ContextLine("length", units.duration(surroundings.span[1] - surroundings.span[0])),
    ]
    if surroundings.profiles:
        facts.append(
            ContextLine("profiles", f"{len(surroundings.profiles)}, none of them read yet")
        )
    else:
        facts.append(ContextLine("profiles", "none: a capture would show what ran"))
    facts.extend(_elsewhere(model))
    return Section("training", tuple(facts))


def _elsewhere(model: TimelineModel) -> list[ContextLine]:
    """Sessions of the training that have no place on its axis, and why."""
    notes = model.surroundings.notes if model.surroundings is not None else ()
    return [ContextLine("no place", plain(note, 200)) for note in notes[:_MAX_SENSORS]]


def _sensors(model: TimelineModel, power: Sequence[PowerOnTrace]) -> list[Section]:
    """What each channel is worth, where nothing else is to be told beside it."""
    out = []
    for channel in power[:_MAX_SENSORS] if not len(model.tracks) else ():
        sensor = channel.series.sensor
        curve = channel_curve(channel)
        facts = [ContextLine("readings", f"{len(channel.series):,}")]
        if curve.range is not None:
            facts.append(
                ContextLine(
                    "range",
                    (
                        f"{units.quantity(curve.range[0], 'W')} to "
                        f"{units.quantity(curve.range[1], 'W')}"
                    ),
                )
            )
        for name, figure, unit in (
            ("refresh", sensor.refresh_s, "s"),
            ("step", sensor.quantum_w, "W"),
            ("averages", sensor.window_s, "s"),
        ):
            if figure is not None:
                facts.append(ContextLine(name, units.quantity(figure.value, unit, 3), figure.badge))
        facts.append(ContextLine("gaps", f"{curve.unknown:,}" if curve.unknown else "none"))
        if len(channel.times) > 1:
            facts += _energy_facts(
                mixture.energy(channel, int(channel.times[0]), int(channel.times[-1]))
            )
        out.append(Section(plain(sensor.label, 40), tuple(facts)))
    return out


def _place(model: TimelineModel, state: State, power: Sequence[PowerOnTrace]) -> Section:
    facts = [
        ContextLine(
            "time",
            units.instant(state.cursor_ps - model.origin(state.viewport), state.viewport.cell_ps),
        )
    ]
    if model.surroundings is not None and model.surroundings.clock:
        facts.append(
            ContextLine(
                "clock",
                _wall_time(
                    model.surroundings.zero_ns * PS_PER_NS + state.cursor_ps, state.viewport.cell_ps
                ),
            )
        )
    epoch = model.epoch_at(state.cursor_ps)
    if epoch is not None:
        entry = model.epochs[epoch]
        slack = f" ±{units.duration(entry.slack, 2)}" if entry.slack else ""
        facts.append(ContextLine("epoch", f"{entry.number}{slack}"))
        for tag, value in entry.scalars[:4]:
            facts.append(ContextLine(plain(tag.replace("epoch_", ""), 40), f"{value:.4g}"))
    phase = model.phase_at(state.cursor_ps)
    if phase is not None:
        facts.append(ContextLine("phase", plain(phase.name, 80)))
    for noted in model.findings:
        if noted.lo <= state.cursor_ps < noted.hi:
            facts.append(ContextLine("found", plain(noted.texts[0], 300)))
    for line in power_facts.power_lines(model, state, power):
        watts = line.watts(state.cursor_ps)
        shown = "no value here" if np.isnan(watts) else units.quantity(watts, "W")
        facts.append(ContextLine(line.name, shown, None if np.isnan(watts) else line.badge))
    leads = _leads(tuple(power), model.trace.span)
    if leads:
        facts.append(ContextLine("logs", plain(leads, 300)))
    return Section("cursor", tuple(facts))


@functools.lru_cache(maxsize=2)
def _leads(power: tuple[PowerOnTrace, ...], span: tuple[int, int]) -> str:
    """Which of several logs leads, and why. Asked at every move of the cursor."""
    return main_log.why(power, span)


def _step(model: TimelineModel, state: State, power: Sequence[PowerOnTrace]) -> list[Section]:
    step = model.step_at(state.cursor_ps)
    if step is None:
        return []
    number = str(step.number) if step.number >= 0 else "without a number"
    facts = [ContextLine("step", number)]
    if step.name and step.name != str(step.number):
        facts.append(ContextLine("name", plain(step.name, 100)))
    facts.append(ContextLine("start", units.instant(step.start, units.resolution(step.duration))))
    for name, ps in (("step", step.step), ("host", step.host), ("device", step.device)):
        if ps is not None:
            facts.append(ContextLine(f"{name} time", units.duration(ps)))
    if step.start_to_start is not None:
        facts.append(ContextLine("to next", units.duration(step.start_to_start)))
    facts.extend(_energies(power_facts.power_lines(model, state, power), step.start, step.end))
    return [Section("step", tuple(facts))]


def _event(model: TimelineModel, state: State, power: Sequence[PowerOnTrace]) -> Section:
    assert state.selection is not None
    event = model.facts(state.selection)
    facts = [
        ContextLine("name", plain(event.display, 300)),
        ContextLine("kind", MEANINGS[event.category], category=event.category),
        ContextLine("line", plain(event.track, 100)),
        ContextLine(
            "start", units.instant(event.start, units.resolution(max(event.duration, PS_PER_US)))
        ),
        ContextLine("duration", units.duration(event.duration)),
    ]
    busy = _children(model, state)
    if busy:
        facts.append(ContextLine("self", units.duration(event.duration - busy)))
    facts.extend(_energies(power_facts.power_lines(model, state, power), event.start, event.end))
    name = int(model.tracks[state.selection.track].track.events.name[state.selection.row])
    facts.extend(
        _set(model.trace, name, state.window or (model.trace.span[0], model.trace.span[1] + 1))
    )
    return Section("selected", tuple(facts))


@functools.lru_cache(maxsize=8)
def _set(trace: Trace, name: int, window: tuple[int, int]) -> tuple[ContextLine, ...]:
    """All events of one name in the window, or in the profile."""
    from powertui.data.tools import event_sets  # nothing is selected in the first picture

    among = event_sets.touching(trace, *window)
    if among > _MAX_COUNTED_EVENTS:
        return (
            ContextLine("alike", f"mark a window to count them ({units.count(among)} events here)"),
        )
    names = np.zeros(len(trace.names), np.bool_)
    names[name] = True
    events = event_sets.together(trace, *window, names)
    if events is None or events.count < 2 or events.deviation is None:
        return ()
    if not events.total:
        return (ContextLine("alike", f"{events.count:,} without length"),)
    return (
        ContextLine("alike", f"{events.count:,}, in all {units.duration(events.total)}"),
        ContextLine(
            "average",
            f"{units.duration(round(events.mean))} ± {units.duration(round(events.deviation))}",
        ),
        ContextLine(
            "range", f"{units.duration(events.shortest)} to {units.duration(events.longest)}"
        ),
        *(
            ContextLine(
                label,
                (
                    "shorter than "
                    f"{units.duration(round(events.percentiles[event_sets.PERCENTILES.index(part)]))}"
                ),
            )
            for label, part in (("half", 50), ("95 %", 95))
        ),
        ContextLine(
            "first", units.instant(events.first, units.resolution(max(events.longest, PS_PER_US)))
        ),
        ContextLine(
            "last", units.instant(events.last, units.resolution(max(events.longest, PS_PER_US)))
        ),
    )


def _children(model: TimelineModel, state: State) -> int:
    """How much of the selected event its children cover."""
    selected = state.selection
    assert selected is not None
    track = model.tracks[selected.track].track
    depth = track.depth_of(selected.row)
    lo, hi = model.extent(selected)
    if depth + 1 >= track.lane_count or hi <= lo:
        return 0
    lane = model.forest.lane_number(selected.track, depth + 1)
    return int(model.forest.frame(np.array([lo, hi], np.int64), [lane]).busy[0, 0])


def _under(model: TimelineModel, state: State) -> Section | None:
    """The cell under the cursor: how many events, how busy, and the one that it is painted
    after.
    """
    rows = model.rows(state.folds)
    if not 0 <= state.cursor_row < len(rows):
        return None
    row = rows[state.cursor_row]
    view = state.viewport
    column = view.column(state.cursor_ps)
    edges = np.array([view.time(column), view.time(column + 1)], np.int64)
    if not row.lanes:
        return None
    frame = model.forest.summary(edges, row.lanes)
    count = int(frame.count[0, 0])
    if not count:
        return Section(
            "under the cursor",
            (ContextLine("line", row.label or "–"), ContextLine("events", "none in this cell")),
        )
    lane = row.lanes[int(frame.lane[0, 0])]
    index = int(model.names_of(lane, frame.dominant[0])[0])
    share = int(frame.busy[0, 0]) / view.cell_ps
    facts = [
        ContextLine("mostly", model.labels.text(index), category=model.category(index)),
        ContextLine("events", f"{count:,} in this cell"),
    ]
    facts.append(ContextLine("covered", units.percent(share)))
    return Section("under the cursor", tuple(facts))


def _window(model: TimelineModel, window: tuple[int, int], power: Sequence[LinePower]) -> Section:
    lo, hi = window
    held = windows.window_summary(model.trace, lo, hi, steps=model.steps, epochs=model.epochs)
    resolution = units.resolution(hi - lo)
    facts = [
        ContextLine("from", units.instant(lo, resolution)),
        ContextLine("to", units.instant(hi, resolution)),
        ContextLine("length", units.duration(hi - lo)),
        ContextLine("events", f"{held.event_count():,}"),
    ]
    steps = held.step_rows()
    if len(steps):
        numbers = model.steps.number[steps]
        extent = (
            f" ({int(numbers.min())} to {int(numbers.max())})"
            if numbers.min() >= 0 and len(steps) > 1
            else ""
        )
        facts.append(ContextLine("steps", f"{len(steps):,}{extent}"))
    facts.extend(_busy(model, lo, hi))
    epoch = (
        model.surroundings.energy_of(model.epochs, lo, hi)
        if model.surroundings is not None
        else None
    )
    facts.extend(
        _energy_facts(epoch) if epoch is not None and len(power) == 1 else _energies(power, lo, hi)
    )
    return Section("window", tuple(facts))


def _busy(model: TimelineModel, lo: int, hi: int) -> list[ContextLine]:
    """Of each process: how busy its busiest line is.

    Lines run side by side, so they are not added up.
    """
    out = []
    for number, process in enumerate(model.trace.processes):
        lanes = [
            model.forest.lane_number(info.number, 0)
            for info in model.tracks
            if info.process_number == number and not info.track.derived and len(info.track.events)
        ]
        if lanes:
            frame = model.forest.summary(np.array([lo, hi], np.int64), lanes)
            share = int(frame.busy[0, 0]) / max(1, hi - lo)
            out.append(ContextLine(plain(process.name, 60), f"busiest line {units.percent(share)}"))
    return out[:8]


# ── energy ───────────────────────────────────────────────────────────────────────────────────────


def _energies(power: Sequence[LinePower], lo: int, hi: int) -> list[ContextLine]:
    """Energy and mean power of a stretch, per channel; where it is not resolved, why."""
    out = []
    for line in power:
        energy = line.energy(lo, hi) if hi > lo else None
        if energy is not None:
            out.extend(
                _energy_facts(energy, f" {line.name}" if len(power) > 1 or line.named else "")
            )
    return out


def _energy_facts(energy: Energy, suffix: str = "") -> list[ContextLine]:
    """Joules with their interval and badge, or the reason why there is no number."""
    if not energy.resolved or energy.joules is None:
        return [ContextLine(f"energy{suffix}", plain(energy.reason, 200))]
    half = (energy.hi - energy.lo) / 2 if energy.lo is not None and energy.hi is not None else 0.0
    interval = f" ±{units.quantity(half, 'J', 2)}" if half > 0 else ""
    facts = [
        ContextLine(
            f"energy{suffix}", f"{units.quantity(energy.joules, 'J')}{interval}", energy.badge
        )
    ]
    if energy.mean_w is not None:
        facts.append(ContextLine(f"mean{suffix}", units.quantity(energy.mean_w, "W"), energy.badge))
    return facts
