"""Reading a profile: the scan, the memory up to a first picture, the report, the imports, and how
all that grows.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import EXTRA_DATA, ROOT, Table, Usage, python, run_process
from benchmarks.make_big import make, recording

BIG = 10_000_000
MB = 1_000_000

SCAN = """
import json, mmap, sys, time
import numpy as np
from google.protobuf.internal import api_implementation
from powertui.data import wire
from powertui.data.wire import schemas
path, repeats, parses = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "parse"

def timed(action):
    begin = time.perf_counter()
    kept = action()
    return time.perf_counter() - begin

def read():
    with open(path, "rb") as file:
        return file.read()

file = open(path, "rb")
data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)

def lines():
    for lo, hi in zip(*wire.hop(data, 0, len(data)).ranges(1)):
        yield from zip(*wire.hop(data, lo, hi).ranges(3))

def scan():
    # all of it: count, make the columns, fill them
    tables, events = [], 0
    for lo, hi in lines():
        header = wire.hop(data, lo, hi, skip=wire.EVENTS_FIELD)
        columns = wire.EventColumns.empty(header.skipped)
        events += wire.scan_events(data, lo, hi, header.integer(3) * 1000, columns, 0).rows
        tables.append(columns)
    return tables, events

events = scan()[1]
position = np.concatenate([columns.position for columns in scan()[0]])
out = {"events": events, "bytes": len(data), "compiled": wire.COMPILED, "protobuf": api_implementation.Type(),
       "read": [], "count": [], "scan": [], "stats": [], "parse": []}
message = schemas.message("XSpace")
for turn in range(repeats):
    # in turns, so that a busy machine is unfair to all of them alike
    out["read"].append(timed(read))
    out["count"].append(timed(lambda: [wire.hop(data, lo, hi, skip=4).skipped for lo, hi in lines()]))
    out["scan"].append(timed(scan))
    if turn % 3 == 0:
        out["stats"].append(timed(lambda: wire.scan_stats(data, position, [1, 2, 3, 4])))
    if turn % 3 == 0 and parses:
        whole = read()
        out["parse"].append(timed(lambda: message.FromString(whole)))
print(json.dumps(out))
"""

DRAW = """
import json, resource, sys, time
begin = time.perf_counter()
import numpy as np
from powertui.data import loading, logdir
from powertui.data.lod import Forest
started, cpu = time.perf_counter(), time.process_time()

def picture(run):
    trace = run.traces[0]
    forest = Forest.from_trace(trace)
    lo, hi = trace.span
    edges = lo + (hi - lo) * np.arange(161, dtype=np.int64) // 160
    return trace, int(forest.frame(edges, range(min(40, len(forest.lanes)))).count.sum())

if sys.argv[2] == "stream":
    for run in loading.stream_run(logdir.scan(sys.argv[1]).runs[0]):
        trace, touched = picture(run)
        break
else:
    run = loading.load_run(logdir.scan(sys.argv[1]).runs[0])
    trace, touched = picture(run)
assert touched
now, cpu = time.perf_counter(), time.process_time() - cpu
if sys.argv[2] == "search":
    from powertui.data import search
    from powertui.data.tools import op_stats

    table, hits = op_stats.op_stats(trace), search.find(trace, "Conv2D")
print(json.dumps({"events": trace.event_count, "imports_s": started - begin, "drawn_s": now - started, "drawn_cpu_s": cpu}))
"""


def script(code: str, *args: object, pure: bool = False) -> tuple[dict[str, Any], Usage]:
    """A piece of Python in a process of its own, that prints JSON."""
    usage = run_process([sys.executable, "-c", code, *map(str, args)], env=_env(pure))
    if usage.code:
        raise RuntimeError(f"exit code {usage.code}")
    return json.loads(usage.stdout), usage


def _env(pure: bool) -> dict[str, str]:
    return {"POWERTUI_PURE": "1" if pure else "", "PYTHONPATH": str(ROOT)}


def report(path: Path, *, pure: bool = False, repeats: int = 3) -> tuple[float, Usage]:
    """`powertui report PATH --json`, from process start to its end: median wall seconds, and one
    run's account.
    """
    runs = [
        run_process(
            [sys.executable, "-m", "powertui", "report", str(path), "--json"], env=_env(pure)
        )
        for _ in range(repeats)
    ]
    if any(run.code for run in runs):
        raise RuntimeError(f"powertui report {path.name}: exit code {runs[0].code}")
    runs.sort(key=lambda run: run.wall_s)
    return runs[len(runs) // 2].wall_s, runs[len(runs) // 2]


def logdir_of(profile: Path) -> Path:
    """The logdir above …/plugins/profile/RUN/HOST.xplane.pb."""
    return profile.parents[3]


def scan_table() -> None:
    """1. The scan against reading the bytes and against protobuf."""
    path = make(BIG)
    table = Table(
        "Scan of ten million events",
        ["what", "s (median)", "s (best)", "÷ read()", "÷ protobuf", "events/s (median)", "(best)"],
    )
    found, _ = script(SCAN, path, 7, "parse")
    pure, _ = script(SCAN, make(BIG // 10), 3, "", pure=True)
    read, parse = statistics.median(found["read"]), statistics.median(found["parse"])
    rows = [
        ("read() the file", found["read"]),
        (f"protobuf ({found['protobuf']}) XSpace.FromString", found["parse"]),
        ("count events by hopping", found["count"]),
        (f"scan to columns{'' if found['compiled'] else ' (pure)'}", found["scan"]),
        ("four stats of every event", found["stats"]),
    ]
    for name, took in rows:
        median, best = statistics.median(took), min(took)
        rate = (
            ("–", "–")
            if name.startswith("read")
            else (
                f"{found['events'] / median / 1e6:.1f} M",
                f"{found['events'] / best / 1e6:.1f} M",
            )
        )
        table.row(
            name,
            f"{median:.3f}",
            f"{best:.3f}",
            f"{median / read:.2f}",
            f"{median / parse:.3f}",
            *rate,
        )
    median, best = statistics.median(pure["scan"]), min(pure["scan"])
    rates = (f"{pure['events'] / median / 1e6:.2f} M", f"{pure['events'] / best / 1e6:.2f} M")
    table.row(
        "scan to columns, pure (1 M events)",
        f"{median:.3f}",
        f"{best:.3f}",
        "–",
        f"{10 * median / parse:.2f} (scaled)",
        *rates,
    )
    table.note(
        f"{found['events']:,} events, {found['bytes']:,} bytes, made from {recording()[0]} "
        "(benchmarks/make_big.py). Targets: "
        f"scan ÷ protobuf <= 0.2, >= 30 M events/s on a quiet core."
    )
    table.print()


def memory_table() -> None:
    """2.

    Peak memory and time up to a first drawable timeline, and the memory behind the op table and a
    search.
    """
    table = Table(
        (
            "Up to a drawn timeline (load, steps, level of detail, one frame), and then the op "
            "table and a search"
        ),
        [
            "events",
            "decoder",
            "what",
            "s",
            "CPU s",
            "CPU ÷ bare scan",
            "peak MB",
            "bytes/event",
            "above the start",
        ],
    )
    _, start = script(DRAW, logdir_of(make(1000)), "whole")
    for events, pure in ((BIG // 100, False), (BIG // 10, False), (BIG, False), (BIG // 10, True)):
        path = make(events)
        found, _ = script(
            SCAN.replace("perf_counter", "process_time"), path, 3 if pure else 7, "", pure=pure
        )
        scan = statistics.median(found["scan"])
        for what, mode in (
            ("first part", "stream"),
            ("whole", "whole"),
            ("and `t`, `/`", "search"),
        ):
            runs = sorted(
                (script(DRAW, logdir_of(path), mode, pure=pure) for _ in range(3)),
                key=lambda run: run[0]["drawn_cpu_s"],
            )
            found, usage = runs[1]
            assert mode == "stream" or found["events"] == events, "events were left out"
            cpu, peak = found["drawn_cpu_s"], usage.peak_bytes
            each = (
                (f"{peak / events:.1f}", f"{(peak - start.peak_bytes) / events:.1f}")
                if mode != "stream"
                else ("", "")
            )
            table.row(
                f"{found['events']:,}",
                "pure" if pure else "compiled",
                what,
                f"{found['drawn_s']:.2f}",
                f"{cpu:.2f}",
                f"{cpu / scan:.2f}" if mode == "whole" else "",
                f"{peak / MB:.0f}",
                *each,
            )
    table.note(
        "The file is read in windows and not part of the memory. An empty start, of 1,000 "
        f"events: {start.peak_bytes / MB:.0f} MB. "
        "Targets for ten million events: 2.0 times the bare scan, 30 bytes an event, 45 with "
        "the op table and a search."
    )
    table.print()


def report_table() -> None:
    """3. The report, from process start to its last byte. 4. Imports."""
    table = Table(
        "`powertui report PATH --json` from process start to end",
        ["profile", "decoder", "wall s (median of 3)", "CPU s", "peak MB"],
    )
    keras = EXTRA_DATA / "own" / "keras_cifar"
    targets = [("keras_cifar (20.7 MB, 767,110 events)", keras)] if keras.is_dir() else []
    targets.append(("1 M events", logdir_of(make(BIG // 10))))
    for name, path in targets:
        for decoder, pure in (("compiled", False), ("pure", True)):
            wall, usage = report(path, pure=pure)
            table.row(
                name, decoder, f"{wall:.2f}", f"{usage.cpu_s:.2f}", f"{usage.peak_bytes / MB:.0f}"
            )
    table.note("Targets for keras_cifar: 1.5 s compiled, 4 s pure.")
    table.print()

    table = Table("Start-up", ["what", "wall s (median of 5)", "above an empty Python s"])
    empty = _wall("pass")
    for name, code in (
        ("python -c pass", "pass"),
        ("import powertui.cli", "import powertui.cli"),
        ("import numpy", "import numpy"),
        ("import powertui.data.loading", "import powertui.data.loading"),
    ):
        wall = _wall(code)
        table.row(name, f"{wall:.3f}", f"{wall - empty:.3f}")
    for name, argv in (
        ("powertui --version", ["--version"]),
        ("powertui demo --report --json", ["demo", "--report", "--json"]),
    ):
        walls = [
            run_process([sys.executable, "-m", "powertui", *argv], env=_env(False))
            for _ in range(5)
        ]
        wall = statistics.median(run.wall_s for run in walls)
        table.row(
            name,
            f"{wall:.3f}" if not any(run.code for run in walls) else "failed",
            f"{wall - empty:.3f}",
        )
    table.print()


def _wall(code: str) -> float:
    return statistics.median(python(code, env=_env(False)).wall_s for _ in range(5))


def growth_table() -> None:
    """5. Ten times the events, ten times the cost."""
    table = Table(
        "Growth",
        [
            "events",
            "scan s (best)",
            "ns/event",
            "report --json CPU s",
            "µs/event above start",
            "peak MB",
            "file MB",
            "bytes/event above the start",
        ],
    )
    _, nothing = report(logdir_of(make(1000)))
    for events in (BIG // 100, BIG // 10, BIG):
        path = make(events)
        found, _ = script(SCAN, path, 7, "")
        scan, size = min(found["scan"]), path.stat().st_size
        _, usage = report(logdir_of(path))
        table.row(
            f"{events:,}",
            f"{scan:.4f}",
            f"{1e9 * scan / events:.1f}",
            f"{usage.cpu_s:.2f}",
            f"{1e6 * (usage.cpu_s - nothing.cpu_s) / events:.2f}",
            f"{usage.peak_bytes / MB:.0f}",
            f"{size / MB:.0f}",
            f"{(usage.peak_bytes - nothing.peak_bytes) / events:.0f}",
        )
    start = f"{nothing.cpu_s:.2f} s CPU, {nothing.peak_bytes / MB:.0f} MB"
    table.note(
        f"The start: a report on 1,000 events takes {start} (Python, numpy, the package). The "
        "file is never mapped."
    )
    table.print()


def main() -> None:
    """All five."""
    scan_table()
    memory_table()
    report_table()
    growth_table()


if __name__ == "__main__":
    main()
