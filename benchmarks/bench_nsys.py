"""An export of Nsight Systems with a million kernels (`POWERTUI_NSYS_KERNELS` for more) ÷ a bare
SELECT of the same columns in Python, both read whole, by processor time.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.bench_formats import OURS
from benchmarks.bench_scan import script
from benchmarks.harness import GENERATED, Table

KERNELS = int(os.environ.get("POWERTUI_NSYS_KERNELS", 1_000_000))
_NAMES = 200  # distinct kernels
_COLUMNS = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName"
_PID = 1 << 48 | 4711 << 24
_TURNS = 3

SELECT = f"""
import json, resource, sqlite3, sys, time

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
begin = time.process_time()
database = sqlite3.connect(sys.argv[1])
rows = database.execute("SELECT {_COLUMNS} FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
print(json.dumps({{
    "cpu": time.process_time() - begin, "events": len(rows),
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
}}))
"""


def export(kernels: int) -> Path:
    """Kernels of one process on four streams, one after the other."""
    path = GENERATED / f"nsys_{kernels}.sqlite"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
        names = [(number, f"void kernel_{number}<float>(float*, int)") for number in range(_NAMES)]
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", names)
        columns = ", ".join(f"{name} INTEGER" for name in _COLUMNS.split(", "))
        database.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
        rows = (
            (at * 1_000, at * 1_000 + 900, 0, 1, at % 4, at + 1, _PID, at % _NAMES)
            for at in range(kernels)
        )
        marks = ",".join("?" * 8)
        database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({marks})", rows)
        database.commit()
    return path


def main() -> None:
    """The row of docs/benchmarks.md."""
    path = export(KERNELS)
    ours: list[dict[str, float]] = []
    bare: list[dict[str, float]] = []
    for _ in range(_TURNS):
        ours.append(script(OURS, path)[0])
        bare.append(script(SELECT, path)[0])
    assert all(turn["events"] == KERNELS for turn in (*ours, *bare))
    our_s, bare_s = (min(turn["cpu"] for turn in turns) for turns in (ours, bare))
    table = Table("Nsight Systems", ("what", "CPU s", "÷ SELECT", "memory"))
    table.row("SELECT", f"{bare_s:.2f}", "", f"{bare[0]['peak'] / 1e6:.0f} MB")
    table.row(
        "powertui", f"{our_s:.2f}", f"{our_s / bare_s:.2f}", f"{ours[0]['peak'] / 1e6:.0f} MB"
    )
    table.note(f"{KERNELS:,} kernels, {path.stat().st_size / 1e6:.0f} MB")
    table.print()


if __name__ == "__main__":
    main()
