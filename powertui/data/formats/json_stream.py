"""JSON of any size in bounded memory: the items of one top-level list, one by one, and the members
beside it.

json.loads would need ten times the file's size and hold the interpreter lock for seconds. Here text
comes in pieces, each item is decoded by itself, and a damaged item costs that item alone.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from powertui.named_tuples import NamedTuple

# Larger than any sane item: Python would need ten times as much memory to hold it.
MAX_ITEM = 8 << 20
_MAX_ITEM_TEXT = f"{MAX_ITEM >> 20} MiB"

_GAP = re.compile(r"[ \t\r\n,]*")
_DIGITS = re.compile(r"[-+.0-9A-Za-z]*")
_SPACE = re.compile(r"[ \t\r\n:]*")
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{)")
_CLOSED = re.compile(r"\]\s*\}?\s*\Z")
_CLOSING = {"{": "}", "[": "]"}
_PASSED, _ENDED, _MISMATCHED = range(3)  # how skipping a value went
_BRACKET_OR_QUOTE = re.compile(r'["{}\[\]]')
# A bounded number of turns: the engine remembers each of them until the match ends.
_TEXT_RUN = re.compile(r'(?:[^"\\]+|\\.){0,1000}', re.DOTALL)
_decode = json.JSONDecoder(strict=False).raw_decode


class JsonStream:
    """Iterates over (key, value): the members of the top-level object, and the items of its list
    `items`.

    A bare top-level list counts as that list. `listed` says whether there is one, `damaged` counts
    items that were skipped, `oversized` says what was too large or too deep to be read, and how
    often, `problem` says why the text ended early ("" when it ended as it should).
    """

    def __init__(self, chunks: Iterable[bytes], items: str) -> None:
        self.listed = False
        self.count = 0  # items that were given
        self.damaged = 0
        self.oversized: Counter[str] = Counter()
        self.problem = ""
        self._items = items
        self._chunks = iter(chunks)
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._from = 0  # where the last value began
        self._ended = False
        self._cut = False  # the text ended within a value
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
            if isinstance(value, _Oversized):
                skipped = self._skip()
                if skipped == _ENDED:
                    self.problem = (
                        f"the JSON ends in the middle of member {key[:40]!r}: the file is truncated"
                    )
                    return
                if skipped == _MISMATCHED:
                    self.problem = f"the JSON is damaged in member {key[:40]!r}"
                    return
                self.oversized[f"the member {key[:40]!r} is {value.how} and was left out"] += 1
                continue
            if value is _BROKEN:
                self.problem = self.problem or f"the JSON is damaged in member {key[:40]!r}"
                return
            yield key, value

    def _list(self) -> Iterator[tuple[str, Any]]:
        self.listed = True
        while (item := self._one()) is not None:
            if item:
                self.count += 1
                yield self._items, item[0]

    def _one(self) -> tuple[Any, ...] | None:
        """The next item of the list, alone; nothing where one was damaged; None at the end of the
        list or of the text.
        """
        char = self._peek(_GAP)
        if char == "]":
            self._at += 1
            return None
        if not char:
            if (
                not self._bare
            ):  # a bare list needs no end: a writer that is stopped cannot write one
                self.problem = "the list of events ends in the middle: the file is truncated"
            return None
        value = self._value()
        if isinstance(value, _Oversized):
            skipped = self._skip()
            if skipped == _PASSED:
                self.oversized[f"events that are {value.how} were left out"] += 1
                return ()
            if skipped == _ENDED:
                self.problem = "the list of events ends in the middle: the file is truncated"
                return None
        elif value is not _BROKEN:
            return (value,)
        if self._resume():
            return ()
        closed = _CLOSED.search(self._text)
        if (
            closed is not None and not self._cut
        ):  # the last item was damaged, and the list has its end
            self.damaged += 1
            self._at = closed.start() + 1
            return None
        self.problem = (
            self.problem or "the list of events ends in the middle: the file is truncated"
        )
        return None

    def _value(self) -> Any:
        """The value that starts here, `_BROKEN` when there is none, `_Oversized` when it is too
        much for Python.
        """
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # Unfinished text fails at its end (a string: where it began). Anything else is
                # damage.
                waiting = len(self._text) - self._at
                unfinished = error.pos >= len(self._text) - 16 or error.msg.startswith(
                    "Unterminated string"
                )
                if not unfinished:
                    return _BROKEN
                if waiting >= MAX_ITEM:
                    return _TOO_LONG
                if self._more():
                    continue
                self._cut = error.pos >= len(self._text) or error.msg.startswith(
                    "Unterminated string"
                )
                return _BROKEN
            except RecursionError:
                return _TOO_DEEP
            except ValueError:  # a number of thousands of digits
                return _TOO_MANY_DIGITS
            if len(self._text) - end <= 2 and isinstance(value, (int, float)) and self._more():
                continue  # a number may go on in the next piece: "12" + ".5", "1e+" + "3"
            self._from = self._at
            self._at = end
            return value

    def _skip(self) -> int:
        """Go past the value that starts here, whatever its size, without reading it: `_PASSED`, or
        why that cannot be.
        """
        first = self._peek(_SPACE)
        if first == '"':
            return _PASSED if self._skip_text() else _ENDED
        if first not in _CLOSING:
            return _PASSED if self._skip_number() else _ENDED
        open_brackets: list[str] = []
        while True:
            mark = _BRACKET_OR_QUOTE.search(self._text, self._at)
            if mark is not None:
                self._at = mark.start()
            else:
                self._at = len(self._text)
            if mark is None:
                if not self._more():
                    return _ENDED
            elif mark[0] == '"':
                if not self._skip_text():
                    return _ENDED
            elif mark[0] in _CLOSING:
                self._at += 1
                open_brackets.append(_CLOSING[mark[0]])
            elif mark[0] != open_brackets.pop():
                return _MISMATCHED
            else:
                self._at += 1
                if not open_brackets:
                    return _PASSED

    def _skip_text(self) -> bool:
        """Go past the text in quotes that starts here."""
        self._at += 1
        while True:
            match = _TEXT_RUN.match(self._text, self._at)
            assert match is not None  # it may be empty, but it always matches
            if match.end() > self._at:
                self._at = match.end()
            elif self._text.startswith('"', self._at):
                self._at += 1
                return True
            elif (
                not self._more()
            ):  # the piece ended, maybe between a backslash and what is behind it
                return False

    def _skip_number(self) -> bool:
        while True:
            match = _DIGITS.match(self._text, self._at)
            assert match is not None  # it may be empty, but it always matches
            self._at = match.end()
            if self._at < len(self._text):
                return True
            if not self._more():
                return False

    def _resume(self) -> bool:
        """Go to the next object of the list, as far as one can tell.

        False when the text is over.
        """
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


class _Oversized(NamedTuple):
    """The value of text that may be right, but is more than Python reads."""

    how: str


_TOO_LONG = _Oversized(f"longer than {_MAX_ITEM_TEXT}")
_TOO_DEEP = _Oversized("nested too deeply to be a trace")
_TOO_MANY_DIGITS = _Oversized("written with thousands of digits in one number")
