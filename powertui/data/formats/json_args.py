"""Arguments of events where they stand in a trace's text: read again, a window at a time, when
someone asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data.formats import json_compiled, json_pure
from powertui.data.formats.gzip_blocks import GzipBlocks
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Int64s
from powertui.errors import FileChanged

WINDOW = 1 << 20  # bytes of the text that are read together
SPARE = 1 << 14  # read behind the last place of a window: nearly all arguments are shorter
_MAX_ARG_BYTES = 8 << 20  # as the longest item of json_stream
_decode = json.JSONDecoder(strict=False).raw_decode


class ArgText:
    """A trace's text by place; of a gzip file what it unpacks to."""

    def __init__(self, source: OpenedFile, *, of_events: bool) -> None:
        self._of_events = of_events  # places are those of whole events, not of their arguments
        self._stored = source.content
        self._blocks = GzipBlocks(source.content) if source.compressed else None

    def read(self, lo: int, hi: int) -> bytes:
        """These bytes; fewer at the end."""
        if self._blocks is not None:
            return self._blocks.read(lo, hi)
        hi = min(hi, self._stored.size)
        try:
            if hi > lo:
                return self._stored.read(lo, hi).tobytes()
            return b""
        except FileChanged:
            return b""

    def one(self, position: int) -> dict[str, Any]:
        """All arguments of the event at this place."""
        size = SPARE
        while True:
            data = self.read(position, position + size)
            try:
                value = _decode(data.decode("utf-8", "replace"))[0]
            except (ValueError, RecursionError):
                if len(data) < size or size >= _MAX_ARG_BYTES:
                    return {}
                size *= 8
                continue
            value = json_pure.args_in(value) if self._of_events else value
            return value if isinstance(value, dict) else {}

    def values(self, positions: Int64s, names: Sequence[str]) -> Iterator[tuple[int, str, Any]]:
        """(row, name, value) for each of these arguments that an event has."""
        decoded: dict[bytes, Any] = {}
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        row = 0
        while row < len(order):
            base = int(ordered[row])
            after = max(row + 1, int(np.searchsorted(ordered, base + WINDOW)))
            data = self.read(base, int(ordered[after - 1]) + SPARE)
            rows = order[row:after]
            starts = ordered[row:after] - base
            if self._of_events:
                yield from self._of_window(data, base, rows, starts, names)
            else:
                yield from self._in_window(
                    data=data,
                    base=base,
                    rows=rows,
                    starts=starts,
                    names=names,
                    decoded=decoded,
                )
            row = after

    def _of_window(
        self,
        data: bytes,
        base: int,
        rows: Int64s,
        starts: Int64s,
        names: Sequence[str],
    ) -> Iterator[tuple[int, str, Any]]:
        for at, name, value in json_pure.arg_values(data, starts, names):
            if name:
                yield int(rows[at]), name, value
                continue
            # The event is longer than the window.
            for arg_name, arg_value in self.one(base + int(starts[at])).items():
                if arg_name in names:
                    yield int(rows[at]), arg_name, arg_value

    def _in_window(
        self,
        data: bytes,
        base: int,
        rows: Int64s,
        starts: Int64s,
        names: Sequence[str],
        decoded: dict[bytes, Any],
    ) -> Iterator[tuple[int, str, Any]]:
        starts = np.ascontiguousarray(starts)
        lo = np.empty(len(starts), np.int64)
        hi = np.empty(len(starts), np.int64)
        for name in names:
            if (
                json.dumps(name) != f'"{name}"'
            ):  # a name that has to be escaped stands in no plain object
                continue
            json_compiled.arg_values(data, name, starts, lo, hi)
            for at in np.flatnonzero(lo >= 0).tolist():
                token = data[lo[at] : hi[at]]
                if token not in decoded:
                    if len(decoded) > WINDOW:
                        decoded.clear()
                    decoded[token] = _decode(token.decode("utf-8", "replace"))[0]
                yield int(rows[at]), name, decoded[token]
            for at in np.flatnonzero(lo == -2).tolist():  # longer than what was read
                value = self.one(base + int(starts[at])).get(name, _ABSENT)
                if value is not _ABSENT:
                    yield int(rows[at]), name, value


_ABSENT = object()
