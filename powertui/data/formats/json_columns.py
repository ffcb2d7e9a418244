"""The events of a JSON trace as columns, where there was a compiler at installation: the plain ones by `_json_scan` (json_scan.c),
a batch at a time and without the interpreter's lock; every other item by Python, one by one, as json_stream reads all of them.

`POWERTUI_PURE=1` leaves it to Python alone.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from powertui.data.formats.json_stream import MAX_ITEM, JsonStream
from powertui.data.model import Bools, Int32s, Int64s, UInt8s

INTERFACE = 1  # json_scan.c says the same number

COMPILED = False
if not os.environ.get("POWERTUI_PURE"):
    try:
        from powertui.data.formats import _json_scan

        COMPILED = _json_scan.INTERFACE == INTERFACE
    except ImportError:
        pass

ROOM = 1 << 15  # events of a batch
MORE, ODD, END, FULL = range(4)
NAME, CAT, PID, TID, DEVICE, STREAM, LONG_NAME = range(7)
MEMBERS = 7
_FEW, _MANY = 1 << 12, 1 << 20  # bytes that Python is given to read an item in: more as long as odd ones follow one another


class EventBatch(NamedTuple):
    """Some events. Members are numbers of texts (`Tokens`), -1 where an event has none."""

    phase: UInt8s  # the letter
    timed: Bools
    us: Int64s  # ts: whole µs …
    ps: Int32s  # … and what is left
    length: Int64s  # dur, ps
    lo: Int64s  # the event's text, in `data`
    hi: Int64s
    args: Int64s  # where its arguments stand in the whole text; 0 without any
    member: Int32s  # [MEMBERS × events]
    data: bytes

    def text(self, row: int) -> str:
        """One event as it is written."""
        return self.data[int(self.lo[row]) : int(self.hi[row])].decode("utf-8", "replace")

    def __len__(self) -> int:
        return len(self.phase)


def arg_values(data: bytes, name: str, starts: Int64s, lo: Int64s, hi: Int64s) -> None:
    """Where the value of one argument stands, for each arguments' object that starts at these places: -1 where there is none, -2
    where the object is not whole."""
    _json_scan.values(data, name.encode(), starts.data, lo.data, hi.data)


class Tokens:
    """The texts that members have, each once: strings with their quotes, numbers as they are written."""

    def __init__(self) -> None:
        self.table = _json_scan.new_texts()
        self._known: list[Any] = []

    def update(self) -> None:
        """Decode those that are new."""
        self._known += [_value(text) for text in _json_scan.texts_from(self.table, len(self._known))]

    def __getitem__(self, number: int) -> Any:
        """The value that a text stands for; None for -1."""
        return self._known[number] if number >= 0 else None

    def __len__(self) -> int:
        return len(self._known)


def _value(text: bytes) -> Any:
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace")


class ColumnStream(JsonStream):
    """As JsonStream, but the items of the list come as batches of plain events, and one by one what is not."""

    def __init__(self, chunks: Iterable[bytes], items: str) -> None:
        super().__init__(chunks, items)
        self.tokens = Tokens()
        self._given = 0  # bytes taken from the chunks
        self._chunks = self._counted(self._chunks)
        self._columns = _Columns()

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._given += len(chunk)
            yield chunk

    def _list(self) -> Iterator[tuple[str, Any]]:
        if "\N{REPLACEMENT CHARACTER}" in self._text:  # bytes that are no text, before the events: places cannot be counted
            yield from super()._list()
            return
        self.listed = True
        data, at, odd = self._rest(), 0, 0
        while True:
            rows, after, status = self._columns.scan(self.tokens, data, at)
            if rows:
                odd = odd if rows < ROOM // 64 else 0
                self.tokens.update()
                yield self._items, self._columns.batch(rows, data, self._given - len(data))
            at = after
            if status == FULL:
                continue
            if status == END:
                self._push(data[at + 1 :], len(data))
                return
            if status == MORE and len(data) - at < MAX_ITEM:
                chunk = next(self._chunks, None)
                if chunk is not None:
                    data, at = data[at:] + chunk, 0
                    continue
            odd += 1
            self._push(data[at:], min(_FEW << min(odd, 20), _MANY))
            for _ in range(odd):  # as many as came in a row: a file of odd items is not taken apart for each
                item = self._one()
                if item is None:
                    return
                if item:
                    yield self._items, item[0]
            data, at = self._rest(), 0

    # ── between bytes and text ──

    def _rest(self) -> bytes:
        """What was taken and not used yet, as bytes."""
        data = self._text[self._at :].encode("utf-8", "surrogateescape") + self._utf8.getstate()[0]
        self._text, self._at = "", 0
        self._utf8.reset()
        self._utf8.errors = "surrogateescape"  # so that text can become the same bytes again
        return data

    def _push(self, data: bytes, size: int) -> None:
        """The first so many bytes as text, the rest as if it had not been taken."""
        self._text, self._at = self._utf8.decode(data[:size]), 0
        if len(data) > size:
            self._given -= len(data) - size
            self._chunks = itertools.chain(self._counted(iter((data[size:],))), self._chunks)


class _Columns:
    """Room for a batch, used again and again."""

    def __init__(self) -> None:
        self.phase, self.timed = (np.empty(ROOM, np.uint8) for _ in range(2))
        self.us, self.length, self.lo, self.hi, self.args = (np.empty(ROOM, np.int64) for _ in range(5))
        self.ps = np.empty(ROOM, np.int32)
        self.member = np.empty((MEMBERS, ROOM), np.int32)

    def scan(self, tokens: Tokens, data: bytes, at: int) -> tuple[int, int, int]:
        """(events, the byte to go on at, why it ended)."""
        return _json_scan.scan(
            tokens.table, data, at, self.phase.data, self.timed.data, self.us.data, self.ps.data, self.length.data, self.lo.data,
            self.hi.data, self.args.data, self.member.reshape(-1).data,
        )  # fmt: skip

    def batch(self, rows: int, data: bytes, base: int) -> EventBatch:
        """The first rows; `base` is where `data` begins in the whole text."""
        some = slice(rows)
        args = np.where(self.args[some] >= 0, self.args[some] + base, 0)
        return EventBatch(
            self.phase[some], self.timed[some] != 0, self.us[some], self.ps[some], self.length[some], self.lo[some], self.hi[some],
            args, self.member[:, some], data,
        )  # fmt: skip
