"""Which files of a folder are PyTorch traces, and which of those are one run.

`tensorboard_trace_handler` writes `<worker>.<time>.pt.trace.json[.gz]` straight into its folder, a
file for every rank and cycle of the schedule; `export_chrome_trace` writes under any name. Ranks of
one cycle are the hosts of one run: files with a time in their names, or names that differ in
numbers alone. Every other file is a run of its own. The rank stands in the file's head, else in its
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from powertui.data.logdir.tree import FoundFile, head_of
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

__all__ = ["TraceFile", "cycles", "hosts", "process", "traces"]

_ENDING = late_pattern(r"(?:\.pt\.trace)?\.json(?:\.gz)?$", re.IGNORECASE)
_DIGITS = late_pattern(r"\d+")
_TIME = late_pattern(r"\.(\d{10,20})$")
_HANDLERS = late_pattern(
    r"(.+_\d+)\.\d{10,20}\.pt\.trace\.json", re.IGNORECASE
)  # <host>_<process id>.<time>
_RANK_IN_NAME = late_pattern(r"rank[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_RANK = late_pattern(rb'"distributedInfo"\s*:\s*\{[^}]*?"rank"\s*:\s*(\d{1,6})')
_HEAD = 65_536  # Kineto writes the rank into the head of a file, before the events


@dataclass(frozen=True)
class TraceFile:
    """One PyTorch trace, by its name and head."""

    file: FoundFile
    worker: str  # its name without ending and time
    time: int  # the number in its name; 0 for none
    rank: int | None

    @property
    def suffix(self) -> str:
        """As the reader names it."""
        if self.file.name.lower().endswith(".gz"):
            return "pt.trace.json.gz"
        return "pt.trace.json"

    @property
    def stem(self) -> str:
        """Its name without its ending."""
        return _ENDING.sub("", self.file.name)


def traces(files: Iterable[FoundFile]) -> list[TraceFile]:
    """Those of these files that are PyTorch traces.

    Only files that could be are opened, and only their heads are read.
    """
    from powertui.data.formats import kineto

    traces = []
    for file in files:
        if not _ENDING.search(file.name) or file.size < 32:
            continue
        head = head_of(file.path, _HEAD)
        if not head or kineto.sniff(head, file.path) < kineto.PYTORCH_CONFIDENCE:
            continue
        stem = _ENDING.sub("", file.name)
        time = _TIME.search(stem)
        rank = _RANK.search(head) or _RANK_IN_NAME.search(stem)
        traces.append(
            TraceFile(
                file=file,
                worker=_TIME.sub("", stem),
                time=int(time[1]) if time is not None else 0,
                rank=int(rank[1]) if rank is not None else None,
            )
        )
    return traces


def cycles(traces: Sequence[TraceFile]) -> list[list[TraceFile]]:
    """The runs: the first file of each rank together, the second of each, and so on; files without
    a rank each alone.
    """
    groups: dict[str, list[TraceFile]] = {}
    for trace in sorted(traces, key=lambda trace: (trace.time, trace.file.name)):
        # Without a time in their names, files whose names differ in digits alone go together.
        if trace.time:
            group = ""
        else:
            group = "name " + _DIGITS.sub("0", trace.stem)
        groups.setdefault(group, []).append(trace)
    return [run for group in groups.values() for run in _turns(group)]


def hosts(cycle: Sequence[TraceFile]) -> list[str]:
    """What the ranks of a cycle are called: the same in every cycle, for a process is one in all of
    its cycles.
    """
    workers = [trace.worker for trace in cycle]
    if all(workers) and len(set(workers)) == len(workers):
        return workers
    return [trace.stem for trace in cycle]


def process(name: str) -> str | None:
    """The process (`vm_4711`) whose trace this is, by a file's name as the handler makes it without
    being told another.
    """
    match = _HANDLERS.match(name)
    return match[1] if match is not None else None


def _turns(traces: Sequence[TraceFile]) -> list[list[TraceFile]]:
    """The runs of traces that are in the order of time."""
    if len({trace.rank for trace in traces if trace.rank is not None}) < 2:
        return [[trace] for trace in traces]
    runs: list[list[TraceFile]] = []
    without_rank: list[list[TraceFile]] = []
    runs_of_rank: dict[int, int] = {}
    for trace in traces:
        if trace.rank is None:
            without_rank.append([trace])
            continue
        turn = runs_of_rank.get(trace.rank, 0)
        runs_of_rank[trace.rank] = turn + 1
        if turn == len(runs):
            runs.append([])
        runs[turn].append(trace)
    return [sorted(run, key=lambda trace: trace.rank or 0) for run in runs] + without_rank
