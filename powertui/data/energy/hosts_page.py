"""The hosts of a run side by side: one step of all of them by category, every step with the host
that held the others up, what that cost, and who came late to collectives. TensorBoard's pod viewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.asked import Compat
from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.energy import host_energy
from powertui.data.model import PS_PER_S, Badge, Bools, Floats, Int64s
from powertui.data.opened import Opened, Profile
from powertui.data.table import Chart, Fact, Place, Result, Series, Table
from powertui.data.tools import breakdown, hosts
from powertui.data.tools.breakdown import CATEGORIES
from powertui.data.tools.hosts import CommonSteps
from powertui.data.tools.rank_lateness import Lateness, run_lateness
from powertui.data.tools.registry import Question
from powertui.plain import plain
from powertui.value_types import dataclass

_MAX_NAMES = 5  # of hosts that are not compared; chosen: a line of them
_NO_STEPS = "No step was found: hosts are compared step by step."


@dataclass(frozen=True, eq=False)
class _Sides:
    """The common steps of all hosts in figures, each [steps × hosts], ps."""

    common: CommonSteps
    lengths: Int64s
    own: Int64s  # without collectives, in which whoever is early waits
    known: Bools  # whether it is known how long a host waited
    parts: Int64s  # [steps × hosts × categories]

    @property
    def excess(self) -> Floats:
        """By how much the slowest host of each step is over the median of the others, of those
        whose waits are known.
        """
        own_times = np.where(self.known, self.own, np.nan)
        in_order = np.sort(own_times, axis=1)  # NaN is last
        counts = self.known.sum(axis=1)
        excess = np.zeros(len(in_order))
        for count in np.unique(counts).tolist():
            rows = counts == count
            times = in_order[rows, :count]
            others = times[:, : max(1, count - 1)]
            excess[rows] = times[:, -1] - np.median(others, axis=1)
        return excess

    @property
    def slowest(self) -> Int64s:
        """The slowest host of each step, of those whose waits are known."""
        own_times = np.where(self.known, self.own, -1)
        return np.asarray(own_times.argmax(axis=1), np.int64)

    @property
    def not_compared(self) -> list[str]:
        """Hosts whose waits are not known in most steps."""
        members = self.common.comparison().members.tolist()
        return [host for number, host in enumerate(self.common.hosts) if number not in members]

    def name(self, step: int) -> str:
        """The step as the chief names it."""
        chief = self.common.chief
        row = int(self.common.rows[chief][step])
        return self.common.steps[chief].names[row] or str(row)


def answer(question: Question) -> Result:
    """The hosts in the step of the window; without a window in the step that held up most."""
    sides = question.opened.cached(
        ("host sides", question.compat), lambda: _sides(question.opened, question.compat)
    )
    if sides is None:
        nothing = (text_column("host_name", "host", ()),)
        table = Table("members", "Hosts", nothing, empty=_NO_STEPS, noun="host")
        fact = Fact("steps", "steps", None, why=_NO_STEPS)
        return Result("hosts", "Hosts", (table,), (fact,))
    late = run_lateness(question.opened)
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
        "hosts",
        "Hosts",
        tuple(tables),
        tuple(_facts(sides, step, late, watts)),
        (_chart(sides, step),),
        notes=tuple(_notes(question, sides, late)),
        mode=question.compat,
    )


def _sides(opened: Opened, compat: Compat) -> _Sides | None:
    common = hosts.uncut_together(opened, compat) or _one_host(opened, compat)
    if common is None:
        return None
    parts = [
        np.stack([steps.category(id)[rows] for id, *_ in CATEGORIES], axis=1)
        for steps, rows in zip(common.steps, common.rows, strict=True)
    ]
    return _Sides(
        common,
        common.lengths(),
        common.lengths_without_collectives(),
        common.known_waits,
        np.stack(parts, axis=1),
    )


def _one_host(opened: Opened, compat: Compat) -> CommonSteps | None:
    """The steps of the only host that has some; None where none has."""
    for profile in opened.profiles:
        steps = breakdown.uncut_breakdown(profile, compat)
        if len(steps):
            rows = np.arange(len(steps))
            return CommonSteps((profile.host,), (steps,), (rows,), chief=0, by="number")
    return None


def _chosen_step(question: Question, sides: _Sides) -> int:
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
    start = common.steps[member].start[common.rows[member]]
    middle = start + sides.lengths[:, member] // 2
    return int(np.abs(middle - (question.lo + question.hi) // 2).argmin())


def _watts(question: Question) -> float | None:
    """What all hosts together drew on average; None where that is not known."""
    opened = question.opened
    if not opened.run.power:
        return None
    energy = host_energy.run_energy(opened, question.aligning)
    if energy.total is None or energy.total.joules is None:
        return None
    spans = [profile.trace.span for profile in opened.profiles]
    longest_s = max(hi - lo for lo, hi in spans) / PS_PER_S
    return energy.total.joules / longest_s if longest_s else None


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _place(
    question: Question,
    sides: _Sides,
    step: int,
    member: int,
) -> Place:
    """Where a step of a host is."""
    common = sides.common
    row = int(common.rows[member][step])
    lo = int(common.steps[member].start[row])
    names = [profile.host for profile in question.opened.profiles]
    host = names.index(common.hosts[member])
    hi = lo + int(common.steps[member].length[row])
    return Place(
        run=question.opened.name,
        host=host,
        lo=lo,
        hi=hi,
    )


def _members(question: Question, sides: _Sides, step: int) -> Table:
    """One step of every host."""
    own_times = sides.own[step]
    known = sides.known[step]
    behind = np.zeros(len(known), np.int64)
    behind[known] = _behind(own_times[known])
    parts = sides.parts[step]
    columns = [
        text_column("host_name", "host", sides.common.hosts, weight=9),
        Column("step_s", "step", "duration", sides.lengths[step], weight=8),
        Column("own_s", "without collectives", "duration", own_times, present=known, weight=7),
        Column(
            "behind_s",
            "against the others",
            "duration",
            behind,
            present=known,
            weight=8,
            signed=True,
        ),
    ]
    for number, (id, label, *_) in enumerate(CATEGORIES):
        weight = 6 if parts[:, number].any() else 2  # what no host did has room last
        column = Column(f"{id}_s", label.lower(), "duration", parts[:, number], weight=weight)
        columns.append(column)
    columns.append(text_column("bottleneck", "mostly", _bottlenecks(parts), weight=5))
    return Table(
        "members",
        f"Step {sides.name(step)}, host by host",
        tuple(columns),
        place=lambda member: _place(question, sides, step, member),
        key=("host_name",),
        noun="host",
    )


def _behind(times: Int64s) -> Int64s:
    """By how much each time is over the median of the others."""
    if len(times) < 2:
        return np.zeros(len(times), np.int64)
    others = [np.median(np.delete(times, member)) for member in range(len(times))]
    behind: Int64s = np.rint(times - np.array(others)).astype(np.int64)
    return behind


def _bottlenecks(parts: Int64s) -> list[str]:
    """The category that took most of each row; of equals the later one, as TensorBoard does it."""
    labels = [label for _, label, *_ in CATEGORIES]
    last = len(labels) - 1
    return [labels[last - int(row[::-1].argmax())] for row in parts]


def _steps(question: Question, sides: _Sides, watts: float | None) -> Table:
    """Every common step, with the host that was slowest in it and what that cost."""
    count = sides.common.count
    slowest = sides.slowest
    names = [sides.common.hosts[member] for member in slowest.tolist()]
    excess = sides.excess
    joules = [None if watts is None else watts * ps / PS_PER_S for ps in excess.tolist()]
    columns = (
        text_column("step", "step", [sides.name(step) for step in range(count)], weight=9),
        Column("step_s", "longest", "duration", sides.lengths.max(axis=1), weight=7),
        text_column("slowest", "slowest host", names, weight=8),
        Column("cost_s", "costs", "duration", np.rint(excess).astype(np.int64), weight=9),
        optional("cost_j", "energy", "number", joules, unit="J", weight=6),
    )
    return Table(
        "host_steps",
        "Every step, and what its slowest host costs",
        columns,
        place=lambda step: _place(question, sides, step, int(slowest[step])),
        key=("step",),
        noun="step",
    )


def _devices(question: Question, sides: _Sides, step: int) -> Iterator[Table]:
    """What every device of every host worked in the step."""
    rows: list[tuple[str, str, int]] = []
    for profile in question.opened.profiles:
        if profile.host not in sides.common.hosts:
            continue
        member = sides.common.hosts.index(profile.host)
        row = int(sides.common.rows[member][step])
        for part in profile.steps.on:
            places = np.flatnonzero(part.row == row)
            if part.kind == "device" and len(places) and part.work[places[0]] >= 0:
                rows.append((profile.host, part.name, int(part.work[places[0]])))
    if len(rows) < 2:
        return
    work = np.array([ps for _, _, ps in rows], np.int64)
    behind = _behind(work)
    columns = (
        text_column("host_name", "host", [host for host, _, _ in rows], weight=8),
        text_column("device", "device", [device for _, device, _ in rows], weight=9),
        Column("work_s", "work", "duration", work, weight=9),
        Column("behind_s", "against the others", "duration", behind, weight=7, signed=True),
    )
    title = f"Step {sides.name(step)}, device by device"
    yield Table("devices", title, columns, key=("host_name", "device"), noun="device")


def _late_table(late: Lateness | None) -> Iterator[Table]:
    """Who came last to the collectives that all hosts ran."""
    if late is None:
        return
    ranks = late.matched.ranks
    times_last = np.bincount(late.last, minlength=len(ranks))
    waited = np.bincount(late.last, weights=late.mean_waits, minlength=len(ranks))
    columns = (
        text_column("host_name", "host", [rank.name for rank in ranks], weight=9),
        int_column("last", "came last in", "integer", times_last.tolist(), weight=8),
        Column(
            "waited_s",
            "others waited",
            "duration",
            np.rint(waited).astype(np.int64),
            weight=9,
        ),
    )
    title = f"Who came last to {len(late.matched):,} collectives"
    yield Table(
        "late",
        title,
        columns,
        order=("waited_s", True),
        key=("host_name",),
        noun="host",
    )


def _pod(sides: _Sides) -> Table:
    """Every step of every host, as TensorBoard's pod viewer has it."""
    steps, members, kinds = sides.parts.shape
    parts = sides.parts.reshape(steps * members, kinds)
    names = [sides.name(step) for step in range(steps) for _ in range(members)]
    columns = [
        text_column("step", "step", names, weight=9),
        text_column("host_name", "host", list(sides.common.hosts) * steps, weight=9),
        Column("total_us", "step time", "duration", sides.lengths.reshape(-1), "us", weight=8),
    ]
    for number, (id, label, *_) in enumerate(CATEGORIES):
        column = Column(f"{id}_us", label.lower(), "duration", parts[:, number], "us", weight=4)
        columns.append(column)
    columns.append(text_column("bottleneck", "mostly", _bottlenecks(parts), weight=5))
    return Table("pod", "Every step of every host", tuple(columns), key=("step", "host_name"))


def _chart(sides: _Sides, step: int) -> Chart:
    """The step of every host by category."""
    seconds = sides.parts[step] / PS_PER_S
    series = [
        Series(label, sides.common.hosts, seconds[:, number])
        for number, (_, label, *_) in enumerate(CATEGORIES)
        if seconds[:, number].any()
    ]
    title = f"Step {sides.name(step)} of each host by category"
    return Chart("hosts", title, tuple(series), "members", y_label="time", y_unit="s")


# ── facts and notes ──────────────────────────────────────────────────────────────────────────────


def _facts(
    sides: _Sides,
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
    joules = None if watts is None else watts * cost_ps / PS_PER_S
    why = "" if watts is not None else "no power of all hosts is known"
    badge = Badge.ESTIMATED if joules is not None else None
    yield Fact("cost_j", "their energy", joules, "number", "J", badge, why=why)
    comparison = common.comparison()
    stragglers = comparison.stragglers()
    if not stragglers:
        yield Fact("straggler", "holds the others up", None, why="no host in most steps")
    for straggler in stragglers[:1]:
        name = common.hosts[straggler.member]
        words = f"{name}, slowest in {straggler.slowest:,} of {len(comparison.steps):,} steps"
        yield Fact("straggler", "holds the others up", words)
    if late is not None:
        waited = round(float(late.mean_waits.sum()))
        yield Fact("late_s", "waited in collectives", waited, "duration")


def _notes(question: Question, sides: _Sides, late: Lateness | None) -> Iterator[str]:
    profiles = question.opened.profiles
    if len(sides.common.hosts) == 1 and len(profiles) > 1 and hosts.are_days_apart(profiles):
        others = [profile.host for profile in profiles if profile.host != sides.common.hosts[0]]
        yield (
            f"Not compared: {_first_names(others)}. By their clocks these profiles were "
            "recorded more than a day apart, and no program numbered their steps."
        )
    if len(sides.common.hosts) > 1:
        yield (
            "Costs: how far the slowest host of a step is over the median of the others, without "
            "collectives, in which those wait. Energy: that time at the mean power of all hosts."
        )
        how = "their numbers" if sides.common.by == "number" else "the time at which they overlap"
        yield f"Steps of different hosts are matched by {how}."
        yield from _not_compared(sides, profiles)
    if late is not None:
        yield "Causes, joules and clocks of late ranks: the tool late_ranks."


def _not_compared(sides: _Sides, profiles: Sequence[Profile]) -> Iterator[str]:
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
