"""What a user waits for: the first picture, small reports, long logs, beside what others take.

Every row is CPU by the process clock, all threads and no children, so that a busy machine disturbs
it least: the least and the median of interleaved runs, and the ratio of the least to that of what
it is divided by. Rows without a goal are floors: what is imported, decoded and drawn in any case
once all is read. Three minutes on two cores; `QUICK_TURNS=9` takes longer and is steadier.
"""

from __future__ import annotations

import compileall
import json
import os
import select
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import make_big, make_runs
from benchmarks.bench_start import COMMAND
from benchmarks.bench_timeline import PLAIN, READY, SIZE
from benchmarks.harness import EXTRA_DATA, GENERATED, ROOT, Table, Usage, machine, run_process
from tests.synthetic.tfevents import write_scalars

if TYPE_CHECKING:
    from tests.e2e.terminal import Terminal

MB = 1_000_000
TURNS = int(os.environ.get("QUICK_TURNS", "3"))
BIG = 10_000_000
NAMES = 1_000_000
RUNS = 2_000
WEEK_S = 7 * 86_400
CHANNELS = 10
BEGIN = 1_795_000_000
EPOCHS = 20
# Without a byte for so long a picture is settled: nothing that is looked for in the background is
# still under way.
SETTLED_S = 2.0
# A terminal takes 4 KiB at a time, and a picture is 10: the rest of it comes within this.
BETWEEN_WRITES_S = 0.002
DEMO_PROFILE = next((ROOT / "powertui" / "demo" / "data").rglob("*.xplane.pb.gz"))
MAX_WAIT_S = 240.0  # for the first picture

NUMPY = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy"
PANDAS = f"{NUMPY}, pandas"
READ_WIDE = f"""{PANDAS}; import sys
frame = pandas.read_csv(sys.argv[1])
print(frame.groupby(frame.time_unix_s // 3600).mean().shape)
"""
READ_LONG = f"""{PANDAS}; import sys
frame = pandas.read_csv(sys.argv[1])
print(frame.groupby("sensor").power_w.mean().shape)
"""
# Only the C decoder's part of reading a profile: count, make the columns, fill them.
SCAN = f"""{NUMPY}; import sys
from powertui.data import wire
if sys.argv[1].endswith(".gz"):
    import gzip
    data = numpy.frombuffer(gzip.open(sys.argv[1]).read(), numpy.uint8)
else:
    data = numpy.fromfile(sys.argv[1], numpy.uint8)
for lo, hi in zip(*wire.hop(data, 0, len(data)).ranges(1)):
    for low, high in zip(*wire.hop(data, lo, hi).ranges(3)):
        header = wire.hop(data, low, high, skip=wire.EVENTS_FIELD)
        columns = wire.EventColumns.empty(header.skipped)
        wire.scan_events(data, low, high, header.integer(3) * 1000, columns, 0)
"""
# The same before a plain Textual application: no picture of all of a profile can cost less,
# whatever is drawn of it. A first picture is drawn while the rest is read, and can.
SCAN_AND_SHOW = f"{SCAN}\n{PLAIN}"
# What a key that opens the op table waits for, on a profile with a million names.
TABLE_OF_NAMES = f"""{NUMPY}; import sys, time
from powertui.data.formats import registry
from powertui.data.tools import op_stats
trace = list(registry.load(sys.argv[1]))[-1]
begin = time.process_time()
op_stats.op_stats(trace).order("self")
print(time.process_time() - begin)
"""
# What a pan asks of the events: the columns that come into sight, 13 of 160. Counting comes later.
PAN = f"""{NUMPY}; import sys, time
from powertui.data import loading, logdir
from powertui.data.lod import Forest
trace = loading.load_run(logdir.scan(sys.argv[1]).runs[0]).traces[0]
forest = Forest.from_trace(trace)
lo, hi = trace.span
took = []
for turn in range(40):
    left = lo + (hi - lo) * turn // 80
    edges = left + (hi - lo) // 4 * numpy.arange(161, dtype=numpy.int64) // 160
    begin = time.process_time()
    forest.frame(edges[-14:], range(min(40, len(forest.lanes))))
    took.append(time.process_time() - begin)
print(sorted(took)[20])
"""


@dataclass(frozen=True)
class Work:
    """A process and what one run of it costs: CPU seconds, and its peak of memory."""

    command: Sequence[str]
    measure: Callable[[Sequence[str]], tuple[float, int]]


@dataclass(frozen=True)
class Costs:
    """All runs of one work."""

    cpu_s: list[float]
    peak_bytes: int

    @property
    def least(self) -> float:
        return min(self.cpu_s)

    @property
    def median(self) -> float:
        return statistics.median(self.cpu_s)


def process_clock_s(pid: int) -> float:
    """CPU seconds of a process, by its clock: threads that have ended count, children do not."""
    return time.clock_gettime((~pid << 3) | 2)


def whole(command: Sequence[str]) -> tuple[float, int]:
    """A process that ends by itself."""
    used = _run(command)
    return used.cpu_s, used.peak_bytes


def printed(command: Sequence[str]) -> tuple[float, int]:
    """A process that prints the seconds of the part that counts."""
    used = _run(command)
    return float(used.stdout), used.peak_bytes


def _run(command: Sequence[str]) -> Usage:
    used = run_process(command, env={"PYTHONPATH": str(ROOT)})
    if used.code:
        raise RuntimeError(f"{' '.join(command)[:200]}: exit code {used.code}")
    return used


def first_picture(command: Sequence[str]) -> tuple[float, int]:
    """Up to the first picture in a terminal."""
    return _picture(command, settled=False)


def settled_picture(command: Sequence[str]) -> tuple[float, int]:
    """Up to the last byte before two seconds of silence."""
    return _picture(command, settled=True)


def _picture(command: Sequence[str], *, settled: bool) -> tuple[float, int]:
    from tests.e2e.terminal import Terminal, environment

    with Terminal(command, size=SIZE, env=environment(extra={"PYTHONPATH": str(ROOT)})) as terminal:
        took = 0.0
        end = time.monotonic() + MAX_WAIT_S
        while READY not in terminal.text():
            if terminal.eof or time.monotonic() > end:
                raise RuntimeError(f"{' '.join(command)[:200]}: no picture")
            took = _drawn_at(terminal) or took
        quiet_since = time.monotonic()
        while settled and time.monotonic() - quiet_since < SETTLED_S:
            if terminal.read(0.05) > 0:
                quiet_since = time.monotonic()
        if settled:
            took = process_clock_s(terminal.pid)
        status = Path(f"/proc/{terminal.pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return took, int(peak.split()[1]) * 1024


def _drawn_at(terminal: Terminal) -> float:
    """Take what the process writes now, and draw it: its clock when the last byte came.

    Emulating a picture takes longer than making the next one. The clock is read before that: while
    it is drawn here, the process goes on with what nobody has seen yet.
    """
    taken = bytearray()
    clock_s = 0.0
    wait_s = 0.05
    while select.select([terminal.fd], [], [], wait_s)[0]:
        try:
            data = os.read(terminal.fd, 65536)
        except OSError:
            data = b""
        if not data:
            terminal.eof = True
            break
        clock_s = process_clock_s(terminal.pid)
        taken += data
        wait_s = BETWEEN_WRITES_S
    terminal.feed(bytes(taken))
    return clock_s


def compare(*works: Work, turns: int = TURNS) -> list[Costs]:
    """The works in turns: what else the machine does strikes all of them alike."""
    runs = [[work.measure(work.command) for work in works] for _ in range(turns)]
    return [
        Costs([turn[place][0] for turn in runs], max(turn[place][1] for turn in runs))
        for place in range(len(works))
    ]


def powertui(*arguments: object) -> list[str]:
    """The program with these arguments."""
    return [sys.executable, "-m", "powertui", *map(str, arguments)]


def code(text: str, *arguments: object) -> list[str]:
    """A piece of Python."""
    return [sys.executable, "-c", text, *map(str, arguments)]


# ── input ────────────────────────────────────────────────────────────────────────────────────────


def week(form: str) -> Path:
    """A training of a week with a small profile, and ten channels of power every second: a column
    each ("wide"), or a row for each reading ("long").
    """
    folder = GENERATED / "quick" / form
    log = folder / "power.csv"
    if log.exists():
        return log
    profile = folder / "train" / "plugins" / "profile" / "2026_11_18_08_00_00" / "vm.xplane.pb"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_bytes(make_big.make(10_000).read_bytes())
    each_s = WEEK_S / EPOCHS
    points = [
        (BEGIN + each_s * (epoch + 0.98), epoch, "epoch_loss", 1 / (1 + epoch))
        for epoch in range(EPOCHS)
    ]
    write_scalars(folder / "train" / f"events.out.tfevents.{BEGIN}.vm.1.0.v2", points, BEGIN + 0.0)
    part = log.with_suffix(".part")
    rng = np.random.default_rng(1)
    with part.open("w") as file:
        if form == "wide":
            file.write("time_unix_s," + ",".join(f"gpu{n}_watts" for n in range(CHANNELS)) + "\n")
        else:
            file.write("time_unix_s,sensor,power_w\n")
        for first in range(0, WEEK_S, 3_600):
            at = np.arange(first, first + 3_600)
            wave = 200 + 60 * (at % each_s < 0.9 * each_s)  # lower while it validates
            watts = wave[:, None] + rng.integers(-9, 10, (len(at), CHANNELS))
            for second, row in zip((BEGIN + at).tolist(), watts.tolist(), strict=True):
                if form == "wide":
                    file.write(f"{second},{','.join(map(str, row))}\n")
                else:
                    file.writelines(f"{second},gpu{n},{value}\n" for n, value in enumerate(row))
    part.rename(log)
    return log


def logdir_of(profile: Path) -> Path:
    """The logdir above …/plugins/profile/RUN/HOST.xplane.pb."""
    return profile.parents[3]


# ── the table ────────────────────────────────────────────────────────────────────────────────────


class Rows:
    """The table as it grows."""

    def __init__(self) -> None:
        self.table = Table(
            f"What a user waits for ({machine()}; CPU s by the process clock, {TURNS} turns)",
            ["work", "÷", "goal", "ratio", "least s", "median s", "divisor s", "peak MB"],
        )

    def ratio(self, name: str, divisor: str, goal: str, work: Costs, base: Costs) -> None:
        """A work beside what it is divided by."""
        self.table.row(
            name,
            divisor,
            goal,
            f"{work.least / base.least:.2f}",
            f"{work.least:.3f}",
            f"{work.median:.3f}",
            f"{base.least:.3f}",
            f"{work.peak_bytes / MB:.0f}",
        )
        print(json.dumps([name, work.cpu_s, base.cpu_s]), file=sys.stderr, flush=True)

    def seconds(self, name: str, goal: str, work: Costs) -> None:
        """A work whose goal is in seconds."""
        self.table.row(
            name,
            "–",
            goal,
            "–",
            f"{work.least:.3f}",
            f"{work.median:.3f}",
            "–",
            f"{work.peak_bytes / MB:.0f}",
        )
        print(json.dumps([name, work.cpu_s]), file=sys.stderr, flush=True)


def pictures(rows: Rows) -> None:
    """The first picture and the settled one, of the demo and of ten million events."""
    demo, big = powertui("demo"), powertui(make_big.make(BIG), "--no-power")
    plain, floor, big_floor, first, settled, big_first, big_settled = compare(
        Work(code(PLAIN), first_picture),
        Work(code(SCAN_AND_SHOW, DEMO_PROFILE), first_picture),
        Work(code(SCAN_AND_SHOW, make_big.make(BIG)), first_picture),
        Work(demo, first_picture),
        Work(demo, settled_picture),
        Work(big, first_picture),
        Work(big, settled_picture),
    )
    for name, goal, costs in (
        ("numpy, the demo's scan, a plain app", "–", floor),
        ("demo: first picture", "2.0", first),
        ("demo: settled", "3.0", settled),
        ("numpy, the scan of 10 M, a plain app", "–", big_floor),
        ("10 M events: first picture", "2.5", big_first),
        ("10 M events: settled", "4", big_settled),
    ):
        rows.ratio(name, "plain Textual app", goal, costs, plain)


def reports(rows: Rows) -> None:
    """Reports, and help."""
    keras = EXTRA_DATA / "own" / "keras_cifar"
    bare, numpy, pandas, floor, help_text, demo = compare(
        Work([sys.executable, "-S", "-c", "pass"], whole),
        Work(code(NUMPY), whole),
        Work(code(PANDAS), whole),
        Work(code(SCAN, DEMO_PROFILE), whole),
        # As an installed program starts: an editable install makes Python's own start slow.
        Work([sys.executable, "-S", "-c", COMMAND, "--help"], whole),
        Work(powertui("demo", "--report"), whole),
        turns=3 * TURNS,
    )
    rows.ratio("--help", "python -S", "2.5", help_text, bare)
    rows.ratio("numpy and the demo's scan", "import numpy", "–", floor, numpy)
    rows.ratio("demo --report", "import numpy", "4", demo, numpy)
    if keras.is_dir():
        profile = next(keras.rglob("*.xplane.pb"))
        floor, costs = compare(
            Work(code(SCAN, profile), whole), Work(powertui("report", keras), whole)
        )
        rows.ratio("numpy and keras_cifar's scan", "import numpy, pandas", "–", floor, pandas)
        rows.ratio("report keras_cifar", "import numpy, pandas", "0.6", costs, pandas)
    big = make_big.make(BIG)
    scan, costs = compare(
        Work(code(SCAN, big), whole), Work(powertui("report", logdir_of(big), "--json"), whole)
    )
    rows.ratio("report 10 M events", "C scan", "2.0", costs, scan)


def long_logs(rows: Rows) -> None:
    """`energy` of a week, in columns and in rows."""
    for form, name, goal, reading in (
        ("wide", "energy, week × 10 channels", "3", READ_WIDE),
        ("long", "energy, 6 M rows long table", "5, ≤ 500 MB", READ_LONG),
    ):
        log = week(form)
        pandas, costs = compare(
            Work(code(reading, log), whole), Work(powertui("energy", log), whole)
        )
        rows.ratio(name, "pandas read + groupby", goal, costs, pandas)
        if form == "wide":
            (costs,) = compare(Work(powertui("energy", log.parent), whole), turns=1)
            rows.ratio(f"{name}, a training's", "pandas read + groupby", "–", costs, pandas)


def many(rows: Rows) -> None:
    """Two thousand runs, one process; a million names; a pan."""
    runs = make_runs.make(RUNS)
    for verb in ("report", "doctor"):
        (costs,) = compare(Work(powertui(verb, runs), whole), turns=1)
        rows.seconds(f"{verb} of {RUNS:,} runs, all processes", "2 a core", costs)
    (costs,) = compare(Work(code(TABLE_OF_NAMES, make_big.make(BIG, NAMES)), printed))
    rows.seconds("names 1 M: `t`", "1.0", costs)
    few, many = compare(
        *(
            Work(powertui("report", logdir_of(make_big.make(BIG, names))), whole)
            for names in (0, NAMES)
        )
    )
    rows.ratio("report, 1 M names", "report of few names", "2.5", many, few)
    small, large = compare(
        *(
            Work(code(PAN, logdir_of(make_big.make(events))), printed)
            for events in (BIG // 100, BIG)
        )
    )
    rows.ratio("pan on 10 M: frame", "frame of 0.1 M", "1.1", large, small)


def main() -> None:
    """The table; QUICK_ROWS=pictures,reports,long_logs,many for a part of it."""
    # As a package is installed: where PYTHONDONTWRITEBYTECODE is set, every start would compile it.
    compileall.compile_dir(ROOT / "powertui", quiet=1)
    rows = Rows()
    parts = {"pictures": pictures, "reports": reports, "long_logs": long_logs, "many": many}
    for name in os.environ.get("QUICK_ROWS", ",".join(parts)).split(","):
        parts[name](rows)
    rows.table.print()


if __name__ == "__main__":
    main()
