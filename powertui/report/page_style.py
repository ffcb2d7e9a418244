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
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Iterable[int],
    ) -> list[str]: ...


def style_of(form: str) -> Style:
    """The style of one of the forms "text" and "markdown"."""
    if form == "markdown":
        return _Markdown()
    return _Plain()


class _Plain:
    is_document = False

    def head(self, level: int, words: str) -> list[str]:
        if level == 1:
            return [plain(words)]
        return ["", plain(words)]

    def line(self, words: str, deeper: bool = False) -> str:
        indent = "      " if deeper else "  "
        return indent + plain(words)

    def table(
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Iterable[int],
    ) -> list[str]:
        return text.table(headers, rows, right=right, indent="  ")


class _Markdown:
    is_document = True

    def head(self, level: int, words: str) -> list[str]:
        marks = "#" * (level + 1)  # the first level is the title of the document around it
        return ["", f"{marks} {text.markdown_text(words)}", ""]

    def line(self, words: str, deeper: bool = False) -> str:
        bullet = "  - " if deeper else "- "
        return bullet + text.markdown_text(words)

    def table(
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Iterable[int],
    ) -> list[str]:
        return [*text.markdown(headers, rows, right=right), ""]
