"""Which host came last to the collectives that all hosts ran together.

A collective begins on a host when that host is there and ends on all of them at once. So the host
in which it is shortest came last, and the others waited for as long as it is longer with them. No
clock is compared: clocks of hosts differ by more than most waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.model import Int64s
from powertui.data.tools.collectives import CollectiveKind, collective_calls
from powertui.data.tools.registry import Question
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class MatchedCollectives:
    """The calls that every host has, [calls × hosts]."""

    lengths: Int64s  # ps
    names: tuple[str, ...]  # of each call
    unmatched: int  # kinds whose calls are not the same number on every host

    @property
    def latest(self) -> Int64s:
        """The host that came last to each call."""
        return np.asarray(self.lengths.argmin(axis=1), np.int64)

    @property
    def waited(self) -> Int64s:
        """How long the other hosts waited in each call, on average, ps."""
        count = self.lengths.shape[1]
        shortest = self.lengths.min(axis=1)
        waits = self.lengths.sum(axis=1) - count * shortest
        return np.asarray(waits // max(1, count - 1), np.int64)


def matched_collectives(question: Question) -> MatchedCollectives | None:
    """The collectives that all hosts of a run have; None where fewer than two hosts ran some."""
    by_host = [
        _by_kind(replace(question, host=index, lo=None, hi=None, together=False))
        for index in range(len(question.opened.profiles))
    ]
    if len(by_host) < 2 or not all(by_host):
        return None
    rows: list[Int64s] = []
    names: list[str] = []
    unmatched = 0
    for kind in by_host[0]:
        columns = [calls.get(kind, ()) for calls in by_host]
        if len({len(column) for column in columns}) > 1:
            unmatched += 1
            continue
        rows.append(np.array(columns, np.int64).T)
        names += [kind.collective] * len(columns[0])
    if not rows:
        return None
    return MatchedCollectives(np.concatenate(rows), tuple(names), unmatched)


def _by_kind(question: Question) -> dict[CollectiveKind, Sequence[int]]:
    """The lengths of one host's collectives in the order they began, by kind."""
    tracks = [track for _, track in question.profile.trace.tracks()]
    calls: dict[CollectiveKind, list[tuple[int, int]]] = defaultdict(list)
    for kind, call in collective_calls(question):
        begin = int(tracks[call.line].events.start[call.event])
        calls[kind].append((begin, call.ps))
    return {kind: [ps for _, ps in sorted(of_kind)] for kind, of_kind in calls.items()}
