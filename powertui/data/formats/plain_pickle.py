"""Plain data in a Python pickle, read without unpickling.

A pickle is a program for a stack machine, and some of its opcodes import modules and call what is
in them. This machine knows the opcodes that dicts, lists, tuples, texts and numbers need, and
nothing else: GLOBAL, STACK_GLOBAL, INST, OBJ, NEWOBJ, REDUCE, BUILD, EXT and persistent ids are
refused where they come, with the name that they would import. Nothing is imported or called by a
pickle here.

Whoever reads one may fold containers away as they close (`Folding`), so that a million dicts need
not be there at once. What is not folded has a budget: a few times the bytes that were read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from powertui.data.formats import pickle_calls
from powertui.errors import UnreadableFile

_PROTOCOLS = (2, 3, 4, 5)
_MAX_STACK = 1 << 20  # values at once: picklers close a container after 1000 of them
_MAX_MARKS = 1000  # containers within each other
_MAX_INTEGER_BYTES = 64  # of a whole number; nothing in a profile has more than 8
_MAX_TEXT_BYTES = 1 << 20  # of one text
_FREE_BYTES = 64 << 20  # of memory that any file may take
_BUDGET = 3  # bytes of memory for each byte of the file, beside what was folded away
_CONTAINER_COST, _ITEM_COST, _PAIR_COST = 120, 40, 130  # bytes of memory, about
_MEMO_COST = 8
_LOOK = 1 << 16  # opcodes between two looks at the budget

_GONE = object()  # what the memo has in the place of something that was folded away


class Folding(Protocol):
    """What becomes of containers as they close. Both give back what stands for the container: the
    container itself, or something smaller.
    """

    def dict_closed(self, items: dict[Any, Any], /) -> Any: ...

    def items_closed(self, items: list[Any], /) -> list[Any]:
        """Items that a list takes, perhaps fewer."""
        ...


class FoldedAway:
    """What stands for a folded container. `shared`: others may refer to it, too."""

    __slots__ = ("shared",)

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared


class ItemList:
    """A list as it is read: what `Folding` makes of its items."""

    __slots__ = ("items", "place")

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.place = -1  # in the memo


class PlainPickle:
    """The machine. `load` runs it over the bytes of a file, chunk by chunk."""

    def __init__(self, path: str, folding: Folding) -> None:
        self._path = path
        self._folding = folding
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: list[Any] = []
        self._cost = 0
        self._read = 0  # bytes before the window
        self._window = b""
        self._at = 0
        self._chunks: Iterator[bytes] = iter(())
        self.progress: Callable[[], None] = lambda: None

    # ── bytes ──

    def _more(self, count: int) -> bool:
        """Have `count` bytes in the window; False where the file ends before."""
        while len(self._window) - self._at < count:
            piece = next(self._chunks, b"")
            if not piece:
                return False
            self._read += self._at
            self._window = self._window[self._at :] + piece
            self._at = 0
        return True

    def _take(self, count: int) -> bytes:
        """The next bytes."""
        if len(self._window) - self._at < count and not self._more(count):
            raise self._cut()
        at = self._at
        self._at = at + count
        return self._window[at : at + count]

    @property
    def _position(self) -> int:
        return self._read + self._at

    def _cut(self) -> UnreadableFile:
        return UnreadableFile(
            self._path,
            f"is a pickle that ends in its middle, at byte {self._position:,}",
            hint="Copy it again and compare the sizes; if they agree, write the snapshot again.",
        )

    def _damaged(self, what: str) -> UnreadableFile:
        return UnreadableFile(
            self._path,
            f"is a damaged pickle: {what} at byte {self._position:,}",
            hint="Copy it again and compare the sizes; if they agree, write the snapshot again.",
        )

    # ── the machine ──

    def load(self, chunks: Iterator[bytes]) -> Any:
        """What the pickle holds. Raises `UnreadableFile` for what is not plain data."""
        self._chunks = chunks
        actions = _ACTIONS
        count = 0
        while True:
            if self._at >= len(self._window) and not self._more(1):
                raise self._cut()
            opcode = self._window[self._at]
            self._at += 1
            if opcode == _STOP:
                break
            action = actions[opcode]
            if action is None:
                raise self._refused(opcode)
            action(self)
            count += 1
            if not count % _LOOK:
                self._look()
        self._look()
        if len(self._stack) != 1 or self._marks:
            raise self._damaged("it does not end with one value")
        self._memo = []  # nothing refers to it any more
        return self._stack[0]

    def _look(self) -> None:
        """Hold what is kept against the budget."""
        self.progress()
        cost = self._cost + _MEMO_COST * len(self._memo)
        if cost > _FREE_BYTES + _BUDGET * self._position:
            raise UnreadableFile(
                self._path,
                "is a pickle that takes many times its size of memory",
                hint=pickle_calls.HINT,
            )
        if len(self._stack) > _MAX_STACK:
            raise self._damaged("there are more values in one container than any pickler writes")

    def _refused(self, opcode: int) -> UnreadableFile:
        """Why an opcode is not run."""
        texts = [value for value in self._stack[-2:] if isinstance(value, str)]
        problem = pickle_calls.problem_of(opcode, self._peek(pickle_calls.LOOKED_AT), texts)
        if not problem:
            return self._damaged(f"the unknown opcode {opcode:#04x}")
        return UnreadableFile(self._path, problem, hint=pickle_calls.HINT)

    def _peek(self, count: int) -> bytes:
        self._more(count)
        return self._window[self._at : self._at + count]

    # ── opcodes ──

    def _protocol(self) -> None:
        if self._take(1)[0] not in _PROTOCOLS:
            raise self._damaged("an unknown protocol")

    def _frame(self) -> None:
        self._take(8)

    def _mark(self) -> None:
        if len(self._marks) >= _MAX_MARKS:
            raise self._damaged("containers lie too deep in each other")
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
        if len(self._stack) - start > _MAX_STACK:
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
        self._long(_UINT4(self._take(4))[0])

    def _long(self, size: int) -> None:
        if size > _MAX_INTEGER_BYTES:
            raise self._damaged("a number of many digits")
        self._stack.append(int.from_bytes(self._take(size), "little", signed=True))

    def _float(self) -> None:
        self._stack.append(_FLOAT(self._take(8))[0])

    def _text1(self) -> None:
        self._text(self._take(1)[0])

    def _text4(self) -> None:
        self._text(_UINT4(self._take(4))[0])

    def _text8(self) -> None:
        self._text(_UINT8(self._take(8))[0])

    def _text(self, size: int) -> None:
        if size > _MAX_TEXT_BYTES:
            raise self._damaged("a text of more than a megabyte")
        self._cost += 4 * size + _ITEM_COST
        self._stack.append(self._take(size).decode("utf-8", "replace"))

    def _bytes1(self) -> None:
        self._text(self._take(1)[0])

    def _bytes4(self) -> None:
        self._text(_UINT4(self._take(4))[0])

    def _empty_dict(self) -> None:
        self._cost += _CONTAINER_COST
        self._stack.append(_OpenDict())

    def _empty_list(self) -> None:
        self._cost += _CONTAINER_COST
        self._stack.append(ItemList())

    def _empty_tuple(self) -> None:
        self._stack.append(())

    def _tuple(self) -> None:
        self._push_tuple(self._pop_mark())

    def _tuple1(self) -> None:
        self._push_tuple([self._pop()])

    def _tuple2(self) -> None:
        self._push_tuple([self._pop() for _ in range(2)][::-1])

    def _tuple3(self) -> None:
        self._push_tuple([self._pop() for _ in range(3)][::-1])

    def _push_tuple(self, values: list[Any]) -> None:
        self._cost += _CONTAINER_COST + _ITEM_COST * len(values)
        self._stack.append(tuple(values))

    def _append(self) -> None:
        value = self._pop()
        self._extend([value])

    def _appends(self) -> None:
        values = self._pop_mark()
        self._extend(values)

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, ItemList):
            raise self._damaged("a list is missing")
        kept = self._folding.items_closed(values)
        self._cost += _ITEM_COST * len(kept)
        target.items += kept

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set([key, value])

    def _set_items(self) -> None:
        self._set(self._pop_mark())

    def _set(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, _OpenDict) or len(values) % 2:
            raise self._damaged("a dict is missing")
        items, place = target.items, target.place
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, (str, int)):
                raise self._damaged("a key that is neither text nor number")
            items[key] = value
        standing = self._folding.dict_closed(items)
        if isinstance(standing, FoldedAway):
            self._cost -= _CONTAINER_COST
            self._stack[-1] = standing
            if place >= 0:
                self._memo[place] = standing if standing.shared else _GONE
        else:
            self._cost += _PAIR_COST * (len(values) // 2)

    # ── the memo ──

    def _memoize(self) -> None:
        value = self._top()
        if type(value) is _OpenDict or type(value) is ItemList:
            value.place = len(self._memo)
        self._memo.append(value)

    def _put1(self) -> None:
        self._put(self._take(1)[0])

    def _put4(self) -> None:
        self._put(_UINT4(self._take(4))[0])

    def _put(self, place: int) -> None:
        if place != len(self._memo):
            raise self._damaged("numbers of values that do not count up")
        self._memoize()

    def _get1(self) -> None:
        self._gets(_RUN_OF_GET1, _PLACE1)

    def _get4(self) -> None:
        self._gets(_RUN_OF_GET4, _PLACE4)

    def _gets(self, pattern: re.Pattern[bytes], form: struct.Struct) -> None:
        """References to what came before. Stacks of calls are nothing else, so all that follow each
        other are taken at once.
        """
        self._at -= 1
        if len(self._window) - self._at < form.size and not self._more(form.size):
            raise self._cut()
        run = pattern.match(self._window, self._at)
        if run is None:
            raise self._damaged("a reference is missing")
        memo, size = self._memo, len(self._memo)
        places = [place for (place,) in form.iter_unpack(run[0])]
        if max(places) >= size:
            raise self._damaged("a value that is referred to is missing")
        values = [memo[place] for place in places]
        if _GONE in values:
            raise self._damaged("a value that is referred to is missing")
        self._stack += values
        self._at = run.end()

    def forget(self, container: ItemList, standing: FoldedAway) -> None:
        """Something smaller stands for a list from now on, wherever it is referred to."""
        self._cost -= _CONTAINER_COST + _ITEM_COST * len(container.items)
        if container.place >= 0:
            self._memo[container.place] = standing


class _OpenDict:
    """A dict that may still be filled."""

    __slots__ = ("items", "place")

    def __init__(self) -> None:
        self.items: dict[Any, Any] = {}
        self.place = -1  # in the memo


def items_of(value: Any) -> dict[Any, Any]:
    """The items of a dict of a pickle; none of anything else."""
    return value.items if isinstance(value, _OpenDict) else {}


_INT4 = struct.Struct("<i").unpack
_UINT4 = struct.Struct("<I").unpack
_UINT8 = struct.Struct("<Q").unpack
_FLOAT = struct.Struct(">d").unpack
_STOP = ord(".")
_RUN_OF_GET1 = re.compile(rb"(?:h.)+", re.DOTALL)
_RUN_OF_GET4 = re.compile(rb"(?:j.{4})+", re.DOTALL)
_PLACE1, _PLACE4 = struct.Struct("<xB"), struct.Struct("<xI")
_BY_OPCODE: dict[str, Callable[[PlainPickle], None]] = {
    "\x80": PlainPickle._protocol,
    "\x95": PlainPickle._frame,
    "(": PlainPickle._mark,
    "N": PlainPickle._none,
    "\x88": PlainPickle._true,
    "\x89": PlainPickle._false,
    "K": PlainPickle._integer1,
    "M": PlainPickle._integer2,
    "J": PlainPickle._integer4,
    "\x8a": PlainPickle._long1,
    "\x8b": PlainPickle._long4,
    "G": PlainPickle._float,
    "\x8c": PlainPickle._text1,
    "X": PlainPickle._text4,
    "\x8d": PlainPickle._text8,
    "C": PlainPickle._bytes1,
    "B": PlainPickle._bytes4,
    "}": PlainPickle._empty_dict,
    "]": PlainPickle._empty_list,
    ")": PlainPickle._empty_tuple,
    "t": PlainPickle._tuple,
    "\x85": PlainPickle._tuple1,
    "\x86": PlainPickle._tuple2,
    "\x87": PlainPickle._tuple3,
    "a": PlainPickle._append,
    "e": PlainPickle._appends,
    "s": PlainPickle._set_item,
    "u": PlainPickle._set_items,
    "\x94": PlainPickle._memoize,
    "q": PlainPickle._put1,
    "r": PlainPickle._put4,
    "h": PlainPickle._get1,
    "j": PlainPickle._get4,
}
_ACTIONS: list[Callable[[PlainPickle], None] | None] = [
    _BY_OPCODE.get(chr(opcode)) for opcode in range(256)
]
