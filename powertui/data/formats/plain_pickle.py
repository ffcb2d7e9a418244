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
from itertools import chain
from typing import Any

from powertui.data.formats import pickle_calls, pickle_runs
from powertui.data.formats.pickle_containers import FoldedAway, Folding, ItemList, OpenDict
from powertui.data.formats.pickle_runs import DictRun, DictRuns
from powertui.data.formats.pickle_stack import MAX_MARKS, MAX_STACK, UINT4, PickleStack
from powertui.errors import UnreadableFile

_PROTOCOLS = (2, 3, 4, 5)
_MAX_TEXT_BYTES = 1 << 20  # of one text
_FREE_BYTES = 64 << 20  # of memory that any file may take
_BUDGET = 3  # bytes of memory for each byte of the file, beside what was folded away
# Bytes of memory, about.
_CONTAINER_COST, _ITEM_COST, _PAIR_COST, _MEMO_COST = 120, 40, 130, 8
_LOOK_BYTES = 1 << 16  # read between two looks at the budget
_MAX_COMMON_BYTES = 10  # of an opcode with its operand: a number of eight bytes has two before it

_KEY_TYPES = frozenset((str, int, bool))


class _Gone:
    """What the memo has in the place of something that was folded away."""


_GONE = _Gone()
_CHANGING = frozenset((_Gone, ItemList, OpenDict))


class PlainPickle(PickleStack):
    """The machine. `load` runs it over the bytes of a file, chunk by chunk."""

    def __init__(self, path: str, folding: Folding) -> None:
        super().__init__(path)
        self._folding = folding
        self._memo: list[Any] = []
        self._runs = DictRuns()
        self._cost = 0
        self.progress: Callable[[], None] = lambda: None

    # ── the machine ──

    def load(self, chunks: Iterator[bytes]) -> Any:
        """What the pickle holds. Raises `UnreadableFile` for what is not plain data."""
        self._chunks = chunks
        actions = _ACTIONS
        next_look = _LOOK_BYTES
        while True:
            self._common()
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
            if self._position >= next_look:
                self._look()
                next_look = self._position + _LOOK_BYTES
        self._look()
        if len(self._stack) != 1 or self._marks:
            raise self._damaged("it does not end with one value")
        self._memo = []  # nothing refers to it any more
        return self._stack[0]

    def _common(self) -> None:
        """Run the opcodes that records are made of for as long as nothing else comes. They do what
        their methods do, without the calls, and leave to those whatever is wrong.
        """
        window, at = self._window, self._at
        stack = self._stack
        marks = self._marks
        memo = self._memo
        last = min(len(window) - _MAX_COMMON_BYTES, at + _LOOK_BYTES)
        while at <= last:
            opcode = window[at]
            size = 1
            value: Any
            if opcode == _GET1:
                place = window[at + 1]
                size = 2
                if place >= len(memo) or memo[place] is _GONE:
                    break
                value = memo[place]
            elif opcode == _MEMOIZE:
                if len(stack) <= (marks[-1] if marks else 0):
                    break
                value = stack[-1]
                if type(value) is OpenDict or type(value) is ItemList:
                    value.place = len(memo)
                memo.append(value)
                at += 1
                continue
            elif opcode == _LONG1:
                size = 2 + window[at + 1]
                if size > _MAX_COMMON_BYTES:
                    break
                value = int.from_bytes(window[at + 2 : at + size], "little", signed=True)
            elif opcode == _INTEGER4:
                size = 5
                value = int.from_bytes(window[at + 1 : at + 5], "little", signed=True)
            elif opcode == _MARK and len(marks) < MAX_MARKS:
                marks.append(len(stack))
                at += 1
                continue
            elif opcode == _EMPTY_LIST:
                self._cost += _CONTAINER_COST
                value = ItemList()
            elif opcode == _GET4:
                place = int.from_bytes(window[at + 1 : at + 5], "little")
                size = 5
                if window[at + 5] == _GET4 or place >= len(memo) or memo[place] is _GONE:
                    break
                value = memo[place]
            elif opcode == _INTEGER1:
                size = 2
                value = window[at + 1]
            elif opcode == _INTEGER2:
                size = 3
                value = window[at + 1] | window[at + 2] << 8
            elif opcode == _NONE:
                value = None
            else:
                break
            stack.append(value)
            at += size
        self._at = at

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
        if len(self._stack) > MAX_STACK:
            raise self._damaged("there are more values in one container than any pickler writes")

    def _refused(self, opcode: int) -> UnreadableFile:
        """Why an opcode is not run."""
        texts = [value for value in self._stack[-2:] if isinstance(value, str)]
        problem = pickle_calls.problem_of(opcode, self._peek(pickle_calls.LOOKED_AT), texts)
        if not problem:
            return self._damaged(f"the unknown opcode {opcode:#04x}")
        return UnreadableFile(self._path, problem, hint=pickle_calls.HINT)

    # ── opcodes ──

    def _protocol(self) -> None:
        if self._take(1)[0] not in _PROTOCOLS:
            raise self._damaged("an unknown protocol")

    def _frame(self) -> None:
        self._take(8)

    def _text1(self) -> None:
        self._text(self._take(1)[0])

    def _text4(self) -> None:
        self._text(UINT4(self._take(4))[0])

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
        self._text(UINT4(self._take(4))[0])

    def _empty_dict(self) -> None:
        start = self._at - 1
        if self._window.startswith(pickle_runs.BEGINNING, start) and len(self._marks) < MAX_MARKS:
            run = self._runs.run_at(self._window, start)
            if run is not None and self._take_run(run):
                return
        self._cost += _CONTAINER_COST
        self._stack.append(OpenDict())

    def _take_run(self, run: DictRun) -> bool:
        """Close the dicts of a run one after the other, as their opcodes would; False, with nothing
        done, where something is wrong that these opcodes say better.
        """
        keys = [self._operand(key) for key in run.keys]
        if _GONE in keys or not _KEY_TYPES.issuperset(map(type, keys)):
            return False
        distinct = set(chain.from_iterable(run.rows))
        values = {data: self._operand(data) for data in distinct}
        # What a container stands for may change with each dict that refers to it.
        if not _CHANGING.isdisjoint(map(type, values.values())):
            return False
        for row in run.rows:
            target = OpenDict()
            self._cost += _CONTAINER_COST
            self._stack.append(target)
            self._memoize()
            row_values = [values[data] for data in row]
            for place, data in enumerate(row):
                if data == pickle_runs.EMPTY_LIST:
                    row_values[place] = self._memoized_list()
            self._close_dict(target, keys, row_values)
        self._at = run.end
        return True

    def _memoized_list(self) -> ItemList:
        self._cost += _CONTAINER_COST
        empty = ItemList()
        empty.place = len(self._memo)
        self._memo.append(empty)
        return empty

    def _operand(self, data: bytes) -> Any:
        """The value of an opcode of `pickle_runs` with its operand; `_GONE` for a reference to
        nothing.
        """
        opcode = data[0]
        if opcode in (_GET1, _GET4):
            place = int.from_bytes(data[1:], "little")
            return self._memo[place] if place < len(self._memo) else _GONE
        if opcode in (_NONE, _EMPTY_LIST):
            return None
        if opcode == _LONG1:
            operand = data[2:]
        else:
            operand = data[1:]
        is_signed = opcode in (_LONG1, _INTEGER4)
        return int.from_bytes(operand, "little", signed=is_signed)

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
        value = self._pop()
        key = self._pop()
        self._set([key, value])

    def _set_items(self) -> None:
        self._set(self._pop_mark())

    def _set(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, OpenDict) or len(values) % 2:
            raise self._damaged("a dict is missing")
        keys = values[::2]
        if not _KEY_TYPES.issuperset(map(type, keys)):
            raise self._damaged("a key that is neither text nor number")
        self._close_dict(target, keys, values[1::2])

    def _close_dict(self, target: OpenDict, keys: list[Any], values: list[Any]) -> None:
        """Set items of the dict on top of the stack, and let it be folded away."""
        items, place = target.items, target.place
        items.update(zip(keys, values, strict=True))
        standing = self._folding.dict_closed(items)
        if isinstance(standing, FoldedAway):
            self._cost -= _CONTAINER_COST
            self._stack[-1] = standing
            if place >= 0:
                self._memo[place] = standing if standing.shared else _GONE
        else:
            self._cost += _PAIR_COST * len(values)

    # ── the memo ──

    def _memoize(self) -> None:
        value = self._top()
        if type(value) is OpenDict or type(value) is ItemList:
            value.place = len(self._memo)
        self._memo.append(value)

    def _put1(self) -> None:
        self._put(self._take(1)[0])

    def _put4(self) -> None:
        self._put(UINT4(self._take(4))[0])

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
        memo = self._memo
        size = len(self._memo)
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


_UINT8 = struct.Struct("<Q").unpack
_STOP = ord(".")
_GET1, _GET4, _MEMOIZE, _MARK = ord("h"), ord("j"), 0x94, ord("(")
_NONE, _INTEGER1, _INTEGER2, _INTEGER4, _LONG1 = ord("N"), ord("K"), ord("M"), ord("J"), 0x8A
_EMPTY_LIST = ord("]")
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
