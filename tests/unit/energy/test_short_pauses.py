"""Power that stays where it is in the short pauses between two steps: where its log is."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.wait_clocks import PlacedLog, placed_logs
from powertui.data.energy import expected_work
from powertui.data.energy.expected_work import COMPUTE, IDLE, SHORT_PAUSES, Activity
from powertui.data.model import PS_PER_S


@pytest.mark.parametrize("clock", ["relative", "2"])
def test_a_log_that_fits_one_step_beside_only_if_pauses_were_idle_is_not_put_there(
    clock: str,
) -> None:
    """It was called aligned to ±0.02 s, 0.76 s beside its place: one step."""
    logs = placed_logs(18, "counter 0.5", 2.0, clock)
    assert logs
    first = logs[0]
    assert first.alignment.is_sure
    assert abs(first.error_s) < 0.1
    assert not any(log.is_wrong for log in logs)


def test_where_what_ran_hardly_explains_the_steps_places_a_step_away_are_named() -> None:
    log: PlacedLog = placed_logs(14, "moment 0.2", 2.0, "relative")[1]
    assert log.alignment.status == "ambiguous"
    assert "nearly as much" in " ".join(log.alignment.evidence)
    assert len(log.alignment.places) > 1
    assert log.lo_s < 0 < log.hi_s
    assert sum(place.weight for place in log.alignment.places) == pytest.approx(1.0)


def test_only_short_pauses_are_a_kind_of_their_own() -> None:
    edges_s = np.array([0.0, 1.0, 1.1, 2.0, 4.0, 5.0])
    kinds = np.array([COMPUTE, IDLE, COMPUTE, IDLE, COMPUTE])
    activity = Activity(np.round(edges_s * PS_PER_S).astype(np.int64), kinds)
    apart = expected_work.with_pauses_apart(activity, round(0.25 * PS_PER_S))
    assert apart.kind.tolist() == [COMPUTE, SHORT_PAUSES, COMPUTE, IDLE, COMPUTE]
    assert apart.seconds(SHORT_PAUSES) == pytest.approx(0.1)
