"""The times below the chart of an alignment: no two of them read alike."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.widgets.area_chart import second_ticks


@pytest.mark.parametrize("seconds", [0.000_005, 0.0049, 0.5, 20.9, 3_600.0])
@pytest.mark.parametrize("cells", [40, 71, 190])
def test_no_two_times_read_alike(seconds: float, cells: int) -> None:
    ticks = list(second_ticks(-seconds / 3, seconds, cells, 10))
    times = [tick.text for tick in ticks]
    assert len(times) >= 2
    assert len(set(times)) == len(times)
    assert all(float(time.rstrip("s")) == pytest.approx(0, abs=seconds) for time in times)
    assert "-0s" not in times
    columns = [tick.column for tick in ticks]
    assert min(np.diff(columns)) >= 9
