"""How the lines of a page are written: for a terminal, or as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from powertui.plain import plain
from powertui.report import text


class Style(Protocol):
    """Headings of level 1 and 2, lines, and tables whose columns in `right` hold numbers."""

    is_document: bool  # Markdown, in which a heading comes first

    def head(self, level: int, words: str) -> list[str]: ...
    def line(self, words: str, deeper: bool = False) -> str: ...
    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int]
    ) -> list[str]: ...


def style_of(form: str) -> Style:
    """The style of one of the forms "text" and "markdown"."""
    return _Markdown() if form == "markdown" else _Plain()


class _Plain:
    is_document = False

    def head(self, level: int, words: str) -> list[str]:
        return [plain(words)] if level == 1 else ["", plain(words)]

    def line(self, words: str, deeper: bool = False) -> str:
        return ("      " if deeper else "  ") + plain(words)

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int]
    ) -> list[str]:
        return text.table(headers, rows, right=right, indent="  ")


class _Markdown:
    is_document = True

    def head(self, level: int, words: str) -> list[str]:
        return ["", "#" * (level + 1) + " " + text.markdown_text(words), ""]

    def line(self, words: str, deeper: bool = False) -> str:
        return ("  - " if deeper else "- ") + text.markdown_text(words)

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int]
    ) -> list[str]:
        return [*text.markdown(headers, rows, right=right), ""]
