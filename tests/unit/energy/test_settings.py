"""The numbers that energy answers are made with: few, each with a reason, none hidden."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from powertui.data.energy import settings
from scripts import tuned_numbers

# What is there now. A new number takes the place of an old one; asked are 150.
MAX_TUNED = 283
MAX_WORK = 145
MAX_UNNAMED = 30
SETTINGS = Path(settings.__file__)


def test_no_number_that_somebody_chose_is_added_to_the_energy_answers() -> None:
    named = [
        number for path in tuned_numbers.files() for number in tuned_numbers.named_numbers(path)
    ]
    unnamed = [
        number for path in tuned_numbers.files() for number in tuned_numbers.unnamed_numbers(path)
    ]
    work = sum(number.is_work for number in named)
    assert len(named) - work <= MAX_TUNED
    assert work <= MAX_WORK
    assert len(unnamed) <= MAX_UNNAMED


def test_each_setting_says_what_it_rests_on() -> None:
    text = SETTINGS.read_text()
    comments = re.findall(r"((?:^# (?!──).*\n)+)^([A-Z_]+) = ", text, re.M)
    names = {number.name for number in tuned_numbers.named_numbers(SETTINGS)}
    assert {name for _, name in comments} == names
    evidence = re.compile(
        r"[Cc]hosen|[Hh]alf|At 0\.5|as most BMCs|\b1 in \d|by chance|interval|one and|were off by"
    )
    assert [name for comment, name in comments if not evidence.search(comment)] == []


def test_no_setting_is_left_that_nothing_uses() -> None:
    used: set[str] = set()
    for path in tuned_numbers.files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "settings":
                used.add(node.attr)
    assert used == {number.name for number in tuned_numbers.named_numbers(SETTINGS)}


@pytest.mark.parametrize(
    ("code", "tuned", "work", "unnamed"),
    [
        ("_MIN_SHARE = 0.3", 1, 0, 0),
        ("_MIN_SHARE, _MIN_S = 0.3, 2.0", 2, 0, 0),
        ("_MIN_SHARE = settings.MINOR_SHARE", 0, 0, 0),
        ("class _FitRules:\n    care: float = 2.0", 1, 0, 0),
        ("class Row:\n    level: int = 0", 0, 0, 0),
        ("_CHUNK_CELLS = 400_000", 0, 1, 0),
        ("IDLE, WORK = range(2)", 0, 0, 0),
        ("_GOLDEN_RATIO = 0.618", 0, 0, 0),
        ("def f(x):\n    return x > 0.85", 0, 0, 1),
        ("def f(x):\n    return x / 2 + 0.5 + 1e-12", 0, 0, 0),
    ],
)
def test_what_counts_as_a_number_that_somebody_chose(
    tmp_path: Path, code: str, tuned: int, work: int, unnamed: int
) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    named = tuned_numbers.named_numbers(path)
    assert sum(not number.is_work for number in named) == tuned
    assert sum(number.is_work for number in named) == work
    assert len(tuned_numbers.unnamed_numbers(path)) == unnamed
