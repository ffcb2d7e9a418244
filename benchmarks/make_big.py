"""Makes profiles of any number of events out of a recorded one, the same bytes every time.

    python -m benchmarks.make_big [EVENTS [NAMES]]     (default 10,000,000) → benchmarks/generated/profiles/keras_cifar_EVENTS/…

The recorded profile is keras_cifar (767,110 events) where it lies beside the checkout, else the
demo. It is played over and over: copy k holds every event of the recording again, in the same line,
with k times the recording's length added to its `offset_ps`; the last copy is broken off where the
number of events is reached. So lines stay sorted, nesting stays proper, and step numbers start
again with each copy, as they do with each epoch. Event records are re-encoded (a larger offset
takes more bytes, and so may the record's own length), and the session's recorded end moves along;
metadata, stats and line headers are kept as recorded. About 27 bytes an event, so 270 MB for ten
million.

With NAMES the recorded names are multiplied too: each becomes as many as its share of the events
asks for (`MatMul`, `MatMul.1` …), and its events are dealt out over them, so that about NAMES
different names occur, as in a program whose every op has its own.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.harness import EXTRA_DATA, GENERATED, ROOT
from powertui.data import wire
from powertui.data.wire.types import Bytes, Int64s, UInt64s

CHUNK = 200_000  # records re-encoded at once
PLANES_FIELD, LINES_FIELD, NAMES_FIELD, STAT_NAMES_FIELD, STATS_FIELD = 1, 3, 4, 5, 6


@dataclass(frozen=True)
class Line:
    """One line of the recording: where it lies, and its events."""

    lo: int
    hi: int
    position: UInt64s
    start: Int64s  # in ps on the profile's own clock
    name: Int64s


@dataclass(frozen=True)
class Deal:
    """How the events of a plane are dealt out over more names: those of id i get ids first[i] …
    first[i] + count[i] - 1.
    """

    first: Int64s
    count: Int64s

    @classmethod
    def from_lines(cls, lines: list[Line], share: float) -> Deal:
        """So many names for each event."""
        ids = np.concatenate([line.name for line in lines]) if lines else np.zeros(0, np.int64)
        count = (
            np.maximum(1, np.round(np.bincount(ids) * share).astype(np.int64))
            if len(ids)
            else np.zeros(0, np.int64)
        )
        return cls(np.cumsum(count) - count + 1, count)

    def ids(self, old: Int64s, number: Int64s) -> Int64s:
        """The new id of each event; `number` counts the events."""
        return self.first[old] + number * 2654435761 % (1 << 32) % self.count[old]


def recording() -> tuple[str, Path]:
    """The profile that is multiplied, and what to call it."""
    for name, folder in (
        ("keras_cifar", EXTRA_DATA / "own" / "keras_cifar"),
        ("demo", ROOT / "powertui" / "demo"),
    ):
        found = sorted(folder.glob("**/*.xplane.pb*"))
        if found:
            return name, found[0]
    raise SystemExit(
        "no recorded profile to multiply: neither ../shared/data/own/keras_cifar nor the demo "
        "is here"
    )


def make(events: int = 10_000_000, names: int = 0) -> Path:
    """The profile with exactly so many events, and about so many names (0: as recorded); made only
    once.
    """
    name, origin = recording()
    # a folder of its own: power logs that other benchmarks leave beside a logdir would be read with
    # it
    folder = f"{name}_{events}" + (f"_{names}_names" if names else "")
    path = (
        GENERATED
        / "profiles"
        / folder
        / "plugins"
        / "profile"
        / "2026_01_01_00_00_00"
        / "vm.xplane.pb"
    )
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    source = origin.read_bytes()
    data = np.frombuffer(gzip.decompress(source) if source[:2] == b"\x1f\x8b" else source, np.uint8)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        for piece in multiplied(data, events, names):
            out.write(piece)
    unfinished.rename(path)
    return path


def multiplied(data: Bytes, events: int, names: int = 0) -> Iterator[bytes]:
    """The new file, piece by piece."""
    planes = _ranges(data, 0, len(data), PLANES_FIELD)
    lines = {
        plane: [read_line(data, *line) for line in _ranges(data, *plane, LINES_FIELD)]
        for plane in planes
    }
    starts = np.sort(np.concatenate([line.start for found in lines.values() for line in found]))
    # a whole second of rest between two copies
    length = int(-(-(starts[-1] - starts[0]) // 10**12) + 1) * 10**12
    copies, rest = divmod(events, len(starts))
    end = int(starts[rest]) if rest else None
    if end is not None and starts[rest - 1] == end:
        raise SystemExit(
            f"{events} events would cut between two that start at once; ask for a few more or less"
        )
    for lo, hi, number in _fields(data, 0, len(data)):
        if number != PLANES_FIELD:
            yield data[lo:hi].tobytes()
            continue
        plane = _payload(data, lo, hi)
        deal = Deal.from_lines(lines[plane], names / len(starts)) if names else None
        body = list(plane_pieces(data, *plane, lines, length, copies, end, deal))
        yield from (bytes([PLANES_FIELD << 3 | wire.LEN]), _varint(sum(map(len, body))), *body)


def plane_pieces(
    data: Bytes,
    lo: int,
    hi: int,
    lines: dict[tuple[int, int], list[Line]],
    length: int,
    copies: int,
    end: int | None,
    deal: Deal | None,
) -> Iterator[bytes]:
    """A plane with its lines made longer, all else as it was."""
    known = {(line.lo, line.hi): line for line in lines[lo, hi]}
    stop = stat_id(data, lo, hi, "profile_stop_time")
    for first, last, number in _fields(data, lo, hi):
        if number == STATS_FIELD and stop is not None:
            ((name, _, value),) = wire.stats(data, first, last, STATS_FIELD)
            if name == stop:
                assert isinstance(value, int)
                later = value + (copies - (end is None)) * length // 1000
                stat = bytes([1 << 3]) + _varint(stop) + bytes([wire.UINT64 << 3]) + _varint(later)
                yield bytes([STATS_FIELD << 3 | wire.LEN, len(stat)]) + stat
                continue
        if number == NAMES_FIELD and deal is not None:
            yield from more_names(data, *_payload(data, first, last), deal)
            continue
        if number != LINES_FIELD:
            yield data[first:last].tobytes()
            continue
        line = known[_payload(data, first, last)]
        body = [
            data[a:b].tobytes()
            for a, b, field in _fields(data, line.lo, line.hi)
            if field != wire.EVENTS_FIELD
        ]
        for copy in range(copies):
            body.extend(moved(data, line.position, copy * length, deal))
        if end is not None:
            body.extend(moved(data, line.position[line.start < end], copies * length, deal))
        yield from (bytes([LINES_FIELD << 3 | wire.LEN]), _varint(sum(map(len, body))), *body)


def more_names(data: Bytes, lo: int, hi: int, deal: Deal) -> Iterator[bytes]:
    """One entry of a plane's names as often as it is needed: XEventMetadata 1 id, 2 name, 4 display
    name, 3 and 5 left out.
    """
    entry = wire.hop(data, lo, hi)
    old, (at, end) = entry.integer(1), entry.payload(2)
    metadata = wire.hop(data, at, end)
    name, shown = (wire.text(data, *metadata.payload(field)) for field in (2, 4))
    if old >= len(deal.count):  # no event has this name
        return
    for copy in range(int(deal.count[old])):
        number = _varint(int(deal.first[old]) + copy)
        body = b"\x08" + number
        for tag, text in ((0x12, name), (0x22, shown)):
            if text:
                scope, colon, kind = text.rpartition(":")  # name:Type keeps its type
                numbered = f"{scope}.{copy}{colon}{kind}" if colon else f"{text}.{copy}"
                encoded = (numbered if copy else text).encode()
                body += bytes([tag]) + _varint(len(encoded)) + encoded
        body = b"\x08" + number + b"\x12" + _varint(len(body)) + body
        yield bytes([NAMES_FIELD << 3 | wire.LEN]) + _varint(len(body)) + body


def stat_id(data: Bytes, lo: int, hi: int, name: str) -> int | None:
    """The number that a plane gives to a stat of this name."""
    entries = wire.pick(
        data,
        *wire.hop(data, lo, hi).ranges(STAT_NAMES_FIELD),
        [wire.tag(1, wire.VARINT), wire.tag(2, wire.LEN)],
    )
    for key, at, end in zip(
        entries.value[0].tolist(), entries.value[1].tolist(), entries.end[1].tolist(), strict=True
    ):
        if wire.text(data, *wire.hop(data, at, end).payload(2)) == name:
            return int(key)
    return None


def read_line(data: Bytes, lo: int, hi: int) -> Line:
    """Where the events of a line lie and when they start."""
    header = wire.hop(data, lo, hi, skip=wire.EVENTS_FIELD)
    columns = wire.EventColumns.empty(header.skipped)
    scan = wire.scan_events(data, lo, hi, header.integer(3) * 1000, columns, 0)
    assert scan.rows == header.skipped
    assert not len(scan.counted), "the recording has events without a time"
    return Line(lo, hi, columns.position, columns.start, columns.id.astype(np.int64))


def moved(data: Bytes, position: UInt64s, by: int, deal: Deal | None = None) -> Iterator[bytes]:
    """The event records at these positions with `by` ps added to their offsets, and perhaps other
    names.
    """
    for at in range(0, len(position), CHUNK):
        yield _moved(data, position[at : at + CHUNK].astype(np.int64), by, deal)


def _moved(data: Bytes, position: Int64s, by: int, deal: Deal | None) -> bytes:
    # only the bytes around these records, so that a chunk costs what it holds
    first_byte = int(position[0])
    data = data[first_byte : int(position[-1]) + 10 + int(_decode(data, position[-1:])[0][0])]
    size, lo = _decode(data, position - first_byte)
    hi = lo + size
    # what comes before the offset: the metadata id, when it is there
    name, behind_id = _decode(data, lo + 1)
    has_id = (data[lo] == 1 << 3) & (hi > lo)
    head_end = np.where(has_id, behind_id, lo)
    if (
        deal is not None
    ):  # the records counted through, later copies elsewhere, so that the deal differs
        name, has_id = (
            deal.ids(np.where(has_id, name, 0), np.arange(len(position)) + by // 1000),
            np.ones(len(position), np.bool_),
        )
    new_id, id_size = _encode(name)
    id_size = np.where(has_id, id_size, 0)
    has_offset = (head_end < hi) & (data.take(head_end, mode="clip") == 2 << 3)
    offset, behind_offset = _decode(data, head_end + 1)
    tail = np.where(has_offset, behind_offset, head_end)
    new_offset, offset_size = _encode(np.where(has_offset, offset, 0) + by)
    new_size, size_size = _encode(has_id + id_size + 1 + offset_size + (hi - tail))
    # Each record is seven runs of bytes, from the recording or from one of the made ones behind it.
    n = len(position)
    tags = np.array([wire.EVENTS_FIELD << 3 | wire.LEN, 2 << 3, 1 << 3], np.uint8)
    made = np.concatenate((data, tags, new_size.ravel(), new_offset.ravel(), new_id.ravel()))
    sizes_at, offsets_at, ids_at = (len(data) + 3 + part * new_size.size for part in range(3))
    row = np.arange(n)
    one = np.ones(n, np.int64)
    runs = (
        (one * len(data), one),
        (sizes_at + 10 * row, size_size),
        (one * (len(data) + 2), has_id.astype(np.int64)),
        (ids_at + 10 * row, id_size),
        (one * (len(data) + 1), one),
        (offsets_at + 10 * row, offset_size),
        (tail, hi - tail),
    )
    first = np.stack([start for start, _ in runs], axis=1).ravel()
    count = np.stack([length for _, length in runs], axis=1).ravel()
    before = np.cumsum(count) - count
    return made[np.repeat(first - before, count) + np.arange(int(count.sum()))].tobytes()


def _decode(data: Bytes, at: Int64s) -> tuple[Int64s, Int64s]:
    """A varint at each place (below 2**63), and the place behind it."""
    value, shift, place = np.zeros(len(at), np.int64), 0, at.copy()
    going = np.arange(len(at))
    while len(going) and shift < 63:
        byte = data.take(place[going], mode="clip")
        value[going] |= (byte & 0x7F).astype(np.int64) << shift
        place[going] += 1
        shift += 7
        going = going[byte >= 0x80]
    return value, place


def _encode(value: Int64s) -> tuple[npt.NDArray[np.uint8], Int64s]:
    """Varints of these numbers, each in a row of ten bytes, and how many of the ten count."""
    out, size = np.zeros((len(value), 10), np.uint8), np.ones(len(value), np.int64)
    for step in range(10):
        left = value >> 7 * min(step, 9)
        out[:, step] = (left & 0x7F) | np.where(left >> 7 > 0, 0x80, 0)
        size += (left >> 7 > 0) & (step < 9)
    return out, size


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _ranges(data: Bytes, lo: int, hi: int, number: int) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in zip(*wire.hop(data, lo, hi).ranges(number), strict=True)]


def _fields(data: Bytes, lo: int, hi: int) -> Iterator[tuple[int, int, int]]:
    """Every field of a message with its tag: first byte, last byte, number."""
    hop = wire.hop(data, lo, hi)
    assert hop.bad == -1
    first = lo
    for last, number in zip(hop.hi.tolist(), hop.number.tolist(), strict=True):
        yield first, last, number
        first = last


def _payload(data: Bytes, lo: int, hi: int) -> tuple[int, int]:
    hop = wire.hop(data, lo, hi)
    return int(hop.lo[0]), int(hop.hi[0])


def main() -> None:
    """Make one and say where it lies."""
    events, names = (
        int(text.replace(",", ""))
        for text in (*sys.argv[1:3], *("10_000_000", "0")[len(sys.argv) - 1 :])
    )
    begin = time.perf_counter()
    path = make(events, names)
    print(
        f"{path}: {events:,} events, {path.stat().st_size:,} bytes, "
        f"{time.perf_counter() - begin:.1f} s"
    )


if __name__ == "__main__":
    main()
