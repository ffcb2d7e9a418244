"""Columns that a person names: what to type for a table that cannot be guessed, and which of several
logs they are of.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import cli
from powertui.data.asked import LogColumns
from powertui.data.power import log_columns, registry
from powertui.errors import UnreadableFile

START = 1_714_557_600
ODD = "ts,T_in,P_node,n\n" + "".join(f"{START + i},22,{300 + i % 7},{i}\n" for i in range(30))
NAMED = ("--watts-col", "P_node", "--time-col", "ts", "--unit", "W")


@pytest.fixture
def odd(tmp_path: Path) -> str:
    path = tmp_path / "odd.csv"
    path.write_text(ODD)
    return str(path)


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        ("ts,T_in,P_node,n", "--watts-col P_node --time-col ts --unit W"),
        ("when,inlet,col ac,n", "--watts-col 'col ac' --time-col when --unit W"),
        ("date,a,b,c", "--watts-col b --time-col date --unit W"),
        ("x,a,b,c", "--watts-col b --time-col x --unit W"),
        ("time,a,a,c", "--watts-col 3 --time-col time --unit W"),
        ("time,\x1b[31ma\x1b[m,b,c", "--watts-col b --time-col time --unit W"),
    ],
)
def test_the_error_spells_out_what_to_type(tmp_path: Path, header: str, answer: str) -> None:
    path = tmp_path / "odd.csv"
    body = ODD.partition("\n")[2]
    path.write_text(header + "\n" + body.replace(",22,", ",0.2,"))
    with pytest.raises(UnreadableFile) as refused:
        registry.load(str(path))
    assert answer in (refused.value.hint or "")
    assert "\x1b" not in str(refused.value)


def test_the_answer_of_the_error_reads_the_log(odd: str) -> None:
    series = registry.load(odd, LogColumns("ts", "P_node", "W")).series
    assert [(channel.sensor.name, len(channel)) for channel in series] == [("P_node", 30)]


@pytest.mark.parametrize("verb", [("energy",), ("report",), ("doctor",), ("doctor", "--power")])
def test_every_verb_takes_the_columns(
    odd: str, verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main([*verb, odd])
    said = capsys.readouterr()
    assert "--watts-col P_node --time-col ts --unit W" in said.out + said.err
    cli.main([*verb, odd, *NAMED])
    assert "P_node" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["open", "report", "doctor", "energy", "export", "live"])
def test_every_verb_that_reads_a_log_has_the_options(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    help_text = capsys.readouterr().out
    for option in ("--time-col", "--watts-col", "--unit", "--tz"):
        assert option in help_text


def test_columns_are_of_the_logs_that_have_them(odd: str, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("timestamp,power_w\n" + "".join(f"{START + i},60\n" for i in range(9)))
    named = LogColumns("ts", "P_node", "W", tz="UTC")
    assert log_columns.columns_by_log([odd, str(other)], named) == {
        odd: named,
        str(other): LogColumns(tz="UTC"),
    }
    nobody = LogColumns(watts_col="typo")
    assert log_columns.columns_by_log([odd, str(other)], nobody)[str(other)] is nobody
    assert log_columns.columns_by_log([str(other)], named)[str(other)] is named
