"""Events of JSON traces by `_json_scan` (json_scan.c): straight into columns, and without the
interpreter's lock.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from powertui.data.formats.json_batch import MEMBERS, EventBatch
from powertui.data.model import Int64s

INTERFACE = 2  # json_scan.c says the same number

COMPILED = False
if not os.environ.get("POWERTUI_PURE"):
    try:
        from powertui.data.formats import _json_scan

        COMPILED = _json_scan.INTERFACE == INTERFACE
    except ImportError:
        pass

_BATCH_EVENTS = 1 << 15  # events of a batch


def arg_values(data: bytes, name: str, starts: Int64s, lo: Int64s, hi: Int64s) -> None:
    """Where the value of one argument stands, for each arguments' object that starts at these
    places: -1 where there is none, -2 where the object is not whole.
    """
    _json_scan.values(data, name.encode(), starts.data, lo.data, hi.data)


class _TextTokens:
    """The texts that members have, each once: strings with their quotes, numbers as they are
    written.
    """

    def __init__(self) -> None:
        self.table = _json_scan.new_texts()
        self._values: list[Any] = []

    def update(self) -> None:
        """Decode those that are new."""
        self._values += [
            _value(text) for text in _json_scan.texts_from(self.table, len(self._values))
        ]

    def __getitem__(self, number: int) -> Any:
        """The value that a text stands for; None for -1."""
        return self._values[number] if number >= 0 else None

    def __len__(self) -> int:
        return len(self._values)


def _value(text: bytes) -> Any:
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace")


class CompiledScanner:
    """Plain events only (json_scan.c says which).

    It has room for one batch, which it uses again and again.
    """

    def __init__(self) -> None:
        self.tokens = _TextTokens()
        self._phase, self._timed, self._bind = (np.empty(_BATCH_EVENTS, np.uint8) for _ in range(3))
        self._us, self._length, self._lo, self._hi, self._args, self._id = (
            np.empty(_BATCH_EVENTS, np.int64) for _ in range(6)
        )
        self._ps = np.empty(_BATCH_EVENTS, np.int32)
        self._member = np.empty((MEMBERS, _BATCH_EVENTS), np.int32)

    def scan(self, data: bytes, at: int, base: int) -> tuple[EventBatch | None, int, int]:
        """As in Scanner."""
        rows, after, status = _json_scan.scan(
            self.tokens.table,
            data,
            at,
            self._phase.data,
            self._timed.data,
            self._us.data,
            self._ps.data,
            self._length.data,
            self._lo.data,
            self._hi.data,
            self._args.data,
            self._member.reshape(-1).data,
            self._id.data,
            self._bind.data,
        )
        if not rows:
            return None, after, status
        self.tokens.update()
        some = slice(rows)
        args = np.where(self._args[some] >= 0, self._args[some] + base, 0)
        batch = EventBatch(
            phase=self._phase[some],
            timed=self._timed[some] != 0,
            us=self._us[some],
            ps=self._ps[some],
            length=self._length[some],
            lo=self._lo[some],
            hi=self._hi[some],
            args=args,
            member=self._member[:, some],
            id=self._id[some],
            bind=self._bind[some],
            data=data,
        )
        return batch, after, status
