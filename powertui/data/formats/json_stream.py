"""JSON of any size in bounded memory: the items of one top-level list, one by one, and the members beside it.

json.loads would need ten times the file's size and hold the interpreter lock for seconds. Here text comes in
pieces, each item is decoded by itself, and a damaged item costs that item alone.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

# Larger than any sane item. An item that is still unfinished after so much text is damaged, not long.
MAX_ITEM = 8 << 20

_GAP = re.compile(r"[ \t\r\n,]*")
_SPACE = re.compile(r"[ \t\r\n:]*")
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{)")
_decode = json.JSONDecoder(strict=False).raw_decode


class JsonStream:
    """Iterates over (key, value): the members of the top-level object, and the items of its list `items`.

    A bare top-level list counts as that list. `listed` says whether there is one, `damaged` counts items that were
    skipped, `problem` says why the text ended early ("" when it ended as it should).
    """

    def __init__(self, chunks: Iterable[bytes], items: str) -> None:
        self.listed = False
        self.damaged = 0
        self.problem = ""
        self._items = items
        self._chunks = iter(chunks)
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._from = 0  # where the last value began
        self._ended = False
        self._bare = False  # the list is all of the text

    def raw(self) -> str:
        """The text of the item that was just given."""
        return self._text[self._from : self._at]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        first = self._peek(_GAP)
        if first == "[":
            self._at += 1
            self._bare = True
            yield from self._list()
        elif first == "{":
            self._at += 1
            yield from self._members()
        else:
            self.problem = "this is not a JSON object or list"

    # ── text ──

    def _more(self) -> bool:
        """Fetch one more piece of text and forget what was consumed. False at the end."""
        if self._ended:
            return False
        chunk = next(self._chunks, None)
        if chunk is None:
            self._ended = True
            tail = self._utf8.decode(b"", final=True)
        else:
            tail = self._utf8.decode(chunk)
        self._text = self._text[self._at :] + tail
        self._at = 0
        return True

    def _peek(self, gap: re.Pattern[str]) -> str:
        """The next character that means something, "" at the end."""
        while True:
            match = gap.match(self._text, self._at)
            assert match is not None  # it may be empty, but it always matches
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    # ── structure ──

    def _members(self) -> Iterator[tuple[str, Any]]:
        while True:
            char = self._peek(_GAP)
            if char == "}":
                return
            if not char:
                self.problem = "the JSON ends in the middle: the file is truncated"
                return
            key = self._value()
            if not isinstance(key, str):
                self.problem = self.problem or "the JSON is damaged between two members"
                return
            char = self._peek(_SPACE)
            if key == self._items and char == "[":
                self._at += 1
                yield from self._list()
                if self.problem:
                    return
                continue
            value = self._value()
            if value is _BROKEN:
                self.problem = self.problem or f"the JSON is damaged in member {key[:40]!r}"
                return
            yield key, value

    def _list(self) -> Iterator[tuple[str, Any]]:
        self.listed = True
        while (item := self._one()) is not None:
            if item:
                yield self._items, item[0]

    def _one(self) -> tuple[Any, ...] | None:
        """The next item of the list, alone; nothing where one was damaged; None at the end of the list or of the text."""
        char = self._peek(_GAP)
        if char == "]":
            self._at += 1
            return None
        if not char:
            if not self._bare:  # a bare list needs no end: a writer that is stopped cannot write one
                self.problem = "the list of events ends in the middle: the file is truncated"
            return None
        value = self._value()
        if value is not _BROKEN:
            return (value,)
        if self._resume():
            return ()
        self.problem = self.problem or "the list of events ends in the middle: the file is truncated"
        return None

    def _value(self) -> Any:
        """The value that starts here, `_BROKEN` when there is none."""
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # Unfinished text fails at its end (a string: where it began). Anything else is damage.
                waiting = len(self._text) - self._at
                unfinished = error.pos >= len(self._text) - 16 or error.msg.startswith("Unterminated string")
                if unfinished and waiting < MAX_ITEM and self._more():
                    continue
                return _BROKEN
            except (ValueError, RecursionError):  # a number of thousands of digits, brackets without end
                return _BROKEN
            if len(self._text) - end <= 2 and isinstance(value, (int, float)) and self._more():
                continue  # a number may go on in the next piece: "12" + ".5", "1e+" + "3"
            self._from, self._at = self._at, end
            return value

    def _resume(self) -> bool:
        """Go to the next object of the list, as far as one can tell. False when the text is over."""
        while True:
            match = _NEXT_OBJECT.search(self._text, self._at)
            if match is not None:
                self.damaged += 1
                self._at = match.end()
                return True
            self._at = max(self._at, len(self._text) - 64)  # the boundary may lie across two pieces
            if not self._more():
                return False


class _Broken:
    """The value of text that is no JSON."""


_BROKEN = _Broken()
