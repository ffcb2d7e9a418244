"""Where the size of a finding is written in a chart."""

from __future__ import annotations

import pytest

from powertui.terminal import glyphs
from powertui.view import finding_flag

SIZES = ("+59 W for 2.5 s", "+59 W")


def chart(*rows: str) -> list[list[str]]:
    return [list(row) for row in rows]


@pytest.mark.parametrize(
    ("band", "row", "text"),
    [
        (range(30, 40), " " * 60, " +59 W for 2.5 s ▶"),
        (range(2, 40), " " * 60, "◀ +59 W for 2.5 s "),
        (range(10, 50), " " * 60, " +59 W ▶"),
        (range(30, 40), "█" * 60, None),
    ],
)
def test_the_longest_size_that_has_room_is_beside_the_band(
    band: range, row: str, text: str | None
) -> None:
    flag = finding_flag.beside_band(chart(row), band, SIZES, glyphs.UNICODE)
    assert (flag.text if flag else None) == text
    if flag is not None:
        assert band.start in (flag.stop, flag.first - len(band))


@pytest.mark.parametrize(
    ("band", "row", "flag"),
    [
        (range(60), " " * 60, (0, 0, "+59 W for 2.5 s")),
        (range(20, 40), "█" * 24 + " " * 6 + "█" * 30, (0, 24, "+59 W")),
        (range(20, 40), "█" * 24 + " " * 4 + "█" * 32, None),
    ],
)
def test_where_nothing_is_free_beside_the_band_the_size_is_within_it(
    band: range, row: str, flag: tuple[int, int, str] | None
) -> None:
    assert finding_flag.beside_band(chart(row), band, SIZES, glyphs.UNICODE) == flag


def test_a_flag_covers_nothing_and_goes_to_the_highest_free_row() -> None:
    rows = chart("█" * 40, " " * 40, " " * 40)
    flag = finding_flag.beside_band(rows, range(30, 35), SIZES, glyphs.UNICODE)
    assert flag is not None
    assert flag.row == 1
    assert (
        finding_flag.beside_band(
            chart(*["█" * 40] * 3, " " * 40), range(30, 35), SIZES, glyphs.UNICODE
        )
        is None
    )


def test_a_finding_beyond_the_chart_has_a_flag_at_the_edge_on_its_side() -> None:
    rows = chart("├─┤" + " " * 37)
    later = finding_flag.at_edge(rows, "+58 W at 11s", glyphs.UNICODE, is_later=True)
    assert later == (0, 25, " +58 W at 11s ▶")
    assert finding_flag.at_edge(rows, "+58 W at 11s", glyphs.UNICODE, is_later=False) is None
    earlier = finding_flag.at_edge(
        chart(*rows, " " * 40), "+58 W at -3s", glyphs.UNICODE, is_later=False
    )
    assert earlier == (1, 0, "◀ +58 W at -3s ")
