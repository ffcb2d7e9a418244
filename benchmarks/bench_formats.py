"""Formats beside XPlane: JSON traces (PyTorch's form) and Perfetto's, against json.load, gzip -dc and protobuf on the same file."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench_scan import MB, script
from benchmarks.harness import GENERATED, Table, run_process

JSON_EVENTS = (20_000, 200_000, 2_000_000)
PERFETTO_EVENTS = (10_000, 100_000, 1_000_000)

OURS = """
import json, resource, sys, time
from powertui.data.formats import registry

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
begin = time.process_time()
trace = registry.read(sys.argv[1])
print(json.dumps({
    "cpu": time.process_time() - begin, "events": trace.event_count, "warnings": len(trace.warnings),
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
}))
"""

LOADS = """
import gzip, json, resource, sys, time

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
begin = time.process_time()
with (gzip.open if sys.argv[1].endswith("gz") else open)(sys.argv[1], "rb") as file:
    events = len(json.load(file)["traceEvents"])
print(json.dumps({
    "cpu": time.process_time() - begin, "events": events,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
}))
"""

PROTOBUF = """
import json, resource, sys, time
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from google.protobuf.internal import api_implementation

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
begin = time.process_time()
trace = perfetto_trace_pb2.Trace.FromString(open(sys.argv[1], "rb").read())
print(json.dumps({
    "cpu": time.process_time() - begin, "events": sum(packet.HasField("track_event") for packet in trace.packet),
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before, "by": api_implementation.Type(),
}))
"""


def pytorch(events: int) -> Path:
    """A trace in PyTorch's form: operators with shapes, launches with their kernels, Python's frames."""
    path = GENERATED / f"pytorch-{events}.pt.trace.json"
    if path.exists():
        return path
    GENERATED.mkdir(exist_ok=True)
    lot = random.Random(events)
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [\n')
        file.writelines(",\n".join(lines) + ("\n" if last else ",\n") for lines, last in _lines(events, lot))
        file.write('], "baseTimeNanoseconds": 1745000000000000000}\n')
    return path


def _lines(events: int, lot: random.Random) -> Iterator[tuple[list[str], bool]]:
    ts, made = 1_000_000.0, 0
    while made < events:
        lines = []
        for _ in range(min(2_000, (events - made + 3) // 4)):
            ts += lot.randrange(20, 200) / 8
            key = made + len(lines)
            usual = {"ph": "X", "pid": 77, "tid": 77, "ts": round(ts, 3), "dur": lot.randrange(1, 9000) / 1000}
            shapes = [[lot.randrange(1, 99), 1024], [1024, 4096]]
            launch = {"External id": key, "correlation": key}
            kernel = {
                "device": 0, "stream": 7, "correlation": key, "grid": [4, 1, 1], "block": [64, 1, 1], "registers per thread": 32,
                "est. achieved occupancy %": 50,
            }  # fmt: skip
            operator = {"External id": key, "Input Dims": shapes, "Input type": ["float", "float"], "Sequence number": key}
            some = (
                {**usual, "cat": "python_function", "name": f"train.py({key % 97}): step", "args": {"Python id": key}},
                {**usual, "cat": "cpu_op", "name": f"aten::op{key % 53}", "args": operator},
                {**usual, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": launch},
                {**usual, "cat": "kernel", "name": f"void kernel_{key % 31}<float, 4>(float*)", "pid": 0, "tid": 7, "args": kernel},
            )
            lines += map(json.dumps, some)
        made += len(lines)
        yield lines, made >= events


def perfetto(events: int) -> Path:
    """A trace by Perfetto's own message classes: begins and ends on eight threads, interned names."""
    path = GENERATED / f"perfetto-{events}.pftrace"
    if path.exists():
        return path
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    GENERATED.mkdir(exist_ok=True)
    head = pb.Trace()
    first = head.packet.add()
    first.trusted_packet_sequence_id = 1
    for number in range(100):
        one = first.interned_data.event_names.add()
        one.iid, one.name = number + 1, f"op_{number}"
    for number in range(8):
        track = head.packet.add().track_descriptor
        track.uuid, track.thread.pid, track.thread.tid = number + 1, 1, number + 1
    with path.open("wb") as file:
        file.write(head.SerializeToString())
        for begin in range(0, events, 10_000):
            some = pb.Trace()
            for number in range(begin, min(begin + 10_000, events)):
                for kind in (1, 2):
                    packet = some.packet.add()
                    packet.timestamp, packet.trusted_packet_sequence_id = 10**9 + number * 1000 + (kind - 1) * 500, 1
                    packet.track_event.type, packet.track_event.track_uuid = kind, number % 8 + 1
                    if kind == 1:
                        packet.track_event.name_iid = number % 100 + 1
            file.write(some.SerializeToString())
    return path


def main() -> None:
    """Each format, as it grows."""
    table = Table(
        "JSON traces",
        ["file", "events", "MB", "json.load: CPU s", "powertui: CPU s", "MB/s", "events/s", "÷ json.load", "without scanner: MB/s",
         "above the interpreter: B an event", "json.load's"],
    )  # fmt: skip
    for events in JSON_EVENTS:
        path = pytorch(events)
        _json_row(table, path, "plain", path.stat().st_size)
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        with path.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    _json_row(table, packed, "gzip", path.stat().st_size)
    inflate = run_process(["gzip", "-dc", str(packed)]) if events <= 200_000 else None
    alone = run_process([sys.executable, "-c", f"import gzip\nf = gzip.open({str(packed)!r})\nwhile f.read(1 << 20): pass"])
    table.note(
        f"Inflating the gzip file alone in Python costs {alone.cpu_s:.2f} s"
        + (f", gzip -dc {inflate.cpu_s:.2f} s" if inflate is not None else "")
        + ". Goals: 250 MB/s with the scanner, 50 without, 80 bytes an event."
    )
    table.print()

    table = Table(
        "Perfetto traces", ["events", "MB", "protobuf: CPU s", "powertui: CPU s", "MB/s", "÷ protobuf", "B an event", "protobuf's"]
    )
    by = ""
    for events in PERFETTO_EVENTS:
        path = perfetto(events)
        theirs, _ = script(PROTOBUF, path)
        ours, _ = script(OURS, path)
        by, size = theirs["by"], path.stat().st_size
        table.row(
            f"{events:,}", f"{size / MB:.1f}", f"{theirs['cpu']:.2f}", f"{ours['cpu']:.2f}", f"{size / MB / ours['cpu']:.0f}",
            f"{ours['cpu'] / theirs['cpu']:.2f}", f"{ours['peak'] / events:.0f}", f"{theirs['peak'] / events:.0f}",
        )  # fmt: skip
    table.note(f"protobuf ({by}) parses and counts; powertui pairs begins with ends and makes lines of them, too.")
    table.print()


def _json_row(table: Table, path: Path, what: str, unpacked: int) -> None:
    theirs, _ = script(LOADS, path)
    ours, _ = script(OURS, path)
    pure, _ = script(OURS, path, pure=True)
    assert ours["events"] == pure["events"], json.dumps([ours, pure])
    size = unpacked / MB
    table.row(
        what, f"{ours['events']:,}", f"{size:.0f}", f"{theirs['cpu']:.2f}", f"{ours['cpu']:.2f}", f"{size / ours['cpu']:.0f}",
        f"{ours['events'] / ours['cpu']:,.0f}", f"{ours['cpu'] / theirs['cpu']:.2f}", f"{size / pure['cpu']:.0f}",
        f"{ours['peak'] / ours['events']:.0f}", f"{theirs['peak'] / ours['events']:.0f}",
    )  # fmt: skip
