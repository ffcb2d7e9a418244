"""What the cells of a view hold: neighbours are one bar exactly when they are of one event."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from powertui.view.navigation import Navigator
from powertui.view.scene import Scene
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import traces
from tests.synthetic.traces import MS


def test_events_of_a_folded_process_are_told_apart_by_lane_and_row() -> None:
    """Two lanes whose events have the same numbers follow one another: each is a bar of its own."""
    first = [(0, 10 * MS, "a"), (20 * MS, 10 * MS, "a")]
    second = [(10 * MS, 10 * MS, "b"), (30 * MS, 10 * MS, "b")]
    model = TimelineModel.of(traces.run(traces.trace({("/host:CPU", "one"): first, ("/host:CPU", "two"): second})))
    n = Navigator(model, 40, 10)
    n.fold_all(True)
    rows = tuple(row for row in n.rows if len(row.lanes) > 1)
    assert rows, "a folded process draws both lanes in one row"
    cells = Scene(model, 8).cells(replace(n.state, cursor_ps=-1), rows)
    seen = cells.event[0][cells.event[0] >= 0]
    assert seen.dtype == np.int64
    changes = [int(seen[0]), *(b for a, b in pairwise(seen.tolist()) if a != b)]
    assert len(changes) == len(set(changes)) == 4
