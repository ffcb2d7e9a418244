"""Events of JSON traces by Python alone: the text is cut between two events, the piece is decoded
at once, and its events become columns. `json` decodes a list of a thousand events in half the time
of a thousand events, and little of it is there at any moment.
"""

from __future__ import annotations

import bisect
import contextlib
import gc
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data.formats.json_batch import (
    ENCLOSING,
    END,
    FLOW_IN,
    FLOW_OUT,
    FULL,
    HAS_ID,
    MEMBERS,
    MORE,
    ODD,
    EventBatch,
    id_number,
)
from powertui.data.model import Bools, Floats, Int32s, Int64s, UInt8s

PIECE = 1 << 18  # bytes that are decoded at once: the interpreter is held for as long as that takes
FAR_US = 8.7e9  # beyond it a double does not hold every ps of a µs
_MOST_US = 1e17  # nothing that is farther is a time
_MOST_INT = 1 << 60
_LONGEST = 8e12  # µs of one event
_NEAR = 1 << 14  # bytes that hold nearly every event
_SPACE = re.compile(rb"[ \t\r\n,]*")
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_GAP = re.compile(r"[ \t\r\n,]*")
_TS = re.compile(r'"ts"\s*:\s*(-?)(\d{1,17})(?:\.(\d{1,6}))?\s*[,}]')
_decoder = json.JSONDecoder(strict=False)
_NOTHING: dict[str, Any] = {}


class _ValueTokens:
    """The numbers and texts that members have, each once."""

    def __init__(self) -> None:
        self.numbers = _Numbers()

    def __getitem__(self, number: int) -> Any:
        """The value that a number stands for; None for -1."""
        return self.numbers.known[number] if number >= 0 else None

    def __len__(self) -> int:
        return len(self.numbers.known)


class _Numbers(dict[Any, int]):
    def __init__(self) -> None:
        super().__init__({None: -1})
        self.known: list[Any] = []

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self.known)
        self.known.append(value)
        return number


class PureScanner:
    """Every item that `json` decodes; times, durations and names that are not plainly written are
    marked as not timed.
    """

    def __init__(self, digits: int = 6) -> None:
        self.tokens = _ValueTokens()
        self._far = FAR_US * 10 ** (6 - digits)

    def scan(self, data: bytes, at: int, base: int) -> tuple[EventBatch | None, int, int]:
        """As in Scanner."""
        match = _SPACE.match(data, at)
        assert match is not None  # it may be empty
        at = match.end()
        if at == len(data):
            return None, at, MORE
        if data[at] != ord("{"):
            return None, at, END if data[at] == ord("]") else ODD
        size = PIECE
        while not (cuts := [found.span() for found in _BETWEEN.finditer(data, at, at + size)]):
            if at + size >= len(data):
                return None, at, MORE
            size *= 4
        lo, hi = [at, *[after - 1 for _, after in cuts[:-1]]], [before + 1 for before, _ in cuts]
        with _no_collection():
            return self._piece(data, lo, hi, cuts[-1][1] - 1, base)

    def _piece(
        self, data: bytes, lo: list[int], hi: list[int], after: int, base: int
    ) -> tuple[EventBatch | None, int, int]:
        """The events between the first and the last of these places; those before what is damaged,
        if something is.
        """
        for _ in range(3):
            piece = data[lo[0] : hi[-1]]
            text = piece.decode("utf-8", "replace")
            try:
                events = _decoder.decode(f"[{text}]")
            except json.JSONDecodeError as error:
                # What could be the border of two events may stand inside a text, too: it is not
                # decoded there, and tried again.
                whole = lo[0] + len(text[: error.pos - 1].encode())
                kept = min(bisect.bisect_right(hi, whole), len(hi) - 1)
                if kept <= 0:
                    break
                after = lo[kept]
                lo, hi = lo[:kept], hi[:kept]
                continue
            except (ValueError, RecursionError):
                break
            if len(events) != len(lo):
                lo, hi = _borders(text, piece, lo[0])
            if len(events) != len(lo):
                break
            return self._batch(data, text, events, lo, hi, base), after, FULL
        return None, lo[0], ODD

    # ── columns ──

    def _batch(
        self, data: bytes, text: str, events: list[Any], lo: list[int], hi: list[int], base: int
    ) -> EventBatch:
        every = (
            events
            if set(map(type, events)) <= {dict}
            else [one if type(one) is dict else _NOTHING for one in events]
        )
        good = np.ones(len(events), np.bool_)
        phases = [event.get("ph") for event in every]
        timed, us, ps = self._times([event.get("ts") for event in every], text)
        length = _lengths([event.get("dur") for event in every], good)
        args = [event.get("args") or event.get("attr") or _NOTHING for event in every]
        if not set(map(type, args)) <= {dict}:
            args = [one if type(one) is dict else _NOTHING for one in args]
        member = np.empty((MEMBERS, len(events)), np.int32)
        numbers = self.tokens.numbers
        for row, key in enumerate(("name", "cat", "pid", "tid")):
            column = [event.get(key) for event in every]
            kinds = _NAMES if row < 2 else _PLACES
            if not set(map(type, column)) <= kinds:
                good &= [type(one) in kinds for one in column]
                column = [one if type(one) in kinds else None for one in column]
            member[row] = [numbers[one] for one in column]
        escaped = "\\" in text
        for row, key in enumerate(("device", "stream", "long_name"), 4):
            if f'"{key}"' not in text and not escaped:
                member[row] = -1
                continue
            column = [some.get(key) for some in args]
            if not set(map(type, column)) <= _ARGS:
                column = [one if type(one) in _ARGS else None for one in column]
            member[row] = [numbers[one] for one in column]
        begin = np.array(lo, np.int64)
        told = np.fromiter(map(len, args), np.int64, len(args)) > 0
        letters, timed = _letters(phases), timed & good
        ids, bind = _ids(
            every,
            np.isin(letters, _FLOWS) if "flow_" not in text and "\\" not in text else letters > 0,
        )
        spans = timed.all() and (letters == ord("X")).all()  # nobody asks for one of them
        return EventBatch(
            letters,
            timed,
            us,
            ps,
            length,
            begin,
            np.array(hi, np.int64),
            np.where(told, begin + base, 0),
            member,
            ids,
            bind,
            data,
            None if spans else events,
        )

    def _times(self, told: list[Any], text: str) -> tuple[Bools, Int64s, Int32s]:
        """(whether there is one, whole µs, what is left in ps): as they are written where a double
        does not hold them.
        """
        value, good = _floats(told)
        good &= np.abs(value) < _MOST_US
        value[~good] = 0
        whole = np.floor(value)
        part = np.rint((value - whole) * 1e6)
        us, ps = whole.astype(np.int64), part.astype(np.int32)
        far = np.abs(value) > self._far
        if far.any() and set(map(type, told)) == {int}:
            us = np.where(
                good, np.array([one if abs(one) < _MOST_INT else 0 for one in told], np.int64), us
            )
        elif far.any():
            found = _TS.findall(text)
            if len(found) != len(told):
                return good & ~far, us, ps
            minus = np.array([bool(sign) for sign, _, _ in found])
            micro = np.array([int(digits) for _, digits, _ in found], np.int64)
            pico = np.array([int(rest.ljust(6, "0")) for _, _, rest in found], np.int64)
            written = [float(f"{sign}{digits}.{rest}") for sign, digits, rest in found]
            good &= ~far | (np.array(written, np.float64) == value)
            us = np.where(far, np.where(minus, -micro - (pico > 0), micro), us)
            ps = np.where(far, np.where(minus & (pico > 0), 1_000_000 - pico, pico), ps).astype(
                np.int32
            )
        return good, us, ps


_NAMES = {str, type(None)}
_PLACES = {str, int, float, bool, type(None)}
_ARGS = {str, int, type(None)}
_NUMBERS = {int, float}
_FLOWS = np.array([ord(phase) for phase in "stf"], np.uint8)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """A piece is let go of as soon as it is columns: looking for garbage in between takes a quarter
    of the time.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


def arg_values(data: bytes, starts: Int64s, names: Sequence[str]) -> Iterator[tuple[int, str, Any]]:
    """(row, name, value) for each of these arguments of the events that start at these places;
    (row, "", None) for an event that is not whole.
    """
    text = data.decode() if data.isascii() else ""
    for row, start in enumerate(starts.tolist()):
        try:
            if text:
                event = _decoder.raw_decode(text, start)[0]
            else:
                event = _decoder.raw_decode(data[start : start + _NEAR].decode("utf-8", "replace"))[
                    0
                ]
        except (ValueError, RecursionError):
            yield row, "", None
            continue
        args = args_in(event)
        for name in names if isinstance(args, dict) else ():
            if name in args:
                yield row, name, args[name]


def args_in(event: Any) -> Any:
    """The arguments of an event; IBM's AIU writes `attr`."""
    return event.get("args") or event.get("attr") if isinstance(event, dict) else None


def _borders(text: str, piece: bytes, base: int) -> tuple[list[int], list[int]]:
    """Where each item of this text begins and ends: what stands between two of them stands within
    one, too.
    """
    lo, hi, at = [], [], 0
    while at < len(text):
        _, end = _decoder.raw_decode(text, at)
        lo.append(at)
        hi.append(end)
        match = _GAP.match(text, end)
        assert match is not None
        at = match.end()
    if len(text) == len(piece):  # a byte for each letter
        return [base + place for place in lo], [base + place for place in hi]
    if text.encode() != piece:  # bytes that are no text
        return [], []
    sizes = [len(text[begin:end].encode()) for begin, end in zip([0, *hi[:-1]], lo, strict=True)]
    begins, ends, place = [], [], base
    for gap, begin, end in zip(sizes, lo, hi, strict=True):
        begins.append(place + gap)
        place = begins[-1] + len(text[begin:end].encode())
        ends.append(place)
    return begins, ends


def _floats(told: list[Any]) -> tuple[Floats, Bools]:
    """(the numbers, which of these are numbers): texts and truth values are left to who reads items
    one by one.
    """
    good = np.ones(len(told), np.bool_)
    if not set(map(type, told)) <= _NUMBERS:
        good = np.array([type(one) in _NUMBERS for one in told], np.bool_)
        told = [one if type(one) in _NUMBERS else 0 for one in told]
    try:
        value = np.array(told, np.float64)
    except OverflowError:  # an integer of hundreds of digits
        value = np.array([one if abs(one) < _MOST_US else np.nan for one in told], np.float64)
    good &= np.isfinite(value)
    value[~good] = 0.0
    return value, good


def _lengths(told: list[Any], good: Bools) -> Int64s:
    """Durations in ps; none is 0. What is none is not `good`."""
    if not set(map(type, told)) <= _NUMBERS:
        told = [0 if one is None else one for one in told]
    value, numbers = _floats(told)
    numbers &= np.abs(value) <= _LONGEST
    good &= numbers
    value[~numbers] = 0.0
    whole = np.floor(value)
    length: Int64s = whole.astype(np.int64) * 1_000_000 + np.rint((value - whole) * 1e6).astype(
        np.int64
    )
    return length


def _letters(phases: list[Any]) -> UInt8s:
    """Each phase as its letter; 0 for what is none."""
    if not set(map(type, phases)) <= {str}:
        phases = [phase if type(phase) is str else "" for phase in phases]
    codes = {
        phase: ord(phase) if len(phase) == 1 and phase.isascii() else 0 for phase in set(phases)
    }
    return np.array([codes[phase] for phase in phases], np.uint8)


def flow_binding(event: dict[str, Any]) -> tuple[int, int]:
    """(`identity` of the flow that an event belongs to, `bind` of EventBatch)."""
    told = event.get("id") if "id" in event else event.get("bind_id")
    if told is None and event.get("ph") != "X" and isinstance(apart := event.get("id2"), dict):
        told = json.dumps([event.get("pid") if "local" in apart else None, apart], sort_keys=True)
    flags = (ENCLOSING if event.get("bp") == "e" else 0) | (
        FLOW_IN if event.get("flow_in") is True else 0
    )
    flags |= FLOW_OUT if event.get("flow_out") is True else 0
    if type(told) is not str and type(told) is not int:
        return 0, flags
    return id_number(told), flags | HAS_ID


def _ids(events: list[dict[str, Any]], flows: Bools) -> tuple[Int64s, UInt8s]:
    """What flows are joined by, of those that are some: (`id`, `bind`) of EventBatch."""
    ids, bind = np.zeros(len(events), np.int64), np.zeros(len(events), np.uint8)
    for row in np.flatnonzero(flows).tolist():
        ids[row], bind[row] = flow_binding(events[row])
    return ids, bind
