"""Events of JSON traces as nobody should write them, whole and damaged: what the compiled scanner
and Python must read alike.
"""

from __future__ import annotations

import json
import random
from types import ModuleType
from typing import Any

import pytest

from powertui.data.formats import json_events, registry
from powertui.data.formats.source import OpenedFile
from powertui.data.limits import MACHINE
from powertui.data.wire.stored import Stored
from powertui.errors import UnreadableFile

PHASES = (
    *("X",) * 12,
    "B",
    "E",
    "i",
    "C",
    "M",
    "s",
    "s",
    "t",
    "f",
    "f",
    "b",
    "e",
    "n",
    "?",
    "XX",
    5,
    None,
)
NAMES = ("a", "b\n", 'x"y', "", None, 7, "[memory]", "process_name", "op0", "op1", "op2")
ARGS: tuple[Any, ...] = (
    {},
    {"device": 0, "stream": 7, "correlation": 3},
    {"long_name": "L", "x": [1, {"y": 2}]},
    {"name": "P"},
    None,
    [1],
    {"stream": "s 3", "External id": 1.5},
    {"Total Allocated": 5, "Device Type": 1, "Device Id": 0, "Bytes": 4},
    {"v": float("nan")},
    {"device": 1, "x": '}]\\"'},
)
PIECES = (
    b'"',
    b"{",
    b"}",
    b",",
    b"\\",
    b":",
    b"[",
    b"]",
    b"e",
    b".",
    b"-",
    b"0",
    b"NaN",
    b"inf",
    b"null",
    b"\\u0041",
    b'"args":{',
    b'"ts":1,',
)


def events(lot: random.Random) -> list[dict[str, Any]]:
    """Some events, their members in any order."""
    made = []
    for _ in range(lot.randrange(1, 40)):
        ts = lot.choice(
            [
                lot.randrange(10**6),
                lot.randrange(10**9) / 1000,
                lot.randrange(10**12) / 1e6,
                -5.25,
                "7",
                1e17,
                1.5e3,
                None,
                True,
                1_700_000_000_000_000 + lot.randrange(10**6),
                1_700_000_000_000_000 + lot.randrange(10**6) + 0.25,
            ]
        )
        event: dict[str, Any] = {
            "ph": lot.choice(PHASES),
            "ts": ts,
            "name": lot.choice(NAMES),
            "tid": lot.choice([1, "t", 2**64]),
        }
        event["pid"] = lot.choice([1, 2, "p", None, [1]] if lot.random() < 0.1 else [1, 2, "p"])
        event["cat"] = lot.choice(
            ["kernel", "cpu_op", "python_function", "Trace", "gpu_user_annotation", 5, ""]
        )
        if lot.random() < 0.9:
            event["dur"] = lot.choice([1, 2.5, 0, None, -3, 1e13, "9", lot.randrange(10**6) / 1000])
        if lot.random() < 0.6:
            event["args"] = lot.choice(ARGS)
        if lot.random() < 0.4:
            event[lot.choice(["id", "bind_id", "id"])] = lot.choice(
                [1, 2, "0x1", "\u00fc", None, 1.5, [1]]
            )
            event |= lot.choice(
                [{}, {"bp": "e"}, {"flow_in": True}, {"flow_out": True}, {"id2": {"local": "1"}}]
            )
        keys = list(event)
        lot.shuffle(keys)
        made.append({key: event[key] for key in keys})
    return made


def trace(lot: random.Random, *, damaged: bool) -> bytes:
    """A file of them."""
    separators = lot.choice([(",", ":"), (", ", ": "), (",\n", " : ")])
    body = json.dumps(events(lot), separators=separators, indent=lot.choice([None, None, 1]))
    frame = lot.choice(
        [
            '{"schemaVersion":1,"traceEvents":%s,"baseTimeNanoseconds":0}',
            '{"traceEvents": %s}',
            "%s",
        ]
    )
    data = bytearray((frame % body).encode())
    for _ in range(lot.randrange(1, 4) if damaged else 0):
        at = lot.randrange(len(data) + 1)
        kind = lot.randrange(4)
        if kind == 0:
            data[at : at + lot.randrange(2)] = lot.choice(PIECES)
        elif kind == 1:
            del data[at : at + lot.randrange(1, 30)]
        elif kind == 2:
            data[at:at] = data[lot.randrange(len(data) + 1) :][: lot.randrange(30)]
        elif len(data) > 20 and lot.random() < 0.3:
            del data[at:]
    return bytes(data)


def told(
    data: bytes, dialect: ModuleType, patch: pytest.MonkeyPatch, *, way: str, piece: int
) -> Any:
    """Everything that reading gives, by one of the ways to read."""
    patch.setattr(json_events, "COMPILED", way == "compiled")
    patch.setattr(json_events, "ONE_BY_ONE", way == "singly")
    patch.setattr(json_events, "SCANNED", piece)
    patch.setattr(json_events, "CHUNK", piece)
    source = OpenedFile("x", Stored("x", memory=data), MACHINE)
    try:
        *_, whole = dialect.load(source, registry.silent)
    except UnreadableFile:
        return "unreadable"
    lines = []
    for process, track in whole.tracks():
        rows = track.events
        columns = process.source.columns(rows.position, ["correlation", "x", "External id"])
        lines.append(
            (
                process.name,
                track.name,
                sorted(
                    (
                        start,
                        length,
                        whole.names.full(name),
                        str(process.source.event_stats(position)),
                        tuple(c.text(row) for c in columns.values()),
                    )
                    for row, (start, length, name, position) in enumerate(
                        zip(
                            rows.start.tolist(),
                            rows.duration.tolist(),
                            rows.name.tolist(),
                            rows.position.tolist(),
                            strict=True,
                        )
                    )
                ),
            )
        )
    counters = [
        (one.name, one.unit, one.times.tolist(), one.values.tolist()) for one in whole.counters
    ]
    drawn = whole.arrows
    ends = (
        []
        if drawn is None
        else [
            column.tolist()
            for column in (drawn.line, drawn.at, drawn.to_line, drawn.to_at, drawn.next)
        ]
    )
    lines.append(("arrows", str(sorted(zip(*ends, strict=True))), []))
    return (
        whole.event_count,
        whole.span,
        str(whole.clock),
        sorted(lines),
        sorted(map(str, whole.warnings)),
        counters,
    )
