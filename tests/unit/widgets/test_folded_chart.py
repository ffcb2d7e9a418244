"""The stretch of time that the chart of a run without epochs shows."""

from __future__ import annotations

import numpy as np

from powertui.data.energy.findings.finding import Against, Finding
from powertui.data.model import PS_PER_S, Badge
from powertui.widgets.folded_chart import AgainstView


def _finding(start_s: int, end_s: int) -> Finding:
    return Finding(
        kind="power",
        witnesses=(),
        start_ps=start_s * PS_PER_S,
        end_ps=end_s * PS_PER_S,
        start_within=(0, 0),
        end_within=(0, 0),
        epoch=None,
        step_lo=None,
        step_hi=None,
        elsewhere=(),
        delta_watts=60.0,
        lo_watts=50.0,
        hi_watts=70.0,
        delta_joules=240.0,
        lo_joules=200.0,
        hi_joules=280.0,
        delta_seconds=None,
        p=0.001,
        badge=Badge.MEASURED,
    )


def test_the_chart_shows_the_surroundings_of_the_chosen_finding_and_no_more_than_the_readings() -> (
    None
):
    start = np.arange(60, dtype=np.float64)
    readings = Against(start, start + 1, np.full(60, 200.0), np.full(60, 200.0))
    view = AgainstView(readings, (_finding(20, 24), _finding(57, 59)))
    assert view.span == (0.0, 60.0), "nothing is chosen: all readings"
    assert view._replace(selected=0).span == (12.0, 32.0), "twice its length on either side"
    assert view._replace(selected=1).span == (53.0, 60.0), "not beyond the last reading"
    assert view._replace(selected=2).span == (0.0, 60.0), "there is no such finding"
