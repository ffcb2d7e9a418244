"""TensorBoard's tools on profiles of 0.1 to 10 million events: seconds, CPU and memory beyond
opening, and how they grow.

Each size runs in a process of its own that opens the run, reads the kernel's account of it, and
then asks one tool after the other, as a person does who goes from page to page. The large file is
keras_cifar played over and over (`make_big.py`): its steps and epochs grow with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.harness import EXTRA_DATA, ROOT, Table, python
from benchmarks.make_big import make

SIZES = (100_000, 1_000_000, 10_000_000)
TOOLS = (
    "overview_page",
    "framework_op_stats",
    "kernel_stats",
    "input_pipeline_analyzer",
    "tf_data_bottleneck_analysis",
    "op_profile",
    "hlo_stats",
    "event_sets",
)
# What the target counts together: overview, op stats, kernel stats, input pipeline.
TARGET = ("overview_page", "framework_op_stats", "kernel_stats", "input_pipeline_analyzer")

_CODE = """
import json, resource, sys, time
from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question

def now():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024

begin = now()
opened = Opened(next(entry for entry in logdir.scan({path!r}).runs if entry.profiles))
trace = opened.profiles[0].trace
opened.profiles[0].steps
last = now()
told = [["open", last[0] - begin[0], last[1] - begin[1], last[2], trace.event_count]]
known = [tool.name for tool in registry.TOOLS]
for name in {tools!r}:
    if name in known:
        registry.get(name).answer(Question(opened))
        here = now()
        told.append([name, here[0] - last[0], here[1] - last[1], here[2], here[2] - last[2]])
        last = here
print(json.dumps(told))
"""


def measured(path: Path) -> list[list[Any]]:
    """[what, seconds, CPU seconds, peak bytes so far, events or growth of the peak] of opening,
    then of each tool.
    """
    folder = path.parents[3] if path.name.endswith(".xplane.pb") else path
    found = python(_CODE.format(path=str(folder), tools=TOOLS), env={"PYTHONPATH": str(ROOT)})
    if found.code:
        raise RuntimeError(found.stdout[-500:])
    told: list[list[Any]] = json.loads(found.stdout.splitlines()[-1])
    return told


def grown(told: list[list[Any]], names: tuple[str, ...]) -> int:
    """How much the peak grew while these were asked."""
    return sum(row[4] for row in told[1:] if row[0] in names)


def main() -> None:
    """The tables."""
    runs = {f"{events:,}": measured(make(events)) for events in SIZES}
    if (EXTRA_DATA / "own" / "keras_cifar").is_dir():
        runs["keras_cifar"] = measured(EXTRA_DATA / "own" / "keras_cifar")
    _seconds(runs)
    _together(runs)


def _seconds(runs: dict[str, list[list[Any]]]) -> None:
    table = Table("Tools beyond opening, by events: seconds (CPU seconds)", ["tool", *runs])
    for at, (name, *_) in enumerate(next(iter(runs.values()))):
        table.row(name, *(f"{told[at][1]:.3f} ({told[at][2]:.3f})" for told in runs.values()))
    table.note("Asked one after the other in one process; what one worked out, the next one finds.")
    table.print()


def _together(runs: dict[str, list[list[Any]]]) -> None:
    """Against the target, and how it grows."""
    columns = ["events", "seconds (CPU)", "µs/event", "peak grows by", "B/event"]
    table = Table("Overview, op stats, kernel stats and input pipeline together", columns)
    for name, told in runs.items():
        events = told[0][4]
        mine = [row for row in told if row[0] in TARGET]
        grows = grown(told, TARGET)
        seconds = sum(row[1] for row in mine)
        cpu = sum(row[2] for row in mine)
        table.row(
            name,
            f"{seconds:.2f} ({cpu:.2f})",
            f"{seconds / events * 1e6:.3f}",
            f"{grows / 1e6:.0f} MB",
            f"{grows / events:.1f}",
        )
    table.note("Target: 2 s and 10 B/event on ten million, beyond opening; linear.")
    table.print()


if __name__ == "__main__":
    main()
