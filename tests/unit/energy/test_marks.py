"""Marks and windows of a recording: on the trace, in joules, in every place that tells of them."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from powertui import cli
from powertui.data.energy import integrate, marks, placing, sensor, window_energy
from powertui.data.model import PS_PER_S, Mark, PowerSeries, Sensor
from powertui.data.power import registry
from powertui.sampler.csv_format import BEGIN, COLUMNS, END, MARK, head, mark_row, reading_row
from powertui.sampler.source import Channel, Info, Reading, Stamp

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

T0 = 1_790_000_000.0
S = 1_000_000_000


def recording(
    path: Path, windows: list[tuple[str, float, float | None]], seconds: int = 60
) -> Path:
    """A node that draws 200 W for 30 s and then 300 W, asked four times a second, as the recorder
    writes it.
    """
    rows: list[tuple[float, str]] = []
    for i in range(seconds * 4):
        t = i / 4
        watts = 200.0 + (i % 2) if t < 30 else 300.0 + (i % 2)
        rows.append((t, reading_row(Reading(T0 + t, t, watts, 0.001, "bmc1", "power", "ok"))))
    for name, lo, hi in windows:
        rows.append((lo, mark_row(MARK if hi is None else BEGIN, Stamp(T0 + lo, lo), name)))
        if hi is not None:
            rows.append((hi, mark_row(END, Stamp(T0 + hi, hi), name)))
    info = Info(
        "ipmi DCMI", "ipmi://bmc-vm", "bmc-vm", (Channel("power", "bmc-vm", "node"),), {}, ()
    )
    text = head(0.25, [("bmc1", info)]) + COLUMNS + "\n" + "".join(row for _, row in sorted(rows))
    path.write_text(text)
    return path


def trace_file(path: Path, seconds: float = 40.0, zero_s: float = 10.0) -> None:
    """A Chrome trace in Unix time that begins 10 s into the recording."""
    spans = [
        {
            "ph": "X",
            "pid": 1,
            "tid": 1,
            "ts": (T0 + zero_s + i) * 1e6,
            "dur": 900_000.0,
            "name": "op",
        }
        for i in range(int(seconds))
    ]
    path.write_bytes(
        gzip.compress(json.dumps({"displayTimeUnit": "ns", "traceEvents": spans}).encode())
    )


WINDOWS: list[tuple[str, float, float | None]] = [
    ("epoch 0", 12.0, 28.0),
    ("epoch 1", 32.0, 48.0),
    ("checkpoint", 29.5, None),
]


def test_a_windows_joules_are_those_of_the_integration(tmp_path: Path) -> None:
    (series,) = registry.load(str(recording(tmp_path / "power.csv", WINDOWS))).series
    first, second = window_energy.window_energies([series])
    assert (first.mark.name, second.mark.name) == ("epoch 0", "epoch 1")
    described = placing.on_trace(sensor.describe(series), 0, 0, 0, "aligned", "")
    assert first.energy == integrate.energy(described, 12 * PS_PER_S, 28 * PS_PER_S)
    assert first.energy is not None
    assert first.energy.joules == pytest.approx(16 * 200.5, rel=0.002)
    assert first.energy.lo is not None
    assert first.energy.hi is not None
    assert first.energy.lo < first.energy.joules < first.energy.hi


def test_where_the_log_lies_moves_the_marks_but_not_their_joules(tmp_path: Path) -> None:
    (series,) = registry.load(str(recording(tmp_path / "power.csv", WINDOWS))).series
    near, far = (
        placing.on_trace(
            series, at * PS_PER_S, (at - 5) * PS_PER_S, (at + 5) * PS_PER_S, "aligned", ""
        )
        for at in (0, -10)
    )
    assert [m.start_ps for m in marks.on_trace([far])] == [
        m.start_ps - 10 * PS_PER_S for m in marks.on_trace([near])
    ]
    assert marks.on_trace([near, near]) == marks.on_trace([near]), (
        "one log's marks are there once, whatever its channels"
    )
    nowhere = placing.on_trace(series, 0, 0, 0, "none", "")
    assert marks.on_trace([nowhere]) == ()


def test_marks_follow_a_drift_of_the_two_clocks() -> None:
    times = np.arange(0, 1000, dtype=np.int64) * S
    series = PowerSeries(
        Sensor("power", "test"), times, np.full(1000, 5.0), marks=(Mark("a", 500 * S, 900 * S),)
    )
    drifting = placing.on_trace(
        PowerSeries(series.sensor, times + times // 10_000, series.watts, marks=series.marks),
        7,
        7,
        7,
        "aligned",
        "",
    )
    power = type(drifting)(
        series,
        *(
            getattr(drifting, name)
            for name in (
                "times",
                "watts",
                "offset_ps",
                "offset_lo_ps",
                "offset_hi_ps",
                "status",
                "source",
            )
        ),
    )
    (found,) = marks.on_trace([power])
    assert found.start_ps == 7 + 500 * PS_PER_S + PS_PER_S // 20
    assert found.end_ps == 7 + 900 * PS_PER_S + 9 * PS_PER_S // 100


def test_a_window_that_ps_cannot_hold_is_not_resolved_and_breaks_nothing() -> None:
    times = np.arange(0, 100, dtype=np.int64) * S
    far = Mark("far", 10**17, 10**17 + S)
    series = PowerSeries(
        Sensor("power", "test"), times, np.full(100, 5.0), marks=(Mark("near", 10 * S, 60 * S), far)
    )
    near, beyond = window_energy.window_energies([series])
    assert near.energy is not None
    assert beyond.energy is None
    assert [m.name for m in marks.on_trace([placing.on_trace(series, 0, 0, 0, "aligned", "")])] == [
        "near"
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = tmp_path / "logs"
    run.mkdir()
    trace_file(run / "vm.trace.json.gz")
    recording(run / "power.csv", WINDOWS)
    return run


def told(capfd: pytest.CaptureFixture[str], *args: str) -> str:
    assert cli.main(list(args)) == 0
    return capfd.readouterr().out


def test_energy_tells_of_windows_beside_a_profile(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (run,) = json.loads(told(capfd, "energy", str(folder), "--json"))["runs"]
    assert run["alignment"]["status"] == "aligned"
    first, second = run["windows"]
    assert (first["name"], second["name"]) == ("epoch 0", "epoch 1")
    assert first["start_s"] == pytest.approx(2.0, abs=0.1)
    assert first["log_start_s"] == pytest.approx(12.0)
    assert first["joules"] == pytest.approx(16 * 200.5, rel=0.002)
    assert first["lo"] < first["joules"] < first["hi"]
    assert [mark["name"] for mark in run["marks"]] == ["checkpoint"]
    below = told(capfd, "energy", str(folder)).partition("Windows of the recording")[2]
    lines = [line.split() for line in below.splitlines() if line.split()[:1] == ["epoch"]]
    assert [line[:4] for line in lines] == [["epoch", "0", "16", "s"], ["epoch", "1", "16", "s"]]
    assert "more (--json lists them)" not in below


def test_energy_tells_of_windows_of_a_log_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = recording(tmp_path / "power.csv", WINDOWS)
    (run,) = json.loads(told(capfd, "energy", str(path), "--json"))["runs"]
    assert [window["start_s"] for window in run["windows"]] == [None, None]
    assert run["windows"][1]["joules"] == pytest.approx(16 * 300.5, rel=0.002)
    text = told(capfd, "energy", str(path))
    assert "epoch 1" in text
    assert "16 s" in text


def test_a_page_lists_fifty_windows_and_says_how_many_more_there_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    windows = [(f"window {number}", number + 1.0, number + 1.5) for number in range(52)]
    text = told(capfd, "energy", str(recording(tmp_path / "power.csv", [*windows])))
    shown = [line.split()[1] for line in text.splitlines() if line.split()[:1] == ["window"]]
    assert shown == [str(number) for number in range(50)]
    assert "… and 2 more (--json lists them)" in text


def test_report_tells_of_windows(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (run,) = json.loads(told(capfd, "report", str(folder), "--json"))["runs"]
    assert [(one["name"], one["end_s"] is None) for one in run["windows"]] == [
        ("epoch 0", False),
        ("checkpoint", True),
        ("epoch 1", False),
    ]
    text = told(capfd, "report", str(folder))
    assert "epoch 0: 16 s from 12 s of the recording" in text
    assert "checkpoint: at 29.5 s of the recording" in text


def test_exported_samples_name_the_window(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "samples.csv"
    told(capfd, "export", str(folder), "--what", "samples", "--output", str(out))
    rows = list(
        csv.DictReader(line for line in out.read_text().splitlines() if not line.startswith("#"))
    )
    named = {
        name: [float(row["about_s"]) for row in rows if row["window"] == name]
        for name in ("epoch 0", "epoch 1", "")
    }
    assert min(named["epoch 0"]) == pytest.approx(2.0, abs=0.5)
    assert max(named["epoch 0"]) < 18.1
    assert named["epoch 1"]
    assert named[""]
