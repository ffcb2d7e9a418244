"""CRC32C of many byte ranges at once, in numpy: what TFRecord files are checked with.

A byte-by-byte loop in Python does five megabytes a second, and training logs hold graphs of
hundreds of megabytes. So ranges are cut into lanes of equal length, all lanes step through their
bytes together (one table lookup for all of them), and the lanes of one range are put together again
with the algebra of the checksum: the register after `n` further zero bytes is a linear function of
the register before, one table per power of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from powertui.data.wire.types import Bools, Int64s, UInt32s
from powertui.named_tuples import NamedTuple

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, its bits reversed, as TFRecord files have it
_LANE = 256  # bytes a lane: short enough for many lanes, long enough that joining them costs little
_MIN_VECTOR_BYTES = 4096  # bytes in all: a file of a few scalars
_BATCH = 1 << 22  # bytes of lanes handled at a time, so that memory stays bounded
_ONES = np.uint32(0xFFFFFFFF)


class _CutRanges(NamedTuple):
    """Byte ranges as lanes, a row for each lane."""

    range: Int64s  # which range it is of
    is_first: Bools
    start: Int64s
    size: Int64s
    bytes_after: Int64s  # of the range, behind this lane


@cache
def _table() -> UInt32s:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table.astype(np.uint32)


@cache
def _shift(power: int) -> UInt32s:
    """[4, 256] lookup tables: the register after 2**power zero bytes, from each byte of the
    register before.
    """
    if power == 0:
        base = np.arange(256, dtype=np.uint32)
        rows = [(base << np.uint32(8 * byte)).astype(np.uint32) for byte in range(4)]
        return np.stack([_table()[row & 0xFF] ^ (row >> np.uint32(8)) for row in rows]).astype(
            np.uint32
        )
    half = _shift(power - 1)
    return np.stack([_apply(half, half[byte]) for byte in range(4)])


def _apply(tables: UInt32s, registers: UInt32s) -> UInt32s:
    return np.asarray(
        tables[0][registers & 0xFF]
        ^ tables[1][(registers >> np.uint32(8)) & 0xFF]
        ^ tables[2][(registers >> np.uint32(16)) & 0xFF]
        ^ tables[3][registers >> np.uint32(24)],
        np.uint32,
    )


def _advance(registers: UInt32s, zeros: npt.NDArray[np.int64]) -> UInt32s:
    """Each register after so many zero bytes."""
    remaining = zeros.copy()
    power = 0
    while remaining.any():
        odd = (remaining & 1).astype(bool)
        if odd.any():
            registers = registers.copy()
            registers[odd] = _apply(_shift(power), registers[odd])
        remaining >>= 1
        power += 1
    return registers


@cache
def _numbers() -> list[int]:
    return [int(entry) for entry in _table()]


def _byte_by_byte(data: bytes | memoryview) -> int:
    """For a few hundred bytes quicker than columns."""
    table = _numbers()
    register = 0xFFFFFFFF
    for byte in bytes(data):
        register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
    return register ^ 0xFFFFFFFF


def crc32c(data: bytes | memoryview, starts: Sequence[int], lengths: Sequence[int]) -> UInt32s:
    """The CRC32C of `data[start:start + length]`, for each pair."""
    if sum(lengths) <= _MIN_VECTOR_BYTES:
        sums_of_few: UInt32s = np.zeros(len(starts), np.uint32)
        for row, (start, length) in enumerate(zip(starts, lengths, strict=True)):
            sums_of_few[row] = _byte_by_byte(data[start : start + length])
        return sums_of_few
    lanes = _cut(np.asarray(starts, np.int64), np.asarray(lengths, np.int64))
    registers = _lane_registers(np.frombuffer(data, np.uint8), lanes)
    # Each lane's register moves on to the end of its range; there the lanes of a range add up.
    registers = _advance(registers, lanes.bytes_after)
    sums = np.zeros(len(starts), np.uint32)
    np.bitwise_xor.at(sums, lanes.range, registers)
    return np.asarray(sums ^ _ONES, np.uint32)


def _lane_registers(raw: npt.NDArray[np.uint8], lanes: _CutRanges) -> UInt32s:
    """The register behind the last byte of each lane."""
    # A range's first lane starts with ones, those that are added to it with zeros.
    registers: UInt32s = np.where(lanes.is_first, _ONES, np.uint32(0))
    batch = max(1, _BATCH // _LANE)
    for first in range(0, len(registers), batch):
        rows = slice(first, first + batch)
        registers[rows] = _lanes(raw, lanes.start[rows], lanes.size[rows], registers[rows])
    return registers


def _cut(start: Int64s, length: Int64s) -> _CutRanges:
    """Ranges in lanes: every range is cut from its end, so that only its first lane is short."""
    lane_count = np.maximum(1, -(-length // _LANE))
    owner = np.repeat(np.arange(len(start)), lane_count)
    first_lane = np.cumsum(lane_count) - lane_count
    index = np.arange(len(owner)) - first_lane[owner]
    is_first = index == 0
    bytes_after = (lane_count[owner] - 1 - index) * _LANE
    bytes_up_to_end = length[owner] - bytes_after  # of the range, where this lane ends
    size = np.where(is_first, bytes_up_to_end, _LANE)
    lane_start = start[owner] + bytes_up_to_end - size
    return _CutRanges(
        range=owner,
        is_first=is_first,
        start=lane_start,
        size=size,
        bytes_after=bytes_after,
    )


def _lanes(
    raw: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    register: UInt32s,
) -> UInt32s:
    """All lanes step through their bytes together; the longest first, so that the running ones are
    a prefix.
    """
    table = _table()
    order = np.argsort(-size, kind="stable")
    start = start[order]
    size = size[order]
    register = register[order]
    running = len(size)
    longest = int(size[0]) if running else 0
    for offset in range(longest):
        while running and size[running - 1] <= offset:
            running -= 1
        if running == 0:
            break
        live = register[:running]
        byte = raw[start[:running] + offset]
        register[:running] = table[(live ^ byte) & 0xFF] ^ (live >> np.uint32(8))
    unordered = np.empty_like(register)
    unordered[order] = register
    return unordered


def masked(crc: UInt32s) -> UInt32s:
    """As TFRecord stores it: rotated and offset, so that a checksum of checksums is no
    fixed point.
    """
    rotated = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    return np.asarray(rotated + np.uint32(0xA282EAD8), np.uint32)
