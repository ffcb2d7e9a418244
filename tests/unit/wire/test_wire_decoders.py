"""Both decoders against protobuf's own parse of the same bytes, and against each other where
protobuf gives up.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powertui.data import wire
from powertui.data.wire.crc32c import crc32c, masked
from powertui.data.wire.pure import fields
from powertui.data.wire.types import LEN, VARINT, Bytes, EventColumns
from tests.unit.wire.wire_oracle import (
    DECODERS,
    EVENTS,
    EXACT,
    LINES,
    STATS,
    as_data,
    everything,
    field,
    mangled,
    parsed,
    same_stats,
    scanned,
    signed,
    stat_rows,
    varint,
)

LOGDIRS = Path(__file__).parents[2] / "data" / "logdirs"
SMALL = LOGDIRS / "trace_export/plugins/profile/2026_11_21_00_50_42/vm.xplane.pb"
JAX = LOGDIRS / "jax_cpu/plugins/profile/2026_11_21_00_50_50/vm.xplane.pb"

modest = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(params=DECODERS, ids=lambda module: module.__name__.rpartition(".")[2])
def decoder(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(params=["batches", "stragglers"])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pure` takes large and small heaps of records on different ways: small examples must
    go both.
    """
    if request.param == "batches":
        monkeypatch.setattr(fields, "MIN_VECTOR_RECORDS", 0)
        monkeypatch.setattr(fields, "BATCH", 3)


# ── what protobuf reads, we read ─────────────────────────────────────────────────────────────────


def check_line(
    decoder: ModuleType, data: Bytes, lo: int, hi: int, line: Any, base: int, limit: int = 1 << 62
) -> None:
    """One XLine: its header, its events' columns, every stat of every event."""
    header = decoder.hop(data, lo, hi, skip=wire.EVENTS_FIELD)
    assert header.bad == -1
    assert header.skipped == len(line.events)
    for number, name in ((1, "id"), (3, "timestamp_ns"), (9, "duration_ps"), (10, "display_id")):
        assert header.integer(number) == getattr(line, name)
    for number, name in ((2, "name"), (11, "display_name")):
        assert wire.text(data, *header.payload(number)) == getattr(line, name)

    columns, scans = scanned(decoder, data, lo, hi, base, limit)
    assert len(columns.id) == len(line.events)
    assert {scan.bad for scan in scans} <= {-1}
    ids = columns.id.astype(np.int64)
    for scan in scans:
        ids[scan.wide] = scan.wide_ids
    assert ids.tolist() == [event.metadata_id for event in line.events]
    assert columns.duration.tolist() == [event.duration_ps for event in line.events]
    counted = [row for scan in scans for row in scan.counted.tolist()]
    assert counted == [
        row
        for row, event in enumerate(line.events)
        if event.WhichOneof("data") == "num_occurrences"
    ]
    aside = set(counted)
    expected = [
        e.num_occurrences if row in aside else signed(e.offset_ps + base)
        for row, e in enumerate(line.events)
    ]
    assert columns.start.tolist() == expected
    check_stats(decoder, data, columns, line)


def check_stats(decoder: ModuleType, data: Bytes, columns: EventColumns, line: Any) -> None:
    rows = [stat_rows(event.stats) for event in line.events]
    for position, theirs in zip(columns.position, rows, strict=True):
        assert same_stats(decoder.event_stats(data, int(position)), theirs)
    wanted = sorted({stat[0] for row in rows for stat in row})[:6] or [1]
    found = decoder.scan_stats(data, columns.position, wanted)
    for k, stat_id in enumerate(wanted):
        for i, row in enumerate(rows):
            first = next(
                ((stat_id, kind, value) for name, kind, value in row if name == stat_id and kind),
                None,
            )
            ours = value_of(data, stat_id, found, k, i)
            assert same_stats([ours] if ours else [], [first] if first else [])


def value_of(
    data: Bytes, stat_id: int, found: wire.StatScan, k: int, i: int
) -> tuple[int, int, Any] | None:
    kind, bits, end = int(found.kind[k, i]), found.bits[k, i], int(found.end[k, i])
    if kind == wire.NO_VALUE:
        return None
    if kind in (wire.STR, wire.BYTES):
        return stat_id, kind, data[int(bits) : end].tobytes()
    return (
        stat_id,
        kind,
        {wire.DOUBLE: bits.view(np.float64), wire.INT64: bits}.get(
            kind, bits.view(np.uint64)
        ).item(),
    )


@modest
@given(message=LINES, base=st.integers(-(1 << 62), 1 << 62))
def test_a_line_reads_as_protobuf_reads_it(
    decoder: ModuleType, batches: None, message: bytes, base: int
) -> None:
    check_line(decoder, as_data(message), 0, len(message), parsed("XLine", message), base)


@modest
@given(message=LINES, before=st.binary(max_size=5), behind=st.binary(max_size=20))
def test_bytes_around_a_line_do_not_matter(
    decoder: ModuleType, batches: None, message: bytes, before: bytes, behind: bytes
) -> None:
    data = as_data(before + message + behind)
    check_line(decoder, data, len(before), len(before) + len(message), parsed("XLine", message), 0)


@modest
@given(message=LINES, limit=st.integers(1, 4))
def test_slices_add_up_to_the_whole(
    decoder: ModuleType, batches: None, message: bytes, limit: int
) -> None:
    check_line(decoder, as_data(message), 0, len(message), parsed("XLine", message), 5, limit)
    _, scans = scanned(decoder, as_data(message), 0, len(message), 5, limit)
    assert all(scan.rows <= limit for scan in scans)


@modest
@given(messages=st.lists(EVENTS, max_size=30))
def test_picked_fields_are_the_last_ones(
    decoder: ModuleType, batches: None, messages: list[bytes]
) -> None:
    data = as_data(b"".join(messages))
    hi = np.cumsum([len(message) for message in messages], dtype=np.int64)
    lo = hi - np.array([len(message) for message in messages], np.int64)
    picked = decoder.pick(
        data, lo, hi, [wire.tag(1, VARINT), wire.tag(3, VARINT), wire.tag(4, LEN)]
    )
    assert picked.bad == -1
    for i, message in enumerate(messages):
        event = parsed("XEvent", message)
        assert picked.value[:2, i].tolist() == [event.metadata_id, event.duration_ps]
        assert picked.present[2, i] == bool(len(event.stats))
        if len(event.stats):
            last = data[picked.value[2, i] : picked.end[2, i]].tobytes()
            assert same_stats(stat_rows([parsed("XStat", last)]), stat_rows(event.stats[-1:]))


@modest
@given(messages=st.lists(STATS, max_size=8))
def test_stats_outside_of_events(decoder: ModuleType, messages: list[bytes]) -> None:
    plane = b"".join(field(6, LEN, message) for message in messages)
    ours = decoder.stats(as_data(plane), 0, len(plane), 6)
    assert same_stats(ours, stat_rows(parsed("XPlane", plane).stats))


# ── what protobuf refuses: as much as can be read, the same from both, no crash ─────────────────


def check_any_line(message: bytes) -> None:
    data = as_data(message)
    answers = [everything(decoder, data, 0, len(data)) for decoder in DECODERS]
    assert all(answer == answers[0] for answer in answers)
    line = parsed("XLine", message) if EXACT else None
    if (
        line is not None
        and answers[0][0][-1] == -1
        and not any(scan[-1] != -1 for scan in answers[0][2])
    ):
        for decoder in DECODERS:
            check_line(decoder, data, 0, len(data), line, 0)


@settings(modest, max_examples=200)
@given(message=mangled())
def test_mangled_lines(batches: None, message: bytes) -> None:
    check_any_line(message)


@modest
@given(message=LINES)
def test_every_prefix_of_a_line_gives_what_was_whole(
    decoder: ModuleType, batches: None, message: bytes
) -> None:
    data = as_data(message)
    whole, _ = scanned(decoder, data, 0, len(data))
    for end in range(0, len(message), max(1, len(message) // 25)):
        cut, scans = scanned(decoder, data[:end], 0, end)
        n = len(cut.id)
        assert [column.tolist() for column in cut] == [column[:n].tolist() for column in whole]
        framed = parsed("XLine", message[:end]) is not None
        assert framed or any(scan.bad >= 0 for scan in scans)


def test_every_prefix_of_a_small_line() -> None:
    event = (
        field(1, VARINT, 7)
        + field(2, VARINT, 10**12)
        + field(3, VARINT, 10**6)
        + field(4, LEN, field(1, VARINT, 3) + field(7, VARINT, 9))
    )
    line = (
        field(2, LEN, b"python")
        + field(3, VARINT, 500)
        + 3 * field(4, LEN, event)
        + field(11, LEN, b"shown")
    )
    for end in range(len(line) + 1):
        check_any_line(line[:end])


def test_groups_and_impossible_tags_end_a_message(decoder: ModuleType) -> None:
    event = field(4, LEN, field(1, VARINT, 7))
    for trouble in (
        b"\x0b\x0c",
        b"\x0e\x01",
        b"\x0f\x01",
        b"\x00\x01",
        b"\xff" * 11,
        varint(1 << 35),
        b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ):
        data = as_data(event + trouble + event)
        columns, scans = scanned(decoder, data, 0, len(data))
        assert columns.id.tolist() == [7]
        assert scans[-1].bad == len(event)
        assert scans[-1].next == len(data)
        assert decoder.hop(data, 0, len(data)).bad == len(event)


def test_an_event_whose_own_bytes_are_malformed_is_dropped_alone(
    decoder: ModuleType, batches: None
) -> None:
    good = field(4, LEN, field(1, VARINT, 7))
    data = as_data(good + field(4, LEN, b"\x08") + good + field(4, LEN, b"\x0b") + good)
    columns, scans = scanned(decoder, data, 0, len(data))
    assert columns.id.tolist() == [7, 7, 7]
    assert sum(scan.dropped for scan in scans) == 2
    assert min(scan.bad for scan in scans if scan.bad >= 0) == len(good) + 1


def test_a_payload_that_runs_past_the_end_is_cut_there(decoder: ModuleType) -> None:
    data = as_data(field(1, VARINT, 3) + b"\x1a\x64abc")
    hop = decoder.hop(data, 0, len(data))
    assert hop.number.tolist() == [1, 3]
    assert hop.payload(3) == (4, 7)
    assert hop.bad == 2


def test_ranges_outside_of_the_file_are_empty(decoder: ModuleType) -> None:
    data = as_data(field(1, VARINT, 3))
    for lo, hi in ((-5, 1 << 40), (0, 2)):
        assert decoder.hop(data, lo, hi).integer(1) == 3
    for lo, hi in ((2, 1), (50, 60), (-9, -3), (1 << 40, 1 << 41)):
        assert len(decoder.hop(data, lo, hi).number) == 0
        assert decoder.stats(data, lo, hi, 6) == []
    picked = decoder.pick(
        data, np.array([-7, 99, 1 << 62]), np.array([2, 120, (1 << 62) + 2]), [wire.tag(1, VARINT)]
    )
    assert picked.present.tolist() == [[True, False, False]]


def test_events_with_thousands_of_fields(decoder: ModuleType) -> None:
    """No recursion, and no cost that grows faster than the bytes."""
    stat = field(4, LEN, field(1, VARINT, 1) + field(3, VARINT, 5))
    event = field(4, LEN, 20_000 * stat + field(2, VARINT, 9))
    data = as_data(30 * field(4, LEN, field(1, VARINT, 2)) + event)
    columns, _ = scanned(decoder, data, 0, len(data))
    assert columns.start.tolist() == 30 * [0] + [9]
    assert decoder.scan_stats(data, columns.position, [1]).bits[0].tolist() == 30 * [0] + [5]
    assert len(decoder.event_stats(data, int(columns.position[-1]))) == 20_000


def test_full_columns_stop_a_scan_and_it_can_go_on(decoder: ModuleType) -> None:
    data = as_data(5 * field(4, LEN, field(1, VARINT, 7)) + field(9, VARINT, 1))
    columns = EventColumns.empty(2)
    first = decoder.scan_events(data, 0, len(data), 0, columns, 0)
    assert (first.rows, first.next) == (2, 8)
    assert decoder.scan_events(data, first.next, len(data), 0, columns, 2).rows == 0
    again = decoder.scan_events(data, first.next, len(data), 0, columns, 1)
    assert (again.rows, again.next) == (1, 12)
    room = EventColumns.empty(5)
    assert decoder.scan_events(data, 0, len(data), 0, room, 0).next == len(data), (
        "fields behind the last event are hopped over"
    )


@pytest.mark.parametrize("at", [-1, 3])
def test_rows_outside_of_the_columns_are_refused(decoder: ModuleType, at: int) -> None:
    with pytest.raises(ValueError, match="outside the columns"):
        decoder.scan_events(as_data(b""), 0, 0, 0, EventColumns.empty(2), at)


# ── real files ───────────────────────────────────────────────────────────────────────────────────


def lines_of(decoder: ModuleType, data: Bytes) -> Iterator[tuple[int, int]]:
    for lo, hi in zip(*decoder.hop(data, 0, len(data)).ranges(1), strict=True):
        for line in zip(*decoder.hop(data, lo, hi).ranges(3), strict=True):
            yield int(line[0]), int(line[1])


def check_space(decoder: ModuleType, message: bytes) -> int:
    """A whole file against protobuf: lines, and the metadata maps by `pick`.

    Returns the number of events.
    """
    data, space = as_data(message), parsed("XSpace", message)
    events = 0
    planes = list(zip(*decoder.hop(data, 0, len(data)).ranges(1), strict=True))
    assert len(planes) == len(space.planes)
    for (lo, hi), theirs in zip(planes, space.planes, strict=True):
        plane = decoder.hop(data, lo, hi)
        assert wire.text(data, *plane.payload(2)) == theirs.name
        assert same_stats(decoder.stats(data, lo, hi, 6), stat_rows(theirs.stats))
        for line, their_line in zip(zip(*plane.ranges(3), strict=True), theirs.lines, strict=True):
            check_line(decoder, data, *line, their_line, their_line.timestamp_ns * 1000)
            events += len(their_line.events)
        for number, entries in ((4, theirs.event_metadata), (5, theirs.stat_metadata)):
            found = decoder.pick(
                data, *plane.ranges(number), [wire.tag(1, VARINT), wire.tag(2, LEN)]
            )
            inner = decoder.pick(data, found.value[1], found.end[1], [wire.tag(2, LEN)])
            names = [
                wire.text(data, lo, hi) for lo, hi in zip(inner.value[0], inner.end[0], strict=True)
            ]
            assert dict(zip(found.value[0].tolist(), names, strict=True)) == {
                key: entry.name for key, entry in entries.items()
            }
    return events


@pytest.mark.parametrize(
    ("path", "events"), [(SMALL, 1472), (JAX, 2978)], ids=["tensorflow", "jax"]
)
def test_small_profiles(decoder: ModuleType, path: Path, events: int) -> None:
    assert check_space(decoder, path.read_bytes()) == events


@pytest.mark.parametrize(
    "pattern",
    [
        "own/custom_loop/**/*.xplane.pb",
        "public/e4040_hd2551/**/*.xplane.pb",
        "public/e4040_yg2820/**/*.xplane.pb",
        "public/jax_rocm_mi300_*/*.xplane.pb",
    ],
)
def test_other_peoples_profiles(decoder: ModuleType, shared_data: Path, pattern: str) -> None:
    paths = sorted(shared_data.glob(pattern))
    assert paths
    for path in paths:
        check_space(decoder, path.read_bytes())


def test_keras_columns_in_full(decoder: ModuleType, shared_data: Path) -> None:
    """767,110 events: too many to compare one by one in Python, so by columns."""
    (path,) = shared_data.glob("own/keras_cifar/**/*.xplane.pb")
    message = path.read_bytes()
    data, events = as_data(message), 0
    theirs = [line for plane in parsed("XSpace", message).planes for line in plane.lines]
    for (lo, hi), line in zip(lines_of(decoder, data), theirs, strict=True):
        columns, _ = scanned(decoder, data, lo, hi)
        rows = np.array(
            [(e.metadata_id, e.offset_ps, e.duration_ps) for e in line.events], np.int64
        ).reshape(-1, 3)
        for ours, column in zip(columns[:3], rows.T, strict=True):
            assert np.array_equal(ours, column)
        events += len(rows)
    assert events == 767_110


def same_lines(message: bytes) -> None:
    data = as_data(message)
    lines = [list(lines_of(decoder, data)) for decoder in DECODERS]
    assert all(found == lines[0] for found in lines)
    for lo, hi in lines[0]:
        answers = [scanned(decoder, data, lo, hi) for decoder in DECODERS]
        for columns, scans in answers[1:]:
            assert all(np.array_equal(a, b) for a, b in zip(columns, answers[0][0], strict=True))
            assert [[np.asarray(part).tolist() for part in scan] for scan in scans] == [
                [np.asarray(part).tolist() for part in scan] for scan in answers[0][1]
            ]


def test_a_cut_profile_gives_the_events_before_the_cut(decoder: ModuleType) -> None:
    message = SMALL.read_bytes()
    data = as_data(message)
    starts = [scanned(decoder, data, lo, hi)[0].position for lo, hi in lines_of(decoder, data)]
    positions = np.sort(np.concatenate(starts))
    for end in range(0, len(message), 997):
        cut = data[:end]
        rows = sum(len(scanned(decoder, cut, lo, hi)[0].id) for lo, hi in lines_of(decoder, cut))
        # the record that the cut goes through cannot be read
        begun = int(np.searchsorted(positions, end))
        assert begun - 1 <= rows <= begun
        same_lines(message[:end])


def test_flipped_bits_in_a_profile() -> None:
    message, chance = SMALL.read_bytes(), random.Random(1)
    for _ in range(60):
        broken = bytearray(message)
        for _ in range(chance.choice((1, 1, 5, 50))):
            broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        same_lines(bytes(broken))


def test_a_profile_mangled_by_a_text_editor() -> None:
    """Bytes above 127 replaced by U+FFFD: nothing sensible is left, and that must be all."""
    same_lines(SMALL.read_bytes().decode("utf-8", "replace").encode())


def test_an_event_that_ends_before_it_says_has_no_stats(decoder: ModuleType) -> None:
    data = as_data(b"\x00\x00\x20" + b"\x22\x04\x08\x01\x20\x05" + b"\x00" * 8)
    assert decoder.event_stats(data, 2) == [], "it says 32 bytes and 14 follow"


def test_an_event_that_reaches_past_the_end_by_little_has_no_stats(decoder: ModuleType) -> None:
    data = as_data(b"\x04\x22\x00")
    assert decoder.event_stats(data, 0) == [], "it says 4 bytes and 2 follow"
    assert len(decoder.event_stats(as_data(b"\x02\x22\x00"), 0)) == 1


# ── TFRecords ────────────────────────────────────────────────────────────────────────────────────


def framed(payloads: list[bytes]) -> bytes:
    """As TensorFlow writes them; the checksums are those of `crc32c`, which has tests of
    its own.
    """
    out = b""
    for payload in payloads:
        length = len(payload).to_bytes(8, "little")
        sums = [
            int(masked(crc32c(part, [0], [len(part)]))[0]).to_bytes(4, "little")
            for part in (length, payload)
        ]
        out += length + sums[0] + payload + sums[1]
    return out


def told(decoder: ModuleType, data: bytes, lo: int = 0, most: int = 1 << 20) -> list[object]:
    found = decoder.records(as_data(data), lo, most)
    return [
        found.begin.tolist(),
        found.end.tolist(),
        found.good.tolist(),
        found.next,
        found.damaged,
    ]


def test_records_are_found_and_checked(decoder: ModuleType) -> None:
    payloads = [b"", b"a", b"12345678", b"x" * 5000, b"last"]
    data = framed(payloads)
    found = decoder.records(as_data(data), 0, 100)
    assert [data[a:b] for a, b in zip(found.begin, found.end, strict=True)] == payloads
    assert found.good.all()
    assert (found.next, found.damaged) == (len(data), False)
    torn = bytearray(data)
    torn[12 + 4 + 12] ^= 1  # in "a"
    assert told(decoder, bytes(torn))[2] == [True, False, True, True, True]
    assert decoder.records(as_data(data), 0, 2).next <= len(framed(payloads[:2]))


@pytest.mark.parametrize("cut", range(1, 40))
def test_an_unfinished_record_is_no_damage(decoder: ModuleType, cut: int) -> None:
    data = framed([b"first", b"second record"])
    found = decoder.records(as_data(data[: len(data) - cut]), 0, 10)
    rows = 1 if cut <= len(framed([b"second record"])) else 0
    assert (len(found.begin), found.next, found.damaged) == (
        rows,
        rows * len(framed([b"first"])),
        False,
    )


@pytest.mark.parametrize("seed", range(60))
def test_both_decoders_find_the_same_records(seed: int) -> None:
    """Whole, cut and damaged files, from anywhere."""
    lot = random.Random(seed)
    data = bytearray(
        framed([lot.randbytes(lot.choice([0, 1, 7, 8, 40, 300])) for _ in range(lot.randrange(12))])
    )
    for _ in range(lot.randrange(3)):
        if data:
            data[lot.randrange(len(data))] ^= 1 << lot.randrange(8)
    del data[lot.choice([len(data), lot.randrange(len(data) + 1)]) :]
    lo = lot.choice([0, 0, lot.randrange(len(data) + 1)])
    answers = [told(decoder, bytes(data), lo) for decoder in DECODERS]
    assert all(answer == answers[0] for answer in answers)
