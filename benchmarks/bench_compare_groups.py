"""`powertui compare` of groups of runs: real trainings recorded again and again, simulated power logs,
drift from run to run, and what the scatter allows at best.

Recordings are looked for in the folder that POWERTUI_REPEATS names: `python -m scripts.repeats
FOLDER` makes them, in about ten CPU minutes and an environment with the frameworks.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.bench_compare import KINDS, RUN_SIGMA, RUNS_A_SIDE, groups_differ
from benchmarks.harness import Amount, Table, in_processes
from powertui.data import logdir
from powertui.data.compare import causes, comparison, power_figures, sentence, step_figures
from powertui.data.compare.figure import Family, FigureSamples, FigureVerdict
from powertui.data.compare.judging import judge
from powertui.data.compare.measured import Measured, measure
from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.compare.run_scatter import welch
from powertui.data.compare.turns import welch_in_turns
from powertui.data.training.training import Trainings
from scripts.repeats.__main__ import RECORDED
from scripts.repeats.programs import SLOWER_OPS
from tests.synthetic.power_world import POWER_KINDS, SENSORS, SimulatedSensor, write_power_log
from tests.synthetic.run_world import RUN_KINDS, run_values, turns_of
from tests.synthetic.step_world import step_series, write_run

PAIRS = Amount(30, 100, "pairs")
POWER_PAIRS = Amount(5, 20, "pairs")  # of each kind of power
DRIFTS = Amount(200, 1000, "pairs")
DRAWN_SPLITS = 100
CHANGE = 1.03


def main() -> None:
    """The tables."""
    _bounds()
    _drift()
    _named_runs()
    _power()
    folder = os.environ.get("POWERTUI_REPEATS")
    if folder:
        _repeats(Path(folder))


# ── what is possible ─────────────────────────────────────────────────────────────────────────────


def _bounds() -> None:
    table = Table(
        f"3 % longer steps in {RUNS_A_SIDE} runs a side of 200 steps: found in {PAIRS}, and at best",
        ["what the machine does", "found", "at best, %", "runs a side for 90 at best"],
    )
    for row in in_processes(_bound_row, KINDS):
        table.row(*row)
    table.note(
        "At best: the least scattered of eight figures of a run (mean, quantiles of steps, quantiles "
        "of medians of ten steps), with its true scatter from 400 runs, which nobody knows."
    )
    table.print()


def _bound_row(kind: str) -> tuple[str, int, str, str]:
    rng = np.random.default_rng([33, KINDS.index(kind)])
    found = sum(groups_differ(kind, CHANGE, rng) for _ in range(PAIRS.count))
    sigma = _least_sigma(kind, rng)
    at_best = _power_at(CHANGE - 1, sigma, RUNS_A_SIDE)
    return kind, found, f"{100 * at_best:.0f}", _runs_for_90(sigma)


def _least_sigma(kind: str, rng: np.random.Generator) -> float:
    """The relative scatter of the figure of a run that varies least."""
    rows = []
    for _ in range(400):
        steps = rng.normal(1, RUN_SIGMA) * step_series(kind, 200, rng)
        medians = np.median(steps.reshape(-1, 10), axis=1)
        rows.append(
            [
                steps.mean(),
                *np.quantile(steps, (0.1, 0.25, 0.5)),
                *np.quantile(medians, (0, 0.1, 0.25)),
                np.median(steps[-60:]),
            ]
        )
    values = np.array(rows)
    return float((values.std(axis=0, ddof=1) / values.mean(axis=0)).min())


def _power_at(difference: float, sigma: float, runs: int) -> float:
    """How often a test that knows the scatter finds it."""
    z = difference / sigma * math.sqrt(runs / 2)
    return _below(z - 1.96) + _below(-z - 1.96)


def _below(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def _runs_for_90(sigma: float) -> str:
    for runs in range(3, 1000):
        if _power_at(CHANGE - 1, sigma, runs) >= 0.9:
            return str(runs)
    return "> 1,000"


# ── drift from run to run ────────────────────────────────────────────────────────────────────────


def _drift() -> None:
    table = Table(
        f"Runs in turns with a drift from run to run, {DRIFTS}: called different",
        [
            "from run to run",
            *(f"nothing changed, {runs} a side" for runs in (3, 5)),
            "2 σ found, 5 a side",
            "by Welch's alone",
        ],
    )
    for row in in_processes(_drift_row, RUN_KINDS):
        table.row(*row)
    table.print()


def _drift_row(kind: str) -> list[str]:
    rng = np.random.default_rng([34, RUN_KINDS.index(kind)])
    cells = [kind]
    for runs in (3, 5):
        wrong = sum(_drift_differs(kind, runs, 0.0, rng)[0] for _ in range(DRIFTS.count))
        cells.append(f"{wrong / DRIFTS.count:.1%}")
    found = np.sum([_drift_differs(kind, 5, 2.0, rng) for _ in range(DRIFTS.count // 4)], axis=0)
    return [*cells, *(f"{share:.0%}" for share in found / (DRIFTS.count // 4))]


def _drift_differs(
    kind: str, runs: int, change: float, rng: np.random.Generator
) -> tuple[bool, bool]:
    of_b = turns_of(runs, runs, rng)
    values = run_values(kind, of_b, rng) + change * of_b
    a, b = np.flatnonzero(of_b == 0), np.flatnonzero(of_b)
    sides = [FigureSamples(tuple(values[at]), places=tuple(at.tolist())) for at in (a, b)]
    plain = welch(sides[0].runs, sides[1].runs)
    return welch_in_turns(*sides).p <= 0.05, plain.p <= 0.05


def _named_runs() -> None:
    table = Table(
        f"Where five runs a side cannot tell, {PAIRS}: so many as `needs` names find 5 % (target: 80 %)",
        ["scatter of runs", "runs named, median", "found"],
    )
    rng = np.random.default_rng(35)
    for sigma in (0.02, 0.03, 0.05, 0.08):
        named, found = [], 0
        while len(named) < PAIRS.count:
            first, second = rng.normal(1, sigma, (2, RUNS_A_SIDE))
            runs = judge(FigureSamples(tuple(first)), FigureSamples(tuple(second))).runs_needed
            if runs is not None:
                named.append(runs)
                a, b = rng.normal(1, sigma, (2, runs))
                found += welch(a.tolist(), (b + 0.05).tolist()).p <= 0.05
        table.row(f"{sigma:.0%}", f"{np.median(named):.0f}", found)
    table.print()


# ── power ────────────────────────────────────────────────────────────────────────────────────────


def _power() -> None:
    table = Table(
        f"{POWER_PAIRS}, each of {RUNS_A_SIDE} runs of 120 steps a side with power logs",
        [
            "what the power does",
            "nothing changed: time, power, energy (≤ 5 %)",
            "3 % longer steps and 3 % more power: time, power, energy (≥ 90 %)",
        ],
    )
    for row in in_processes(_power_row, POWER_KINDS):
        table.row(*row)
    table.note("Without a change each group stands beside the next one.")
    table.print()


def _power_row(kind: str) -> tuple[str, str, str]:
    rng = np.random.default_rng([36, POWER_KINDS.index(kind)])
    sensor = SENSORS["means of 1 s, read every 0.1 s"]
    with tempfile.TemporaryDirectory() as temporary:
        alike = [_power_group(temporary, kind, 1.0, rng, sensor) for _ in range(POWER_PAIRS.count)]
        more = [
            _power_group(temporary, kind, CHANGE, rng, sensor) for _ in range(POWER_PAIRS.count)
        ]
    shifted = [*alike[1:], alike[0]]
    return kind, _differing(alike, shifted), _differing(alike, more)


def _power_group(
    temporary: str, kind: str, factor: float, rng: np.random.Generator, sensor: SimulatedSensor
) -> list[Measured]:
    """Runs of one side, with the figures of time and power alone."""
    runs = []
    for _ in range(RUNS_A_SIDE):
        folder = Path(temporary) / "run"
        steps = 0.1 * factor * rng.normal(1, RUN_SIGMA) * step_series("white", 120, rng)
        write_run(folder, steps, {"aten::mm": 0.9})
        write_power_log(folder, kind, steps, sensor, factor, rng)
        (part,) = _parts(folder)
        values = step_figures.time_values(part.windows[0])
        power = power_figures.power_values(part)
        values |= power.values
        runs.append(Measured("run", "run", values, {}, {}, None, power.why))
    return runs


def _parts(folder: Path) -> Iterator[ComparedPart]:
    trainings = Trainings(logdir.scan(str(folder)))
    for entry in trainings.found.runs:
        opened = trainings.opened(entry)
        yield ComparedPart(folder.name, opened, tuple(map(HostWindow, opened.profiles)))


def _differing(first: Sequence[list[Measured]], second: Sequence[list[Measured]]) -> str:
    counts = [0, 0, 0]
    for a, b in zip(first, second, strict=True):
        found = set()
        for row in comparison.judged(a, b).figures:
            if row.verdict is FigureVerdict.DIFFERS:
                found.add("time" if row.family is Family.TIME else row.name)
        for at, name in enumerate(("time", power_figures.WATTS.name, power_figures.JOULES.name)):
            counts[at] += name in found
    return ", ".join(map(str, counts)) + f" of {len(first)}"


# ── recorded again and again ─────────────────────────────────────────────────────────────────────


def _repeats(root: Path) -> None:
    alike = Table(
        "Ten recordings of one training, split into groups: families called different (≤ 5 %)",
        [
            "training",
            "load",
            "steps",
            *(f"{n} and {n}: families; worst" for n in (3, 5)),
            "1 and 1: any figure",
        ],
    )
    slower = Table(
        "Recordings with a slower op in turns with some without",
        ["training", "without", "op", "first in causes", "sentence"],
    )
    for name, op in SLOWER_OPS.items():
        folders = sorted((root / name).glob("*[abc]"))
        runs = {folder.name: next(map(measure, _parts(folder))) for folder in folders}
        of_a = [run for turn, run in runs.items() if turn.endswith("a")]
        of_b = [run for turn, run in runs.items() if not turn.endswith("a")]
        if not of_b:
            continue
        for which, chosen in _in_turns(of_a, len(of_b)):
            slower.row(name, which, op, *_named(chosen, of_b))
        if len(of_a) < 2 * RUNS_A_SIDE:
            continue
        shares = [_families_differing(of_a, count) for count in (3, 5)]
        medians = sorted(run.values[step_figures.TYPICAL_STEP].value for run in of_a)
        steps = f"{1e3 * medians[0]:.1f} to {1e3 * medians[-1]:.1f} ms"
        alike.row(name, _loads(folders), steps, *shares, _pairs_differing(of_a))
    alike.note(
        f"All 126 splits into five and five; {DRAWN_SPLITS} drawn ones into three and three."
    )
    alike.print()
    slower.print()


def _in_turns(of_a: list[Measured], count: int) -> Iterator[tuple[str, list[Measured]]]:
    """As many of A as there are of B, each recorded just before or just after one of them."""
    if len(of_a) == count:
        yield "all", of_a
        return
    yield "before each", of_a[0::2]
    yield "after each", of_a[1::2]


def _named(a: Sequence[Measured], b: Sequence[Measured]) -> tuple[str, str]:
    """The first op of the account, and the sentence."""
    together = comparison.judged(a, b)
    found = causes.causes(together)
    ops = [row.name for row in found if row.account == causes.BY_OP]
    named = [row for row in ops if row not in (causes.OUTSIDE_OPS, causes.OTHER_OPS)]
    counts = sentence.Counts(len(a), len(b), same_run=False)
    return named[0] if named else "", sentence.answer(together, found, counts)


def _families_differing(runs: Sequence[Measured], count: int) -> str:
    """Of all groups and families, how many name a figure; and the family that most often does."""
    wrong: Counter[Family] = Counter()
    of_all: Counter[Family] = Counter()
    splits = list(_splits(len(runs), count))
    for a, b in splits:
        rows = comparison.judged([runs[at] for at in a], [runs[at] for at in b]).figures
        of_all.update({row.family for row in rows})
        wrong.update({row.family for row in rows if row.verdict is FigureVerdict.DIFFERS})
    worst = max(of_all, key=lambda family: wrong[family] / of_all[family])
    share = wrong.total() / of_all.total()
    return f"{share:.1%}; {worst.value} {wrong[worst] / of_all[worst]:.1%}"


def _pairs_differing(runs: Sequence[Measured]) -> str:
    """Of all pairs of single recordings, how many have a figure that is called different."""
    pairs = list(combinations(runs, 2))
    wrong = 0
    for a, b in pairs:
        rows = comparison.judged([a], [b]).figures
        wrong += any(row.verdict is FigureVerdict.DIFFERS for row in rows)
    return f"{wrong} of {len(pairs)}"


def _splits(runs: int, count: int) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    if 2 * count == runs:
        for rest in combinations(range(1, runs), count - 1):
            a = (0, *rest)
            yield a, [at for at in range(runs) if at not in a]
        return
    rng = np.random.default_rng(37)
    for _ in range(DRAWN_SPLITS):
        chosen = rng.permutation(runs)[: 2 * count].tolist()
        yield chosen[:count], chosen[count:]


def _loads(folders: Sequence[Path]) -> str:
    loads = [load for at in folders for load in json.loads((at / RECORDED).read_text())["load"]]
    return f"{min(loads):.1f} to {max(loads):.1f}"
