"""The events of a JSON trace as columns, many at a time, by one of two scanners that give the same:
json_compiled.py, where there was a compiler at installation, and json_pure.py. An item that is
damaged, or not plain enough, is read as json_stream reads all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from powertui.data.formats.json_batch import END, FULL, MORE, Scanner
from powertui.data.formats.json_stream import MAX_ITEM, JsonStream

_PLAIN_AGAIN = 512  # plain events in a row after which odd ones are rare again
# The text that Python gets to read an odd item from doubles while odd items follow one another.
_FIRST_TEXT_BYTES = 1 << 12
_MAX_TEXT_BYTES = 1 << 20


class ColumnStream(JsonStream):
    """As JsonStream, but the items of the list come as batches of plain events, and one by one what
    is not.
    """

    def __init__(self, chunks: Iterable[bytes], items: str, scanner: Scanner) -> None:
        super().__init__(chunks, items)
        self.tokens = scanner.tokens
        self._given = 0  # bytes taken from the chunks
        self._chunks = self._counted(self._chunks)
        self._scanner = scanner

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._given += len(chunk)
            yield chunk

    def _list(self) -> Iterator[tuple[str, Any]]:
        # Bytes before the events that are no text: their number is lost, and with it all places.
        if "\N{REPLACEMENT CHARACTER}" in self._text:
            yield from super()._list()
            return
        self.listed = True
        data = self._rest()
        at = 0
        odd = 0
        while True:
            batch, after, status = self._scanner.scan(data, at, self._given - len(data))
            if batch is not None:
                odd = odd if len(batch) < _PLAIN_AGAIN else 0
                self.count += len(batch)
                yield self._items, batch
            at = after
            if status == FULL:
                continue
            if status == END:
                self._push(data[at + 1 :], len(data))
                return
            if status == MORE and len(data) - at < MAX_ITEM:
                chunk = next(self._chunks, None)
                if chunk is not None:
                    data = data[at:] + chunk
                    at = 0
                    continue
            odd += 1
            self._push(data[at:], min(_FIRST_TEXT_BYTES << min(odd, 20), _MAX_TEXT_BYTES))
            # As many as came in a row, so that a file of odd items is not cut anew for each.
            for _ in range(odd):
                item = self._one()
                if item is None:
                    return
                if item:
                    self.count += 1
                    yield self._items, item[0]
            data = self._rest()
            at = 0

    # ── between bytes and text ──

    def _rest(self) -> bytes:
        """What was taken and not used yet, as bytes."""
        data = self._text[self._at :].encode("utf-8", "surrogateescape") + self._utf8.getstate()[0]
        self._text = ""
        self._at = 0
        self._utf8.reset()
        self._utf8.errors = "surrogateescape"  # so that text can become the same bytes again
        return data

    def _push(self, data: bytes, size: int) -> None:
        """The first so many bytes as text, the rest as if it had not been taken."""
        self._text = self._utf8.decode(data[:size])
        self._at = 0
        if len(data) > size:
            self._given -= len(data) - size
            self._chunks = itertools.chain(self._counted(iter((data[size:],))), self._chunks)
