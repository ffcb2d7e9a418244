"""From rendered lines to the fewest bytes: a model of the screen, and the difference to what the
terminal already shows.

Textual writes every line that a widget calls dirty, and every run of it as `SGR text SGR0`. On a
dense timeline that is 77 KB a frame. The painter keeps two pictures of the screen as numbers, what
it should show and what the terminal shows, and sends

* only cells that differ, hopping over equal ones;
* only the attributes that change from one run to the next;
* a row that moved sideways (a pan) as "delete n characters, insert n characters" and the few
  columns that are new.

It is also the last line of defence: a control character that is left in a text becomes a
replacement sign here, characters that the terminal's encoding or font lacks become similar ones,
and colors are reduced to what it has.

`row_writer` writes a row, `sideways` sees what moved, `sgr` knows looks by number, `cells` how a
cell is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.cells import get_character_cell_size
from rich.color_triplet import ColorTriplet
from rich.segment import Segment

from powertui.terminal import plus_minus
from powertui.terminal.cells import (
    CODE_MASK,
    FIRST_CLUSTER,
    LOOK_SHIFT,
    SPACE,
    TAIL,
    UNKNOWN,
    CellCodes,
)
from powertui.terminal.row_writer import RowWriter
from powertui.terminal.sgr import Pens
from powertui.terminal.sideways import find_move
from powertui.terminal.transliterate import translator

# Ranges in which every character takes one cell: the quick way for nearly every line.
_SINGLE = re.compile(
    "[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u2319\u2500-\u25fc\u2800-\u28ff\ufffd]*"
).fullmatch


class Painter:
    """Two pictures of one screen and the way from one to the other."""

    def __init__(
        self,
        color: str = "true",
        glyphs: str = "unicode",
        *,
        encoding: str = "utf-8",
        shift: bool = True,
        clears_in_color: bool = False,
        page: ColorTriplet | None = None,
        ink: ColorTriplet | None = None,
    ) -> None:
        self.pens = Pens(color, page, ink)
        self.shift = shift
        self._clears_in_color = clears_in_color
        self._translate = translator(glyphs, encoding)
        self._is_ascii = glyphs == "ascii"
        self._clusters: list[str] = [""]
        self._cluster_ids: dict[str, int] = {"": TAIL}
        self.wanted: CellCodes = np.full((0, 0), SPACE, np.int64)
        self.shown: CellCodes = np.full((0, 0), UNKNOWN, np.int64)
        self._clear = True
        self._touched = True  # something may differ; False: nothing does

    # ── what the screen should show ──────────────────────────────────────────────────────────────

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self.wanted.shape[1], self.wanted.shape[0]

    def resize(self, width: int, height: int) -> None:
        """The terminal has another size: nothing that it shows can be relied on."""
        if (width, height) != self.size:
            target = np.full((height, width), SPACE, np.int64)
            rows = min(height, self.wanted.shape[0])
            columns = min(width, self.wanted.shape[1])
            target[:rows, :columns] = self.wanted[:rows, :columns]
            self.wanted = target
            self.invalidate()

    def invalidate(self) -> None:
        """Forget what the terminal shows: the next frame is complete."""
        self.shown = np.full(self.wanted.shape, UNKNOWN, np.int64)
        self._clear = self._touched = True

    def set_color(self, color: str) -> None:
        """Draw with another depth of color from now on: every cell may look different, so all are
        sent again.

        What is wanted keeps its looks as far as the old depth told them apart; a redraw brings the
        rest.
        """
        if color == self.pens.color:
            return
        old = self.pens
        self.pens = Pens(color, self.pens.page, self.pens.ink)
        numbers = np.array([self.pens.number(style) for style in old.samples()], np.int64)
        self.wanted = (numbers[self.wanted >> LOOK_SHIFT] << LOOK_SHIFT) | (self.wanted & CODE_MASK)
        self.shown[:] = UNKNOWN
        self._touched = True

    def put(self, y: int, x: int, segments: Iterable[Segment]) -> None:
        """Draw segments into the wanted picture from cell (x, y) on. What does not fit is cut."""
        height, width = self.wanted.shape
        if not 0 <= y < height or x >= width:
            return
        texts: list[str] = []
        styles: list[int] = []
        number = self.pens.number
        for text, style, control in segments:
            if text and not control:
                texts.append(text)
                styles.append(number(style))
        if not texts:
            return
        codes, lengths = self._codes(texts)
        pens: CellCodes = np.repeat(np.array(styles, np.int64) << LOOK_SHIFT, lengths)
        count = min(len(pens), len(codes))  # they differ only where a translation changed a length
        cells: CellCodes = np.bitwise_or(codes[:count], pens[:count])
        start = max(x, 0)
        stop = min(x + count, width)
        if start < stop:
            self._touched = True
            _replace_cells(self.wanted[y], start, stop, cells, x)

    def _codes(self, texts: list[str]) -> tuple[npt.NDArray[Any], list[int]]:
        """The codes of the cells of several texts, and how many cells each has."""
        line = self._translate("".join(texts))
        if line.isascii():
            codes: npt.NDArray[Any] = np.frombuffer(line.encode("ascii"), np.uint8)
        elif _SINGLE(line):
            codes = np.frombuffer(line.encode("utf-32-le"), np.uint32)
        else:
            parts = [self._encode(self._translate(text)) for text in texts]
            return np.concatenate(parts), [len(part) for part in parts]
        return codes, [len(text) for text in texts]

    def _encode(self, text: str) -> CellCodes:
        """The code of every cell of a text that holds wide or joined characters."""
        cells: list[int] = []
        cluster = ""
        for char in text:
            size = get_character_cell_size(char)
            if size == 0:
                if cells:  # joins the cell before it
                    cluster += char
                    cells[len(cells) - 1 - (cells[-1] == TAIL)] = self._cluster(cluster)
                continue
            cluster = char
            cells.append(ord(char))
            cells.extend([TAIL] * (size - 1))
        return np.array(cells, np.int64)

    def _cluster(self, text: str) -> int:
        number = self._cluster_ids.get(text)
        if number is None:
            number = FIRST_CLUSTER + len(self._clusters)
            if number > CODE_MASK:
                return 0xFFFD
            self._clusters.append(text)
            self._cluster_ids[text] = number
        return number

    # ── the way there ────────────────────────────────────────────────────────────────────────────

    @property
    def dirty(self) -> bool:
        """Whether the terminal shows something else than it should."""
        if self._touched and not self._clear and np.array_equal(self._to_show(), self.shown):
            self._touched = False
        return self._clear or self._touched

    def _to_show(self) -> CellCodes:
        """What is wanted, with one look for all spaces that look the same."""
        to_show: CellCodes = self.wanted.copy()
        if self._is_ascii and plus_minus.has_sign(to_show):
            for row in to_show:
                plus_minus.spell_out(row)
        spaces = (to_show & CODE_MASK) == SPACE
        papers = np.array(self.pens.papers(), np.int64) << LOOK_SHIFT | SPACE
        to_show[spaces] = papers[to_show[spaces] >> LOOK_SHIFT]
        return to_show

    def frame(self, limit: int = 1 << 30) -> str:
        """The bytes that bring the terminal closer, row by row, until about `limit` of them: ""
        when it is all right.

        Call again while `dirty`.
        """
        parts: list[str] = []
        pen = 0
        target = self._to_show()
        if self._clear:
            backdrop = self._backdrop(target)
            color, pen = self.pens.step(0, backdrop, True)
            parts.append(f"\x1b[0m{color}\x1b[2J")
            self.shown[:] = backdrop << LOOK_SHIFT | SPACE
            self._clear = False
        differs = target != self.shown
        rows = np.flatnonzero(differs.any(axis=1))
        if not len(rows):
            self._touched = False
            if pen:
                parts.append("\x1b[0m")
            return "".join(parts)
        move = find_move(target, self.shown, differs) if self.shift else None
        if not parts:
            parts.append("\x1b[0m")
        spent = 0
        for y in rows.tolist():
            text, pen = RowWriter(
                pens=self.pens,
                clusters=self._clusters,
                y=y,
                target=target[y],
                pen=pen,
            ).write(self.shown[y], move)
            self.shown[y] = target[y]
            parts.append(text)
            spent += len(text)
            if spent >= limit:
                break
        else:
            self._touched = False
        if pen:
            parts.append("\x1b[0m")
        return "".join(parts)

    def _backdrop(self, target: CellCodes) -> int:
        """The look of a cleared screen: where the terminal can, that of most empty cells, which
        need not be sent then.

        That was 10 of the 32 KB that the demo sends at 200x50 until its page is complete.
        """
        own = self.pens.papers()[0]
        if not self._clears_in_color:
            return own
        looks = target[(target & CODE_MASK) == SPACE] >> LOOK_SHIFT
        empty = np.bincount(looks, minlength=own + 1)
        empty[[not self.pens.is_paper(look) for look in range(len(empty))]] = 0
        return int(empty.argmax()) if empty.any() else own


def _replace_cells(
    row: CellCodes,
    start: int,
    stop: int,
    cells: CellCodes,
    x: int,
) -> None:
    """Put the part of `cells`, which begin at column x, that covers [start, stop) into a row.

    Half of a wide character cannot stand alone: what is cut in two becomes a space.
    """
    if start and row[start] & CODE_MASK == TAIL:
        row[start - 1] = SPACE
    if stop < len(row) and row[stop] & CODE_MASK == TAIL:
        row[stop] = SPACE
    row[start:stop] = cells[start - x : stop - x]
    if x < 0 and row[start] & CODE_MASK == TAIL:
        row[start] = SPACE
    if stop < x + len(cells) and cells[stop - x] & CODE_MASK == TAIL:
        row[stop - 1] = SPACE
