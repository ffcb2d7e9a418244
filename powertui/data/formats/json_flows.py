"""Flows of JSON traces.

The ends of a flow are events with the phases `s`, `t` and `f` that share category, name and id;
or spans that share a `bind_id`.

{"ph":"s","cat":"ac2g","name":"ac2g","id":12,"pid":77,"tid":77,"ts":1.5},
{"ph":"f","bp":"e",…,"pid":0,"tid":7,"ts":9.25}

A finish means the span that begins next, or with "bp":"e" the one around it.
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
from powertui.data.formats.json_pure import flow_binding
from powertui.data.formats.json_threads import distinct_rows
from powertui.data.model import Bools, Int32s, Int64s, UInt8s

PHASES = {"s": START, "t": STEP, "f": FINISH}
_LETTERS = np.array([ord(phase) for phase in PHASES], np.uint8)
# PyTorch up to 1.8 names each end of a flow after the event that it is on, so the two differ.
_NAMELESS_CATEGORIES = frozenset(("cpu_to_cuda",))
_SPAN_GROUP = "spans"  # the group of all spans with a `bind_id`: they need no common name


def plain_ends(batch: EventBatch) -> Bools:
    """Which events are ends of flows, written plainly."""
    flows: Bools = np.isin(batch.phase, _LETTERS) & batch.timed & (batch.bind & HAS_ID > 0)
    return flows


def tied_spans(batch: EventBatch) -> Bools:
    """Which spans a flow leads to or from."""
    spans: Bools = (batch.phase == ord("X")) & batch.timed
    spans &= batch.bind & HAS_ID > 0
    spans &= batch.bind & (FLOW_IN | FLOW_OUT) > 0
    return spans


class JsonFlows(FlowEnds):
    """The ends of a JSON trace's flows; a line's key is (pid, tid)."""

    def take(self, batch: EventBatch, rows: Int64s, at: Int64s, tokens: Tokens) -> None:
        """Some ends, or spans, at these times (ps)."""
        if not len(rows):
            return
        places, place_of = distinct_rows(batch.member[PID][rows], batch.member[TID][rows])
        lines = np.array([self._place(tokens[pid], tokens[tid]) for pid, tid in places], np.int32)
        self.extend(
            self._groups_of_rows(batch, rows, tokens),
            batch.id[rows],
            lines[place_of],
            at,
            _kinds(batch.phase[rows], batch.bind[rows]),
        )

    def _groups_of_rows(self, batch: EventBatch, rows: Int64s, tokens: Tokens) -> Int32s:
        """The group of each of these ends: its category and name, or that of all spans."""
        is_span = batch.phase[rows] == ord("X")
        category = np.where(is_span, -1, batch.member[CAT][rows])
        name = np.where(is_span, -1, batch.member[NAME][rows])
        pairs, pair_of = distinct_rows(category, name)
        groups: list[int] = []
        for category_token, name_token in pairs:
            groups.append(self._group_of(tokens[category_token], tokens[name_token]))
        group = np.array(groups, np.int32)[pair_of]
        return np.where(is_span, self.group(_SPAN_GROUP), group).astype(np.int32)

    def put(self, event: dict[str, Any], at: int) -> None:
        """One end, or one span with a `bind_id`, at this time (ps)."""
        id, bind = flow_binding(event)
        if not bind & HAS_ID:
            return
        line = self._place(event.get("pid"), event.get("tid"))
        phase = event.get("ph")
        if phase in PHASES:
            kind = PHASES[phase]
            if kind == FINISH and not bind & ENCLOSING:
                kind |= NEXT
            group = self._group_of(event.get("cat"), event.get("name"))
            self.add(group, id, line, at, kind)
        elif bind & (FLOW_IN | FLOW_OUT):
            if not bind & FLOW_IN:
                kind = START
            elif bind & FLOW_OUT:
                kind = STEP
            else:
                kind = FINISH
            self.add(self.group(_SPAN_GROUP), id, line, at, kind)

    def _group_of(self, cat: Any, name: Any) -> int:
        return self.group((str(cat), "" if cat in _NAMELESS_CATEGORIES else str(name)))

    def _place(self, pid: Any, tid: Any) -> int:
        try:
            return self.line((pid, tid))
        except TypeError:  # a list as a pid
            return self.line(None)


def _kinds(phase: UInt8s, bind: UInt8s) -> UInt8s:
    """START, STEP or FINISH of each end, with NEXT where it means the span that begins next."""
    leads_on = bind & FLOW_OUT > 0
    kind = np.where(bind & FLOW_IN > 0, np.where(leads_on, STEP, FINISH), START)
    for letter, letter_kind in PHASES.items():
        kind[phase == ord(letter)] = letter_kind
    kind[(kind == FINISH) & (phase != ord("X")) & (bind & ENCLOSING == 0)] |= NEXT
    return kind.astype(np.uint8)
