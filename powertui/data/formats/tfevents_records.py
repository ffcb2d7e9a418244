"""Single records of tfevents, by their fields: their times, numbers in tensors, and those that hold
neither numbers nor texts that are wanted: headers, graphs, histograms.

Nearly every file begins with some of the latter. Without this protobuf would be needed for each
file, whose import takes 15 ms and more.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection
from typing import Any

import numpy as np

from powertui.data import wire
from powertui.data.model import NS_PER_S
from powertui.data.wire.types import LEN
from powertui.named_tuples import NamedTuple

_GRAPHS = frozenset({0x22, 0x4A})  # fields graph_def and meta_graph_def: never parsed
# Fields of Summary.Value. A value that holds one of the others (a number, a picture, a histogram, a
# sound) is no tensor.
_TAG_FIELD, _TENSOR_FIELD, _METADATA_FIELD = 1, 8, 9
_OTHER_VALUE_FIELDS = frozenset({2, 4, 5, 6})
# numpy's form of TensorFlow's DataType numbers, for tensors that hold one number
_DTYPES = {
    1: "<f4",
    2: "<f8",
    3: "<i4",
    4: "<u1",
    5: "<i2",
    6: "<i1",
    9: "<i8",
    10: "<u1",
    17: "<u2",
    19: "<f2",
    22: "<u4",
    23: "<u8",
}
_FLOAT16, _BFLOAT16 = 19, 14
_VALUE_FIELDS = (
    "float_val",
    "double_val",
    "int_val",
    "int64_val",
    "uint32_val",
    "uint64_val",
    "bool_val",
)


class RecordAside(NamedTuple):
    """A record that holds neither numbers nor texts that are wanted here."""

    is_header: bool = False
    # (tag, plugin) of its tensors: graphs, histograms, pictures.
    values: tuple[tuple[str, str], ...] = ()


def record_aside(record: memoryview, text_plugins: Collection[str]) -> RecordAside | None:
    """Such a record; None for any other, and for whatever is not plainly one.

    `text_plugins`: those whose texts are wanted.
    """
    data = np.frombuffer(record, np.uint8)
    event = _payloads(data, 0, len(data), {3, 5}, {4, 6, 7, 8, 9})
    if event is None or len(event) != 1:
        return None
    ((kind, lo, hi),) = event
    values = []
    try:
        if kind == 3:
            bytes(record[lo:hi]).decode()
            return RecordAside(is_header=True)
        for _, first, end in _payloads(data, lo, hi, {1}) or ():
            tag_and_plugin = _tag_and_plugin(record, data, first, end)
            if tag_and_plugin is None:
                return None
            _, plugin = tag_and_plugin
            if plugin in ("", "scalars") or plugin in text_plugins:
                return None
            values.append(tag_and_plugin)
    except UnicodeDecodeError:
        return None
    return RecordAside(values=tuple(values)) if values else None


def _tag_and_plugin(
    record: memoryview,
    data: wire.types.Bytes,
    lo: int,
    hi: int,
) -> tuple[str, str] | None:
    """Of one value of a summary; None for one that is no plain tensor."""
    wanted = {_TAG_FIELD, _TENSOR_FIELD, _METADATA_FIELD}
    payloads = _last(_payloads(data, lo, hi, wanted, _OTHER_VALUE_FIELDS))
    if not wanted <= payloads.keys():
        return None
    tensor_lo, tensor_hi = payloads[_TENSOR_FIELD]
    is_damaged = wire.hop(data, tensor_lo, tensor_hi).bad >= 0
    if is_damaged:
        return None
    tag_lo, tag_hi = payloads[_TAG_FIELD]
    plugin_lo, plugin_hi = _plugin_name(data, *payloads[_METADATA_FIELD])
    tag = bytes(record[tag_lo:tag_hi]).decode()
    plugin = bytes(record[plugin_lo:plugin_hi]).decode()
    return tag, plugin


def _plugin_name(data: wire.types.Bytes, lo: int, hi: int) -> tuple[int, int]:
    """Where the name of the plugin is, in the metadata of a value; an empty place for none."""
    nowhere = (0, 0)
    # SummaryMetadata.plugin_data, and in that PluginData.plugin_name: both are field 1.
    plugin_data = _last(_payloads(data, lo, hi, {1})).get(1, nowhere)
    return _last(_payloads(data, *plugin_data, {1})).get(1, nowhere)


def _payloads(
    data: wire.types.Bytes,
    lo: int,
    hi: int,
    numbers: set[int],
    others: Collection[int] = (),
) -> list[tuple[int, int, int]] | None:
    """(number, first byte, end) of the payloads with these numbers; None where the message is
    damaged or has one of `others`.
    """
    fields = wire.hop(data, lo, hi)
    if fields.bad >= 0 or not set(others).isdisjoint(fields.number.tolist()):
        return None
    places = zip(
        fields.number.tolist(),
        fields.wire.tolist(),
        fields.lo.tolist(),
        fields.hi.tolist(),
        strict=True,
    )
    return [
        (number, first, end)
        for number, kind, first, end in places
        if kind == LEN and number in numbers
    ]


def _last(payloads: list[tuple[int, int, int]] | None) -> dict[int, tuple[int, int]]:
    """Of each number the one that counts."""
    places = {}
    for number, lo, hi in payloads or ():
        places[number] = (lo, hi)
    return places


def wall_of(record: memoryview) -> int | None:
    """The wall time, which every writer puts first.

    Anything before 1980 or after 2200 is no time of a run.
    """
    if len(record) < 9 or record[0] != 0x09:
        return None
    seconds: float
    (seconds,) = struct.unpack_from("<d", record, 1)
    if not math.isfinite(seconds) or not 3e8 < seconds < 7.3e9:
        return None
    whole_s = int(seconds)  # apart from the fraction: their product would be rounded to 256 ns
    fraction_s = seconds - whole_s
    return whole_s * NS_PER_S + round(fraction_s * NS_PER_S)


def is_graph(record: memoryview) -> bool:
    """Whether the record holds a graph.

    Only the keys before it are looked at: graphs can be hundreds of megabytes.
    """
    at = 9
    if at < len(record) and record[at] == 0x10:  # step: a varint
        at += 1
        while at < len(record) and record[at] >= 0x80:
            at += 1
        at += 1
    return at < len(record) and record[at] in _GRAPHS


def one_number(tensor: Any) -> float | None:
    """The number of a tensor that holds exactly one; None for anything else."""
    if any(dim.size != 1 for dim in tensor.tensor_shape.dim):
        return None
    content = bytes(tensor.tensor_content)
    if content:
        return _number_of_bytes(content, tensor.dtype)
    for name in _VALUE_FIELDS:
        values = getattr(tensor, name)
        if len(values) == 1:
            return float(values[0])
    if len(tensor.half_val) == 1 and tensor.dtype in (_FLOAT16, _BFLOAT16):
        return _number_of_bytes(struct.pack("<H", tensor.half_val[0] & 0xFFFF), tensor.dtype)
    # A zero is often left out altogether: proto3 has no way to say "present".
    if tensor.dtype in _DTYPES and not tensor.string_val:
        return 0.0
    return None


def _number_of_bytes(content: bytes, dtype: int) -> float | None:
    if dtype == _BFLOAT16 and len(content) == 2:
        # The upper half of a float of 32 bits.
        (number,) = struct.unpack("<f", b"\0\0" + content)
        return float(number)
    form = _DTYPES.get(dtype)
    if form is None or len(content) != np.dtype(form).itemsize:
        return None
    (value,) = np.frombuffer(content, form)
    return float(value)
