"""Events to a file: CSV and Perfetto's JSON against pandas' own CSV writer, the memory that it
takes, and how that grows.
"""

from __future__ import annotations

from benchmarks.bench_scan import MB, logdir_of, script
from benchmarks.harness import ASKS_ALL, Table, asks_all
from benchmarks.make_big import make

SIZES = (100_000, 1_000_000, *((10_000_000,) if asks_all() else ()))

# Everything goes to /dev/null: how fast a disk is does not count.
OURS = """
import json, resource, sys, time
from powertui.data import export, loading, logdir

run = loading.load_run(logdir.scan(sys.argv[1]).runs[0])
lo, hi = run.traces[0].span

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before, out = peak(), {}
for what in ("events", "perfetto"):
    begin = time.process_time()
    export.write(run, 0, lo, hi + 1, what=what, path="/dev/null")
    out[what] = time.process_time() - begin
print(json.dumps({**out, "before": before, "beyond": peak() - before}))
"""

PANDAS = """
import json, resource, sys, time
import numpy as np, pandas as pd
from powertui.data import loading, logdir, window

trace = loading.load_run(logdir.scan(sys.argv[1]).runs[0]).traces[0]
cuts = list(window.window_summary(trace, trace.span[0], trace.span[1] + 1).cuts())
counts = [len(cut.events) for cut in cuts]
start, duration, name = (np.concatenate([getattr(cut.events, which) for cut in cuts]) for which in ("start", "duration", "name"))
names = np.array([trace.names.full(i) for i in range(len(trace.names))], object)

def place(values):
    return np.repeat(np.array(values, object), counts)

frame = pd.DataFrame({
    "unix_start_s": (trace.clock.mid_ns if trace.clock.known else 0) / 1e9 + start / 1e12,
    "start_s": start / 1e12, "duration_s": duration / 1e12,
    "plane": place([cut.process.name for cut in cuts]), "line": place([cut.track.name or str(cut.track.key) for cut in cuts]),
    "depth": np.repeat([cut.depth for cut in cuts], counts), "derived": place(["yes" if c.track.derived else "no" for c in cuts]),
    "name": names[name],
}).astype({"plane": object, "line": object, "derived": object, "name": object})
begin = time.process_time()
frame.to_csv("/dev/null", index=False)
print(json.dumps({"csv": time.process_time() - begin, "rows": len(frame)}))
"""


def main() -> None:
    """The growth of both."""
    table = Table(
        "Events to a file",
        [
            "events",
            "pandas.to_csv: CPU s",
            "CSV: CPU s",
            "µs an event",
            "÷ pandas",
            "Perfetto: CPU s",
            "µs an event",
            "above the peak of opening the run, MB",
        ],
    )
    for events in SIZES:
        path = logdir_of(make(events))
        theirs, _ = script(PANDAS, path)
        ours, _ = script(OURS, path)
        rows = theirs["rows"]
        table.row(
            f"{rows:,}",
            f"{theirs['csv']:.2f}",
            f"{ours['events']:.2f}",
            f"{1e6 * ours['events'] / rows:.2f}",
            f"{ours['events'] / theirs['csv']:.2f}",
            f"{ours['perfetto']:.2f}",
            f"{1e6 * ours['perfetto'] / rows:.2f}",
            f"{max(0, ours['beyond']) / MB:.0f}",
        )
    table.note(
        "powertui writes the date and time, too, and times exactly, to the picosecond, where "
        "pandas has floating-point numbers; "
        "it disarms formulas. Making pandas' columns is not counted. Target: at most 1.0 times "
        "pandas."
    )
    if not asks_all():
        table.note(f"{ASKS_ALL}=1 adds ten million events.")
    table.print()


if __name__ == "__main__":
    main()
