"""From cells to colored text: levels, runs under a budget, labels, letters. Arithmetic on arrays;
nothing of textual.

A cell is drawn in the ink of one event in it (`cell_choice` says of which), as a glyph whose height
says how much of the cell is covered. An event that covers three or more whole cells becomes a bar
with its name. Blank cells take whatever ink stands beside them: a space has no color, so it need
not start a new run.

Every change of ink costs some twenty bytes on the wire. Where a row has more runs than its budget,
neighboring cells share an ink, each kind in turns for its share of them; how much is covered stays
exact in the glyph. Groups are counted from the profile's zero, not from the edge of the screen, so
a pan does not change how anything looks.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from rich.segment import Segment
from rich.style import Style

from powertui.data.category import CATEGORIES
from powertui.data.model import Bools, Int64s, UInt8s
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.value_types import dataclass
from powertui.view.cell_choice import chosen_inks
from powertui.view.labels import QUIET, SHADES, Labels

BAR = 3  # whole cells of one event that make a bar with a name
_Int32s: TypeAlias = npt.NDArray[np.int32]

_MIN_NAME_CELLS = 4  # cells in which a cut name says less than the letter of its kind
_CODE_RUN = 8  # cells of one ink that are worth a letter where there is color …
_CODE_RUN_PLAIN = 2  # … and where there is none
_GROUPS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
PLAIN, FOUND, SELECTED, CURSOR = 0, 1, 2, 3  # marks of a cell

NOTE = 255  # an ink for words in a row that has no cells
_BAR_KEY = 1 << 8
_MARK_SHIFT = 9
_CODES = np.array([ord(category.code) for category in CATEGORIES], np.uint32)
_KINDS = QUIET - 1  # the bits of an ink that say kind and shade
_INKS = 2 * QUIET


@dataclass(frozen=True, eq=False)
class Cells:
    """What one screenful shows: rows × columns.

    `level` 0 is nothing, and only that is drawn blank.
    """

    level: UInt8s
    ink: UInt8s
    name: Int64s  # name index of the dominant event
    event: (
        Int64s  # tells neighboring events apart: any number that is unique in the row; -1 for none
    )
    mark: UInt8s


def cropped(cells: Cells, lo: int, hi: int) -> Cells:
    """Only the columns [lo, hi)."""
    part = slice(lo, hi)
    return Cells(
        level=cells.level[:, part],
        ink=cells.ink[:, part],
        name=cells.name[:, part],
        event=cells.event[:, part],
        mark=cells.mark[:, part],
    )


def beside(left: Cells, right: Cells) -> Cells:
    """The columns of both, left to right."""
    return Cells(
        level=np.concatenate((left.level, right.level), axis=1),
        ink=np.concatenate((left.ink, right.ink), axis=1),
        name=np.concatenate((left.name, right.name), axis=1),
        event=np.concatenate((left.event, right.event), axis=1),
        mark=np.concatenate((left.mark, right.mark), axis=1),
    )


class Inks:
    """Styles and glyphs of one theme: made once, handed out by number."""

    def __init__(self, theme: Theme, glyphs: Glyphs) -> None:
        self.theme = theme
        self.glyphs = glyphs
        self.colours = theme.depth != "none"
        codes = [ord(char) for char in " " + glyphs.levels]
        self.levels = np.array(codes, np.uint32)
        self._styles: dict[int, Style] = {}
        self._mark_styles = {
            FOUND: theme.style("found"),
            SELECTED: theme.style("selected"),
            CURSOR: theme.style("cursor") + Style(reverse=True),
        }

    @property
    def full(self) -> int:
        return len(self.levels) - 1

    def style(self, key: int) -> Style:
        style = self._styles.get(key)
        if style is None:
            style = self._base(key & 0xFF, bool(key & _BAR_KEY))
            mark = key >> _MARK_SHIFT
            if mark != PLAIN:
                style = self._marked(style, mark)
            self._styles[key] = style
        return style

    def _marked(self, base: Style, mark: int) -> Style:
        if self.colours or mark == FOUND:
            return base + self._mark_styles[mark]
        # Bars are reversed already: turned round they differ, and a selection is underlined
        # besides.
        is_selected = mark == SELECTED
        return Style(
            reverse=not base.reverse,
            bold=is_selected,
            underline=is_selected,
        )

    def _base(self, ink: int, bar: bool) -> Style:
        if ink == NOTE:
            return self.theme.style("dim")
        kind = CATEGORIES[(ink & _KINDS) // SHADES].value
        if ink & QUIET:
            return self.theme.wrapper(kind, bar)
        shade = ink % SHADES
        if bar:
            return self.theme.category(kind, shade)
        return self.theme.category_ink(kind, shade)


@lru_cache(maxsize=8)
def palette(theme: Theme, glyphs: Glyphs) -> Inks:
    return Inks(theme, glyphs)


def levels(
    busy: Int64s,
    count: npt.NDArray[np.int32],
    cell_ps: int,
    full: int,
) -> UInt8s:
    """How full each cell is drawn: 0 only where nothing happens, `full` only where (nearly) all of
    the cell is covered.
    """
    # Nearest level; busy ≤ cell ≤ 1e17, so the products stay far inside int64.
    level = (busy * (2 * full) + cell_ps) // (2 * cell_ps)
    np.clip(level, 1, full, out=level)
    level[count == 0] = 0
    return level.astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Painted:
    """Characters and style numbers, cell by cell. Two rows with equal bytes look the same."""

    chars: npt.NDArray[np.uint32]
    key: npt.NDArray[np.int32]

    def write(self, row: int, text: str) -> None:
        """Words into the blank cells of a row; what does not fit is cut."""
        width = self.chars.shape[1]
        points = [ord(char) for char in text[:width]]
        self.chars[row, : len(points)] = points

    def note(
        self,
        row: int,
        column: int,
        text: str,
    ) -> None:
        """Quiet words anywhere in a row, over what stands there."""
        cells = slice(column, column + len(text))
        self.chars[row, cells] = [ord(char) for char in text]
        self.key[row, cells] = NOTE

    def fingerprint(self, row: int) -> bytes:
        return bytes(self.chars[row].tobytes() + self.key[row].tobytes())

    def runs(self, row: int) -> int:
        """Changes of style in a row, plus one."""
        keys = self.key[row]
        changes = np.count_nonzero(keys[1:] != keys[:-1])
        return int(changes) + 1

    def segments(self, row: int, look: Inks) -> list[Segment]:
        key = self.key[row]
        code_points = self.chars[row].astype("<u4").tobytes()
        text = code_points.decode("utf-32-le", "replace")
        is_change = key[1:] != key[:-1]
        changes = np.flatnonzero(is_change) + 1
        segments = []
        for lo, hi in pairwise([0, *changes.tolist(), len(key)]):
            # The second half of a wide character is drawn by the first.
            piece = text[lo:hi].replace("\0", "")
            style = look.style(int(key[lo]))
            segments.append(Segment(piece, style))
        return segments


def paint(
    cells: Cells,
    labels: Labels,
    look: Inks,
    *,
    cell0: int = 0,
    budget: int = 1 << 30,
) -> Painted:
    """Every row at most `budget` runs of ink; bars with names and marked cells may add to it."""
    shape = cells.level.shape
    if not cells.level.size:
        return Painted(np.zeros(shape, np.uint32), np.zeros(shape, np.int32))
    filled = cells.level > 0
    full = cells.level == look.full
    bars = _bars(full, cells.event, BAR)
    chars = look.levels[cells.level]
    ink = cells.ink.astype(np.int32)
    key = _spread(ink, filled & ~bars)
    key[bars] = ink[bars] | _BAR_KEY
    for row in np.flatnonzero(_run_counts(key) > budget).tolist():
        key[row], bars[row] = _merge(
            cells=cells,
            row=row,
            bars=bars[row],
            full=full[row],
            cell0=cell0,
            budget=budget,
        )
    code_run = _CODE_RUN if look.colours else _CODE_RUN_PLAIN
    _letters(chars, key, filled & ~bars, code_run)
    _name_bars(chars, cells, bars, labels, look)
    key |= cells.mark.astype(np.int32) << _MARK_SHIFT
    return Painted(chars, key)


def _starts(mask: Bools, same: Bools) -> Bools:
    """Where a run of `mask` begins: in the mask, and not a continuation (`same` as the cell
    before).
    """
    start: Bools = mask.copy()
    start[:, 1:] &= ~(mask[:, :-1] & same)
    return start


def _bars(full: Bools, event: Int64s, min_cells: int) -> Bools:
    """Cells that belong to a stretch of at least so many whole cells of one event."""
    is_same_event = event[:, 1:] == event[:, :-1]
    start = _starts(full, is_same_event)
    return _long_runs(full, start, min_cells)


def _long_runs(mask: Bools, start: Bools, min_cells: int) -> Bools:
    """The runs of `mask` (beginning where `start` says) that have at least so many cells."""
    flat = mask.ravel()
    if not flat.any():
        return np.zeros_like(mask)
    run_of_cell = np.cumsum(start.ravel()) - 1
    runs = run_of_cell[flat]
    length = np.bincount(runs)
    is_long: Bools = flat.copy()
    is_long[flat] = length[runs] >= min_cells
    reshaped: Bools = is_long.reshape(mask.shape)
    return reshaped


def _spread(key: _Int32s, has_value: Bools) -> _Int32s:
    """Cells without a value take the ink of the nearest cell before them that has one (at the left
    edge: after them).
    """
    columns = np.arange(key.shape[1])
    column_with_value = np.where(has_value, columns, -1)
    source = np.maximum.accumulate(column_with_value, axis=1)
    # In a row without any it is 0, too.
    first = has_value.argmax(axis=1)
    source = np.where(source < 0, first[:, None], source)
    spread: _Int32s = np.take_along_axis(key, source, axis=1)
    return spread


def _run_counts(key: _Int32s) -> Int64s:
    """How many runs of one key each row has."""
    is_change = key[:, 1:] != key[:, :-1]
    changes: Int64s = is_change.sum(axis=1)
    return changes + 1


def _merge(
    cells: Cells,
    row: int,
    bars: Bools,
    full: Bools,
    cell0: int,
    budget: int,
) -> tuple[_Int32s, Bools]:
    """One row's inks with the smallest groups that keep to the budget.

    Bars shorter than a group give up their names.
    """
    level = cells.level[row]
    ink = cells.ink[row].astype(np.int32)
    filled = level > 0
    columns = cell0 + np.arange(len(level))
    row_full = full[None, :]
    row_event = cells.event[row][None, :]
    for size in _GROUPS:
        min_cells = max(BAR, size)
        long_bars = _bars(row_full, row_event, min_cells)[0] & bars
        group = columns // size
        first_group = int(group[0])
        group -= first_group
        merged = filled & ~long_bars
        # How much of each group every ink covers: over many groups each kind has its share.
        group_and_ink = group[merged] * _INKS + ink[merged]
        groups = int(group[-1]) + 1
        covered = np.bincount(group_and_ink, level[merged], groups * _INKS)
        by_group = covered.astype(np.int64).reshape(-1, _INKS)
        numbers = first_group + np.arange(groups)
        winner = chosen_inks(by_group, numbers).astype(np.int32)
        key = _spread(winner[group][None, :], merged[None, :])
        key[0, long_bars] = ink[long_bars] | _BAR_KEY
        if _run_counts(key)[0] <= budget:
            break
    return key[0], long_bars


def _letters(
    chars: npt.NDArray[np.uint32],
    key: _Int32s,
    inked: Bools,
    min_cells: int,
) -> None:
    """The letter of the category at the head of every long enough stretch of one ink."""
    kind = key // SHADES
    start = _starts(inked, kind[:, 1:] == kind[:, :-1])
    head = start & _long_runs(inked, start, min_cells)
    chars[head] = _CODES[(key[head] & _KINDS) // SHADES]


def _name_bars(
    chars: npt.NDArray[np.uint32],
    cells: Cells,
    bars: Bools,
    labels: Labels,
    look: Inks,
) -> None:
    """Write names into bars.

    A bar right behind another of the same ink gets a thin edge, so that both are seen.
    """
    width = bars.shape[1]
    event = cells.event
    is_same_event = event[:, 1:] == event[:, :-1]
    start = _starts(bars, is_same_event).ravel()
    heads = np.flatnonzero(start)
    if not len(heads):
        return
    flat_bars = bars.ravel()
    bar_of_cell = np.cumsum(start) - 1
    lengths = np.bincount(bar_of_cell[flat_bars], minlength=len(heads))
    names = cells.name.ravel()[heads]
    flat = chars.reshape(-1)
    inks = cells.ink.ravel()
    edge_char = ord(look.glyphs.vertical)
    bar_facts = zip(
        heads.tolist(),
        lengths.tolist(),
        names.tolist(),
        strict=True,
    )
    for head, length, name in bar_facts:
        first = head
        stop = head + length
        is_behind_bar = head % width and flat_bars[head - 1]
        if is_behind_bar:
            looks_alike = not look.colours or inks[head - 1] == inks[head]
            if looks_alike:
                flat[head] = edge_char
                first += 1
        room = stop - first
        if room > _MIN_NAME_CELLS or labels.fits(name, room):
            flat[first:stop] = labels.cells(name, room, look.glyphs.ellipsis)
        elif room:
            kind = (inks[head] & _KINDS) // SHADES
            flat[first:stop] = ord(" ")
            flat[first] = _CODES[kind]
