"""Context, details and op table in a headless application."""

from __future__ import annotations

from typing import Any

from rich.style import Style
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from powertui.data.model import Stat
from powertui.data.tools import op_stats, op_table
from powertui.terminal import theme as themes
from powertui.view import table_rows
from powertui.view.context import Context
from powertui.view.navigation import Navigator
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.widgets.context_pane import ContextPane
from powertui.widgets.details import DetailsPane, value_text
from powertui.widgets.lines import LinesPane
from powertui.widgets.table import AT_ONCE, TableView
from tests.synthetic import traces

LONG = "%fusion = f32[128,256] " + "fusion(f32[128,256] %p) " * 200
TRACE = traces.trace(
    {("/device:GPU:0", "Stream #1"): [(0, 100, "fusion.1"), (100, 50, "evil\x1b[2J [red]x[/red]")]},
    stats={
        "fusion.1": (
            Stat("long_name", LONG, "str"),
            Stat("hlo", b"\x00\x01" * 40, "bytes"),
            Stat("occ", 0.5, "double"),
        )
    },
)
MODEL = TimelineModel.from_run(traces.run(TRACE))


class Stage(App[None]):
    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget
        self.chosen: list[Any] = []

    def compose(self) -> ComposeResult:
        yield self.widget

    def on_table_view_chosen(self, message: TableView.Chosen) -> None:
        self.chosen.append(message.row)


async def settle(pilot: Pilot[None]) -> None:
    for _ in range(3):
        await pilot.pause()


def screen(app: App[None]) -> str:
    return "\n".join(Strip(strip).text for strip in app.screen._compositor.render_strips())


async def test_context_lines_follow_the_cursor_and_wrap() -> None:
    pane = ContextPane(theme=themes.get())
    app = Stage(pane)
    async with app.run_test(size=(40, 40)) as pilot:
        n = Navigator(MODEL, 80, 10)
        pane.show(Context.for_state(MODEL, n.state))
        await settle(pilot)
        assert "synthetic" in screen(app)
        n.move_track(1)
        n.start()
        pane.show(Context.for_state(MODEL, n.state))
        await settle(pilot)
        assert "fusion.1" in screen(app)
        assert " E " in screen(app), "the letter of the kind"


async def test_details_show_every_stat_and_expand_long_text() -> None:
    pane = DetailsPane(theme=themes.get())
    app = Stage(pane)
    async with app.run_test(size=(100, 30)) as pilot:
        pane.styles.height = 30
        pane.show(MODEL, None)
        await settle(pilot)
        assert "Nothing is selected" in screen(app)
        pane.show(MODEL, Selected(0, 0))
        await settle(pilot)
        shown = screen(app)
        assert "long_name" in shown
        assert f"({len(LONG):,} characters)" in shown
        assert "80 bytes: 00 01" in shown
        assert "0.5" in shown
        assert "position" in shown, "the event's own stat after those of its name"
        pane.toggle()
        await settle(pilot)
        assert len(pane.lines) > 30
        pane.scroll_lines(10_000)
        await settle(pilot)
        assert "position" in screen(app)
        pane.show(MODEL, Selected(0, 1))
        await settle(pilot)
        shown = screen(app)
        assert "\x1b" not in shown
        assert "[red]x[/red]" in shown
        assert not pane.expanded, "another event begins cut"


def test_values_as_a_person_reads_them() -> None:
    assert value_text(Stat("device_duration_ps", 1_500_000, "uint64"), 99) == "1,500,000 (1.5 µs)"
    assert value_text(Stat("correlation_id", 1_234_567, "int64"), 99) == "1234567"
    assert value_text(Stat("bytes_accessed", 1_234_567, "int64"), 99) == "1,234,567"
    assert value_text(Stat("name", "a\nb", "str"), 99) == "a\\nb"


async def test_the_op_table_sorts_filters_scrolls_and_chooses() -> None:
    made = [(i * 10, 1 + i % 7, f"block_{i % 50}/op_{i % 50}/MatMul:MatMul") for i in range(500)]
    trace = traces.trace({("/host:CPU", "t"): made})
    table = TableView(theme=themes.get())
    app = Stage(table)
    async with app.run_test(size=(130, 20)) as pilot:
        table.styles.height = 20
        await settle(pilot)
        assert "Counting" in screen(app)
        table.show(op_table.result(op_stats.op_stats(trace)).table)
        table.focus()
        await settle(pilot)
        shown = screen(app)
        assert "self v" in shown
        assert "50 ops" in shown
        assert "500 events" in shown
        assert "MatMul" in shown
        await pilot.press("down", "down", "enter")
        await settle(pilot)
        assert app.chosen == [table.rows[2]]
        await pilot.press("end")
        assert table.cursor == 49
        table.sort("full_name")
        assert listed(table) == sorted(listed(table))
        table.sort("full_name")
        assert listed(table) == sorted(listed(table), reverse=True)
        table.action_to_end(-1)
        table.sort("full_name")
        assert table.cursor == 0, "still at the top: what comes first is looked for"
        table.action_move(2)
        chosen = table.row
        table.sort("full_name")
        assert table.row == chosen, "a row that was chosen stays chosen"
        table.sort("full_name")
        table.action_to_end(-1)
        table.filter("op_7/")
        await settle(pilot)
        assert "1 of 50 ops" in screen(app)
        table.filter("[red]nothing")
        await settle(pilot)
        assert "[red]nothing" in screen(app)


def listed(table: TableView) -> list[str]:
    assert table.table is not None
    return [table.table["full_name"].text(int(row)) for row in table.rows]


async def test_many_ops_are_arranged_in_a_thread_and_the_last_request_counts() -> None:
    many = AT_ONCE + 500
    trace = traces.trace({("/host:CPU", "t"): [(i, 1 + i % 3, f"op{i:05}") for i in range(many)]})
    answer = op_table.result(op_stats.op_stats(trace)).table
    table = TableView(theme=themes.get())
    app = Stage(table)
    async with app.run_test(size=(100, 12)) as pilot:
        table.show(answer)
        table.turn_wrappers()
        assert not len(table.rows), "nothing was arranged while a key could have waited"
        for text in ("o", "op0", "op00"):
            table.filter(text)
        table.sort("full_name")
        await app.workers.wait_for_complete(
            [worker for worker in app.workers if not worker.is_cancelled]
        )
        await settle(pilot)
        assert listed(table) == [f"op00{i:03}" for i in range(1000)]
        assert f"1,000 of {many:,} ops" in screen(app)
        table.filter("")
        await app.workers.wait_for_complete(
            [worker for worker in app.workers if not worker.is_cancelled]
        )
        await settle(pilot)
        table.focus()
        await pilot.press("end")
        await settle(pilot)
        assert table.cursor == many - 1
        assert f"op{many - 1:05}" in screen(app), "the last row is made when it is looked at"
        table.filter("op1")
        table.show(None)
        await settle(pilot)
        assert "Counting" in screen(app), "an answer that nobody waits for any more is dropped"


def test_columns_give_way_in_order() -> None:
    table = op_table.result(op_stats.op_stats(TRACE)).tables[0]

    def shown(room: int) -> list[str]:
        return [column.id for column in table_rows.fit(table, room).columns]

    assert shown(30) == ["name", "self_s"]
    assert shown(54) == ["name", "count", "self_s", "share"]
    assert len(shown(140)) == 8, "the recorded name is for programs"


async def test_a_pane_that_lost_lines_and_rows_says_no_more_that_there_are_more() -> None:
    pane = LinesPane(theme=themes.get())
    pane.styles.height = 2
    app = Stage(pane)
    async with app.run_test(size=(40, 10)) as pilot:
        first, second = ((("the first line of these", Style()),), (("the second", Style()),))
        pane.set_lines((first, second))
        await settle(pilot)
        pane.styles.height = 1
        await settle(pilot)
        assert "more line" in screen(app)
        pane.set_lines((first,))
        await settle(pilot)
        assert "more line" not in screen(app)
        assert "the first line of these" in screen(app)


async def test_the_last_line_that_there_is_room_for_is_cut_between_words() -> None:
    pane = LinesPane(theme=themes.get())
    pane.styles.height = 1
    app = Stage(pane)
    async with app.run_test(size=(40, 10)) as pilot:
        pane.set_lines(
            [((f"a burst of 15 W, 5.4{number}22 seconds", Style()),) for number in range(3)]
        )
        await settle(pilot)
        # A figure goes with its unit: "5.4022" alone would say nothing.
        assert screen(app).split("\n")[0].rstrip() == "a burst of 15 W,          … 2 more lines"
