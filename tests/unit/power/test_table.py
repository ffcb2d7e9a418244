"""Small and large tables are parsed by different means and must give the same answers."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from powertui.data.power import cells, large_table, registry, table
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[PowerLog, PowerLog]:
    small = registry.load(str(path))
    monkeypatch.setattr(table, "LARGE_TABLE_BYTES", 1)
    large = registry.load(str(path))
    monkeypatch.undo()
    return small, large


def same(small: PowerLog, large: PowerLog) -> None:
    assert small.guess == large.guess
    assert [s.sensor for s in small.series] == [s.sensor for s in large.series]
    for one, other in zip(small.series, large.series, strict=True):
        np.testing.assert_array_equal(one.times, other.times)
        np.testing.assert_array_equal(one.watts, other.watts)
        assert one.clock == other.clock
    assert [str(w) for w in small.warnings] == [str(w) for w in large.warnings]


@pytest.mark.parametrize(
    "name",
    [
        "powerboard.csv",
        "powerboard_bad_rows.csv",
        "dataipmi_data.csv",
        "nvidia_smi_two_gpus.csv",
        "nvidia_smi_noheader.csv",
        "nvml_wide.csv",
        "generic_long.csv",
        "generic_mw.csv",
        "wall_plug.csv",
        "zeus.csv",
        "codecarbon.csv",
        "rapl_wrap.csv",
        "amester.csv",
        "growing.csv",
        "recording.csv",
        "pyjoules.csv",
        "power_gadget.csv",
    ],
)
@pytest.mark.parametrize("piece", [large_table.PIECE, 150])
def test_both_parsers_agree_on_every_table(
    data: Path, name: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "PIECE", piece)
    same(*both(data / "power" / name, monkeypatch))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("piece", [large_table.PIECE, 90])
def test_both_parsers_agree_on_torn_tables(
    tmp_path: Path, seed: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "PIECE", piece)
    rng = random.Random(seed)
    rows = [
        (
            f"{1700000000 + i}.{i % 7}, "
            f"{200 + rng.randrange(50)},{rng.choice(['', '31.5', 'na', '40', '[N/A]'])}"
        )
        for i in range(60)
    ]
    for _ in range(8):
        at = rng.randrange(60)
        rows[at] = rng.choice(
            [
                rows[at] + ",9",
                rows[at].split(",")[0],
                "",
                "# a remark, with commas",
                "time,a_watts,b_watts",
                rows[at] + ",",
            ]
        )
    path = tmp_path / "torn.csv"
    path.write_text("# by hand\ntime,a_watts,b_watts\n" + "\n".join(rows) + rng.choice(["\n", ""]))
    same(*both(path, monkeypatch))


def test_a_regular_table_goes_through_the_fast_parser(tmp_path: Path) -> None:
    """It numbers as many lines as it has rows; where the two differ the slow one would read it all
    again.
    """
    path = tmp_path / "plain.csv"
    path.write_text(
        "time,a_watts,b_watts\n" + "".join(f"{1700000000 + i},{i % 9},7\n" for i in range(50))
    )
    source, notes = LogFile(str(path)), Notes(str(path))
    layout = table.shape(source.head_text)
    assert layout is not None
    found = large_table.read(source, layout, ("time", "a_watts", "b_watts"), notes, "")
    assert found is not None
    assert found.lines.tolist() == list(range(2, 52))


@pytest.mark.parametrize("words", ["[N/A]", "245 W", ""])
def test_a_column_that_changes_its_mind_is_read_as_it_was_written(
    tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers in the first pieces, words in a later one, and the other way round."""
    monkeypatch.setattr(large_table, "PIECE", 200)
    path = tmp_path / "mixed.csv"
    rows = [
        f"{1700000000 + i},{words if 30 < i < 50 else 200 + i % 7},"
        f"{words if i < 30 else 300 + i % 5}"
        for i in range(90)
    ]
    path.write_text("time,a_watts,b_watts\n" + "\n".join(rows) + "\n")
    same(*both(path, monkeypatch))


def test_a_packed_log_is_read_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "PIECE", 300)
    text = "time,a_watts,b_watts\n" + "".join(f"{1700000000 + i},{i % 9},7\n" for i in range(5000))
    plain, squeezed = tmp_path / "plain.csv", tmp_path / "log.csv.gz"
    plain.write_text(text)
    squeezed.write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(table, "LARGE_TABLE_BYTES", 10)
    same(registry.load(str(plain)), registry.load(str(squeezed)))


def test_spaces_around_cells_change_nothing_in_a_large_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "LARGE_TABLE_BYTES", 10)
    rows = [f"{1700000000 + i},{200 + i % 9},busy {i % 3}" for i in range(300)]
    plain, spaced = tmp_path / "plain.csv", tmp_path / "spaced.csv"
    plain.write_text("\n".join(["time,node_watts,state", *rows]) + "\n")
    odd = [
        row.replace(",", (",", ", ", ",\t")[i % 3]) if i > 150 else row
        for i, row in enumerate(rows)
    ]
    spaced.write_text("\n".join(["time,node_watts,state", *odd]) + "\n")
    same(registry.load(str(plain)), registry.load(str(spaced)))


def test_a_small_log_does_not_import_pandas(data: Path) -> None:
    path = str(data / "power" / "powerboard.csv")
    code = (
        f"import sys; from powertui.data.power import registry; registry.load({path!r}); "
        "print('pandas' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("231", 231),
        (" 100.00 W", 100),
        ("1e3", 1000),
        ("34,5", 34.5),
        ("-5.5 Watts", -5.5),
        (".5", 0.5),
        ("na", None),
        ("[N/A]", None),
        ("ERR!", None),
        ("0x1f", None),
        ("", None),
        ("inf", None),
        ("1,234,567", None),
        ("12 34", None),
    ],
)
def test_numbers(text: str, value: float | None) -> None:
    found = table.number(text)
    assert np.isnan(found) if value is None else found == value


def test_layouts() -> None:
    assert table.shape("a,b\n1,2\n") == table.Shape(",", ("a", "b"), 1, True)
    assert table.shape("# time watts\n1 2\n3 4\n") == table.Shape("", ("time", "watts"), 1, True)
    assert table.shape("1;2,5\n2;3,5\n") == table.Shape(";", ("column 1", "column 2"), 0, False)
    assert table.shape("") is None
    assert table.shape("only\nwords\nhere\n") is None


@pytest.mark.parametrize("line", ['a,"b\0c",d', 'a,"' + "b" * 200_000 + ",d"])
def test_fields_of_a_line_that_the_csv_module_refuses(line: str) -> None:
    """Python 3.10 takes no NUL, and no Python a field of more than 131,072 characters."""
    assert table.fields(line, ",")[0] == "a"
    assert table.fields(line, ",")[-1] == "d"


def test_notes_count_and_name() -> None:
    notes = Notes("f")
    notes.drop_all(range(1, 9), "bad")
    notes.drop(3, "odd")
    notes.drop(3, "odd")
    notes.say("remark")
    assert [str(w) for w in notes.warnings()] == [
        "f (rows 1, 2, 3, 4, 5 …): bad, 8 times",
        "f (row 3): odd",
        "f: remark",
    ]
    assert notes.dropped == 9
    assert notes.first_reason() == "bad"


@pytest.mark.parametrize("rows", [3, 150_000])  # by the csv module, and by pandas
def test_a_number_beyond_any_unit_is_no_number(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,watts\n"
        + "".join(f"{1_700_000_000 + i},{100 + i % 3}.5\n" for i in range(rows))
        + "1800000000,1e308\n"
    )
    log = registry.load(str(path))
    assert len(log.series[0]) == rows
    assert max(log.series[0].watts) < 200


def test_a_column_of_plain_numbers_is_read_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is more than a number is looked at cell by cell, and gives the same numbers."""
    looked_at: list[str] = []
    one_by_one = cells.number

    def number(text: str) -> float:
        looked_at.append(text)
        return one_by_one(text)

    monkeypatch.setattr(cells, "number", number)
    plain = [" 245.5 ", "-0", "1e3", "7"]
    for column, read_alone in (
        (plain, False),
        ([*plain, ""], True),
        ([*plain, "nan"], True),
        ([*plain, "12 W"], True),
        ([*plain, "1,234.5"], True),
        ([*plain, "1e308"], True),
        ([*plain, "inf"], True),
    ):
        looked_at.clear()
        lines = np.arange(len(column))
        values, is_bad = cells.FileCells(("watts",), lines, [column]).floats(0)
        assert bool(looked_at) is read_alone, column
        expected = [one_by_one(cell.replace(",", "")) for cell in column]
        np.testing.assert_array_equal(values, expected)
        assert is_bad.tolist() == [
            bool(np.isnan(v)) and c not in ("", "nan")
            for v, c in zip(expected, column, strict=True)
        ]
