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
        self._other_rows = np.flatnonzero(~np.isin(action, (ALLOC, FREE, FREE_REQUESTED)))
        self._other_sizes = np.frombuffer(records.size, np.int64)[self._other_rows]
        self._other_addresses = np.frombuffer(records.address, np.int64)[self._other_rows]

    def _memory(self, row: int) -> tuple[int, int] | None:
        """(bytes, address) of an event; None where no log holds it."""
        place = int(np.searchsorted(self._other_rows, row))
        if place < len(self._other_rows) and self._other_rows[place] == row:
            return int(self._other_sizes[place]), int(self._other_addresses[place])
        for log in self.logs:
            found = np.flatnonzero(log.order == row)
            if len(found):
                return int(log.size[found[0]]), int(log.address[found[0]])
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
            stats.append(Stat("bytes", size, "int64"))
            stats.append(Stat("address", hex(address & (1 << 64) - 1), "str"))
        number = records.stack[row]
        if number >= 0:
            frames = [records.frames[frame] for frame in records.stacks[number]]
            calls = [clean(f"{f.file}:{f.line} {f.function}") for f in frames[:_MAX_STACK_FRAMES]]
            stats.append(Stat("stack", "\n".join(calls), "str"))
        return tuple(stats)

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """None of the stats that others ask for in bulk."""
        return {name: stat_columns.absent(len(positions)) for name in names}
