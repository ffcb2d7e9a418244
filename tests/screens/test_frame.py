"""What stands around every page: the top line, the footer, the messages, help, and the way back."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.widgets import OptionList

from powertui import demo
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account
from powertui.screens import SCREENS, frame, status
from powertui.screens.base import BaseScreen
from powertui.screens.help import HelpScreen, page_lines
from powertui.screens.messages import MessagesDialog
from powertui.screens.palette import Palette
from powertui.screens.shell import Shell
from powertui.screens.status import Hint, StatusLine
from powertui.screens.top_line import TopLine
from powertui.screens.trail import Trail
from powertui.terminal import keymap, theme
from powertui.view import top_line, truncation
from powertui.view.top_line import Head, Tab
from powertui.widgets.table import TableView
from tests.waiting import until_then

from .conftest import Maker, loaded, settled

pytestmark = pytest.mark.usefixtures("read_once")

SIZE = (120, 36)


def top(shell: Shell) -> TopLine:
    return shell.screen.query_one(TopLine)


def bottom(shell: Shell) -> StatusLine:
    return shell.screen.query_one(StatusLine)


def here(shell: Shell) -> str:
    page = shell.current()
    assert isinstance(page, BaseScreen)
    return page.page_name


async def test_the_top_line_names_the_run_its_clock_and_the_pages(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(160, 36)) as pilot:
        await loaded(pilot)
        text = top(shell).text
        for words in (
            "1_34_05",
            "vm",
            "20.96 s",
            "power timed to ±278 ms",
            "2 Timeline",
            "3 Findings",
            "6 Steps",
        ):
            assert words in text, words
        assert [tab.name for tab in top(shell).tabs if tab.present] == ["timeline"]
        assert "live" in [tab.name for tab in top(shell).tabs if tab.dim]
        profile = shell.session.profile
        assert profile is not None
        assert shell.session.opened is not None
        conclusions = run_conclusions(shell.session.opened, shell.session.aligning)
        shell.runs.tell_news()
        assert f"Findings·{len(conclusions)}" in top(shell).text


async def test_every_page_is_reached_by_its_key_and_by_a_click_and_is_never_empty(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        for entry in SCREENS:
            if not entry.key:
                continue
            other = "symmetry" if entry.name != "symmetry" else "timeline"
            shell.show(other)
            await settled(pilot)
            await pilot.press(entry.key)
            await settled(pilot)
            assert here(shell) == entry.name
            shell.show(other)
            await settled(pilot)
            line = top_line.top_line_pieces(top(shell).head, top(shell).tabs, SIZE[0])
            x = next(x for x in range(SIZE[0]) if top_line.page_at(line, x) == entry.name)
            await pilot.click(offset=(x, 0))
            await settled(pilot)
            assert here(shell) == entry.name


async def test_a_page_without_content_says_why(make: Maker) -> None:
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        assert "No power log" in frame.why_empty(shell.session, "alignment")
        assert "no power" in top(shell).text
        assert frame.why_empty(shell.session, "timeline") == ""
        await pilot.press("4")
        await settled(pilot)
        shown = "\n".join(
            "".join(segment.text for segment in strip)
            for strip in shell.screen._compositor.render_strips()
        )
        assert "No power log was found" in shown


HEAD = Head(
    "logs/Nfit/20261121/train/2026_11_21_01_34_05",
    "node-17",
    "20.96 s",
    ("power ±11 ms by clock", "±11 ms"),
)
TABS = tuple(
    Tab(
        name=entry.name,
        key=entry.key,
        title=entry.title,
        present=entry.name == "steps",
        news=2 if entry.name == "symmetry" else 0,
        dim=entry.name == "live",
    )
    for entry in sorted(SCREENS, key=lambda entry: entry.key)
    if entry.key
)


class TopLines(App[None]):
    """The same top line in windows of several widths."""

    WIDTHS = (60, 80, 100, 120, 160, 200)

    def compose(self) -> ComposeResult:
        for width in self.WIDTHS:
            line = TopLine(theme=theme.get("dark", "256"), show=self.notify, id=f"width-{width}")
            line.styles.width = width
            line.tell(HEAD, TABS)
            yield line


def test_the_top_line_in_a_picture(snap_compare: Any) -> None:
    assert snap_compare(TopLines(), terminal_size=(max(TopLines.WIDTHS), len(TopLines.WIDTHS)))


@pytest.mark.parametrize("room", range(60, 220, 7))
def test_the_line_keeps_the_page_in_front_and_what_is_new(room: int) -> None:
    line = top_line.top_line_pieces(HEAD, TABS, room)
    text = "".join(piece.text for piece in line)
    assert len(text) <= room
    assert "6 Steps" in text
    assert "3 Findings·2" in text or "3 Find·2" in text
    assert room < 80 or "1 Over" in text, "pages have names in the narrowest usual window"
    assert "…" in text or HEAD.name in text
    assert {top_line.page_at(line, x) for x in range(room)} >= {tab.name for tab in TABS}


def test_all_pages_have_names_at_120_columns() -> None:
    text = "".join(piece.text for piece in top_line.top_line_pieces(HEAD, TABS, 120))
    assert "4 Align" in text
    assert "9 Live" in text


def test_pages_without_content_have_names_where_most_pages_are_such() -> None:
    tabs = [replace(tab, news=0, dim=not tab.present) for tab in TABS]
    line = top_line.top_line_pieces(Head("live power"), tabs, 80)
    assert "1 Over 2 Time 3 Find 4 Align 5 Ops [6 Steps]" in "".join(piece.text for piece in line)


@pytest.mark.parametrize("folder", [".", "/work/logs", "/work/shared/data/public/kineto_hta_diff"])
def test_pages_have_names_at_80_columns_while_no_run_is_open(folder: str) -> None:
    """However long the folder's name is: the line below has all of it."""
    tabs = [replace(tab, news=0, dim=not tab.present) for tab in TABS]
    line = top_line.top_line_pieces(Head(folder), tabs, 80)
    text = "".join(piece.text for piece in line)
    assert "1 Over 2 Time 3 Find 4 Align 5 Ops [6 Steps]" in text
    assert text.startswith(f" {folder[:3]}")


def test_words_are_cut_with_a_sign() -> None:
    assert truncation.middle("conv2d_1_2/Conv2DBackpropFilter", 20) == "conv2d_1_2…ropFilter"
    assert truncation.end("validation", 4) == "val…"
    for cells in range(1, 12):
        assert len(truncation.middle("abcdefghijkl", cells)) <= cells
        assert "…" in truncation.middle("abcdefghijkl", cells)
    assert truncation.middle("界界界界界", 8) == "界界…界"


def test_a_footer_leaves_out_whole_hints_and_says_so() -> None:
    hints = [
        Hint("Enter", "show it in the timeline"),
        Hint("m", "window"),
        Hint("/", "search all names"),
    ]
    way = status.WayBack("", ("Findings", "Timeline", "Runs"))
    back = [
        Hint("Esc", words)
        for words in ("Findings", "back to Findings", "back to Findings ‹ Timeline ‹ Runs")
    ]
    assert status.fitting(hints, way, 120) == [*hints, back[2], status.HELP]
    assert status.fitting(hints, way, 93) == [*hints, back[1], status.HELP]
    assert status.fitting(hints, way, 66) == [hints[0], None, back[1], status.HELP]
    assert status.fitting(hints, way, 57) == [hints[0], None, back[0], status.HELP]
    assert status.fitting(hints, way, 20) == [None, back[0], status.HELP], (
        "the way back is always told"
    )
    assert status.fitting(hints, status.WayBack("the filter", ("Runs",)), 50)[-2] == Hint(
        "Esc", "closes the filter"
    )


async def test_the_footer_follows_the_selection(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        assert "w/s zoom" in bottom(shell).text
        await pilot.press("m", "shift+right", "m")
        await settled(pilot)
        await pilot.press("ctrl+l")
        await settled(pilot)
        assert "e export it" in bottom(shell).text
        assert "Esc closes the window" in bottom(shell).text
        await pilot.press("escape")
        await settled(pilot)
        assert "e export it" not in bottom(shell).text


async def test_a_long_message_is_told_to_go_on_and_is_kept(make: Maker) -> None:
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        said = (
            "The power log and the trace do not overlap: "
            + "very long words indeed, " * 6
            + "which is the end."
        )
        shell.say(said)
        await pilot.pause()
        assert bottom(shell).text.rstrip().endswith("… ! shows all of it")
        await pilot.press("exclamation_mark")
        await settled(pilot)
        assert isinstance(shell.screen, MessagesDialog)
        shown = " ".join(
            "".join(segment.text for segment in strip)
            for strip in shell.screen._compositor.render_strips()
        )
        assert "which is the end." in shown
        await pilot.press("escape")
        await settled(pilot)
        assert here(shell) == "timeline"
        assert next(message.text for message in shell.messages) == said


async def test_help_shows_this_page_first_and_alone(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("4", "question_mark")
        await settled(pilot)
        assert isinstance(shell.screen, HelpScreen)
        text = "\n".join(
            "".join(segment.text for segment in strip)
            for strip in shell.screen._compositor.render_strips()
        )
        assert "Use this alignment" in text
        assert "Zoom in" not in text
        await pilot.press("tab")
        await settled(pilot)
        text = "\n".join(
            "".join(segment.text for segment in strip)
            for strip in shell.screen._compositor.render_strips()
        )
        assert "Zoom in" in text
        assert "Use this alignment" not in text
        assert "Esc back to Alignment" in bottom(shell).text
        await pilot.press("escape")
        await settled(pilot)
        assert here(shell) == "alignment"


def test_help_knows_every_page() -> None:
    for entry in SCREENS:
        groups = [group[0].keys for group in page_lines(entry.name)]
        assert groups[-1] == "Everywhere"
        assert len(groups) > 2 or entry.name == "help", entry.name


def test_the_way_back() -> None:
    trail = Trail()
    trail.turn("open", "timeline", "page")
    trail.turn("timeline", "symmetry", "page")
    assert trail.last == "timeline"
    trail.turn("symmetry", "timeline", "into")
    assert trail.last == "symmetry", "what led into the timeline is gone back to"
    trail.turn("timeline", "symmetry", "back")
    assert trail.last == "timeline"
    trail.turn("symmetry", "timeline", "page")
    assert trail.last == "open", "going to and fro leaves no trail"
    for _ in range(50):
        trail.turn("timeline", "ops", "into")
        trail.turn("ops", "timeline", "into")
    assert len(trail._left) <= 20


async def test_a_finding_is_gone_to_as_the_window_and_escape_leads_back(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        profile = shell.session.profile
        assert profile is not None
        one = account.findings(profile, shell.session.aligning).findings[0]
        await pilot.press("enter")
        await settled(pilot)
        assert here(shell) == "timeline"
        assert shell.session.window == (one.start_ps, one.end_ps)
        assert shell.screen.timeline.window == (one.start_ps, one.end_ps)  # type: ignore[attr-defined]
        await pilot.press("escape")  # the window
        assert "Esc back to Findings" in bottom(shell).text
        await pilot.press("escape")
        await settled(pilot)
        assert here(shell) == "symmetry"
        await pilot.press("escape")
        await settled(pilot)
        assert here(shell) == "timeline"


async def test_the_palette_shows_no_raw_line_end(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("colon", *"epoch 99")
        await settled(pilot)
        assert isinstance(shell.screen, Palette)
        text = "\n".join(
            "".join(segment.text for segment in strip)
            for strip in shell.screen._compositor.render_strips()
        )
        assert "\\n" not in text


async def test_a_click_in_the_palette_counts_for_the_row_that_was_clicked(make: Maker) -> None:
    """It is told a moment later: what was typed meanwhile may have left one row of the list."""
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("colon")
        await settled(pilot)
        palette = shell.screen
        assert isinstance(palette, Palette)
        listed = palette.query_one(OptionList)
        number, clicked = next(
            (i, option) for i, option in enumerate(listed.options) if i and option.id == "do:help"
        )
        palette.fill("epoch 99")
        assert listed.option_count == 1 <= number
        palette.on_option_list_option_selected(OptionList.OptionSelected(listed, clicked, number))
        await settled(pilot)
        assert here(shell) == "help"


async def test_a_command_of_a_page_that_is_no_longer_in_front_does_nothing(make: Maker) -> None:
    """The palette's answer is called back a moment later: the run that was being read may have come
    to the front meanwhile.
    """
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        shell.show("overview")
        await settled(pilot)
        for action in keymap.on_screen("timeline"):
            if not {"*", "overview"} & set(action.screens):
                await shell.run_command(f"do:{action.id}")
        await settled(pilot)
        assert here(shell) == "overview"


SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", ["symmetry", "alignment", "ops", "steps", "tool", "help"])
def test_pages(
    snap_compare: Any, make: Maker, monkeypatch: pytest.MonkeyPatch, page: str, size: str
) -> None:
    monkeypatch.setattr("powertui.screens.help.__version__", "x.y.z")

    async def before(pilot: Any) -> None:
        await loaded(pilot)
        pilot.app.action_help() if page == "help" else pilot.app.show(page)
        await settled(pilot)
        pilot.app.say("")
        await settled(pilot)

    assert snap_compare(make(), terminal_size=SIZES[size], run_before=before)


async def test_a_power_log_alone_has_no_dead_page(make: Maker) -> None:
    """At 80 columns, too, the page in front is marked; what can have no content is dim and says
    why.
    """
    shell = make(demo.power_file())
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        assert "[2 Time" in top(shell).text
        dim = {tab.name for tab in top(shell).tabs if tab.dim}
        assert "timeline" not in dim
        for tab in top(shell).tabs:
            if tab.name in dim - {"live"}:
                await pilot.press(tab.key)
                await settled(pilot)
                assert f"[{tab.key} {tab.title[:4]}" in top(shell).text
                shown = "\n".join(
                    "".join(segment.text for segment in strip)
                    for strip in shell.screen._compositor.render_strips()
                )
                assert frame.why_empty(shell.session, tab.name)[:60] in " ".join(shown.split())
                assert "\\n" not in shown


async def test_what_is_found_is_read_in_full_at_80_columns(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        lines = [
            "".join(segment.text for segment in strip)
            for strip in shell.screen._compositor.render_strips()
        ]
        first = next(y for y, line in enumerate(lines) if line.startswith(" > "))
        below = [line[14:] for line in lines[first:-1]]  # without what each costs
        text = " ".join(" ".join(below).split())
        assert "+149 J that nothing in the profile explains" in text
        assert "sure · 15.77 … 18.29 s" in text
        assert "To do: Ask what else ran on this machine then" in text
        assert not any("…" in re.sub(" … |…/", "", line) for line in below), below


async def test_the_op_table_below_the_timeline_groups_and_shows_wrappers(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("t")
        await settled(pilot)
        table = shell.screen.query_one("#ops", TableView)
        assert table.table is not None
        listed = len(table.rows)
        before = shell.screen.timeline.viewport  # type: ignore[attr-defined]
        assert "g group" in bottom(shell).text
        await pilot.press("x")
        await settled(pilot)
        assert len(table.rows) > listed
        await pilot.press("g", "end")
        await settled(pilot)
        assert table.order.group == "type"
        assert table.group is not None
        assert "Enter unfold" in bottom(shell).text
        assert shell.screen.timeline.viewport == before  # type: ignore[attr-defined]


async def test_what_changes_while_frames_wait_is_drawn_when_they_leave(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layout that could not leave, then a change of one line: the line is in the next frame."""
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        drawn: list[int] = []
        line = top(shell)
        render_line = line.render_line
        monkeypatch.setattr(line, "render_line", lambda y: drawn.append(y) or render_line(y))
        with monkeypatch.context() as held:
            held.setattr(Shell, "holds_frames", True)
            shell.screen._compositor_refresh()
            line.refresh()
            await pilot.pause(0.1)
            assert drawn == []
        await until_then(lambda: drawn != [])
