"""The words of the help page and of docs/glossary.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.screens import SCREENS
from powertui.view import glossary

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_the_page_holds_the_table() -> None:
    assert glossary.markdown() in PAGE.read_text(encoding="utf-8"), "run scripts/doc_tables.py"


def test_words_are_unique_and_in_order() -> None:
    words = [term.word for term in glossary.TERMS]
    assert words == sorted(set(words))


def test_every_page_of_a_word_is_a_screen() -> None:
    screens = {entry.name for entry in SCREENS} | {entry.acts_as for entry in SCREENS}
    for term in glossary.TERMS:
        assert set(term.pages) <= screens | {glossary.EVERYWHERE}, term.word


def test_every_page_has_words() -> None:
    for page in glossary.PAGES:
        assert len(glossary.terms_of(page)) > 5, page


def test_there_are_about_forty_words_in_two_lines_each() -> None:
    assert len(glossary.TERMS) <= 40
    for term in glossary.TERMS:
        assert len(f"{term.word}: {term.meaning}") <= 2 * 90, term.word


@pytest.mark.parametrize(
    ("word", "below"),
    [
        ("ambiguous", "aligned"),
        ("corrected", "clock"),
        ("dispatch", "launch delay"),
        ("gap", "coverage"),
        ("median step", "step"),
        ("not profiled", "training"),
        ("polled", "refresh"),
        ("recording", "mark"),
        ("sessions", "training"),
        ("smaller difference", "finding"),
        ("undisturbed step", "step"),
        ("within-run only", "run to run"),
    ],
)
def test_a_word_that_is_explained_beside_another_is_on_its_line(word: str, below: str) -> None:
    (term,) = (term for term in glossary.TERMS if term.word == below)
    assert word in term.meaning
