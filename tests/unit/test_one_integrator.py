"""The sampler's own sums, which know neither numpy nor windows, against the integral that answers
everything else.
"""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import integrate, sensor
from powertui.data.live import Board, ChannelKey, History
from powertui.data.model import Badge, PowerKind, Scope
from powertui.sampler.health import Health
from powertui.sampler.source import OK, Channel, Reading, none

NS = 1_000_000_000
T0 = 1_795_000_000 * NS
TICK = 0.001


def sampled(
    poll: float,
    refresh: float,
    window: float,
    *,
    failing: float = 0.0,
    pause: float = 0.0,
    counter: bool = False,
    seed: int = 0,
) -> tuple[Health, History]:
    """100 s of a sensor, told to both."""
    rng = np.random.default_rng(seed)
    watts = np.repeat(rng.choice([150.0, 260.0, 320.0], 8000), rng.integers(1, 80, 8000))[:140_000]
    total = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
    at = 5 + np.arange(0, 100, poll) + rng.uniform(0, 0.02 * poll, round(100 / poll))
    if pause:
        at = at + np.arange(len(at)) // 11 * pause
        at = at[at < 105]
    rows = np.round(np.floor(at / refresh) * refresh / TICK).astype(int)
    wide = round(window / TICK)
    values = np.round((total[rows] - total[rows - wide]) / window if wide else watts[rows])
    joules = total[np.round(at / TICK).astype(int)]
    if counter:
        values = np.concatenate([[0.0], np.diff(joules) / np.diff(at)])
    kind = PowerKind.INTERVAL if counter else PowerKind.SAMPLED
    health = Health("bmc", Channel("power", kind="interval" if counter else "sampled"), poll)
    history = History(ChannelKey("bmc", "power"), scope=Scope.NODE, kind=kind)
    good = rng.random(len(at)) >= failing
    for i, (t, value, is_good) in enumerate(
        zip(at.tolist(), values.tolist(), good.tolist(), strict=True)
    ):
        said = value if is_good else None
        counted = float(joules[i]) if counter else None
        quality = OK if is_good else none("no answer")
        health.add(Reading(T0 / NS + t, t, said, 0.001, "bmc", "power", quality, counted))
        history.append(T0 + round(t * NS), said)
    return health, history


CASES = [
    {"poll": 1.0, "refresh": 1.0, "window": 0.0},
    {"poll": 0.25, "refresh": 1.0, "window": 1.0},
    {"poll": 0.25, "refresh": 3.0, "window": 3.0},
    {"poll": 0.5, "refresh": 0.5, "window": 0.5, "failing": 0.05},
    {"poll": 0.2, "refresh": 0.2, "window": 0.0, "pause": 1.1},
    {"poll": 0.5, "refresh": 0.5, "window": 0.5, "counter": True},
]


@pytest.mark.parametrize("case", CASES)
def test_sums_of_the_sampler_are_those_of_the_integral(case: dict[str, float]) -> None:
    for seed in range(4):
        health, history = sampled(**case, seed=seed)  # type: ignore[arg-type]
        summed = health.total()
        whole = integrate.of_series(sensor.describe(history.series()))
        assert summed.joules == pytest.approx(whole.covered_joules, rel=2e-3)
        assert summed.coverage == pytest.approx(whole.coverage, abs=0.01)
        assert whole.lo is not None
        assert whole.hi is not None
        assert summed.watts is not None
        rest = 1e-9 * whole.hi  # a counter's interval has no width
        assert whole.lo - rest <= summed.watts * whole.duration_s <= whole.hi + rest


@pytest.mark.parametrize("case", CASES)
def test_so_are_those_of_a_window(case: dict[str, float]) -> None:
    health, history = sampled(**case)  # type: ignore[arg-type]
    series = sensor.describe(history.series())
    power = integrate.own_clock(series)
    zero = series.clock.mid_ns
    for lo, hi in ((20.0, 60.0), (31.3, 78.9)):
        part = health.between(lo, hi)
        found = integrate.energy(
            power, (T0 + round(lo * NS) - zero) * 1000, (T0 + round(hi * NS) - zero) * 1000
        )
        assert part.watts is not None
        assert found.lo is not None
        assert found.hi is not None
        assert found.lo <= part.watts * (hi - lo) <= found.hi


def test_a_board_says_estimated_where_one_of_its_rows_is() -> None:
    for case, badge in ((CASES[0], Badge.MEASURED), (CASES[4], Badge.ESTIMATED)):
        board = Board()
        _, history = sampled(**case)  # type: ignore[arg-type]
        board.add(history)
        found = board.energy(T0 + 20 * NS, T0 + 90 * NS)
        assert found.joules is not None
        assert found.badge is badge
