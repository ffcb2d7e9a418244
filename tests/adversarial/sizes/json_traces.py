"""JSON traces that are large in one respect."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.adversarial.sizes.shapes import Pieces, Shape, joined


def _chrome(event: Callable[[int], str], beside: str = "") -> Callable[[int], Pieces]:
    """A Chrome trace of these events; `beside` are members before the list."""

    def pieces(count: int) -> Pieces:
        yield b'{%s"traceEvents":[' % beside.encode()
        yield from joined(event(i) for i in range(count))
        yield b"]}"

    return pieces


def span(i: int, **members: object) -> str:
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1, "name": "op"} | members
    return json.dumps(event)


_TORCH = '"schemaVersion":1,"deviceProperties":[],'


def _nested(count: int) -> Pieces:
    yield (
        b'{"traceEvents":['
        + span(0).encode()
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
        + span(0).encode()
        + b"]}"
    )


def _long_name(count: int) -> Pieces:
    yield b'{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"'
    for _ in range(0, count, 1 << 20):
        yield b"n" * min(count, 1 << 20)
    yield b'"}]}'


def blanks(count: int) -> Pieces:
    for lo in range(0, count, 1 << 20):
        yield b" " * min(count - lo, 1 << 20)


def _blank_inside(count: int) -> Pieces:
    yield b'{"traceEvents":['
    yield from blanks(count)
    yield span(0).encode() + b"]}"


def _one_event_of_keys(count: int) -> Pieces:
    yield b'{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"op","args":{'
    yield from joined(f'"key{i}":{i}' for i in range(count))
    yield b"}}]}"


def _series(count: int) -> Pieces:
    yield b'{"traceEvents":[{"ph":"C","pid":1,"tid":1,"ts":1,"name":"memory","args":{'
    yield from joined(f'"key{i}":{i}' for i in range(count))
    yield b"}}," + span(1).encode() + b"]}"


def _members(count: int) -> Pieces:
    yield b"{"
    yield from joined(f'"member{i}":{i}' for i in range(count))
    yield b',"traceEvents":[' + span(1).encode() + b"]}"


def _digits(count: int) -> Pieces:
    yield b'{"traceEvents":[' + span(0).encode() + b',{"ph":"X","pid":1,"tid":1,"ts":'
    yield b"7" * count
    yield b',"dur":1,"name":"op"}]}'


def _named_process(i: int) -> str:
    named = json.dumps(
        {"ph": "M", "pid": i, "tid": 1, "name": "process_name", "args": {"name": "python"}}
    )
    return f"{named},{span(i, pid=i)}"


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
    return f"{span(i)},{json.dumps(begin)},{json.dumps(end)}"


def _asynchronous(i: int, **members: object) -> str:
    begin = {"ph": "b", "pid": 1, "tid": 1, "ts": i, "id": i, "name": "a", "cat": "c"} | members
    return f"{json.dumps(begin)},{json.dumps(begin | {'ph': 'e', 'ts': i + 1})}"


def _kernel(i: int, **args: object) -> str:
    return span(i, cat="kernel", args={"device": 0, "stream": 7, "correlation": i} | args)


CHROME_NAME = "host.trace.json"
_KINETO = "host.pt.trace.json"

JSON = (
    Shape("json: processes", CHROME_NAME, _chrome(lambda i: span(i, pid=i)), 1_000_000),
    Shape("json: threads", CHROME_NAME, _chrome(lambda i: span(i, tid=i)), 1_000_000),
    Shape(
        "json: processes named by text",
        CHROME_NAME,
        _chrome(lambda i: span(i, pid=f"p{i}")),
        1_000_000,
    ),
    Shape("json: processes of one name", CHROME_NAME, _chrome(_named_process), 500_000),
    Shape("json: names", CHROME_NAME, _chrome(lambda i: span(i, name=f"op{i}")), 1_000_000),
    Shape("json: categories", CHROME_NAME, _chrome(lambda i: span(i, cat=f"cat{i}")), 1_000_000),
    Shape(
        "json: argument keys",
        CHROME_NAME,
        _chrome(lambda i: span(i, args={f"key{i}": i})),
        1_000_000,
    ),
    Shape(
        "json: long names in args",
        CHROME_NAME,
        _chrome(lambda i: span(i, args={"long_name": f"op{i}"})),
        1_000_000,
    ),
    Shape("json: keys of one event", CHROME_NAME, _one_event_of_keys, 1_000_000),
    Shape("json: flows", CHROME_NAME, _chrome(_flow), 500_000),
    Shape("json: asynchronous spans", CHROME_NAME, _chrome(_asynchronous), 500_000),
    Shape(
        "json: asynchronous categories",
        CHROME_NAME,
        _chrome(lambda i: _asynchronous(i, cat=f"c{i}")),
        300_000,
    ),
    Shape(
        "json: asynchronous begins",
        CHROME_NAME,
        _chrome(lambda i: _asynchronous(i).partition("},{")[0] + "}"),
        500_000,
    ),
    Shape(
        "json: counters",
        CHROME_NAME,
        _chrome(lambda i: f'{{"ph":"C","pid":1,"ts":{i},"name":"c{i}","args":{{"v":1}}}}'),
        300_000,
    ),
    Shape(
        "json: counters of processes",
        CHROME_NAME,
        _chrome(lambda i: f'{{"ph":"C","pid":{i},"ts":{i},"name":"c","args":{{"v":1}}}}'),
        300_000,
    ),
    Shape("json: series of one counter", CHROME_NAME, _series, 500_000),
    Shape(
        "json: nested begins",
        CHROME_NAME,
        _chrome(lambda i: f'{{"ph":"B","pid":1,"tid":1,"ts":{i},"name":"b"}}'),
        1_000_000,
    ),
    Shape(
        "json: stray ends",
        CHROME_NAME,
        _chrome(lambda i: f'{{"ph":"E","pid":1,"tid":{i},"ts":{i}}}'),
        1_000_000,
    ),
    Shape(
        "json: overlapping spans",
        CHROME_NAME,
        _chrome(lambda i: span(i, dur=10_000_000)),
        1_000_000,
    ),
    Shape("json: unknown phases", CHROME_NAME, _chrome(lambda i: '{"ph":"?"}'), 2_000_000),
    Shape("json: empty items", CHROME_NAME, _chrome(lambda i: "{}"), 5_000_000),
    Shape("json: numbers as items", CHROME_NAME, _chrome(lambda i: "0"), 5_000_000),
    Shape("json: damaged items", CHROME_NAME, _chrome(lambda i: '{"ph"}'), 1_000_000),
    Shape("json: members", CHROME_NAME, _members, 1_000_000),
    Shape("json: nested arguments", CHROME_NAME, _nested, 1_000_000),
    Shape("json: nested member", CHROME_NAME, _nested_member, 1_000_000),
    Shape("json: one name", CHROME_NAME, _long_name, 200 << 20, small=1 << 20),
    Shape("json: digits of one number", CHROME_NAME, _digits, 10_000_000),
    Shape("json: blanks alone", CHROME_NAME, blanks, 1 << 30, small=1 << 20),
    Shape("json: blanks before the events", CHROME_NAME, _blank_inside, 200 << 20, small=1 << 20),
    Shape(
        "kineto: processes",
        _KINETO,
        _chrome(lambda i: span(i, pid=i, cat="cpu_op"), _TORCH),
        1_000_000,
    ),
    Shape(
        "kineto: threads",
        _KINETO,
        _chrome(lambda i: span(i, tid=i, cat="cpu_op"), _TORCH),
        1_000_000,
    ),
    Shape("kineto: devices", _KINETO, _chrome(lambda i: _kernel(i, device=i), _TORCH), 500_000),
    Shape("kineto: streams", _KINETO, _chrome(lambda i: _kernel(i, stream=i), _TORCH), 500_000),
    Shape(
        "kineto: names",
        _KINETO,
        _chrome(lambda i: span(i, name=f"aten::op{i}", cat="cpu_op"), _TORCH),
        1_000_000,
    ),
    Shape(
        "kineto: categories", _KINETO, _chrome(lambda i: span(i, cat=f"cat{i}"), _TORCH), 1_000_000
    ),
    Shape("kineto: nested arguments", _KINETO, _nested, 1_000_000),
)


SMALL_TRACE = b'{"traceEvents":[' + span(0).encode() + b"]}"
