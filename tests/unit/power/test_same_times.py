"""A log of many channels holds its times once, on its own clock and on an axis."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.energy import placing
from powertui.data.power import reading_sizes, registry, steps_of_clock


def test_channels_of_one_log_share_their_times(tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    rows = "".join(f"{1_700_000_000 + i},{200 + i % 7},{150 + i % 5}\n" for i in range(200))
    path.write_text("time_unix_s,a watts,b watts\n" + rows)
    first, second = registry.load(str(path)).series
    assert first.times is second.times
    on = [placing.on_trace(one, 7, 0, 14, "aligned", "") for one in (first, second)]
    assert on[0].times is on[1].times
    assert on[0].times is not placing.on_trace(first, 8, 0, 14, "aligned", "").times


def test_what_channels_of_one_table_share_is_worked_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined, sized = [], []
    join, size = steps_of_clock.join_rows, reading_sizes.unit_by_size
    monkeypatch.setattr(
        steps_of_clock,
        "join_rows",
        lambda ns, **known: (joined.append(len(ns)), join(ns, **known))[1],
    )
    monkeypatch.setattr(
        reading_sizes,
        "unit_by_size",
        lambda name, values: (sized.append(name), size(name, values))[1],
    )
    path = tmp_path / "power.csv"
    rows = "".join(
        f"{1_700_000_000 + i},{200 + i % 7},{150 + i % 5},{90 + i % 3}\n" for i in range(200)
    )
    path.write_text("time_unix_s,a watts,b watts,c watts\n" + rows)
    assert [one.sensor.name for one in registry.load(str(path)).series] == ["a", "b", "c"]
    assert joined == [200]  # of all their times
    assert sized == []  # their names tell the unit
