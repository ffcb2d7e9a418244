"""Small rules of the view that only a picture showed: counts of runs, energy of the last minute,
the length beside a bar that is cut, and which part of a path is its layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from powertui.data.logdir import RunEntry
from powertui.view import live_summary, run_columns, scene, step_bars, table_rows
from powertui.view.timeline_rows import Row, RowKind


def _runs(*paths: str) -> list[RunEntry]:
    return [RunEntry(name=path, path=path) for path in paths]


def test_runs_are_counted_without_the_rows_of_trainings() -> None:
    runs = _runs("training", "training/first", "training/second", "alone")
    row_of_session = {"training/first": "training", "training/second": "training"}
    text = run_columns.count_words(runs, row_of_session, None)
    assert text == "3 runs, 2 of them in 1 training"
    assert run_columns.count_words(_runs("alone"), {}, None) == "1 run"


@dataclass
class _Energy:
    covered_s: float
    joules: float


@dataclass
class _Channel:
    """What a channel's health is asked for: its energy between two moments."""

    energy: _Energy

    def between(self, _start: float, _end: float) -> _Energy:
        return self.energy


def _recent_energy(*energies: _Energy) -> str:
    healths = [cast(Any, _Channel(energy)) for energy in energies]
    return live_summary._recent_energy(healths, 100.0)


def test_the_energy_of_the_last_minute_is_that_of_the_channels_that_cover_it() -> None:
    assert _recent_energy(_Energy(30.0, 0.25), _Energy(0.0, 7.0)).endswith(": 250 mJ of 1")
    assert _recent_energy(_Energy(0.0, 0.0)) == ""


def test_the_length_of_a_cut_bar_stands_one_cell_behind_its_mark() -> None:
    row = [step_bars._Cell("▲", "warn"), *(step_bars._Cell(" ", "text") for _ in range(6))]
    assert step_bars._write_beside_mark([row], "▲ 2 s")
    assert "".join(cell.char for cell in row) == "▲ 2 s  "


def test_there_is_no_room_for_a_length_where_a_cell_is_taken() -> None:
    row = [step_bars._Cell("▲", "warn"), *(step_bars._Cell(" ", "text") for _ in range(6))]
    row[4] = step_bars._Cell("▲", "warn")
    assert not step_bars._write_beside_mark([row], "▲ 2 s")


def test_the_next_row_of_the_first_track_shows_more_of_it() -> None:
    first = Row(kind=RowKind.LANE, process=0, label="", track=0)
    below = Row(kind=RowKind.LANE, process=0, label="", track=0, depth=1)
    another = Row(kind=RowKind.LANE, process=0, label="", track=1)
    nothing = Row(kind=RowKind.PROCESS, process=0, label="")
    assert scene._has_row_below((first, below), 0)
    assert not scene._has_row_below((first, another), 0)
    assert not scene._has_row_below((first,), 0)
    assert not scene._has_row_below((nothing, nothing), 0)


def test_the_layer_is_the_part_that_no_other_row_has() -> None:
    scopes = {("", "block"): 1}
    assert table_rows.layered("dense/block/MatMul", scopes) == "dense · MatMul"
