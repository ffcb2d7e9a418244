"""Rows of numbers, numbered and found again."""

from __future__ import annotations

import random

import numpy as np

from powertui.data.run.row_numbers import KeyRows


def test_rows_are_found_among_others_or_not() -> None:
    rng = random.Random(12)
    for _ in range(200):
        width = rng.randint(1, 3)
        rows = [tuple(rng.randint(-2, 3) for _ in range(width)) for _ in range(rng.randint(0, 12))]
        asked = [tuple(rng.randint(-3, 4) for _ in range(width)) for _ in range(12)]

        def columns(some: list[tuple[int, ...]], width: int = width) -> tuple[np.ndarray, ...]:
            return tuple(np.array([row[i] for row in some], np.int64) for i in range(width))

        keys = KeyRows(columns(rows))
        assert keys.count == len(set(rows))
        assert [rows[keys.codes.tolist().index(code)] for code in keys.codes.tolist()] == rows
        found = keys.find(columns(asked)).tolist()
        assert [code < 0 for code in found] == [row not in rows for row in asked]
        assert all(
            rows[keys.codes.tolist().index(code)] == row
            for code, row in zip(found, asked, strict=True)
            if code >= 0
        )
