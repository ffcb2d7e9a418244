"""A log without a clock on a trace of a host: pauses, foreign load, training that ends, and what is
said where nothing decides.
"""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.asked import Aligning
from powertui.data.energy import (
    align,
    log_alignment,
    mixture,
    placement_score,
    sensor,
    window_shares,
)
from powertui.data.energy.log_alignment import Placed
from powertui.data.model import (
    NS_PER_S,
    PS_PER_S,
    Badge,
    Epoch,
    Epochs,
    Figure,
    PowerSeries,
    Sensor,
    Steps,
    Trace,
)
from tests.synthetic import traces

MS = PS_PER_S // 1000
BEFORE, AFTER = 12.0, 8.0  # s of the log around the profile


def host(*parts: tuple[float, str]) -> tuple[Trace, list[tuple[float, float, bool]]]:
    """A thread that computes in pieces of 20 ms, waits, or sits in one call; and when it
    was busy.
    """
    events, ran, at = [], [], 0.0
    for seconds, what in parts:
        begin, end = round(at * 1000), round((at + seconds) * 1000)
        if what == "work":
            events += [
                (t * MS, 19 * MS, "model/dense/MatMul:MatMul") for t in range(begin, end - 19, 20)
            ]
        else:
            events.append((begin * MS, (end - begin) * MS, what))
        ran.append((at, at + seconds, what == "work"))
        at += seconds
    return traces.trace({("/host:CPU", "python"): events}), ran


def watts(ran: list[tuple[float, float, bool]], *foreign: tuple[float, float, float]):
    """True power by the millisecond: 150 W, 60 W more where it worked, and what somebody
    else adds.
    """
    end = ran[-1][1]
    at = np.arange(-BEFORE, end + AFTER, 0.001)
    found = np.full(len(at), 150.0)
    for lo, hi, more in [(lo, hi, 60.0 * busy) for lo, hi, busy in ran] + list(foreign):
        found[(at >= lo) & (at < hi)] += more
    return at, found


def logged(
    at, true, *, refresh_s: float = 0.5, phase_s: float = 0.13, seed: int = 1
) -> tuple[PowerSeries, float]:
    """Means of `refresh_s`, to the watt, relative time only; and where its zero lies."""
    running = np.concatenate([[0.0], np.cumsum(true) * 0.001])
    grid = np.append(at, at[-1] + 0.001)
    told = np.arange(at[0] + refresh_s + phase_s, at[-1], refresh_s)
    mean = (np.interp(told, grid, running) - np.interp(told - refresh_s, grid, running)) / refresh_s
    noise = np.random.default_rng(seed).normal(0, 0.7, len(told))
    known = Sensor("Total Power", "csv", window_s=Figure(refresh_s, Badge.MEASURED))
    series = PowerSeries(
        known,
        np.round((told - told[0]) * NS_PER_S).astype(np.int64),
        np.round(mean + noise),
        path="log.csv",
    )
    return sensor.describe(series), float(told[0])


def placed(trace: Trace, series: PowerSeries, epochs: Epochs | None = None) -> Placed:
    context = log_alignment.AlignmentContext(trace, Steps.none(), epochs or Epochs())
    return align.place(series, context, Aligning("signal"))


PARTS = (
    (7.0, "work"),
    (3.0, "TFE_DeleteTensorHandle"),
    (5.0, "work"),
    (1.5, "$threading.py:323 wait"),
    (6.0, "work"),
)


@pytest.mark.parametrize("phase", [0.02, 0.21, 0.4])
def test_pauses_place_a_log_whatever_covers_them(phase: float) -> None:
    trace, ran = host(*PARTS)
    series, zero = logged(*watts(ran), phase_s=phase)
    found = placed(trace, series)
    assert found.alignment.status == "aligned", found.alignment.evidence
    assert found.alignment.offset_s == pytest.approx(zero, abs=0.3)
    assert found.alignment.lo_s is not None
    assert found.alignment.hi_s is not None
    assert found.alignment.lo_s <= zero <= found.alignment.hi_s


def test_readings_are_laid_on_an_offset_once_while_the_width_of_residuals_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = {"work": 0, "fits": 0}
    work, fit = window_shares.WindowShares.work, placement_score.Likeness._fit

    def counted_work(*args, **options):
        counts["work"] += 1
        return work(*args, **options)

    def counted_fit(*args, **options):
        counts["fits"] += 1
        return fit(*args, **options)

    monkeypatch.setattr(window_shares.WindowShares, "work", counted_work)
    monkeypatch.setattr(placement_score.Likeness, "_fit", counted_fit)
    trace, ran = host(*PARTS)
    series, _ = logged(*watts(ran))
    assert placed(trace, series).alignment.status == "aligned"
    assert counts["fits"] > 50
    assert counts["work"] < counts["fits"]


def test_foreign_load_does_not_pull_the_place() -> None:
    """Somebody else's 60 W, before, inside and across a pause."""
    trace, ran = host(*PARTS)
    series, zero = logged(*watts(ran, (-11.0, -4.0, 60.0), (3.0, 5.0, 60.0), (8.5, 11.0, 60.0)))
    found = placed(trace, series)
    assert found.alignment.lo_s is not None
    assert found.alignment.hi_s is not None
    assert found.alignment.lo_s <= zero <= found.alignment.hi_s
    assert found.alignment.offset_s == pytest.approx(zero, abs=0.3)


def test_the_told_end_of_training_is_an_edge() -> None:
    """A profile that shows work alone, and work before it: only where training ended, which the
    scalars tell, is there an edge.
    """
    trace, ran = host((10.0, "work"))
    ran = [(-4.0, 0.0, True), *ran, (10.0, 14.0, True)]
    series, zero = logged(*watts(ran, (-12.0, -4.0, 60.0)))
    told = Epochs((Epoch(0, 0, round(14.0 * PS_PER_S), "scalars"),))
    found = placed(trace, series, told)
    assert found.alignment.lo_s is not None, found.alignment.evidence
    assert found.alignment.hi_s is not None
    assert found.alignment.lo_s <= zero <= found.alignment.hi_s
    blind = placed(trace, series)
    assert blind.alignment.status != "aligned", (
        "without the scalars nothing tells where the profile lies"
    )


def test_joules_of_an_uncertain_place_hold() -> None:
    trace, ran = host((10.0, "work"))
    at, true = watts(
        [(-4.0, 0.0, True), *ran, (10.0, 14.0, True)], (-12.0, -4.0, 60.0), (-3.0, -1.0, 25.0)
    )
    series, _ = logged(at, true)
    found = placed(trace, series)
    assert found.power.status == "ambiguous"
    assert len(found.power.places) > 3
    told = mixture.energy(found.power, 1 * PS_PER_S, 6 * PS_PER_S)
    truth = float(true[(at >= 1.0) & (at < 6.0)].sum() * 0.001)
    assert told.lo is not None, told.reason
    assert told.hi is not None
    assert told.lo <= truth <= told.hi


def test_power_below_the_prediction_costs_more_than_power_above_it() -> None:
    trace, ran = host(*PARTS)
    series, zero = logged(*watts(ran))
    context = log_alignment.AlignmentContext(trace, Steps.none(), Epochs())
    data = align.samples.power_samples(series)
    one = placement_score.Likeness(context.shares(data.refresh), 150.0, 60.0, 2.0, 2.0)
    inside = (data.hi + zero > 2) & (data.hi + zero < 5)
    totals = []
    for by in (0.0, 30.0, -30.0):
        cost, fitted = one.costs(
            np.array([zero]), align.samples.replace(data, watts=data.watts + by * inside)
        )
        totals.append(float(cost[0]))
        assert fitted[0, 0] >= 150.0, "the idle machine draws no less than the floor"
    exact, above, below = totals
    assert exact < above < below
