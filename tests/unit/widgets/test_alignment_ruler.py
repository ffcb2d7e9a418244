"""The times below the chart of an alignment: no two of them read alike."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.terminal import theme
from powertui.widgets.alignment_chart import AlignmentView, _ruler

NOTHING = np.empty(0)


@pytest.mark.parametrize("seconds", [0.000_005, 0.0049, 0.5, 20.9, 3_600.0])
@pytest.mark.parametrize("cells", [40, 71, 190])
def test_no_two_times_read_alike(seconds: float, cells: int) -> None:
    view = AlignmentView(
        0, round(seconds * 1e12), NOTHING, NOTHING, 1, NOTHING, NOTHING, "%", "caption"
    )
    text = "".join(segment.text for segment in _ruler(view, cells, theme.get("dark", "true")))
    times = text.split(" s")[:-1]
    assert len(times) >= 2
    assert len(set(times)) == len(times)
    assert all(time.startswith(" ") for time in times)
