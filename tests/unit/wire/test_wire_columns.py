"""Sums, longest events and the first and last row of each name: both decoders against plain
Python.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.lod import _sparse_table
from powertui.data.wire import BLOCK, FAN
from tests.unit.wire.wire_oracle import DECODERS

GROUP = BLOCK * FAN


@pytest.fixture(params=DECODERS, ids=lambda module: module.__name__.rpartition(".")[2])
def decoder(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 3, BLOCK - 1, BLOCK, BLOCK + 1, GROUP, GROUP + 5, 700, 9 * GROUP + 17]),
    st.integers(1, 50),
)
def test_sums_and_longest_of_any_range(seed: int, rows: int, most: int) -> None:
    random = np.random.default_rng(seed)
    duration = random.integers(0, most, rows)  # few different ones: ties matter
    lo = random.integers(0, rows, 60)
    hi = lo + 1 + (random.random(60) * (rows - lo)).astype(np.int64)
    at = random.integers(0, rows + 1, 60)
    for decoder in DECODERS:
        sums, top = decoder.blocks(duration)
        blocks = [duration[i : i + BLOCK] for i in range(0, rows, BLOCK)]
        assert sums.tolist() == [int(block.sum()) for block in blocks]
        assert top.tolist() == [int(block.argmax()) for block in blocks]
        before = np.concatenate([[0], np.cumsum(sums)])
        assert decoder.sums(duration, before, at).tolist() == [int(duration[:i].sum()) for i in at]
        longest = np.array([int(block.max()) for block in blocks])
        table = _sparse_table(longest, rows // GROUP)
        found = decoder.longest(duration, top, table, lo, hi)
        assert found.tolist() == [
            int(a + duration[a:b].argmax()) for a, b in zip(lo, hi, strict=True)
        ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=80))
def test_ends_of_names(names: list[int]) -> None:
    for decoder in DECODERS:
        first, last = decoder.ends(np.array(names, np.uint32), 14)
        assert first.tolist() == [names.index(i) if i in names else -1 for i in range(14)]
        assert last.tolist() == [
            len(names) - 1 - names[::-1].index(i) if i in names else -1 for i in range(14)
        ]


def test_ends_of_a_long_line_and_of_names_beyond_the_table(decoder: ModuleType) -> None:
    names = np.arange(100_000, dtype=np.uint32) % 1000
    first, last = decoder.ends(names, 1001)
    assert first.tolist() == [*range(1000), -1]
    assert last.tolist() == [*range(99_000, 100_000), -1]
    with pytest.raises(IndexError):
        decoder.ends(names, 999)


def test_wrong_rows_and_tables_are_an_error_and_no_crash() -> None:
    _scan = pytest.importorskip("powertui.data.wire._scan")
    duration = np.arange(GROUP * 4, dtype=np.int64)
    sums, top = DECODERS[-1].blocks(duration)
    before, out = np.concatenate([[0], np.cumsum(sums)]), np.zeros(1, np.int64)
    one = np.ones(1, np.int64)
    for at in (-1, len(duration) + 1):
        with pytest.raises(IndexError):
            _scan.sums(duration, before, one * at, out)
    table = np.zeros((3, 4), np.int32)
    for lo, hi in ((-1, 5), (5, 5), (6, 5), (0, len(duration) + 1)):
        with pytest.raises(IndexError):
            _scan.longest(duration, top, table, one * lo, one * hi, out)
    for broken in (table - 1, table + 10_000, table[:0]):
        with pytest.raises(IndexError):
            _scan.longest(duration, top, broken, one * 0, one * len(duration), out)
    with pytest.raises(IndexError):
        _scan.longest(
            duration[:-3], top + np.uint8(BLOCK - 1), table, one * 0, one * (len(duration) - 3), out
        )
    with pytest.raises(ValueError, match="another length"):
        _scan.sums(duration, before[1:], one, out)
