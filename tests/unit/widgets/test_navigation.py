"""Every key's meaning, without a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.errors import UsageError
from powertui.view.navigation import Navigator
from powertui.view.place_line import place_line
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.view.timeline_rows import RowKind
from tests.synthetic import traces
from tests.synthetic.traces import MS

MODEL = TimelineModel.from_run(traces.training())


def navigator(width: int = 100, height: int = 20) -> Navigator:
    return Navigator(MODEL, width, height)


def row_of(n: Navigator, label: str, nth: int = 0) -> int:
    return [i for i, row in enumerate(n.rows) if row.label.startswith(label)][nth]


def name_of(selected: Selected | None) -> str:
    assert selected is not None
    return MODEL.facts(selected).name


def to_row(n: Navigator, label: str) -> None:
    n.move_track(row_of(n, label) - n.state.cursor_row)


def test_it_begins_with_the_whole_run_and_the_cursor_in_its_middle() -> None:
    n = navigator()
    assert n.viewport.t0 <= MODEL.span[0]
    assert n.viewport.t1 >= MODEL.span[1]
    assert abs(n.state.cursor_ps - sum(MODEL.span) // 2) <= n.viewport.cell_ps
    assert n.rows[0].kind is RowKind.PROCESS
    assert n.rows[0].label == "/device:GPU:0", "devices come first"


def test_left_and_right_walk_over_the_events_of_a_lane() -> None:
    n = navigator()
    to_row(n, "Stream #13")
    n.start()
    n.move_event(1)
    seen = [name_of(n.state.selection)]
    for _ in range(5):
        n.move_event(1)
        seen.append(name_of(n.state.selection))
    assert seen[0] == seen[3] == "volta_sgemm_128x64_nn"
    assert seen[1] != seen[2]
    for _ in range(5):
        n.move_event(-1)
    assert name_of(n.state.selection) == seen[0]
    first = n.state
    n.move_event(-1)
    assert n.state == first, "before the first there is none"


def test_events_that_share_a_cell_are_walked_one_by_one() -> None:
    n = navigator(width=5)
    to_row(n, "Stream #13")
    for _ in range(40):
        n.move_event(-1)
    seen = set()
    for _ in range(36):
        seen.add(n.state.selection)
        n.move_event(1)
    assert len(seen) == 36


def test_up_and_down_select_what_stands_at_the_cursor() -> None:
    n = navigator()
    n.goto(2 * MS + 6 * MS)
    to_row(n, "Stream #13")
    assert name_of(n.state.selection) == "volta_sgemm_128x64_nn"
    before = n.state.cursor_ps
    n.move_track(1)
    assert n.state.cursor_ps == before, "the time stays"
    n.move_track(1000)
    assert n.state.cursor_row == len(n.rows) - 1
    n.move_track(-1000)
    assert n.state.cursor_row == 0
    assert n.state.selection is None, "a heading holds no event"


def test_dot_and_comma_go_through_a_track_in_the_order_of_time() -> None:
    n = navigator()
    to_row(n, "python3")
    n.start()
    names = []
    for _ in range(4):
        n.next_event(1)
        names.append(name_of(n.state.selection))
    assert names == [
        "train 0",
        "Iterator::Prefetch",
        "StatefulPartitionedCall/model/dense/MatMul:MatMul",
        "EagerExecute: add",
    ]
    for expected in reversed(names[:-1]):
        n.next_event(-1)
        assert name_of(n.state.selection) == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=25))
def test_dot_visits_every_event_of_a_track_once_and_comma_returns(
    spans: list[tuple[int, int]],
) -> None:
    model = TimelineModel.from_run(
        traces.run(
            traces.trace({("/host:CPU", "t"): [(s, d, f"{i}") for i, (s, d) in enumerate(spans)]})
        )
    )
    n = Navigator(model, 40, 10)
    n.move_track(1)
    n._set(selection=None, cursor_ps=model.span[0])
    seen: list[Selected] = []
    for _ in range(len(spans) + 2):
        n.next_event(1)
        assert n.state.selection is not None
        if seen and n.state.selection == seen[-1]:
            break
        seen.append(n.state.selection)
    events = model.tracks[0].track.events
    order = [(int(events.start[s.row]), model.tracks[0].track.depth_of(s.row), s.row) for s in seen]
    assert order == sorted(order)
    assert len(set(seen)) == len(seen) == len(spans)


def test_steps_and_epochs() -> None:
    n = navigator()
    n.start()
    n.next_step(1)
    assert n.state.cursor_ps == int(MODEL.steps.start[0]) or n.state.cursor_ps == int(
        MODEL.steps.start[1]
    )
    n.goto(int(MODEL.steps.start[3]) + 5 * MS)
    n.next_step(-1)
    assert n.state.cursor_ps == int(MODEL.steps.start[3])
    n.next_step(-1)
    assert n.state.cursor_ps == int(MODEL.steps.start[2])
    n.next_epoch(1)
    assert n.state.cursor_ps == int(MODEL.steps.start[6])
    n.next_epoch(1)
    assert n.state.cursor_ps == int(MODEL.steps.start[6]), "there is no third"


def test_zoom_at_the_cursor_and_at_the_pointer() -> None:
    n = navigator()
    n.goto(100 * MS)
    column = n.viewport.column(100 * MS)
    n.zoom(6)
    assert n.viewport.column(n.state.cursor_ps) == column
    middle = n.viewport.time(7) + n.viewport.cell_ps // 2
    n.zoom(3, 7)
    assert n.viewport.column(middle) == 7


def test_a_pan_takes_the_cursor_along() -> None:
    n = navigator()
    n.zoom(12)
    column = n.viewport.column(n.state.cursor_ps)
    n.pan(10)
    assert n.viewport.column(n.state.cursor_ps) == column


def test_fit_shows_the_selection_then_the_window_then_the_step() -> None:
    n = navigator()
    n.goto(int(MODEL.steps.start[4]) + MS)
    n.fit()
    assert n.viewport.shows(int(MODEL.steps.start[4]))
    assert n.viewport.t1 - n.viewport.t0 < 60 * MS
    n.whole()
    n.set_window(100 * MS, 110 * MS)
    n.fit()
    assert n.viewport.t0 <= 100 * MS < 110 * MS <= n.viewport.t1 < 135 * MS
    n.whole()
    to_row(n, "Stream #13")
    n.start()
    n.move_event(1)
    n.fit()
    lo, hi = MODEL.extent(n.state.selection)  # type: ignore[arg-type]
    assert n.viewport.t0 <= lo
    assert hi <= n.viewport.t1
    assert n.viewport.t1 - n.viewport.t0 < 2 * (hi - lo)


def test_a_window_is_marked_in_either_direction_and_given_up() -> None:
    n = navigator()
    n.goto(100 * MS)
    n.mark()
    assert n.state.window is None
    n.goto(50 * MS)
    n.mark()
    assert n.state.window is not None
    lo, hi = n.state.window
    assert lo <= 50 * MS < 100 * MS < hi <= 100 * MS + n.viewport.cell_ps
    n.mark()
    assert n.state.window is None, "a new one begins"
    assert n.clear()
    assert n.state.mark is None
    assert not n.clear()


@pytest.mark.parametrize("forward", [True, False])
def test_a_window_from_step_to_step_holds_both_as_a_whole(forward: bool) -> None:
    n = navigator()
    steps = MODEL.steps
    first, last = (2, 4) if forward else (4, 2)
    n.goto(int(steps.start[first]))
    n.mark()
    n.goto(int(steps.start[last]))
    n.mark()
    window = (int(steps.start[2]), int(steps.ends()[4]))
    assert n.state.window == window
    assert place_line(MODEL, n.state).endswith(f"step {steps.number[2]}-{steps.number[4]}")


def test_escape_takes_back_one_thing_after_the_other() -> None:
    n = navigator()
    n.set_hits(MODEL.search("sgemm"))
    n.next_hit(1)
    n.set_window(0, 10 * MS)
    n.mark()
    done = []
    while n.clear():
        done.append((n.state.mark, n.state.window, n.state.hits, n.state.selection))
    assert len(done) == 3, "opening a mark took the window back"
    assert done[-1] == (None, None, None, None)


def test_folding_keeps_the_cursor_on_its_row() -> None:
    n = navigator()
    host = row_of(n, "/host:CPU")
    n.move_track(host)
    count = len(n.rows)
    n.fold()
    assert n.row is not None
    assert n.row.label == "/host:CPU"
    assert n.row.folded
    assert len(n.row.lanes) >= 1, "a folded process still shows how busy it is"
    assert len(n.rows) < count
    n.fold()
    assert len(n.rows) == count
    to_row(n, "python3")
    open_rows = len(n.rows)
    n.fold()
    assert len(n.rows) < open_rows
    assert n.row.label == "python3/4711"  # type: ignore[union-attr]


def test_fold_all_and_back() -> None:
    n = navigator()
    count = len(n.rows)
    n.fold_all(True)
    assert [row.kind for row in n.rows] == [RowKind.PROCESS] * 2
    n.fold_all(False)
    assert len(n.rows) == count


def test_selecting_unfolds_what_hides_the_event() -> None:
    n = navigator()
    n.fold_all(True)
    hits = MODEL.search("EagerExecute")
    n.set_hits(hits)
    assert n.next_hit(1)
    assert name_of(n.state.selection) == "EagerExecute: add"
    assert n.row is not None
    assert MODEL.lane_of(n.state.selection) in n.row.lanes  # type: ignore[arg-type]
    assert n.viewport.shows(n.state.cursor_ps)


def test_hits_go_round_in_the_order_of_time() -> None:
    n = navigator()
    n.start()
    n.set_hits(MODEL.search("MatMul"))
    starts = []
    for _ in range(13):
        n.next_hit(1)
        starts.append(MODEL.extent(n.state.selection)[0])  # type: ignore[arg-type]
    assert starts[:12] == sorted(starts[:12])
    assert starts[12] == starts[0]
    n.next_hit(-1)
    assert n.state.hit == 11
    n.set_hits(None)
    assert not n.next_hit(1)


def test_a_click_puts_the_cursor_there_and_selects() -> None:
    n = navigator()
    row = row_of(n, "Stream #13")
    n.click(row, n.viewport.column(8 * MS))
    assert n.state.cursor_row == row
    assert name_of(n.state.selection) == "volta_sgemm_128x64_nn"
    n.click(999, 3)
    assert n.state.cursor_row == row, "below the last row nothing happens"


def test_rows_scroll_and_the_cursor_stays_on_the_screen() -> None:
    n = navigator(height=4)
    n.scroll(3)
    assert n.viewport.row0 == 3
    assert n.state.cursor_row == 3
    n.move_track(-3)
    assert n.viewport.row0 == 0
    n.scroll(100)
    assert n.viewport.row0 == len(n.rows) - 4


def test_a_trace_that_grows_keeps_place_and_selection() -> None:
    small, grown = (TimelineModel.from_run(traces.training(count)) for count in (6, 12))
    n = Navigator(small, 100, 20)
    row = next(i for i, r in enumerate(n.rows) if r.label.startswith("Stream #14"))
    n.move_track(row)
    n.start()
    n.move_event(1)
    start = small.extent(n.state.selection)[0]  # type: ignore[arg-type]
    n.zoom(6)
    view = n.viewport
    n.replace_model(grown)
    assert n.row is not None
    assert n.row.label.startswith("Stream #14")
    assert n.state.selection is not None
    assert grown.extent(n.state.selection)[0] == start
    assert (n.viewport.t0, n.viewport.rung) == (view.t0, view.rung)
    n.replace_model(
        TimelineModel.from_run(traces.run(traces.trace({("/host:CPU", "other"): [(0, 5, "x")]})))
    )
    assert n.state.selection is None


def test_an_empty_trace_survives_every_key() -> None:
    n = Navigator(TimelineModel.from_run(traces.run(traces.trace({}))), 80, 10)
    for move in (
        n.fit,
        n.whole,
        n.start,
        n.end,
        n.mark,
        n.mark,
        n.fold,
        lambda: n.fold_all(True),
        lambda: n.zoom(3),
        lambda: n.pan(5),
        lambda: n.move_event(1),
        lambda: n.move_track(1),
        lambda: n.next_event(-1),
        lambda: n.next_step(1),
        lambda: n.next_epoch(1),
        lambda: n.next_hit(1),
        lambda: n.click(0, 0),
        lambda: n.scroll(3),
        lambda: n.move_time(3),
    ):
        move()
    assert n.rows == ()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_keys_in_any_order_leave_a_valid_state(data: st.DataObject) -> None:
    n = navigator(width=data.draw(st.integers(1, 120)), height=data.draw(st.integers(1, 30)))
    moves = [
        lambda: n.zoom(3),
        lambda: n.zoom(-3),
        lambda: n.zoom(2, 0),
        lambda: n.pan(7),
        lambda: n.pan(-9),
        n.fit,
        n.whole,
        n.start,
        n.end,
        n.mark,
        n.fold,
        n.clear,
        lambda: n.move_event(1),
        lambda: n.move_event(-1),
        lambda: n.move_track(1),
        lambda: n.move_track(-2),
        lambda: n.next_event(1),
        lambda: n.next_event(-1),
        lambda: n.next_step(1),
        lambda: n.next_epoch(-1),
        lambda: n.scroll(2),
        lambda: n.resize(33, 7),
        lambda: n.fold_all(True),
        lambda: n.set_hits(MODEL.search("e")),
        lambda: n.next_hit(1),
        lambda: n.move_time(-3),
        lambda: n.click(3, 5),
    ]
    for _ in range(25):
        data.draw(st.sampled_from(moves))()
        state, view = n.state, n.viewport
        assert 0 <= state.cursor_row < len(n.rows)
        assert view.row0 <= state.cursor_row < view.row0 + view.height
        assert MODEL.span[0] <= state.cursor_ps < MODEL.span[1]
        assert state.window is None or state.window[0] < state.window[1]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0.031s-0.078s", (31 * MS, 78 * MS)),
        ("27.31-28.78ms", (27_310_000_000, 28_780_000_000)),
        ("0.078s .. 0.031s", (31 * MS, 78 * MS)),
        ("50ms", (50 * MS, 50 * MS)),
        ("step 3", (62 * MS, 82 * MS)),
        ("steps 3-5", (62 * MS, 121 * MS)),
        ("epoch 1", (122 * MS, 241 * MS)),
        ("Epoch 1 step 6-7", (122 * MS, 162 * MS)),
    ],
)
def test_places(text: str, place: tuple[int, int]) -> None:
    assert MODEL.destination(text) == (*place, "")


@pytest.mark.parametrize(
    "text", ["", "nowhere", "epoch 7", "step 99", "epoch 0 step 9", "1s-", "epoch"]
)
def test_places_that_are_none_say_what_there_is(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        MODEL.destination(text)
    assert caught.value.hint


def test_another_trace_shows_its_own_rows_from_the_first_on() -> None:
    n = Navigator(TimelineModel.from_run(traces.training(6)), 100, 20)
    n.move_track(3)
    other = TimelineModel.from_run(
        traces.run(
            traces.trace({("/host:CPU", "a"): [(0, 5, "x")], ("/host:CPU", "b"): [(0, 5, "y")]})
        )
    )
    n.replace_model(other)
    assert n.model is other
    assert n.state.cursor_row == 0
    assert n.row is n.rows[0]
    assert n.row is not None
    assert n.row.label == "/host:CPU"


def test_a_row_that_another_trace_does_not_have_leaves_the_cursor_on_the_first() -> None:
    n = Navigator(
        TimelineModel.from_run(
            traces.run(
                traces.trace(
                    {("/host:CPU", "a"): [(0, 5, "x")], ("/host:CPU", "only here"): [(0, 5, "y")]}
                )
            )
        ),
        100,
        20,
    )
    n.move_track(9)
    assert n.row is not None
    assert n.row.label == "only here"
    n.replace_model(
        TimelineModel.from_run(
            traces.run(traces.trace({("/host:GPU", name): [(0, 5, "x")] for name in "abc"}))
        )
    )
    assert n.state.cursor_row == 0


def test_another_size_shows_the_same_start_in_other_cells() -> None:
    n = navigator(width=100, height=20)
    n.resize(40, 12)
    assert (n.viewport.width, n.viewport.height) == (40, 12)
    assert n.viewport.shows(n.state.cursor_ps)
