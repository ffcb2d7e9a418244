"""What an account adds up, and how sure it is: errors that are common, steps that traced, edges of
epochs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from powertui.data.energy import (
    account,
    counted_energy,
    fold,
    integrate,
    log_alignment,
    trace_account,
)
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_S, Z95, Epoch, Epochs, Steps
from tests.synthetic import traces

S = PS_PER_S


def ramps() -> list[Energy]:
    """Two channels over one window, each with another power at its two edges."""
    at = np.arange(0, 60, dtype=np.int64) * S
    powers = [
        traces.power(at, [base + slope * i for i in range(60)], slack_ps=S)
        for base, slope in ((100.0, 2.0), (50.0, 3.0))
    ]
    return [integrate.energy(power, 10 * S, 50 * S) for power in powers]


def test_an_offset_common_to_two_channels_moves_both_at_once() -> None:
    """One clock places them: its error adds up as it is, where the errors of their values add up in
    squares.
    """
    one, two = ramps()
    both = counted_energy.combined([one, two])
    assert both is not None
    assert one.sigma_timing > 1
    assert both.sigma_timing == pytest.approx(one.sigma_timing + two.sigma_timing)
    assert both.sigma_sampling == pytest.approx(math.hypot(one.sigma_sampling, two.sigma_sampling))
    assert both.joules is not None
    assert both.hi is not None
    assert both.hi - both.joules == pytest.approx(Z95 * both.sigma)


def test_an_offset_common_to_two_stretches_moves_both_at_once() -> None:
    at = np.arange(0, 100, dtype=np.int64) * S
    power = traces.power(at, [100.0 + 2 * i for i in range(100)], slack_ps=S)
    lo, hi = np.array([10, 60]) * S, np.array([30, 90]) * S
    parts = integrate.energies(power, lo, hi)
    mean = integrate.mean_energy(power, lo, hi)
    assert mean is not None
    assert mean.sigma_timing == pytest.approx(parts.sigma_timing.sum() / 2)
    assert mean.sigma_sampling == pytest.approx(math.sqrt((parts.sigma_sampling**2).sum()) / 2)


def training(first_s: int) -> tuple[trace_account.Account, Steps]:
    """Two epochs of ten steps of 4 s under constant power; the first step of each takes longer."""
    bounds: list[tuple[int, int]] = []
    at = 0
    for _ in range(2):
        for number in range(10):
            length = (first_s if number == 0 else 4) * S
            bounds.append((at, length))
            at += length
    steps = traces.steps(*bounds, epoch=[0] * 10 + [1] * 10)
    trace = traces.trace({("/host:CPU", "a"): [(lo, length, "train") for lo, length in bounds]})
    epochs = Epochs(
        (Epoch(0, 0, at // 2, "steps", slack=2 * S), Epoch(1, at // 2, at, "steps", slack=S))
    )
    power = traces.power(
        np.arange(-10, at // S + 10, dtype=np.int64) * S,
        [200.0 + i % 2 * 1e-3 for i in range(at // S + 20)],
    )
    clocked = log_alignment.Alignment(0.0, 0.0, 0.0, "aligned", "wall clocks of both", ())
    return account.of_placed(trace, steps, epochs, [log_alignment.Placed(power, clocked)]), steps


def test_a_step_that_traced_is_no_usual_step() -> None:
    """A first step of five times the usual length compiled; the mean energy of a step leaves it
    out.
    """
    found, _ = training(20)
    for epoch in (0, 1, None):
        mean = found.per_step(epoch)
        assert mean is not None
        assert mean.joules == pytest.approx(800, rel=0.01)


def test_a_step_that_is_merely_slow_counts() -> None:
    found, _ = training(8)
    mean = found.per_step(0)
    assert mean is not None
    assert mean.joules == pytest.approx(200 * (8 + 9 * 4) / 10, rel=0.01)


def test_the_slack_of_an_epoch_is_a_95_percent_interval() -> None:
    found, _ = training(4)
    assert [round(sigma) for *_, sigma in found.epoch_windows()] == [
        round(2 * S / Z95),
        round(S / Z95),
    ]


def test_steps_that_traced_are_folded_and_not_compared() -> None:
    """Their seconds and watts are shown, but they are another kind of work."""
    found, steps = training(20)
    folded = fold.fold(steps, found.epochs, found.power)
    assert not isinstance(folded, str)
    assert folded.tracing[:, 0].all()
    assert not folded.tracing[:, 1:].any()
    assert np.isfinite(folded.watts[:, 0]).all()


def test_a_step_of_two_and_a_half_times_the_usual_still_counts_and_a_longer_one_does_not() -> None:
    """Where the line lies that parts a slow step from one that compiled."""
    slow, compiled = (training(first_s)[0].per_step(0) for first_s in (10, 11))
    assert slow is not None
    assert compiled is not None
    assert slow.joules == pytest.approx(200 * (10 + 9 * 4) / 10, rel=0.01)
    assert compiled.joules == pytest.approx(800, rel=0.01)
