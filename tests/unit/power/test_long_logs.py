"""Long logs: a table with a row for each reading is kept in columns, and everything is read, described
and summed up once.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import Aligning, LogColumns, ReadOptions
from powertui.data.energy import curve_building, sensor
from powertui.data.model import PowerSeries
from powertui.data.power import cells, groups, large_table, registry, table
from powertui.data.power.cells import CodedTexts
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.report import energy

BEGIN = 1_795_000_000
CHANNELS = 10


def long_table(path: Path, seconds: int, names: list[str] | None = None) -> Path:
    """A row for each reading of ten channels, every second."""
    names = names or [f"gpu{number}" for number in range(CHANNELS)]
    rows = "".join(
        f"{BEGIN + second},{name},{200 + (second + number) % 60}\n"
        for second in range(seconds)
        for number, name in enumerate(names)
    )
    path.write_text("time_unix_s,sensor,power_w\n" + rows)
    return path


def read(path: Path) -> table.FileCells:
    """The cells of a table that is read in columns."""
    source = LogFile(str(path))
    layout = table.shape(source.head_text)
    assert layout is not None
    assert source.longer_than(table.LARGE_TABLE_BYTES)
    return table.read(source, layout, Notes(str(path)))


def test_no_object_is_kept_for_each_row(tmp_path: Path) -> None:
    path = long_table(tmp_path / "power.csv", 16_000)
    read(path)  # what is imported and compiled by then is not counted
    before = sys.getallocatedblocks()
    rows = read(path)
    assert len(rows) == 160_000
    assert sys.getallocatedblocks() - before < 5_000
    channel = rows.columns[1]
    assert isinstance(channel, CodedTexts)
    assert channel.codes.itemsize == 1
    assert channel.values == [f"gpu{number}" for number in range(CHANNELS)]


def test_rows_are_told_apart_without_an_object_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read(long_table(tmp_path / "power.csv", 16_000))
    looked: Counter[str] = Counter()
    plain = groups._channel_word

    def counted(name: str, value: str) -> str:
        looked[value] += 1
        return plain(name, value)

    monkeypatch.setattr(groups, "_channel_word", counted)
    channels = groups.rows_by_channel(rows, {0, 2})
    assert [channel.name for channel, _ in channels] == [f"gpu{n}" for n in range(CHANNELS)]
    assert [int(is_channel.sum()) for _, is_channel in channels] == [16_000] * CHANNELS
    assert set(looked.values()) == {1}


def test_a_log_is_read_described_and_summed_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # What belongs together is seen by the ends of a log, in a small file beside it.
    path = long_table(tmp_path / "power.csv", 24_000)
    reads: Counter[str] = Counter()
    described: Counter[str] = Counter()
    built: Counter[str] = Counter()
    load, describe, build = registry.load, sensor._describe, curve_building._build

    def counted_load(name: str, options: LogColumns | None = None) -> object:
        reads[name] += 1
        return load(name, options)

    def counted_describe(series: PowerSeries) -> PowerSeries:
        described[series.sensor.name] += 1
        return describe(series)

    def counted_build(power: curve_building.PowerOnTrace) -> object:
        built[power.series.sensor.name] += 1
        return build(power)

    monkeypatch.setattr(registry, "load", counted_load)
    monkeypatch.setattr(sensor, "_describe", counted_describe)
    monkeypatch.setattr(curve_building, "_build", counted_build)
    energy.tell(str(path), None, ReadOptions(), Aligning(), "text")
    assert capsys.readouterr().out
    assert reads[str(path)] == 1
    assert described == {f"gpu{number}": 1 for number in range(CHANNELS)}
    assert built == {f"gpu{number}": 1 for number in range(CHANNELS)}


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b", "a", "", "b"],
        ["7", "1.5", "7", "", "n/a"],
        [" 12 W", "12 W", "1,234.5", "12 W", "ERR!"],
    ],
)
def test_coded_texts_answer_as_a_list_of_them_does(column: list[str]) -> None:
    coded = CodedTexts.from_texts(column)
    lines = np.arange(1, len(column) + 1)
    as_list = table.FileCells(("x",), lines, [column])
    as_codes = table.FileCells(("x",), lines, [coded])
    assert list(coded) == column
    assert [coded[row] for row in range(len(column))] == column
    assert coded[1:4] == column[1:4]
    for by_list, by_codes in zip(as_list.floats(0), as_codes.floats(0), strict=True):
        assert np.array_equal(by_list, by_codes, equal_nan=True)
    picked = [4, 2, 2, 0]
    assert list(as_codes.take(picked).texts(0)) == [column[row] for row in picked]
    assert as_codes.take(picked).columns[0].values == list(
        dict.fromkeys(column[row] for row in picked)
    )
    chosen = coded.where(["a", "7"])
    assert chosen.tolist() == [text in ("a", "7") for text in column]


def test_numbers_and_empty_cells_as_coded_texts() -> None:
    column = np.array([2.0, np.nan, 0.5, 2.0, np.nan])
    rows = table.FileCells(("x",), np.arange(5), [column])
    coded = rows.coded(0, 3)
    assert coded is not None
    assert list(coded) == list(rows.texts(0)) == ["2.0", "", "0.5", "2.0", ""]
    assert coded.values == ["2.0", "", "0.5"]
    assert rows.coded(0, 2) is None


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (["gpu0", "gpu1"], ["gpu2", "gpu3"]),  # names that come later
        (["gpu0", "gpu1"], ["3", "4"]),  # texts, then numbers
        (["3", "4"], ["gpu0", "gpu1"]),  # numbers, then texts
        (["", ""], ["gpu0", "gpu1"]),  # nothing, then texts
        (["gpu0", "gpu1"], ["", ""]),
    ],
)
def test_columns_whose_pieces_differ_are_as_written(
    tmp_path: Path, early: list[str], late: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "PIECE", 1 << 16)
    monkeypatch.setattr(table, "LARGE_TABLE_BYTES", 1 << 16)
    names = [early[second % 2] if second < 9_000 else late[second % 2] for second in range(18_000)]
    lines = [f"{BEGIN + second},{name},{200 + second % 7}" for second, name in enumerate(names)]
    path = tmp_path / "power.csv"
    path.write_text("time_unix_s,sensor,power_w\n" + "\n".join(lines) + "\n")
    assert list(read(path).texts(1)) == names


def test_texts_that_all_differ_are_a_list(tmp_path: Path) -> None:
    rows = [f"t{BEGIN + second},a,{200 + second % 7}" for second in range(160_000)]
    path = tmp_path / "power.csv"
    path.write_text("when,sensor,power_w\n" + "\n".join(rows) + "\n")
    columns = read(path).columns
    assert isinstance(columns[0], list)
    assert isinstance(columns[1], cells.CodedTexts)
