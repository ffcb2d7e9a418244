"""What stands out beside a profile, where the power log may lie at several places: told where it
holds at all of them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from powertui.data.energy import samples
from powertui.data.energy.findings import layers, placed_search
from powertui.data.energy.findings.placed_search import in_known_span
from powertui.data.energy.findings.power_stretch import Box


def box(start: float, end: float, watts: float = 20.0) -> Box:
    joules = watts * (end - start)
    return Box(
        start,
        end,
        (start, start),
        (end, end),
        watts,
        watts - 1,
        watts + 1,
        joules,
        joules - 1,
        joules + 1,
        1e-9,
    )


def test_a_stretch_beside_the_profile_is_told_where_it_stands_out_at_all_places() -> None:
    inside, beside, alone = box(4.0, 6.0), box(20.0, 22.0), box(30.0, 33.0)
    kept, left_out = in_known_span([inside, beside, alone], [box(20.5, 22.0)], (0.0, 10.0))
    assert kept == [inside, beside]
    assert left_out == 1


def test_less_power_there_is_not_the_same_as_more() -> None:
    assert in_known_span([box(20.0, 22.0)], [box(20.0, 22.0, -20.0)], (0.0, 10.0)) == ([], 1)


@pytest.mark.parametrize(("readings", "searched"), [(12_000, 4), (16_000, 3), (90_000, 1)])
def test_a_long_log_is_searched_at_as_many_places_as_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, readings: int, searched: int
) -> None:
    places = [
        (0.25, SimpleNamespace(offset_ps=offset, offset_lo_ps=offset, offset_hi_ps=offset))
        for offset in range(4)
    ]
    monkeypatch.setattr(placed_search, "likely_places", lambda _: places)
    monkeypatch.setattr(samples, "power_samples", lambda _: range(readings))
    monkeypatch.setattr(layers, "find_in_layers", lambda *_: None)
    monkeypatch.setattr(placed_search, "_over_all_places", lambda by_place, _: len(by_place))
    power: Any = SimpleNamespace(series=None)
    expect: Any = None
    found: Any = placed_search.loads_at_all_places(power, expect, (0.0, 1.0))
    assert found == searched
