"""Collectives across the ranks of a run: who came last, what the others waited for it, in seconds
and joules, and how far the clocks of the ranks are apart.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.energy.wait_energy import (
    WaitEnergy,
    WaitSum,
    resolved,
    wait_energies,
    wait_sum,
)
from powertui.data.model import PS_PER_S, Badge, Floats, Int64s
from powertui.data.opened import Opened
from powertui.data.table import Fact, Place, Result, Table, plural
from powertui.data.tools.rank_causes import LateCause, late_cause
from powertui.data.tools.rank_lateness import (
    Lateness,
    LateRank,
    late_in,
    late_ranks,
    run_calls,
    run_lateness,
    shown_calls,
    wander,
)
from powertui.data.tools.rank_paces import MIN_BLOCKS
from powertui.data.tools.registry import Question
from powertui.plain import plain
from powertui.value_types import dataclass

_MAX_CALLS = 200  # listed: those with the longest waits
_NO_RANKS = "Fewer than two ranks of this run recorded collectives."
_NOT_MATCHED = "The collectives of the ranks do not match: their ends meet at no shift of clocks."


@dataclass(frozen=True, eq=False)
class Late:
    """What is known of late ranks in one run."""

    question: Question
    lateness: Lateness

    @functools.cached_property
    def ranks(self) -> list[LateRank]:
        """Those that hold the others up, the worst first."""
        return late_ranks(self.lateness)

    @functools.cached_property
    def energies(self) -> tuple[WaitEnergy, ...]:
        """What every machine drew while waiting."""
        return wait_energies(self.question.opened, self.lateness, self.question.aligning)

    @functools.cached_property
    def cause(self) -> LateCause | None:
        """What the worst of them does longer than the others."""
        if not self.ranks:
            return None
        return late_cause(self.question.opened, self.lateness, self.ranks[0])

    def name(self, rank: int) -> str:
        """Of a rank."""
        return self.lateness.matched.ranks[rank].name

    def caused_s(self, late: LateRank) -> float:
        """What all others together waited for it, s."""
        calls = self._caused(late)
        return float(np.nansum(self.lateness.waits[calls])) / PS_PER_S

    def held_up_s(self, late: LateRank) -> float:
        """By how much the run would have been shorter, had it come with the one before, s."""
        return float(self.lateness.held_up[self._caused(late)].sum()) / PS_PER_S

    def caused_joules(self, late: LateRank) -> WaitSum | None:
        """What all others together drew while they waited for it; None where not known."""
        calls = self._caused(late)
        joules, squares = 0.0, 0.0
        for energy in self.energies:
            waits = self.lateness.waits[calls][:, list(energy.ranks)]
            wait_s = float(np.nansum(waits)) / len(energy.ranks) / PS_PER_S
            if energy.watts is None:
                if wait_s > 0:
                    return None
                continue
            joules += energy.watts.watts * wait_s
            squares += (energy.watts.half * wait_s) ** 2
        return resolved(WaitSum(joules, squares**0.5))

    def _caused(self, late: LateRank) -> Int64s:
        """The calls that waited for it."""
        is_late = late_in(self.lateness, late) & (self.lateness.last == late.rank)
        return np.flatnonzero(is_late)


def known_late(question: Question) -> Late | None:
    """What is known of late ranks; None where no collectives match. Worked out once."""

    def make() -> Late | None:
        lateness = run_lateness(question.opened)
        return None if lateness is None else Late(question, lateness)

    return question.opened.cached(("late ranks", question.aligning), make)


def answer(question: Question) -> Result:
    """Who came last to the collectives of the whole run."""
    late = known_late(question)
    if late is None:
        return _nothing(question.opened)
    return Result(
        "late_ranks",
        "Late ranks",
        (_ranks(late), _kinds(late), _calls(late)),
        tuple(_facts(late)),
        notes=tuple(_notes(late)),
    )


def _nothing(opened: Opened) -> Result:
    why = _NOT_MATCHED if len(run_calls(opened)) > 1 else _NO_RANKS
    table = Table("ranks", "Ranks", (text_column("rank", "rank", ()),), empty=why, noun="rank")
    fact = Fact("matched", "matched collectives", None, why=why)
    return Result("late_ranks", "Late ranks", (table,), (fact,))


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _ranks(late: Late) -> Table:
    """One row a rank."""
    lateness, matched = late.lateness, late.lateness.matched
    count = len(matched.ranks)
    taking_part = matched.is_in.sum(axis=0)
    times_last = np.bincount(lateness.last, minlength=count)
    mean_late = np.nan_to_num(lateness.mean_late)
    joules, half = _joules_by_rank(late.energies, lateness.waited())
    ahead = [clock.ahead_ps for clock in matched.clocks]
    ahead_half = [clock.whole_half_ps for clock in matched.clocks]
    columns = (
        text_column("rank", "rank", [rank.name for rank in matched.ranks], weight=9),
        int_column("last", "came last in", "integer", times_last.tolist(), weight=8),
        Column("last_share", "share", "share", times_last / np.maximum(1, taking_part), weight=5),
        _duration("late_s", "late by", mean_late, weight=8, signed=True),
        _duration("caused_s", "others waited", lateness.caused(), weight=9),
        _duration("waited_s", "waited itself", lateness.waited(), weight=7),
        optional("waited_j", "energy of waits", "number", joules, unit="J", weight=7),
        optional("waited_j_half", "±", "number", half, unit="J", weight=5),
        _duration("clock_ahead_s", "clock ahead", np.array(ahead), weight=6, signed=True),
        _duration("clock_half_s", "clock ±", np.array(ahead_half), weight=4),
    )

    def place(rank: int) -> Place:
        calls = matched.ranks[rank]
        span = int(calls.start[0]), int(calls.end.max())
        return Place(
            run=late.question.opened.name,
            host=calls.host,
            lo=span[0],
            hi=span[1],
        )

    title = f"Ranks in {len(matched):,} collectives"
    order = ("caused_s", True)
    return Table(
        "ranks",
        title,
        columns,
        place,
        order=order,
        key=("rank",),
        noun="rank",
    )


def _joules_by_rank(
    energies: Sequence[WaitEnergy],
    waited: Floats,
) -> tuple[list[float | None], list[float | None]]:
    """What each rank's share of its machine drew while it waited, and half of the interval."""
    joules: list[float | None] = [None] * len(waited)
    half: list[float | None] = [None] * len(waited)
    for energy in energies:
        if energy.watts is None:
            continue
        for rank in energy.ranks:
            wait_s = float(waited[rank]) / PS_PER_S / len(energy.ranks)
            joules[rank] = energy.watts.watts * wait_s
            half[rank] = energy.watts.half * wait_s
    return joules, half


def _duration(
    id: str,
    label: str,
    values: Floats,
    *,
    weight: int,
    signed: bool = False,
) -> Column:
    whole_ps = np.rint(values).astype(np.int64)
    return Column(id, label, "duration", whole_ps, weight=weight, signed=signed)


def _kinds(late: Late) -> Table:
    """One row for each operation of each group."""
    lateness = late.lateness
    call_keys = lateness.matched.keys
    keys = list(dict.fromkeys(call_keys))
    number_of = {key: number for number, key in enumerate(keys)}
    numbers = np.array([number_of[key] for key in call_keys], np.int64)
    counts = np.bincount(numbers, minlength=len(keys))
    spread = np.bincount(numbers, weights=lateness.spread, minlength=len(keys))
    longest = np.zeros(len(keys))
    np.maximum.at(longest, numbers, lateness.spread)
    waits_of_call = np.nansum(lateness.waits, axis=1)
    waits = np.bincount(numbers, weights=waits_of_call, minlength=len(keys))
    last_names = []
    for number in range(len(keys)):
        times_last = np.bincount(lateness.last[numbers == number])
        last_names.append(late.name(int(times_last.argmax())))
    elements = [None if key.elements < 0 else key.elements for key in keys]
    columns = (
        text_column("operation", "collective", [key.operation for key in keys], weight=9),
        text_column("group", "group", [key.group for key in keys], weight=5),
        text_column("dtype", "type", [key.dtype for key in keys], weight=3),
        optional("elements", "elements", "integer", elements, weight=4),
        int_column("count", "count", "integer", counts.tolist(), weight=8),
        _duration("spread_s", "arrivals apart", np.asarray(spread / counts), weight=8),
        _duration("max_spread_s", "at most", longest, weight=6),
        _duration("waited_s", "waited", np.asarray(waits, np.float64), weight=9),
        text_column("last", "last most often", last_names, weight=7),
    )
    order = ("waited_s", True)
    return Table("kinds", "By operation and group", columns, order=order, noun="operation")


def _calls(late: Late) -> Table:
    """The calls with the longest waits."""
    lateness, matched = late.lateness, late.lateness.matched
    shown = shown_calls(lateness, _MAX_CALLS)
    last = lateness.last[shown]
    rows = matched.rows[shown, last]
    starts = [int(matched.ranks[r].start[row]) for r, row in zip(last, rows, strict=True)]
    waits = np.nansum(lateness.waits[shown], axis=1)
    columns = (
        text_column("operation", "collective", [matched.keys[c].operation for c in shown]),
        Column("start_s", "last arrival", "instant", np.array(starts, np.int64), weight=7),
        text_column("last", "came last", [late.name(int(r)) for r in last], weight=9),
        _duration("held_up_s", "after the one before", lateness.held_up[shown], weight=8),
        _duration("spread_s", "after the first", lateness.spread[shown], weight=7),
        _duration("waited_s", "others waited", waits, weight=9),
    )

    def place(row: int) -> Place:
        rank = matched.ranks[int(last[row])]
        call = int(rows[row])
        line, event = int(rank.line[call]), int(rank.event[call])
        return replace(late.question, host=rank.host).event_place(line, event)

    title = f"The {len(shown):,} longest waits of {len(matched):,}"
    return Table("calls", title, columns, place, noun="collective")


# ── facts and notes ──────────────────────────────────────────────────────────────────────────────


def _facts(late: Late) -> Iterator[Fact]:
    lateness, matched = late.lateness, late.lateness.matched
    yield Fact("ranks", "ranks", len(matched.ranks), "integer")
    yield Fact("matched", "matched collectives", len(matched), "integer")
    waited = int(np.nansum(lateness.waits))
    yield Fact("waited_s", "waited, all ranks together", waited, "duration")
    total = wait_sum(late.energies)
    if total is None:
        # Of the machine that waited longest: the late one hardly waits, so its reason is another.
        unknown = [energy for energy in late.energies if energy.reason]
        longest = max(unknown, key=lambda energy: energy.wait_s, default=None)
        why = "" if longest is None else longest.reason
        yield Fact("waited_j", "energy of these waits", None, why=why)
    else:
        yield _joules("waited_j", "energy of these waits", total)
    if not late.ranks:
        yield Fact("late_rank", "late rank", None, why=_why_none(late))
    for rank in late.ranks[:1]:
        yield Fact("late_rank", "late rank", _late_words(late, rank))
        lo, hi = rank.late_ps - rank.half_ps, rank.late_ps + rank.half_ps
        by = round(rank.late_ps)
        yield Fact("late_by_s", "late by", by, "duration", "", Badge.MEASURED, lo, hi)
        caused = round(late.caused_s(rank) * PS_PER_S)
        yield Fact("caused_s", "the others waited for it", caused, "duration")
        yield _joules("caused_j", "and drew", late.caused_joules(rank))
        if late.cause is not None:
            yield Fact("cause", "cause", late.cause.sentence)


def _why_none(late: Late) -> str:
    """Why no rank is named."""
    matched = len(late.lateness.matched)
    if matched < MIN_BLOCKS:
        return f"cannot tell: {matched} collectives are too few; {MIN_BLOCKS} show whether it lasts"
    chance = wander(late.lateness)
    if chance is None:
        return "none beyond noise"
    latest = units.duration(round(chance.late_ps), 2)
    scatter = units.duration(round(chance.scatter_ps), 2)
    name = plain(late.name(chance.rank), 80)
    if chance.of_stretches:
        return (
            f"cannot tell: {name} is {latest} late on average, but over stretches of the run that "
            f"varies by {scatter}; a longer recording may show it"
        )
    return (
        f"cannot tell: {name} is {latest} late on average, but the pace of all ranks wanders, "
        f"and the averages of the others scatter by {scatter}; a longer recording may show it"
    )


def _joules(id: str, label: str, joules: WaitSum | None) -> Fact:
    if joules is None:
        return Fact(id, label, None, why="what hosts draw while waiting is not known")
    lo, hi = joules.joules - joules.half, joules.joules + joules.half
    return Fact(id, label, joules.joules, "number", "J", Badge.ESTIMATED, lo, hi)


def _late_words(late: Late, rank: LateRank) -> str:
    """Which rank is late, by how much and how often."""
    total = len(late.lateness.matched)
    by = units.duration(round(rank.late_ps), 3)
    half = units.duration(round(rank.half_ps), 2)
    name = plain(late.name(rank.rank), 80)
    sentence = f"{name}, {by} ± {half} after the others"
    if rank.always:
        times_last = int((late.lateness.last == rank.rank).sum())
        return f"{sentence}, last in {times_last:,} of {total:,}"
    return f"{sentence} in {rank.calls:,} of {total:,}"


def joules_text(joules: WaitSum) -> str:
    """Joules with half of their interval: "41.2 kJ ± 6.0"."""
    lo, hi = joules.joules - joules.half, joules.joules + joules.half
    return units.energy_interval(joules.joules, lo, hi)


def _notes(late: Late) -> Iterator[str]:
    matched = late.lateness.matched
    worst = max(matched.clocks, key=lambda clock: abs(clock.ahead_ps))
    ahead = units.duration(round(abs(worst.ahead_ps)), 3)
    half = units.duration(round(worst.whole_half_ps), 2)
    number = matched.clocks.index(worst)
    if abs(worst.ahead_ps) > worst.whole_half_ps:
        word = "ahead of" if worst.ahead_ps > 0 else "behind"
        first, name = plain(late.name(0), 80), plain(late.name(number), 80)
        yield (
            f"Clocks are compared by the ends of collectives, which all ranks leave together: "
            f"{name} is {ahead} ± {half} {word} {first}. Arrivals here are corrected for that; "
            "other pages show every host on its own clock."
        )
    restless = max(range(len(matched.clocks)), key=lambda row: matched.clocks[row].moved_ps)
    if moved_ps := matched.clocks[restless].moved_ps:
        first, name = plain(late.name(0), 80), plain(late.name(restless), 80)
        moved = units.duration(round(moved_ps), 2)
        yield (
            f"The clock of {name} moved by up to {moved} against that of {first} during the run: "
            "it was set, or it drifts."
        )
    recorded = len(matched.ranks)
    members = max((_group_size(key.members) for key in matched.keys), default=0)
    world = max((_world_size(late.question.opened, rank.host) for rank in matched.ranks), default=0)
    members = max(members, world)
    if members > recorded:
        yield (
            f"{recorded} of {members:,} ranks are in this run: whoever came last of these may not "
            "have been the last of all."
        )
    if matched.untied:
        names = ", ".join(plain(name, 40) for name in matched.untied[:5])
        yield f"Left out, because too few of their collectives match: {names}."
    if matched.unmatched:
        yield (
            f"{matched.unmatched:,} calls are left out: not all ranks of their group recorded them."
        )
    unsure = late.lateness.unsure
    if unsure:
        yield (
            f"In {unsure:,} {plural('collective', unsure)} the last two arrive within the error of "
            "the clocks: either may have been the last."
        )
    left_out = sum(rank.left_out for rank in matched.ranks)
    if left_out:
        yield (
            f"{left_out:,} broadcasts, reductions to one rank and transfers are left out: their "
            "ranks do not leave them together."
        )


def _group_size(members: str) -> int:
    """How many ranks a group has, by its list of them or its size."""
    if members.isdecimal() and len(members) < 9:
        return int(members)
    return members.count(",") + 1 if members else 0


def _world_size(opened: Opened, host: int) -> int:
    launch = opened.profiles[host].trace.launch
    return (launch.world_size or 0) if launch is not None else 0
