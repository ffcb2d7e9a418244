"""Power logs of a rack for a day: reading against pandas' own parse, integrating and drawing any
window of it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness import GENERATED, Table, least_cpu_s, machine
from powertui.data.energy import curve_building, integrate, sensor
from powertui.data.model import PS_PER_S
from powertui.data.power import registry

ROWS, CHANNELS = 86_400, 100  # 24 h at 1 Hz
HOUR_ROWS = 3_600
BEGIN = 1_700_000_000


def _values(rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    wave = 30 * np.sin(np.arange(rows)[:, None] / 97 + np.arange(CHANNELS))
    return np.round(250 + wave + rng.normal(0, 3, (rows, CHANNELS))).astype(int)


def wide() -> Path:
    """One column per channel."""
    path = GENERATED / "power_wide.csv"
    if not path.exists():
        GENERATED.mkdir(exist_ok=True)
        values = _values(ROWS)
        with path.open("w") as out:
            out.write(
                "time_unix_s," + ",".join(f"node{i:03}_watts" for i in range(CHANNELS)) + "\n"
            )
            for i in range(ROWS):
                out.write(
                    f"{1_700_000_000 + i + (i % 7) / 1000:.3f},"
                    + ",".join(map(str, values[i].tolist()))
                    + "\n"
                )
    return path


def recording() -> Path:
    """powertui's own form: one row per reading; an hour of it."""
    path = GENERATED / "power_recording.csv"
    if not path.exists():
        GENERATED.mkdir(exist_ok=True)
        values = _values(HOUR_ROWS)
        about = {
            "name": "rack",
            "source": "ipmi DCMI",
            "channels": [{"name": f"node{i:03}", "scope": "node"} for i in range(CHANNELS)],
        }
        with path.open("w") as out:
            out.write(f"# powertui recording 1\n# host: bench\n# source: {json.dumps(about)}\n")
            out.write("time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n")
            for i in range(HOUR_ROWS):
                stamp = f"{1_700_000_000 + i:.6f},{i:.6f},rack,node"
                out.writelines(
                    f"{stamp}{k:03},{values[i, k]},,0.000160,ok,,\n" for k in range(CHANNELS)
                )
    return path


def main() -> None:
    """Print the tables."""
    columns = [
        "log",
        "size",
        "pandas' parse: CPU s",
        "powertui, with sensors: CPU s",
        "beyond pandas (CPU s)",
        "ratio",
    ]
    reading = Table(f"Reading power logs ({machine()})", columns)
    for name, path in (
        ("24 h, 1 Hz, 100 channels, a column each", wide()),
        ("1 h, 1 Hz, 100 channels, a row each", recording()),
    ):
        plain = least_cpu_s(3, lambda path=path: pd.read_csv(path, comment="#"))  # type: ignore[misc]
        ours = least_cpu_s(
            3,
            lambda path=path: [
                sensor.describe(series) for series in registry.load(str(path)).series
            ],
        )  # type: ignore[misc]
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        reading.row(
            name,
            size,
            f"{plain:.2f}",
            f"{ours:.2f}",
            f"{ours - plain:.2f}",
            f"{ours / plain:.1f} x",
        )
    reading.note("Wanted: at most 3 s beyond pandas for the first.")
    reading.print()

    log = registry.load(str(wide()))
    frame = pd.read_csv(wide(), index_col=0)
    powers = [integrate.own_clock(sensor.describe(series)) for series in log.series]
    built = least_cpu_s(1, lambda: [curve_building.power_curve(power) for power in powers])
    windows = Table(
        "Integrating any window of that day, 100 channels at once",
        ["window", "powertui (CPU ms)", "pandas: mean of the slice (CPU ms)", "ratio"],
    )
    for name, lo, hi in (
        ("10 s", 40_000, 40_010),
        ("10 min", 40_000, 40_600),
        ("6 h", 20_000, 41_600),
        ("the whole day", 0, ROWS - 1),
    ):
        lo_ps, hi_ps = lo * PS_PER_S, hi * PS_PER_S
        ours = least_cpu_s(
            30, lambda lo_ps=lo_ps, hi_ps=hi_ps: integrate.across(powers, lo_ps, hi_ps)
        )  # type: ignore[misc]
        plain = least_cpu_s(10, lambda lo=lo, hi=hi: frame.loc[BEGIN + lo : BEGIN + hi].mean())  # type: ignore[misc]
        windows.row(name, f"{ours * 1e3:.2f}", f"{plain * 1e3:.2f}", f"{ours / plain:.2f} x")
    one = least_cpu_s(50, lambda: integrate.energy(powers[0], 20_000 * PS_PER_S, 41_600 * PS_PER_S))
    steps = np.arange(0, 80_000, 10) * PS_PER_S
    many = least_cpu_s(10, lambda: integrate.energies(powers[0], steps, steps + 10 * PS_PER_S))
    windows.note(
        "Joules, interval, coverage and maximum of each channel; best of 30. Wanted: at most 5 "
        "ms a window."
    )
    windows.note(
        f"One channel: {one * 1e3:.2f} ms. 8,000 steps of one channel: {many * 1e3:.1f} ms."
    )
    windows.note(
        f"Prefix sums are built once, when a log is first asked: {built:.2f} s for all 100."
    )
    windows.print()


if __name__ == "__main__":
    main()
