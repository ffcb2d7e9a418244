"""Findings outside of what the timeline shows: a flag at the edge says where they are."""

from __future__ import annotations

import numpy as np
import pytest
from textual.app import App

from powertui.view.navigation import Navigator
from powertui.view.surroundings import LabelledSpan, Surroundings
from tests.screens.test_widgets_timeline import MODEL, Stage, settle
from tests.synthetic import traces
from tests.synthetic.traces import MS

SIZE = "+58 W for 40 ms"


def strip_text(app: App[None]) -> str:
    strip = app.view.strips[0]  # type: ignore[attr-defined]
    return "\n".join(strip.render_line(y).text for y in range(strip.size.height))


@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
async def test_a_load_beyond_the_view_is_told_at_the_edge_on_its_side(glyphs: str) -> None:
    """A flat curve beside "+58 W" would seem to be wrong."""
    span = LabelledSpan(120 * MS, 160 * MS, (SIZE,), (SIZE, "+58 W"))
    around = Surroundings(MODEL.span, findings=(span,))
    watts = np.where((np.arange(260) >= 120) & (np.arange(260) < 160), 258.0, 200.0)
    power = traces.power(np.arange(0, 260, dtype=np.int64) * MS, watts.tolist())
    app = Stage(MODEL.within(around), glyphs=glyphs, power=(power,))
    right, left = ("▶", "◀") if glyphs == "unicode" else (">", "<")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for lo, hi, words in (
            (20, 100, f" {SIZE} at 0.120s {right}"),
            (180, 240, f"{left} {SIZE} at 0.120s "),
            (20, 240, f"{left} {SIZE} "),
        ):
            app.view.timeline.move(Navigator.show_window, lo * MS, hi * MS)
            await settle(pilot)
            assert words in strip_text(app)
        assert " at " not in strip_text(app), "the load is in sight"
