"""Following a file that grows: half lines, rotation, other people's columns, our own recordings."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import logs_alone
from powertui.data.energy.sensor_defaults import defaults
from powertui.data.model import PowerKind
from powertui.data.power import registry
from powertui.errors import NotSupported, SensorError
from powertui.sampler import inventory
from powertui.sampler.csv_columns import absolute_time
from powertui.sampler.csv_format import mark_row, reading_row
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp, open_source, reason_of
from powertui.sampler.targets import Target


@pytest.fixture
def follow():
    opened = []

    def make(path, **options):
        source = open_source(f"csv:{path}", Options(**options))
        opened.append(source)
        source.open()
        return source

    yield make
    for source in opened:
        source.close()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_only_new_rows_and_only_whole_lines(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n1700000000,100\n")
    source = follow(path)
    assert source.read() == []
    append(path, "1700000001,110\n1700000002,12")
    assert [(r.t, r.watts) for r in source.read()] == [(1700000001.0, 110.0)]
    append(path, "5\n")
    assert [(r.t, r.watts) for r in source.read()] == [(1700000002.0, 125.0)]


def test_a_half_line_that_was_there_at_the_start_is_completed(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n1700000000,10")
    source = follow(path)
    append(path, "7\n")
    assert [r.watts for r in source.read()] == [107.0]


def test_a_rotated_and_a_cut_file_begin_again(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n1700000000,1\n")
    source = follow(path)
    path.rename(tmp_path / "old.csv")
    path.write_text("timestamp,watts\n1700000005,5\n")
    assert [r.watts for r in source.read()] == [5.0]
    path.write_text("timestamp,watts\n1,6\n")
    assert [r.watts for r in source.read()] == [6.0]


def test_a_file_that_stops_growing_has_no_value(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n")
    source = follow(path)
    source._last_row_mono -= 60
    (reading,) = source.read()
    assert reading.watts is None
    assert "has not grown for 60 s" in reason_of(reading.quality)


def test_nvidia_smi(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp, index, power.draw [W], pstate\n")
    source = follow(path)
    append(path, "2020/06/12 14:59:39.178, 0, 32.10 W, P8\n2020/06/12 14:59:39.182, 1, [N/A], P8\n")
    first, second = source.read()
    assert (first.channel, first.watts) == ("GPU 0", 32.1)
    assert (second.channel, second.watts) == ("GPU 1", None)
    assert "[N/A]" in reason_of(second.quality)


def test_a_channel_is_announced_by_the_name_that_its_readings_have(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text(
        "timestamp, index, power.draw [W]\n2020/06/12 14:59:39.178, 0, 32.10 W\n"
        "2020/06/12 14:59:39.182, 1, 30.00 W\n"
    )
    source = follow(path)
    names = [channel.name for channel in source.channels]
    assert names == ["GPU 0", "GPU 1"]
    append(path, "2020/06/12 14:59:40.178, 0, 32.10 W\n")
    (reading,) = source.read()
    assert reading.channel in names
    assert [channel.name for channel in source.channels] == names


def test_powerboards_csv(tmp_path, follow):
    path = tmp_path / "ipmi_data.csv"
    path.write_text("Sensor_ID,Sensor_Reading,Status,Time_elapsed\r\n")
    source = follow(path)
    append(path, "Total Power,231,ok,0.34293\r\n")
    before = time.time()
    (reading,) = source.read()
    assert reading.watts == 231.0
    assert (
        before - 0.1 <= reading.t <= time.time() + 0.1
    )  # it has no absolute time: the moment of arrival


def test_our_own_recording_with_its_gaps_and_without_its_marks(tmp_path, follow):
    path = tmp_path / "p.csv"
    file = RecordingFile(path, 1.0)
    file.add_source("bmc", Info("x", "y", "", (Channel("power"),)))
    file.write(reading_row(Reading(1e9, 1.0, 1.0, 0.5, "bmc", "power")))
    source = follow(path)
    file.write(reading_row(Reading(1700000000.5, 2.0, 99.0, 0.25, "bmc", "power", "ok", 12.5)))
    file.write(mark_row("mark", Stamp.now(), "x"))
    file.write(reading_row(Reading(1700000001.5, 3.0, None, 0.0, "bmc", "power", "none:host, off")))
    value, gap = source.read()
    assert (value.t, value.watts, value.rtt, value.joules, value.channel) == (
        1700000000.5,
        99.0,
        0.25,
        12.5,
        "bmc power",
    )
    assert (gap.watts, reason_of(gap.quality)) == (None, "host, off")
    file.close("done")


def test_what_cannot_be_followed(tmp_path, follow):
    with pytest.raises(SensorError, match="cannot be read"):
        follow(tmp_path / "no.csv")
    path = tmp_path / "p.csv"
    path.write_text("time,temperature\n")
    with pytest.raises(NotSupported, match="no column in watts") as caught:
        follow(path)
    assert caught.value.hint == (
        "Its columns are: time, temperature. Name the one in watts: --sensor COLUMN"
    )


def test_a_column_can_be_named(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("time,node,other watts\n")
    source = follow(path, sensors=("node",))
    append(path, "1700000000,5,6\n")
    assert [(r.channel, r.watts) for r in source.read()] == [("node", 5.0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1700000000.25", 1700000000.25),
        ("1700000000250", 1700000000.25),
        ("1700000000250000", 1700000000.25),
        ("1700000000250000000", 1700000000.25),
        ("2023-11-14T22:13:20.25Z", 1700000000.25),
        ("0.34293", None),
        ("soon", None),
        ("nan", None),
    ],
)
def test_absolute_times(text, expected):
    assert absolute_time(text) == expected


def test_rows_of_another_shape_and_binary_are_passed_over(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n")
    source = follow(path)
    with path.open("ab") as file:
        file.write(b"\xff\x00\xfe\n1,2,3\n\n1700000000,inf\n")
        file.write(
            b'1,"' + b"x" * 200_000 + b"\n1700000000,7\n"
        )  # more than the csv module takes as one field
    readings = source.read()
    assert [r.watts for r in readings] == [None, None, 7.0]
    assert reason_of(readings[0].quality) == "a line of more than 64 KiB is not a row"


def test_a_line_without_end_is_not_kept(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n")
    source = follow(path)
    told = []
    for _ in range(20):
        append(path, "x" * (1 << 18))
        told += [reason_of(r.quality) for r in source.read()]
        assert len(source._file._rest) <= 1 << 16
    assert told == ["a line of more than 64 KiB is not a row"]
    append(path, "\n1700000000,7\n")
    assert [r.watts for r in source.read()] == [7.0]


def test_a_file_that_grows_fast_is_read_in_pieces(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n")
    source = follow(path)
    append(path, "1700000000,7\n" * 60_000)
    first = len(source.read())
    assert first < 50_000
    assert first + len(source.read()) == 60_000


def test_numbers_without_end_and_names_without_number(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,name,watts\n")
    source = follow(path)
    append(path, "9" * 4000 + ",a,5\n1700000000,a," + "9" * 4000 + "\n")
    assert [r.watts for r in source.read()] == [5.0, None]
    append(path, "".join(f"1700000000,{i},5\n" for i in range(12_000)))
    source.read()
    assert len(source.channels) <= 10_001


def test_our_own_recording_with_impossible_times(tmp_path, follow):
    path = tmp_path / "p.csv"
    file = RecordingFile(path, 1.0)
    file.add_source("bmc", Info("x", "y", "", (Channel("power"),)))
    file.write(reading_row(Reading(1e9, 1.0, 1.0, 0.5, "bmc", "power")))
    source = follow(path)
    for t, rtt in (("nan", "0"), ("inf", "0"), ("1e300", "0"), ("1700000000.5", "nan")):
        append(path, f"{t},1,bmc,power,99,,{rtt},ok,,\n")
    assert source.read() == []
    file.close("done")


def test_a_recording_that_is_followed_is_told_as_what_it_records(tmp_path):
    """A mean since the last reading stays one, with its step, its device and its rhythm; so does
    what made it.
    """
    path, own = tmp_path / "p.csv", tmp_path / "own.csv"
    file = RecordingFile(path, 0.5)
    about = Channel(
        "GPU 0", "node7", "gpu", 0.5, "interval", "counter", period_s=0.1, index=0, uuid="GPU-1"
    )
    file.add_source("nvml", Info("nvml", "nvml:", "", (about, Channel("odd", scope="x"))))
    file.write(reading_row(Reading(1_699_999_999.0, 1.0, 100.0, 0.0, "nvml", "GPU 0", joules=0.0)))
    source = open_source(f"csv:{path}")
    info = source.open()
    assert info.source == "nvml, followed in a powertui recording"
    first, odd = info.channels
    assert first == replace(about, name="nvml GPU 0", period_s=0.5)
    assert (odd.kind, odd.scope, odd.quantum_w) == ("sampled", "unknown", None)
    mine = RecordingFile(own, 0.5)
    mine.add_source(source.name, info)
    for n in range(8):
        reading = Reading(
            1_700_000_000.0 + n, 1.0 + n, 100.0, 0.0, "nvml", "GPU 0", joules=100.0 * n
        )
        file.write(reading_row(reading))
    for one in source.read():
        mine.write(reading_row(one))
    mine.close("done")
    (series,) = registry.load(str(own)).series
    assert series.kind is PowerKind.INTERVAL
    assert np.nansum(series.joules) == pytest.approx(700.0)
    assert defaults(series.sensor).window_s == 1.0  # NVML's
    source.close()
    file.close("done")


@pytest.mark.parametrize(
    ("columns", "cells", "expected"),
    [
        ("index, power.draw [W]", "3, 200.00 W", ("GPU 3", "gpu", 3, "", "")),
        (
            "uuid, power.draw.instant [W]",
            "GPU-8f, 200.00 W",
            ("GPU GPU-8f (instant)", "gpu", None, "GPU-8f", ""),
        ),
        (
            "pci.bus_id, power.draw",
            "0000:07:00.0, 200.00",
            ("GPU 0000:07:00.0", "gpu", None, "", "0000:07:00.0"),
        ),
        (
            "host, power.draw [W]",
            "node7, 200.00 W",
            ("power.draw [W] node7", "unknown", None, "", ""),
        ),
        ("index, watts", "3, 200.00", ("watts 3", "unknown", None, "", "")),
    ],
)
def test_a_gpu_of_nvidia_smi_stays_that_gpu(tmp_path, follow, columns, cells, expected):
    path = tmp_path / "p.csv"
    path.write_text(f"timestamp, {columns}\n2020/06/12 14:59:39.178, {cells}\n")
    (channel,) = follow(path).channels
    assert (channel.name, channel.scope, channel.index, channel.uuid, channel.pci) == expected


def test_a_recording_of_a_log_of_gpus_counts_them_all_with_their_gain(tmp_path):
    """What `nvidia-smi … > gpus.csv` says of itself is not lost on the way into a recording."""
    path, own = tmp_path / "gpus.csv", tmp_path / "own.csv"
    path.write_text("timestamp, index, power.draw [W]\n")
    for gpu in (0, 1):
        append(path, f"2020/06/12 14:59:39.000, {gpu}, {200 + 10 * gpu}.00 W\n")
    source = open_source(f"csv:{path}")
    recording = RecordingFile(own, 1.0)
    recording.add_source(source.name, source.open())
    for second in range(40, 52):
        for gpu in (0, 1):
            append(path, f"2020/06/12 14:59:{second}.000, {gpu}, {200 + 10 * gpu}.00 W\n")
    for reading in source.read():
        recording.write(reading_row(reading))
    recording.close("done")
    source.close()
    log = registry.load(str(own))
    total = logs_alone.total_of_logs(log.series)
    assert total.joules == pytest.approx(11 * 410, rel=0.01)
    assert total.gain_j == pytest.approx(0.05 * 11 * (200**2 + 210**2) ** 0.5, rel=0.05)


@pytest.mark.parametrize(
    ("rows", "period"),
    [
        ("1700000000,1\n1700000002,1\n1700000004,1\n", 2.0),
        ("1,1\n2,1\n3,1\n", None),
        ("1700000000,1\n", None),
        ("", None),
    ],
)
def test_how_often_a_file_has_news_is_what_its_rows_say(tmp_path, rows, period):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n" + rows)
    source = open_source(f"csv:{path}")
    assert [c.period_s for c in source.open().channels] == [period]
    source.close()
    assert inventory.look_there([Target(f"csv:{path}", Options())])[0].every_s == period


def test_a_file_that_is_begun_again_and_has_no_header_yet(tmp_path, follow):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,watts\n1700000000,1\n")
    source = follow(path)
    path.rename(tmp_path / "old.csv")
    path.write_text("")
    assert source.read() == []
    append(path, "watts,time_")
    assert source.read() == []
    append(path, "epoch\n5,1700000005\n")
    assert [(r.t, r.watts) for r in source.read()] == [(1700000005.0, 5.0)]
