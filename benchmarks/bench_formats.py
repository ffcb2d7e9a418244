"""Every format of profiles: bytes and events a second, bytes an event; beside json.load, gzip -dc
and protobuf on the same file.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench_scan import MB, script
from benchmarks.harness import ASKS_ALL, GENERATED, Table, asks_all, run_process
from benchmarks.make_big import make

EACH = 500_000  # events of each format
# The larger one of a usual run is made for the first table anyway.
JSON_EVENTS = (20_000, 200_000, 2_000_000) if asks_all() else (20_000, EACH)
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

SCALARS = """
import json, resource, sys, time
from powertui.data.formats import tfevents

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
begin = time.process_time()
log = tfevents.read(sys.argv[1])
print(json.dumps({
    "cpu": time.process_time() - begin, "events": log.records,
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

JUST_LOADS = """
import json, resource, sys, time

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
begin = time.process_time()
with open(sys.argv[1], "rb") as file:
    json.load(file)
print(json.dumps({
    "cpu": time.process_time() - begin, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
}))
"""

UPB = """
import json, resource, sys, time
from google.protobuf.internal import api_implementation
from powertui.data.wire import schemas

message = schemas.message("XSpace")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
begin = time.process_time()
space = message.FromString(open(sys.argv[1], "rb").read())
print(json.dumps({
    "cpu": time.process_time() - begin, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
    "by": api_implementation.Type(),
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
    """A trace in PyTorch's form: operators with shapes, launches with their kernels, Python's
    frames.
    """
    path = GENERATED / f"pytorch-{events}.pt.trace.json"
    if path.exists():
        return path
    GENERATED.mkdir(exist_ok=True)
    lot = random.Random(events)
    with path.open("w") as file:
        file.write(
            '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], '
            '"traceEvents": [\n'
        )
        file.writelines(
            ",\n".join(lines) + ("\n" if last else ",\n") for lines, last in _lines(events, lot)
        )
        file.write('], "baseTimeNanoseconds": 1745000000000000000}\n')
    return path


def _lines(events: int, lot: random.Random) -> Iterator[tuple[list[str], bool]]:
    ts, made = 1_000_000.0, 0
    while made < events:
        lines = []
        for _ in range(min(2_000, (events - made + 3) // 4)):
            ts += lot.randrange(20, 200) / 8
            key = made + len(lines)
            usual = {
                "ph": "X",
                "pid": 77,
                "tid": 77,
                "ts": round(ts, 3),
                "dur": lot.randrange(1, 9000) / 1000,
            }
            shapes = [[lot.randrange(1, 99), 1024], [1024, 4096]]
            launch = {"External id": key, "correlation": key}
            kernel = {
                "device": 0,
                "stream": 7,
                "correlation": key,
                "grid": [4, 1, 1],
                "block": [64, 1, 1],
                "registers per thread": 32,
                "est. achieved occupancy %": 50,
            }
            operator = {
                "External id": key,
                "Input Dims": shapes,
                "Input type": ["float", "float"],
                "Sequence number": key,
            }
            some = (
                {
                    **usual,
                    "cat": "python_function",
                    "name": f"train.py({key % 97}): step",
                    "args": {"Python id": key},
                },
                {**usual, "cat": "cpu_op", "name": f"aten::op{key % 53}", "args": operator},
                {**usual, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": launch},
                {
                    **usual,
                    "cat": "kernel",
                    "name": f"void kernel_{key % 31}<float, 4>(float*)",
                    "pid": 0,
                    "tid": 7,
                    "args": kernel,
                },
            )
            lines += map(json.dumps, some)
        made += len(lines)
        yield lines, made >= events


def perfetto(events: int) -> Path:
    """A trace by Perfetto's own message classes: begins and ends on eight threads, interned
    names.
    """
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
                    packet.timestamp, packet.trusted_packet_sequence_id = (
                        10**9 + number * 1000 + (kind - 1) * 500,
                        1,
                    )
                    packet.track_event.type, packet.track_event.track_uuid = kind, number % 8 + 1
                    if kind == 1:
                        packet.track_event.name_iid = number % 100 + 1
            file.write(some.SerializeToString())
    return path


def chrome(events: int) -> Path:
    """A trace of begins and ends, nested, on eight threads, with arguments."""
    path = GENERATED / f"chrome-{events}.json"
    if not path.exists():
        with path.open("w") as file:
            file.write('{"traceEvents": [\n')
            for row in range(events):
                usual = f'"cat": "c", "pid": 1, "tid": {row % 8}, "ts": '
                name = f'"name": "op {row % 97}"'
                file.write(
                    f'{{"ph": "B", {name}, {usual}{row * 8}.125, "args": {{"n": {row}, "what": '
                    f'"text"}}}},\n'
                )
                file.write(
                    f'{{"ph": "E", {name}, '
                    f"{usual}{row * 8 + 5}.5}}{',' if row + 1 < events else ''}\n"
                )
            file.write("]}\n")
    return path


_KERNELS = (
    "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,"
    "Start_Timestamp,End_Timestamp,"
    "Private_Segment_Size,Group_Segment_Size,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,"
    "Grid_Size_X,Grid_Size_Y,Grid_Size_Z"
)


def rocprof_csv(events: int) -> Path:
    """rocprofv3's table of kernels."""
    path = GENERATED / f"rocprof-{events}" / "1_kernel_trace.csv"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with path.open("w") as file:
            file.write(_KERNELS + "\n")
            for row in range(events):
                at = 2_414_192_765_000_000 + row * 20_000
                name = f'"void kernel_{row % 31}<float, 4>(float*)"'
                where = f'"KERNEL_DISPATCH",2,1,{row % 4},77,{row},{row % 31}'
                file.write(f"{where},{name},{row},{at},{at + 9_000},0,512,64,1,1,1024,1024,1\n")
    return path


def rocprof_json(events: int) -> Path:
    """rocprofv3's JSON: half kernels, half the calls that launched them."""
    path = GENERATED / f"rocprof-{events}" / "2_results.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        kinds = [
            ("NONE", []),
            ("KERNEL_DISPATCH", ["NONE", "COMPLETE"]),
            ("HIP_RUNTIME_API", ["hipMalloc", "hipLaunchKernel"]),
        ]
        kernels, calls = [], []
        for row in range(events // 2):
            at = 2_414_192_765_000_000 + row * 20_000
            usual = {
                "size": 48,
                "operation": 1,
                "correlation_id": {"internal": row, "external": 0},
                "thread_id": 77,
            }
            one = {"x": 64, "y": 1, "z": 1}
            told = {
                "agent_id": {"handle": 902},
                "queue_id": {"handle": 1},
                "kernel_id": row % 31,
                "dispatch_id": row,
                "workgroup_size": one,
                "grid_size": one,
            }
            calls.append({**usual, "kind": 2, "start_timestamp": at, "end_timestamp": at + 4_000})
            kernels.append(
                {
                    **usual,
                    "kind": 1,
                    "start_timestamp": at + 5_000,
                    "end_timestamp": at + 15_000,
                    "dispatch_info": told,
                }
            )
        path.write_text(
            json.dumps(
                {
                    "rocprofiler-sdk-tool": [
                        {
                            "metadata": {"pid": 77},
                            "agents": [{"id": {"handle": 902}, "type": 2, "name": "gfx942"}],
                            "strings": {
                                "buffer_records": [
                                    {"kind": kind, "operations": names} for kind, names in kinds
                                ]
                            },
                            "kernel_symbols": [
                                {"kernel_id": row, "formatted_kernel_name": f"kernel_{row}"}
                                for row in range(31)
                            ],
                            "buffer_records": {"kernel_dispatch": kernels, "hip_api": calls},
                        }
                    ]
                }
            )
        )
    return path


def aiu(events: int) -> Path:
    """A trace as IBM's AIU tools write it: a bare list, begins and ends on a few streams, registers
    of the device in `attr`.
    """
    path = GENERATED / f"aiu-{events}.json"
    if not path.exists():
        with path.open("w") as file:
            file.write("[\n")
            for row in range(events):
                attr = (
                    f'{{"Power":"0x{row * 7919 & 0xFFFFFFFF:08x}","TS1":"0x{row:08x}",'
                    f'"TS2":"0x{row:08x}","TS3":"0x{row + 9:08x}"}}'
                )
                usual = (
                    f'"name":"op_{row % 97} Cmpt '
                    f'Exec","pid":0,"tid":{2009867741857745393 + row % 4}'
                )
                for phase, at in (("B", row * 8), ("E", row * 8 + 7)):
                    file.write(
                        f'{{"attr":{attr},{usual},"ph":"{phase}","ts":{1475000720166 + at}.077}},\n'
                    )
            file.write('{"name":"end","ph":"i","pid":0,"tid":1,"ts":1475000720166.0}\n]\n')
    return path


def old_tensorflow(events: int) -> Path:
    """TensorFlow's trace protobuf up to 2.1: two devices, eight lines, a name and an argument in
    each event.
    """
    path = GENERATED / f"old-{events}" / "local.trace"
    if not path.exists():
        from tests.synthetic.xplane import blob, number

        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            for device in range(2):
                lines = b"".join(
                    blob(3, number(1, k) + blob(2, blob(1, b"line") + number(2, k)))
                    for k in range(4)
                )
                file.write(
                    blob(
                        1,
                        number(1, device)
                        + blob(2, blob(1, f"/device:GPU:{device}".encode()) + lines),
                    )
                )
            for row in range(events):
                place = number(1, row % 2) + number(2, row // 2 % 4)
                told = (
                    blob(3, b"op_%d" % (row % 97)) + number(9, row * 800_000) + number(10, 500_000)
                )
                file.write(
                    blob(4, place + told + blob(11, blob(1, b"long_name") + blob(2, b"MatMul")))
                )
    return path


def scalars(events: int) -> Path:
    """tfevents: one record a value, as Keras writes them.

    A thousand records are repeated: checksums by hand are slow.
    """
    path = GENERATED / f"scalars-{events}" / "events.out.tfevents.1700000000.node.1.0.v2"
    if not path.exists():
        from tests.synthetic.tfevents import write_scalars

        write_scalars(
            path, [(1.7e9 + k, k, "batch_loss", 1 / (1 + k)) for k in range(1_000)], 1.7e9
        )
        written = path.read_bytes()
        first = int.from_bytes(written[:8], "little") + 16  # the version's record stands once
        path.write_bytes(written + written[first:] * (events // 1_000 - 1))
    return path


def each_format() -> None:
    """One row for each, on files of as many events."""
    table = Table(
        f"Every format, {EACH:,} events",
        [
            "file",
            "MB",
            "powertui: CPU s",
            "MB/s",
            "events/s",
            "B an event",
            "beside it",
            "CPU s",
            "its B an event",
        ],
    )
    packed = pytorch(EACH).with_suffix(".json.gz")
    if not packed.exists():
        with pytorch(EACH).open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    rows = (
        ("XPlane", make(EACH), "upb", UPB),
        ("PyTorch JSON", pytorch(EACH), "json.load", LOADS),
        ("PyTorch JSON, gzip", packed, "gzip -dc", ""),
        ("Chrome JSON (B, E)", chrome(EACH), "json.load", LOADS),
        ("Perfetto", perfetto(EACH), "upb", PROTOBUF),
        ("rocprofv3 CSV", rocprof_csv(EACH), "", ""),
        ("rocprofv3 JSON", rocprof_json(EACH), "json.load", JUST_LOADS),
        ("AIU (B, E)", aiu(EACH), "json.load", JUST_LOADS),
        ("TensorFlow ≤ 2.1", old_tensorflow(EACH), "", ""),
        ("tfevents, scalars", scalars(EACH), "", ""),
    )
    for what, path, other, code in rows:
        ours, _ = script(SCALARS if "tfevents" in path.name else OURS, path)
        size = (pytorch(EACH) if path == packed else path).stat().st_size / MB
        beside = ("–", "–")
        if code:
            theirs, _ = script(code, path)
            beside = (f"{theirs['cpu']:.2f}", f"{theirs['peak'] / ours['events']:.0f}")
        elif other:
            beside = (f"{run_process(['sh', '-c', f'gzip -dc {path} > /dev/null']).cpu_s:.2f}", "–")
        table.row(
            what,
            f"{size:.0f}",
            f"{ours['cpu']:.2f}",
            f"{size / ours['cpu']:.0f}",
            f"{ours['events'] / ours['cpu']:,.0f}",
            f"{ours['peak'] / ours['events']:.0f}",
            other or "–",
            *beside,
        )
    table.note(
        "MB of gzip are those of its text. The CPU seconds of powertui hold its imports of "
        "formats (0.1 to 0.2 s)."
    )
    table.print()


def main() -> None:
    """Each format, then JSON and Perfetto as they grow."""
    each_format()
    table = Table(
        "JSON traces",
        [
            "file",
            "events",
            "MB",
            "json.load: CPU s",
            "powertui: CPU s",
            "MB/s",
            "events/s",
            "÷ json.load",
            "without scanner: MB/s",
            "÷ json.load's",
            "above the interpreter: B an event",
            "json.load's",
        ],
    )
    for events in JSON_EVENTS:
        path = pytorch(events)
        _json_row(table, path, "plain", path.stat().st_size)
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        with path.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    _json_row(table, packed, "gzip", path.stat().st_size)
    inflate = run_process(["gzip", "-dc", str(packed)]) if events <= 200_000 else None
    alone = run_process(
        [
            sys.executable,
            "-c",
            f"import gzip\nf = gzip.open({str(packed)!r})\nwhile f.read(1 << 20): pass",
        ]
    )
    table.note(
        f"Inflating the gzip file alone in Python costs {alone.cpu_s:.2f} s"
        + (f", gzip -dc {inflate.cpu_s:.2f} s" if inflate is not None else "")
        + (f". {ASKS_ALL}=1 for 2,000,000 events" if not asks_all() else "")
        + ". Goals: 250 MB/s with the scanner, 50 without, 80 bytes an event."
    )
    table.print()

    table = Table(
        "Perfetto traces",
        [
            "events",
            "MB",
            "protobuf: CPU s",
            "powertui: CPU s",
            "MB/s",
            "÷ protobuf",
            "B an event",
            "protobuf's",
        ],
    )
    by = ""
    for events in PERFETTO_EVENTS:
        path = perfetto(events)
        theirs, _ = script(PROTOBUF, path)
        ours, _ = script(OURS, path)
        by, size = theirs["by"], path.stat().st_size
        table.row(
            f"{events:,}",
            f"{size / MB:.1f}",
            f"{theirs['cpu']:.2f}",
            f"{ours['cpu']:.2f}",
            f"{size / MB / ours['cpu']:.0f}",
            f"{ours['cpu'] / theirs['cpu']:.2f}",
            f"{ours['peak'] / events:.0f}",
            f"{theirs['peak'] / events:.0f}",
        )
    table.note(
        f"protobuf ({by}) parses and counts; powertui pairs begins with ends and makes lines "
        "of them, too."
    )
    table.print()


def _json_row(table: Table, path: Path, what: str, unpacked: int) -> None:
    theirs, _ = script(LOADS, path)
    ours, _ = script(OURS, path)
    pure, _ = script(OURS, path, pure=True)
    assert ours["events"] == pure["events"], json.dumps([ours, pure])
    size = unpacked / MB
    table.row(
        what,
        f"{ours['events']:,}",
        f"{size:.0f}",
        f"{theirs['cpu']:.2f}",
        f"{ours['cpu']:.2f}",
        f"{size / ours['cpu']:.0f}",
        f"{ours['events'] / ours['cpu']:,.0f}",
        f"{ours['cpu'] / theirs['cpu']:.2f}",
        f"{size / pure['cpu']:.0f}",
        f"{theirs['cpu'] / pure['cpu']:.2f}",
        f"{ours['peak'] / ours['events']:.0f}",
        f"{theirs['peak'] / ours['events']:.0f}",
    )
