"""Runs recorded in turns: a drift from run to run is neither a difference nor noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.compare.figure import FigureSamples, FigureVerdict
from powertui.data.compare.judging import judge
from powertui.data.compare.run_scatter import runs_to_find, welch
from powertui.data.compare.turns import (
    are_in_turns,
    long_pause_ns,
    places_by_start,
    scatter_as_recorded,
    welch_in_turns,
)
from tests.synthetic.drifting_runs import DRIFTING_KINDS, drifting_values
from tests.synthetic.run_world import RUN_KINDS, run_values, turns_of


def sides(values: np.ndarray, of_b: np.ndarray) -> tuple[FigureSamples, FigureSamples]:
    """The runs of A and of B, each with its place."""
    a, b = np.flatnonzero(of_b == 0), np.flatnonzero(of_b)
    return (
        FigureSamples(tuple(values[a]), places=tuple(a.tolist())),
        FigureSamples(tuple(values[b]), places=tuple(b.tolist())),
    )


@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("kind", RUN_KINDS)
def test_groups_alike_differ_in_at_most_five_percent(kind: str, runs: int) -> None:
    rng = np.random.default_rng([33, RUN_KINDS.index(kind), runs])
    wrong = 0
    for _ in range(100):  # make bench takes 1,000
        of_b = turns_of(runs, runs, rng)
        wrong += welch_in_turns(*sides(run_values(kind, of_b, rng), of_b)).p <= 0.05
    assert wrong <= 9  # of 100: 5, and two standard deviations


@pytest.mark.parametrize("kind", ["trend", "warming up", "random walk"])
def test_a_drift_hides_less_where_runs_are_in_turns(kind: str) -> None:
    rng = np.random.default_rng(33)
    found = {"welch": 0, "in turns": 0}
    of_b = np.tile([0.0, 1.0], 5)
    for _ in range(50):
        a, b = sides(run_values(kind, of_b, rng) + 2 * of_b, of_b)
        found["welch"] += welch(a.runs, b.runs).p <= 0.05
        found["in turns"] += welch_in_turns(a, b).p <= 0.05
    assert found["in turns"] >= 42
    assert found["welch"] < found["in turns"]


def test_the_drift_that_was_taken_out_is_said() -> None:
    of_b = np.tile([0.0, 1.0], 4)
    rng = np.random.default_rng(33)
    values = 100 + np.linspace(0, 20, 8) + rng.normal(0, 0.1, 8) + 2 * of_b
    a, b = sides(values, of_b)
    judgement = judge(a, b)
    assert judgement.verdict is FigureVerdict.DIFFERS
    assert judgement.why == (
        "the scatter of 4 and 4 runs beside a drift of 18.4 % from the first to the last"
    )
    without_order = judge(FigureSamples(a.runs), FigureSamples(b.runs))
    assert without_order.verdict is FigureVerdict.CANNOT_TELL
    assert without_order.why == "the scatter of 4 and 4 runs"


@pytest.mark.parametrize(
    ("a", "b", "is_meant"),
    [
        ((0, 2, 4), (1, 3, 5), True),
        ((0, 3, 4), (1, 2, 5), True),
        ((0, 1, 2), (3, 4, 5), False),  # one side after the other
        ((0, 2), (1, 3), False),  # too few
        ((), (), False),  # not known
        ((0, 1, 3, 4, 6, 7), (2, 5, 8), True),
    ],
)
def test_in_turns_means_no_three_of_one_side(
    a: tuple[int, ...], b: tuple[int, ...], is_meant: bool
) -> None:
    assert are_in_turns(a, b) == is_meant


def test_counts_that_never_vary_are_no_chance() -> None:
    of_b = np.tile([0.0, 1.0], 3)
    assert welch_in_turns(*sides(np.full(6, 7.0), of_b)).p == 1.0
    assert welch_in_turns(*sides(7.0 + of_b, of_b)).p == 0.0


@pytest.mark.parametrize("sigma", [0.03, 0.05, 0.08])
def test_so_many_runs_as_are_named_find_five_percent(sigma: float) -> None:
    rng = np.random.default_rng(33)
    found = asked = 0
    while asked < 100:
        first, second = rng.normal(1, sigma, (2, 5))
        judgement = judge(FigureSamples(tuple(first)), FigureSamples(tuple(second)))
        if judgement.runs_needed is None:
            continue
        assert judgement.needs == f"about {judgement.runs_needed} runs a side, to see 5 %"
        assert judgement.runs_needed > 5
        asked += 1
        a, b = rng.normal(1, sigma, (2, judgement.runs_needed))
        found += welch(a.tolist(), (b + 0.05).tolist()).p <= 0.05
    assert found >= 74  # of 100: 80, and one and a half standard deviations


def test_a_machine_that_varies_too_much_needs_no_number() -> None:
    assert runs_to_find(0.01, 1.0) is None
    assert runs_to_find(1.0, 0.01, more_than=7) == 8


def test_a_drift_between_two_blocks_of_runs_is_no_difference() -> None:
    """All of A before B: Welch's interval alone calls a slow day a difference."""
    rng = np.random.default_rng(33)
    of_b = np.repeat([0.0, 1.0], 5)
    wrong = {"welch": 0, "both": 0}
    for _ in range(100):
        a, b = sides(100 + run_values("trend", of_b, rng), of_b)
        wrong["welch"] += welch(a.runs, b.runs).p <= 0.05
        judgement = judge(a, b)
        is_called = judgement.verdict is FigureVerdict.DIFFERS
        wrong["both"] += is_called
        assert judgement.lo is not None
        assert judgement.hi is not None
        assert is_called == (judgement.lo > 0 or judgement.hi < 0)
    assert wrong["welch"] >= 60
    assert wrong["both"] <= 9


def test_what_was_not_recorded_in_turns_needs_turns() -> None:
    a = FigureSamples((100.0, 104.0, 101.0, 105.0), places=(0, 1, 2, 3))
    b = FigureSamples((103.0, 106.0, 102.0, 107.0), places=(4, 5, 6, 7))
    judgement = judge(a, b)
    assert judgement.verdict is FigureVerdict.CANNOT_TELL
    assert judgement.why.endswith("and their drift, as A and B were not recorded in turns")
    assert judgement.needs.startswith("A and B recorded in turns, about ")
    assert judgement.needs.endswith(" runs a side, to see 5 %")


def test_as_many_runs_in_turns_may_show_what_they_do_not_show_in_blocks() -> None:
    a = FigureSamples((100.0, 102.0, 104.0, 106.0, 108.0), places=(0, 1, 2, 3, 4))
    b = FigureSamples((110.1, 112.0, 114.0, 116.1, 118.0), places=(5, 6, 7, 8, 9))
    judgement = judge(a, b)
    assert judgement.is_drift_decisive
    assert judgement.why == "the runs differ by more than they scatter, but a drift may do the same"
    assert judgement.needs == (
        "A and B recorded in turns, where 5 and 5 runs would show a difference of about 0.3 %"
    )


@pytest.mark.parametrize(("a", "b"), [(10, 10), (15, 15), (10, 4)])
def test_a_wave_of_a_day_between_many_runs_of_either_side_is_no_difference(a: int, b: int) -> None:
    rng = np.random.default_rng([7302, a, b])
    of_b = np.repeat([0.0, 1.0], [a, b])
    hours = np.linspace(0, 1, a + b)
    wrong = 0
    for _ in range(400):
        wave = 1.5 * np.sin(rng.uniform(1, 9) * hours + rng.uniform(0, 6)) + 2 * hours
        values = 100 + wave + rng.standard_normal(a + b)
        wrong += scatter_as_recorded(*sides(values, of_b)).p <= 0.05
    assert wrong / 400 <= 0.06


@pytest.mark.parametrize("kind", DRIFTING_KINDS)
def test_a_drift_of_any_form_between_two_blocks_is_no_difference(kind: str) -> None:
    rng = np.random.default_rng([33, DRIFTING_KINDS.index(kind)])
    of_b = np.repeat([0.0, 1.0], 8)
    wrong = 0
    for _ in range(150):
        values = 100 + drifting_values(kind, np.arange(16.0), rng)
        wrong += scatter_as_recorded(*sides(values, of_b)).p <= 0.05
    assert wrong <= 13  # of 150: 7.5, and two standard deviations


def test_many_runs_that_do_not_drift_show_three_percent_in_blocks() -> None:
    rng = np.random.default_rng(33)
    of_b = np.repeat([0.0, 1.0], 10)
    found = 0
    for _ in range(200):
        values = 100 + rng.standard_normal(20) + 3 * of_b
        found += scatter_as_recorded(*sides(values, of_b)).p <= 0.05
    assert found >= 170  # 91 of 100; the interval with a straight line alone found 71


def test_a_pause_between_a_and_b_makes_the_difference_less_certain() -> None:
    rng = np.random.default_rng(33)
    values = 100 + rng.standard_normal(10) + 5 * np.repeat([0.0, 1.0], 5)
    halves = []
    for pause_s in (600, 12 * 3600, 7 * 86400):
        starts = [*range(0, 3000, 600), *range(2400 + pause_s, 5400 + pause_s, 600)]
        places_a, places_b = places_by_start(starts[:5], starts[5:])
        a = FigureSamples(tuple(values[:5].tolist()), places=places_a)
        b = FigureSamples(tuple(values[5:].tolist()), places=places_b)
        halves.append(scatter_as_recorded(a, b).half)
    assert halves[0] < halves[1] < halves[2]


@pytest.mark.parametrize("pause", [10, 144])
@pytest.mark.parametrize("kind", DRIFTING_KINDS)
def test_what_a_machine_did_in_a_pause_is_no_difference(kind: str, pause: int) -> None:
    """A walk, a bend, a jump: by the logarithm of the pause up to half of these pairs differed."""
    rng = np.random.default_rng([35, DRIFTING_KINDS.index(kind), pause])
    of_b = np.repeat([0.0, 1.0], 10)
    starts = np.arange(20.0) + pause * of_b
    places = places_by_start(*(at.astype(int).tolist() for at in (starts[:10], starts[10:])))
    wrong = 0
    for _ in range(100):
        values = 100 + drifting_values(kind, starts, rng)
        a, b = (
            replace(side, places=at) for side, at in zip(sides(values, of_b), places, strict=True)
        )
        wrong += scatter_as_recorded(a, b).p <= 0.05
    assert wrong <= 9  # of 100: 5, and two standard deviations


def test_runs_of_several_days_show_what_days_do() -> None:
    """Ten runs on ten days, then five on the next: what one day does by itself is no difference."""
    rng = np.random.default_rng(33)
    days = np.array([*range(10), *[10] * 5])
    starts = 144 * days + np.array([0] * 10 + [0, 1, 2, 3, 4])
    of_b = (days == 10).astype(float)
    places = places_by_start(starts[:10].tolist(), starts[10:].tolist())
    called = {0.0: 0, 6.0: 0}
    for change in called:
        for _ in range(200):
            values = 100 + rng.standard_normal(15) + rng.standard_normal(11)[days] + change * of_b
            a, b = (
                replace(side, places=at)
                for side, at in zip(sides(values, of_b), places, strict=True)
            )
            called[change] += scatter_as_recorded(a, b).p <= 0.05
    assert called[0.0] <= 14  # of 200: 10, and somewhat more than a deviation
    assert called[6.0] >= 160  # 91 of 100; with all ten runs on one day none


def test_a_long_pause_is_said_to_be_one() -> None:
    hour_ns = 3_600_000_000_000
    a = FigureSamples((100.0, 100.1, 99.9), places=(0, hour_ns, 2 * hour_ns))
    later = (74 * hour_ns, 75 * hour_ns, 76 * hour_ns)
    b = FigureSamples((102.0, 102.1, 101.9), places=later)
    assert long_pause_ns(a.places, b.places) == long_pause_ns(b.places, a.places) == 72 * hour_ns
    assert long_pause_ns(a.places, (3 * hour_ns, 4 * hour_ns)) == 0
    judgement = judge(a, b)
    assert judgement.is_drift_decisive
    assert judgement.why == (
        "the runs differ by more than they scatter, but the machine may have changed in the 3 days "
        "between A and B"
    )


def test_where_runs_lie_does_not_depend_on_the_order_in_which_they_are_named() -> None:
    assert places_by_start((5, 15, 25), (35, 45)) == ((0, 10, 20), (30, 40))
    assert places_by_start((45, 15), (35, 25, 5)) == ((40, 10), (30, 20, 0))
    assert places_by_start((0, 10, None), (30, 40)) == ((), ())
    assert places_by_start((0, 10), (10, 40)) == ((), ())


@pytest.mark.parametrize(("kind", "a", "b"), [("warming up", 3, 10), ("bend", 10, 4)])
def test_few_runs_before_or_after_many_do_not_differ_by_a_drift(kind: str, a: int, b: int) -> None:
    rng = np.random.default_rng(37)
    of_b = np.repeat([0.0, 1.0], [a, b])
    wrong = 0
    for _ in range(400):
        runs_a, runs_b = sides(100 + drifting_values(kind, np.arange(a + b), rng), of_b)
        wrong += scatter_as_recorded(runs_a, runs_b).p <= 0.05
    assert wrong <= 20  # of 400: 5 %; by the scatter of all runs together 5 to 8 %
