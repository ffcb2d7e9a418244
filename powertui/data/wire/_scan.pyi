from typing import TypeAlias

from _typeshed import ReadableBuffer, WriteableBuffer

from powertui.data.wire.types import RawStat

INTERFACE: int

_In: TypeAlias = ReadableBuffer
_Out: TypeAlias = WriteableBuffer

def hop(data: _In, lo: int, hi: int, skip: int, /) -> tuple[bytes, int, int]: ...
def pick(
    data: _In, lo: _In, hi: _In, tags: _In, present: _Out, value: _Out, end: _Out, /
) -> int: ...
def scan_events(
    data: _In,
    lo: int,
    hi: int,
    base: int,
    id: _Out,
    start: _Out,
    duration: _Out,
    position: _Out,
    at: int,
    limit: int,
    /,
) -> tuple[int, int, bytes, bytes, bytes, int, int]: ...
def stats(data: _In, lo: int, hi: int, field: int, /) -> list[RawStat]: ...
def event_stats(data: _In, position: int, /) -> list[RawStat]: ...
def scan_stats(
    data: _In, positions: _In, ids: _In, kind: _Out, bits: _Out, end: _Out, /
) -> None: ...
def put_numbers(
    kind: _In, bits: _In, rows: _In, present: _Out, ints: _Out, floats: _Out, /
) -> None: ...
def nest(start: _In, duration: _In, lanes: _Out, /) -> None: ...
def scan_lanes(
    data: _In, lo: int, hi: int, shift: int, base: int, earliest: int, latest: int, names: _In,
    state: _Out,
    lanes: _Out, start: _Out, duration: _Out, name: _Out, place: _Out,
    to_start: _Out, to_duration: _Out, to_name: _Out, to_place: _Out, /
) -> tuple[int, int]: ...  # fmt: skip
def move_lanes(
    lanes: _In, start: _In, duration: _In, name: _In, place: _In,
    cursor: _Out, to_start: _Out, to_duration: _Out, to_name: _Out, to_place: _Out, /
) -> None: ...  # fmt: skip
def blocks(duration: _In, sum: _Out, top: _Out, /) -> None: ...
def sums(duration: _In, before: _In, at: _In, sum: _Out, /) -> None: ...
def at_edges(
    start: _In,
    duration: _In,
    before: _In,
    guide: _In,
    lo: _In,
    hi: _In,
    edges: _In,
    at: _Out,
    over: _Out,
    length: _Out,
    passed: _Out,
    /,
) -> None: ...
def dominant(
    duration: _In,
    top: _In,
    table: _In,
    edges: _In,
    at: _In,
    over: _In,
    length: _In,
    dominant: _Out,
    /,
) -> None: ...
def rows_at(
    start: _In,
    duration: _In,
    before: _In,
    first: _In,
    last: _In,
    positions: _In,
    row: _Out,
    moment: _Out,
    /,
) -> None: ...
def ends(name: _In, first: _Out, last: _Out, /) -> None: ...
def ranks(ascending: _In, moments: _In, equal_too: bool, place: _Out, /) -> None: ...
def covered(start: _In, end: _In, before: _In, moments: _In, covered: _Out, /) -> None: ...
def united(start: _In, end: _In, empty_too: bool, /) -> tuple[bytes, bytes] | None: ...
def united_events(
    start: _In, duration: _In, chosen: _In, empty_too: bool, /
) -> tuple[bytes, bytes] | None: ...
def united_kinds(
    start: _In, duration: _In, code: _In, kinds: _In, /
) -> list[tuple[bytes, bytes] | None]: ...
def pass_on(
    start_above: _In,
    duration_above: _In,
    code_above: _In,
    start: _In,
    duration: _In,
    table: _In,
    code: _Out,
    /,
) -> None: ...
def add_events(
    name: _In,
    start: _In,
    duration: _In,
    start_below: _In,
    duration_below: _In,
    lo: int,
    hi: int,
    lowest: int,
    count: _Out,
    total: _Out,
    self_time: _Out,
    /,
) -> None: ...
def records(data: _In, lo: int, begin: _Out, end: _Out, good: _Out, /) -> tuple[int, int, int]: ...
