"""The hosts of a run side by side: one step of all of them by category, every step with the host
that held the others up, what that cost, and who came late to collectives. TensorBoard's pod viewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.energy import host_energy
from powertui.data.energy.host_sides import HostSides, device_work, host_sides
from powertui.data.model import PS_PER_S, Badge, Int64s
from powertui.data.opened import Profile
from powertui.data.table import Chart, Fact, Place, Result, Series, Table
from powertui.data.tools import hosts
from powertui.data.tools.breakdown import CATEGORIES
from powertui.data.tools.rank_lateness import Lateness, run_lateness
from powertui.data.tools.registry import Question
from powertui.plain import plain

_MAX_NAMES = 5  # of hosts that are not compared; chosen: a line of them
_NO_STEPS = "No step was found: hosts are compared step by step."


def answer(question: Question) -> Result:
    """The hosts in the step of the window; without a window in the step that held up most."""
    opened = question.opened
    compat = question.compat
    sides = opened.cached(("host sides", compat), lambda: host_sides(opened, compat))
    if sides is None:
        return _nothing()
    late = run_lateness(opened)
    step = _chosen_step(question, sides)
    watts = _watts(question)
    tables = [
        _members(question, sides, step),
        _steps(question, sides, watts),
        *_devices(question, sides, step),
        *_late_table(late),
        _pod(sides),
    ]
    return Result(
        id="hosts",
        title="Hosts",
        tables=tuple(tables),
        facts=tuple(_facts(sides, step, late, watts)),
        charts=(_chart(sides, step),),
        notes=tuple(_notes(question, sides, late)),
        mode=compat,
    )


def _nothing() -> Result:
    """Where no host has steps."""
    table = Table(
        id="members",
        title="Hosts",
        columns=(text_column("host_name", "host", ()),),
        empty=_NO_STEPS,
        noun="host",
    )
    fact = Fact("steps", "steps", None, why=_NO_STEPS)
    return Result(
        id="hosts",
        title="Hosts",
        tables=(table,),
        facts=(fact,),
    )


def _chosen_step(question: Question, sides: HostSides) -> int:
    """The common step in the middle of the window, as the host in front has it; without a window
    the one in which the slowest host is most behind.
    """
    common = sides.common
    if question.lo is None or question.hi is None or question.together:
        return int(sides.excess.argmax())
    host = question.profile.host
    if host not in common.hosts:
        return int(sides.excess.argmax())
    member = common.hosts.index(host)
    rows = common.rows[member]
    starts = common.steps[member].start[rows]
    middles = starts + sides.lengths[:, member] // 2
    window_middle = (question.lo + question.hi) // 2
    return int(np.abs(middles - window_middle).argmin())


def _watts(question: Question) -> float | None:
    """What all hosts together drew on average; None where that is not known."""
    opened = question.opened
    if not opened.run.power:
        return None
    energy = host_energy.run_energy(opened, question.aligning)
    if energy.total is None or energy.total.joules is None:
        return None
    lengths_ps = []
    for profile in opened.profiles:
        lo, hi = profile.trace.span
        lengths_ps.append(hi - lo)
    longest_s = max(lengths_ps) / PS_PER_S
    if not longest_s:
        return None
    return energy.total.joules / longest_s


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _place(
    question: Question,
    sides: HostSides,
    step: int,
    member: int,
) -> Place:
    """Where a step of a host is."""
    common = sides.common
    steps = common.steps[member]
    row = int(common.rows[member][step])
    lo = int(steps.start[row])
    names = [profile.host for profile in question.opened.profiles]
    return Place(
        run=question.opened.name,
        host=names.index(common.hosts[member]),
        lo=lo,
        hi=lo + int(steps.length[row]),
    )


def _members(question: Question, sides: HostSides, step: int) -> Table:
    """One step of every host."""
    own_times = sides.own[step]
    known = sides.known[step]
    behind = np.zeros(len(known), np.int64)
    behind[known] = _behind(own_times[known])
    parts = sides.parts[step]
    columns = [
        text_column("host_name", "host", sides.common.hosts, weight=9),
        Column("step_s", "step", "duration", sides.lengths[step], weight=8),
        Column(
            id="own_s",
            label="without collectives",
            kind="duration",
            values=own_times,
            present=known,
            weight=7,
        ),
        Column(
            id="behind_s",
            label="against the others",
            kind="duration",
            values=behind,
            present=known,
            weight=8,
            signed=True,
        ),
    ]
    for number, (id, label, *_) in enumerate(CATEGORIES):
        times = parts[:, number]
        column = Column(
            id=f"{id}_s",
            label=label.lower(),
            kind="duration",
            values=times,
            weight=6 if times.any() else 2,  # what no host did has room last
        )
        columns.append(column)
    columns.append(text_column("bottleneck", "mostly", _bottlenecks(parts), weight=5))
    return Table(
        id="members",
        title=f"Step {sides.name(step)}, host by host",
        columns=tuple(columns),
        place=lambda member: _place(question, sides, step, member),
        key=("host_name",),
        noun="host",
    )


def _behind(times: Int64s) -> Int64s:
    """By how much each time is over the median of the others."""
    if len(times) < 2:
        return np.zeros(len(times), np.int64)
    medians = []
    for member in range(len(times)):
        others = np.delete(times, member)
        medians.append(np.median(others))
    behind: Int64s = np.rint(times - np.array(medians)).astype(np.int64)
    return behind


def _bottlenecks(parts: Int64s) -> list[str]:
    """The category that took most of each row; of equals the later one, as TensorBoard does it."""
    labels = [label for _, label, *_ in CATEGORIES]
    labels.reverse()
    latest_first = parts[:, ::-1]
    return [labels[number] for number in latest_first.argmax(axis=1).tolist()]


def _steps(question: Question, sides: HostSides, watts: float | None) -> Table:
    """Every common step, with the host that was slowest in it and what that cost."""
    slowest: list[int] = sides.slowest.tolist()
    step_names = [sides.name(step) for step in range(sides.common.count)]
    host_names = [sides.common.hosts[member] for member in slowest]
    longest = sides.lengths.max(axis=1)
    excess = sides.excess
    cost = np.rint(excess).astype(np.int64)
    joules = [None if watts is None else watts * ps / PS_PER_S for ps in excess.tolist()]
    columns = (
        text_column("step", "step", step_names, weight=9),
        Column("step_s", "longest", "duration", longest, weight=7),
        text_column("slowest", "slowest host", host_names, weight=8),
        Column("cost_s", "costs", "duration", cost, weight=9),
        optional("cost_j", "energy", "number", joules, unit="J", weight=6),
    )
    return Table(
        id="host_steps",
        title="Every step, and what its slowest host costs",
        columns=columns,
        place=lambda step: _place(question, sides, step, slowest[step]),
        key=("step",),
        noun="step",
    )


def _devices(
    question: Question,
    sides: HostSides,
    step: int,
) -> Iterator[Table]:
    """What every device of every host worked in the step."""
    rows = device_work(question, sides, step)
    if len(rows) < 2:
        return
    work = np.array([row.ps for row in rows], np.int64)
    columns = (
        text_column("host_name", "host", [row.host for row in rows], weight=8),
        text_column("device", "device", [row.device for row in rows], weight=9),
        Column("work_s", "work", "duration", work, weight=9),
        Column(
            id="behind_s",
            label="against the others",
            kind="duration",
            values=_behind(work),
            weight=7,
            signed=True,
        ),
    )
    yield Table(
        id="devices",
        title=f"Step {sides.name(step)}, device by device",
        columns=columns,
        key=("host_name", "device"),
        noun="device",
    )


def _late_table(late: Lateness | None) -> Iterator[Table]:
    """Who came last to the collectives that all hosts ran."""
    if late is None:
        return
    names = [rank.name for rank in late.matched.ranks]
    times_last = np.bincount(late.last, minlength=len(names))
    waited = np.bincount(late.last, weights=late.mean_waits, minlength=len(names))
    columns = (
        text_column("host_name", "host", names, weight=9),
        int_column("last", "came last in", "integer", times_last.tolist(), weight=8),
        Column(
            id="waited_s",
            label="others waited",
            kind="duration",
            values=np.rint(waited).astype(np.int64),
            weight=9,
        ),
    )
    yield Table(
        id="late",
        title=f"Who came last to {len(late.matched):,} collectives",
        columns=columns,
        order=("waited_s", True),
        key=("host_name",),
        noun="host",
    )


def _pod(sides: HostSides) -> Table:
    """Every step of every host, as TensorBoard's pod viewer has it."""
    steps, members, kinds = sides.parts.shape
    parts = sides.parts.reshape(steps * members, kinds)
    step_names = []
    for step in range(steps):
        step_names += [sides.name(step)] * members
    host_names = list(sides.common.hosts) * steps
    step_times = sides.lengths.reshape(-1)
    columns = [
        text_column("step", "step", step_names, weight=9),
        text_column("host_name", "host", host_names, weight=9),
        Column(
            id="total_us",
            label="step time",
            kind="duration",
            values=step_times,
            unit="us",
            weight=8,
        ),
    ]
    for number, (id, label, *_) in enumerate(CATEGORIES):
        column = Column(
            id=f"{id}_us",
            label=label.lower(),
            kind="duration",
            values=parts[:, number],
            unit="us",
            weight=4,
        )
        columns.append(column)
    columns.append(text_column("bottleneck", "mostly", _bottlenecks(parts), weight=5))
    return Table(
        id="pod",
        title="Every step of every host",
        columns=tuple(columns),
        key=("step", "host_name"),
    )


def _chart(sides: HostSides, step: int) -> Chart:
    """The step of every host by category."""
    seconds = sides.parts[step] / PS_PER_S
    series = []
    for number, (_, label, *_) in enumerate(CATEGORIES):
        of_category = seconds[:, number]
        if of_category.any():
            series.append(Series(label, sides.common.hosts, of_category))
    return Chart(
        id="hosts",
        title=f"Step {sides.name(step)} of each host by category",
        series=tuple(series),
        kind="members",
        y_label="time",
        y_unit="s",
    )


# ── facts and notes ──────────────────────────────────────────────────────────────────────────────


def _facts(
    sides: HostSides,
    step: int,
    late: Lateness | None,
    watts: float | None,
) -> Iterator[Fact]:
    common = sides.common
    yield Fact("hosts", "hosts", len(common.hosts), "integer")
    yield Fact("steps", "steps that all have", common.count, "integer")
    yield Fact("shown_step", "step shown", sides.name(step))
    if len(common.hosts) < 2:
        return
    cost_ps = float(sides.excess.sum())
    yield Fact("cost_s", "the slowest hosts cost", round(cost_ps), "duration")
    yield _cost_fact(cost_ps, watts)
    comparison = common.comparison()
    stragglers = comparison.stragglers()
    if stragglers:
        worst = stragglers[0]
        name = common.hosts[worst.member]
        words = f"{name}, slowest in {worst.slowest:,} of {len(comparison.steps):,} steps"
        yield Fact("straggler", "holds the others up", words)
    else:
        yield Fact("straggler", "holds the others up", None, why="no host in most steps")
    if late is not None:
        waited = round(float(late.mean_waits.sum()))
        yield Fact("late_s", "waited in collectives", waited, "duration")


def _cost_fact(cost_ps: float, watts: float | None) -> Fact:
    """What all hosts drew in the time that the slowest ones cost."""
    joules = None
    badge = None
    why = "no power of all hosts is known"
    if watts is not None:
        joules = watts * cost_ps / PS_PER_S
        badge = Badge.ESTIMATED
        why = ""
    return Fact(
        id="cost_j",
        label="their energy",
        value=joules,
        kind="number",
        unit="J",
        badge=badge,
        why=why,
    )


def _notes(
    question: Question,
    sides: HostSides,
    late: Lateness | None,
) -> Iterator[str]:
    profiles = question.opened.profiles
    compared = sides.common.hosts
    if len(compared) == 1 and len(profiles) > 1 and hosts.are_days_apart(profiles):
        others = [profile.host for profile in profiles if profile.host != compared[0]]
        yield (
            f"Not compared: {_first_names(others)}. By their clocks these profiles were "
            "recorded more than a day apart, and no program numbered their steps."
        )
    if len(compared) > 1:
        yield (
            "Costs: how far the slowest host of a step is over the median of the others, without "
            "collectives, in which those wait. Energy: that time at the mean power of all hosts."
        )
        how = "their numbers" if sides.common.by == "number" else "the time at which they overlap"
        yield f"Steps of different hosts are matched by {how}."
        yield from _not_compared(sides, profiles)
    if late is not None:
        yield "Causes, joules and clocks of late ranks: the tool late_ranks."


def _not_compared(sides: HostSides, profiles: Sequence[Profile]) -> Iterator[str]:
    """Which hosts nobody can compare with the others, and why."""
    incomplete = {profile.host for profile in profiles if profile.trace.missing}
    cut = [name for name in sides.not_compared if name in incomplete]
    if cut:
        yield f"Not compared: {_first_names(cut)}. A part of the profile is missing."
    names = [name for name in sides.not_compared if name not in incomplete]
    if not names:
        return
    yield (
        f"Not compared: {_first_names(names)}. Most steps there show no collective, while those of "
        "the other hosts do, so how long it waited is not known. The profile may be cut, or "
        "without a device."
    )


def _first_names(names: Sequence[str]) -> str:
    """The first of these hosts, and how many more there are."""
    words = ", ".join(plain(name, 80) for name in names[:_MAX_NAMES])
    if len(names) > _MAX_NAMES:
        words += f" and {len(names) - _MAX_NAMES:,} more"
    return words
