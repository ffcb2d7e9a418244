"""What a check says of values that are known: within, above, or that nobody can say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from powertui.data.compare.figure import (
    ComparedFigure,
    Family,
    FigureSamples,
    FigureVerdict,
)
from powertui.data.compare.judging import judge, judge_family
from powertui.data.gate.gate import Gate, GateRow, GateVerdict, held_against
from powertui.data.gate.limits_asked import fixed_limit, tolerances
from powertui.data.gate.run_values import BaselineRuns, GatedRun, GateValue
from powertui.data.model import Floats
from tests.synthetic.held_out_runs import HELD_OUT_KINDS, held_out_values

WITHIN, ABOVE, BELOW, CANNOT_SAY = GateVerdict


def runs(
    values: Sequence[float],
    name: str = "step_s",
    *,
    spread: float = 0.0,
    margin: float = 0.0,
    sensors: str = "bmc",
) -> list[GatedRun]:
    """Runs with these means; the blocks of each are spread evenly around it."""
    out = []
    for number, value in enumerate(values):
        blocks = tuple(value * (1 + spread * side) for side in (-1, 1) * 4) if spread else ()
        measured = GateValue(value, blocks, margin * value, margin * value)
        out.append(GatedRun(f"run{number}", 100, {name: measured}, {"sensors": sensors}))
    return out


def limit(measured: Sequence[GatedRun], words: str, *, is_least: bool = False) -> GateRow:
    (row,) = held_against(measured, [fixed_limit(words, is_least=is_least)]).rows
    return row


def against(
    base: Sequence[GatedRun], new: Sequence[GatedRun], *words: str, allows_open: bool = False
) -> Gate:
    names = [name for run in base for name in run.values]
    asked = tolerances(words, names)
    saved = BaselineRuns("main", tuple(base))
    return held_against(new, [], asked, saved, allows_open=allows_open)


ALIKE = [0.0500, 0.0502, 0.0498, 0.0501, 0.0499]


@pytest.mark.parametrize(
    ("most", "verdict"),
    [("0.0505", WITHIN), ("0.05001", CANNOT_SAY), ("0.0495", ABOVE), ("49.5ms", ABOVE)],
)
def test_a_limit_is_held_against_the_interval_of_the_runs(most: str, verdict: GateVerdict) -> None:
    row = limit(runs(ALIKE), f"step_s={most}")
    assert row.verdict is verdict
    interval = row.interval
    assert interval is not None
    # Student's interval of five runs: t(4) = 2.776, standard deviation 0.158 ms.
    assert (interval.lo, interval.hi) == pytest.approx((0.049804, 0.050196), abs=1e-6)
    assert bool(row.needs) == (verdict is CANNOT_SAY)


def test_the_least_is_the_same_from_below() -> None:
    rates = runs([20.0, 20.1, 19.9], "steps/s")
    assert limit(rates, "steps/s=19", is_least=True).verdict is WITHIN
    assert limit(rates, "steps/s=21", is_least=True).verdict is BELOW
    assert limit(rates, "steps/s=20", is_least=True).verdict is CANNOT_SAY


def test_it_says_how_many_runs_would_do() -> None:
    row = limit(runs(ALIKE), "step_s=0.0501")
    assert row.needs == "about 22 runs"
    enough = runs(ALIKE * 5)
    assert limit(enough, "step_s=0.0501").verdict is WITHIN


def test_one_run_has_the_interval_of_its_own_drift() -> None:
    (steady,), (restless,) = runs([0.05], spread=0.001), runs([0.05], spread=0.05)
    assert limit([steady], "step_s=0.052").verdict is WITHIN
    row = limit([restless], "step_s=0.052")
    assert (row.verdict, row.needs) == (CANNOT_SAY, "at least 3 runs")
    assert row.interval is not None
    assert row.interval.basis.value == "within-run only"
    # Of two runs none stands for the other: the interval covers both.
    two = limit(runs([0.05, 0.06], spread=0.001), "step_s=0.055")
    assert two.verdict is CANNOT_SAY


def test_a_run_without_blocks_cannot_be_said() -> None:
    row = limit(runs([0.05]), "step_s=1")
    assert (row.verdict, row.why) == (
        CANNOT_SAY,
        "nothing shows how much it varies within a run",
    )


def test_the_gain_of_a_sensor_is_in_the_interval_of_joules() -> None:
    exact = runs([23.0, 23.1, 22.9], "J/step")
    vague = runs([23.0, 23.1, 22.9], "J/step", margin=0.1)
    assert limit(exact, "J/step=24").verdict is WITHIN
    row = limit(vague, "J/step=24")
    assert row.verdict is CANNOT_SAY
    assert row.needs == "a sensor whose gain is known better: more runs do not help"


def test_what_was_not_measured_never_passes() -> None:
    unpowered = [GatedRun("run", 100, {}, no_power="there is no power log")]
    row = limit(unpowered, "J/step=1e9")
    assert (row.verdict, row.why) == (CANNOT_SAY, "there is no power log")
    assert limit([GatedRun("run", 0, {})], "step_s=1e9").why == "there are no steps"
    missing = limit(runs(ALIKE, "op:MatMul"), "op:MatMull=1e9")
    assert missing.why == "no run has an op of this name; near it: op:MatMul"


def test_a_run_without_the_op_spent_no_time_in_it() -> None:
    measured = [*runs([0.01, 0.01], "op:MatMul"), GatedRun("run", 100, {"step_s": GateValue(1)})]
    row = limit(measured, "op:MatMul=1")
    assert row.value == pytest.approx(0.02 / 3)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, WITHIN), (1.02, WITHIN), (1.029, CANNOT_SAY), (1.06, ABOVE)]
)
def test_runs_are_held_against_the_tolerance(factor: float, verdict: GateVerdict) -> None:
    new = runs([factor * value for value in ALIKE])
    gate = against(runs(ALIKE), new, "step_s=3%")
    assert gate.verdict is verdict
    assert gate.exit_code == {WITHIN: 0, ABOVE: 1, CANNOT_SAY: 3}[verdict]


def test_a_difference_above_the_tolerance_has_to_be_real() -> None:
    restless = [0.040, 0.050, 0.060]
    gate = against(runs(restless), runs([1.1 * value for value in restless]), "step_s=3%")
    assert gate.verdict is CANNOT_SAY
    assert gate.rows[0].why == (
        "the difference is larger than the tolerance, but chance may make as much"
    )


def test_of_a_rate_less_is_worse() -> None:
    rates = [20.0, 20.1, 19.9]
    slower = runs([0.9 * rate for rate in rates], "steps/s")
    faster = runs([1.1 * rate for rate in rates], "steps/s")
    assert against(runs(rates, "steps/s"), slower, "steps/s=3%").verdict is BELOW
    assert against(runs(rates, "steps/s"), faster, "steps/s=3%").verdict is WITHIN


def test_one_run_is_taken_to_vary_as_the_baseline_does() -> None:
    gate = against(runs(ALIKE), runs([0.0501]), "step_s=3%")
    interval = gate.rows[0].interval
    assert interval is not None
    assert interval.hi is not None
    # t(4) = 2.776, standard deviation 0.158 ms, √(1/5 + 1).
    assert interval.hi - interval.value == pytest.approx(0.000481, abs=1e-6)
    assert gate.verdict is WITHIN


def test_one_bad_run_is_not_red_and_a_second_one_tells() -> None:
    (row,) = against(runs(ALIKE), runs([0.055]), "step_s=3%").rows
    assert (row.verdict, row.needs) == (CANNOT_SAY, "about 2 runs to check")
    assert row.why == (
        "the difference is larger than the tolerance, but one bad run may make as much"
    )
    assert against(runs(ALIKE), runs([0.055, 0.05]), "step_s=3%").verdict is CANNOT_SAY
    assert against(runs(ALIKE), runs([0.055, 0.054]), "step_s=3%").verdict is ABOVE
    assert against(runs(ALIKE * 4), runs([0.055]), "step_s=3%").verdict is CANNOT_SAY
    assert against(runs(ALIKE[:4]), runs([0.055, 0.054]), "step_s=3%").verdict is CANNOT_SAY


def test_a_baseline_of_one_bad_run_is_not_red_either() -> None:
    faster = runs([0.9 * value for value in ALIKE], "steps/s")
    assert against(runs([0.05], "steps/s"), faster, "steps/s=3%").verdict is CANNOT_SAY
    assert against(runs([0.05, 0.051], "steps/s"), faster, "steps/s=3%").verdict is BELOW


def test_of_one_run_a_side_no_difference_is_ever_said() -> None:
    base, new = runs([0.05], spread=0.001), runs([0.055], spread=0.001)
    (row,) = against(base, new, "step_s=3%").rows
    assert (row.verdict, row.needs) == (CANNOT_SAY, "3 runs in the baseline, and as many to check")
    assert against(base, runs([0.5], spread=0.001), "step_s=3%").verdict is CANNOT_SAY
    # Nor that the program is no slower, as one fast recording says nothing of the next.
    assert against(base, runs([0.005], spread=0.001), "step_s=3%").verdict is CANNOT_SAY


def test_other_sensors_do_not_cancel() -> None:
    base = runs([10.0, 10.01, 9.99], "J/step", margin=0.05, sensors="bmc")
    same = runs([10.0, 10.01, 9.99], "J/step", margin=0.05, sensors="bmc")
    other = runs([10.0, 10.01, 9.99], "J/step", margin=0.05, sensors="rapl")
    assert against(base, same, "J/step=3%").verdict is WITHIN
    gate = against(base, other, "J/step=3%")
    assert gate.verdict is CANNOT_SAY
    assert [(row.name, row.a, row.b) for row in gate.configuration] == [("sensors", "bmc", "rapl")]


def test_missing_power_does_not_pass_where_the_baseline_has_it() -> None:
    base = runs([10.0, 10.01, 9.99], "W")
    unpowered = [GatedRun("run", 9, {}, no_power="there is no power log")] * 3
    gate = against(base, unpowered, "3%")
    assert {row.quantity.name: row.verdict for row in gate.rows} == {
        "step_median_s": CANNOT_SAY,
        "W": CANNOT_SAY,
    }
    assert gate.exit_code == 3


def test_what_is_only_watched_can_fail_but_stops_nobody() -> None:
    def both(means: Sequence[float], median: Sequence[float]) -> list[GatedRun]:
        pairs = zip(means, median, strict=True)
        return [
            GatedRun(f"run{number}", 9, {"step_s": GateValue(a), "step_median_s": GateValue(b)})
            for number, (a, b) in enumerate(pairs)
        ]

    restless = [0.05, 0.06, 0.07]
    gate = against(both(restless, ALIKE[:3]), both(restless, ALIKE[:3]), "3%")
    assert (gate.verdict, gate.exit_code) == (WITHIN, 0)
    assert gate.notes[0].startswith("step_s is only watched, and too restless to say: ")
    slower = against(both(ALIKE[:3], ALIKE[:3]), both([0.06] * 3, ALIKE[:3]), "3%")
    assert slower.exit_code == 1


def test_what_nobody_can_say_may_pass_and_is_named() -> None:
    gate = against(runs([0.05]), runs([0.05]), "step_s=3%", allows_open=True)
    assert (gate.verdict, gate.exit_code) == (CANNOT_SAY, 0)
    broken = against(runs(ALIKE), runs([0.06] * 3), "step_s=3%", allows_open=True)
    assert broken.exit_code == 1


def test_counts_that_never_vary_have_no_width() -> None:
    gate = against(runs([1e9] * 3, "memory_B"), runs([1e9], "memory_B"), "memory_B=0%")
    assert gate.verdict is WITHIN
    assert (
        against(runs([1e9] * 3, "memory_B"), runs([1.1e9], "memory_B"), "memory_B=5%").exit_code
        == 1
    )


def test_more_questions_ask_for_surer_answers() -> None:
    """p is 0.026 here: believed of one figure, not of six."""
    base = [1.0, 1.01, 0.99, 1.0]
    new = [1.05, 1.02, 1.12, 1.10, 1.03, 1.015]
    names = [f"op:{letter}" for letter in "abcdef"]

    def with_all(values: Sequence[float]) -> list[GatedRun]:
        return [
            GatedRun(f"run{number}", 9, {name: GateValue(value) for name in names})
            for number, value in enumerate(values)
        ]

    one = against(with_all(base), with_all(new), "op:a=1%")
    p = one.rows[0].interval.p if one.rows[0].interval else None
    assert p is not None
    assert 0.1 / 6 < p < 0.05
    assert one.verdict is ABOVE
    six = against(with_all(base), with_all(new), *(f"{name}=1%" for name in names))
    assert {row.verdict for row in six.rows} == {CANNOT_SAY}


def test_no_interval_goes_below_zero() -> None:
    row = limit(runs([0.01, 0.02, 0.05]), "step_s=1")
    assert row.interval is not None
    assert row.interval.lo == 0.0
    assert limit(runs([0.01], spread=0.5), "step_s=1").interval.lo == 0.0  # type: ignore[union-attr]


def test_a_difference_that_other_splits_of_the_runs_show_as_well_is_not_red() -> None:
    """Welch's p is 0.017, but 6 of the 70 splits into four and four differ as much."""
    base, new = runs([1.51, 1.50, 1.50, 1.51]), runs([1.52, 1.52, 1.52, 1.51])
    gate = against(base, new, "step_s=0.3%")
    assert gate.verdict is CANNOT_SAY


def recorded_at(values: Sequence[float], places: Sequence[int]) -> list[GatedRun]:
    return [
        GatedRun(f"run{place}", 9, {"step_s": GateValue(value)}, start_ns=place)
        for value, place in zip(values, places, strict=True)
    ]


def comparison_verdict(base: Sequence[GatedRun], new: Sequence[GatedRun]) -> FigureVerdict:
    """What `compare` says of the same runs."""
    sides = []
    for side in (base, new):
        values = tuple(run.values["step_s"].value for run in side)
        sides.append(FigureSamples(values, places=tuple(run.start_ns or 0 for run in side)))
    a, b = sides
    figure = ComparedFigure(Family.OP, "step", "s", a.mean, b.mean, judge(a, b))
    return judge_family([figure])[0].verdict


@pytest.mark.parametrize("kind", HELD_OUT_KINDS)
@pytest.mark.parametrize("counts", [(3, 3), (5, 5), (4, 8)])
@pytest.mark.parametrize("is_in_turns", [False, True])
def test_it_is_never_above_where_the_comparison_cannot_tell(
    kind: str, counts: tuple[int, int], is_in_turns: bool
) -> None:
    rng = np.random.default_rng([33, HELD_OUT_KINDS.index(kind), *counts, is_in_turns])
    of_new: Floats = np.repeat([0.0, 1.0], counts)
    if is_in_turns and counts[0] == counts[1]:
        of_new = np.tile([0.0, 1.0], counts[0])
    for change in (0.0, 2.0, 4.0, 8.0):
        for _ in range(10):
            values = 100 + held_out_values(kind, of_new, 1, rng)[:, 0] + change * of_new
            base, new = (
                recorded_at(
                    values[of_new == side].tolist(), np.flatnonzero(of_new == side).tolist()
                )
                for side in (0.0, 1.0)
            )
            gate = against(base, new, "step_s=1%")
            if gate.verdict is ABOVE:
                assert comparison_verdict(base, new) is FigureVerdict.DIFFERS


DRIFTING = [100.0, 101.1, 101.9, 103.2, 104.0]


def test_a_drift_since_the_baseline_is_not_red_and_the_way_to_know_is_named() -> None:
    later = [value + 5 for value in DRIFTING]
    unknown = against(runs(DRIFTING), runs(later), "step_s=3%")
    assert unknown.verdict is ABOVE
    (row,) = against(
        recorded_at(DRIFTING, range(5)), recorded_at(later, range(5, 10)), "step_s=3%"
    ).rows
    assert row.verdict is CANNOT_SAY
    assert "or a drift of the machine since the baseline, may make as much" in row.why
    assert row.needs.endswith("in the baseline, recorded in turns with them")
    (row,) = against(
        recorded_at(DRIFTING, range(5)), recorded_at(later, range(150, 155)), "step_s=3%"
    ).rows
    assert row.needs.endswith(
        "recorded in turns with them, or a baseline with runs of 5 to 10 days"
    )
    # What was recorded in turns keeps its drift out of the difference.
    slower = [value + 5 for value in DRIFTING]
    base, new = recorded_at(DRIFTING, range(0, 10, 2)), recorded_at(slower, range(1, 10, 2))
    assert against(base, new, "step_s=3%").verdict is ABOVE


def test_the_drift_of_the_baseline_goes_on_to_few_runs() -> None:
    drifting = [100.0, 103.0, 101.0, 104.0, 103.0, 107.0, 104.0, 108.0, 106.0, 110.0]
    base, further = recorded_at(drifting, range(10)), [113.0, 114.0]
    assert against(runs(drifting), runs(further), "step_s=3%").verdict is ABOVE
    assert against(base, recorded_at(further, [10, 11]), "step_s=3%").verdict is CANNOT_SAY
    assert against(base, recorded_at([125.0, 126.0], [10, 11]), "step_s=3%").verdict is ABOVE
