"""Late ranks, clocks and wasted joules against a simulation whose truth is known.

Runs with a late rank, with none and with two hosts' power logs, on all cores; with
POWERTUI_BENCH_ALL=1 64, 200 and 200 of them.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Amount, Table, in_processes
from benchmarks.rank_world import Ranks, RankWorld, Watts, happened, write_power, write_traces
from powertui.data import logdir
from powertui.data.energy.late_ranks import Late, known_late
from powertui.data.energy.wait_energy import wait_sum
from powertui.data.opened import Opened
from powertui.data.tools.registry import Question

_FIRST_SEED = 5000  # seeds below were looked at while the rules were made
_LATE = Amount(32, 64, "runs with a late rank")
_ALIKE = Amount(40, 200, "runs of ranks that are alike")
_LOGS = Amount(40, 200, "pairs of logs")
_LATE_S = (0.002, 0.004, 0.010, 0.030)
_KINDS: tuple[dict[str, object], ...] = (
    {"library": "nccl"},
    {"library": "old nccl", "cut": True},
    {"library": "rccl", "lost": 0.02, "cut": True},
    {"library": "gloo"},
    {"arguments": True},
    {"arguments": True, "numbered": True, "lost": 0.05},
    {"drift": 0.9},
    {"skew_s": 5.0, "cut": True},
)


def found(
    world: RankWorld, watts: list[Watts] | None = None
) -> tuple[Late | None, float, list[float]]:
    """What is found of a world, the joules that were truly wasted, and the clocks' true errors."""
    ranks = happened(world)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"  # not in a folder of others' logs, which would be read as well
        write_traces(world, ranks, folder)
        joules = sum(write_power(world, ranks, watts, folder)) if watts else 0.0
        runs = [run for run in logdir.scan(str(folder)).runs if len(run.profiles) == world.ranks]
        opened = Opened(runs[0])
        late = known_late(Question(opened))
        if late is not None:
            late.ranks, late.energies, late.cause  # noqa: B018  read while the files are there
    return late, joules, [skew - ranks.skews[0] for skew in ranks.skews]


class _Judged(NamedTuple):
    """How one run with a late rank was judged."""

    is_right: bool  # that rank alone is named
    error: float  # of its lateness, as a share of what it was meant to be
    error_of_done: float  # as a share of what it did, which wanders around that
    is_meant_inside: bool  # whether what was meant is in the interval
    has_cause: bool
    clocks_within: int
    ranks: int
    worst_clock_s: float


class _Wasted(NamedTuple):
    """How the joules of one pair of logs were judged."""

    is_held: bool
    half: float  # of the interval, as a share
    error: float


def main() -> None:
    """Print the table."""
    title = f"late ranks: {_LATE}; {_ALIKE}; {_LOGS}"
    table = Table(title, ("question", "worlds", "right", "worst"))
    _lateness(table)
    _alike(table)
    _joules(table)
    table.print()


def _worlds() -> Iterator[tuple[RankWorld, int, float]]:
    seed = _FIRST_SEED
    for late_s in _LATE_S:
        for kind in _KINDS:
            for _ in range(2):
                rank = seed % 8
                yield RankWorld(seed, late={rank: late_s}, **kind), rank, late_s  # type: ignore[arg-type]
                seed += 1


def _lateness(table: Table) -> None:
    worlds = list(_worlds())
    answers = in_processes(_judge_late, worlds[:: len(worlds) // _LATE.count])
    judged = [answer for answer in answers if answer is not None]
    count = len(answers)
    missing = [math.inf] * (count - len(judged))
    errors = [answer.error for answer in judged] + missing
    ranks = sum(answer.ranks for answer in judged)
    clocks = sum(answer.clocks_within for answer in judged)
    worst_clock_s = max(answer.worst_clock_s for answer in judged)
    table.row("the late rank alone is named", count, sum(a.is_right for a in judged), "")
    within = sum(error <= 0.1 for error in errors)
    done = [answer.error_of_done for answer in judged] + missing
    within_done = sum(error <= 0.1 for error in done)
    inside = sum(answer.is_meant_inside for answer in judged)
    table.row("its lateness within 10 % of what it did", count, within_done, f"{max(done):.1%}")
    table.row("… of what was meant", count, within, f"{max(errors):.1%}")
    table.row("what was meant is in the interval", count, inside, "")
    table.row("its cause is named", count, sum(a.has_cause for a in judged), "")
    table.row("clock within its interval", ranks, clocks, f"{worst_clock_s * 1e6:.1f} µs")


def _judge_late(asked: tuple[RankWorld, int, float]) -> _Judged | None:
    """None where nobody is named."""
    world, rank, late_s = asked
    late, _, skews = found(world)
    if late is None or not late.ranks:
        return None
    first = late.ranks[0]
    matched = late.lateness.matched
    offs_s = []
    within = 0
    for calls, clock in zip(matched.ranks, matched.clocks, strict=True):
        true_s = skews[int(calls.name.split("_")[0].removeprefix("node"))]
        offs_s.append(abs(clock.ahead_ps / 1e12 - true_s))
        within += offs_s[-1] <= clock.half_ps / 1e12 + 1e-9
    return _Judged(
        is_right=matched.ranks[first.rank].name.startswith(f"node{rank}_") and len(late.ranks) == 1,
        error=abs(first.late_ps / 1e12 / late_s - 1),
        error_of_done=abs(first.late_ps / 1e12 / _lateness_done(happened(world), rank) - 1),
        is_meant_inside=abs(first.late_ps / 1e12 - late_s) <= first.half_ps / 1e12,
        has_cause=late.cause is not None and late.cause.kind == "work on its device",
        clocks_within=within,
        ranks=len(offs_s),
        worst_clock_s=max(offs_s),
    )


def _lateness_done(ranks: Ranks, late_rank: int) -> float:
    """How long after the median of the others a rank really came, on average."""
    behind_s = []
    for arrivals in ranks.arrivals:
        others = [at for rank, at in enumerate(arrivals) if rank != late_rank]
        behind_s.append(arrivals[late_rank] - statistics.median(others))
    return statistics.fmean(behind_s)


def _alike(table: Table) -> None:
    count = _ALIKE.count
    named = sum(in_processes(_is_anybody_named, range(count)))
    table.row("no rank named where all are alike", count, count - named, "")


def _is_anybody_named(number: int) -> bool:
    drift = (0.0, 0.5, 0.9, 0.97)[number % 4]
    late, _, _ = found(RankWorld(_FIRST_SEED + 1000 + number, drift=drift))
    return late is None or bool(late.ranks)


def _joules(table: Table) -> None:
    answers = in_processes(_judge_joules, range(_LOGS.count))
    known = [answer for answer in answers if answer is not None]
    held = sum(answer.is_held for answer in known)
    half = float(np.median([answer.half for answer in known]))
    worst = max(answer.error for answer in known)
    words = f"{worst:.1%} off; ± {half:.1%}"
    table.row("wasted joules within their interval", len(known), held, words)


def _judge_joules(number: int) -> _Wasted | None:
    """None where no sum is given."""
    seed = _FIRST_SEED + 3000 + number
    chance = np.random.default_rng(seed)
    hosts = [
        Watts(busy_w=float(chance.uniform(200, 500)), wait_w=float(chance.uniform(100, 190)))
        for _ in range(2)
    ]
    world = RankWorld(
        seed, ranks=2, steps=240, step_s=0.25, late={1: 0.08}, slow_s=9, jitter_s=0.004
    )
    late, joules, _ = found(world, hosts)
    total = wait_sum(late.energies) if late is not None else None
    if total is None:
        return None
    is_held = abs(total.joules - joules) <= total.half
    return _Wasted(is_held, total.half / total.joules, abs(total.joules / joules - 1))


if __name__ == "__main__":
    main()
