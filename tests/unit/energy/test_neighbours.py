"""Steps against their own neighbors, in runs that pause now and then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy.findings import neighbours, trace_findings
from powertui.data.energy.findings.finding import Findings
from powertui.data.model import PS_PER_S, Epochs, Steps
from tests.synthetic import Plan
from tests.synthetic.placed import make


def _steps(
    pause_s: float, every: int, slow: tuple[int, int, float] = (0, 0, 1.0), seed: int = 0
) -> Steps:
    """700 steps of 11 ms in no epoch, a pause after every so many of them, and some steps that take
    longer.
    """
    rng = np.random.default_rng(seed)
    length = 0.011 * (1 + 0.05 * rng.standard_normal(700))
    length[slow[0] : slow[1]] *= slow[2]
    after = np.where(
        np.arange(700) % every == every - 1, pause_s * (1 + 0.02 * rng.standard_normal(700)), 0.0
    )
    start = np.concatenate([[0.0], np.cumsum(length + after)[:-1]])
    ps = [(values * PS_PER_S).astype(np.int64) for values in (start, length)]
    return Steps(np.arange(700), ps[0], ps[1], np.full(700, -1, np.int32), ["train"] * 700, "test")


def _found(steps: Steps) -> list[neighbours.Slow]:
    return neighbours.time(steps)


@pytest.mark.parametrize(("pause", "every"), [(0.35, 80), (0.06, 7), (0.0, 80)])
def test_a_slower_pace_does_not_drown_in_the_pauses_of_the_run(pause: float, every: int) -> None:
    (one,) = (
        one for one in _found(_steps(pause, every, (400, 560, 1.7))) if one.last - one.first > 1
    )
    assert abs(one.first - 400) <= 3
    assert abs(one.last - 560) <= 3


@pytest.mark.parametrize(("pause", "every"), [(0.35, 80), (0.06, 7), (0.0, 80)])
@pytest.mark.parametrize("seed", range(5))
def test_the_pauses_alone_are_no_slower_pace(pause: float, every: int, seed: int) -> None:
    assert not [one for one in _found(_steps(pause, every, seed=seed)) if one.last - one.first > 1]


def test_what_a_slower_pace_cost_leaves_out_the_pauses_in_it() -> None:
    steps = _steps(0.35, 80, (400, 560, 1.7))
    took = neighbours.seconds(steps)[400:560]
    assert neighbours.longer(took, np.full(160, 0.011)) == pytest.approx(
        160 * 0.011 * 0.7, rel=0.05
    )


def test_one_long_stall_counts_whole() -> None:
    steps = _steps(0.0, 80, (300, 301, 40.0))
    (one,) = _found(steps)
    assert (one.first, one.last) == (300, 301)
    assert neighbours.longer(
        neighbours.seconds(steps)[300:301], np.array([0.011])
    ) == pytest.approx(0.43, rel=0.1)


def _told(steps: Steps) -> Findings:
    ends = int(steps.ends()[-1])
    one = make(1, Plan(seconds=ends / PS_PER_S, epochs=1))
    return trace_findings.findings_in_trace(
        trace_findings.FindingInputs(one.trace, steps, Epochs(()), None)
    )


def test_stalls_that_come_every_so_many_steps_are_one_line() -> None:
    told = _told(_steps(0.35, 130))
    assert not told.findings
    (note,) = (note for note in told.notes if "stalls" in note)
    assert note.startswith("5 stalls of 0.3")
    assert note.endswith("every 130 steps from step 129 on: among the smaller differences")
    assert len(told.smaller) == 5


def test_stalls_at_random_steps_are_findings_each() -> None:
    steps = _steps(0.0, 700)
    for at in (90, 140, 333, 350, 610):
        steps.start[at + 1 :] += round(0.35 * PS_PER_S)
    told = _told(steps)
    assert len(told.findings) == 5
    assert not [note for note in told.notes if "stalls" in note]


def test_more_stalls_than_anyone_reads_are_one_line() -> None:
    steps = _steps(0.0, 700)
    for at in np.random.default_rng(3).choice(650, 20, replace=False) + 20:
        steps.start[at + 1 :] += round(0.35 * PS_PER_S)
    told = _told(steps)
    assert not told.findings
    assert [
        note for note in told.notes if note.startswith("20 stalls of 0.3") and "7 s in all" in note
    ]


def test_a_step_that_takes_as_long_in_every_epoch_is_no_news() -> None:
    steps = _steps(0.0, 700)
    for at in (205, 325, 625):
        steps.start[at + 1 :] += round(0.1 * PS_PER_S)
    numbers = np.concatenate([np.arange(180), np.arange(120), np.arange(300), np.arange(100)])
    epochs = np.repeat(np.arange(4), [180, 120, 300, 100]).astype(np.int32)
    told = _told(Steps(numbers, steps.start, steps.duration, epochs, steps.names, "test"))
    assert not told.findings
    assert not told.smaller


def test_of_thousands_of_stalls_the_longest_are_looked_at() -> None:
    rng = np.random.default_rng(2)
    length = 0.011 * (1 + 0.05 * rng.standard_normal(20_000))
    length[rng.choice(20_000, 2_000, replace=False)] += 0.1 + 0.1 * rng.random(2_000)
    start = np.concatenate([[0.0], np.cumsum(length)[:-1]])
    ps = [(values * PS_PER_S).astype(np.int64) for values in (start, length)]
    told = _told(
        Steps(
            np.arange(20_000),
            ps[0],
            ps[1],
            np.full(20_000, -1, np.int32),
            ["train"] * 20_000,
            "test",
        )
    )
    assert not told.findings
    assert len(told.smaller) <= neighbours.MAX_STALLS
    assert [note for note in told.notes if note.startswith("At least 100 stalls")]


def test_a_stall_within_a_slower_stretch_is_told_as_its_own() -> None:
    """The stretch is told without it, so it has to be told beside."""
    steps = _steps(0.0, 80, (400, 560, 1.7))
    start = steps.start.copy()
    start[481:] += round(0.5 * PS_PER_S)
    steps = replace(steps, start=start)
    slower, stall = sorted(_told(steps).findings, key=lambda one: one.start_ps - one.end_ps)
    assert (stall.step_lo, stall.step_hi) == (480, 480)
    assert stall.delta_seconds == pytest.approx(0.5, abs=0.02)
    assert slower.step_lo == pytest.approx(400, abs=3)
    assert slower.step_hi == pytest.approx(559, abs=3)
    assert slower.delta_seconds == pytest.approx(160 * 0.011 * 0.7, rel=0.05)
