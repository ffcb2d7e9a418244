"""Collectives across the ranks of a run: who came last, what the others waited for it, in seconds
and joules, and how far the clocks of the ranks are apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.energy.late_ranks import Late, known_late
from powertui.data.energy.wait_energy import (
    WaitEnergy,
    WaitSum,
    wait_sum,
)
from powertui.data.model import PS_PER_S, Badge, Floats
from powertui.data.opened import Opened
from powertui.data.table import Fact, Place, Result, Table, plural
from powertui.data.tools.rank_lateness import (
    LateRank,
    run_calls,
    shown_calls,
    wander,
)
from powertui.data.tools.rank_paces import MIN_BLOCKS
from powertui.data.tools.registry import Question
from powertui.plain import plain

_MAX_CALLS = 200  # listed: those with the longest waits
_NO_RANKS = "Fewer than two ranks of this run recorded collectives."
_NOT_MATCHED = "The collectives of the ranks do not match: their ends meet at no shift of clocks."


def answer(question: Question) -> Result:
    """Who came last to the collectives of the whole run."""
    late = known_late(question)
    if late is None:
        return _nothing(question.opened)
    return Result(
        id="late_ranks",
        title="Late ranks",
        tables=(_ranks(late), _kinds(late), _calls(late)),
        facts=tuple(_facts(late)),
        notes=tuple(_notes(late)),
    )


def _nothing(opened: Opened) -> Result:
    why = _NO_RANKS
    if len(run_calls(opened)) > 1:
        why = _NOT_MATCHED
    table = Table(
        id="ranks",
        title="Ranks",
        columns=(text_column("rank", "rank", ()),),
        empty=why,
        noun="rank",
    )
    fact = Fact("matched", "matched collectives", None, why=why)
    return Result(
        id="late_ranks",
        title="Late ranks",
        tables=(table,),
        facts=(fact,),
    )


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _ranks(late: Late) -> Table:
    """One row a rank."""
    lateness = late.lateness
    matched = lateness.matched
    names = [rank.name for rank in matched.ranks]
    taking_part = matched.is_in.sum(axis=0)
    times_last = np.bincount(lateness.last, minlength=len(names))
    share_last = times_last / np.maximum(1, taking_part)
    mean_late = np.nan_to_num(lateness.mean_late)
    joules, half = _joules_by_rank(late.energies, lateness.waited())
    ahead = np.array([clock.ahead_ps for clock in matched.clocks])
    ahead_half = np.array([clock.whole_half_ps for clock in matched.clocks])
    columns = (
        text_column("rank", "rank", names, weight=9),
        int_column("last", "came last in", "integer", times_last.tolist(), weight=8),
        Column("last_share", "share", "share", share_last, weight=5),
        _duration("late_s", "late by", mean_late, weight=8, signed=True),
        _duration("caused_s", "others waited", lateness.caused(), weight=9),
        _duration("waited_s", "waited itself", lateness.waited(), weight=7),
        optional("waited_j", "energy of waits", "number", joules, unit="J", weight=7),
        optional("waited_j_half", "±", "number", half, unit="J", weight=5),
        _duration("clock_ahead_s", "clock ahead", ahead, weight=6, signed=True),
        _duration("clock_half_s", "clock ±", ahead_half, weight=4),
    )

    def place(rank: int) -> Place:
        calls = matched.ranks[rank]
        return Place(
            run=late.question.opened.name,
            host=calls.host,
            lo=int(calls.start[0]),
            hi=int(calls.end.max()),
        )

    return Table(
        id="ranks",
        title=f"Ranks in {len(matched):,} collectives",
        columns=columns,
        place=place,
        order=("caused_s", True),
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
    return Column(
        id=id,
        label=label,
        kind="duration",
        values=whole_ps,
        weight=weight,
        signed=signed,
    )


def _kinds(late: Late) -> Table:
    """One row for each operation of each group."""
    lateness = late.lateness
    call_keys = lateness.matched.keys
    keys = list(dict.fromkeys(call_keys))
    count = len(keys)
    number_of = {key: number for number, key in enumerate(keys)}
    numbers = np.array([number_of[key] for key in call_keys], np.int64)
    counts = np.bincount(numbers, minlength=count)
    spread = np.bincount(numbers, weights=lateness.spread, minlength=count)
    mean_spread = np.asarray(spread / counts)
    longest = np.zeros(count)
    np.maximum.at(longest, numbers, lateness.spread)
    waits_of_call = np.nansum(lateness.waits, axis=1)
    waits = np.asarray(
        np.bincount(numbers, weights=waits_of_call, minlength=count),
        np.float64,
    )
    last_names = []
    for number in range(count):
        last_ranks = lateness.last[numbers == number]
        most_often = int(np.bincount(last_ranks).argmax())
        last_names.append(late.name(most_often))
    elements = [None if key.elements < 0 else key.elements for key in keys]
    columns = (
        text_column("operation", "collective", [key.operation for key in keys], weight=9),
        text_column("group", "group", [key.group for key in keys], weight=5),
        text_column("dtype", "type", [key.dtype for key in keys], weight=3),
        optional("elements", "elements", "integer", elements, weight=4),
        int_column("count", "count", "integer", counts.tolist(), weight=8),
        _duration("spread_s", "arrivals apart", mean_spread, weight=8),
        _duration("max_spread_s", "at most", longest, weight=6),
        _duration("waited_s", "waited", waits, weight=9),
        text_column("last", "last most often", last_names, weight=7),
    )
    return Table(
        id="kinds",
        title="By operation and group",
        columns=columns,
        order=("waited_s", True),
        noun="operation",
    )


def _calls(late: Late) -> Table:
    """The calls with the longest waits."""
    lateness = late.lateness
    matched = lateness.matched
    shown = shown_calls(lateness, _MAX_CALLS)
    operations = [matched.keys[call].operation for call in shown]
    last_ranks: list[int] = lateness.last[shown].tolist()
    rows: list[int] = matched.rows[shown, last_ranks].tolist()
    starts = np.array(
        [matched.ranks[rank].start[row] for rank, row in zip(last_ranks, rows, strict=True)],
        np.int64,
    )
    names = [late.name(rank) for rank in last_ranks]
    held_up = lateness.held_up[shown]
    spread = lateness.spread[shown]
    waits = np.nansum(lateness.waits[shown], axis=1)
    columns = (
        text_column("operation", "collective", operations),
        Column("start_s", "last arrival", "instant", starts, weight=7),
        text_column("last", "came last", names, weight=9),
        _duration("held_up_s", "after the one before", held_up, weight=8),
        _duration("spread_s", "after the first", spread, weight=7),
        _duration("waited_s", "others waited", waits, weight=9),
    )

    def place(row: int) -> Place:
        calls = matched.ranks[last_ranks[row]]
        call = rows[row]
        line = int(calls.line[call])
        event = int(calls.event[call])
        of_host = replace(late.question, host=calls.host)
        return of_host.event_place(line, event)

    return Table(
        id="calls",
        title=f"The {len(shown):,} longest waits of {len(matched):,}",
        columns=columns,
        place=place,
        noun="collective",
    )


# ── facts and notes ──────────────────────────────────────────────────────────────────────────────


def _facts(late: Late) -> Iterator[Fact]:
    matched = late.lateness.matched
    yield Fact("ranks", "ranks", len(matched.ranks), "integer")
    yield Fact("matched", "matched collectives", len(matched), "integer")
    waited = int(np.nansum(late.lateness.waits))
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
        return
    worst = late.ranks[0]
    yield Fact("late_rank", "late rank", _late_words(late, worst))
    yield Fact(
        id="late_by_s",
        label="late by",
        value=round(worst.late_ps),
        kind="duration",
        badge=Badge.MEASURED,
        lo=worst.late_ps - worst.half_ps,
        hi=worst.late_ps + worst.half_ps,
    )
    caused = round(late.caused_s(worst) * PS_PER_S)
    yield Fact("caused_s", "the others waited for it", caused, "duration")
    yield _joules("caused_j", "and drew", late.caused_joules(worst))
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
    latest = _duration_text(chance.late_ps, 2)
    scatter = _duration_text(chance.scatter_ps, 2)
    name = _rank_text(late, chance.rank)
    if chance.of_stretches:
        return (
            f"cannot tell: {name} is {latest} late on average, but over stretches of the run that "
            f"varies by {scatter}; a longer recording may show it"
        )
    return (
        f"cannot tell: {name} is {latest} late on average, but the pace of all ranks wanders, "
        f"and the averages of the others scatter by {scatter}; a longer recording may show it"
    )


def _rank_text(late: Late, rank: int) -> str:
    """The name of a rank in a sentence."""
    return plain(late.name(rank), 80)


def _duration_text(ps: float, digits: int) -> str:
    return units.duration(round(ps), digits)


def _joules(id: str, label: str, joules: WaitSum | None) -> Fact:
    if joules is None:
        return Fact(id, label, None, why="what hosts draw while waiting is not known")
    return Fact(
        id=id,
        label=label,
        value=joules.joules,
        kind="number",
        unit="J",
        badge=Badge.ESTIMATED,
        lo=joules.joules - joules.half,
        hi=joules.joules + joules.half,
    )


def _late_words(late: Late, rank: LateRank) -> str:
    """Which rank is late, by how much and how often."""
    total = len(late.lateness.matched)
    by = _duration_text(rank.late_ps, 3)
    half = _duration_text(rank.half_ps, 2)
    name = _rank_text(late, rank.rank)
    sentence = f"{name}, {by} ± {half} after the others"
    if not rank.always:
        return f"{sentence} in {rank.calls:,} of {total:,}"
    is_last = late.lateness.last == rank.rank
    times_last = int(is_last.sum())
    return f"{sentence}, last in {times_last:,} of {total:,}"


def _notes(late: Late) -> Iterator[str]:
    yield from _clock_notes(late)
    matched = late.lateness.matched
    recorded = len(matched.ranks)
    members = _member_count(late)
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


def _clock_notes(late: Late) -> Iterator[str]:
    """How far the clocks of the ranks are apart, and which of them moved."""
    clocks = late.lateness.matched.clocks
    first = _rank_text(late, 0)
    worst = max(clocks, key=lambda clock: abs(clock.ahead_ps))
    if abs(worst.ahead_ps) > worst.whole_half_ps:
        ahead = _duration_text(abs(worst.ahead_ps), 3)
        half = _duration_text(worst.whole_half_ps, 2)
        word = "ahead of" if worst.ahead_ps > 0 else "behind"
        name = _rank_text(late, clocks.index(worst))
        yield (
            f"Clocks are compared by the ends of collectives, which all ranks leave together: "
            f"{name} is {ahead} ± {half} {word} {first}. Arrivals here are corrected for that; "
            "other pages show every host on its own clock."
        )
    restless = max(range(len(clocks)), key=lambda row: clocks[row].moved_ps)
    moved_ps = clocks[restless].moved_ps
    if moved_ps:
        name = _rank_text(late, restless)
        moved = _duration_text(moved_ps, 2)
        yield (
            f"The clock of {name} moved by up to {moved} against that of {first} during the run: "
            "it was set, or it drifts."
        )


def _member_count(late: Late) -> int:
    """How many ranks took part, as far as groups and launches name them."""
    matched = late.lateness.matched
    counts = [_group_size(key.members) for key in matched.keys]
    counts += [_world_size(late.question.opened, rank.host) for rank in matched.ranks]
    return max(counts, default=0)


def _group_size(members: str) -> int:
    """How many ranks a group has, by its list of them or its size."""
    if not members:
        return 0
    if members.isdecimal() and len(members) < 9:
        return int(members)
    return members.count(",") + 1


def _world_size(opened: Opened, host: int) -> int:
    launch = opened.profiles[host].trace.launch
    if launch is None:
        return 0
    return launch.world_size or 0
