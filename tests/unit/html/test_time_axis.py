"""Round moments along an axis of time."""

from __future__ import annotations

import pytest

from powertui.data.model import PS_PER_S
from powertui.html.time_axis import ticks


@pytest.mark.parametrize(
    ("seconds", "distance_s", "words"),
    [
        (0.004, 0.0005, ["0 s", "500 µs"]),
        (8, 1, ["0 s", "1 s"]),
        (9, 2, ["0 s", "2 s"]),
        (100, 15, ["0 s", "15 s"]),
        (900, 120, ["0 min", "2 min"]),
        (7_200, 900, ["0 min", "15 min"]),
        (4 * 3_600, 1_800, ["0 min", "30 min"]),
        (5 * 3_600, 3_600, ["0 h", "1 h"]),
        (4 * 86_400, 12 * 3_600, ["0 h", "12 h"]),
    ],
)
def test_at_most_eight_round_distances_fill_an_axis(
    seconds: float, distance_s: float, words: list[str]
) -> None:
    moments = ticks(0, round(seconds * PS_PER_S))
    assert [words_of for _, words_of in moments][:2] == words
    distance_ps = round(distance_s * PS_PER_S)
    assert [at for at, _ in moments] == [number * distance_ps for number in range(len(moments))]
    assert len(moments) == seconds // distance_s + 1 <= 9


def test_moments_are_round_wherever_the_axis_begins() -> None:
    moments = ticks(round(-2.5 * PS_PER_S), round(3.5 * PS_PER_S))
    assert [at // PS_PER_S for at, _ in moments] == [-2, -1, 0, 1, 2, 3]
    assert moments[0][1] == "-2 s"
