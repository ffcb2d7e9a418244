"""The list of runs, reading, stopping, and what cannot be read."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from textual.widgets import Static

from powertui import cli, demo
from powertui.config import Config
from powertui.data import logdir
from powertui.screens import loader, run_reader
from powertui.screens import open as open_page
from powertui.screens import runs as run_control
from powertui.screens.open import OpenScreen
from powertui.screens.session import Session
from powertui.screens.shell import Shell
from powertui.screens.status import StatusLine
from powertui.screens.timeline import TimelineScreen
from powertui.terminal import theme
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display
from powertui.verbs import common
from powertui.view import run_preview
from powertui.widgets.lines import LinesPane
from powertui.widgets.table import TableView
from tests.synthetic.long_training import long_training
from tests.waiting import until_then

from .conftest import Maker, loaded, settled

SIZE = (130, 30)


def rows(table: TableView) -> list[str]:
    assert table.table is not None
    return [
        " ".join(column.text(row) for column in table.table.columns) for row in table.rows.tolist()
    ]


def paths(table: TableView) -> list[str]:
    assert table.table is not None
    return [str(table.table["path"].value(row)) for row in table.rows.tolist()]


def known(table: TableView) -> list[bool]:
    """Which rows were read, as they stand."""
    assert table.table is not None
    return [table.table["readable"].value(row) is not None for row in table.rows.tolist()]


async def looked(shell: object, count: int) -> TableView:
    """Wait until every run has been looked into."""
    screen = shell.screen  # type: ignore[attr-defined]
    assert isinstance(screen, OpenScreen)
    table = screen.query_one("#runs", TableView)
    await until_then(
        lambda: len(table.rows) == count and all(known(table)),
        lambda: "the runs were not looked into",
    )
    return table


async def concluded(shell: object, count: int) -> TableView:
    """Wait until every run has been looked into, and what is known of it is drawn."""
    table = await looked(shell, count)
    page = shell.screen  # type: ignore[attr-defined]
    await until_then(
        lambda: (
            page.reader.thread is not None
            and not page.reader.thread.is_alive()
            and page._relist_timer is None
        ),
        lambda: "nothing was concluded from the runs",
    )
    return table


async def test_a_run_shows_how_it_is_and_how_it_went(
    make: Maker, data: Path, tmp_path: Path
) -> None:
    for name in ("jax_cpu", "trace_export"):
        shutil.copytree(data / "logdirs" / name, tmp_path / name)
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        table = await concluded(shell, len(shell.session.logdir.runs))
        shown = table.table
        assert shown is not None
        for row in range(len(shown)):
            assert shown["health"].text(row) in set("▲◆●")
            assert shown["bound"].text(row)[:2] == "  "
            assert len(shown["bars"].text(row)) == 12  # with the unit behind
            assert shown["joules"].text(row) == "", "there is no power: not 0 J"
        assert "▪" in table.render_line(1).text
        assert "times in" in str(shell.screen.query_one("#title", Static).render())


async def test_what_to_conclude_from_the_run_under_the_cursor_is_below_the_list(
    make: Maker, data: Path, tmp_path: Path
) -> None:
    for name in ("jax_cpu", "trace_export"):
        shutil.copytree(data / "logdirs" / name, tmp_path / name)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "vm.xplane.pb").write_bytes(b"no profile at all")
    shell = make(tmp_path)
    async with shell.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        table = await concluded(shell, len(shell.session.logdir.runs))
        pane = shell.screen.query_one("#preview", LinesPane)
        height = pane.size.height
        for _ in range(len(table.lines)):
            run = shell.screen._run(table.place)  # type: ignore[attr-defined]
            facts = shell.screen.reader.facts(run)  # type: ignore[attr-defined]
            title, *below = ("".join(text for text, _ in line).strip() for line in pane.lines)
            assert title == run.name
            problem = " ".join(line.strip() for line in facts.problem.splitlines())
            assert " ".join(below).startswith(problem or facts.sentences[0])
            assert pane.size.height == height, "the list does not move with the cursor"
            await pilot.press("down")
            await settled(pilot)
        await pilot.resize_terminal(60, 12)
        await settled(pilot)
        assert not pane.display, "a small window has no line to spare"


def test_the_conclusions_take_no_line_from_a_list_that_fits() -> None:
    around = 5 + 3  # heading, titles, count and keys; why the run is grouped so
    for window_lines in (24, 36, 50):
        for row_count in range(1, window_lines - around - 1):
            height = run_preview.height(row_count, window_lines)
            assert around + row_count + height <= window_lines
            assert height >= 2


async def test_the_list_fills_itself(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert shell.session.logdir is not None
        count = len(shell.session.logdir.runs)
        assert count > 1
        table = await looked(shell, count)
        assert any("jax_cpu" in row and " 20 " in row for row in rows(table))


async def test_a_page_that_comes_up_is_not_drawn_before_it_has_its_widgets(make: Maker) -> None:
    """A busy machine may want a frame in the middle of that."""
    shell = make("logdirs")
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        page = shell.page("timeline")
        assert not page.is_mounted
        page._on_timer_update()


async def test_filter_and_open(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        table = shell.screen.query_one("#runs", TableView)
        everything = len(table.rows)
        await pilot.press("slash", *"jax")
        assert 0 < len(table.rows) < everything
        await pilot.press("enter", "enter")
        await loaded(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        assert shell.session.entry is not None
        assert "jax_cpu" in shell.session.entry.path
        await pilot.press("backspace")
        assert isinstance(shell.screen, OpenScreen)
        await pilot.press("escape")  # closes the filter
        assert len(table.rows) == everything
        await pilot.press("escape")  # back to the run that is open
        assert isinstance(shell.screen, TimelineScreen)


async def test_looking_again_finds_what_came(make: Maker, data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path / "one")
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)  # one run alone is opened at once
        shutil.copytree(data / "logdirs" / "trace_export", tmp_path / "two")
        await pilot.press("backspace", "r")
        await settled(pilot)
        assert len(shell.screen.query_one("#runs", TableView).rows) == 2


async def test_the_folders_are_looked_through_a_few_times_after_a_run_came_and_then_no_more(
    make: Maker, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("powertui.screens.folder_search.WATCHED_S", 3600)  # this test looks itself
    for name in ("one", "two"):
        shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path / name)
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await settled(pilot)
        page = shell.screen
        assert isinstance(page, OpenScreen)
        shutil.copytree(data / "logdirs" / "trace_export", tmp_path / "three")
        folders = []
        for _ in range(9):
            page.folders.watch()
            await settled(pilot)
            folders.append(shell.session.logdir)
        assert len(page.table.rows) == 3
        assert folders[0] is not folders[2], "what comes is still being written"
        assert folders[-1] is folders[-2] is folders[-3]


async def test_power_alone_says_what_was_not_looked_for(make: Maker, tmp_path: Path) -> None:
    rows = [f"{1_700_000_000 + second},{100 + second % 3}" for second in range(120)]
    (tmp_path / "power.csv").write_text("timestamp,watts\n" + "\n".join(rows) + "\n")
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await until_then(lambda: shell.session.complete and shell.session.model is not None)
        await settled(pilot)
        await pilot.press("t")
        await settled(pilot)
        page = shell.screen
        message = page.query_one("#status", StatusLine).message
        assert message == "There are no ops to list: this run has no profile."
        assert not page.query_one("#ops").display
        await pilot.press("3")
        await settled(pilot)
        lines = shell.screen.query_one("#findings", LinesPane).lines
        words = " ".join("".join(text for text, _ in line) for line in lines)
        assert "nothing was looked for in its power" in " ".join(words.split())


async def test_a_folder_without_profiles_says_what_to_do(make: Maker, tmp_path: Path) -> None:
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        text = str(shell.screen.query_one("#problems").render())
        assert "No profile was found" in text
        assert "powertui doctor" in text
        await pilot.press("2")
        assert isinstance(shell.screen, OpenScreen)


async def test_a_file_that_cannot_be_read_is_said_and_the_list_stays(
    make: Maker, tmp_path: Path
) -> None:
    folder = tmp_path / "plugins" / "profile" / "run1"
    folder.mkdir(parents=True)
    (folder / "host.xplane.pb").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    )
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await until_then(
            lambda: (
                isinstance(shell.screen, OpenScreen) and shell.screen.query_one("#status").message
            )
        )  # type: ignore[attr-defined]
        assert "git-lfs pointer" in shell.screen.query_one("#status").message  # type: ignore[attr-defined]
        await pilot.press("q")


async def test_escape_stops_reading(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await until_then(lambda: shell.session.entry is not None)
        if shell.runs.is_loading:
            await pilot.press("escape")
            await pilot.pause()
            assert not shell.runs.is_loading
            message = shell.current().query_one("#status").message  # type: ignore[union-attr]
            assert "stopped" in message


def many(data: Path, folder: Path, count: int) -> Path:
    """So many runs, all of one small profile."""
    profile = next((data / "logdirs" / "jax_cpu").glob("**/*.xplane.pb*"))
    for number in range(count):
        run = folder / f"run{number:04}" / "plugins" / "profile" / "2026_01_02_03_04_05"
        run.mkdir(parents=True)
        shutil.copy(
            profile, run / ("vm.xplane.pb.gz" if profile.suffix == ".gz" else "vm.xplane.pb")
        )
    return folder


async def test_of_very_many_runs_those_in_sight_are_looked_into(
    make: Maker, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (open_page, run_reader):
        monkeypatch.setattr(module, "MAX_READ_RUNS", 100)
    count = 140
    size = (130, 18)
    shell = make(many(data, tmp_path, count))
    async with shell.run_test(size=size) as pilot:
        await pilot.pause()
        table = shell.screen.query_one("#runs", TableView)
        assert len(table.rows) == count
        await until_then(lambda: all(known(table)[table.top : table.top + table.rows_visible]))
        assert not known(table)[-1], "nobody has seen it"
        assert sum(known(table)) <= 2 * size[1]
        await pilot.press("end")
        await until_then(lambda: known(table)[-1])
        assert table.cursor == count - 1
        await pilot.press("pageup", "home", "down")
        assert table.cursor == 1


async def test_the_list_grows_while_folders_are_looked_through(
    make: Maker, data: Path, tmp_path: Path
) -> None:
    """What is found first is shown first; power logs and what is read of each run come when all is
    found.
    """
    shell = make(many(data, tmp_path, 30))
    stages = logdir.stream(tmp_path, 0.0)
    shell.session.logdir, shell.session.rest = next(stages), stages
    assert not shell.session.logdir.complete
    async with shell.run_test(size=SIZE) as pilot:
        await looked(shell, 30)
        await settled(pilot)
        title = str(shell.screen.query_one("#title").render())
        assert "30 runs" in title
        assert "so far" not in title


async def test_the_only_run_of_a_large_tree_is_opened_when_all_is_looked_through(
    make: Maker, data: Path, tmp_path: Path
) -> None:
    shell = make(many(data, tmp_path, 1))
    stages = logdir.stream(tmp_path, 0.0)
    shell.session.logdir, shell.session.rest = next(stages), stages
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        assert isinstance(shell.screen, TimelineScreen)


async def test_the_only_run_is_described_in_the_list_once_it_is_open(make: Maker) -> None:
    shell = make("logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("8")
        table = await concluded(shell, 1)
        assert table.table is not None
        assert table.table["health"].text(0) in set("▲◆●")


async def test_a_run_that_was_open_before_is_not_read_again(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = loader.stream_run

    def counted(entry: logdir.RunEntry, **how: object) -> object:
        read.append(entry.name)
        return real(entry, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(loader, "stream_run", counted)
    shell = make("logdirs")
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert shell.session.logdir is not None
        first, second = shell.session.logdir.runs[:2]
        for entry in (first, second, first):
            shell.runs.open(entry)
            await loaded(pilot)
            assert shell.session.entry is entry
            assert shell.session.trace is not None
            assert shell.session.model is not None
            assert shell.session.model.trace is shell.session.trace
        assert read == [first.name, second.name]
        assert list(shell.session.runs) == [first.path, second.path]
        assert shell.session.opened is not None
        opened = shell.session.opened
        await pilot.press("r")  # anew, all the same
        await loaded(pilot)
        await until_then(lambda: shell.session.opened is not opened)
        assert read == [first.name, second.name, first.name]


async def test_a_run_that_comes_is_listed_by_itself(
    make: Maker, data: Path, tmp_path: Path
) -> None:
    shell = make(many(data, tmp_path, 3))
    async with shell.run_test(size=SIZE) as pilot:
        await settled(pilot)
        table = await looked(shell, 3)
        new = tmp_path / "later" / "plugins" / "profile" / "2026_12_24_18_00_00"
        new.mkdir(parents=True)
        shutil.copy(next((tmp_path / "run0000").glob("**/*.xplane.pb*")), new)
        await until_then(lambda: len(table.rows) == 4)
        assert paths(table)[0] == str(new), "the newest is first"
        await until_then(lambda: all(known(table)))
        shutil.rmtree(tmp_path / "run0001")
        await until_then(lambda: len(table.rows) == 3)


async def test_runs_are_sorted_and_the_cursor_stays_on_its_run(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=(200, 30)) as pilot:
        await settled(pilot)
        assert shell.session.logdir is not None
        table = await looked(shell, len(shell.session.logdir.runs))
        await pilot.press("down")
        was = paths(table)[table.cursor]
        for _ in range(20):
            if table.order.column == "steps":
                break
            await pilot.press("s")
        assert table.order.column == "steps"
        assert paths(table)[table.cursor] == was
        assert table.table is not None
        steps = [table.table["steps"].value(row) or 0 for row in table.rows.tolist()]
        assert steps == sorted(steps, reverse=True)
        await pilot.press("G")
        assert table.cursor == len(table.rows) - 1
        await pilot.press("g")
        assert table.cursor == 0


async def test_joules_of_a_run_stand_in_the_list(make: Maker, data: Path, tmp_path: Path) -> None:
    shutil.copytree(demo.folder(), tmp_path / "burst")
    shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path / "jax")
    shell = make(tmp_path)
    async with shell.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        table = shell.screen.query_one("#runs", TableView)

        def joules() -> list[object]:
            return (
                [table.table["joules"].value(row) for row in table.rows.tolist()]
                if table.table is not None
                else []
            )

        await until_then(lambda: any(joules()))
        assert len([one for one in joules() if one is None]) == len(joules()) - 1, (
            "the runs without power have none, and not 0"
        )


async def test_several_runs_are_marked_and_opened_together(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        table = shell.screen.query_one("#runs", TableView)
        await pilot.press("slash", *"cpu", "enter")
        await settled(pilot)
        with_profile = [
            row
            for row in range(len(table.lines))
            if shell.screen._run(table.table.place(int(table.lines[row]))).profiles
        ]  # type: ignore[attr-defined, union-attr]
        assert len(with_profile) >= 2
        wanted = [table.table.place(int(table.lines[row])).run for row in with_profile[:2]]  # type: ignore[union-attr]
        for row in with_profile[:2]:
            table.action_to_end(-1)
            table.action_move(row)
            await pilot.press("space")
            await settled(pilot)
        assert "2 runs marked" in shell.screen.query_one("#status").message  # type: ignore[attr-defined]
        assert table.table is not None
        marks = {
            table.table.place(row).run: table.table["marked"].text(row)
            for row in range(len(table.table))
        }  # type: ignore[union-attr]
        assert {path for path, mark in marks.items() if mark} == set(wanted)
        table.action_to_end(-1)
        table.action_move(with_profile[0])
        await pilot.press("enter")
        await loaded(pilot)
        await until_then(lambda: set(wanted) <= set(shell.session.runs))
        assert shell.session.entry is not None
        assert shell.session.entry.path == wanted[0]


def named(*words: Path | str) -> Shell:
    """The application of `powertui WORDS…`."""
    args = cli.build_parser("open").parse_args(["open", *map(str, words)])
    (*_, found) = logdir.stream_all(common.sort_out(args))
    capabilities = Capabilities(color="256", glyphs="unicode")
    screen = Display(capabilities, theme.get("dark", "256"), Config())
    return Shell(Session(common.reading_of(args), common.aligning_of(args), logdir=found), screen)


async def test_runs_that_are_named_together_are_opened_together(data: Path) -> None:
    """`powertui A B`: A in front, B beside it; one key leads from one to the other, on the page
    where one is.
    """
    shell = named(data / "logdirs/trace_export", data / "logdirs/jax_cpu")
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        assert shell.session.entry is not None
        assert "trace_export" in shell.session.entry.path
        await until_then(lambda: len(shell.session.runs) == 2)
        assert shell.screen.query_one("#status").message.endswith(
            "is open as well: = compares the two, R shows it."
        )  # type: ignore[attr-defined]
        first, second = shell.session.runs
        await pilot.press("6")
        await settled(pilot)
        assert "R other run" in shell.screen.query_one("#status").text  # type: ignore[attr-defined]
        for path in (second, first):
            await pilot.press("R")
            await loaded(pilot)
            assert shell.session.entry is not None
            assert shell.session.entry.path == path
            assert set(shell.session.runs) == {first, second}, "neither is read again"
            assert shell.screen.page_name == "steps"  # type: ignore[attr-defined]
        await pilot.press("8")
        await settled(pilot)
        table = shell.screen.query_one("#runs", TableView).table
        assert table is not None
        marks = {table.place(row).run: table["marked"].text(row) for row in range(len(table))}  # type: ignore[union-attr]
        assert marks == {first: "front", second: "open"}


async def test_a_path_of_several_runs_is_listed_with_the_others(data: Path) -> None:
    shell = named(data / "logdirs", demo.folder())
    async with shell.run_test(size=SIZE) as pilot:
        await settled(pilot)
        assert isinstance(shell.screen, OpenScreen), "which of them is meant is not known"
        assert shell.session.entry is None
        await pilot.press("R")
        await pilot.pause()
        assert shell.screen.query_one("#status").message.startswith("No other run is open.")  # type: ignore[attr-defined]


async def test_a_power_log_that_is_named_with_a_run_is_its_power(data: Path) -> None:
    profile = next((data / "logdirs/jax_cpu").rglob("*.xplane.pb"))
    log = demo.folder() / "power.csv"
    for words in ((profile, log), (log, profile)):
        shell = named(*words)
        async with shell.run_test(size=SIZE) as pilot:
            await loaded(pilot)
            assert isinstance(shell.screen, TimelineScreen)
            assert shell.session.run is not None
            assert shell.session.run.traces
            assert {series.path for series in shell.session.run.power} == {str(log)}
            assert len(shell.session.together) == 1


async def test_a_named_run_that_cannot_be_read_is_not_open(data: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.xplane.pb"
    broken.write_bytes(b"\xff" * 200)
    shell = named(data / "logdirs/jax_cpu", broken)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await until_then(lambda: len(shell.session.together) == 1)
        assert "jax_cpu" in shell.session.together[0].path
        assert shell.session.next_run() is None


def lines(table: TableView) -> list[str]:
    """The rows as they are drawn, without their mark and what stands right of their names."""
    found = [table.render_line(1 + at).text[3:] for at in range(table.size.height - 2)]
    return [re.sub(r"(?<=\S)  .*", "", line) for line in found if line.strip()]


async def test_sessions_stand_below_their_training_and_fold_away(
    make: Maker, tmp_path: Path
) -> None:
    long_training(tmp_path / "one")
    long_training(tmp_path / "two", sessions=(40.0,))
    long_training(tmp_path / "many", sessions=tuple(range(10, 127, 13)))
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        table = await concluded(shell, 14)
        await until_then(lambda: len(lines(table)) == 5)
        both = ["▾ one", "    train/session_1", "    train/session_0"]
        assert sorted(lines(table)) == sorted([*both, "▸ many (9)", "  two/train/session_0"])
        assert "12 runs, 11 of them in 2 trainings" in str(
            shell.screen.query_one("#title", Static).render()
        )
        assert "12 runs" in table.summary()
        at = lines(table).index("▾ one")
        assert lines(table)[at : at + 3] == both
        # Rows may still change places, as what is found in runs comes in.
        await pilot.press("home")
        for _ in range(2 * len(lines(table))):
            if table.place is not None and table.place.run.endswith("one/train/session_0"):
                break
            await pilot.press("down")
        await pilot.press("z")
        await until_then(lambda: "▸ one (2)" in lines(table))
        assert table.cursor == lines(table).index("▸ one (2)"), (
            "on the training whose session went out of sight"
        )
        await pilot.press("right", "right")
        assert table.place is not None
        assert table.place.run.endswith("session_1")
        await pilot.press("left", "left")
        assert "▸ one (2)" in lines(table)
        await pilot.press("slash", *"session_7", "enter")
        assert lines(table) == ["▾ many", "    train/session_7"], (
            "with its training, which is not folded for one"
        )
        await pilot.press("escape", "slash", *"many", "enter", "home", "right")
        assert len(lines(table)) == 10
        await pilot.press("enter")
        await loaded(pilot)
        assert shell.session.entry is not None
        assert shell.session.entry.name == "many/train/session_0", (
            "the training by its first session"
        )


async def test_a_marked_training_opens_by_its_first_session_and_a_log_says_that_it_has_none(
    make: Maker, tmp_path: Path
) -> None:
    long_training(tmp_path / "one")
    long_training(tmp_path / "two")
    (tmp_path / "alone").mkdir()
    shutil.copy(tmp_path / "one" / "power.csv", tmp_path / "alone" / "power.csv")
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        page = shell.screen
        assert isinstance(page, OpenScreen)
        table = await looked(shell, 7)

        def to(name: str) -> None:
            assert table.table is not None
            table.action_to_end(-1)
            table.action_move(
                [table.table["run"].text(row) for row in table.lines.tolist()].index(name)
            )

        to("alone/power.csv")
        await pilot.press("space")
        await settled(pilot)
        to("alone/power.csv")
        await pilot.press("enter")
        await settled(pilot)
        assert (
            page.query_one("#status", StatusLine).message
            == "None of the marked runs has a profile."
        )
        for name in ("one", "two"):
            to(name)
            await pilot.press("space")
            await settled(pilot)
        await pilot.press("r")  # another look at the folder makes every entry anew
        await looked(shell, 7)
        await settled(pilot)
        to("two")
        await pilot.press("enter")
        await loaded(pilot)
        assert [run.name for run in shell.session.together] == [
            "two/train/session_0",
            "one/train/session_0",
        ]


async def test_a_run_that_is_too_large_to_look_at_says_so_until_it_was_open(
    make: Maker, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_reader, "_MAX_COUNTED_BYTES", 1_000)
    monkeypatch.setattr(run_control, "LOOK_FOR_NEWS_S", 0.01)
    shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path / "a")
    shutil.copytree(data / "logdirs" / "trace_export", tmp_path / "b")
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert shell.session.logdir is not None
        first = next(
            run for run in shell.session.logdir.runs if run.path.startswith(f"{tmp_path}/a")
        )
        table = await looked(shell, 2)

        def finding() -> str:
            assert table.table is not None
            return str(table.table["conclusion"].value(paths_in_table(table).index(first.path)))

        assert finding() == "open to see"
        shell.runs.open(first)
        await loaded(pilot)
        await until_then(lambda: first.path in shell.session.seen)
        await pilot.press("backspace")
        assert isinstance(shell.screen, OpenScreen)
        assert finding() not in ("", "open to see")
        profile = Path(first.profiles[0].path)
        profile.touch()  # another recording, for all the list knows
        shell.screen.session_changed()
        assert finding() == "open to see"


def paths_in_table(table: TableView) -> list[str]:
    assert table.table is not None
    return [str(table.table["path"].value(row)) for row in range(len(table.table))]
