"""PyTorch's memory snapshots (`torch.cuda.memory._dump_snapshot`): pickles of any name.

They are read without unpickling (`plain_pickle`). Each device becomes a process whose lines hold
what its allocator did, and one log of its allocations. Bytes are those that were asked for; levels
are counted back from the blocks that the snapshot holds, so they are right although the list of
events may begin in the middle. What was allocated before that is known by its block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace

NAME = "torch_snapshot"

_PROTOCOL = re.compile(rb"\x80[\x02-\x05]")
# Names that every snapshot has near its beginning: the first segment is written first, else the
# lists are empty.
_MARKS = (b"device_traces", b"total_size", b"segments")
_MAX_FIRST = 400  # bytes before the first of these names; the list of segments comes first
_CONFIDENCE = 90


def sniff(head: bytes, _path: str) -> int:
    """A pickle that begins with segments."""
    if not _PROTOCOL.match(head):
        return 0
    if any(mark in head[:_MAX_FIRST] for mark in _MARKS):
        return _CONFIDENCE
    return 0


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """The whole trace."""
    from powertui.data.formats import snapshot_trace

    yield snapshot_trace.load(source, progress, NAME)
