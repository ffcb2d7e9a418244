"""Events of a JSON trace, many at a time: what both scanners (json_compiled.py,
json_pure.py) give.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from powertui.data.model import Bools, Int32s, Int64s, UInt8s
from powertui.named_tuples import NamedTuple

MORE, ODD, END, FULL = range(4)  # why a scan ended: json_scan.c says the same numbers
NAME, CAT, PID, TID, DEVICE, STREAM, LONG_NAME = range(7)
MEMBERS = 7
# Of `bind`: the event has a plain `id` or `bind_id`; its `bp` is "e"; it is a span that a flow
# leads to, or from.
HAS_ID = 1
ENCLOSING = 2
FLOW_IN = 4
FLOW_OUT = 8
_decode = json.JSONDecoder(strict=False).raw_decode


class EventBatch(NamedTuple):
    """Some events. Members are numbers of texts (`Tokens`), -1 where an event has none."""

    phase: UInt8s  # the letter
    timed: Bools
    us: Int64s  # ts: whole µs …
    ps: Int32s  # … and what is left
    length: Int64s  # dur, ps
    lo: Int64s  # the event's text, in `data`
    hi: Int64s
    # where its arguments stand in the whole text (the pure scanner: where the event does); 0
    # without any
    args: Int64s
    member: Int32s  # [MEMBERS × events]
    id: Int64s  # `identity` of its id
    bind: UInt8s
    data: bytes
    decoded: Sequence[Any] | None = None  # the events, where they were decoded

    def text(self, row: int) -> str:
        """One event as it is written."""
        return self.data[int(self.lo[row]) : int(self.hi[row])].decode("utf-8", "replace")

    def event(self, row: int) -> Any:
        """One event, decoded."""
        if self.decoded is not None:
            return self.decoded[row]
        return _decode(self.text(row))[0]

    def after(self, rows: int) -> EventBatch:
        """The same without its first rows."""
        if self.decoded is not None:
            decoded = self.decoded[rows:]
        else:
            decoded = None
        return EventBatch(
            phase=self.phase[rows:],
            timed=self.timed[rows:],
            us=self.us[rows:],
            ps=self.ps[rows:],
            length=self.length[rows:],
            lo=self.lo[rows:],
            hi=self.hi[rows:],
            args=self.args[rows:],
            member=self.member[:, rows:],
            id=self.id[rows:],
            bind=self.bind[rows:],
            data=self.data,
            decoded=decoded,
        )

    def __len__(self) -> int:
        return len(self.phase)


class Tokens(Protocol):
    """The values that members have, each once."""

    def __getitem__(self, number: int, /) -> Any: ...
    def __len__(self) -> int: ...


class Scanner(Protocol):
    """Reads the items of a list, as far as they are plain."""

    @property
    def tokens(self) -> Tokens: ...
    def scan(self, data: bytes, at: int, base: int) -> tuple[EventBatch | None, int, int]:
        """(events, the byte to go on at, why it ended).

        `base` is where `data` begins in the whole text.
        """


def id_number(id: Any) -> int:
    """An id as a number that says which are the same: integers as they are, texts by a hash
    (FNV-1a).
    """
    if isinstance(id, int):
        return (id + (1 << 63)) % (1 << 64) - (1 << 63)
    code = 0xCBF29CE484222325
    for byte in (id if isinstance(id, str) else json.dumps(id)).encode("utf-8", "replace"):
        code = (code ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return (code + (1 << 63)) % (1 << 64) - (1 << 63)
