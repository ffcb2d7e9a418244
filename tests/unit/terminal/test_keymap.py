"""The one table of actions: no key means two things, and everything that is made from it agrees."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock, create_autospec

import pytest

from powertui.screens import SCREENS
from powertui.terminal import keymap
from powertui.view.navigation import Navigator


def _clashes() -> list[str]:
    """Keys that mean two things on one screen."""
    found: list[str] = []
    screens = {name for action in keymap.ACTIONS for name in action.screens if name != "*"}
    for screen in sorted(screens):
        titles: dict[str, str] = {}
        for action in keymap.on_screen(screen):
            for key in action.keys:
                if key in titles:
                    found.append(f"{screen}: {key} is {titles[key]} and {action.id}")
                titles[key] = action.id
    return found


def test_no_key_means_two_things_on_one_screen() -> None:
    assert _clashes() == []


def test_identifiers_are_unique_and_written_out() -> None:
    ids = [action.id for action in keymap.ACTIONS]
    assert len(ids) == len(set(ids))
    for action in keymap.ACTIONS:
        assert action.title
        assert action.keys
        assert action.method.isidentifier()


def test_number_keys_belong_to_screens() -> None:
    numbers = [spec.key for spec in SCREENS if spec.key]
    assert len(numbers) == len(set(numbers))
    taken = {key for action in keymap.ACTIONS for key in action.keys}
    assert not taken & set(numbers)


def test_moves_of_the_timeline_are_methods_of_its_navigator() -> None:
    moves = []
    page = MagicMock()
    page.timeline.move.side_effect = moves.append
    for action in keymap.ACTIONS:
        if action.do is not None and "timeline" in action.screens:
            action.do(page)
    assert len(moves) > 10
    for move in moves:
        move(create_autospec(Navigator, instance=True))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("left_square_bracket", "["),
        ("ctrl+c", "Ctrl+C"),
        ("W", "W"),
        ("full_stop", "."),
        ("shift+tab", "Shift+Tab"),
    ],
)
def test_keys_as_a_person_reads_them(key: str, text: str) -> None:
    assert keymap.shown(key) == text


def test_the_table_names_every_action_once() -> None:
    rows = [line for line in keymap.markdown().splitlines() if not line.startswith("| **")]
    for action in keymap.ACTIONS:
        text = f"{action.title}: {action.help}" if action.help else action.title
        assert sum(row.endswith(f" | {text} |") for row in rows) == 1, action.id


def test_the_page_of_keys_holds_the_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "keys.md"
    assert keymap.markdown() in page.read_text(encoding="utf-8"), "run scripts/doc_tables.py"
