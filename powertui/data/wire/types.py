"""What both decoders take and give: plain tuples of numpy columns.

A *message* is a range of bytes `lo … hi` of the file. A malformed or cut message is never an error
here: what was read before the trouble is given, and `bad` is the byte where it stopped making sense
(-1 when all is well).
"""

from __future__ import annotations

import mmap
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from powertui.named_tuples import NamedTuple

Bytes: TypeAlias = npt.NDArray[np.uint8]  # the file, or a part of it
Int64s: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
UInt32s: TypeAlias = npt.NDArray[np.uint32]
UInt8s: TypeAlias = npt.NDArray[np.uint8]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]

# wire types
VARINT, FIXED64, LEN, FIXED32 = 0, 1, 2, 5

# kinds of a stat: the number of its field in XStat; 0 stands for "no value"
NO_VALUE, DOUBLE, UINT64, INT64, STR, BYTES, REF = 0, 2, 3, 4, 5, 6, 7
STAT_KINDS = {
    DOUBLE: "double",
    UINT64: "uint64",
    INT64: "int64",
    STR: "str",
    BYTES: "bytes",
    REF: "ref",
}

EVENTS_FIELD = 4  # XLine.events
EVENT_STATS_FIELD = 4  # XEvent.stats

MAX_LANES = 255  # deeper nesting than this shares the last lane

_HUGE_COLUMN_BYTES = 1 << 22  # bytes of a column from which numpy asks for huge pages

KINDS = 16  # of stretches: bits of a code's kinds
CODES = 16  # codes that events pass on are below this
BLOCK = 16  # rows that are summed up together …
FAN = 4  # … and so many such blocks are a group
GUIDE = 64  # rows from one start that a search looks at first to the next

RawStat: TypeAlias = "tuple[int, int, int | float | bytes]"  # (stat metadata id, kind, value)


def tag(number: int, wire: int) -> int:
    """The tag that introduces a field on the wire."""
    return number << 3 | wire


class Hop(NamedTuple):
    """The fields of one message, in file order, without a look inside them."""

    number: Int64s
    wire: UInt8s
    value: Int64s  # VARINT as two's complement, FIXED64 and FIXED32 as their bits; 0 for LEN
    lo: Int64s  # the bytes of the value; for LEN the payload
    hi: Int64s  # a payload that runs past the message's end is cut there (and `bad` is set)
    skipped: int  # LEN fields that were only counted (see `hop`), whole ones
    bad: int

    def ranges(self, number: int) -> tuple[Int64s, Int64s]:
        """All payloads of a repeated message, string or bytes field."""
        rows = (self.number == number) & (self.wire == LEN)
        return self.lo[rows], self.hi[rows]

    def payload(self, number: int) -> tuple[int, int]:
        """The payload of a single string, bytes or message field: the last one given, (0, 0)
        without one.
        """
        lo, hi = self.ranges(number)
        if len(lo):
            return (int(lo[-1]), int(hi[-1]))
        return (0, 0)

    def integer(self, number: int) -> int:
        """A single int64 field: the last one given, 0 without one."""
        values = self.value[(self.number == number) & (self.wire == VARINT)]
        return int(values[-1]) if len(values) else 0


class EventColumns(NamedTuple):
    """Where events are decoded to: 28 bytes each."""

    id: UInt32s  # metadata id; see Scan.wide for those that do not fit
    start: Int64s
    duration: Int64s
    position: UInt64s  # where the record lies: at its length prefix

    @classmethod
    def empty(cls, rows: int) -> EventColumns:
        """Room for so many events, not yet touched (so not yet resident)."""
        return cls(
            np.empty(rows, np.uint32),
            np.empty(rows, np.int64),
            np.empty(rows, np.int64),
            np.empty(rows, np.uint64),
        )


class Scan(NamedTuple):
    """What one slice of a line held."""

    rows: int  # events written
    next: int  # the byte to go on at; the line's end when it is done
    # rows that say only how often something ran: their `start` is num_occurrences, without the base
    counted: Int64s
    wide: Int64s  # rows whose metadata id does not fit 32 bits …
    wide_ids: Int64s  # … and those ids
    dropped: int  # events whose own bytes are malformed; they take no row
    bad: int  # the first of those, or the field of the line behind which nothing could be read


class Laned(NamedTuple):
    """The events of one line, lane by lane, each lane by start."""

    start: Int64s
    duration: Int64s
    name: UInt32s
    place: (
        UInt32s | UInt64s
    )  # where each record's length prefix lies, counted from the line's first byte
    lanes: Int64s  # lane d is the rows from lanes[d] to lanes[d + 1]
    end: int  # when the last event ends


class PickedFields(NamedTuple):
    """Chosen fields of many messages: `present[k, i]` says whether message i has the field of tag
    k.
    """

    present: Bools
    value: Int64s  # numbers as in Hop; for LEN where the payload starts
    end: Int64s  # for LEN where it ends, else 0
    bad: int  # the start of the first malformed message


class RecordFrames(NamedTuple):
    """TFRecords: where the payload of each lies, and whether it is what its checksum says."""

    begin: Int64s
    end: Int64s
    good: npt.NDArray[np.bool_]
    next: int  # where the first lies that is not whole
    damaged: bool  # and that the checksum of its length is wrong


class PlacedAtEdges(NamedTuple):
    """How the events of lanes are placed at edges, each [lane, edge]."""

    at: Int64s  # the first event that starts at or after the edge
    over: Int64s  # how far the one before it reaches past the edge …
    length: Int64s  # … and how long that one is
    passed: Int64s  # what the events of the track cover before the edge, in ps


class StatScan(NamedTuple):
    """Chosen stats of many events: `kind[k, i]` is how event i holds stat k, NO_VALUE where it has
    none.
    """

    kind: UInt8s
    # the value's 64 bits (view as float64 for DOUBLE, uint64 for UINT64 and REF); STR, BYTES: where
    # they start
    bits: Int64s
    end: Int64s  # STR, BYTES: where they end, else 0


def text(data: Bytes, lo: int, hi: int) -> str:
    """A payload as text. Files are not to be trusted: what is no UTF-8 shows as U+FFFD."""
    return data[lo:hi].tobytes().decode("utf-8", "replace")


def empty(rows: int, kind: type[Any]) -> npt.NDArray[Any]:
    """np.empty for columns that are kept. For large ones numpy asks the kernel for huge pages: to
    find and clear those took as long as to decode what goes into them, and a page that is touched
    in one place is resident as a whole.
    """
    size = rows * np.dtype(kind).itemsize
    return (
        np.empty(rows, kind)
        if size < _HUGE_COLUMN_BYTES
        else np.frombuffer(mmap.mmap(-1, size), kind)
    )


def places(rows: int, size: int) -> UInt32s | UInt64s:
    """Room for places within a line of so many bytes: four bytes each unless the line is longer
    than they can measure.
    """
    return empty(rows, np.uint32 if size < 1 << 32 else np.uint64)


def distinct(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Each value once, in order; all that are not a number count as one.

    What np.unique does, which first imports numpy.ma (20 ms of every start), and takes up to 17
    times as long for whole numbers (a million, in numpy 2.4's hash table, 2026-11-29).
    """
    ordered = np.sort(np.asarray(values), axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    if ordered.dtype.kind == "f" and len(ordered) and np.isnan(ordered[-1]):
        first[np.searchsorted(ordered, np.nan) + 1 :] = False
    return ordered[first]


def as_positions(positions: npt.NDArray[Any]) -> Int64s:
    """Positions as indices.

    Those beyond any file (2**63 and up) turn negative, which every decoder refuses.
    """
    columns = np.ascontiguousarray(positions)
    if columns.dtype == np.uint64:
        return columns.view(np.int64)
    return columns.astype(np.int64, copy=False)
