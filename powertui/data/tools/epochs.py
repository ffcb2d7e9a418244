"""The epochs of one host, one row each: where each lies, what tells so, its steps, and the scalars
that were logged at its end.
"""

from __future__ import annotations

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.table import Column, Fact, Place, Result, Table, optional, text_column
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.plain import plain


def answer(question: Question) -> Result:
    """The epochs that touch the window, by number; those without known bounds only where no window
    is named.
    """
    profile = question.profile
    epochs, steps = profile.epochs, profile.steps
    mine = ByNumber(steps.epoch, len(epochs))
    bounds = [epochs.bounds(index, steps, mine[index]) for index in range(len(epochs))]
    rows = list(range(len(epochs)))
    if question.lo is not None or question.hi is not None:
        known = [row for row in rows if bounds[row] is not None]
        lo, hi = (
            np.array([side[k] for row in known if (side := bounds[row]) is not None], np.int64)
            for k in (0, 1)
        )
        rows = [known[at] for at in np.flatnonzero(touches(lo, hi, *question.window)).tolist()]
    starts = [epochs[row].start if (found := bounds[row]) is None else found[0] for row in rows]
    ends = [epochs[row].end if (found := bounds[row]) is None else found[1] for row in rows]
    lengths = [
        None if lo is None or hi is None else hi - lo for lo, hi in zip(starts, ends, strict=True)
    ]
    tags = dict.fromkeys(tag for row in rows for tag, _ in epochs[row].scalars)
    columns = (
        Column(
            "number",
            "epoch",
            "integer",
            np.array([epochs[row].number for row in rows], np.int64),
            weight=9,
        ),
        optional("start_s", "start", "instant", starts, weight=8),
        optional("end_s", "end", "instant", ends, weight=5),
        optional("duration_s", "duration", "duration", lengths, weight=9),
        Column(
            "slack_s",
            "±",
            "duration",
            np.array([epochs[row].slack for row in rows], np.int64),
            weight=2,
        ),
        Column(
            "steps",
            "steps",
            "integer",
            np.array([len(mine[row]) for row in rows], np.int64),
            weight=7,
        ),
        *(
            optional(
                f"scalar:{plain(tag, 80)}",
                plain(tag, 40),
                "number",
                [dict(epochs[row].scalars).get(tag) for row in rows],
                weight=4,
            )
            for tag in tags
        ),
        text_column("source", "evidence", [epochs[row].source for row in rows], weight=3),
    )

    def place(row: int) -> Place | None:
        found = bounds[rows[row]]
        return None if found is None else Place(question.opened.name, question.host, *found)

    empty = (
        "No epoch touches this window."
        if len(epochs)
        else "No epochs were found: nothing logs them, and no step number restarts."
    )
    table = Table(
        "epochs",
        "Epochs",
        columns,
        place=place,
        order=("number", False),
        empty=empty,
        key=("number",),
        noun="epoch",
    )
    return Result(
        "epochs", "Epochs", (table,), (Fact("source", "evidence", epochs.source or None),)
    )
