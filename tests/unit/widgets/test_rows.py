"""Which rows a timeline has before anybody has folded anything, and after."""

from __future__ import annotations

from dataclasses import replace

from powertui.data.lod import Forest
from powertui.view.timeline_rows import (
    NO_FOLDS,
    OPEN_ROWS,
    SHOWN_THREADS,
    SPARED,
    Row,
    RowKind,
    RowModel,
)
from tests.synthetic import traces
from tests.synthetic.traces import MS, Event


def rows_of(lines: dict[tuple[str, str], list[Event]], folds: object = NO_FOLDS) -> tuple[Row, ...]:
    trace = traces.trace(lines)
    return RowModel.from_trace(trace, Forest.from_trace(trace)).rows(folds)  # type: ignore[arg-type]


def busy(ms: int) -> list[Event]:
    return [(0, ms * MS, "work")]


def test_devices_come_first_and_empty_lines_not_at_all() -> None:
    rows = rows_of(
        {
            ("/host:CPU", "main"): busy(5),
            ("/device:GPU:1", "Stream #1"): busy(5),
            ("/device:GPU:0", "Stream #2"): [],
        }
    )
    assert [row.label for row in rows] == ["/device:GPU:1", "Stream #1", "/host:CPU", "main"]


def test_a_host_with_many_threads_shows_the_busiest_and_hides_the_rest_behind_one_line() -> None:
    lines: dict[tuple[str, str], list[Event]] = {
        ("/host:CPU", f"pool/{i:03}"): busy(i + 1) for i in range(100)
    }
    rows = rows_of(lines)
    shown = [row.label for row in rows if row.kind is RowKind.LANE]
    assert shown == [f"pool/{i:03}" for i in range(99, 99 - SHOWN_THREADS, -1)]
    assert rows[-1].kind is RowKind.MORE
    assert rows[-1].label == f"{100 - SHOWN_THREADS} more"
    everything = rows_of(lines, NO_FOLDS.toggled_quiet("/host:CPU"))
    assert sum(row.kind is RowKind.LANE for row in everything) == 100
    assert everything[-1].label == "fewer"


def test_many_short_events_weigh_as_much_as_one_long_bracket() -> None:
    workers = [(i * 1000, 500, "op") for i in range(500)]
    rows = rows_of(
        {
            ("/host:CPU", "main"): [(0, 10**12, "main")],
            ("/host:CPU", "worker"): workers,
            ("/host:CPU", "once"): [(0, 1, "x")],
        }
    )
    assert [row.label for row in rows if row.kind is RowKind.LANE] == ["main", "worker"]


def test_nested_lanes_are_open_where_there_is_room_and_a_deep_track_is_one_row() -> None:
    shallow = [(0, 100, "a"), (10, 50, "b"), (12, 5, "c")]
    deep = [(i, 1000 - 2 * i, f"f{i}") for i in range(40)]
    rows = rows_of({("/host:CPU", "shallow"): shallow, ("/host:CPU", "deep"): deep})
    assert [row.depth for row in rows if row.label in ("shallow", "")] == [0, 1, 2]
    folded = [row for row in rows if row.label == "deep"]
    assert len(folded) == 1
    assert folded[0].folded
    crowd: dict[tuple[str, str], list[Event]] = {("/host:CPU", f"t{i}"): shallow for i in range(8)}
    assert len(rows_of(crowd)) <= 1 + OPEN_ROWS


def test_a_folded_track_stands_for_the_lane_that_tells_most() -> None:
    bracket = [
        (0, 10_000, "main"),
        *[(i * 100, 50, "op") for i in range(100)],
        *[(i * 100, 20, "sub") for i in range(100)],
        *[(i * 100, 10 - d, "x") for d in range(6) for i in range(100)],
    ]
    row = next(
        row for row in rows_of({("/host:CPU", "python"): bracket}) if row.kind is RowKind.LANE
    )
    assert row.folded
    assert row.depth == 1, "not the one bracket around everything"


def test_a_folded_process_is_drawn_from_what_it_did_itself() -> None:
    lines: dict[tuple[str, str], list[Event]] = {
        ("/device:GPU:0", "Stream #1(Compute)"): busy(5),
        ("/device:GPU:0", "XLA Modules"): busy(9),
        ("/device:GPU:0", "Steps"): busy(9),
    }
    (row,) = rows_of(lines, NO_FOLDS.toggled_process("/device:GPU:0"))
    assert row.kind is RowKind.PROCESS
    assert len(row.lanes) == 1, "not from the lines that were drawn from the stream"
    steps = [row.label for row in rows_of(lines)]
    assert "Steps" not in steps, "steps have a lane of their own"
    assert "XLA Modules" in steps


def test_names_are_safe() -> None:
    rows = rows_of({("/host:\x1b[2J", "\x07bell"): busy(1)})
    assert all(row.label.isprintable() for row in rows)


def _crowd() -> dict[tuple[str, str], list[Event]]:
    nested = [
        (0, 1000 * MS, "outer"),
        (10 * MS, 900 * MS, "inner"),
        (20 * MS, 800 * MS, "innermost"),
    ]
    lines: dict[tuple[str, str], list[Event]] = {
        ("/host:CPU", f"busy/{i}"): list(nested) for i in range(6)
    }
    return lines | {("/host:CPU", f"quiet/{i:02}"): [(i, 1, "x")] for i in range(14)}


def test_rows_that_would_stay_empty_show_quiet_tracks_first_and_unfold_then() -> None:
    least = rows_of(_crowd())
    assert least[-1].kind is RowKind.MORE
    for room in range(len(least), 60):
        rows = rows_of(_crowd(), replace(NO_FOLDS, room=room))
        assert len(least) <= len(rows) <= room
        lanes = {(row.track, row.depth) for row in rows if row.kind is RowKind.LANE}
        assert lanes >= {(row.track, row.depth) for row in least if row.kind is RowKind.LANE}
    everything = rows_of(_crowd(), replace(NO_FOLDS, room=200))
    assert len(everything) == 1 + 6 * 3 + 14
    for room in range(max(len(least) + SPARED, 4 * SPARED), 60):
        rows = rows_of(_crowd(), replace(NO_FOLDS, room=room))
        assert len(rows) <= room - SPARED, "what else can be told of the view keeps its lines"
    assert rows_of(_crowd(), replace(NO_FOLDS, room=len(everything) + SPARED)) == everything


def test_a_track_that_is_too_deep_shows_as_many_lanes_as_there_is_room_for() -> None:
    deep = [(i * MS, (1000 - 2 * i) * MS, f"frame {i}") for i in range(50)]
    lines = {("/host:CPU", "python"): deep}
    rows = rows_of(lines, replace(NO_FOLDS, room=30))
    assert len(rows) == 30 - SPARED
    lanes = [row for row in rows if row.kind is RowKind.LANE]
    assert [row.depth for row in lanes] == list(range(len(lanes)))
    assert [row.folded for row in lanes] == [True, *[None] * (len(lanes) - 1)], (
        "Enter shows all of it"
    )
    assert len(rows_of(lines, replace(NO_FOLDS, room=51))) == 51 - SPARED
    assert len(rows_of(lines, replace(NO_FOLDS, room=51 + SPARED))) == 51


def test_lanes_of_hardly_any_time_take_no_free_rows_and_show_when_they_are_asked_for() -> None:
    work = [(0, 1000 * MS, "train"), (0, 900 * MS, "step"), (0, 800 * MS, "op")]
    deep = [(100 * MS + i, 40 - i, f"frame {i}") for i in range(20)]  # ns in a second
    lines: dict[tuple[str, str], list[Event]] = {("/host:CPU", "python"): [*work, *deep]}
    folds = replace(NO_FOLDS, room=80)
    rows = [row for row in rows_of(lines, folds) if row.kind is RowKind.LANE]
    assert [row.depth for row in rows] == [0, 1, 2]
    assert rows[0].folded, "Enter shows all of it"
    trace = traces.trace(lines)
    model = RowModel.from_trace(trace, Forest.from_trace(trace))
    asked = model.rows(folds.with_track(model.tracks[0].id, opened=True))
    assert len([row for row in asked if row.kind is RowKind.LANE]) == 23


def test_what_a_person_folded_stays_folded_however_much_room_there_is() -> None:
    (first,) = {row.track for row in rows_of(_crowd()) if row.label == "busy/0"}
    trace = traces.trace(_crowd())
    model = RowModel.from_trace(trace, Forest.from_trace(trace))
    folds = replace(NO_FOLDS.with_track(model.tracks[first].id, opened=False), room=200)
    assert sum(row.track == first for row in model.rows(folds)) == 1
    opened = replace(folds.with_track(model.tracks[first].id, opened=True), room=0)
    assert sum(row.track == first for row in model.rows(opened)) == 3
