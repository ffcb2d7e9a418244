"""What a name looks like in few cells, and which color and letter it has.

Asked for the names in sight, remembered for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len

from powertui.data import category, wire
from powertui.data.model import Int64s, Names, UInt8s
from powertui.data.names_in_words import readable
from powertui.plain import plain

SHADES = 4  # per category; an ink is category number × SHADES + shade
INKS = len(category.CATEGORIES) * SHADES
QUIET = 1 << 6  # beside an ink: what only holds other work, or tells again what another line tells
_UNKNOWN = 255
_MAX_REMEMBERED = 50_000  # texts of names that are kept; a screen has some thousand at most

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
    # Arguments of a template or of a function; a name that begins with a bracket has none.
    ends = []
    for end in (name.find("<"), name.find("(")):
        if end > 0:
            ends.append(end)
    if ends:
        function = name[: min(ends)]
        name = function.rpartition("::")[2] or function
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
        inks = self._inks[indices]
        is_unknown = inks == _UNKNOWN
        if is_unknown.any():
            launched = self._launched
            for index in wire.distinct(indices[is_unknown]).tolist():
                self._inks[index] = self._ink(index)
            if launched is not self._launched:  # adopted meanwhile, in another thread
                self._inks[list(self._launched)] = _UNKNOWN
                return self.inks(indices)
            inks = self._inks[indices]
        return inks

    def _ink(self, index: int) -> int:
        name = self.names.full(index)
        kind = category.work_category(name)
        if kind is category.Category.OTHER:
            kind = category.work_category(self.names.display(index))
        kind = self._launched.get(index, kind)
        ink = kind.number * SHADES + category.shade(name) % SHADES
        if name in category.HAND_OVER:
            return ink | QUIET
        return ink

    def kinds(self, indices: Int64s) -> UInt8s:
        """The number of each name's kind."""
        shade_and_kind = self.inks(indices) & (QUIET - 1)
        kinds = shade_and_kind // SHADES
        return kinds.astype(np.uint8)

    def text(self, index: int) -> str:
        """The displayed name, safe to draw."""
        return self.texts(index)[0]

    def texts(self, index: int) -> tuple[str, str]:
        """The displayed name, and its telling end, both safe to draw."""
        texts = self._texts.get(index)
        if texts is None:
            display = self.names.display(index)
            tail = short(readable(display[:300]))
            texts = (plain(display, 300), plain(tail, 100))
            if len(self._texts) > _MAX_REMEMBERED:
                self._texts.clear()
            self._texts[index] = texts
        return texts

    def fits(self, index: int, width: int) -> bool:
        """Whether the name, or its telling end, can be shown without a cut."""
        text, tail = self.texts(index)
        if cell_len(text) <= width:
            return True
        return cell_len(tail) <= width

    def fitted(
        self,
        index: int,
        width: int,
        ellipsis: str,
    ) -> str:
        """At most `width` cells: the whole name, else its telling end, else the beginning
        of that.
        """
        text, tail = self.texts(index)
        if cell_len(text) <= width:
            return text
        if cell_len(tail) <= width:
            return tail
        fitting = ""
        for char in tail:
            if cell_len(fitting + char) > width - 1:
                break
            fitting += char
        if width > 3:
            return fitting + ellipsis
        return fitting[:width]

    def cells(
        self,
        index: int,
        width: int,
        ellipsis: str,
    ) -> npt.NDArray[np.uint32]:
        """The fitted name as code points, one per cell, padded with blanks; 0 is the second half of
        a wide character.
        """
        key = (index, width, ellipsis)
        cells = self._cells.get(key)
        if cells is None:
            cells = _code_points(self.fitted(index, width, ellipsis), width)
            if len(self._cells) > _MAX_REMEMBERED:
                self._cells.clear()
            self._cells[key] = cells
        return cells


def _code_points(text: str, width: int) -> npt.NDArray[np.uint32]:
    points: list[int] = []
    for char in text:
        size = cell_len(char)
        has_room = len(points) + size <= width
        if size and has_room:
            points.append(ord(char))
            points.extend([0] * (size - 1))
    blank = ord(" ")
    while len(points) < width:
        points.append(blank)
    return np.array(points, np.uint32)
