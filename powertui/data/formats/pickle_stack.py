"""The stack of a pickle's machine: marks, and the values that stand in one opcode."""

from __future__ import annotations

import struct
from typing import Any

from powertui.data.formats.pickle_bytes import PickleBytes

MAX_STACK = 1 << 20  # values at once: picklers close a container after 1000 of them
MAX_MARKS = 1000  # containers within each other
_MAX_INTEGER_BYTES = 64  # of a whole number; nothing in a profile has more than 8
_INT4 = struct.Struct("<i").unpack
UINT4 = struct.Struct("<I").unpack
_FLOAT = struct.Struct(">d").unpack


class PickleStack(PickleBytes):
    """Values, and where the marks between them are."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._stack: list[Any] = []
        self._marks: list[int] = []

    def _mark(self) -> None:
        if len(self._marks) >= MAX_MARKS:
            raise self._damaged("containers are nested too deeply")
        self._marks.append(len(self._stack))

    def _pop(self) -> Any:
        floor = self._marks[-1] if self._marks else 0
        if len(self._stack) <= floor:
            raise self._damaged("a value is missing")
        return self._stack.pop()

    def _pop_mark(self) -> list[Any]:
        if not self._marks:
            raise self._damaged("a mark is missing")
        start = self._marks.pop()
        if len(self._stack) - start > MAX_STACK:
            raise self._damaged("there are more values in one container than any pickler writes")
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def _top(self) -> Any:
        floor = self._marks[-1] if self._marks else 0
        if len(self._stack) <= floor:
            raise self._damaged("a container is missing")
        return self._stack[-1]

    def _none(self) -> None:
        self._stack.append(None)

    def _true(self) -> None:
        self._stack.append(True)

    def _false(self) -> None:
        self._stack.append(False)

    def _integer1(self) -> None:
        self._stack.append(self._take(1)[0])

    def _integer2(self) -> None:
        data = self._take(2)
        self._stack.append(data[0] | data[1] << 8)

    def _integer4(self) -> None:
        self._stack.append(_INT4(self._take(4))[0])

    def _long1(self) -> None:
        self._long(self._take(1)[0])

    def _long4(self) -> None:
        self._long(UINT4(self._take(4))[0])

    def _long(self, size: int) -> None:
        if size > _MAX_INTEGER_BYTES:
            raise self._damaged("a number of many digits")
        self._stack.append(int.from_bytes(self._take(size), "little", signed=True))

    def _float(self) -> None:
        self._stack.append(_FLOAT(self._take(8))[0])
