"""The places of all packets of a Perfetto trace.

Packets that were packed (deflated) take the place of the packet that contains them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from powertui.data import wire
from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.formats.source import OpenedFile, describe
from powertui.data.limits import PIECE, UNCHECKED_BYTES
from powertui.data.model import Bools, Int64s
from powertui.data.wire import LEN, windows
from powertui.data.wire.stored import Stored
from powertui.data.wire.types import PickedFields
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

PACKET = 1
SLICE = 1 << 18  # packets decoded together
_PACKED = wire.tag(50, LEN)


@dataclass
class Packets:
    """The places of all packets, in the file or in the memory of unpacked ones."""

    lo: Int64s
    hi: Int64s
    unpacked: Bools
    stored: Stored
    memory: Stored

    def __len__(self) -> int:
        return len(self.lo)

    def pick(self, rows: Int64s | slice, tags: tuple[int, ...]) -> PickedFields:
        """Fields of some of the packets; their places are in the same bytes as the packet."""
        return self.fields(self.lo[rows], self.hi[rows], self.unpacked[rows], tags)

    def fields(
        self,
        lo: Int64s,
        hi: Int64s,
        unpacked: Bools,
        tags: tuple[int, ...],
    ) -> PickedFields:
        """The same of any messages."""
        if not unpacked.any():
            return windows.pick(self.stored, lo, hi, tags)
        shape = (len(tags), len(lo))
        present = np.zeros(shape, np.bool_)
        value = np.zeros(shape, np.int64)
        end = np.zeros(shape, np.int64)
        bad = -1
        for stored, rows in ((self.stored, ~unpacked), (self.memory, unpacked)):
            fields = windows.pick(stored, lo[rows], hi[rows], tags)
            present[:, rows] = fields.present
            value[:, rows] = fields.value
            end[:, rows] = fields.end
            bad = max(bad, fields.bad)
        return PickedFields(present=present, value=value, end=end, bad=bad)

    def read(self, lo: int, hi: int, unpacked: bool) -> bytes:
        return (self.memory if unpacked else self.stored).read(lo, hi).tobytes()


def slices(count: int) -> Iterator[slice]:
    """Slices over so many packets; one empty slice for none."""
    return (slice(lo, min(lo + SLICE, count)) for lo in range(0, max(count, 1), SLICE))


def find_packets(source: OpenedFile, findings: FileWarnings) -> Packets:
    """All packets of a file. Raises `UnreadableFile` where there is none."""
    stored = source.stored()
    stored.admit = lambda need: source.limit.check(source.path, need)
    outline = windows.hop(stored, 0, stored.size, empty=False).hop
    lo, hi = outline.ranges(PACKET)
    if outline.bad >= 0:
        findings.lose(
            "the trace ends in the middle or is damaged",
            f"byte {outline.bad:,}",
        )
        if len(hi) and outline.bad < int(hi[-1]):
            lo, hi = lo[:-1], hi[:-1]  # the last packet was cut
    if not len(lo):
        raise _without_packets(source, is_damaged=outline.bad >= 0)
    alone = Packets(
        lo=lo,
        hi=hi,
        unpacked=np.zeros(len(lo), np.bool_),
        stored=stored,
        memory=Stored(source.path, memory=b""),
    )
    packed = _packed_bytes(alone)
    return _unpacked(source, findings, alone, packed) if packed else alone


def _packed_bytes(packets: Packets) -> list[tuple[int, int, int]]:
    """(row, begin, end) of the packets that hold further packets, packed."""
    packed: list[tuple[int, int, int]] = []
    for part in slices(len(packets.lo)):
        fields = packets.pick(part, (_PACKED,))
        rows = np.flatnonzero(fields.present[0])
        columns = (rows + part.start, fields.value[0][rows], fields.end[0][rows])
        packed += zip(*(column.tolist() for column in columns), strict=True)
    return packed


def _without_packets(source: OpenedFile, *, is_damaged: bool) -> UnreadableFile:
    empty_packet = bytes((wire.tag(PACKET, LEN), 0))
    if not is_damaged and source.head.startswith(empty_packet):
        hint = (
            "The tracing service had nothing to write. Check which data sources its "
            "configuration names, and trace again."
        )
        return UnreadableFile(source.path, "is empty: it contains only empty packets", hint=hint)
    problem, hint = describe(source.head, source.path)
    return UnreadableFile(source.path, problem, hint=hint)


def _unpacked(
    source: OpenedFile,
    findings: FileWarnings,
    alone: Packets,
    packed: list[tuple[int, int, int]],
) -> Packets:
    """All packets, with those that were packed in the place of the packets that contain them."""
    memory = bytearray()
    begins = [alone.lo]
    ends = [alone.hi]
    places = [np.arange(len(alone.lo), dtype=np.float64)]
    checked = 0
    for row, first, last in packed:
        begin = len(memory)
        try:
            for piece in _inflated(alone.read(first, last, False)):
                memory += piece
                if len(memory) - checked > UNCHECKED_BYTES:  # the free memory changes meanwhile
                    source.limit.check(source.path, len(memory), "it unpacks to")
                    checked = len(memory)
                if problem := source.limit.unpacks_too_far(last - first, len(memory) - begin):
                    findings.lose(f"a packed packet was cut: {problem}")
                    break
        except zlib.error:
            del memory[begin:]
            findings.lose("packed packets could not be unpacked and were left out")
            continue
        unpacked = Stored(source.path, memory=memory[begin:])
        unpacked.admit = lambda need: source.limit.check(source.path, need)
        lo, hi = windows.hop(unpacked, 0, unpacked.size, empty=False).hop.ranges(PACKET)
        begins.append(lo + begin)
        ends.append(hi + begin)
        # Between the row of the containing packet and the next one.
        places.append(row + np.arange(1, len(lo) + 1) / (len(lo) + 1))
    order = np.argsort(np.concatenate(places), kind="stable")
    inside = np.arange(sum(map(len, begins))) >= len(alone.lo)
    stored = Stored(source.path, memory=memory)
    return Packets(
        lo=np.concatenate(begins)[order],
        hi=np.concatenate(ends)[order],
        unpacked=inside[order],
        stored=alone.stored,
        memory=stored,
    )


def _inflated(packed: bytes) -> Iterator[bytes]:
    """What these bytes unpack to, a bounded piece at a time."""
    engine = zlib.decompressobj()
    while packed and not engine.eof:
        yield engine.decompress(packed, PIECE)
        packed = engine.unconsumed_tail
    yield engine.flush(PIECE)
