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


def facts_text(model: TimelineModel, state: State, power: tuple[PowerOnTrace, ...]) -> str:
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
        lines += [
            f"window: {_seconds(lo)} to {_seconds(hi)} ({units.duration(hi - lo)})",
            *_energy(power, lo, hi),
        ]
    if state.selection is None and state.window is None:
        lines += [f"cursor: {_seconds(state.cursor_ps)}", *_place(model, state.cursor_ps)]
    return "\n".join(lines)


def selection_facts(power: tuple[PowerOnTrace, ...], lo: int, hi: int) -> str:
    """What a window drew by the log that leads, in a few words; "" where no power lies there."""
    if not power:
        return ""
    energy = mixture.energy(power[0], lo, hi)
    if not energy.resolved or energy.joules is None or energy.mean_w is None:
        return f"joules {plain(energy.reason, 120)}"
    half = (
        f" ±{units.quantity((energy.hi - energy.lo) / 2, 'J', 2)}"
        if energy.lo is not None and energy.hi is not None
        else ""
    )
    return (
        f"{units.quantity(energy.joules, 'J')}{half}, {units.quantity(energy.mean_w, 'W')} "
        "on average"
    )


def _stats(model: TimelineModel, selection: Selected) -> list[str]:
    try:
        return [
            f"  {plain(stat.name)}: {plain(_text(stat.value), _MAX_STAT_CHARS)}"
            for stat in model.stats(selection)
        ]
    except FileChanged as error:
        return [f"  (stats not readable: the file {error.problem})"]


def _seconds(ps: int) -> str:
    return f"{units.fixed(ps, PS_PER_S, 9)} s"


def _text(value: int | float | str | bytes) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


def _place(model: TimelineModel, ps: int) -> list[str]:
    step = model.step_at(ps)
    epoch = model.epoch_at(ps)
    out = []
    if epoch is not None:
        out.append(f"epoch: {model.epochs[epoch].number}")
    if step is not None:
        out.append(
            f"step: {step.number if step.number >= 0 else plain(step.name)} "
            f"({units.duration(step.duration)})"
        )
    return out


def _energy(power: tuple[PowerOnTrace, ...], lo: int, hi: int) -> list[str]:
    out = []
    for channel in power:
        energy = mixture.energy(channel, lo, hi)
        name = plain(channel.series.sensor.label)
        if energy.resolved and energy.joules is not None and energy.mean_w is not None:
            interval = (
                f" [{energy.lo:.4g}, {energy.hi:.4g}]"
                if energy.lo is not None and energy.hi is not None
                else ""
            )
            out.append(
                f"energy ({name}): {energy.joules:.4g} J{interval}, mean {energy.mean_w:.4g} "
                f"W, {energy.badge.value}"
            )
        else:
            out.append(f"energy ({name}): {energy.reason}")
    return out
