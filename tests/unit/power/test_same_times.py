"""A log of many channels holds its times once, on its own clock and on an axis."""

from __future__ import annotations

from pathlib import Path

from powertui.data.energy import placing
from powertui.data.power import registry


def test_channels_of_one_log_share_their_times(tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    rows = "".join(f"{1_700_000_000 + i},{200 + i % 7},{150 + i % 5}\n" for i in range(200))
    path.write_text("time_unix_s,a watts,b watts\n" + rows)
    first, second = registry.load(str(path)).series
    assert first.times is second.times
    on = [placing.on_trace(one, 7, 0, 14, "aligned", "") for one in (first, second)]
    assert on[0].times is on[1].times
    assert on[0].times is not placing.on_trace(first, 8, 0, 14, "aligned", "").times
