"""What many names and epochs cost: the op table and search of a million names, thirty thousand
epochs.

Each is measured at several sizes, so that growth shows. The screen is the real program in a pty,
with a heartbeat of 2 ms inside it: the longest pause is how long a key could have waited.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import make_big
from benchmarks.bench_stalls import PROGRAM
from benchmarks.harness import ASKS_ALL, ROOT, Amount, Table, asks_all, least_cpu_s, median_s
from powertui.data import search
from powertui.data.formats import registry
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import Clock, ScalarSeries, Steps
from powertui.data.run import clocks, epochs, marks
from powertui.data.run.steps import StepsAndOthers
from powertui.data.tools import op_stats

if TYPE_CHECKING:
    from tests.e2e.terminal import Terminal

EVENTS = 10_000_000
NAMES = (0, 100_000, 1_000_000) if asks_all() else (0, 1_000_000)  # 0: as recorded
_LEFT_OUT = "" if asks_all() else f" {ASKS_ALL}=1 adds 100,000 names."
SIZE = (200, 50)
TURNS = Amount(1, 2, "turns")  # with many names each takes a minute of a busy machine


def columns() -> None:
    """The op table and search without a screen."""
    heads = [
        "names that occur",
        "op table",
        "sorted by self",
        "by name",
        "by type",
        "filter",
        "search: text",
        "search: expression",
        "every event",
    ]
    table = Table(f"Names in a profile of {EVENTS:,} events, in CPU s, the least of {TURNS}", heads)
    for names in NAMES:
        trace = list(registry.load(str(make_big.make(EVENTS, names))))[-1]
        stats = op_stats.op_stats(trace)

        def fresh(stats: op_stats.OpStats, key: str) -> None:
            stats._order.clear()
            stats._types.clear()
            stats.order(key)

        table.row(
            f"{len(stats):,}",
            *(
                f"{least_cpu_s(TURNS.count, action):.2f}"
                for action in (
                    partial(op_stats.op_stats, trace),
                    partial(fresh, stats, "self"),
                    partial(fresh, stats, "name"),
                    partial(fresh, stats, "type"),
                    partial(stats.matching, "conv2d_7"),
                    partial(search.find, trace, "conv2d"),
                    partial(search.find, trace, r"conv2d.*\.\d7", regex=True),
                    partial(search.find, trace, "e"),
                )
            ),
        )
    table.note(f"Target for a million names: the table and a search within 1.5 s.{_LEFT_OUT}")
    table.print()


@dataclass(frozen=True)
class Answered:
    """Seconds until an answer stood on the screen, and the longest pause of the screen
    until then.
    """

    table: float
    escape: float
    search: float
    pause_ms: float


def silence(terminal: Terminal, seconds: float) -> None:
    """Read until nothing came for so long.

    Whether the program rests cannot be asked: the heartbeat in it never does.
    """
    since = time.monotonic()
    while time.monotonic() - since < seconds:
        if terminal.read(0.02) > 0:
            since = time.monotonic()


def on_screen(path: Path) -> Answered:
    """`t`, Esc, and a search, in the real program."""
    from tests.e2e.terminal import Terminal, environment

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "pauses.json")
        env = environment(extra={"PYTHONPATH": str(ROOT)})
        with Terminal(
            [sys.executable, "-c", PROGRAM, str(out), str(path)], size=SIZE, env=env
        ) as terminal:

            def until(keys: str, text: str) -> float:
                begin = time.monotonic()
                terminal.write(keys.encode())
                terminal.wait_for(text, limit=120)
                return time.monotonic() - begin

            terminal.wait_for(
                lambda shown: (
                    "host:CPU" in shown and " % of " not in shown and "reading" not in shown.lower()
                ),
                limit=240,
            )
            silence(terminal, 1.0)
            counted = until("t", "shares of the self")
            silence(terminal, 0.5)
            terminal.write(b"\x1b")
            terminal.wait_for(lambda shown: "shares of the self" not in shown, limit=60)
            begin = time.monotonic()
            terminal.write(b"tt")  # opened and closed again while it is counted
            silence(terminal, 0.3)
            escaped = time.monotonic() - begin - 0.3
            found = until("/conv2d\r", "events (that )?match")
            terminal.press("q")
            terminal.wait_exit()
        pauses = [1000 * seconds for seconds, reading in json.loads(out.read_text()) if not reading]
    return Answered(counted, escaped, found, max(pauses))


def screens() -> None:
    """The same on the screen."""
    heads = ["names", "t → table", "t and closed at once", "search → first hit", "longest pause"]
    table = Table(f"Keys while names are counted, {EVENTS:,} events, worst of {TURNS}", heads)
    for names in NAMES:
        runs = [on_screen(make_big.make(EVENTS, names)) for _ in range(TURNS.count)]
        worst = [
            max(getattr(run, field) for run in runs)
            for field in ("table", "escape", "search", "pause_ms")
        ]
        table.row(
            f"{names:,}" if names else "870",
            *(f"{value:.2f} s" for value in worst[:3]),
            f"{worst[3]:.0f} ms",
        )
    targets = "Targets: 1.5 s for table and search, keys answered within 100 ms meanwhile."
    table.note(targets + _LEFT_OUT)
    table.print()


def training(count: int) -> tuple[StepsAndOthers, list[EventLog], Clock, int]:
    """So many epochs of three steps, with the scalars of training and validation."""
    start = np.arange(3 * count, dtype=np.int64) * 10**10
    number, epoch = np.tile(np.arange(3), count), np.repeat(np.arange(count), 3).astype(np.int32)
    steps = Steps(
        number,
        start,
        np.full(len(start), 9 * 10**9, np.int64),
        epoch,
        ["train"] * len(start),
        "generated",
    )
    zero = 1_700_000_000 * 10**9
    logs = []
    for group, later in (("train", 0), ("validation", 3000)):
        wall = zero + np.arange(1, count + 1, dtype=np.int64) * 3 * 10**7 + later
        series = ScalarSeries(
            "",
            group,
            "epoch_loss",
            np.arange(count, dtype=np.int64),
            wall,
            np.linspace(1, 0, count),
        )
        path = f"{group}/events.out.tfevents.1700000000.vm.1.2.v2"
        logs.append(EventLog(path, group, (series,), int(wall[0]), int(wall[-1]), zero))
    return (
        StepsAndOthers(steps, marks.join_marks([]), True),
        logs,
        Clock(zero, zero + 10, "generated"),
        int(start[-1]) + 10**10,
    )


def many_epochs() -> None:
    """Epochs from steps and tfevents, and the clock that they give."""
    from dataclasses import replace

    from tests.synthetic import traces

    table = Table(
        "Epochs of three steps, with scalars of training and validation",
        ["epochs", "placed", "µs an epoch", "clock from them"],
    )
    for count in (3_000, 10_000, 30_000):
        found, logs, clock, end = training(count)
        trace = traces.trace({("/host:CPU", "python"): [(0, end, "x")]})
        placed = median_s(3, partial(epochs.place, replace(trace, clock=clock), found, logs))
        timed = median_s(
            3, partial(clocks.best_clock, trace, None, logs, steps=found.steps, epoch_num=True)
        )
        table.row(f"{count:,}", f"{placed:.2f} s", f"{placed / count * 1e6:.0f}", f"{timed:.2f} s")
    table.note("Target: 30,000 epochs within 1 s.")
    table.print()


def main() -> None:
    """All tables."""
    columns()
    screens()
    many_epochs()


if __name__ == "__main__":
    main()
