"""Files that are large in one respect: a million processes, a million empty packets, a name of 200
MB.

Each `Shape` writes itself at any size, so that one table serves the tests of growth (small sizes,
side by side) and the full size (`python -m tests.adversarial.size_traps`).
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Pieces = Iterator[bytes]
_LINES = 1 << 12  # texts joined into one piece: a write for each would dominate


@dataclass(frozen=True)
class Shape:
    """A file or folder of `count` of something.

    `full` is the size at which it did harm, or should do none.
    """

    name: str
    file_name: str
    pieces: Callable[[int], Pieces]
    full: int
    small: int = 2_000  # a size that a test reads within a second

    def write(self, folder: Path, count: int) -> Path:
        """The file with so many of them."""
        path = folder / self.file_name
        with path.open("wb") as file:
            file.writelines(self.pieces(count))
        return path


def _joined(texts: Iterator[str], between: str = ",") -> Pieces:
    """Texts with a separator, some thousand of them in a piece."""
    batch: list[str] = []
    begun = False
    for text in texts:
        batch.append(text)
        if len(batch) == _LINES:
            yield ((between if begun else "") + between.join(batch)).encode()
            batch, begun = [], True
    if batch:
        yield ((between if begun else "") + between.join(batch)).encode()


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────


def _chrome(event: Callable[[int], str], beside: str = "") -> Callable[[int], Pieces]:
    """A Chrome trace of these events; `beside` are members before the list."""

    def pieces(count: int) -> Pieces:
        yield b'{%s"traceEvents":[' % beside.encode()
        yield from _joined(event(i) for i in range(count))
        yield b"]}"

    return pieces


def _span(i: int, **members: object) -> str:
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1, "name": "op"} | members
    return json.dumps(event)


_TORCH = '"schemaVersion":1,"deviceProperties":[],'


def _nested(count: int) -> Pieces:
    yield (
        b'{"traceEvents":['
        + _span(0).encode()
        + b',{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"op","args":{"deep":'
    )
    yield b"[" * count
    yield b"]" * count
    yield b"}}]}"


def _nested_member(count: int) -> Pieces:
    yield (
        b'{"metadata":'
        + b"[" * count
        + b"]" * count
        + b',"traceEvents":['
        + _span(0).encode()
        + b"]}"
    )


def _long_name(count: int) -> Pieces:
    yield b'{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"'
    for _ in range(0, count, 1 << 20):
        yield b"n" * min(count, 1 << 20)
    yield b'"}]}'


def _blanks(count: int) -> Pieces:
    for lo in range(0, count, 1 << 20):
        yield b" " * min(count - lo, 1 << 20)


def _blank_inside(count: int) -> Pieces:
    yield b'{"traceEvents":['
    yield from _blanks(count)
    yield _span(0).encode() + b"]}"


def _one_event_of_keys(count: int) -> Pieces:
    yield b'{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"op","args":{'
    yield from _joined(f'"key{i}":{i}' for i in range(count))
    yield b"}}]}"


def _series(count: int) -> Pieces:
    yield b'{"traceEvents":[{"ph":"C","pid":1,"tid":1,"ts":1,"name":"memory","args":{'
    yield from _joined(f'"key{i}":{i}' for i in range(count))
    yield b"}}," + _span(1).encode() + b"]}"


def _members(count: int) -> Pieces:
    yield b"{"
    yield from _joined(f'"member{i}":{i}' for i in range(count))
    yield b',"traceEvents":[' + _span(1).encode() + b"]}"


def _digits(count: int) -> Pieces:
    yield b'{"traceEvents":[' + _span(0).encode() + b',{"ph":"X","pid":1,"tid":1,"ts":'
    yield b"7" * count
    yield b',"dur":1,"name":"op"}]}'


def _named_process(i: int) -> str:
    named = json.dumps(
        {"ph": "M", "pid": i, "tid": 1, "name": "process_name", "args": {"name": "python"}}
    )
    return f"{named},{_span(i, pid=i)}"


def _flow(i: int) -> str:
    begin = {"ph": "s", "pid": 1, "tid": 1, "ts": i, "id": i, "name": "flow", "cat": "f"}
    end = {
        "ph": "f",
        "bp": "e",
        "pid": 1,
        "tid": 1,
        "ts": i + 1,
        "id": i,
        "name": "flow",
        "cat": "f",
    }
    return f"{_span(i)},{json.dumps(begin)},{json.dumps(end)}"


def _asynchronous(i: int, **members: object) -> str:
    begin = {"ph": "b", "pid": 1, "tid": 1, "ts": i, "id": i, "name": "a", "cat": "c"} | members
    return f"{json.dumps(begin)},{json.dumps(begin | {'ph': 'e', 'ts': i + 1})}"


def _kernel(i: int, **args: object) -> str:
    return _span(i, cat="kernel", args={"device": 0, "stream": 7, "correlation": i} | args)


_CHROME = "host.trace.json"
_KINETO = "host.pt.trace.json"

JSON = (
    Shape("json: processes", _CHROME, _chrome(lambda i: _span(i, pid=i)), 1_000_000),
    Shape("json: threads", _CHROME, _chrome(lambda i: _span(i, tid=i)), 1_000_000),
    Shape(
        "json: processes named by text",
        _CHROME,
        _chrome(lambda i: _span(i, pid=f"p{i}")),
        1_000_000,
    ),
    Shape("json: processes of one name", _CHROME, _chrome(_named_process), 500_000),
    Shape("json: names", _CHROME, _chrome(lambda i: _span(i, name=f"op{i}")), 1_000_000),
    Shape("json: categories", _CHROME, _chrome(lambda i: _span(i, cat=f"cat{i}")), 1_000_000),
    Shape(
        "json: argument keys", _CHROME, _chrome(lambda i: _span(i, args={f"key{i}": i})), 1_000_000
    ),
    Shape(
        "json: long names in args",
        _CHROME,
        _chrome(lambda i: _span(i, args={"long_name": f"op{i}"})),
        1_000_000,
    ),
    Shape("json: keys of one event", _CHROME, _one_event_of_keys, 1_000_000),
    Shape("json: flows", _CHROME, _chrome(_flow), 500_000),
    Shape("json: asynchronous spans", _CHROME, _chrome(_asynchronous), 500_000),
    Shape(
        "json: asynchronous categories",
        _CHROME,
        _chrome(lambda i: _asynchronous(i, cat=f"c{i}")),
        300_000,
    ),
    Shape(
        "json: asynchronous begins",
        _CHROME,
        _chrome(lambda i: _asynchronous(i).partition("},{")[0] + "}"),
        500_000,
    ),
    Shape(
        "json: counters",
        _CHROME,
        _chrome(lambda i: f'{{"ph":"C","pid":1,"ts":{i},"name":"c{i}","args":{{"v":1}}}}'),
        300_000,
    ),
    Shape(
        "json: counters of processes",
        _CHROME,
        _chrome(lambda i: f'{{"ph":"C","pid":{i},"ts":{i},"name":"c","args":{{"v":1}}}}'),
        300_000,
    ),
    Shape("json: series of one counter", _CHROME, _series, 500_000),
    Shape(
        "json: nested begins",
        _CHROME,
        _chrome(lambda i: f'{{"ph":"B","pid":1,"tid":1,"ts":{i},"name":"b"}}'),
        1_000_000,
    ),
    Shape(
        "json: stray ends",
        _CHROME,
        _chrome(lambda i: f'{{"ph":"E","pid":1,"tid":{i},"ts":{i}}}'),
        1_000_000,
    ),
    Shape(
        "json: overlapping spans", _CHROME, _chrome(lambda i: _span(i, dur=10_000_000)), 1_000_000
    ),
    Shape("json: unknown phases", _CHROME, _chrome(lambda i: '{"ph":"?"}'), 2_000_000),
    Shape("json: empty items", _CHROME, _chrome(lambda i: "{}"), 5_000_000),
    Shape("json: numbers as items", _CHROME, _chrome(lambda i: "0"), 5_000_000),
    Shape("json: damaged items", _CHROME, _chrome(lambda i: '{"ph"}'), 1_000_000),
    Shape("json: members", _CHROME, _members, 1_000_000),
    Shape("json: nested arguments", _CHROME, _nested, 1_000_000),
    Shape("json: nested member", _CHROME, _nested_member, 1_000_000),
    Shape("json: one name", _CHROME, _long_name, 200 << 20, small=1 << 20),
    Shape("json: digits of one number", _CHROME, _digits, 10_000_000),
    Shape("json: blanks alone", _CHROME, _blanks, 1 << 30, small=1 << 20),
    Shape("json: blanks before the events", _CHROME, _blank_inside, 200 << 20, small=1 << 20),
    Shape(
        "kineto: processes",
        _KINETO,
        _chrome(lambda i: _span(i, pid=i, cat="cpu_op"), _TORCH),
        1_000_000,
    ),
    Shape(
        "kineto: threads",
        _KINETO,
        _chrome(lambda i: _span(i, tid=i, cat="cpu_op"), _TORCH),
        1_000_000,
    ),
    Shape("kineto: devices", _KINETO, _chrome(lambda i: _kernel(i, device=i), _TORCH), 500_000),
    Shape("kineto: streams", _KINETO, _chrome(lambda i: _kernel(i, stream=i), _TORCH), 500_000),
    Shape(
        "kineto: names",
        _KINETO,
        _chrome(lambda i: _span(i, name=f"aten::op{i}", cat="cpu_op"), _TORCH),
        1_000_000,
    ),
    Shape(
        "kineto: categories", _KINETO, _chrome(lambda i: _span(i, cat=f"cat{i}"), _TORCH), 1_000_000
    ),
    Shape("kineto: nested arguments", _KINETO, _nested, 1_000_000),
)


# ── protobuf ─────────────────────────────────────────────────────────────────────────────────────


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _each(
    make: Callable[[int], bytes], before: bytes = b"", after: bytes = b""
) -> Callable[[int], Pieces]:
    """So many messages after one another."""

    def pieces(count: int) -> Pieces:
        yield before
        for lo in range(0, count, _LINES):
            yield b"".join(make(i) for i in range(lo, min(lo + _LINES, count)))
        yield after

    return pieces


def _packet(content: bytes) -> bytes:
    return _bytes(1, content)


def _track(uuid: int, *content: bytes) -> bytes:
    return _packet(_bytes(60, _number(1, uuid) + b"".join(content)))


def _slice(i: int, *event: bytes, uuid: int = 1, sequence: int = 1) -> bytes:
    return _packet(
        _number(8, i)
        + _number(10, sequence)
        + _bytes(11, _number(9, 3) + _number(11, uuid) + b"".join(event))
    )


_EVENT = _packet(_number(8, 1) + _number(10, 1) + _bytes(11, _number(9, 3) + _bytes(23, b"op")))
_PFTRACE = "host.pftrace"


def _unpacked(count: int) -> Pieces:
    """Packets that hold a packed one each."""
    packed = zlib.compress(_EVENT)
    yield from _each(lambda i: _packet(_bytes(50, packed)))(count)


def _nest_of_packed(count: int) -> Pieces:
    """A packed packet in a packed packet, and so on."""
    content = _EVENT
    for _ in range(count):
        content = _packet(_bytes(50, zlib.compress(content, 0)))
    yield content


def _bomb(count: int) -> Pieces:
    """One packet that unpacks to this many empty ones."""
    yield _packet(_bytes(50, zlib.compress(b"\x0a\x00" * count)))


def _interned_at_once(count: int) -> Pieces:
    names = b"".join(_bytes(2, _number(1, i + 1) + _bytes(2, b"n%d" % i)) for i in range(count))
    yield _packet(_number(10, 1) + _bytes(12, names)) + _EVENT


def _clock(i: int) -> bytes:
    clocks = _bytes(1, _number(1, 6) + _number(2, i)) + _bytes(
        1, _number(1, 1) + _number(2, 10**18 + i)
    )
    return _packet(_bytes(6, clocks)) + _EVENT


def _own_clock(i: int) -> bytes:
    """Each event on a sequence and a clock of its own."""
    return _packet(
        _number(8, i)
        + _number(58, 64)
        + _number(10, i)
        + _bytes(11, _number(9, 3) + _bytes(23, b"op"))
    )


def _clock_of_event(i: int) -> bytes:
    return _packet(
        _number(8, i)
        + _number(58, i)
        + _number(10, 1)
        + _bytes(11, _number(9, 3) + _bytes(23, b"op"))
    )


def _counter_track(i: int) -> bytes:
    reading = _packet(
        _number(8, i)
        + _number(10, 1)
        + _bytes(11, _number(9, 4) + _number(11, i + 1) + _number(30, i))
    )
    return _track(i + 1, _bytes(2, b"c%d" % i), _bytes(8, b"")) + reading


def _process_track(i: int) -> bytes:
    return _track(i + 1, _bytes(3, _number(1, i + 1) + _bytes(6, b"python"))) + _slice(
        i, uuid=i + 1
    )


def _rail(i: int) -> bytes:
    rail = _bytes(1, _number(1, i) + _bytes(2, b"rail%d" % i))
    return _packet(
        _number(8, i)
        + _bytes(40, rail + _bytes(2, _number(1, i) + _number(2, i + 1) + _number(3, i)))
    )


PERFETTO = (
    Shape(
        "perfetto: empty packets", _PFTRACE, _each(lambda i: b"\x0a\x00"), 64 << 20, small=1 << 16
    ),
    Shape(
        "perfetto: empty packets after an event",
        _PFTRACE,
        _each(lambda i: b"\x0a\x00", _EVENT),
        64 << 20,
        small=1 << 16,
    ),
    Shape("perfetto: tracks", _PFTRACE, _each(lambda i: _slice(i, uuid=i + 1)), 1_000_000),
    Shape(
        "perfetto: described tracks",
        _PFTRACE,
        _each(lambda i: _track(i + 1, _bytes(2, b"t%d" % i)) + _slice(i, uuid=i + 1)),
        300_000,
    ),
    Shape(
        "perfetto: tracks that nobody uses",
        _PFTRACE,
        _each(lambda i: _track(i + 1, _bytes(2, b"t%d" % i)), _EVENT),
        500_000,
    ),
    Shape(
        "perfetto: chain of tracks",
        _PFTRACE,
        _each(lambda i: _track(i + 2, _number(5, i + 1)) + _slice(i, uuid=i + 2)),
        300_000,
    ),
    Shape("perfetto: processes of one name", _PFTRACE, _each(_process_track), 300_000),
    Shape("perfetto: sequences", _PFTRACE, _each(lambda i: _slice(i, sequence=i + 1)), 1_000_000),
    Shape(
        "perfetto: names", _PFTRACE, _each(lambda i: _slice(i, _bytes(23, b"op%d" % i))), 1_000_000
    ),
    Shape(
        "perfetto: interned names",
        _PFTRACE,
        _each(
            lambda i: _packet(
                _number(10, 1) + _bytes(12, _bytes(2, _number(1, i + 1) + _bytes(2, b"n")))
            ),
            _EVENT,
        ),
        500_000,
    ),
    Shape("perfetto: interned names of one packet", _PFTRACE, _interned_at_once, 1_000_000),
    Shape("perfetto: clock snapshots", _PFTRACE, _each(_clock), 300_000),
    Shape("perfetto: clocks", _PFTRACE, _each(_clock_of_event), 300_000),
    Shape("perfetto: clocks of sequences", _PFTRACE, _each(_own_clock), 300_000),
    Shape("perfetto: counters", _PFTRACE, _each(_counter_track), 300_000),
    Shape("perfetto: rails", _PFTRACE, _each(_rail), 300_000),
    Shape(
        "perfetto: flows",
        _PFTRACE,
        _each(lambda i: _slice(i, _varint(47 << 3 | 1) + struct.pack("<Q", i // 2))),
        500_000,
    ),
    Shape("perfetto: packed packets", _PFTRACE, _unpacked, 1_000_000),
    Shape("perfetto: nest of packed packets", _PFTRACE, _nest_of_packed, 1_000, small=50),
    Shape("perfetto: a packet that unpacks to a million", _PFTRACE, _bomb, 64 << 20, small=1 << 16),
)


def _plane(name: bytes, *content: bytes) -> bytes:
    return _bytes(1, _bytes(2, name) + b"".join(content))


def _line(i: int, *events: bytes) -> bytes:
    return _bytes(
        3,
        _number(1, i)
        + _bytes(2, b"line%d" % i)
        + _number(3, 1)
        + b"".join(_bytes(4, event) for event in events),
    )


def _metadata(field: int, i: int, name: bytes) -> bytes:
    return _bytes(field, _number(1, i) + _bytes(2, _number(1, i) + _bytes(2, name)))


_XEVENT = _number(1, 1) + _number(2, 1_000) + _number(3, 1_000)
_XPLANE = "host.xplane.pb"


def _one_plane(make: Callable[[int], bytes]) -> Callable[[int], Pieces]:
    """A plane with so many of something, and one event."""

    def pieces(count: int) -> Pieces:
        yield _plane(
            b"/host:CPU",
            _metadata(4, 1, b"op"),
            _line(1, _XEVENT),
            *(make(i) for i in range(2, count + 2)),
        )

    return pieces


def _stats_of_one_event(count: int) -> Pieces:
    stats = b"".join(_bytes(4, _number(1, i + 1) + _number(4, i)) for i in range(count))
    yield _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT + stats))


def _events_of_one_line(count: int) -> Pieces:
    yield _plane(
        b"/host:CPU",
        _metadata(4, 1, b"op"),
        _line(1, *(_number(1, i) + _number(2, i) for i in range(count))),
    )


XPLANE = (
    Shape(
        "xplane: planes",
        _XPLANE,
        _each(lambda i: _plane(b"/host:%d" % i, _metadata(4, 1, b"op"), _line(1, _XEVENT))),
        300_000,
    ),
    Shape(
        "xplane: devices",
        _XPLANE,
        _each(lambda i: _plane(b"/device:GPU:%d" % i, _metadata(4, 1, b"op"), _line(1, _XEVENT))),
        300_000,
    ),
    Shape(
        "xplane: planes of one name",
        _XPLANE,
        _each(lambda i: _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT))),
        300_000,
    ),
    Shape(
        "xplane: empty planes",
        _XPLANE,
        _each(
            lambda i: b"\x0a\x00", _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT))
        ),
        16 << 20,
    ),
    Shape("xplane: lines", _XPLANE, _one_plane(lambda i: _line(i, _XEVENT)), 500_000),
    Shape("xplane: empty lines", _XPLANE, _one_plane(lambda i: b"\x1a\x00"), 16 << 20),
    Shape(
        "xplane: event metadata",
        _XPLANE,
        _one_plane(lambda i: _metadata(4, i, b"op%d" % i)),
        1_000_000,
    ),
    Shape(
        "xplane: stat metadata",
        _XPLANE,
        _one_plane(lambda i: _metadata(5, i, b"stat%d" % i)),
        1_000_000,
    ),
    Shape(
        "xplane: stats of a plane",
        _XPLANE,
        _one_plane(lambda i: _bytes(6, _number(1, i) + _number(4, i))),
        1_000_000,
    ),
    Shape("xplane: stats of one event", _XPLANE, _stats_of_one_event, 1_000_000),
    Shape("xplane: events of unknown names", _XPLANE, _events_of_one_line, 1_000_000),
    Shape(
        "xplane: errors",
        _XPLANE,
        _each(
            lambda i: _bytes(2, b"error %d" % i),
            _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT)),
        ),
        1_000_000,
    ),
    Shape(
        "xplane: host names",
        _XPLANE,
        _each(
            lambda i: _bytes(4, b"host%d" % i),
            _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT)),
        ),
        1_000_000,
    ),
)


# ── tfevents ─────────────────────────────────────────────────────────────────────────────────────


def _records(contents: Iterator[bytes]) -> Pieces:
    """TFRecords with these contents. Checksums are made for thousands at once."""
    from powertui.data.wire import crc32c

    while batch := list(itertools.islice(contents, _LINES)):
        lengths = [struct.pack("<Q", len(content)) for content in batch]
        data = b"".join((*lengths, *batch))
        sizes = [8] * len(batch) + [len(content) for content in batch]
        starts = [0, *itertools.accumulate(sizes)][:-1]
        sums = crc32c.masked(crc32c.crc32c(data, starts, sizes)).tolist()
        yield b"".join(
            length + struct.pack("<I", head) + content + struct.pack("<I", tail)
            for length, content, head, tail in zip(
                lengths, batch, sums, sums[len(batch) :], strict=False
            )
        )


def _scalar(i: int, tag: bytes) -> bytes:
    value = _bytes(1, tag) + _varint(2 << 3 | 5) + struct.pack("<f", 1.0)
    return b"\x09" + struct.pack("<d", 1.7e9 + i) + _number(2, i) + _bytes(5, _bytes(1, value))


def _values_of_one_record(count: int) -> Pieces:
    values = b"".join(
        _bytes(1, _bytes(1, b"t%d" % i) + _varint(2 << 3 | 5) + struct.pack("<f", 1.0))
        for i in range(count)
    )
    yield from _records(
        iter((_VERSION, b"\x09" + struct.pack("<d", 1.7e9) + _number(2, 1) + _bytes(5, values)))
    )


_TFEVENTS = "events.out.tfevents.1700000000.host"
_VERSION = b"\x09" + struct.pack("<d", 1.7e9) + _bytes(3, b"brain.Event:2")


def _log(content: Callable[[int], bytes]) -> Callable[[int], Pieces]:
    return lambda count: _records(itertools.chain((_VERSION,), (content(i) for i in range(count))))


TFEVENTS = (
    Shape("tfevents: tags", _TFEVENTS, _log(lambda i: _scalar(i, b"t%d" % i)), 500_000),
    Shape("tfevents: values of one tag", _TFEVENTS, _log(lambda i: _scalar(i, b"loss")), 1_000_000),
    Shape("tfevents: empty records", _TFEVENTS, _log(lambda i: b""), 1_000_000),
    Shape("tfevents: tags of one record", _TFEVENTS, _values_of_one_record, 500_000),
)


# ── rocprof and tf_trace ─────────────────────────────────────────────────────────────────────────

_ROCPROF_HEAD = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)


def _dispatches(row: Callable[[int], tuple[str, int, str]]) -> Callable[[int], Pieces]:
    """rocprofv3's table: (agent, queue, kernel) of each dispatch."""

    def text(i: int) -> str:
        agent, queue, kernel = row(i)
        return f'"KERNEL_DISPATCH","{agent}",{queue},0,1,{i},1,"{kernel}",{i},{1000 + i},{1001 + i},0,0,0,0,0,1,1,1,1,1,1'

    def pieces(count: int) -> Pieces:
        yield _ROCPROF_HEAD.encode()
        yield from _joined((text(i) for i in range(count)), "\n")
        yield b"\n"

    return pieces


ROCPROF = (
    Shape(
        "rocprof: agents",
        "1_kernel_trace.csv",
        _dispatches(lambda i: (f"Agent {i}", 1, "k")),
        300_000,
    ),
    Shape(
        "rocprof: queues", "1_kernel_trace.csv", _dispatches(lambda i: ("Agent 4", i, "k")), 300_000
    ),
    Shape(
        "rocprof: kernels",
        "1_kernel_trace.csv",
        _dispatches(lambda i: ("Agent 4", 1, f"k{i}")),
        300_000,
    ),
)

_TF_DEVICE = _bytes(1, _number(1, 1) + _bytes(2, _bytes(1, b"host") + _number(2, 1)))


def _tf_event(i: int, device: int = 1, resource: int = 1, name: bytes = b"op") -> bytes:
    return _bytes(
        4,
        _number(1, device)
        + _number(2, resource)
        + _bytes(3, name)
        + _number(9, i)
        + _number(10, 1),
    )


def _tf_device(i: int) -> bytes:
    return _bytes(1, _number(1, i) + _bytes(2, _bytes(1, b"d%d" % i) + _number(2, i))) + _tf_event(
        i, device=i
    )


TF_TRACE = (
    Shape("tf_trace: devices", "host.trace", _each(_tf_device), 300_000),
    Shape(
        "tf_trace: resources",
        "host.trace",
        _each(lambda i: _tf_event(i, resource=i), _TF_DEVICE),
        300_000,
    ),
    Shape(
        "tf_trace: names",
        "host.trace",
        _each(lambda i: _tf_event(i, name=b"op%d" % i), _TF_DEVICE),
        500_000,
    ),
)


# ── power logs ───────────────────────────────────────────────────────────────────────────────────


def _table(
    head: Callable[[int], str], row: Callable[[int, int], str], rows: Callable[[int], int]
) -> Callable[[int], Pieces]:
    def pieces(count: int) -> Pieces:
        yield head(count).encode() + b"\n"
        yield from _joined((row(count, i) for i in range(rows(count))), "\n")
        yield b"\n"

    return pieces


def _columns(count: int) -> str:
    return "time," + ",".join(f"gpu{i}_power_w" for i in range(count))


def _stamp(i: int) -> str:
    return f"{1_700_000_000 + i}"


_CSV = "power.csv"
POWER = (
    Shape(
        "power: columns",
        _CSV,
        _table(_columns, lambda n, i: f"{_stamp(i)}" + ",100" * n, lambda n: 3),
        100_000,
    ),
    Shape(
        "power: devices",
        _CSV,
        _table(lambda n: "time,gpu,power_w", lambda n, i: f"{_stamp(i)},{i},100", lambda n: n),
        1_000_000,
    ),
    Shape(
        "power: devices with three readings",
        _CSV,
        _table(
            lambda n: "time,gpu,power_w",
            lambda n, i: f"{_stamp(i * 3 // n)},{i % (n // 3)},100",
            lambda n: n,
        ),
        300_000,
    ),
    Shape(
        "power: hosts",
        _CSV,
        _table(lambda n: "time,host,power_w", lambda n, i: f"{_stamp(i)},h{i},100", lambda n: n),
        1_000_000,
    ),
    Shape(
        "power: one line",
        _CSV,
        lambda n: iter([b"time,power_w\n", b"1" * n, b"\n"]),
        200 << 20,
        small=1 << 20,
    ),
    Shape(
        "power: one line of commas",
        _CSV,
        lambda n: iter([b"time,power_w\n", b"," * n, b"\n"]),
        64 << 20,
        small=1 << 16,
    ),
    Shape(
        "power: head of commas",
        _CSV,
        lambda n: iter([b"time,power_w", b"," * n, b"\n1,2\n2,3\n"]),
        64 << 20,
        small=1 << 16,
    ),
    Shape("power: blanks alone", _CSV, _blanks, 1 << 30, small=1 << 20),
    Shape(
        "power: empty lines",
        _CSV,
        lambda n: iter([b"time,power_w\n1,2\n", b"\n" * n, b"2,3\n"]),
        200 << 20,
        small=1 << 16,
    ),
    Shape(
        "power: empty lines before the head",
        _CSV,
        lambda n: iter([b"\n" * n, b"time,power_w\n1,2\n2,3\n"]),
        200 << 20,
        small=1 << 16,
    ),
    Shape(
        "power: titles",
        _CSV,
        _table(
            lambda n: "time,power_w", lambda n, i: f"{_stamp(i)},100\ntime,power_w", lambda n: n
        ),
        500_000,
    ),
    Shape(
        "power: titles that change",
        _CSV,
        _table(
            lambda n: "time,power_w", lambda n, i: f"{_stamp(i)},100\ntime,power{i}_w", lambda n: n
        ),
        300_000,
    ),
    Shape(
        "power: units",
        _CSV,
        _table(lambda n: "time,power_w", lambda n, i: f"{_stamp(i)},100 W{i}", lambda n: n),
        500_000,
    ),
    Shape(
        "power: notes",
        _CSV,
        _table(lambda n: "# note", lambda n, i: f"# note {i}: {i}", lambda n: n),
        1_000_000,
    ),
    Shape(
        "power: prometheus series",
        "power.prom",
        _table(
            lambda n: "# TYPE DCGM_FI_DEV_POWER_USAGE gauge",
            lambda n, i: f'DCGM_FI_DEV_POWER_USAGE{{gpu="{i}"}} 100 1700000000000',
            lambda n: n,
        ),
        300_000,
    ),
    Shape(
        "power: influx series",
        "power.lp",
        _table(
            lambda n: "",
            lambda n, i: f"power,host=h{i} watts=100 {1_700_000_000 + i}000000000",
            lambda n: n,
        ),
        300_000,
    ),
    Shape(
        "power: JSON lines of keys",
        "power.jsonl",
        _table(
            lambda n: '{"time":1700000000,"power_w":100}',
            lambda n, i: f'{{"time":{_stamp(i)},"gpu{i}_power_w":100}}',
            lambda n: n,
        ),
        100_000,
    ),
    Shape("power: JSON nest", "power.json", lambda n: iter([b"[" * n, b"]" * n]), 1_000_000),
    Shape(
        "power: JSON objects",
        "power.json",
        _table(
            lambda n: "[",
            lambda n, i: f'{{"time":{_stamp(i)},"power_w":100}}' + ("," if i + 1 < n else "]"),
            lambda n: n,
        ),
        500_000,
    ),
)


# ── packed ───────────────────────────────────────────────────────────────────────────────────────


def _members_of_gzip(count: int) -> Pieces:
    member = gzip.compress(b"", mtime=0)
    for lo in range(0, count, _LINES):
        yield member * min(_LINES, count - lo)


def _members_before(count: int) -> Pieces:
    yield from _members_of_gzip(count)
    yield gzip.compress(b'{"traceEvents":[' + _span(0).encode() + b"]}", mtime=0)


def _members_of_a_byte(count: int) -> Pieces:
    """A trace each of whose bytes, blanks most of them, is a member of its own."""
    yield gzip.compress(b'{"traceEvents":[', mtime=0)
    blank = gzip.compress(b" ", mtime=0)
    for lo in range(0, count, _LINES):
        yield blank * min(_LINES, count - lo)
    yield gzip.compress(_span(0).encode() + b"]}", mtime=0)


def _packed(content: Callable[[int], Pieces]) -> Callable[[int], Pieces]:
    def pieces(count: int) -> Pieces:
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as file:
            for piece in content(count):
                file.write(piece)
                yield out.getvalue()
                out.seek(0)
                out.truncate()
        yield out.getvalue()

    return pieces


def _nest_of_gzip(count: int) -> Pieces:
    content = b'{"traceEvents":[' + _span(0).encode() + b"]}"
    for _ in range(count):
        content = gzip.compress(content, mtime=0)
    yield content


PACKED = (
    Shape("gzip: empty members", _CHROME + ".gz", _members_of_gzip, 2_000_000),
    Shape("gzip: empty members before a trace", _CHROME + ".gz", _members_before, 2_000_000),
    Shape("gzip: members of a byte", _CHROME + ".gz", _members_of_a_byte, 2_000_000),
    Shape("gzip: empty members, power", "power.csv.gz", _members_of_gzip, 2_000_000),
    Shape("gzip: empty members, xplane", "host.xplane.pb.gz", _members_of_gzip, 2_000_000),
    Shape("gzip: empty members, tfevents", _TFEVENTS + ".gz", _members_of_gzip, 2_000_000),
    Shape("gzip: blanks", _CHROME + ".gz", _packed(_blanks), 1 << 30, small=1 << 20),
    Shape(
        "gzip: zeros",
        "host.xplane.pb.gz",
        _packed(lambda n: iter([bytes(min(n, 1 << 20))] * max(1, n >> 20))),
        1 << 30,
        small=1 << 20,
    ),
    Shape("gzip: blanks, power", "power.csv.gz", _packed(_blanks), 1 << 30, small=1 << 20),
    Shape("gzip: nest", _CHROME + ".gz", _nest_of_gzip, 1_000, small=50),
)


# ── folders ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class FolderShape(Shape):
    """A folder. `pieces` is not used: `make` fills it."""

    make: Callable[[Path, int], None] = lambda folder, count: None

    def write(self, folder: Path, count: int) -> Path:
        root = folder / self.file_name
        root.mkdir()
        self.make(root, count)
        return root


_TRACE = b'{"traceEvents":[' + _span(0).encode() + b"]}"


def _files(root: Path, count: int) -> None:
    for i in range(count):
        (root / f"note{i}.csv").write_bytes(b"a,b\n1,2\n")


def _runs(root: Path, count: int) -> None:
    for i in range(count):
        run = root / "plugins" / "profile" / f"run{i}"
        run.mkdir(parents=True)
        (run / _CHROME).write_bytes(_TRACE)


def _levels(root: Path, count: int) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(count):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def _links(target: str) -> Callable[[Path, int], None]:
    def make(root: Path, count: int) -> None:
        (root / _CHROME).write_bytes(_TRACE)
        for i in range(count):
            (root / f"link{i}").symlink_to(target)

    return make


def _two_ways(root: Path, count: int) -> None:
    """Two links in each folder that lead to the next: 2 to the power of `count` paths."""
    (root / _CHROME).write_bytes(_TRACE)
    for i in range(count):
        (root / f"f{i}").mkdir()
        (root / f"f{i}" / "a").symlink_to(root / f"f{i + 1}")
        (root / f"f{i}" / "b").symlink_to(root / f"f{i + 1}")


def _broken(root: Path, count: int) -> None:
    (root / _CHROME).write_bytes(_TRACE)
    for i in range(count):
        (root / f"link{i}.trace.json").symlink_to(root / "gone")


FOLDERS = (
    FolderShape("folder: files", "logs", _blanks, 200_000, make=_files),
    FolderShape("folder: runs", "logs", _blanks, 5_000, make=_runs),
    FolderShape("folder: levels", "logs", _blanks, 5_000, make=_levels),
    FolderShape("folder: links to /", "logs", _blanks, 10, make=_links("/")),
    FolderShape("folder: links to itself", "logs", _blanks, 10_000, make=_links(".")),
    FolderShape("folder: links to /proc", "logs", _blanks, 10, make=_links("/proc")),
    FolderShape("folder: links two ways", "logs", _blanks, 1_000, make=_two_ways),
    FolderShape("folder: links that lead nowhere", "logs", _blanks, 20_000, make=_broken),
)

ALL: tuple[Shape, ...] = (
    *JSON,
    *PERFETTO,
    *XPLANE,
    *TFEVENTS,
    *ROCPROF,
    *TF_TRACE,
    *POWER,
    *PACKED,
    *FOLDERS,
)
