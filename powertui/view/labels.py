"""What a name looks like in few cells, and which colour and letter it has.

Asked for the names in sight, remembered for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len

from powertui.data import category
from powertui.data.model import Int64s, Names, UInt8s
from powertui.plain import plain
from powertui.view.readable_names import readable

SHADES = 4  # per category; an ink is category number × SHADES + shade
INKS = len(category.CATEGORIES) * SHADES
QUIET = 1 << 6  # beside an ink: what only holds other work, or tells again what another line tells
_UNKNOWN = 255

_VOID = re.compile(r"^(?:void|static|inline)\s+")


def short(name: str) -> str:
    """The telling end of a name: the type of an op, the function of a kernel, without scopes and
    template arguments.
    """
    name = _VOID.sub("", name).replace("(anonymous namespace)::", "")
    kind = category.op_type(name)
    if kind and kind != "Dataset":
        path = name.rpartition(":")[0]
        return path.rpartition("/")[2] or kind
    cut = min((i for i in (name.find("<"), name.find("(")) if i > 0), default=-1)
    if cut > 0:
        name = name[:cut].rpartition("::")[2] or name[:cut]
    if "/" in name and " " not in name:
        name = name.rstrip("/").rpartition("/")[2]
    return name


class Labels:
    """Ink and text of the names of one trace."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._inks = np.full(len(names), _UNKNOWN, np.uint8)
        self._launched: Mapping[int, category.Category] = {}
        self._texts: dict[int, tuple[str, str]] = {}
        self._cells: dict[tuple[int, int, str], npt.NDArray[np.uint32]] = {}

    def adopt(self, launched: Mapping[int, category.Category]) -> None:
        """Give the kinds of their operators to kernels whose names say nothing."""
        if launched is not self._launched:
            self._launched = launched
            self._inks[list(launched)] = _UNKNOWN

    def inks(self, indices: Int64s) -> UInt8s:
        """The ink of each name: any shape of indices, all of them valid.

        Calls that only wait for other threads are quiet.
        """
        out = self._inks[indices]
        if (out == _UNKNOWN).any():
            for index in np.unique(indices[out == _UNKNOWN]).tolist():
                name = self.names.full(index)
                kind = category.work_category(name)
                if kind is category.Category.OTHER:
                    kind = category.work_category(self.names.display(index))
                kind = self._launched.get(index, kind)
                quiet = QUIET if name in category.HAND_OVER else 0
                self._inks[index] = quiet | (kind.number * SHADES + category.shade(name) % SHADES)
            out = self._inks[indices]
        return out

    def kinds(self, indices: Int64s) -> UInt8s:
        """The number of each name's kind."""
        return ((self.inks(indices) & (QUIET - 1)) // SHADES).astype(np.uint8)

    def text(self, index: int) -> str:
        """The displayed name, safe to draw."""
        return self._text(index)[0]

    def texts(self, index: int) -> tuple[str, str]:
        """The displayed name, and its telling end, both safe to draw."""
        return self._text(index)

    def _text(self, index: int) -> tuple[str, str]:
        texts = self._texts.get(index)
        if texts is None:
            display = self.names.display(index)
            texts = (plain(display, 300), plain(short(readable(display[:300])), 100))
            if len(self._texts) > 50_000:
                self._texts.clear()
            self._texts[index] = texts
        return texts

    def fits(self, index: int, width: int) -> bool:
        """Whether the name, or its telling end, can be shown without a cut."""
        return any(cell_len(text) <= width for text in self._text(index))

    def fitted(self, index: int, width: int, ellipsis: str) -> str:
        """At most `width` cells: the whole name, else its telling end, else the beginning
        of that.
        """
        text, tail = self._text(index)
        if cell_len(text) <= width:
            return text
        if cell_len(tail) <= width:
            return tail
        fitting = ""
        for char in tail:
            if cell_len(fitting + char) > width - 1:
                break
            fitting += char
        return fitting + ellipsis if width > 3 else fitting[:width]

    def cells(self, index: int, width: int, ellipsis: str) -> npt.NDArray[np.uint32]:
        """The fitted name as code points, one per cell, padded with blanks; 0 is the second half of
        a wide character.
        """
        key = (index, width, ellipsis)
        cells = self._cells.get(key)
        if cells is None:
            points: list[int] = []
            for char in self.fitted(index, width, ellipsis):
                size = cell_len(char)
                if size and len(points) + size <= width:
                    points.append(ord(char))
                    points.extend([0] * (size - 1))
            points.extend([32] * (width - len(points)))
            cells = np.array(points, np.uint32)
            if len(self._cells) > 50_000:
                self._cells.clear()
            self._cells[key] = cells
        return cells
