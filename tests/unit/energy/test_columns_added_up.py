"""Which columns of one table make up the machine's power: never one thing twice, and never half of
it as the whole.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.energy import scopes
from powertui.data.power import registry

ZERO = 1_795_283_292


def counted(tmp_path: Path, columns: dict[str, float]) -> tuple[float, str]:
    """The watts that are counted of a machine that draws 300 W, and the words for them."""
    path = tmp_path / "power.csv"
    rows = "".join(
        f"{ZERO + k}," + ",".join(f"{share * 300:g}" for share in columns.values()) + "\n"
        for k in range(20)
    )
    path.write_text("time_unix_s," + ",".join(columns) + "\n" + rows)
    found = scopes.of_one(registry.load(str(path)).series)
    return sum(float(series.watts.mean()) for series in found.series), found.text


TABLES = [
    {"current_power_w": 1, "avg_power_w": 0.8, "min_power_w": 0.3},
    {"power_1min_avg_w": 0.8, "power_instant_w": 1},
    {"power_w": 1, "power_w_smoothed": 0.9, "power_w_avg_10s": 0.9},
    {"power_w_avg": 1},  # nothing beside it
    {
        "Inlet 1 Active Power (W)": 1,
        "Outlet 1 Active Power (W)": 0.5,
        "Outlet 2 Active Power (W)": 0.5,
    },
    {"psu1_power_w": 0.5, "psu2_power_w": 0.5},
    {
        "psu1_input_power_w": 0.6,
        "psu1_output_power_w": 0.5,
        "psu2_input_power_w": 0.4,
        "psu2_output_power_w": 0.3,
    },
    {"L1 Power (W)": 0.3, "L2 Power (W)": 0.3, "L3 Power (W)": 0.4},
    {"L1 Power (W)": 0.3, "L2 Power (W)": 0.3, "L3 Power (W)": 0.4, "Total Power (W)": 1},
    {"Board Power Draw [W]": 1, "GPU Chip Power Draw [W]": 0.7, "PWR_SRC Power Draw [W]": 0.9},
    {"package-0 (W)": 0.4, "package-1 (W)": 0.4, "dram-0 (W)": 0.1, "dram-1 (W)": 0.1},
    {"package-0 (W)": 0.8, "core (W)": 0.3, "uncore (W)": 0.1, "dram (W)": 0.2},
]


@pytest.mark.parametrize("columns", TABLES, ids=lambda columns: ", ".join(columns))
def test_all_of_the_machine_is_counted_once(columns: dict[str, float], tmp_path: Path) -> None:
    assert counted(tmp_path, columns)[0] == pytest.approx(300)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"left power (W)": 0.5, "right power (W)": 0.6},
            "not known which of the 2 channels overlap",
        ),
        ({"L2 cache power (W)": 0.5, "L3 cache power (W)": 0.6}, "overlap"),
    ],
)
def test_what_nobody_can_add_up_is_said(
    columns: dict[str, float], words: str, tmp_path: Path
) -> None:
    assert words in counted(tmp_path, columns)[1]


def test_a_mean_that_is_left_out_is_told(tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    path.write_text(
        "time_unix_s,power_w,power_w_avg_10s\n" + "".join(f"{ZERO + k},300,290\n" for k in range(9))
    )
    assert any(
        "power_w_avg_10s is left out" in str(warning)
        for warning in registry.load(str(path)).warnings
    )
