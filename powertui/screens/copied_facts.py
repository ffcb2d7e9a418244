"""What `y` copies: the facts of the selection as plain lines, ready for a mail or an issue."""

from __future__ import annotations

from powertui import units
from powertui.data.energy import mixture
from powertui.data.model import PS_PER_S, PowerOnTrace
from powertui.errors import FileChanged
from powertui.plain import plain
from powertui.view.time_navigation import State
from powertui.view.timeline_model import Selected, TimelineModel

_MAX_STAT_CHARS = 400


def facts_text(
    model: TimelineModel,
    state: State,
    power: tuple[PowerOnTrace, ...],
) -> str:
    """The run, then the selected event with its stats, then the marked window; else the moment
    under the cursor.
    """
    lines = [
        f"run: {plain(model.run.name)}",
        f"host: {plain(model.trace.host)}",
        f"file: {plain(model.trace.path)}",
    ]
    if state.selection is not None:
        event = model.facts(state.selection)
        lines += [
            f"event: {plain(event.name, 2000)}",
            f"on: {plain(event.process)} / {plain(event.track)}",
            f"start: {_seconds(event.start)}",
            f"duration: {units.duration(event.duration)}",
        ]
        lines += _stats(model, state.selection)
        lines += _place(model, event.start)
        lines += _energy(power, event.start, event.end)
    if state.window is not None:
        lo, hi = state.window
        length = units.duration(hi - lo)
        lines.append(f"window: {_seconds(lo)} to {_seconds(hi)} ({length})")
        lines += _energy(power, lo, hi)
    if state.selection is None and state.window is None:
        lines.append(f"cursor: {_seconds(state.cursor_ps)}")
        lines += _place(model, state.cursor_ps)
    return "\n".join(lines)


def selection_facts(
    model: TimelineModel | None,
    power: tuple[PowerOnTrace, ...],
    lo: int,
    hi: int,
) -> str:
    """What a window drew by the log that leads, in a few words; "" where no power lies there.

    Of exactly one epoch it is what the lane of epochs says.
    """
    if not power:
        return ""
    energy = None
    if model is not None and model.surroundings is not None:
        energy = model.surroundings.energy_of(model.epochs, lo, hi)
    if energy is None:
        energy = mixture.energy(power[0], lo, hi)
    if not energy.resolved or energy.joules is None or energy.mean_w is None:
        return f"joules {plain(energy.reason, 120)}"
    joules = units.energy(energy.joules)
    if energy.interval is not None:
        joules = units.energy_interval(*energy.interval)
    mean = units.quantity(energy.mean_w, "W", padded=True)
    return f"{joules}, {mean} on average"


def _stats(model: TimelineModel, selection: Selected) -> list[str]:
    lines = []
    try:
        for stat in model.stats(selection):
            value = plain(_text(stat.value), _MAX_STAT_CHARS)
            lines.append(f"  {plain(stat.name)}: {value}")
    except FileChanged as error:
        return [f"  (stats not readable: the file {error.problem})"]
    return lines


def _seconds(ps: int) -> str:
    return f"{units.fixed(ps, PS_PER_S, 9)} s"


def _text(value: int | float | str | bytes) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value)


def _place(model: TimelineModel, ps: int) -> list[str]:
    """The epoch and the step at a moment."""
    step = model.step_at(ps)
    epoch = model.epoch_at(ps)
    lines = []
    if epoch is not None:
        lines.append(f"epoch: {model.epochs[epoch].number}")
    if step is not None:
        if step.number >= 0:
            name = str(step.number)
        else:
            name = plain(step.name)
        lines.append(f"step: {name} ({units.duration(step.duration)})")
    return lines


def _energy(power: tuple[PowerOnTrace, ...], lo: int, hi: int) -> list[str]:
    """What each channel measured from lo to hi, or why that is not known."""
    lines = []
    for channel in power:
        energy = mixture.energy(channel, lo, hi)
        name = plain(channel.series.sensor.label)
        if not energy.resolved or energy.joules is None or energy.mean_w is None:
            lines.append(f"energy ({name}): {energy.reason}")
            continue
        joules = units.energy(energy.joules)
        if energy.interval is not None:
            joules = f"{units.energy_interval(*energy.interval)} (95 %)"
        mean = f"mean {energy.mean_w:.4g} W"
        lines.append(f"energy ({name}): {joules}, {mean}, {energy.badge.value}")
    return lines
