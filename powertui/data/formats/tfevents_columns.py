"""Records that hold one scalar each, as columns, a window of the file at a time.

Nearly all records of a long training are of this form. Anything else (graphs, several values,
tensors of another form, malformed records) is reported by its row, for protobuf to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.formats.tfevents_singles import SingleScalar, single_scalar
from powertui.data.model import NS_PER_S, Bools, Floats, Int64s
from powertui.data.packed import GrowingColumn
from powertui.data.wire import FIXED32, FIXED64, LEN, VARINT
from powertui.named_tuples import NamedTuple

_SCALARS = b"scalars"
_MAX_TAG_BYTES = 256  # chosen, not measured: a record with a longer tag goes through protobuf
# Up to here a loop over the rows is faster than preparing columns. Chosen, not measured.
_MAX_SINGLE_ROWS = 64
# Windows of so few records are read one by one: columns take 150 µs for any number of them, and
# a record 8 µs.
_MAX_SINGLE_RECORDS = 16
_MAX_SINGLE_BYTES = 1 << 12  # chosen: a scalar's record has about a hundred, a graph's millions
_WALL_TIMES_S = (3e8, 7.3e9)  # 1979 to 2201: a wall time outside is damage, not a time of a run


class ScalarColumns(NamedTuple):
    """One tag's scalars of one window."""

    tag: str
    row: Int64s  # of the window's records
    step: Int64s
    wall_ns: Int64s
    value: Floats
    bare: Bools  # rows that name no plugin: the one that an earlier record of the tag named holds


class TagColumns:
    """The columns of one tag as they come, window by window."""

    def __init__(self) -> None:
        self._window: list[tuple[Int64s, Int64s, Int64s, Floats]] = []
        self._steps = GrowingColumn(np.int64)
        self._walls = GrowingColumn(np.int64)
        self._values = GrowingColumn(np.float64)

    def add(self, row: Int64s, step: Int64s, wall: Int64s, value: Floats) -> None:
        """Rows of the window that is read; they may come in several groups."""
        self._window.append((row, step, wall, value))

    def settle(self) -> None:
        """Put the window's groups in the order of its records."""
        if not self._window:
            return
        _, steps, walls, values = self._window[0]
        if len(self._window) > 1:
            rows, steps, walls, values = map(np.concatenate, zip(*self._window, strict=True))
            order = np.argsort(rows, kind="stable")
            steps = steps[order]
            walls = walls[order]
            values = values[order]
        self._steps.add(steps)
        self._walls.add(walls)
        self._values.add(values)
        self._window.clear()

    def columns(self) -> tuple[Int64s, Int64s, Floats]:
        """All so far, packed: steps, wall times, values."""
        columns = (
            self._steps.column(),
            self._walls.column(),
            self._values.column(),
        )
        return cast("tuple[Int64s, Int64s, Floats]", columns)  # the series takes them as they are


class WindowRecords(NamedTuple):
    """What the records of a window are."""

    scalars: list[ScalarColumns]
    rest: Int64s  # rows that are none of these


def scan(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> WindowRecords:
    """The records from `lo` to `hi`."""
    if len(lo) <= _MAX_SINGLE_RECORDS:
        return _scan_singly(data, lo, hi)
    tags = [wire.tag(1, FIXED64), wire.tag(2, VARINT), wire.tag(5, LEN)]
    event = wire.pick(data, lo, hi, tags)
    wall_bits, written_step, summary_lo = event.value
    _, has_step, _ = event.present
    _, _, summary_hi = event.end
    wall = wall_bits.view(np.float64)
    step = np.where(has_step, written_step, 0)
    rows = np.flatnonzero(_is_plain_event(data, lo, hi, event))
    if not len(rows):
        every_row = np.arange(len(lo))
        return WindowRecords([], every_row)
    rows, lo, hi = _single_values(data, rows, summary_lo[rows], summary_hi[rows])
    values = _values(data, lo, hi)
    rows = rows[values.plain]
    values = values.of_rows(values.plain)
    scalars: list[ScalarColumns] = []
    is_rest = np.ones(len(wall), np.bool_)
    for tag, tag_rows in _by_tag(data, values.tag_lo, values.tag_hi):
        records = rows[tag_rows]
        is_rest[records] = False
        columns = ScalarColumns(
            tag=tag,
            row=records,
            step=step[records].astype(np.int64),
            wall_ns=_nanoseconds(wall[records]),
            value=values.number[tag_rows],
            bare=values.bare[tag_rows],
        )
        scalars.append(columns)
    return WindowRecords(scalars, np.flatnonzero(is_rest))


def _scan_singly(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> WindowRecords:
    """The same, record by record."""
    rows: list[int] = []
    singles: list[SingleScalar] = []
    rest: list[int] = []
    for row, (begin, end) in enumerate(zip(lo.tolist(), hi.tolist(), strict=True)):
        scalar = None
        if end - begin <= _MAX_SINGLE_BYTES:
            scalar = single_scalar(data[begin:end].tobytes())
        if scalar is None:
            rest.append(row)
        else:
            rows.append(row)
            singles.append(scalar)
    scalars: list[ScalarColumns] = []
    for tag, places in _places_by_text([scalar.tag for scalar in singles]):
        of_tag = [singles[place] for place in places]
        columns = ScalarColumns(
            tag=tag,
            row=np.array([rows[place] for place in places], np.int64),
            step=np.array([scalar.step for scalar in of_tag], np.int64),
            wall_ns=np.array([scalar.wall_ns for scalar in of_tag], np.int64),
            value=np.array([scalar.value for scalar in of_tag], np.float64),
            bare=np.array([scalar.is_bare for scalar in of_tag], np.bool_),
        )
        scalars.append(columns)
    return WindowRecords(scalars, np.array(rest, np.int64))


def _is_plain_event(
    data: wire.types.Bytes,
    lo: Int64s,
    hi: Int64s,
    event: wire.types.PickedFields,
) -> Bools:
    """Which events hold a wall time, perhaps a step, and then a summary, and nothing else."""
    has_wall, has_step, has_summary = event.present
    wall_bits, step, summary_lo = event.value
    _, _, summary_hi = event.end
    wall = wall_bits.view(np.float64)
    first_s, last_s = _WALL_TIMES_S
    plain = has_wall & has_summary
    plain &= np.isfinite(wall)
    plain &= wall > first_s
    plain &= wall < last_s
    # A summary that ends where the event ends, and begins where the step ends, leaves no room for
    # any other field.
    plain &= summary_hi == hi
    plain &= data[lo] == wire.tag(1, FIXED64)
    step_bytes = np.where(has_step, 1 + _varint_length(step), 0)
    head_bytes = 1 + _varint_length(summary_hi - summary_lo)
    plain &= summary_lo - head_bytes == lo + 9 + step_bytes
    plain &= ~has_step | (step >= 0)
    return np.asarray(plain)


def _single_values(
    data: wire.types.Bytes,
    rows: Int64s,
    lo: Int64s,
    hi: Int64s,
) -> tuple[Int64s, Int64s, Int64s]:
    """(rows, begins, ends) of the values of those summaries that hold one value."""
    value = wire.pick(data, lo, hi, [wire.tag(1, LEN)])
    (begin,) = value.value
    (end,) = value.end
    (single,) = value.present
    # Its tag (a byte) and its length are all that stands before it, and nothing after it.
    length_bytes = _varint_length(end - begin)
    begins_there = lo + 1 + length_bytes == begin
    single = single & begins_there & (end == hi)
    return rows[single], begin[single], end[single]


def _nanoseconds(wall_s: Floats) -> Int64s:
    """Unix ns; the fraction apart, because the product of the two would be rounded to 256 ns."""
    seconds = np.floor(wall_s)
    fraction_s = wall_s - seconds
    fraction_ns = np.rint(fraction_s * NS_PER_S).astype(np.int64)
    wall_ns: Int64s = seconds.astype(np.int64) * NS_PER_S
    wall_ns += fraction_ns
    return wall_ns


class _SummaryValues(NamedTuple):
    """What the values of some summaries hold."""

    number: Floats
    plain: Bools  # it is a scalar that was read here
    tag_lo: Int64s
    tag_hi: Int64s
    bare: Bools  # it names no plugin

    def of_rows(self, rows: Bools) -> _SummaryValues:
        return _SummaryValues(
            number=self.number[rows],
            plain=self.plain[rows],
            tag_lo=self.tag_lo[rows],
            tag_hi=self.tag_hi[rows],
            bare=self.bare[rows],
        )


def _values(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> _SummaryValues:
    """The summary values from `lo` to `hi`."""
    tags = [
        wire.tag(1, LEN),
        wire.tag(2, FIXED32),
        wire.tag(8, LEN),
        wire.tag(9, LEN),
        wire.tag(4, LEN),
        wire.tag(5, LEN),
        wire.tag(6, LEN),
    ]
    fields = wire.pick(data, lo, hi, tags)
    name, simple, tensor, metadata = fields.present[:4]
    name_lo, simple_bits, tensor_lo, metadata_lo = fields.value[:4]
    name_hi, _, tensor_hi, metadata_hi = fields.end[:4]
    has_others = fields.present[4:].any(axis=0)
    plain = name & ~has_others
    plain &= simple ^ tensor
    plain &= name_hi - name_lo <= _MAX_TAG_BYTES
    value = np.full(len(lo), np.nan)
    if simple.any():
        value[simple] = _floats_of_bits(simple_bits[simple])
    if metadata.any():
        rows = np.flatnonzero(metadata)
        plain[rows] &= _is_scalars(data, metadata_lo[rows], metadata_hi[rows])
    if tensor.any():
        rows = np.flatnonzero(tensor & plain)
        numbers, readable = _tensors(data, tensor_lo[rows], tensor_hi[rows])
        value[rows] = numbers
        plain[rows] &= readable
    return _SummaryValues(
        number=value,
        plain=plain,
        tag_lo=name_lo,
        tag_hi=name_hi,
        bare=~metadata,
    )


def _floats_of_bits(bits: Int64s) -> npt.NDArray[np.float32]:
    """Numbers of 32 bits, by their bits."""
    return bits.astype(np.uint32).view(np.float32)


def _is_scalars(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> Bools:
    """Whether each metadata names the plugin of scalars."""
    # SummaryMetadata.plugin_data, and in that PluginData.plugin_name: both are field 1.
    first_field = [wire.tag(1, LEN)]
    plugin = wire.pick(data, lo, hi, first_field)
    name = wire.pick(data, plugin.value[0], plugin.end[0], first_field)
    (begin,) = name.value
    (end,) = name.end
    is_scalars = plugin.present[0] & name.present[0]
    is_scalars &= end - begin == len(_SCALARS)
    # Every row is looked at, so that one without a name must be at a place that can be read.
    begin = np.where(is_scalars, begin, 0)
    last = len(data) - 1
    for offset, byte in enumerate(_SCALARS):
        place = np.minimum(begin + offset, last)
        is_scalars &= data[place] == byte
    return np.asarray(is_scalars)


def _tensors(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> tuple[Floats, Bools]:
    """The number of each tensor that is a scalar of 32 or 64 bits, and whether it is one."""
    tags = [
        wire.tag(1, VARINT),
        wire.tag(2, LEN),
        wire.tag(4, LEN),
        wire.tag(5, LEN),
        wire.tag(6, LEN),
        wire.tag(5, FIXED32),
    ]
    fields = wire.pick(data, lo, hi, tags)
    dtype = fields.value[0]
    has_shape = fields.present[1]
    shape_bytes = fields.end[1] - fields.value[1]
    # A shape without dimensions, or none at all.
    scalar_shape = ~has_shape | (shape_bytes == 0)
    numbers = np.full(len(lo), np.nan)
    decoded = np.zeros(len(lo), np.bool_)
    # (field, dtype, bytes): the content or the values; float or double.
    for field, kind, width in ((2, 1, 4), (2, 2, 8), (3, 1, 4), (4, 2, 8)):
        begin = fields.value[field]
        end = fields.end[field]
        matches = fields.present[field] & scalar_shape
        matches &= dtype == kind
        matches &= end - begin == width
        matches &= ~decoded
        if matches.any():
            places = begin[matches][:, None] + np.arange(width)
            content = data[places].copy()
            numbers[matches] = content.view(f"<f{width}").ravel()
            decoded |= matches
    single = fields.present[5] & scalar_shape
    single &= dtype == 1
    single &= ~decoded
    if single.any():
        bits = fields.value[5]
        numbers[single] = _floats_of_bits(bits[single])
        decoded |= single
    return numbers, decoded


def _varint_length(value: Int64s) -> Int64s:
    """Bytes of each number in its shortest form."""
    out = np.ones(len(value), np.int64)
    rest = value.view(np.uint64) >> np.uint64(7)
    while rest.any():
        out += rest > 0
        rest >>= np.uint64(7)
    return out


def _by_tag(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> list[tuple[str, Int64s]]:
    """Rows of each tag, in their order; the tags by length and then by their letters."""
    if len(lo) <= _MAX_SINGLE_ROWS:
        return _by_tag_row_by_row(data, lo.tolist(), hi.tolist())
    length = hi - lo
    rows_by_tag: dict[str, list[Int64s]] = {}
    for size in wire.distinct(length).tolist():
        rows = np.flatnonzero(length == size)
        if not size:
            rows_by_tag.setdefault("", []).append(rows)
            continue
        places = lo[rows][:, None] + np.arange(size)
        letters = np.ascontiguousarray(data[places])
        first, inverse = _distinct(letters)
        order = np.argsort(inverse, kind="stable")
        text_edges = np.arange(len(first) + 1)
        bounds = np.searchsorted(inverse[order], text_edges)
        for number, row in enumerate(first.tolist()):
            text = letters[row].tobytes().decode(errors="replace")
            of_text = order[bounds[number] : bounds[number + 1]]
            rows_by_tag.setdefault(text, []).append(rows[of_text])
    tags = []
    for tag, parts in rows_by_tag.items():
        tag_rows = parts[0]
        if len(parts) > 1:  # different bytes may decode to one text
            tag_rows = np.concatenate(parts)
        tags.append((tag, tag_rows))
    return tags


def _by_tag_row_by_row(
    data: wire.types.Bytes,
    lo: Sequence[int],
    hi: Sequence[int],
) -> list[tuple[str, Int64s]]:
    """The same, row by row: faster for a few rows, where preparing columns takes longer."""
    texts = [data[first:end].tobytes() for first, end in zip(lo, hi, strict=True)]
    return [(tag, np.array(rows, np.int64)) for tag, rows in _places_by_text(texts)]


def _places_by_text(texts: Sequence[bytes]) -> list[tuple[str, list[int]]]:
    """Where each text is among these; the texts by length and then by their letters."""
    places_by_bytes: dict[bytes, list[int]] = {}
    for place, text in enumerate(texts):
        places_by_bytes.setdefault(text, []).append(place)
    # Different bytes that are no UTF-8 may become the same text.
    places_by_text: dict[str, list[int]] = {}
    for text in sorted(places_by_bytes, key=lambda text: (len(text), text)):
        places = places_by_text.setdefault(text.decode(errors="replace"), [])
        places += places_by_bytes[text]
    return list(places_by_text.items())


def _distinct(letters: wire.types.Bytes) -> tuple[Int64s, Int64s]:
    """(a row of each distinct text, which of those texts each row has)."""
    _, width = letters.shape
    keys = letters.view([("", f"V{width}")]).ravel()
    if 0 not in letters:
        # Byte strings sort faster than raw bytes, but numpy ignores zeros at their ends.
        keys = keys.view(f"S{width}")
    _, first, inverse = np.unique(
        keys,
        return_index=True,
        return_inverse=True,
    )
    text_of_row = inverse.ravel().astype(np.int64)
    return first.astype(np.int64), text_of_row
