"""What stands out beside a profile, where the power log may lie at several places: told where it
holds at all of them.
"""

from __future__ import annotations

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
