from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui.data.wire.crc32c import crc32c, masked


def bitwise(data: bytes) -> int:
    """CRC32C by its definition, a bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "sum_"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_published_checksums(data: bytes, sum_: int) -> None:
    assert int(crc32c(data, [0], [len(data)])[0]) == sum_


@given(st.binary(max_size=1500), st.data())
def test_many_ranges_at_once(data: bytes, draw: st.DataObject) -> None:
    ranges = draw.draw(
        st.lists(
            st.tuples(st.integers(0, len(data)), st.integers(0, len(data))), min_size=1, max_size=12
        )
    )
    starts = [min(pair) for pair in ranges]
    lengths = [max(pair) - min(pair) for pair in ranges]
    sums = crc32c(data, starts, lengths)
    assert [int(s) for s in sums] == [
        bitwise(data[a : a + n]) for a, n in zip(starts, lengths, strict=True)
    ]


@pytest.mark.parametrize("length", [255, 256, 257, 511, 512, 513, 100_000])
def test_lanes_are_joined_at_every_length(length: int) -> None:
    data = np.random.default_rng(length).integers(0, 256, length, np.uint8).tobytes()
    assert int(crc32c(data, [0], [length])[0]) == bitwise(data)


def test_the_mask_is_tfrecords() -> None:
    data_sum = 0xE3069283
    rotated = (data_sum >> 15 | data_sum << 17) & 0xFFFFFFFF
    assert int(masked(np.array([data_sum], np.uint32))[0]) == (rotated + 0xA282EAD8) & 0xFFFFFFFF
