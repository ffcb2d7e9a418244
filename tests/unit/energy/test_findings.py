"""What stands out in a run: found when it is there, not found when it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import fold, placing
from powertui.data.energy.findings import neighbours, stretch_search, trace_findings, unexplained
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.model import PS_PER_S, Epoch, Epochs, Phase, PowerOnTrace, Steps
from tests.synthetic import Burst, Plan
from tests.synthetic.placed import make, sensed, truly_placed

Windows = Sequence[tuple[int, int]]
QUIET = Plan(seconds=40, step_s=0.2, epochs=2)


def compared(one, name: str, seed: int, **options: object) -> Findings:
    found, taken = sensed(one, name, seed)
    return told(one, one.epochs, truly_placed(found, taken), **options)


def told(one, epochs: Epochs, power: PowerOnTrace | None, **options: object) -> Findings:
    return trace_findings.findings_in_trace(
        trace_findings.FindingInputs(one.trace, one.steps, epochs, power), **options
    )  # type: ignore[arg-type]


def power_of(result: Findings) -> list[Finding]:
    return [f for f in result.findings if f.kind == "power"]


@pytest.mark.parametrize("name", ["nvml-1s", "nvml-25/100", "occ-40ms", "ipmi-3s/7W"])
def test_without_a_burst_nothing_is_found(name: str) -> None:
    found = [compared(make(seed, QUIET), name, seed).findings for seed in range(10)]
    assert sum(bool(f) for f in found) == 0, found  # at one in a hundred, one of ten is a fault


@pytest.mark.parametrize(
    ("watts", "first", "last"), [(45.0, 30, 65), (60.0, 45, 71), (200.0, 50, 62), (-40.0, 30, 60)]
)
def test_a_burst_is_found_where_it_was(watts: float, first: int, last: int) -> None:
    for seed in range(3):
        one = make(seed, replace(QUIET, bursts=(Burst(1, first, last, watts),)))
        (finding,) = power_of(compared(one, "nvml-1s", seed))
        assert finding.epoch == 1
        assert abs(finding.step_lo - first) <= 3
        assert abs(finding.step_hi - last) <= 3
        assert abs(finding.delta_watts - watts) <= 0.22 * abs(watts)
        seconds = (finding.end_ps - finding.start_ps) / 1e12
        assert abs(finding.delta_joules - watts * seconds) <= 0.25 * abs(watts) * seconds + 60
        assert finding.p <= 0.01
        assert finding.lo_watts < finding.delta_watts < finding.hi_watts


def test_less_power_at_the_same_pace_may_be_more_all_around() -> None:
    one = make(0, replace(QUIET, bursts=(Burst(1, 30, 60, -40.0),)))
    (finding,) = power_of(compared(one, "nvml-1s", 0, ops=lambda *asked: {}))
    assert finding.delta_watts is not None
    assert finding.delta_watts < 0
    assert finding.text.endswith("this stretch drew less, or those around it drew more")


def test_a_burst_in_the_first_epoch_is_told_of_the_first() -> None:
    one = make(1, replace(QUIET, bursts=(Burst(0, 40, 70, 80.0),)))
    (finding,) = power_of(compared(one, "rapl", 1))
    assert (finding.epoch, round(finding.delta_watts / 10)) == (0, 8)


def test_of_many_epochs_each_is_held_against_the_others() -> None:
    one = make(2, replace(QUIET, seconds=60, epochs=4, bursts=(Burst(2, 20, 50, 60.0),)))
    (finding,) = power_of(compared(one, "nvml-1s", 2))
    assert finding.epoch == 2
    assert [e for e, _, _ in finding.elsewhere] == [0, 1, 3]


def test_two_bursts_are_two_findings() -> None:
    one = make(3, replace(QUIET, bursts=(Burst(1, 20, 35, 70.0), Burst(1, 60, 80, 50.0))))
    found = sorted((f.step_lo, f.step_hi) for f in power_of(compared(one, "rapl", 3)))
    assert len(found) == 2
    assert np.abs(np.array(found) - [(20, 35), (60, 80)]).max() <= 3


@pytest.mark.parametrize("name", ["rapl", "nvml-1s", "occ-40ms"])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 0.5), (0.5, 1)])
def test_a_load_that_the_log_cuts_off_says_so(name: str, first: float, last: float) -> None:
    """The log begins, or ends, in the middle of the load or on the far side of it."""
    one = make(1, replace(QUIET, bursts=(Burst(1, 30, 65, 60.0),)))
    found, taken = sensed(one, name, 1)
    power = truly_placed(found, taken)
    (whole,) = power_of(told(one, one.epochs, power))
    middle_ps = (whole.start_ps + whole.end_ps) // 2
    bounds = {0: 0, 0.5: int(np.searchsorted(power.times, middle_ps)), 1: len(found)}
    rows = slice(bounds[first], bounds[last])
    part = replace(found, times=found.times[rows], watts=found.watts[rows])
    (finding,) = power_of(told(one, one.epochs, truly_placed(part, taken)))
    assert finding.cut == (first == 0.5, last == 0.5)


def test_a_log_of_which_only_a_part_is_looked_at_cuts_nothing_off() -> None:
    """Around a profile within a training a part of it is looked at, and the rest elsewhere."""
    one = make(1, replace(QUIET, bursts=(Burst(1, 30, 65, 60.0),)))
    power = truly_placed(*sensed(one, "rapl", 1))
    (whole,) = power_of(told(one, one.epochs, power))
    middle_ps = (whole.start_ps + whole.end_ps) // 2
    near = placing.within(power, middle_ps - 25 * PS_PER_S, middle_ps)
    assert near.times[-1] < whole.end_ps
    inputs = trace_findings.FindingInputs(one.trace, one.steps, one.epochs, power, near=near)
    (finding,) = power_of(trace_findings.findings_in_trace(inputs))
    assert finding.end_ps < whole.end_ps
    assert finding.cut == (False, False)


def test_tracing_and_validation_are_named_and_not_reported() -> None:
    one = make(4, QUIET)
    epochs = replace(one.epochs, phases=(Phase("validation", 1, 2_000_000_000_001, 0, "test"),))
    found, taken = sensed(one, "nvml-1s", 4)
    result = told(one, epochs, truly_placed(found, taken))
    assert not result.findings
    assert any("step 0: tracing" in note for note in result.notes)
    assert any("validation, 2.00 s; not compared" in note for note in result.notes)


def test_one_epoch_has_nothing_to_be_compared_with() -> None:
    one = make(5, replace(QUIET, seconds=10, epochs=1))
    result = compared(one, "nvml-1s", 5)
    assert result.folded is None
    assert (
        result.reason
        == "the profile has several steps of one epoch only, so there is none to compare it with"
    )


def test_without_power_times_are_compared_all_the_same() -> None:
    steps = _steps(2, 60, slow=(1, 20, 40, 1.8))
    two = Epochs((Epoch(0, None, None, ""), Epoch(1, None, None, "")))
    result = trace_findings.findings_in_trace(
        trace_findings.FindingInputs(make(1, QUIET).trace, steps, two, None)
    )
    (finding,) = result.findings
    assert (finding.kind, finding.epoch, finding.step_lo, finding.step_hi) == ("time", 1, 20, 40)
    assert finding.delta_watts is None
    assert finding.delta_seconds == pytest.approx(21 * 0.08, rel=0.2)
    assert "only times are compared" in " ".join(result.notes)


def test_an_ambiguous_alignment_is_said_and_marks_findings_as_estimated() -> None:
    one = make(6, replace(QUIET, bursts=(Burst(1, 45, 71, 60.0),)))
    found, taken = sensed(one, "nvml-1s", 6)
    power: PowerOnTrace = replace(truly_placed(found, taken), status="ambiguous")
    result = told(one, one.epochs, power)
    assert [f.badge.value for f in power_of(result)] == ["estimated"]
    assert "ambiguous" in " ".join(result.notes)


def test_ops_that_ran_longer_are_named_and_otherwise_said_to_be_none() -> None:
    one = make(7, replace(QUIET, bursts=(Burst(1, 45, 71, 60.0),)))

    def ops(lo: int, hi: int, others: Windows, least: float) -> dict[str, tuple[int, list[int]]]:
        def late(lo: int, hi: int) -> int:
            return (hi - lo) // 3 if lo > one.steps.start[len(one.steps) // 2] else 0

        return {
            "MatMul": (hi - lo, [b - a for a, b in others]),
            "Checkpoint": (late(lo, hi), [late(a, b) for a, b in others]),
        }

    (finding,) = power_of(compared(one, "nvml-1s", 7, ops=ops))
    assert finding.ops[0][0] == "Checkpoint"
    assert "Checkpoint ran" in finding.text
    (finding,) = power_of(
        compared(
            one,
            "nvml-1s",
            7,
            ops=lambda lo, hi, others, least: {"MatMul": (10, [10] * len(others))},
        )
    )
    assert finding.text.endswith("no difference in the trace")


def test_why_smaller_differences_are_some_is_looked_up_when_they_are_read_and_once() -> None:
    steps = _steps(2, 400, slow=(1, 20, 23, 1.5))
    two = Epochs((Epoch(0, None, None, ""), Epoch(1, None, None, "")))
    asked = []

    def ops(lo: int, hi: int, others: Windows, least: float) -> dict[str, tuple[int, list[int]]]:
        asked.append((lo, hi))
        return {"Checkpoint": (hi - lo, [0] * len(others))}

    result = trace_findings.findings_in_trace(
        trace_findings.FindingInputs(make(1, QUIET).trace, steps, two, None), ops
    )
    assert not result.findings
    assert len(result.smaller) == 1
    assert not asked
    assert result.smaller[0].ops[0].name == "Checkpoint"
    assert "Checkpoint ran" in result.smaller[-1].text
    assert [one.explained for one in result.smaller] == [True]
    assert len(asked) == 1


def test_steps_without_pauses_are_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = []
    stretches = stretch_search.find_stretches
    monkeypatch.setattr(
        stretch_search,
        "find_stretches",
        lambda *asked, **more: (scanned.append(asked), stretches(*asked, **more))[1],
    )
    found = neighbours.time(_steps(1, 200, slow=(0, 80, 120, 1.5)))
    assert [(one.first, one.last) for one in found] == [(80, 121)]
    assert len(scanned) == 1


def test_steps_that_count_on_over_epochs_are_folded_by_their_place() -> None:
    steps = _steps(2, 50)
    running = replace(steps, number=np.arange(100))
    folded = fold.fold(running, Epochs((Epoch(0, None, None, ""), Epoch(1, None, None, ""))), None)
    assert isinstance(folded, fold.Folded)
    assert folded.steps == 50
    assert folded.numbers[1, 0] == 50


def test_an_epoch_that_was_cut_off_is_compared_as_far_as_it_goes() -> None:
    steps = _steps(3, 40)
    keep = ~((steps.epoch == 2) & (steps.number >= 15))
    cut = Steps(
        steps.number[keep],
        steps.start[keep],
        steps.duration[keep],
        steps.epoch[keep],
        ["s"] * int(keep.sum()),
        "test",
    )
    folded = fold.fold(cut, Epochs(tuple(Epoch(i, None, None, "") for i in range(3))), None)
    assert isinstance(folded, fold.Folded)
    assert (folded.start[2] >= 0).sum() == 15
    assert np.isnan(folded.seconds[2, 15:]).all()


def _steps(epochs: int, each: int, slow: tuple[int, int, int, float] | None = None) -> Steps:
    rng = np.random.default_rng(0)
    length = (0.1e12 * (1 + 0.03 * rng.standard_normal((epochs, each)))).astype(np.int64)
    if slow is not None:
        length[slow[0], slow[1] : slow[2] + 1] = (
            length[slow[0], slow[1] : slow[2] + 1] * slow[3]
        ).astype(np.int64)
    flat = length.ravel()
    start = np.concatenate([[0], np.cumsum(flat)[:-1]]).astype(np.int64)
    number = np.tile(np.arange(each), epochs)
    epoch = np.repeat(np.arange(epochs), each).astype(np.int32)
    return Steps(number, start, flat, epoch, ["step"] * len(flat), "test")


@pytest.mark.parametrize(
    ("load", "low", "high", "listed"),
    [(-60.0, -140.0, 12.0, False), (-60.0, -90.0, -30.0, True), (60.0, -12.0, 140.0, True)],
)
def test_a_dip_that_may_as_well_be_nothing_is_a_smaller_difference(
    load: float, low: float, high: float, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause that a slow sensor showed late.

    Of a load the same interval only says that its place is open.
    """
    one = make(0, replace(QUIET, bursts=(Burst(1, 30, 60, load),)))
    real = unexplained.unexplained_power

    def unsure(*given: object) -> object:
        seen = real(*given)
        return replace(
            seen, boxes=tuple(replace(box, lo_watts=low, hi_watts=high) for box in seen.boxes)
        )

    monkeypatch.setattr(unexplained, "unexplained_power", unsure)
    result = compared(one, "nvml-1s", 0)
    assert bool(power_of(result)) is listed
    assert any(f.kind == "power" for f in result.smaller) is not listed
