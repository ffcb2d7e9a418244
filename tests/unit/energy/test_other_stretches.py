"""A log of hours: the other stretches of it at which a profile may have run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import long_logs
from powertui.data.energy.alignment_places import MAX_PLACES, Where
from powertui.data.energy.other_stretches import with_stretches

# Of each, places of one stretch alone were listed, with joules that left out the true ones.
NARROW = (27,)


@pytest.mark.parametrize("seed", NARROW)
def test_joules_of_an_uncertain_place_hold_in_a_log_with_other_work(
    seed: int, tmp_path: Path
) -> None:
    judged = long_logs.judge(long_logs.make_scene(seed), tmp_path)
    assert judged.status == "ambiguous"
    assert judged.holds
    assert judged.windows
    assert not judged.missed


def test_no_more_places_are_listed_than_before_and_the_best_comes_first() -> None:
    places = [Where(float(row), 1 / 32, 0.5) for row in range(32)]
    others = [Where(100.0 + row, 1 / MAX_PLACES, 0.5) for row in range(24)]
    listed = with_stretches(places, others)
    assert len(listed) == MAX_PLACES
    assert listed[0].offset_s == 0.0
    assert {place.offset_s for place in others} <= {place.offset_s for place in listed}
    assert sum(place.weight for place in listed) == pytest.approx(1.0)
    assert np.all([place.weight > 0 for place in listed])


def test_a_place_alone_stays_as_it_is() -> None:
    sure = (Where(3.0, 1.0, 0.2),)
    assert with_stretches(sure, ()) == sure
