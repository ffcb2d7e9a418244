"""Long columns give back every value to the bit, in fewer bytes."""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace

import numpy as np
import pytest

from powertui.data import packed
from powertui.data.model import Floats
from powertui.data.packed import GrowingColumn, Packed, pack, packs

ROWS = 3 * packed.PIECE_ROWS + 17
rng = np.random.default_rng(5)
JITTER = rng.integers(-3_000_000, 3_000_000, ROWS)

FLOATS = {
    "whole watts": (rng.integers(190, 270, ROWS).astype(np.float64), 1),
    "tenths": (rng.integers(0, 6000, ROWS) / 10, 2),
    "thousandths": (rng.integers(0, 900_000, ROWS) / 1000, 4),
    "with gaps": (np.where(rng.random(ROWS) < 0.01, np.nan, rng.integers(190, 270, ROWS) / 1.0), 1),
    "below zero": (rng.integers(-120, 120, ROWS) / 100, 1),
    "float32": (rng.random(ROWS).astype(np.float32).astype(np.float64), 4),
    "anything": (rng.random(ROWS), 8),
    "only gaps": (np.full(ROWS, np.nan), 4),
    "endless": (np.where(np.arange(ROWS) == 7, np.inf, 1.0), 4),
    "huge": (rng.random(ROWS) * 1e300, 8),
    "0.1 of large": (np.arange(ROWS) * 0.1 + 1e9, 8),
}
INTS = {
    "one by one": (np.arange(ROWS), 0),
    "the same": (np.full(ROWS, -4), 0),
    "wall time": (1_700_000_000_000_000_000 + np.arange(ROWS) * 600_000_000 + JITTER, 4),
    "with a pause": (np.arange(ROWS) * 10 + np.where(np.arange(ROWS) > 900, 1 << 40, 0), 4),
    "back and forth": (JITTER, 4),
    "all of int64": (
        np.where(np.arange(ROWS) % 2, np.iinfo(np.int64).max, np.iinfo(np.int64).min),
        8,
    ),
}


@pytest.mark.parametrize("name", FLOATS)
def test_numbers_come_back_to_the_bit(name: str) -> None:
    values, each = FLOATS[name]
    found = pack(values)
    assert np.array_equal(found.made(), values, equal_nan=True)
    assert found.nbytes <= (each + 0.01) * ROWS


@pytest.mark.parametrize("name", INTS)
def test_whole_numbers_come_back(name: str) -> None:
    values, each = INTS[name]
    found = pack(values.astype(np.int64))
    assert np.array_equal(found.made(), values)
    assert (
        found.nbytes <= (each + 1.4) * ROWS
    )  # the piece with a pause in it is as wide as it needs


@pytest.mark.parametrize(
    "size", [1, 5, packed.PIECE_ROWS - 1, packed.PIECE_ROWS, 2 * packed.PIECE_ROWS + 3]
)
def test_a_column_that_grows(size: int) -> None:
    values = INTS["wall time"][0]
    growing = GrowingColumn(np.int64)
    for at in range(0, min(len(values), 40 * size), size):
        growing.add(values[at : at + size])
        if at % (7 * size) == 0:
            assert np.array_equal(growing.column()[:], values[: at + size])


def test_few_rows_are_handed_out_as_they_are() -> None:
    growing = GrowingColumn(np.float64)
    growing.add(np.array([1.0, 2.5]))
    assert isinstance(growing.column(), np.ndarray), (
        "packing them and taking them apart again tells nothing"
    )
    growing.add(FLOATS["tenths"][0])
    assert isinstance(growing.column(), Packed)


def test_none() -> None:
    assert len(pack(np.empty(0, np.int64)).made()) == 0
    assert GrowingColumn(np.float64).column().dtype == np.float64


@packs("watts", "joules")
@dataclass(frozen=True, eq=False)
class Log:
    """Something with columns."""

    name: str
    watts: Floats
    joules: Floats | None = None


def kept(log: Log, name: str = "watts") -> object:
    """What a field really holds."""
    return log.__dict__[name]


def test_a_field_keeps_a_long_column_packed_and_gives_the_array() -> None:
    values, _ = FLOATS["tenths"]
    log = Log("a", values)
    assert isinstance(kept(log), Packed)
    assert np.array_equal(log.watts, values)
    assert log.joules is None
    assert log.watts is log.watts  # not unpacked twice
    with pytest.raises(ValueError, match="read-only"):
        log.watts[0] = 1.0
    renamed = replace(log, name="b")
    assert kept(renamed) is kept(log)  # packed once


def test_short_and_wide_columns_stay_as_they_are() -> None:
    few, wide = np.arange(5.0), FLOATS["anything"][0]
    assert kept(Log("a", few)) is few
    assert kept(Log("a", wide, wide), "joules") is wide


def test_arrays_that_nobody_holds_are_let_go() -> None:
    logs = [Log(str(n), FLOATS["tenths"][0]) for n in range(40)]
    assert sum(log.watts[1] for log in logs) == pytest.approx(40 * FLOATS["tenths"][0][1])
    del logs
    gc.collect()
    assert packed._CACHE._bytes <= packed.CACHE_BYTES
    assert len(packed._CACHE._packed) <= packed.CACHE_BYTES // (8 * ROWS) + 1


def test_a_column_is_packed_where_that_saves_a_quarter_of_it() -> None:
    """A third of it as it is, the rest in half: two thirds of the bytes.

    Two thirds as it is: that is not worth it.
    """
    noise, narrow = (
        rng.random(packed.PIECE_ROWS),
        rng.random(packed.PIECE_ROWS).astype(np.float32).astype(np.float64),
    )
    assert isinstance(packed.pack_column(np.concatenate([noise, narrow, narrow])), Packed)
    assert not isinstance(packed.pack_column(np.concatenate([noise, noise, narrow])), Packed)
