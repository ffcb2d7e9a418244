"""From rendered lines to the fewest bytes: a model of the screen, and the difference to what the terminal already shows.

Textual writes every line that a widget calls dirty, and every run of it as `SGR text SGR0`. On a dense timeline that is 77 KB a
frame. The painter keeps two pictures of the screen as numbers, what it should show and what the terminal shows, and sends

* only cells that differ, hopping over equal ones;
* only the attributes that change from one run to the next;
* a row that moved sideways (a pan) as "delete n characters, insert n characters" and the few columns that are new.

It is also the last line of defence: a control character that is left in a text becomes a replacement sign here, characters that
the terminal's encoding or font lacks become similar ones, and colours are reduced to what it has.

A cell is one integer: the code point in the low 21 bits (or a private number above Unicode for a cluster of several), the style's
number above them. So comparing two screens is one numpy operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.cells import get_character_cell_size
from rich.color_triplet import ColorTriplet
from rich.segment import Segment

from powertui.terminal.sgr import Pens
from powertui.terminal.transliterate import translator

CellCodes = npt.NDArray[np.int64]

_CODE_BITS = 21
_CODE_MASK = (1 << _CODE_BITS) - 1
_FIRST_CLUSTER = 0x110000  # above Unicode: numbers for clusters of several code points
_TAIL = _FIRST_CLUSTER  # the second cell of a wide character
_UNKNOWN = -1  # what the terminal shows there is not known
_BLANK = 0x20  # a space in style 0, which is the terminal's default

_HOP = 4  # "move right" costs about so many bytes: a gap of fewer equal cells is written again
_LONGEST_SHIFT = 64
_SHIFT_LEAST_CELLS = 24  # a row with fewer changed cells is not worth a search for a sideways move

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
        page: ColorTriplet | None = None,
        ink: ColorTriplet | None = None,
    ) -> None:
        self.pens = Pens(color, page, ink)
        self.shift = shift
        self._translate = translator(glyphs, encoding)
        self._clusters: list[str] = [""]
        self._cluster_ids: dict[str, int] = {"": _TAIL}
        self.wanted: CellCodes = np.full((0, 0), _BLANK, np.int64)
        self.shown: CellCodes = np.full((0, 0), _UNKNOWN, np.int64)
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
            wanted = np.full((height, width), _BLANK, np.int64)
            rows, columns = min(height, self.wanted.shape[0]), min(width, self.wanted.shape[1])
            wanted[:rows, :columns] = self.wanted[:rows, :columns]
            self.wanted = wanted
            self.invalidate()

    def invalidate(self) -> None:
        """Forget what the terminal shows: the next frame is complete."""
        self.shown = np.full(self.wanted.shape, _UNKNOWN, np.int64)
        self._clear = self._touched = True

    def set_color(self, color: str) -> None:
        """Draw with another depth of colour from now on: every cell may look different, so all are sent again.

        What is wanted keeps its looks as far as the old depth told them apart; a redraw brings the rest.
        """
        if color == self.pens.color:
            return
        old, self.pens = self.pens, Pens(color, self.pens.page, self.pens.ink)
        numbers = np.array([self.pens.number(style) for style in old.samples()], np.int64)
        self.wanted = (numbers[self.wanted >> _CODE_BITS] << _CODE_BITS) | (self.wanted & _CODE_MASK)
        self.shown[:] = _UNKNOWN
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
        line = self._translate("".join(texts))
        codes: npt.NDArray[Any]
        if line.isascii():
            codes = np.frombuffer(line.encode("ascii"), np.uint8)
            lengths = [len(text) for text in texts]
        elif _SINGLE(line):
            codes = np.frombuffer(line.encode("utf-32-le"), np.uint32)
            lengths = [len(text) for text in texts]
        else:
            parts = [self._encode(self._translate(text)) for text in texts]
            codes = np.concatenate(parts)
            lengths = [len(part) for part in parts]
        pens = np.repeat(np.array(styles, np.int64) << _CODE_BITS, lengths)
        count = min(len(pens), len(codes))  # they differ only where a translation changed a length
        start, stop = max(x, 0), min(x + count, width)
        if start < stop:
            row = self.wanted[y]
            self._touched = True
            # Half of a wide character cannot stand alone: what is cut in two becomes a space.
            if start and row[start] & _CODE_MASK == _TAIL:
                row[start - 1] = _BLANK
            if stop < width and row[stop] & _CODE_MASK == _TAIL:
                row[stop] = _BLANK
            row[start:stop] = codes[start - x : stop - x] | pens[start - x : stop - x]
            if x < 0 and row[start] & _CODE_MASK == _TAIL:
                row[start] = _BLANK
            if stop < x + count and codes[stop - x] == _TAIL:
                row[stop - 1] = _BLANK

    def _encode(self, text: str) -> CellCodes:
        """The code of every cell of a text that holds wide or joined characters."""
        cells: list[int] = []
        cluster = ""
        for char in text:
            size = get_character_cell_size(char)
            if size == 0:
                if cells:  # joins the cell before it
                    cluster += char
                    cells[len(cells) - 1 - (cells[-1] == _TAIL)] = self._cluster(cluster)
                continue
            cluster = char
            cells.append(ord(char))
            cells.extend([_TAIL] * (size - 1))
        return np.array(cells, np.int64)

    def _cluster(self, text: str) -> int:
        number = self._cluster_ids.get(text)
        if number is None:
            number = _FIRST_CLUSTER + len(self._clusters)
            if number > _CODE_MASK:
                return 0xFFFD
            self._clusters.append(text)
            self._cluster_ids[text] = number
        return number

    # ── the way there ────────────────────────────────────────────────────────────────────────────

    @property
    def dirty(self) -> bool:
        """Whether the terminal shows something else than it should."""
        if self._touched and not self._clear and np.array_equal(self.wanted, self.shown):
            self._touched = False
        return self._clear or self._touched

    def frame(self, limit: int = 1 << 30) -> str:
        """The bytes that bring the terminal closer, row by row, until about `limit` of them: "" when it is all right.

        Call again while `dirty`.
        """
        parts: list[str] = []
        if self._clear:
            parts.append("\x1b[0m\x1b[2J")
            self.shown[:] = _BLANK
            self._clear = False
        differs = self.wanted != self.shown
        rows = np.flatnonzero(differs.any(axis=1))
        if not len(rows):
            self._touched = False
            return "".join(parts)
        moved = self._sideways(rows, differs) if self.shift else {}
        pen = 0
        if not parts:
            parts.append("\x1b[0m")
        spent = 0
        for y in rows.tolist():
            text, pen = self._row(y, moved.get(y), pen)
            parts.append(text)
            spent += len(text)
            if spent >= limit:
                break
        else:
            self._touched = False
        if pen:
            parts.append("\x1b[0m")
        return "".join(parts)

    def _row(self, y: int, move: tuple[int, int, int] | None, pen: int) -> tuple[str, int]:
        """Bring one row up to date; `pen` is the style that the terminal writes with."""
        wanted, shown = self.wanted[y], self.shown[y]
        parts: list[str] = []
        if move is not None:
            if pen:
                parts.append("\x1b[0m")  # what is inserted takes the current background on some terminals
                pen = 0
            parts.append(self._shift_row(y, *move))
        changed = np.flatnonzero(wanted != shown)
        if not len(changed):
            return "".join(parts), pen
        # A wide character is written whole: take its first cell along when only its tail changed, and the other way round.
        wide = (wanted & _CODE_MASK) == _TAIL
        if wide.any() or ((shown != _UNKNOWN) & ((shown & _CODE_MASK) == _TAIL)).any():
            changed = self._whole_characters(wanted, shown, changed)
        breaks = np.flatnonzero(np.diff(changed) > _HOP) + 1
        starts = changed[np.concatenate(([0], breaks))].tolist()
        stops = (changed[np.concatenate((breaks - 1, [len(changed) - 1]))] + 1).tolist()
        at = -1
        for start, stop in zip(starts, stops, strict=True):
            if at < 0:
                parts.append(f"\x1b[{y + 1};{start + 1}H")
            else:
                parts.append(f"\x1b[{start - at}C")
            text, pen = self._span(wanted, start, stop, pen)
            parts.append(text)
            at = stop
        shown[:] = wanted
        return "".join(parts), pen

    @staticmethod
    def _whole_characters(wanted: CellCodes, shown: CellCodes, changed: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        mask = np.zeros(len(wanted), bool)
        mask[changed] = True
        for cells in (wanted, shown):
            tails = np.flatnonzero((cells >= 0) & ((cells & _CODE_MASK) == _TAIL))
            tails = tails[tails > 0]
            touched = tails[mask[tails] | mask[tails - 1]]
            mask[touched] = True
            mask[touched - 1] = True
        return np.flatnonzero(mask)

    def _span(self, wanted: CellCodes, start: int, stop: int, pen: int) -> tuple[str, int]:
        cells = wanted[start:stop]
        styles = cells >> _CODE_BITS
        edges = np.flatnonzero(styles[1:] != styles[:-1]) + 1
        bounds = [0, *edges.tolist(), len(cells)]
        firsts = styles[np.array(bounds[:-1])].tolist()
        codes = cells & _CODE_MASK
        text = self._decode(codes)
        change = self.pens.change
        parts: list[str] = []
        for index, style in enumerate(firsts):
            parts.append(change(pen, style))
            pen = style
            parts.append(
                text[bounds[index] : bounds[index + 1]]
                if isinstance(text, str)
                else "".join(text[bounds[index] : bounds[index + 1]])
            )
        return "".join(parts), pen

    def _decode(self, codes: CellCodes) -> str | Sequence[str]:
        """The characters of cells: one text when each cell is one character, else a list with one text a cell."""
        if len(codes) and int(codes.max()) < _FIRST_CLUSTER:
            return codes.astype(np.uint32).tobytes().decode("utf-32-le", "replace")
        clusters = self._clusters
        return [chr(code) if code < _FIRST_CLUSTER else clusters[code - _FIRST_CLUSTER] for code in codes.tolist()]

    # ── sideways ─────────────────────────────────────────────────────────────────────────────────

    def _sideways(self, rows: npt.NDArray[np.intp], differs: npt.NDArray[np.bool_]) -> dict[int, tuple[int, int, int]]:
        """Rows in which a stretch has moved sideways: row → (left, right, by). Positive: to the left.

        All rows of a pan move by the same distance within the same columns. So the rows vote: of all distances the one that
        leaves the fewest cells to write wins, and only where it saves enough.
        """
        heavy = rows[differs[rows].sum(axis=1) >= _SHIFT_LEAST_CELLS]
        if not len(heavy):
            return {}
        sample = heavy if len(heavy) <= 12 else heavy[np.linspace(0, len(heavy) - 1, 12).astype(int)]
        columns = np.flatnonzero(differs[heavy].any(axis=0))
        left, right = int(columns[0]), int(columns[-1]) + 1
        new, old = self.wanted[sample, left:right], self.shown[sample, left:right]
        width = right - left
        best, best_cost = 0, float(np.count_nonzero(new != old)) * 0.7
        for by in range(1, min(_LONGEST_SHIFT, width // 2) + 1):
            fixed = by * len(sample)
            if fixed >= best_cost:
                break
            for sign in (by, -by):
                same = new[:, : width - by] != old[:, by:] if sign > 0 else new[:, by:] != old[:, : width - by]
                cost = float(np.count_nonzero(same)) + fixed
                if cost < best_cost:
                    best, best_cost = sign, cost
        if not best:
            return {}
        moved: dict[int, tuple[int, int, int]] = {}
        by = abs(best)
        for y in heavy.tolist():
            wanted, shown = self.wanted[y, left:right], self.shown[y, left:right]
            if (shown == _UNKNOWN).any() or self._has_wide(y):
                continue
            kept = wanted[: width - by] != shown[by:] if best > 0 else wanted[by:] != shown[: width - by]
            # Moving costs some twenty bytes; a changed cell of a dense row costs about four.
            if 4 * (int(np.count_nonzero(kept)) + by) + 20 < 4 * int(np.count_nonzero(wanted != shown)):
                moved[y] = (left, right, best)
        return moved

    def _has_wide(self, y: int) -> bool:
        """Wide characters may be cut in half by a shift: such rows are written in full."""
        return bool(((self.shown[y] & _CODE_MASK) >= _TAIL).any())

    def _shift_row(self, y: int, left: int, right: int, by: int) -> str:
        """Move the cells [left, right) of a row; what lies right of them keeps its place."""
        row = self.shown[y]
        count = abs(by)
        if by > 0:  # delete on the left, make room again on the right
            row[left : right - count] = row[left + count : right].copy()
            row[right - count : right] = _UNKNOWN
            first, second = left, right - count
            text = f"\x1b[{y + 1};{first + 1}H\x1b[{count}P"
            return text if right >= len(row) else text + f"\x1b[{y + 1};{second + 1}H\x1b[{count}@"
        row[left + count : right] = row[left : right - count].copy()
        row[left : left + count] = _UNKNOWN
        # First take the cells away that would be pushed into the neighbour, then push.
        text = "" if right >= len(row) else f"\x1b[{y + 1};{right - count + 1}H\x1b[{count}P"
        return text + f"\x1b[{y + 1};{left + 1}H\x1b[{count}@"
