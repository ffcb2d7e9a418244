"""Records that hold one scalar each, one by one: for windows of so few that preparing columns takes
longer, as beside each of thousands of short runs.

The answers are those of `tfevents_columns`. What is not plainly one scalar is left to protobuf.
"""

from __future__ import annotations

import struct

from powertui.data import wire
from powertui.data.formats.tfevents_records import wall_of
from powertui.data.wire import FIXED32, FIXED64, LEN, VARINT
from powertui.named_tuples import NamedTuple

# By the tags of their fields; those of the messages are in summary.proto and tensor.proto.
_WALL = wire.tag(1, FIXED64)
_STEP = wire.tag(2, VARINT)
_SUMMARY = wire.tag(5, LEN)
_FIRST_PAYLOAD = wire.tag(1, LEN)
_SIMPLE = wire.tag(2, FIXED32)
_TENSOR = wire.tag(8, LEN)
_METADATA = wire.tag(9, LEN)
_OTHER_VALUES = {wire.tag(number, LEN) for number in (4, 5, 6)}
_DTYPE = wire.tag(1, VARINT)
_SHAPE = wire.tag(2, LEN)
# Where a tensor's only number may be: (field, dtype, form), the first that fits.
_NUMBERS = (
    (wire.tag(4, LEN), 1, "<f"),
    (wire.tag(4, LEN), 2, "<d"),
    (wire.tag(5, LEN), 1, "<f"),
    (wire.tag(6, LEN), 2, "<d"),
    (wire.tag(5, FIXED32), 1, "<f"),
)
_FIXED_BYTES = {FIXED32: 4, FIXED64: 8}
_MAX_TAG_BYTES = 256  # as `tfevents_columns` has it
_EVENT_FORMS = ([_WALL, _SUMMARY], [_WALL, _STEP, _SUMMARY])

# Of each field by its tag: its number, or where its bytes are.
_Fields = dict[int, tuple[int, int]]


class SingleScalar(NamedTuple):
    """What one record holds."""

    tag: bytes
    step: int
    wall_ns: int
    value: float
    is_bare: bool  # it names no plugin


def single_scalar(record: bytes) -> SingleScalar | None:
    """The scalar of a record; None where it holds something else, or more."""
    try:
        return _scalar(record)
    except IndexError:  # it is damaged
        return None


def _scalar(record: bytes) -> SingleScalar | None:
    event = _fields(record, 0, len(record))
    if event is None or list(event) not in _EVENT_FORMS:
        return None
    wall_ns = wall_of(memoryview(record))
    step, _ = event.get(_STEP, (0, 0))
    if wall_ns is None or step >= 1 << 63:
        return None
    summary = _fields(record, *event[_SUMMARY])
    if summary is None or list(summary) != [_FIRST_PAYLOAD]:
        return None
    value = _fields(record, *summary[_FIRST_PAYLOAD])
    if value is None or _FIRST_PAYLOAD not in value or not _OTHER_VALUES.isdisjoint(value):
        return None
    tag_lo, tag_hi = value[_FIRST_PAYLOAD]
    if tag_hi - tag_lo > _MAX_TAG_BYTES:
        return None
    if _METADATA in value and not _is_scalars(record, *value[_METADATA]):
        return None
    number = _number(record, value)
    if number is None:
        return None
    return SingleScalar(
        tag=record[tag_lo:tag_hi],
        step=step,
        wall_ns=wall_ns,
        value=number,
        is_bare=_METADATA not in value,
    )


def _number(record: bytes, value: _Fields) -> float | None:
    """The number of a value: as such, or as a tensor without dimensions."""
    if _SIMPLE in value:
        place, _ = value[_SIMPLE]
        return None if _TENSOR in value else _unpacked("<f", record, place)
    if _TENSOR not in value:
        return None
    tensor = _fields(record, *value[_TENSOR])
    if tensor is None:
        return None
    shape_lo, shape_hi = tensor.get(_SHAPE, (0, 0))
    if shape_lo != shape_hi:
        return None
    dtype, _ = tensor.get(_DTYPE, (0, 0))
    for field, field_dtype, form in _NUMBERS:
        if field in tensor and dtype == field_dtype:
            lo, hi = tensor[field]
            if hi - lo == struct.calcsize(form):
                return _unpacked(form, record, lo)
    return None


def _unpacked(form: str, record: bytes, place: int) -> float:
    (number,) = struct.unpack_from(form, record, place)
    return float(number)


def _is_scalars(record: bytes, lo: int, hi: int) -> bool:
    """Whether this metadata names the plugin of scalars."""
    # SummaryMetadata.plugin_data, and in that PluginData.plugin_name: both are field 1.
    for _ in range(2):
        fields = _fields(record, lo, hi)
        if fields is None or _FIRST_PAYLOAD not in fields:
            return False
        lo, hi = fields[_FIRST_PAYLOAD]
    return record[lo:hi] == b"scalars"


def _fields(record: bytes, at: int, end: int) -> _Fields | None:
    """The fields of a message; None where one is there twice, which protobuf would join, or is of
    another form than those that are looked for. Raises IndexError where the record ends too soon.
    """
    fields: _Fields = {}
    while at < end:
        tag = record[at]
        kind = tag & 7
        at += 1
        if tag >= 0x80 or tag in fields:
            return None
        if kind in _FIXED_BYTES:
            fields[tag] = (at, at + _FIXED_BYTES[kind])
            at += _FIXED_BYTES[kind]
            continue
        if kind not in (LEN, VARINT):
            return None
        number, at = _varint(record, at)
        fields[tag] = (number, at)
        if kind == LEN:
            fields[tag] = (at, at + number)
            at += number
    return fields if at == end else None


def _varint(record: bytes, at: int) -> tuple[int, int]:
    """(a number, where it ends)."""
    number = record[at]
    at += 1
    if number < 0x80:
        return number, at
    number &= 0x7F
    shift = 7
    while True:
        byte = record[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift >= 64:  # no number is longer than ten bytes
            raise IndexError
