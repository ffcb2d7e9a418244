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
from powertui.data.model import PS_PER_US, Bools, Floats, Int32s, Int64s, UInt8s

PIECE = 1 << 18  # bytes that are decoded at once: the interpreter is held for as long as that takes
FAR_US = 8.7e9  # beyond 2**53 ps (2.5 hours) a double in µs does not hold every ps
_MAX_TS_US = 1e17  # year 5138 in Unix time: a larger number is not a time
_MAX_INT_US = 1 << 60  # an int64 with room to subtract the origin
_MAX_DURATION_US = 8e12  # 93 days: in ps it fits an int64 (its limit is 9.2e12 µs)
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
        if data[at] != ord("{"):
            return None, at, END if data[at] == ord("]") else ODD
        borders = _event_borders(data, at)
        if not borders:
            return None, at, MORE
        *ended, (last_end, next_begin) = borders
        lo = [at, *[begin - 1 for _, begin in ended]]
        hi = [end + 1 for end, _ in ended] + [last_end + 1]
        with _no_garbage_collection():
            return self._piece(data, lo, hi, next_begin - 1, base)

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
        dicts = _only(events, {dict}, _NO_MEMBERS)
        plain = np.ones(len(events), np.bool_)
        timed, us, ps = self._times([event.get("ts") for event in dicts], text)
        length = _lengths([event.get("dur") for event in dicts], plain)
        args = [event.get("args") or event.get("attr") or _NO_MEMBERS for event in dicts]
        args = _only(args, {dict}, _NO_MEMBERS)
        member = self._members(dicts, args, text, plain)
        phase = _letters([event.get("ph") for event in dicts])
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
                values = _only(values, types, None)
            member[row] = [numbers[value] for value in values]
        escaped = "\\" in text
        for row, key in enumerate(("device", "stream", "long_name"), 4):
            if f'"{key}"' not in text and not escaped:
                member[row] = -1
                continue
            values = _only([event_args.get(key) for event_args in args], _ARG_TYPES, None)
            member[row] = [numbers[value] for value in values]
        return member

    def _times(self, values: list[Any], text: str) -> tuple[Bools, Int64s, Int32s]:
        """(whether an event has a time, its whole µs, the rest in ps).

        Where a double does not hold every ps, the digits are taken from the text.
        """
        value, is_timed = _floats(values)
        is_timed &= np.abs(value) < _MAX_TS_US
        value[~is_timed] = 0
        whole_us = np.floor(value)
        us = whole_us.astype(np.int64)
        ps = np.rint((value - whole_us) * PS_PER_US).astype(np.int32)
        is_far = np.abs(value) > self._far
        if not is_far.any():
            return is_timed, us, ps
        if set(map(type, values)) == {int}:
            exact = [value if abs(value) < _MAX_INT_US else 0 for value in values]
            return is_timed, np.where(is_timed, np.array(exact, np.int64), us), ps
        digits = _TS.findall(text)
        if len(digits) != len(values):
            return is_timed & ~is_far, us, ps
        read_value, exact_us, exact_ps = _times_of_digits(digits)
        # The text may contain a "ts" that is not an event's: then the numbers differ.
        is_timed &= ~is_far | (read_value == value)
        us = np.where(is_far, exact_us, us)
        ps = np.where(is_far, exact_ps, ps).astype(np.int32)
        return is_timed, us, ps


def _event_borders(data: bytes, at: int) -> list[tuple[int, int]]:
    """Where events end and the next ones begin, in a piece that holds at least one such place.

    None where all of the data does not.
    """
    size = PIECE
    while True:
        borders = [border.span() for border in _EVENT_BORDER.finditer(data, at, at + size)]
        if borders or at + size >= len(data):
            return borders
        size *= 4


_NAME_TYPES: set[type] = {str, type(None)}
_PLACE_TYPES: set[type] = {str, int, float, bool, type(None)}
_ARG_TYPES: set[type] = {str, int, type(None)}
_NUMBER_TYPES: set[type] = {int, float}
_FLOWS = np.array([ord(phase) for phase in "stf"], np.uint8)


def _only(values: list[Any], types: set[type], default: Any) -> list[Any]:
    """The values, those of other types replaced; mostly there are none, and the list is returned.

    The set of types is found without a loop in Python.
    """
    if set(map(type, values)) <= types:
        return values
    return [value if type(value) in types else default for value in values]


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
                event = _decoder.raw_decode(text, start)[0]
            else:
                window = data[start : start + _EVENT_WINDOW_BYTES].decode("utf-8", "replace")
                event = _decoder.raw_decode(window)[0]
        except (ValueError, RecursionError):
            yield row, "", None
            continue
        args = args_in(event)
        for name in names if isinstance(args, dict) else ():
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
    begins, ends = [], []
    place, previous_end = base, 0
    for begin, end in zip(lo, hi, strict=True):
        place += len(text[previous_end:begin].encode())
        begins.append(place)
        place += len(text[begin:end].encode())
        ends.append(place)
        previous_end = end
    return begins, ends


def _times_of_digits(digits: list[tuple[str, str, str]]) -> tuple[Floats, Int64s, Int64s]:
    """(as a double, whole µs rounded down, the rest in ps) of each (sign, digits, decimals)."""
    values = []
    whole_us = []
    decimals_ps = []
    for sign, whole, decimals in digits:
        values.append(float(f"{sign}{whole}.{decimals}"))
        whole_us.append(int(whole))
        decimals_ps.append(int(decimals.ljust(6, "0")))
    is_negative = np.array([bool(sign) for sign, _, _ in digits])
    us = np.array(whole_us, np.int64)
    ps = np.array(decimals_ps, np.int64)
    has_decimals = ps > 0
    # Rounded down, −1.25 µs is −2 µs and 750,000 ps.
    floor_us = np.where(is_negative, -us - has_decimals, us)
    rest_ps = np.where(is_negative & has_decimals, PS_PER_US - ps, ps)
    return np.array(values, np.float64), floor_us, rest_ps


def _floats(values: list[Any]) -> tuple[Floats, Bools]:
    """(the numbers, which of the values are finite numbers).

    Texts and truth values are none: events with them are read one by one.
    """
    good = np.ones(len(values), np.bool_)
    if not set(map(type, values)) <= _NUMBER_TYPES:
        good = np.array([type(value) in _NUMBER_TYPES for value in values], np.bool_)
        values = _only(values, _NUMBER_TYPES, 0)
    try:
        numbers = np.array(values, np.float64)
    except OverflowError:  # an integer of hundreds of digits
        values = [value if abs(value) < _MAX_TS_US else np.nan for value in values]
        numbers = np.array(values, np.float64)
    good &= np.isfinite(numbers)
    numbers[~good] = 0.0
    return numbers, good


def _lengths(values: list[Any], good: Bools) -> Int64s:
    """Durations in ps, 0 for None; `good` becomes False where a value is no duration."""
    if not set(map(type, values)) <= _NUMBER_TYPES:
        values = [0 if value is None else value for value in values]
    duration_us, valid = _floats(values)
    valid &= np.abs(duration_us) <= _MAX_DURATION_US
    good &= valid
    duration_us[~valid] = 0.0
    whole_us = np.floor(duration_us)
    rest_ps = np.rint((duration_us - whole_us) * 1e6).astype(np.int64)
    length: Int64s = whole_us.astype(np.int64) * 1_000_000 + rest_ps
    return length


def _letters(phases: list[Any]) -> UInt8s:
    """The code of each phase's letter; 0 for a phase that is not one letter."""
    phases = _only(phases, {str}, "")
    codes = {
        phase: ord(phase) if len(phase) == 1 and phase.isascii() else 0 for phase in set(phases)
    }
    return np.array([codes[phase] for phase in phases], np.uint8)


def flow_binding(event: dict[str, Any]) -> tuple[int, int]:
    """(`id_number` of the flow that an event belongs to, `bind` of EventBatch)."""
    if "id" in event:
        key = event.get("id")
    else:
        key = event.get("bind_id")
    scoped = event.get("id2")
    if key is None and event.get("ph") != "X" and isinstance(scoped, dict):
        # A local id counts within its process.
        if "local" in scoped:
            pid = event.get("pid")
        else:
            pid = None
        key = json.dumps([pid, scoped], sort_keys=True)
    flags = 0
    if event.get("bp") == "e":
        flags |= ENCLOSING
    if event.get("flow_in") is True:
        flags |= FLOW_IN
    if event.get("flow_out") is True:
        flags |= FLOW_OUT
    if type(key) is not str and type(key) is not int:
        return 0, flags
    return id_number(key), flags | HAS_ID


def _ids(events: list[dict[str, Any]], flows: Bools) -> tuple[Int64s, UInt8s]:
    """(`id`, `bind`) of EventBatch, for the events that may belong to a flow."""
    ids = np.zeros(len(events), np.int64)
    bind = np.zeros(len(events), np.uint8)
    for row in np.flatnonzero(flows).tolist():
        ids[row], bind[row] = flow_binding(events[row])
    return ids, bind
