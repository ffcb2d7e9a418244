"""`b` in the list of runs: what belongs to a training is put right by hand, kept, and taken back by
`u`.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from powertui.data import logdir
from powertui.data.logdir import moves
from powertui.screens.grouping import BelongsDialog, PartsDialog
from powertui.screens.open import OpenScreen
from powertui.screens.shell import Shell
from powertui.screens.status import StatusLine
from tests.synthetic.long_training import long_training, two_trainings

from .conftest import Maker, loaded, settled
from .test_training import until

SIZE = (120, 36)


def listed(shell: Shell) -> OpenScreen:
    screen = shell.screen
    assert isinstance(screen, OpenScreen)
    return screen


def on_row(shell: Shell, name: str) -> None:
    """Put the cursor on a run."""
    table = listed(shell).table
    assert table.table is not None
    at = [table.table["run"].text(row) for row in table.rows.tolist()].index(name)
    table.action_to_end(-1)
    table.action_move(at)


def belongs(shell: Shell) -> dict[str, list[str]]:
    folder = shell.session.logdir
    assert folder is not None
    return {one.name: [run.name for run in one.sessions] for one in folder.trainings}


async def grouped(shell: Shell) -> None:
    """Until the trainings of the folder have their rows."""
    await until(
        lambda: "one" in [run.name for run in listed(shell).listed_runs],
        "the trainings are in the list",
    )


async def test_a_session_is_moved_by_b_kept_and_taken_back_by_u(
    make: Maker, tmp_path: Path
) -> None:
    folder = two_trainings(tmp_path / "logs")
    shell = make(folder)
    async with shell.run_test(size=SIZE) as pilot:
        await grouped(shell)
        before = belongs(shell)
        on_row(shell, "train/session_1")
        await pilot.pause()
        why = str(listed(shell).query_one("#problems", Static).render())
        assert (
            "one: 2 sessions, scalars, 1 power log. All of its sessions are in one logdir" in why
        ), "what the grouping rests on"
        await pilot.press("b")
        await until(lambda: isinstance(shell.screen, PartsDialog), "the parts of its training")
        assert shell.screen.query_one(OptionList).highlighted == 1, (
            "the session that was under the cursor"
        )
        await pilot.press("enter")
        await until(lambda: isinstance(shell.screen, BelongsDialog), "where it belongs")
        await pilot.press("down", "enter")
        await until(
            lambda: (
                belongs(shell)
                == {
                    "one": ["one/train/session_0"],
                    "two": ["one/train/session_1", "two/train/session_0"],
                }
            ),
            "moved",
        )
        await settled(pilot)
        page = listed(shell)
        assert "changed by hand" in str(page.query_one("#title", Static).render())
        assert (
            page.query_one("#status", StatusLine).message
            == "The session one/train/session_1 now belongs to two. u undoes it."
        )
        assert logdir.scan(folder).trainings == shell.session.logdir.trainings, (
            "kept for the next start"
        )  # type: ignore[union-attr]
        await pilot.press("u")
        await until(lambda: belongs(shell) == before, "taken back")
        assert moves.load() == ((), ())
        assert "changed by hand" not in str(page.query_one("#title", Static).render())


async def test_marked_runs_go_together_and_a_part_goes_on_its_own(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = make(two_trainings(tmp_path / "logs"))
    async with shell.run_test(size=SIZE) as pilot:
        await grouped(shell)
        for name in ("train/session_0", "train/session_1"):
            on_row(shell, name)
            await pilot.press("space")
        await pilot.press("b")
        await until(lambda: isinstance(shell.screen, BelongsDialog), "where they belong")
        await pilot.press(*"two", "enter")
        await until(
            lambda: [len(sessions) for sessions in belongs(shell).values()] == [0, 3], "both went"
        )
        await grouped(shell)
        on_row(shell, "two")
        await pilot.press("b")
        await until(lambda: isinstance(shell.screen, PartsDialog), "the parts of the training")
        await pilot.press("end", "space", "enter")
        await until(lambda: isinstance(shell.screen, BelongsDialog), "where the power belongs")
        await pilot.press("enter")
        await until(lambda: "two/power.csv" in belongs(shell), "the log is on its own")
        assert len(moves.load()[0]) == 2
        take_back, pressed = moves.take_back, threading.Event()
        monkeypatch.setattr(moves, "take_back", lambda one: pressed.wait(60) and take_back(one))
        await pilot.press("u", "u")  # the second before the first is done: it waits for its turn
        pressed.set()
        await until(
            lambda: [len(sessions) for sessions in belongs(shell).values()] == [2, 1],
            "both taken back",
        )
        assert moves.load() == ((), ())
        await pilot.press("u")
        await settled(pilot)
        assert [len(sessions) for sessions in belongs(shell).values()] == [2, 1], (
            "there is nothing left to undo"
        )


async def test_what_is_open_is_read_as_it_belongs_together_now(make: Maker, tmp_path: Path) -> None:
    shell = make(two_trainings(tmp_path / "logs"))
    async with shell.run_test(size=SIZE) as pilot:
        await grouped(shell)
        on_row(shell, "two/train/session_0")
        await pilot.press("enter")
        await loaded(pilot)
        assert [Path(one.path).parent.name for one in shell.session.run.power] == ["two"]  # type: ignore[union-attr]
        await pilot.press("backspace", "b")
        await until(lambda: isinstance(shell.screen, PartsDialog), "the parts of its training")
        await pilot.press("enter")
        await until(lambda: isinstance(shell.screen, BelongsDialog), "where it belongs")
        await pilot.press("down", "enter")
        await until(lambda: len(belongs(shell)["one"]) == 3, "moved")
        await loaded(pilot)
        await until(lambda: shell.session.training is not None, "its training")
        assert shell.session.training.name == "one"  # type: ignore[union-attr]
        assert [Path(one.path).parent.name for one in shell.session.run.power] == ["one"]  # type: ignore[union-attr]
        assert isinstance(shell.screen, OpenScreen), "the list stays in front"


async def test_esc_changes_nothing_and_u_is_about_the_power_elsewhere(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(two_trainings(tmp_path / "logs"))
    async with shell.run_test(size=SIZE) as pilot:
        await grouped(shell)
        before = belongs(shell)
        await pilot.press("b")
        await until(lambda: isinstance(shell.screen, PartsDialog), "the parts")
        await pilot.press("enter")
        await until(lambda: isinstance(shell.screen, BelongsDialog), "where it belongs")
        await pilot.press("escape")
        await settled(pilot)
        assert belongs(shell) == before
        await pilot.press("u")
        await settled(pilot)
        assert belongs(shell) == before
        assert not moves.place().exists()


async def test_one_training_alone_has_nowhere_to_go(make: Maker, tmp_path: Path) -> None:
    shell = make(long_training(tmp_path / "logs", sessions=()) / "power.csv")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("backspace", "b")
        page = listed(shell)
        await until(
            lambda: "no other training" in page.query_one("#status", StatusLine).message,
            "it says so",
        )
