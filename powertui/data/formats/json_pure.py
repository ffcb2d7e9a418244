"""Events of JSON traces by Python alone, for machines without a compiler.

The text is cut between two events, the piece is decoded at once, and its events become columns.
`json` decodes a list of a thousand events in half the time of a thousand single events, and a piece
bounds the memory.
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
import numpy.typing as npt

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
from powertui.data.formats.json_values import (
    MAX_TS_US,
    floats_of_values,
    lengths_of_values,
    letters_of_phases,
    times_of_digits,
    values_of_types,
)
from powertui.data.model import PS_PER_US, Bools, Int32s, Int64s, UInt8s

PIECE = 1 << 18  # bytes that are decoded at once: the interpreter is held for as long as that takes
FAR_US = 8.7e9  # beyond 2**53 ps (2.5 hours) a double in µs does not hold every ps
_MAX_INT_US = 1 << 60  # an int64 with room to subtract the origin
_EVENT_WINDOW_BYTES = 1 << 14  # holds nearly every event; chosen, not measured
_SPACE = re.compile(rb"[ \t\r\n,]*")
_EVENT_BORDER = re.compile(rb"\}\s*,\s*\{")
_GAP = re.compile(r"[ \t\r\n,]*")
_TS = re.compile(r'"ts"\s*:\s*(-?)(\d{1,17})(?:\.(\d{1,6}))?\s*[,}]')
_decoder = json.JSONDecoder(strict=False)
_NO_MEMBERS: dict[str, Any] = {}


class _ValueTokens:
    """The numbers and texts that members have, each once."""

    def __init__(self) -> None:
        self.numbers = _TokenNumbers()

    def __getitem__(self, number: int) -> Any:
        """The value that a number stands for; None for -1."""
        if number >= 0:
            return self.numbers.tokens[number]
        return None

    def __len__(self) -> int:
        return len(self.numbers.tokens)


class _TokenNumbers(dict[Any, int]):
    """The number of each value; a new value gets the next one."""

    def __init__(self) -> None:
        super().__init__({None: -1})
        self.tokens: list[Any] = []

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self.tokens)
        self.tokens.append(value)
        return number


class PureScanner:
    """Scans every item that `json` decodes.

    Items whose times, durations or names are not plain are marked as not timed.
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
        first_byte = data[at]
        if first_byte == ord("]"):
            return None, at, END
        if first_byte != ord("{"):
            return None, at, ODD
        borders = _event_borders(data, at)
        if not borders:
            return None, at, MORE
        lo = [at]
        hi = []
        for end, next_begin in borders:
            hi.append(end + 1)
            lo.append(next_begin - 1)
        next_event = lo.pop()
        with _no_garbage_collection():
            return self._piece(data, lo, hi, next_event, base)

    def _piece(
        self,
        data: bytes,
        lo: list[int],
        hi: list[int],
        after: int,
        base: int,
    ) -> tuple[EventBatch | None, int, int]:
        """The events between the first and the last of these places, or those before damage."""
        for _ in range(3):
            piece = data[lo[0] : hi[-1]]
            text = piece.decode("utf-8", "replace")
            try:
                events = _decoder.decode(f"[{text}]")
            except json.JSONDecodeError as error:
                # What looks like the border of two events may be inside a string: try again with
                # the events before the error.
                intact_end = lo[0] + len(text[: error.pos - 1].encode())
                intact = min(bisect.bisect_right(hi, intact_end), len(hi) - 1)
                if intact <= 0:
                    break
                after = lo[intact]
                lo = lo[:intact]
                hi = hi[:intact]
                continue
            except (ValueError, RecursionError):
                break
            if len(events) != len(lo):
                lo, hi = _event_bounds(text, piece, lo[0])
            if len(events) != len(lo):
                break
            return (
                self._batch(
                    data=data,
                    text=text,
                    events=events,
                    lo=lo,
                    hi=hi,
                    base=base,
                ),
                after,
                FULL,
            )
        return None, lo[0], ODD

    # ── columns ──

    def _batch(
        self,
        data: bytes,
        text: str,
        events: list[Any],
        lo: list[int],
        hi: list[int],
        base: int,
    ) -> EventBatch:
        dicts = values_of_types(events, {dict}, _NO_MEMBERS)
        plain = np.ones(len(events), np.bool_)
        timed, us, ps = self._times([event.get("ts") for event in dicts], text)
        length = lengths_of_values([event.get("dur") for event in dicts], plain)
        args = [event.get("args") or event.get("attr") or _NO_MEMBERS for event in dicts]
        args = values_of_types(args, {dict}, _NO_MEMBERS)
        member = self._members(dicts, args, text, plain)
        phase = letters_of_phases([event.get("ph") for event in dicts])
        timed &= plain
        # Without these letters in the text only `s`, `t` and `f` can belong to a flow.
        only_flow_phases = "flow_" not in text and "\\" not in text
        ids, bind = _ids(dicts, np.isin(phase, _FLOWS) if only_flow_phases else phase > 0)
        begin = np.array(lo, np.int64)
        has_args = np.fromiter(map(len, args), np.int64, len(args)) > 0
        # Nobody asks for a single event where all are plain spans.
        all_spans = timed.all() and (phase == ord("X")).all()
        return EventBatch(
            phase=phase,
            timed=timed,
            us=us,
            ps=ps,
            length=length,
            lo=begin,
            hi=np.array(hi, np.int64),
            args=np.where(has_args, begin + base, 0),
            member=member,
            id=ids,
            bind=bind,
            data=data,
            decoded=None if all_spans else events,
        )

    def _members(
        self,
        events: list[Any],
        args: list[Any],
        text: str,
        plain: Bools,
    ) -> npt.NDArray[np.int32]:
        """The token of each member of each event; `plain` becomes False where one is of a type
        that it cannot have.
        """
        member = np.empty((MEMBERS, len(events)), np.int32)
        numbers = self.tokens.numbers
        for row, key in enumerate(("name", "cat", "pid", "tid")):
            types = _NAME_TYPES if key in ("name", "cat") else _PLACE_TYPES
            values = [event.get(key) for event in events]
            if not set(map(type, values)) <= types:
                plain &= [type(value) in types for value in values]
                values = values_of_types(values, types, None)
            member[row] = [numbers[value] for value in values]
        escaped = "\\" in text
        for row, key in enumerate(("device", "stream", "long_name"), 4):
            if f'"{key}"' not in text and not escaped:
                member[row] = -1
                continue
            values = values_of_types([event_args.get(key) for event_args in args], _ARG_TYPES, None)
            member[row] = [numbers[value] for value in values]
        return member

    def _times(self, values: list[Any], text: str) -> tuple[Bools, Int64s, Int32s]:
        """(whether an event has a time, its whole µs, the rest in ps).

        Where a double does not hold every ps, the digits are taken from the text.
        """
        value, is_timed = floats_of_values(values)
        size = np.abs(value)
        is_timed &= size < MAX_TS_US
        value[~is_timed] = 0
        whole_us = np.floor(value)
        us = whole_us.astype(np.int64)
        rest_us = value - whole_us
        ps = np.rint(rest_us * PS_PER_US).astype(np.int32)
        is_far = np.abs(value) > self._far
        if not is_far.any():
            return is_timed, us, ps
        if set(map(type, values)) == {int}:
            exact = [value if abs(value) < _MAX_INT_US else 0 for value in values]
            exact_us = np.array(exact, np.int64)
            return is_timed, np.where(is_timed, exact_us, us), ps
        digits = _TS.findall(text)
        if len(digits) != len(values):
            return is_timed & ~is_far, us, ps
        read_value, exact_us, exact_ps = times_of_digits(digits)
        # The text may contain a "ts" that is not an event's: then the numbers differ.
        is_timed &= ~is_far | (read_value == value)
        us = np.where(is_far, exact_us, us)
        ps = np.where(is_far, exact_ps, ps)
        return is_timed, us, ps.astype(np.int32)


def _event_borders(data: bytes, at: int) -> list[tuple[int, int]]:
    """Where events end and the next ones begin, in a piece that holds at least one such place.

    None where all of the data does not.
    """
    size = PIECE
    while True:
        end = at + size
        borders = [border.span() for border in _EVENT_BORDER.finditer(data, at, end)]
        if borders or end >= len(data):
            return borders
        size *= 4


_NAME_TYPES: set[type] = {str, type(None)}
_PLACE_TYPES: set[type] = {str, int, float, bool, type(None)}
_ARG_TYPES: set[type] = {str, int, type(None)}
_FLOWS = np.array([ord(phase) for phase in "stf"], np.uint8)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Switches the garbage collector off: it takes a quarter of the time and finds nothing.

    The objects of a piece are freed as soon as they are columns.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


def arg_values(data: bytes, starts: Int64s, names: Sequence[str]) -> Iterator[tuple[int, str, Any]]:
    """(row, name, value) for each of these arguments of the events that start at these places.

    (row, "", None) for an event whose end is not in `data`.
    """
    # In ASCII a place in the bytes is a place in the text.
    text = data.decode() if data.isascii() else ""
    for row, start in enumerate(starts.tolist()):
        try:
            if text:
                event, _ = _decoder.raw_decode(text, start)
            else:
                window = data[start : start + _EVENT_WINDOW_BYTES]
                event, _ = _decoder.raw_decode(window.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            yield row, "", None
            continue
        args = args_in(event)
        if not isinstance(args, dict):
            continue
        for name in names:
            if name in args:
                yield row, name, args[name]


def args_in(event: Any) -> Any:
    """The arguments of an event; IBM's AIU writes `attr`."""
    if isinstance(event, dict):
        return event.get("args") or event.get("attr")
    return None


def _event_bounds(text: str, piece: bytes, base: int) -> tuple[list[int], list[int]]:
    """Where each item of this text begins and ends, in bytes.

    For a text in which a string contains what looks like the border of two events.
    """
    lo = []
    hi = []
    at = 0
    while at < len(text):
        _, end = _decoder.raw_decode(text, at)
        lo.append(at)
        hi.append(end)
        match = _GAP.match(text, end)
        assert match is not None
        at = match.end()
    if len(text) == len(piece):  # a byte for each letter
        return [base + place for place in lo], [base + place for place in hi]
    if text.encode() != piece:  # it contains bytes that are no UTF-8
        return [], []
    begins = []
    ends = []
    place = base
    previous_end = 0
    for begin, end in zip(lo, hi, strict=True):
        place += len(text[previous_end:begin].encode())
        begins.append(place)
        place += len(text[begin:end].encode())
        ends.append(place)
        previous_end = end
    return begins, ends


def flow_binding(event: dict[str, Any]) -> tuple[int, int]:
    """(`id_number` of the flow that an event belongs to, `bind` of EventBatch)."""
    if "id" in event:
        key = event.get("id")
    else:
        key = event.get("bind_id")
    scoped = event.get("id2")
    if key is None and event.get("ph") != "X" and isinstance(scoped, dict):
        # A local id counts within its process.
        pid = event.get("pid") if "local" in scoped else None
        key = json.dumps([pid, scoped], sort_keys=True)
    flags = 0
    if event.get("bp") == "e":
        flags |= ENCLOSING
    if event.get("flow_in") is True:
        flags |= FLOW_IN
    if event.get("flow_out") is True:
        flags |= FLOW_OUT
    if type(key) not in (str, int):
        return 0, flags
    return id_number(key), flags | HAS_ID


def _ids(events: list[dict[str, Any]], flows: Bools) -> tuple[Int64s, UInt8s]:
    """(`id`, `bind`) of EventBatch, for the events that may belong to a flow."""
    ids = np.zeros(len(events), np.int64)
    bind = np.zeros(len(events), np.uint8)
    for row in np.flatnonzero(flows).tolist():
        ids[row], bind[row] = flow_binding(events[row])
    return ids, bind
