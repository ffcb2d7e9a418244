"""powertui's own recordings: continued, with counters that begin again and readings that never
came.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from powertui.data.energy import integrate, sensor
from powertui.data.model import Badge, Figure, Mark, PowerKind, Scope
from powertui.data.power import recording_rows, registry, table
from powertui.report.facts import power_facts
from powertui.sampler.csv_format import BEGIN, END, MARK, mark_row
from powertui.sampler.source import Stamp

HEAD = "time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n"
SOURCE = {
    "name": "rapl",
    "source": "rapl",
    "host": "box",
    "channels": [{"name": "pkg", "host": "box", "scope": "package", "kind": "interval"}],
}


def head(*sources: object) -> str:
    return (
        "# powertui recording 1\n# host: box\n"
        + "".join(f"# source: {json.dumps(one)}\n" for one in sources)
        + HEAD
    )


def row(
    t: float, joules: float | None, quality: str = "ok", channel: str = "pkg", watts: str = ""
) -> str:
    return (
        f"{1700000000 + t:.6f},{t:.6f},rapl,{channel},{watts},"
        f"{'' if joules is None else f'{joules:.3f}'},0.0001,{quality},,\n"
    )


@pytest.fixture(params=["small", "large"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "large":
        monkeypatch.setattr(table, "LARGE_TABLE_BYTES", 1)
    return str(request.param)


def test_counters_bridge_missed_readings_and_stop_where_they_begin_again(
    tmp_path: Path, parser: str
) -> None:
    path = tmp_path / "rec.csv"
    first = (
        "".join(row(t, 50.0 * t) for t in range(5))
        + row(5, None, "none")
        + row(6, 300.0)
        + row(7, 350)
    )
    again = head(SOURCE) + "".join(row(20 + t, 40.0 * t) for t in range(5))
    path.write_text(head(SOURCE) + first + '# ended: {"rows": 8}\n' + again)
    log = registry.load(str(path))
    series = log.series[0]
    assert series.kind is PowerKind.INTERVAL
    assert series.sensor.scope is Scope.PACKAGE
    assert series.sensor.host == "box"
    assert (series.times / 1e9).tolist() == [0, 1, 2, 3, 4, 6, 7, 20, 21, 22, 23, 24]
    assert series.watts[1:7] == pytest.approx([50] * 6)
    assert np.isnan(series.watts[[0, 7]]).all()
    assert series.watts[8:] == pytest.approx([40] * 4)
    assert integrate.of_series(series).covered_joules == pytest.approx(350 + 160)
    assert [str(w).split(": ", 1)[1] for w in log.warnings] == ["1 reading missing: no reading"]


def test_a_counter_that_was_set_back_is_no_power_of_zero(tmp_path: Path, parser: str) -> None:
    """The sampler counts on from what it had; of the time before such a row nothing is known."""
    path = tmp_path / "rec.csv"
    rows = (
        [row(t, 50.0 * t, watts="50") for t in range(1, 5)]
        + [row(5, 200.0, "none")]
        + [row(6, 250.0, watts="50")]
    )
    path.write_text(head(SOURCE) + "".join(rows) + '# ended: {"rows": 6}\n')
    (series,) = registry.load(str(path)).series
    assert series.watts[[1, 2, 3, 5]] == pytest.approx([50.0] * 4)
    assert np.isnan(series.watts[4])


def test_marks_notes_and_unknown_headers_are_no_readings(tmp_path: Path, parser: str) -> None:
    path = tmp_path / "rec.csv"
    rows = "".join(
        row(t, None, watts=str(200 + t), channel="a, b").replace("a, b", '"a, b #1"')
        for t in range(4)
    )
    marks = "1700000001.5,1.5,,,,,,begin,,epoch 1\n1700000002.5,2.5,rapl,,,,,note,clock stepped,\n"
    path.write_text(
        "# powertui recording 9\n# source: {not json\n# source: []\n" + HEAD + rows + marks
    )
    log = registry.load(str(path))
    assert [s.sensor.name for s in log.series] == ["rapl a, b #1"]
    assert log.series[0].watts.tolist() == [200, 201, 202, 203]
    assert log.series[0].clock.lo_ns == 1_700_000_000_000_000_000


def test_what_the_header_says_of_a_sensor_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "rec.csv"
    about = {
        "name": "rapl",
        "source": "ipmi DCMI",
        "channels": [{"name": "pkg", "scope": "node", "quantum_w": 2.0, "kind": "sampled"}],
    }
    path.write_text(head(about) + "".join(row(t, None, watts="231") for t in range(9)))
    found = sensor.describe(registry.load(str(path)).series[0]).sensor
    assert found.quantum_w == Figure(2.0, Badge.ASSUMED)
    assert found.source == "ipmi DCMI"
    assert found.scope is Scope.NODE
    assert found.host == "box"


def test_a_damaged_line_in_a_large_recording_is_left_out_alone(tmp_path: Path, parser: str) -> None:
    path = tmp_path / "rec.csv"
    path.write_text(
        head(SOURCE)
        + "".join(
            row(t, None, watts=str(200 + t)) if t != 5 else "17000\x00,,rapl\n" for t in range(9)
        )
    )
    log = registry.load(str(path))
    assert len(log.series[0]) == 8
    assert any("has 3 fields" in str(w) for w in log.warnings)


def timed(t: float, mono: float, watts: float = 200.0) -> str:
    return f"{1700000000 + t:.6f},{mono:.6f},bmc,power,{watts},,0.001,ok,,\n"


@pytest.mark.parametrize("step", [10795.0, -10795.0, 0.5])
def test_the_length_of_a_recording_is_true_where_the_clock_was_set(
    tmp_path: Path, parser: str, step: float
) -> None:
    path = tmp_path / "rec.csv"
    path.write_text(
        head() + "".join(timed(i + step * (i >= 4), 500 + i, 200 + i) for i in range(6))
    )
    log = registry.load(str(path))
    (series,) = log.series
    assert (series.times / 1e9).tolist() == [0, 1, 2, 3, 4, 5]
    assert series.watts.tolist() == [200, 201, 202, 203, 204, 205], (
        "in the order in which they were read"
    )
    assert integrate.of_series(series).covered_joules == pytest.approx(
        200.5 + 201.5 + 202.5 + 203.5 + 204.5
    )
    zero = 1700000000 * 10**9
    assert series.clock.lo_ns == zero + min(0, step) * 1e9
    assert series.clock.hi_ns == zero + max(0, step) * 1e9
    assert any(
        f"the machine's clock was set while it recorded ({step:+,.1f} s)" in str(w)
        for w in log.warnings
    )
    facts = power_facts(series)
    assert facts["span_s"] == 5


def test_a_look_at_the_clocks_that_was_held_up_is_no_step(tmp_path: Path, parser: str) -> None:
    """Between the look at the one clock and at the other the machine did something else."""
    path = tmp_path / "rec.csv"
    path.write_text(head() + "".join(timed(i + 0.3 * (i == 3), 500 + i) for i in range(9)))
    (series,) = registry.load(str(path)).series
    assert (series.times / 1e9).tolist() == list(range(9))
    assert series.clock.half_ns == 0


def test_a_restarted_machine_begins_its_other_clock_anew(tmp_path: Path, parser: str) -> None:
    path = tmp_path / "rec.csv"
    first, second = (
        (timed(i, 90000 + i) for i in range(5)),
        (timed(100 + i, 20 + i) for i in range(5)),
    )
    path.write_text(head() + "".join(first) + head() + "".join(second))
    log = registry.load(str(path))
    assert (log.series[0].times / 1e9).tolist() == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]
    assert log.series[0].clock.half_ns == 0
    assert not log.warnings


# ── marks and windows ────────────────────────────────────────────────────────────────────────────


def said(t: float, kind: str, name: str, mono: float | None = None) -> str:
    """A row as the recorder writes it."""
    return mark_row(kind, Stamp(1700000000 + t, t if mono is None else mono), name)


def test_windows_and_marks_are_kept_with_every_channel(tmp_path: Path, parser: str) -> None:
    path = tmp_path / "rec.csv"
    readings = [row(t, 50.0 * t) for t in range(10)]
    readings[2:2] = [said(1.5, BEGIN, "epoch 0")]
    readings[5:5] = [said(3.25, MARK, "=checkpoint"), said(3.5, BEGIN, 'eval, "fast"')]
    readings[8:8] = [
        said(5.0, END, 'eval, "fast"'),
        said(6.0, END, "epoch 0"),
        said(6.5, END, "never begun"),
    ]
    readings += [said(8.5, BEGIN, "7"), row(10, None, watts="5", channel="fan")]
    path.write_text(head(SOURCE) + "".join(readings))
    log = registry.load(str(path))
    assert len(log.series) == 2
    for series in log.series:
        assert series.marks == (
            Mark("epoch 0", 1_500_000_000, 6_000_000_000),
            Mark("=checkpoint", 3_250_000_000),
            Mark('eval, "fast"', 3_500_000_000, 5_000_000_000),
            Mark("7", 8_500_000_000),
        )


def test_windows_of_one_name_nest(tmp_path: Path, parser: str) -> None:
    path = tmp_path / "rec.csv"
    inner = (
        said(2, BEGIN, "step")
        + said(3, BEGIN, "step")
        + said(4, END, "step")
        + said(5, END, "step")
    )
    path.write_text(
        head(SOURCE) + "".join(row(t, 50.0 * t) for t in range(3)) + inner + row(6, 300.0)
    )
    assert registry.load(str(path)).series[0].marks == (
        Mark("step", 2_000_000_000, 5_000_000_000),
        Mark("step", 3_000_000_000, 4_000_000_000),
    )


def test_marks_move_with_the_readings_when_the_clock_was_set(tmp_path: Path, parser: str) -> None:
    """The wall clock jumps by 100 s between two readings: a window around it is as long as it
    really was.
    """
    path = tmp_path / "rec.csv"

    def at(mono: float) -> str:
        wall = mono + (100.0 if mono >= 5 else 0.0)
        return f"{1700000000 + wall:.6f},{mono:.6f},rapl,pkg,50,,0.0001,ok,,\n"

    rows = [at(float(t)) for t in range(12)]
    rows[4:4] = [said(3.5, BEGIN, "epoch", 3.5)]
    rows[6:6] = [said(104.9, MARK, "set", 4.9)]
    rows[9:9] = [said(107.5, END, "epoch", 7.5)]
    path.write_text(head(SOURCE) + "".join(rows))
    series = registry.load(str(path)).series[0]
    epoch, moment = series.marks
    assert epoch.end_ns is not None
    assert epoch.end_ns - epoch.start_ns == 4_000_000_000
    assert moment.start_ns - epoch.start_ns == 1_400_000_000
    assert series.times[5] - series.times[3] == 2_000_000_000


@pytest.mark.parametrize("few", [True, False])
def test_channels_come_in_the_order_of_their_first_readings(
    tmp_path: Path, parser: str, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many sources and channels there are, and where a header without a # line stands
    between them.
    """
    monkeypatch.setattr(recording_rows, "_MAX_COUNTED_IN_TABLE", 1 << 20 if few else 0)
    rows = [
        f"{1700000000 + i}.000000,{i}.000000,{source},{channel},{100 + 10 * k + i},,0.0001,ok,,\n"
        for i in range(3)
        for k, (source, channel) in enumerate([("b", "z"), ("a", "z"), ("b", "a")])
    ]
    path = tmp_path / "r.csv"
    for between in ("", HEAD, head(SOURCE), "# a remark\n"):
        path.write_text(head(SOURCE) + "".join(rows[:4]) + between + "".join(rows[4:]))
        log = registry.load(str(path))
        assert [one.sensor.name for one in log.series] == ["b z", "a z", "b a"]
        assert [one.watts.tolist() for one in log.series] == [
            [100, 101, 102],
            [110, 111, 112],
            [120, 121, 122],
        ]
