"""GPUs that take turns in a log of nvidia-smi in which no column names them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s
from powertui.data.power import table, turns
from powertui.named_tuples import NamedTuple

_NO_TURN = re.compile(
    r"timestamp|power\.draw|^column "
)  # columns whose repeating says nothing of turns


class GpuTurns(NamedTuple):
    """Rows that take turns: how many GPUs, the turn of each row, and by what it was told."""

    gpu_count: int
    turn: Int32s
    is_torn: Bools  # of a round that is not whole
    how: str


def turns_by_column(
    rows: table.FileCells,
    plain: Sequence[str],
    good: Int64s,
) -> GpuTurns | None:
    """The turns that a column shows whose cells repeat from round to round."""
    for column, name in enumerate(plain):
        if _NO_TURN.search(name):
            continue
        cells = cells_of_rows(rows, column, good)
        if len(set(cells)) < 2:
            continue
        count = turns.count_by_column(cells)
        if count > 1:
            turn = np.arange(len(good)) % count
            return GpuTurns(
                gpu_count=count,
                turn=turn.astype(np.int32),
                is_torn=np.zeros(len(good), np.bool_),
                how=f"{count} GPUs in turn, separated by `{rows.names[column]}`",
            )
    return None


def turns_by_pause(ns: Int64s) -> GpuTurns:
    """The turns that pauses between the rounds show; one GPU where there are none."""
    count = turns.count_by_pause(ns)
    if count > 1:
        turn, is_torn = turns.places(ns, count)
        return GpuTurns(count, turn, is_torn, f"{count} GPUs in turn, by their order")
    return GpuTurns(
        gpu_count=1,
        turn=np.zeros(len(ns), np.int32),
        is_torn=np.zeros(len(ns), np.bool_),
        how="",
    )


def cells_of_rows(rows: table.FileCells, column: int, good: Int64s) -> list[str]:
    texts = rows.texts(column)
    if rows.is_numeric(column):
        # The parser made 0.0 of an index 0.
        texts = [text.removesuffix(".0") for text in texts]
    return [texts[i].strip() for i in good]
