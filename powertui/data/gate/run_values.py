"""The quantities of each run that is checked or saved: one value a run, with what is known of it.

They are the figures of `data/compare` under the names of `quantities`, and a few of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from powertui.data.compare import (
    configuration,
    kernel_figures,
    memory_figures,
    op_figures,
    power_figures,
    step_figures,
)
from powertui.data.compare.figure import Family
from powertui.data.compare.measured import name_of_sessions
from powertui.data.compare.part import AskedSide, ComparedPart
from powertui.data.compare.values import ComparedValue, Values
from powertui.data.energy import account
from powertui.data.gate import quantities
from powertui.data.model import PS_PER_NS
from powertui.data.tools import breakdown
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_DEVICE_CATEGORIES = ("device_compute", "device_to_device", "collectives")
_LABELS = {name: label for name, label, _, _ in breakdown.CATEGORIES}
_MAX_SETTING_CHARACTERS = 200  # of a value: longer ones are lists of flags
_UNSAVED_SETTINGS = ("command line",)  # may hold a password, and differs from run to run


@dataclass(frozen=True)
class GateValue:
    """A quantity of one run."""

    value: float
    blocks: tuple[float, ...] = ()  # its means over blocks of the steps
    below: float = 0.0  # how much less it may be, by how well it can be measured at all (95 %)
    above: float = 0.0  # and how much more
    is_fact: bool = False  # of this run as a whole: no further stretch of it is asked about


@dataclass(frozen=True)
class GatedRun:
    """One start of a program."""

    name: str
    steps: int
    values: dict[str, GateValue]
    settings: dict[str, str] = field(default_factory=dict)
    no_power: str = ""  # why there are no joules
    start_ns: int | None = None
    sessions: int = 1  # profiles of it: the lists of runs have a row for each


@dataclass(frozen=True)
class BaselineRuns:
    """What runs are compared with."""

    name: str
    runs: tuple[GatedRun, ...]
    left_out: int = 0  # ops and kernels that had no room


def gated_runs(side: AskedSide, *, with_ops: bool) -> list[GatedRun]:
    """One for each start of a program. Ops and kernels cost as much as the rest.

    Raises `UnreadableFile` where nothing can be read.
    """
    by_program: dict[str, list[GatedRun]] = {}
    for session in side.each(partial(_session, with_ops=with_ops)):
        by_program.setdefault(session.program, []).append(session.run)
    if not by_program:
        raise UnreadableFile(side.name, "holds no run that can be read")
    return [_merged(sessions) for sessions in by_program.values()]


class _Session(NamedTuple):
    """One profile, and which start of a program it is of."""

    program: str
    run: GatedRun


def _session(part: ComparedPart, *, with_ops: bool) -> _Session:
    lead = part.lead
    if lead is None:
        steps = 0
    else:
        steps = len(lead.rows)
    values: dict[str, GateValue] = {}
    if lead is not None and steps:
        values |= _step_quantities(step_figures.time_values(lead))
        values |= _category_quantities(step_figures.category_values(lead), values)
        if with_ops:
            values |= _op_quantities(op_figures.op_values(part))
            values |= _kernel_quantities(kernel_figures.kernel_values(part), steps)
    power = power_figures.power_values(part)
    values |= _power_quantities(part, power.values)
    total = _total_joules(part)
    if isinstance(total, GateValue):
        values[quantities.JOULES] = total
    values |= _memory_quantities(memory_figures.memory_values(part))
    run = GatedRun(
        name=part.name,
        steps=steps,
        values=_finite_values(values),
        settings=_settings(part),
        no_power=_why_no_power(values, power.why, total, steps),
        start_ns=_start_ns(part),
    )
    return _Session(part.program or part.name, run)


def _why_no_power(
    values: Mapping[str, GateValue],
    of_step: str,
    total: GateValue | str,
    steps: int,
) -> str:
    """Why there are no joules of a step; without steps, of the whole."""
    if quantities.STEP_JOULES in values:
        return ""
    if not steps and isinstance(total, str):
        return total
    return of_step


def _finite_values(values: dict[str, GateValue]) -> dict[str, GateValue]:
    """A damaged trace may give a NaN, which no limit could hold against."""
    finite = {}
    for name, value in values.items():
        if math.isfinite(value.value):
            finite[name] = value
    return finite


def _merged(sessions: Sequence[GatedRun]) -> GatedRun:
    """Several sessions of one start of a program as one run: the means of their values."""
    first = sessions[0]
    if len(sessions) == 1:
        return first
    values: dict[str, GateValue] = {}
    for name, session_values in _by_name(sessions).items():
        count = len(session_values)
        values[name] = GateValue(
            value=sum(value.value for value in session_values) / count,
            below=sum(value.below for value in session_values) / count,
            above=sum(value.above for value in session_values) / count,
            is_fact=session_values[0].is_fact,
        )
    return replace(
        first,
        name=name_of_sessions(first.name, len(sessions)),
        steps=sum(session.steps for session in sessions),
        sessions=len(sessions),
        values=values,
    )


def _by_name(sessions: Sequence[GatedRun]) -> dict[str, list[GateValue]]:
    """The values of each quantity, of the sessions that have it."""
    by_name: dict[str, list[GateValue]] = {}
    for session in sessions:
        for name, value in session.values.items():
            by_name.setdefault(name, []).append(value)
    return by_name


# ── one family each ──────────────────────────────────────────────────────────────────────────────


def _plain_value(value: ComparedValue) -> GateValue:
    return GateValue(value.value, value.blocks)


def _step_quantities(figures: Values) -> dict[str, GateValue]:
    values = {}
    for key, name in (
        (step_figures.STEP, quantities.STEP),
        (step_figures.TYPICAL_STEP, quantities.MEDIAN_STEP),
        (step_figures.FAST_STEP, quantities.QUARTILE_STEP),
    ):
        if key in figures:
            values[name] = _plain_value(figures[key])
    step = values.get(quantities.STEP)
    if step is not None and step.value > 0 and all(block > 0 for block in step.blocks):
        rates = tuple(1 / block for block in step.blocks)
        values[quantities.STEPS_PER_S] = GateValue(1 / step.value, rates)
    return values


def _category_quantities(figures: Values, steps: dict[str, GateValue]) -> dict[str, GateValue]:
    seconds: dict[str, ComparedValue] = {}
    values = {}
    for key, value in figures.items():
        seconds[key.name] = value
        values[f"{quantities.CATEGORY}{key.name}"] = _plain_value(value)
    device = _device_time(seconds)
    if device is not None:
        values[quantities.DEVICE] = device
    step = steps.get(quantities.STEP)
    waiting = seconds.get(_LABELS["input"])
    # Without an event that is known to be input nobody knows whether steps wait for it.
    if waiting is not None and step is not None and step.value > 0:
        values[quantities.INPUT_SHARE] = _share_of_step(waiting, step)
    return values


def _device_time(seconds: dict[str, ComparedValue]) -> GateValue | None:
    """The categories of device work together; None where a step has none of them."""
    labels = [_LABELS[name] for name in _DEVICE_CATEGORIES]
    parts = [seconds[label] for label in labels if label in seconds]
    if not parts:
        return None
    blocks_of_parts = zip(*(part.blocks for part in parts), strict=True)
    total = sum(part.value for part in parts)
    return GateValue(total, tuple(map(sum, blocks_of_parts)))


def _share_of_step(waiting: ComparedValue, step: GateValue) -> GateValue:
    blocks: tuple[float, ...] = ()
    if len(waiting.blocks) == len(step.blocks) and all(step.blocks):
        pairs = zip(waiting.blocks, step.blocks, strict=True)
        blocks = tuple(wait_s / step_s for wait_s, step_s in pairs)
    return GateValue(waiting.value / step.value, blocks)


def _op_quantities(figures: Values) -> dict[str, GateValue]:
    """On the devices where the op ran there, else on the host."""
    values = {}
    for where in (op_figures.ON_HOST, op_figures.ON_DEVICE):
        for key, value in figures.items():
            if key.within == where:
                values[f"{quantities.OP}{key.name}"] = GateValue(value.value)
    return values


def _kernel_quantities(figures: Values, steps: int) -> dict[str, GateValue]:
    seconds: dict[str, float] = {}
    for key, value in figures.items():
        if key.family is Family.KERNEL_NAME and key.unit == "s":
            seconds[key.name] = seconds.get(key.name, 0.0) + value.value
    values = {}
    for name, total_s in seconds.items():
        values[f"{quantities.KERNEL}{name}"] = GateValue(total_s / steps)
    return values


def _memory_quantities(figures: Values) -> dict[str, GateValue]:
    if not figures:
        return {}
    most = max(value.value for value in figures.values())
    return {quantities.MEMORY: GateValue(most, is_fact=True)}


def _power_quantities(part: ComparedPart, figures: Values) -> dict[str, GateValue]:
    values: dict[str, GateValue] = {}
    below, above = _margins_of_step(part)
    for key, name in (
        (power_figures.JOULES, quantities.STEP_JOULES),
        (power_figures.WATTS, quantities.WATTS),
    ):
        if key in figures:
            figure = figures[key]
            values[name] = GateValue(
                value=figure.value,
                blocks=figure.blocks,
                below=below * figure.value,
                above=above * figure.value,
            )
    return values


def _margins_of_step(part: ComparedPart) -> tuple[float, float]:
    """How well a step's mean energy is measured, gain included: shares of it (95 %)."""
    below = above = 0.0
    for window in part.windows:
        energy = account.energy_account(window.profile, part.aligning).per_step(None)
        if energy is None or energy.interval is None or not energy.joules:
            continue
        joules, lo, hi = energy.interval
        below = max(below, 1 - lo / joules)
        above = max(above, hi / joules - 1)
    return max(0.0, below), max(0.0, above)


def _total_joules(part: ComparedPart) -> GateValue | str:
    """The energy of the profile or window, or why that of a host is not resolved.

    The gains of the hosts' sensors may err in the same direction, so the intervals add up.
    """
    joules = below = above = 0.0
    for window in part.windows:
        energies = account.energy_account(window.profile, part.aligning)
        begin, end = energies.trace.span
        if window.lo is None:
            lo = begin
        else:
            lo = window.lo
        if window.hi is None:
            hi = end
        else:
            hi = window.hi
        energy = energies.energy(lo, hi)
        if energy is None:
            return "there is no power log"
        if energy.joules is None or not energy.resolved:
            return energy.reason.removeprefix("not resolved: ")
        joules += energy.joules
        if energy.lo is None:
            below += 0.0
        else:
            below += energy.joules - energy.lo
        if energy.hi is None:
            above += 0.0
        else:
            above += energy.hi - energy.joules
    if not part.windows:
        return "there is no profile"
    return GateValue(
        value=joules,
        below=max(0.0, below),
        above=max(0.0, above),
        is_fact=True,
    )


def _settings(part: ComparedPart) -> dict[str, str]:
    settings = {}
    for name, value in configuration.settings(part).items():
        if name not in _UNSAVED_SETTINGS:
            settings[name] = value[:_MAX_SETTING_CHARACTERS]
    return settings


def _start_ns(part: ComparedPart) -> int | None:
    lead = part.lead
    if lead is None or not lead.profile.clock.known:
        return None
    return lead.profile.clock.mid_ns + lead.profile.trace.span[0] // PS_PER_NS
