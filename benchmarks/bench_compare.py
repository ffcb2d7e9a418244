"""`powertui compare`: how often it calls alike things different, how often it finds what differs,
and what it costs beside the two reports.

Recorded runs are held against themselves, window by window; simulated ones (`tests/synthetic/
step_world.py`) were described before any recording was looked at, and chose every constant.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.harness import (
    ASKS_ALL,
    EXTRA_DATA,
    GENERATED,
    Amount,
    Table,
    asks_all,
    grid,
    in_processes,
    run_process,
)
from benchmarks.make_big import make
from powertui.data import logdir
from powertui.data.compare import comparison, drift
from powertui.data.compare.figure import ComparedFigure, Family, FigureSamples, FigureVerdict
from powertui.data.compare.judging import WithinRun, judge, judge_family
from powertui.data.compare.measured import measure
from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.compare.step_figures import FAST_STEP, STEP, TYPICAL_STEP, UNDISTURBED_STEP
from powertui.data.compare.undisturbed import undisturbed_mean
from powertui.data.opened import Profile
from powertui.data.training.training import Trainings
from tests.synthetic.step_world import KINDS, Floats, step_series

LENGTHS = (20, 50, 100)
WINDOWS = 6  # of a recording, unless all are asked for
SIMULATED_RUNS = Amount(50, 200, "simulated runs")
PAIRS = Amount(30, 100, "pairs")
RUNS_A_SIDE = 5
RUN_SIGMA = 0.005  # by which whole runs of the simulation differ
# Kinds whose runs are alike enough that five of them can show 3 %: in the others the means of two
# groups of five differ by more than that without any change.
QUIET_KINDS = ("white", "outliers", "periodic")
_TIMES = (UNDISTURBED_STEP, FAST_STEP, TYPICAL_STEP, STEP)  # as `_run_figures` has them
EVENTS = (100_000, 1_000_000)


def main() -> None:
    """The tables."""
    _recorded()
    _simulated()
    _changed()
    _speed()


# ── nothing was changed ──────────────────────────────────────────────────────────────────────────


def _recorded() -> None:
    windows = "Windows" if asks_all() else f"The first {WINDOWS} windows ({ASKS_ALL}=1 for all)"
    table = Table(
        f"{windows} of one recorded run called different, of all pairs (target: at most 5 %)",
        ["recording", *(f"{length} steps" for length in LENGTHS)],
    )
    own = EXTRA_DATA / "own"
    folders = sorted(path for root in (own, own / "bursts") for path in root.glob("*"))
    for folder, columns in grid(_recorded_shares, folders, LENGTHS):
        for cells in zip(*columns, strict=True):
            if any(cells):
                table.row(folder.name, *cells)
    table.note("Any figure of time, energy, category or op counts.")
    table.print()


def _recorded_shares(case: tuple[Path, int]) -> list[str]:
    """One for each profile of a folder."""
    folder, length = case
    return [_recorded_share(profile, length) for profile in _profiles(folder)]


def _profiles(folder: Path) -> Iterator[Profile]:
    if folder.name in ("bursts", "sentences") or not folder.is_dir():
        return
    trainings = Trainings(logdir.scan(str(folder)))
    for entry in trainings.found.runs:
        yield from trainings.opened(entry).profiles


def _recorded_share(profile: Profile, length: int) -> str:
    starts = [*profile.steps.start[HostWindow(profile).rows].tolist(), None]
    windows = [
        HostWindow(profile, starts[first], starts[first + length])
        for first in range(0, len(starts) - length, length)
    ]
    looked_at = windows if asks_all() else windows[:WINDOWS]
    measured = [measure(ComparedPart("", profile.opened, (window,))) for window in looked_at]
    pairs = list(combinations(measured, 2))
    wrong = sum(
        any(row.verdict is FigureVerdict.DIFFERS for row in comparison.judged([a], [b]).figures)
        for a, b in pairs
    )
    return f"{wrong} of {len(pairs)}" if pairs else ""


def _simulated() -> None:
    table = Table(
        f"The same of {SIMULATED_RUNS} of 220 or 500 steps (target: at most 5 %)",
        ["what the machine does", *(f"{length} steps" for length in LENGTHS)],
    )
    for kind, cells in grid(_simulated_share, KINDS, LENGTHS):
        table.row(kind, *cells)
    table.print()


def _simulated_share(case: tuple[str, int]) -> str:
    kind, length = case
    rng = np.random.default_rng([KINDS.index(kind), length])
    wrong = pairs = 0
    for _ in range(SIMULATED_RUNS.count // len(KINDS)):
        series = step_series(kind, int(rng.choice([220, 500])), rng)
        for first, second in combinations(range(0, len(series) - length + 1, length), 2):
            pairs += 1
            wrong += _windows_differ(series, first, second, length)
    return f"{wrong / pairs:.1%}"


def _windows_differ(series: Floats, first: int, second: int, length: int) -> bool:
    a, b = series[first : first + length], series[second : second + length]
    share = drift.share_as_far_apart(series, length, float(np.log(b.mean() / a.mean())))
    within_run = WithinRun((second - first - length) / length, share)
    sides = [
        FigureSamples((float(values.mean()),), tuple(drift.block_means(values).tolist()))
        for values in (a, b)
    ]
    return judge(*sides, within_run).verdict is FigureVerdict.DIFFERS


# ── something was changed ────────────────────────────────────────────────────────────────────────


def _changed() -> None:
    table = Table(
        f"Of {PAIRS} of {RUNS_A_SIDE} runs of 200 steps a side, called different",
        ["what the machine does", "nothing changed (≤ 5 %)", "3 % longer steps (≥ 90 %)"],
    )
    for kind, counts in zip(KINDS, in_processes(_changed_counts, KINDS), strict=True):
        table.row(kind if kind in QUIET_KINDS else f"{kind} (too restless)", *counts)
    table.note(
        "Undisturbed mean, lower quartile, median and mean of the steps, judged in this order."
    )
    table.print()


def _changed_counts(kind: str) -> list[int]:
    """Pairs called different: of alike ones, of those with longer steps."""
    rng = np.random.default_rng(KINDS.index(kind))
    return [
        sum(groups_differ(kind, factor, rng) for _ in range(PAIRS.count)) for factor in (1.0, 1.03)
    ]


def groups_differ(kind: str, factor: float, rng: np.random.Generator) -> bool:
    """Whether the rule that ships calls a time of a step different."""
    a = [_run_figures(kind, 1.0, rng) for _ in range(RUNS_A_SIDE)]
    b = [_run_figures(kind, factor, rng) for _ in range(RUNS_A_SIDE)]
    figures = []
    for key, of_a, of_b in zip(_TIMES, zip(*a, strict=True), zip(*b, strict=True), strict=True):
        sides = FigureSamples(of_a), FigureSamples(of_b)
        judgement = judge(*sides, name=key.name)
        row = ComparedFigure(
            Family.TIME, key.name, key.unit, sides[0].mean, sides[1].mean, judgement
        )
        figures.append(row)
    return any(row.verdict is FigureVerdict.DIFFERS for row in judge_family(figures))


def _run_figures(kind: str, factor: float, rng: np.random.Generator) -> tuple[float, ...]:
    steps = factor * rng.normal(1, RUN_SIGMA) * step_series(kind, 200, rng)
    quartile, median = np.quantile(steps, (0.25, 0.5))
    return undisturbed_mean(steps), float(quartile), float(median), float(steps.mean())


# ── what it costs ────────────────────────────────────────────────────────────────────────────────


def _speed() -> None:
    table = Table(
        "CPU seconds of a comparison ÷ those of the two reports (target: at most 1.3)",
        ["events in each", "two reports", "compare", "ratio"],
    )
    for events in EVENTS:
        path = make(events)
        twin = GENERATED / f"compare_{events}" / path.name
        twin.parent.mkdir(exist_ok=True)
        if not twin.exists():
            shutil.copyfile(path, twin)
        command = [sys.executable, "-m", "powertui"]
        report = run_process([*command, "report", str(path), "--json"]).cpu_s
        both = run_process([*command, "compare", str(path), str(twin), "--json"]).cpu_s
        table.row(f"{events:,}", f"{2 * report:.2f}", f"{both:.2f}", f"{both / (2 * report):.2f}")
    table.print()
