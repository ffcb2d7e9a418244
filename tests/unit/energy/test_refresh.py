"""How often a sensor publishes, whatever its rows beat with and however often its readings stay the
same.
"""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import sensor
from powertui.data.model import PowerSeries, Scope, Sensor


def refresh_of(
    refresh: float,
    poll: float,
    *,
    seed: int = 0,
    step: float = 1.0,
    swing: float = 40.0,
    pause: tuple[int, float] = (0, 0.0),
    repeated: float = 0.0,
    length: float = 90.0,
) -> float:
    """What is told of a sensor whose publications follow one another at `refresh`, asked every
    `poll` s with some jitter.
    """
    rng = np.random.default_rng([seed, round(refresh * 1000), round(poll * 1000)])
    published = rng.uniform(0, refresh) + np.arange(int(length / refresh) + 2) * refresh
    published = published + rng.normal(0, 0.002 * refresh, len(published))
    watts = np.round((250 + swing * rng.standard_normal(len(published))) / step) * step
    due = 2 * refresh + np.arange(int((length - 3 * refresh) / poll)) * poll * (
        1 + rng.uniform(-0.004, 0.01)
    )
    if pause[0]:
        due = due + np.arange(len(due)) // pause[0] * pause[1]
    asked = due + rng.exponential(0.02 * poll, len(due))
    asked = asked[asked < length - refresh]
    seen = watts[np.searchsorted(published, asked, side="right") - 1]
    again = rng.random(len(seen)) < repeated
    again[0] = False
    seen = seen[np.maximum.accumulate(np.where(again, 0, np.arange(len(seen))))]
    found = sensor.describe(
        PowerSeries(
            Sensor("power", "csv", Scope.NODE), np.round(asked * 1e9).astype(np.int64), seen
        )
    )
    assert found.sensor.refresh_s is not None
    return found.sensor.refresh_s.value


@pytest.mark.parametrize("pause", [(0, 0.0), (11, 1.1)])
@pytest.mark.parametrize("refresh", [0.5, 0.7, 1.0, 1.25])
def test_rows_that_beat_with_the_refresh(refresh: float, pause: tuple[int, float]) -> None:
    """Every 0.2 s, runs of 0.4 and 0.6 s: neither is how often it publishes."""
    for seed in range(4):
        assert refresh_of(refresh, 0.2, seed=seed, pause=pause) == pytest.approx(refresh, rel=0.03)


@pytest.mark.parametrize(
    ("refresh", "poll"),
    [(0.5, 0.3), (1.0, 0.7), (10.0, 1.0), (10.0, 3.0), (3.0, 0.25), (0.04, 0.03)],
)
def test_any_refresh_longer_than_a_poll(refresh: float, poll: float) -> None:
    for seed in range(3):
        assert refresh_of(refresh, poll, seed=seed, length=180 * refresh) == pytest.approx(
            refresh, rel=0.03
        )


def test_readings_that_often_stay_as_they_are() -> None:
    """Steps as coarse as what the power moves by: two or three publications often tell the same."""
    for seed in range(4):
        assert refresh_of(10.0, 1.0, seed=seed, step=20.0, swing=12.0, length=900) == pytest.approx(
            10.0, rel=0.03
        )
        assert refresh_of(0.5, 0.2, seed=seed, step=20.0, swing=12.0) == pytest.approx(
            0.5, rel=0.03
        )


def test_a_logger_that_repeats_its_answers() -> None:
    for seed in range(4):
        assert refresh_of(1.0, 0.25, seed=seed, repeated=0.05) == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("seed", "length", "swing"), [(46, 60.0, 40.0), (46, 60.0, 1.0), (38, 90.0, 1.0)]
)
def test_one_that_repeats_every_tenth_and_asks_twice_a_refresh(
    seed: int, length: float, swing: float
) -> None:
    """Between two distances that were tried, a third of a second explained more."""
    assert refresh_of(
        0.5, 0.25, seed=seed, repeated=0.1, length=length, swing=swing
    ) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(("refresh", "poll"), [(0.5, 0.25), (0.5, 0.3), (1.0, 0.25)])
def test_a_change_that_is_seen_a_row_late(refresh: float, poll: float) -> None:
    """Two thirds of the refresh foretell all changes, and many more that never came."""
    for seed in range(6):
        assert refresh_of(
            refresh, poll, seed=seed, repeated=0.1, length=60 * refresh
        ) == pytest.approx(refresh, rel=0.05)


def test_a_sensor_that_is_quicker_than_its_rows_changes_at_every_one() -> None:
    for poll in (0.1, 0.5, 1.0):
        assert refresh_of(poll / 3, poll, step=0.1, length=200 * poll) == pytest.approx(
            poll, rel=0.02
        )


def test_a_sensor_asked_as_often_as_it_publishes_changes_at_every_poll() -> None:
    """Levels that last for seconds, in whole watts: many readings are like the one before, and it
    was told to publish seldomer.
    """
    told = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        published = rng.uniform(0, 1) + np.arange(90.0)
        level = np.repeat(rng.choice([150.0, 210.0, 255.0, 300.0], 60), rng.integers(2, 7, 60))[
            : len(published)
        ]
        watts = np.round(level + 0.8 * rng.standard_normal(len(level)))
        asked = 1.5 + np.arange(85) * (1 + rng.uniform(-0.004, 0.01)) + rng.exponential(0.02, 85)
        seen = watts[np.searchsorted(published, asked, side="right") - 1]
        found = sensor.describe(
            PowerSeries(
                Sensor("power", "csv", Scope.NODE), np.round(asked * 1e9).astype(np.int64), seen
            )
        )
        assert found.sensor.refresh_s is not None
        told.append(found.sensor.refresh_s.value)
    assert sum(abs(one - 1.0) < 0.06 for one in told) >= 17, sorted(told)


def test_changes_that_come_when_they_like_have_no_refresh_of_their_own() -> None:
    """A steady load read in coarse steps: what is told is how long it usually stays, as before."""
    rng = np.random.default_rng(3)
    asked = np.arange(0, 600, 0.5)
    changes = np.sort(rng.uniform(0, 600, 40))
    watts = 200.0 + 10 * (np.searchsorted(changes, asked) % 2)
    found = sensor.describe(
        PowerSeries(
            Sensor("power", "csv", Scope.NODE), np.round(asked * 1e9).astype(np.int64), watts
        )
    )
    assert found.sensor.refresh_s is not None
    assert found.sensor.refresh_s.value > 3
