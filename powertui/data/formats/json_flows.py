"""Flows of JSON traces: `s`, `t` and `f`, which share category, name and id, and spans with a
`bind_id`.

{"ph":"s","cat":"ac2g","name":"ac2g","id":12,"pid":77,"tid":77,"ts":1.5},
{"ph":"f","bp":"e",…,"pid":0,"tid":7,"ts":9.25} A finish means the span that begins next, or with
"bp":"e" the one around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from powertui.data.formats.flow_ends import FINISH, NEXT, START, STEP, FlowEnds
from powertui.data.formats.json_batch import (
    CAT,
    ENCLOSING,
    FLOW_IN,
    FLOW_OUT,
    HAS_ID,
    NAME,
    PID,
    TID,
    EventBatch,
    Tokens,
)
from powertui.data.formats.json_pure import bound
from powertui.data.formats.json_threads import coded
from powertui.data.model import Bools, Int64s

PHASES = {"s": START, "t": STEP, "f": FINISH}
_LETTERS = np.array([ord(phase) for phase in PHASES], np.uint8)
_OF_ANY_NAME = frozenset(
    ("cpu_to_cuda",)
)  # PyTorch up to 1.8 calls the ends of a flow by the events that they lie on
_SPANS = "spans"  # the group of all that have a `bind_id`


def plain(batch: EventBatch) -> Bools:
    """Which events are ends of flows, written plainly."""
    flows: Bools = np.isin(batch.phase, _LETTERS) & batch.timed & (batch.bind & HAS_ID > 0)
    return flows


def tied(batch: EventBatch) -> Bools:
    """Which spans a flow leads to or from."""
    some: Bools = (
        (batch.bind & HAS_ID > 0)
        & (batch.bind & (FLOW_IN | FLOW_OUT) > 0)
        & (batch.phase == ord("X"))
        & batch.timed
    )
    return some


class JsonFlows(FlowEnds):
    """Lines are (pid, tid)."""

    def take(self, batch: EventBatch, rows: Int64s, at: Int64s, tokens: Tokens) -> None:
        """Some ends, or spans, at these times (ps)."""
        if not len(rows):
            return
        spans = batch.phase[rows] == ord("X")
        bind = batch.bind[rows]
        kind = np.where(bind & FLOW_IN > 0, np.where(bind & FLOW_OUT > 0, STEP, FINISH), START)
        for letter, own in PHASES.items():
            kind[batch.phase[rows] == ord(letter)] = own
        kind[(kind == FINISH) & ~spans & (bind & ENCLOSING == 0)] |= NEXT
        places, which = coded(batch.member[PID][rows], batch.member[TID][rows])
        lines = np.array([self._place(tokens[pid], tokens[tid]) for pid, tid in places], np.int32)
        member = (
            np.where(spans, -1, batch.member[CAT][rows]),
            np.where(spans, -1, batch.member[NAME][rows]),
        )
        called, group = coded(*member)
        groups = np.array([self._of(tokens[cat], tokens[name]) for cat, name in called], np.int32)
        groups = np.where(spans, self.group(_SPANS), groups[group]).astype(np.int32)
        self.extend(groups, batch.id[rows], lines[which], at, kind.astype(np.uint8))

    def put(self, event: dict[str, Any], at: int) -> None:
        """One of them."""
        id, bind = bound(event)
        if not bind & HAS_ID:
            return
        line = self._place(event.get("pid"), event.get("tid"))
        if event.get("ph") in PHASES:
            kind = PHASES[event["ph"]]
            kind |= NEXT if kind == FINISH and not bind & ENCLOSING else 0
            self.add(self._of(event.get("cat"), event.get("name")), id, line, at, kind)
        elif bind & (FLOW_IN | FLOW_OUT):
            kind = (STEP if bind & FLOW_OUT else FINISH) if bind & FLOW_IN else START
            self.add(self.group(_SPANS), id, line, at, kind)

    def _of(self, cat: Any, name: Any) -> int:
        return self.group((str(cat), "" if cat in _OF_ANY_NAME else str(name)))

    def _place(self, pid: Any, tid: Any) -> int:
        try:
            return self.line((pid, tid))
        except TypeError:  # a list as a pid
            return self.line(None)
