"""Keys on what has no size: every page and every dialog, before the first layout and in windows of
one row or column.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from powertui.screens import SCREENS
from powertui.screens.base import Dialog
from tests.monkey.worlds import worlds

from .conftest import Maker, loaded, press_at_once, settled
from .test_markers import two_markers

ROOT = Path(__file__).resolve().parents[2]
SIZES = ((1, 1), (200, 1), (1, 50), (3, 3), (80, 24))
SHOWN = [f"{width}x{height}" for width, height in SIZES]
MOVES = (
    *(
        "pagedown",
        "pageup",
        "pagedown",
        "end",
        "pagedown",
        "home",
        "pageup",
        "down",
        "up",
        "left",
        "right",
        "tab",
        "shift+tab",
    ),
    *(
        "pagedown",
        "shift+left",
        "shift+right",
        "ctrl+left",
        "ctrl+end",
        "ctrl+home",
        "insert",
        "delete",
        "space",
        "pageup",
    ),
)
FIRST = ("pagedown", "pageup", "end", "home")
DIALOGS = ("T", "e", "colon", "exclamation_mark")
TEXTUALS = ("OptionList", "SelectionList", "ListView", "DataTable", "Tree", "TextArea")
BOXES = ("slash", "F", "t", "i", "b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worlds")


@pytest.mark.parametrize("size", SIZES, ids=SHOWN)
async def test_keys_move_in_dialogs_and_boxes_that_have_no_room(
    make: Maker, tmp_path: Path, size: tuple[int, int]
) -> None:
    for path, openers in (("demo", DIALOGS), (two_markers(tmp_path), ("M",))):
        shell = make(path)
        async with shell.run_test(size=size) as pilot:
            await loaded(pilot)
            for opener in openers:
                press_at_once(shell, opener)
                await settled(pilot)
                assert isinstance(shell.screen, Dialog), opener
                press_at_once(shell, "escape")
                for key in FIRST:  # each one on a list that nobody has touched yet
                    press_at_once(shell, opener, key, "escape")
                press_at_once(shell, opener, *MOVES, "escape", "escape", "2")
                await settled(pilot)
            for opener in BOXES:
                press_at_once(shell, opener, *FIRST, "escape", "escape", "2")
            await settled(pilot)
        assert shell._exception is None


@pytest.mark.parametrize("size", SIZES, ids=SHOWN)
async def test_the_questions_where_a_run_belongs_have_no_room(
    make: Maker, folder: Path, size: tuple[int, int]
) -> None:
    shell = make(Path(worlds(folder)["sessions"].arguments[1]))
    async with shell.run_test(size=size) as pilot:
        await loaded(pilot)
        press_at_once(shell, "8")
        await settled(pilot)
        for keys in (FIRST, MOVES):
            press_at_once(shell, "b")
            await settled(pilot)
            assert isinstance(shell.screen, Dialog) or size != (80, 24)
            press_at_once(shell, *keys, "enter", *keys, "escape", "escape", "8")
            await settled(pilot)
    assert shell._exception is None


@pytest.mark.parametrize("size", SIZES, ids=SHOWN)
@pytest.mark.parametrize("world", ["demo", "many", "power-only"])
async def test_keys_move_on_every_page_that_has_no_room(
    make: Maker, folder: Path, world: str, size: tuple[int, int]
) -> None:
    shell = make(Path(worlds(folder)[world].arguments[1]))
    async with shell.run_test(size=size) as pilot:
        for entry in SCREENS:
            press_at_once(shell, entry.key or "question_mark", *FIRST)  # before anything is there
        await settled(pilot)
        for entry in SCREENS:
            press_at_once(shell, entry.key or "question_mark", *MOVES)
        await settled(pilot)
    assert shell._exception is None


def test_every_list_is_ours() -> None:
    """Textual's own list looks for lines that only a list with a size has."""
    outside = []
    for path in sorted((ROOT / "powertui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in TEXTUALS
            ):
                outside.append(f"{path.relative_to(ROOT)}: {node.func.id}")
    assert outside == []
