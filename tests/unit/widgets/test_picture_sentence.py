"""The sentence in place of a chart is whole where it is longer than a line."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from powertui.terminal import theme
from powertui.widgets.alignment_chart import AlignmentChart

LONG = "No power log beside this run was taken. /logs/power.csv: has no column of power or energy."


class Shown(App[None]):
    """A chart without a view."""

    def compose(self) -> ComposeResult:
        yield AlignmentChart(theme=theme.get(), id="chart")


@pytest.mark.parametrize(("columns", "count"), [(200, 1), (60, 2), (34, 3)])
async def test_a_long_sentence_is_wrapped_around_the_middle(columns: int, count: int) -> None:
    app = Shown()
    async with app.run_test(size=(columns, 12)) as pilot:
        chart = app.query_one(AlignmentChart)
        chart.show(None, LONG)
        await pilot.pause()
        rows = [chart.render_line(y).text for y in range(12)]
    drawn = [row for row in rows if row.strip()]
    assert " ".join(row.strip() for row in drawn) == LONG
    assert len(drawn) == count
    assert rows[6].strip()
    assert all(len(row) == columns for row in drawn)
