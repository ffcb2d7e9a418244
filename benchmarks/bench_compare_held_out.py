"""`powertui compare` of groups of runs whose scatter nobody tuned for: how often a family of figures
is called different though nothing changed, and how often 3 % is found.

The kinds are those of `tests/synthetic/held_out_runs.py` and `drifting_runs.py`; the rule is the
one that ships.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.bench_compare_groups import _power_at
from benchmarks.harness import Amount, Table, grid
from benchmarks.held_out_bound import share_found_at_best
from powertui.data.compare.figure import ComparedFigure, Family, FigureSamples, FigureVerdict
from powertui.data.compare.judging import judge, judge_family
from powertui.data.compare.turns import places_by_start
from tests.synthetic.drifting_runs import DRIFTING_KINDS, drifting_values
from tests.synthetic.held_out_runs import HELD_OUT_KINDS, ORDERS, held_out_values
from tests.synthetic.run_world import turns_of
from tests.synthetic.step_world import Floats

PAIRS = Amount(30, 300, "pairs")
OP_PAIRS = Amount(10, 60, "pairs")
OPS = 30
DRIFTING_PAIRS = Amount(15, 150, "pairs")
KIND_PAIRS = Amount(30, 200, "pairs")
CHANGE = 3.0  # of `LEVEL`
LONG_PAUSE = 144  # runs: a day, where a run takes ten minutes
_OWN_SIGMA = 0.4  # by which the figures of one run differ from each other
SIDES = ((3, 3), (4, 4), (5, 5), (10, 10), (3, 6), (10, 4))
TIMES = ("undisturbed step", "lower quartile step", "median step", "time per step")
POWERS = ("energy per step", "power during steps")
LEVEL = 100.0  # of a figure whose runs scatter by about 1 %


def main() -> None:
    """The tables."""
    _alike()
    _longer()
    _longer_by_kind()
    _drifting()


def family_differs(
    values: Floats,
    of_b: Floats,
    starts: Floats | None,
    family: Family,
    names: tuple[str, ...],
) -> bool:
    """Whether one figure of the family is called different. `starts` are None where unknown."""
    a, b = np.flatnonzero(of_b == 0), np.flatnonzero(of_b)
    places: tuple[tuple[float, ...], ...] = ((), ())
    if starts is not None:
        places = places_by_start(*(starts[at].astype(int).tolist() for at in (a, b)))
    figures = []
    for column, name in enumerate(names):
        of_a = FigureSamples(tuple(values[a, column].tolist()), places=places[0])
        of_b_runs = FigureSamples(tuple(values[b, column].tolist()), places=places[1])
        judgement = judge(of_a, of_b_runs, name=name)
        figures.append(ComparedFigure(family, name, "s", of_a.mean, of_b_runs.mean, judgement))
    return any(row.verdict is FigureVerdict.DIFFERS for row in judge_family(figures))


def sides_in_order(order: str, a: int, b: int, rng: np.random.Generator) -> Floats:
    """1 for each run of B."""
    if order == "in turns" and max(a, b) <= 2 * (min(a, b) + 1):
        return turns_of(a, b, rng)
    in_blocks = np.repeat([0.0, 1.0], [a, b])
    return np.asarray(rng.permutation(in_blocks)) if order == "unknown" else in_blocks


def starts_in_order(order: str, runs: int) -> Floats | None:
    """When each run was recorded, in lengths of one; None where that is unknown."""
    return None if order == "unknown" else np.arange(float(runs))


def share_differing(
    kind: str, order: str, sides: tuple[int, int], names: tuple[str, ...], pairs: int
) -> float:
    """Of so many pairs without a difference."""
    family = Family.OP if len(names) == OPS else Family.TIME
    if names == POWERS:
        family = Family.ENERGY
    rng = np.random.default_rng([HELD_OUT_KINDS.index(kind), ORDERS.index(order), *sides, 41])
    wrong = 0
    for _ in range(pairs):
        of_b = sides_in_order(order, *sides, rng)
        values = LEVEL + held_out_values(kind, of_b, len(names), rng)
        wrong += family_differs(values, of_b, starts_in_order(order, len(of_b)), family, names)
    return wrong / pairs


def _alike() -> None:
    ops = tuple(f"op {number}" for number in range(OPS))
    for title, names, pairs, groups in (
        ("times of a step", TIMES, PAIRS, SIDES),
        ("energy and power", POWERS, PAIRS, ((3, 3), (5, 5))),
        (f"{OPS} ops", ops, OP_PAIRS, ((3, 3), (5, 5))),
    ):
        table = Table(
            f"Nothing changed, {pairs} each: {title} called different "
            f"({' / '.join(ORDERS)}; target ≤ 5 %)",
            ["what runs do", *(f"{a} and {b}" for a, b in groups)],
        )
        lines = [(kind, names, pairs.count) for kind in HELD_OUT_KINDS]
        for (kind, *_), cells in grid(_alike_cell, lines, groups):
            table.row(kind, *cells)
        table.print()


def _alike_cell(case: tuple[tuple[str, tuple[str, ...], int], tuple[int, int]]) -> str:
    (kind, names, pairs), sides = case
    shares = [share_differing(kind, order, sides, names, pairs) for order in ORDERS]
    return " / ".join(f"{share:.1%}" for share in shares)


def _longer() -> None:
    table = Table(
        f"3 % more, five a side, {PAIRS}: found, and by a test that knows the scatter",
        ["scatter of runs", *ORDERS, "at best"],
    )
    for sigma, cells in grid(_longer_cell, (0.005, 0.0075, 0.01, 0.015, 0.02), ORDERS):
        table.row(f"{sigma:.2%}", *cells, f"{_power_at(0.03, sigma, 5):.0%}")
    table.print()


def _longer_cell(case: tuple[float, str]) -> str:
    sigma, order = case
    rng = np.random.default_rng([int(1e4 * sigma), ORDERS.index(order), 42])
    found = 0
    for _ in range(PAIRS.count):
        of_b = sides_in_order(order, 5, 5, rng)
        values = LEVEL * (1 + sigma * held_out_values("plain", of_b, len(TIMES), rng))
        values += LEVEL * 0.03 * of_b[:, np.newaxis]
        starts = starts_in_order(order, len(of_b))
        found += family_differs(values, of_b, starts, Family.TIME, TIMES)
    return f"{found / PAIRS.count:.0%}"


def _longer_by_kind() -> None:
    """Of each kind, beside what one could find who knows how its runs differ."""
    known_orders = ORDERS[:2]
    groups = ((5, 5), (10, 10))
    table = Table(
        f"3 % more, {KIND_PAIRS} of runs of each kind (scatter about 1 %), one figure: found, "
        "and at best by one who knows the kind",
        ["what runs do", *(f"{a} and {b}, {order}" for a, b in groups for order in known_orders)],
    )
    columns = [(sides, order) for sides in groups for order in known_orders]
    for kind, cells in grid(_found_beside_bound, HELD_OUT_KINDS, columns):
        table.row(kind, *cells)
    table.print()


def _found_beside_bound(case: tuple[str, tuple[tuple[int, int], str]]) -> str:
    kind, (sides, order) = case
    rng = np.random.default_rng([HELD_OUT_KINDS.index(kind), ORDERS.index(order), *sides, 44])
    found = 0
    for _ in range(KIND_PAIRS.count):
        of_b = sides_in_order(order, *sides, rng)
        values = LEVEL + held_out_values(kind, of_b, 1, rng) + CHANGE * of_b[:, np.newaxis]
        starts = starts_in_order(order, len(of_b))
        found += family_differs(values, of_b, starts, Family.ENERGY, POWERS[:1])
    best = share_found_at_best(kind, sides_in_order(order, *sides, rng), CHANGE, rng)
    return f"{found / KIND_PAIRS.count:.0%}, {best:.0%}"


def _drifting() -> None:
    """All of A before B, on machines that drift in ways which the rule was not chosen by."""
    groups = ((3, 3), (5, 5), (10, 10), (15, 15), (10, 4))
    for change in (0.0, 3.0):
        for pause in (1, LONG_PAUSE):
            table = Table(
                f"A before B, {DRIFTING_PAIRS}, {change:g} % more, a pause of {pause} runs in "
                f"between: called different{' (target ≤ 5 %)' if not change else ''}",
                ["how the machine drifts", *(f"{a} and {b}" for a, b in groups)],
            )
            lines = [(kind, pause, change) for kind in DRIFTING_KINDS]
            for (kind, *_), shares in grid(_drifting_share, lines, groups):
                table.row(kind, *(f"{share:.1%}" for share in shares))
            table.print()


def _drifting_share(case: tuple[tuple[str, int, float], tuple[int, int]]) -> float:
    (kind, pause, change), sides = case
    rng = np.random.default_rng([DRIFTING_KINDS.index(kind), *sides, pause, 43])
    of_b = np.repeat([0.0, 1.0], sides)
    starts = np.arange(len(of_b)) + (pause - 1) * of_b
    found = 0
    for _ in range(DRIFTING_PAIRS.count):
        values = LEVEL + drifting_values(kind, starts, rng) + change * of_b
        own = _OWN_SIGMA * rng.standard_normal((len(of_b), len(TIMES)))
        found += family_differs(values[:, np.newaxis] + own, of_b, starts, Family.TIME, TIMES)
    return found / DRIFTING_PAIRS.count


if __name__ == "__main__":
    sys.exit(main())
