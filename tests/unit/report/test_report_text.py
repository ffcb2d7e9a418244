from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui import units, wrapping
from powertui.cli import main
from powertui.report import text
from powertui.sampler import inventory
from powertui.sampler.source import Channel


def test_columns_line_up_and_empty_ones_go() -> None:
    lines = text.table(
        ["name", "count", "nothing"], [["a", "1", ""], ["漢字", "20", ""]], right=[1], indent="  "
    )
    assert lines == ["  name  count", "  a         1", "  漢字     20"]


def test_a_table_of_nothing_is_nothing() -> None:
    assert text.table(["a"], []) == []


def test_hostile_text_stays_in_its_cell() -> None:
    (_, row) = text.table(["name"], [["\x1b[2J\nforged line"]])
    assert row == "\\x1b[2J\\nforged line"
    (_, _, cell) = text.markdown(["name"], [["a | b <script> **bold** `x`"]])
    assert cell == "| a \\| b \\<script\\> \\*\\*bold\\*\\* \\`x\\` |"


def test_labels_are_written_once_and_text_wraps() -> None:
    lines = text.labelled(
        [("steps", "one two"), ("steps", "three"), ("", ""), ("power", "none")], columns=0
    )
    assert lines == ["  steps  one two", "         three", "  power  none"]
    wrapped = text.labelled([("steps", "word " * 20)], columns=50)
    assert len(wrapped) > 1
    assert all(len(line) <= 50 for line in wrapped)
    assert wrapped[1].startswith("         word")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_json_is_always_json(value: object) -> None:
    written = text.to_json(value)
    assert written.isascii()
    json.loads(written, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@given(
    st.lists(
        st.text(st.characters(blacklist_categories=["Cs"]), max_size=20), min_size=1, max_size=4
    )
)
def test_csv_comes_back_and_is_no_formula(row: list[str]) -> None:
    written = text.to_csv([f"c{i}" for i in range(len(row))], [row])
    assert written.endswith("\r\n")
    (_, back) = list(csv.reader(io.StringIO(written, newline="")))
    assert len(back) == len(row)
    for was, is_ in zip(row, back, strict=True):
        assert not is_.lstrip().startswith(("=", "+", "-", "@"))
        assert was == "" or is_ != ""


def test_numbers_in_csv_stay_numbers() -> None:
    assert text.to_csv(["a", "b", "c"], [[-1.5, None, 3]]) == "a,b,c\r\n-1.5,,3\r\n"


class Narrow(io.StringIO):
    encoding = "ascii"


def test_a_terminal_without_utf8_gets_ascii() -> None:
    stream = Narrow()
    text.write(stream, "± 1 ms, 5 µs → 漢")
    assert stream.getvalue() == "+- 1 ms, 5 us -> \\u6f22\n"


@pytest.mark.parametrize(
    ("ns", "offset", "shown"),
    [
        (1_616_280_774_405_000_000, -10_800, "2021-03-20 19:52:54.405 UTC−3"),
        (1_616_280_774_405_999_999, None, "2021-03-20 22:52:54.405 UTC"),
        (10**21, 0, f"Unix ns {10**21}"),
    ],
)
def test_moments_carry_their_zone(ns: int, offset: int | None, shown: str) -> None:
    assert text.wall(ns, offset) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (20_696_735, "20.7 MB"), (1_500_000_000, "1.5 GB")],
)
def test_sizes(count: int, shown: str) -> None:
    assert units.size(count) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(1, "1 step"), (0, "0 steps"), (767_110, "767,110 steps")]
)
def test_plurals(count: int, shown: str) -> None:
    assert text.plural(count, "step") == shown


def test_sentences_wider_than_the_terminal_are_broken_at_blanks_and_tables_are_not() -> None:
    sentence = "  → profile a few steps: call the profiler for some of them, and open the run again"
    row = "  name      total  " + "x" * 60
    command = "  powertui report /a/long/path/to/the/runs --tool framework_op_stats --json"
    assert wrapping.fitted([sentence, row, command], 40) == [
        "  → profile a few steps: call the",
        "    profiler for some of them, and open",
        "    the run again",
        row,
        command,
    ]
    assert wrapping.fitted([sentence], 0) == [sentence]  # a pipe
    assert all(text.width(line) <= 40 for line in wrapping.fitted([sentence], 40))


def test_sensors_breaks_its_sentences_where_the_terminal_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wrapping, "terminal_columns", lambda: 40)
    hint = "On POWER: modprobe ibmpowernv. Virtual machines have none of them."
    source = inventory.FoundSource(url="hwmon:", source="hwmon", ok=False, hint=hint)
    monkeypatch.setattr(inventory, "look_here", lambda: [source])
    assert main(["sensors"]) == 1
    shown = capsys.readouterr().out
    assert "\n     try: On POWER: modprobe\n       ibmpowernv. Virtual machines have\n" in shown
    assert max(map(len, shown.splitlines())) <= 40


def test_a_sensors_remark_goes_below_it_where_the_terminal_is_narrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    power = Channel("power", "rack7", "node", note="DCMI power reading, whole watts")
    source = inventory.FoundSource(
        url="ipmi://rack7", source="ipmi DCMI", ok=True, channels=(power,), watts={"power": 245.0}
    )
    monkeypatch.setattr(inventory, "look_here", lambda: [source])
    shown = []
    for columns in (60, 0):
        monkeypatch.setattr(wrapping, "terminal_columns", lambda columns=columns: columns)
        assert main(["sensors"]) == 0
        shown.append([line for line in capsys.readouterr().out.splitlines() if "no   " not in line])
    narrow, piped = shown
    assert narrow[1:3] == [
        "     rack7 power                   245.0 W  node",
        "       DCMI power reading, whole watts",
    ]
    assert piped[1] == narrow[1] + "  DCMI power reading, whole watts"


def test_sentences_are_broken_without_numpy() -> None:
    program = "import sys, powertui.wrapping; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
