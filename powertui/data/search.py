"""Find events by name: text or regular expression, over all names of a trace, hits in the order of
time.

Names are looked through many at a time, as bytes; only a regular expression asks each name, in one
call for thousands. Events are chosen by a table of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from powertui.data import texts
from powertui.data.category import CATEGORIES
from powertui.data.model import Bools, Int64s, Trace, Track, UInt8s, UInt32s
from powertui.data.texts import CancelCheck, unhindered
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_CHECK_NAMES = 4096  # names whose kind is asked for between two calls of `check`
_CHECK_EVENTS = 1 << 20  # events searched between two calls of `check`


class Hit(NamedTuple):
    """One event: `track` counts the tracks of `Trace.tracks()`, `row` the track's columns."""

    number: int  # 0 is the first in time
    track: int
    row: int


@dataclass(frozen=True, eq=False)
class Hits:
    """All events whose name matches.

    4 bytes each (8 beyond four billion events): positions only.
    """

    pattern: str
    regex: bool
    names: Bools  # per name index: does it match
    kinds: tuple[str, ...]  # of work, where no name matches but these do
    _tracks: tuple[Track, ...]
    _base: Int64s  # number of the first event of each track in one numbering of all
    _order: Int64s | UInt32s  # matching events in that numbering, by start, then by track and row

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: int) -> Hit:
        number = range(len(self))[number]
        flat = int(self._order[number])
        track = int(np.searchsorted(self._base, flat, side="right")) - 1
        return Hit(
            number=number,
            track=track,
            row=flat - int(self._base[track]),
        )

    def _key(self, number: int) -> tuple[int, int, int]:
        hit = self[number]
        return int(self._tracks[hit.track].events.start[hit.row]), hit.track, hit.row

    def step(self, ps: int, direction: int, track: int = -1, row: int = -1) -> Hit | None:
        """The next hit after a place (or the last before it), around the end.

        A place is a time, or an event when `row` is given.
        """
        if not len(self):
            return None
        # Without an event, hits that start at `ps` itself count as ahead in both directions.
        if row >= 0:
            place = (ps, track, row)
        elif direction > 0:
            place = (ps, -1, -1)
        else:
            place = (ps, 1 << 60, 0)
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            key = self._key(middle)
            if key < place or (direction > 0 and key == place):
                low = middle + 1
            else:
                high = middle
        number = low if direction > 0 else low - 1
        return self[number % len(self)]


def compile_pattern(pattern: str, regex: bool) -> re.Pattern[str]:
    """Case matters only when the pattern has a capital letter.

    A broken regex is a UsageError that says where.
    """
    if any(char.isupper() for char in pattern):
        flags = 0
    else:
        flags = re.IGNORECASE
    try:
        return re.compile(pattern if regex else re.escape(pattern), flags)
    except re.error as error:
        raise UsageError(
            f"not a regular expression: {error}",
            hint="Search for plain text, or put \\ before ( [ * + ? .",
        ) from None


def find(
    trace: Trace,
    pattern: str,
    *,
    regex: bool = False,
    check: CancelCheck = unhindered,
    kinds_of_names: Callable[[Int64s], UInt8s] | None = None,
) -> Hits:
    """Every event of the trace whose recorded or displayed name matches.

    Where no name does, the pattern may be a kind of work ("matmul"): `kinds_of_names` returns the
    numbers of the kinds of names. `check` may raise to break it off.
    """
    compiled = compile_pattern(pattern, regex)
    names = trace.names
    is_match = np.zeros(len(names), np.bool_)
    if pattern and regex:
        is_match = texts.matching(names, lambda batch: batch.match(compiled), check=check)
    elif pattern:
        fold = bool(compiled.flags & re.IGNORECASE)
        is_match = texts.matching(names, texts.holding(pattern, fold=fold), check=check)
    kinds: tuple[str, ...] = ()
    if kinds_of_names is not None and not regex and not is_match.any():
        kinds, is_match = _names_of_kind(len(names), pattern, kinds_of_names, check)
    tracks = tuple(track for _, track in trace.tracks())
    sizes = [track.event_count for track in tracks]
    base = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    order = np.empty(0, np.int64)
    if is_match.any():
        order = _matching_events(tracks, is_match, base, check)
    return Hits(
        pattern=pattern,
        regex=regex,
        names=is_match,
        kinds=kinds,
        _tracks=tracks,
        _base=base,
        _order=order,
    )


def _matching_events(
    tracks: tuple[Track, ...],
    is_match: Bools,
    base: Int64s,
    check: CancelCheck,
) -> Any:
    """The events of these names in the numbering of all, by start, then by track and row."""
    # Every event may match: half the bytes where their numbers fit.
    if int(base[-1]) < 1 << 32:
        number_type = np.uint32
    else:
        number_type = np.int64
    starts: list[Int64s] = []
    numbers: list[Int64s | UInt32s] = []
    for track_number, track in enumerate(tracks):
        for first in range(0, len(track.events), _CHECK_EVENTS):
            check()
            names = track.events.name[first : first + _CHECK_EVENTS]
            rows = np.flatnonzero(is_match[names]) + first
            starts.append(track.events.start[rows])
            numbers.append((rows + base[track_number]).astype(number_type))
    if not numbers:
        return np.empty(0, np.int64)
    # Parts are let go of as soon as they are joined: there may be hundreds of millions of hits.
    start = np.concatenate(starts)
    starts.clear()
    check()
    order = np.argsort(start, kind="stable")  # parts that are sorted are merged
    del start
    check()
    joined: Any = np.concatenate(numbers)
    numbers.clear()
    return joined[order]


def _names_of_kind(
    size: int,
    pattern: str,
    kinds_of_names: Callable[[Int64s], UInt8s],
    check: CancelCheck,
) -> tuple[tuple[str, ...], Bools]:
    """The kinds of work that a pattern is the beginning of, and which names are of these kinds."""
    typed = pattern.strip().lower()
    is_match = np.zeros(size, np.bool_)
    kinds = [kind for kind in CATEGORIES if typed and kind.value.startswith(typed)]
    if not kinds:
        return (), is_match
    numbers = [kind.number for kind in kinds]
    for first in range(0, size, _CHECK_NAMES):
        check()
        indices = np.arange(first, min(first + _CHECK_NAMES, size))
        is_match[indices] = np.isin(kinds_of_names(indices), numbers)
    return tuple(kind.value for kind in kinds), is_match
