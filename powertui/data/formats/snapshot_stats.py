"""What a memory snapshot of PyTorch says of each of its events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.json_stats import clean
from powertui.data.formats.snapshot_records import ALLOC, FREE, FREE_REQUESTED, SnapshotRecords
from powertui.data.model import Stat, StatColumn, UInt64s
from powertui.data.model.allocations import AllocatorLog

_MAX_STACK_FRAMES = 60  # of a stack that is shown


class EventStats:
    """What the snapshot says of each event (model.StatSource).

    Address and size of what was allocated and given back are those of the logs: a long snapshot
    has no room for them twice.
    """

    def __init__(self, records: SnapshotRecords) -> None:
        self._records = records
        self.logs: Sequence[AllocatorLog] = ()
        action = np.frombuffer(records.action, np.uint8)
        size = np.frombuffer(records.size, np.int64)
        address = np.frombuffer(records.address, np.int64)
        is_logged = np.isin(action, (ALLOC, FREE, FREE_REQUESTED))
        self._other_rows = np.flatnonzero(~is_logged)
        self._other_sizes = size[self._other_rows]
        self._other_addresses = address[self._other_rows]

    def _memory(self, row: int) -> tuple[int, int] | None:
        """(bytes, address) of an event; None where no log holds it."""
        place = int(np.searchsorted(self._other_rows, row))
        if place < len(self._other_rows) and self._other_rows[place] == row:
            size = int(self._other_sizes[place])
            return size, int(self._other_addresses[place])
        for log in self.logs:
            places = np.flatnonzero(log.order == row)
            if len(places):
                place = int(places[0])
                return int(log.size[place]), int(log.address[place])
        return None

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """Bytes, address and the stack of calls."""
        records = self._records
        row = position - 1
        if not 0 <= row < len(records.action):
            return ()
        stats = []
        memory = self._memory(row)
        if memory is not None:
            size, address = memory
            unsigned_address = address & (1 << 64) - 1
            stats.append(Stat("bytes", size, "int64"))
            stats.append(Stat("address", hex(unsigned_address), "str"))
        number = records.stack[row]
        if number >= 0:
            calls = []
            for place in records.stacks[number][:_MAX_STACK_FRAMES]:
                frame = records.frames[place]
                call = clean(f"{frame.file}:{frame.line} {frame.function}")
                calls.append(call)
            stats.append(Stat("stack", "\n".join(calls), "str"))
        return tuple(stats)

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """None of the stats that others ask for in bulk."""
        columns = {}
        for name in names:
            columns[name] = stat_columns.absent(len(positions))
        return columns
