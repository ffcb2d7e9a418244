"""Tables with a column for each machine, called as the machine is, and no word about power."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.asked import LogColumns
from powertui.data.power import registry

START = 1_714_557_600  # 2024-05-01 10:00:00 UTC
WATTS = [200.5 + 50 * (3 <= second < 7) + second % 3 for second in range(12)]


def read_names(folder: Path, header: str, *cells: str) -> list[str]:
    """The channels of a table whose first column is the time and whose second is a machine's."""
    rows = []
    for second, watts in enumerate(WATTS):
        others = [cell.format(second=second, watts=watts) for cell in cells]
        rows.append(",".join([f"{START + second}", *others]))
    path = folder / "power.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return [channel.sensor.name for channel in registry.load(str(path), LogColumns()).series]


@pytest.mark.parametrize("header", ["time,node1,thor,node3", "time,gpu01,thor,gpu03"])
def test_a_machine_beside_others_that_are_called_like_parts_is_one_of_them(
    tmp_path: Path, header: str
) -> None:
    names = read_names(tmp_path, header, "{watts}", "{watts}", "300.5")
    assert len(names) == 3
    assert any("thor" in name for name in names)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("step", "{second}"),  # counts
        ("batch_size", "256"),  # a setting
        ("loss", "0.25"),  # of another size
        ("gpu_temp", "65.5"),
        ("energy", "250.5"),
        ("note", "warm"),
    ],
)
def test_what_stands_beside_parts_and_is_no_power_is_none(
    tmp_path: Path, name: str, cell: str
) -> None:
    names = read_names(tmp_path, f"time,gpu0,gpu1,{name}", "{watts}", "{watts}", cell)
    assert len(names) == 2
    assert not any(name in channel for channel in names)


def test_a_column_with_a_unit_needs_no_others(tmp_path: Path) -> None:
    names = read_names(tmp_path, "time,node_w,thor", "{watts}", "{watts}")
    assert len(names) == 1
