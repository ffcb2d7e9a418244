"""Late ranks, clocks and wasted joules against a simulation whose truth is known.

`python -m benchmarks collectives` runs 64 runs with a late rank, 200 with none and 200 with two
hosts' power logs: about 100 s of processor time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Table
from benchmarks.rank_world import RankWorld, Watts, happened, write_power, write_traces
from powertui.data import logdir
from powertui.data.energy.late_ranks_page import Late, known_late
from powertui.data.energy.wait_energy import wait_sum
from powertui.data.opened import Opened
from powertui.data.tools.registry import Question

_FIRST_SEED = 5000  # seeds below were looked at while the rules were made
_ALIKE = 200
_LOGS = 200
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
        folder = Path(name)
        write_traces(world, ranks, folder)
        joules = sum(write_power(world, ranks, watts, folder)) if watts else 0.0
        runs = [run for run in logdir.scan(name).runs if len(run.profiles) == world.ranks]
        opened = Opened(runs[0])
        late = known_late(Question(opened))
        if late is not None:
            late.ranks, late.energies, late.cause  # noqa: B018  read while the files are there
    return late, joules, [skew - ranks.skews[0] for skew in ranks.skews]


def main() -> None:
    """Print the table."""
    table = Table("late ranks", ("question", "worlds", "right", "worst"))
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
    right_rank = within = clocks = causes = count = ranks = 0
    worst = worst_clock_s = 0.0
    for world, rank, late_s in _worlds():
        late, _, skews = found(world)
        count += 1
        if late is None or not late.ranks:
            worst = 1.0
            continue
        first = late.ranks[0]
        matched = late.lateness.matched
        is_right = (
            matched.ranks[first.rank].name.startswith(f"node{rank}_") and len(late.ranks) == 1
        )
        error = abs(first.late_ps / 1e12 / late_s - 1)
        right_rank += is_right
        within += error <= 0.1
        worst = max(worst, error)
        causes += late.cause is not None and late.cause.kind == "work on its device"
        for calls, clock in zip(matched.ranks, matched.clocks, strict=True):
            true_s = skews[int(calls.name.split("_")[0].removeprefix("node"))]
            off_s = abs(clock.ahead_ps / 1e12 - true_s)
            ranks += 1
            clocks += off_s <= clock.half_ps / 1e12 + 1e-9
            worst_clock_s = max(worst_clock_s, off_s)
    table.row("the late rank alone is named", count, right_rank, "")
    table.row("its lateness within 10 %", count, within, f"{worst:.1%}")
    table.row("its cause is named", count, causes, "")
    table.row("clock within its interval", ranks, clocks, f"{worst_clock_s * 1e6:.1f} µs")


def _alike(table: Table) -> None:
    named = 0
    for number in range(_ALIKE):
        drift = (0.0, 0.5, 0.9, 0.97)[number % 4]
        late, _, _ = found(RankWorld(_FIRST_SEED + 1000 + number, drift=drift))
        named += late is None or bool(late.ranks)
    table.row("no rank named where all are alike", _ALIKE, _ALIKE - named, "")


def _joules(table: Table) -> None:
    held = unknown = 0
    halves, errors = [], []
    for number in range(_LOGS):
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
            unknown += 1
            continue
        held += abs(total.joules - joules) <= total.half
        halves.append(total.half / total.joules)
        errors.append(abs(total.joules / joules - 1))
    words = f"{max(errors):.1%} off; ± {np.median(halves):.1%}"
    table.row("wasted joules within their interval", _LOGS - unknown, held, words)


if __name__ == "__main__":
    main()
