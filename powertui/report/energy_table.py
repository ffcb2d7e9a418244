"""How a page of energies writes its lines and tables: as wide as the terminal, in one unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from powertui import wrapping
from powertui.plain import plain, width
from powertui.report.energy_words import EnergyWords, is_plainly_measured
from powertui.report.page_style import Style
from powertui.value_types import dataclass

_COLUMNS = 80  # that a table may have where no terminal says otherwise
# What a narrow table can do without, the least important first.
_SPARE = ("max", "from", "steps", "gain", "a step")


@dataclass(frozen=True)
class PageWriter:
    """How one page is written."""

    style: Style
    words: EnergyWords
    is_verbose: bool

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        """A table that fits the terminal; all of it with `--verbose`. The first column is text."""
        table = _Columns(list(headers), [list(row) for row in rows])
        # A document is read in any width, and `--verbose` asks for everything.
        if not self.is_verbose and not self.style.is_document:
            table.fit(wrapping.terminal_columns() or _COLUMNS)
        numbers = range(1, len(table.headers))
        return self.style.table(table.headers, table.rows, numbers)

    def answer(self, words: str) -> str:
        """A line of the answer, which begins where the terminal does."""
        if self.style.is_document:
            return self.style.line(words)
        parts = wrapping.wrapped(plain(words), wrapping.terminal_columns())
        return "\n".join(parts)

    def line(self, words: str) -> str:
        """A sentence, broken where the terminal ends."""
        line = self.style.line(words)
        if self.style.is_document:
            return line
        indent = line[: len(line) - len(line.lstrip())]
        room = wrapping.terminal_columns() - len(indent)
        parts = wrapping.wrapped(line.strip(), room)
        return "\n".join(indent + part for part in parts)

    def lines(self, sentences: Iterable[str]) -> list[str]:
        """The same of several sentences."""
        return [self.line(sentence) for sentence in sentences]

    def omitted(self, count: int, shown: int) -> list[str]:
        """How many of the rows a table leaves out."""
        if count <= shown:
            return []
        return [self.line(f"… and {count - shown:,} more (--json lists them)")]


@dataclass
class _Columns:
    """The columns of a table, while it is made to fit."""

    headers: list[str]
    rows: list[list[str]]

    def fit(self, room: int) -> None:
        """Leave out what says nothing, then what the table can do without, until there is room."""
        self.shorten("quality")
        if all(is_plainly_measured(cell) for cell in self.cells("quality")):
            self.drop("quality")
        for header in _SPARE:
            if self.width() <= room:
                break
            self.drop(header)

    def cells(self, header: str) -> list[str]:
        """The cells below a header."""
        if header not in self.headers:
            return []
        column = self.headers.index(header)
        return [row[column] for row in self.rows]

    def drop(self, header: str) -> None:
        """Leave a column out."""
        if header not in self.headers:
            return
        column = self.headers.index(header)
        del self.headers[column]
        for row in self.rows:
            del row[column]

    def shorten(self, header: str) -> None:
        """Leave of each cell what comes before the first semicolon."""
        if header not in self.headers:
            return
        column = self.headers.index(header)
        for row in self.rows:
            row[column] = row[column].split(";", 1)[0]

    def width(self) -> int:
        """Cells that it takes, without its empty columns."""
        cells = 0
        for column, header in enumerate(self.headers):
            widths = [width(plain(row[column])) for row in self.rows]
            widest = max(widths, default=0)
            if widest:
                cells += max(widest, width(header)) + 2  # two blanks to the next column
        return cells
