"""Whether the program waits for its input, by how much, and where the host spends the time:
TensorBoard's input pipeline.

The devices' side is the breakdown of steps. The host's side are the ops that read, prepare and
enqueue data, each by what it does. Percentages of ops are of all these ops' own time, so that
totals may exceed 100 %.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data import texts
from powertui.data.asked import Compat
from powertui.data.model import Int64s, ProcessKind, Trace
from powertui.data.opened import Profile
from powertui.data.run.marks import rows_named
from powertui.data.table import Column, Fact, Result, Table
from powertui.data.tools import advice, host_ops, hosts, shares
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.event_types import EventType
from powertui.data.tools.registry import Question
from powertui.data.window import touches

ENQUEUE, DEMANDED, ADVANCED, PREPROCESSING = (
    "Enqueue",
    "Demanded file read",
    "Advanced file read",
    "Preprocessing",
)
_READS = re.compile(
    r"::(?:TFRecord|TextLine|FixedLengthRecord|SSTable|RecordIO|ArrayRecord)(?:Dataset)?(?:V\d)?(?:\[\d+\])?$"
)
_AHEAD = re.compile(r"::(?:MemoryReader|MemoryWriter|Interleave|Prefetch|ParallelMap)")
_LOADER = re.compile(r"enumerate\(DataLoader\)#(\w+)")


class InputOp(NamedTuple):
    """One op of the input pipeline, over all threads. Times in ps."""

    name: str
    occurrences: int
    total: int
    self_time: int
    category: str


class Breakup(NamedTuple):
    """The time that input takes on the host by what is done, ps."""

    enqueue: float
    demanded: float
    advanced: float
    preprocessing: float
    unclassified: float


def answer(question: Question) -> Result:
    """The page, of the whole profile or of the steps that touch the window."""
    steps = hosts.steps_of(question)
    if question.lo is not None or question.hi is not None:
        steps = steps.take(touches(steps.start, steps.start + steps.length, *question.window))
    parts = shares.step_shares(steps)
    bound, words = advice.bound_by_input(parts)
    ops = _merged([input_ops(one, lo, hi, question.compat) for one, lo, hi in question.parts])
    parted = broken_up([one.trace for one, _, _ in question.parts], ops, steps, question.compat)
    facts = [
        Fact("input_conclusion", "input", words),
        Fact("bottleneck", "bottleneck", bound),
        Fact("summary_nextstep", "next", _next(bound, ops)),
        Fact(
            "input_percent",
            "waiting for input",
            parts.input if parts else None,
            "share",
            unit="%",
            why="no step was measured",
        ),
        Fact(
            "output_percent",
            "output",
            parts.output if parts else None,
            "share",
            unit="%",
            why="no step was measured",
        ),
        Fact(
            "idle_percent",
            "device idle" if steps.has_device else "neither input, output nor device",
            parts.idle if parts else None,
            "share",
            unit="%",
            why="no step was measured",
        ),
        Fact(
            "compute_percent",
            "device compute",
            parts.compute if parts else None,
            "share",
            unit="%",
            why="no step was measured",
        ),
        *(
            Fact(f"{id}_us", label, round(ps), "duration", "us")
            for (id, label), ps in zip(_PARTS, parted, strict=True)
        ),
    ]
    notes = list(steps.notes)
    if len(steps):
        times = shares.spread(steps.category("input"))
        assert times is not None
        facts += [
            Fact("input_time_s", "input of a step", round(times.mean), "duration"),
            Fact(
                "input_time_deviation_s",
                "its deviation",
                None if times.deviation is None else round(times.deviation),
                "duration",
                why="one step has none",
            ),
        ]
    return Result(
        "input_pipeline_analyzer",
        "Input pipeline",
        (_steps(question, steps), _ops(ops), _todo(parted)),
        facts=tuple(facts),
        notes=tuple(notes),
        mode=question.compat,
    )


_PARTS = (
    ("enqueue", "enqueuing"),
    ("demanded_file_read", "reading on demand"),
    ("advanced_file_read", "reading ahead"),
    ("preprocessing", "preprocessing"),
    ("unclassified_nonequeue", "anything else"),
)


def input_ops(profile: Profile, lo: int, hi: int, compat: Compat) -> list[InputOp]:
    """The host's ops that are part of the input pipeline, those with most time of their own
    first.
    """
    found = host_ops.asked(profile, lo, hi, compat)
    out = []
    for number, op in enumerate(found.table.ops):
        kind = category_of(op.name, op.type)
        if kind and found.occurrences[number]:
            out.append(
                InputOp(
                    op.name,
                    int(found.occurrences[number]),
                    int(found.total[number]),
                    int(found.self_time[number]),
                    kind,
                )
            )
    if compat == "corrected":
        out += _loaders(profile.trace, lo, hi)
    return sorted(out, key=lambda one: (-one.self_time, one.name))


def _merged(parts: list[list[InputOp]]) -> list[InputOp]:
    """The same of several hosts: figures of one op are added up."""
    if len(parts) == 1:
        return parts[0]
    sums: dict[tuple[str, str], InputOp] = {}
    for op in (op for part in parts for op in part):
        known = sums.get((op.name, op.category))
        sums[op.name, op.category] = (
            op
            if known is None
            else InputOp(
                op.name,
                known.occurrences + op.occurrences,
                known.total + op.total,
                known.self_time + op.self_time,
                op.category,
            )
        )
    return sorted(sums.values(), key=lambda one: (-one.self_time, one.name))


def category_of(name: str, kind: str) -> str:
    """What an op does for the input; "" for one that does nothing for it."""
    if name.startswith("InfeedEnqueue") or kind.startswith(("InfeedEnqueue", "MemcpyHToD")):
        return ENQUEUE
    if kind != "Dataset":
        return ""
    if _READS.search(name):
        return ADVANCED if _AHEAD.search(name) else DEMANDED
    return PREPROCESSING


def _loaders(trace: Trace, lo: int, hi: int) -> list[InputOp]:
    """PyTorch's loaders: `enumerate(DataLoader)#…` is how long the program waited for the next
    batch.
    """
    if trace.format != "kineto":
        return []
    out: dict[str, list[int]] = {}
    for index in range(len(trace.names)):
        name = trace.names.full(index)
        if _LOADER.match(name):
            for process, track in trace.tracks():
                if process.kind is ProcessKind.HOST:
                    rows = np.flatnonzero(track.events.name == index)
                    start = np.maximum(track.events.start[rows], lo)
                    end = np.minimum(track.events.start[rows] + track.events.duration[rows], hi)
                    kept = end >= start
                    if kept.any():
                        said = out.setdefault(name, [0, 0])
                        said[0] += int(kept.sum())
                        said[1] += int((end - start)[kept].sum())
    return [InputOp(name, count, time, time, PREPROCESSING) for name, (count, time) in out.items()]


def broken_up(
    traces: Sequence[Trace], ops: list[InputOp], steps: Breakdown, compat: Compat
) -> Breakup:
    """By what is done.

    How much is enqueuing is told by its threads, or by the part of a step that copies to the device
    take.
    """
    sums = dict.fromkeys((ENQUEUE, DEMANDED, ADVANCED, PREPROCESSING), 0.0)
    for op in ops:
        sums[op.category] += op.self_time
    enqueue = sums[ENQUEUE]
    three = sums[DEMANDED] + sums[ADVANCED] + sums[PREPROCESSING]
    copies = float(steps.time_by_type((EventType.HOST_TO_DEVICE,)).sum()) if len(steps) else 0.0
    if compat == "corrected" and not enqueue:  # GPUs: nothing enqueues, copies do
        return Breakup(copies, sums[DEMANDED], sums[ADVANCED], sums[PREPROCESSING], 0.0)
    ratio = _enqueuing(traces)
    if ratio is None:
        ratio = min(1.0, copies / max(1.0, float(steps.length.sum()))) if len(steps) else 0.0
    other = enqueue * (1 - ratio) / ratio if ratio else three
    scale = min(1.0, other / three) if three else 0.0
    return Breakup(
        enqueue,
        sums[DEMANDED] * scale,
        sums[ADVANCED] * scale,
        sums[PREPROCESSING] * scale,
        max(0.0, other - three * scale),
    )


def _enqueuing(traces: Sequence[Trace]) -> float | None:
    """The part of their time that threads spend enqueuing for a TPU; None where nothing does."""
    took = between = 0
    for trace in traces:
        names = texts.beginning(trace.names, "InfeedEnqueue")
        for process, track in trace.tracks() if names.any() else ():
            rows = (
                rows_named(track.events.name, names)
                if process.kind is ProcessKind.HOST
                else np.empty(0, np.int64)
            )
            if len(rows) > 1:
                start: Int64s = np.sort(track.events.start[rows])
                between += int(start[-1] - start[0])
                took += int(
                    track.events.duration[rows][
                        np.argsort(track.events.start[rows], kind="stable")
                    ][:-1].sum()
                )
    return min(1.0, took / between) if between else None


def _next(bound: str, ops: list[InputOp]) -> str:
    if bound == "device":
        return "The input needs no work: see the ops and kernels."
    if bound == "unknown":
        return "Name what marks a step: --step-marker REGEX."
    if any(op.category != ENQUEUE for op in ops):
        return (
            "See below which op of the pipeline takes the time, and see "
            "tf_data_bottleneck_analysis."
        )
    return (
        "The pipeline recorded nothing about itself: tf.data would show where its time goes; "
        "otherwise see the threads in the timeline."
    )


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _steps(question: Question, steps: Breakdown) -> Table:
    share = (
        np.divide(steps.category("input"), np.maximum(1, steps.length))
        if len(steps)
        else np.empty(0)
    )
    columns = (
        *shares.columns(steps),
        Column(
            "inputPercent",
            "input of it",
            "share",
            share,
            unit="%",
            weight=7,
            head="Input time as % of step time",
        ),
    )
    return shares.step_table(question, steps, columns)


def _ops(ops: list[InputOp]) -> Table:
    whole = max(1, sum(op.self_time for op in ops))
    total, own = (
        np.array(times, np.int64)
        for times in ([op.total for op in ops], [op.self_time for op in ops])
    )
    columns = (
        Column("opName", "op", "text", [op.name for op in ops], weight=9, head="Input Op"),
        Column(
            "count",
            "count",
            "integer",
            np.array([op.occurrences for op in ops], np.int64),
            weight=6,
            head="Count",
        ),
        Column(
            "timeInMs", "total", "duration", total, unit="ms", weight=7, head="Total Time (in ms)"
        ),
        Column(
            "timeInPercent",
            "of input",
            "share",
            total / whole,
            weight=4,
            head="Total Time (as % of total input-processing time)",
        ),
        Column(
            "selfTimeInMs",
            "self",
            "duration",
            own,
            unit="ms",
            weight=9,
            head="Total Self Time (in ms)",
        ),
        Column(
            "selfTimeInPercent",
            "self of input",
            "share",
            own / whole,
            weight=8,
            head="Total Self Time (as % of total input-processing time)",
        ),
        Column(
            "category",
            "what it does",
            "text",
            [op.category for op in ops],
            weight=5,
            head="Category",
        ),
    )
    empty = (
        "No op of an input pipeline was recorded: nothing of tf.data, and nothing that enqueues."
    )
    return Table(
        "host_ops",
        "Ops of the input pipeline on the host",
        columns,
        order=("selfTimeInMs", True),
        empty=empty,
        key=("opName",),
        noun="op",
    )


_DO = (
    ("Enqueuing", "Combine small pieces of input into fewer and larger ones.", "enqueue"),
    ("Reading on demand", "Read ahead: prefetch, interleave, larger reader buffers.", "demanded"),
    (
        "Reading ahead",
        "Tune prefetch, interleave's cycle length and the readers' buffers; faster storage.",
        "advanced",
    ),
    (
        "Preprocessing",
        "Raise num_parallel_calls of map(), or preprocess once before training.",
        "preprocessing",
    ),
    ("Anything else", "Move it into tf.data, where it can run ahead.", "unclassified"),
)


def _todo(parted: Breakup) -> Table:
    rows = sorted(
        ((label, do, getattr(parted, field)) for label, do, field in _DO), key=lambda row: -row[2]
    )
    rows = [row for row in rows if row[2] > 0]
    whole = max(1.0, sum(row[2] for row in rows))
    columns = (
        Column("what", "what", "text", [row[0] for row in rows], weight=9),
        Column(
            "time_s",
            "time",
            "duration",
            np.array([round(row[2]) for row in rows], np.int64),
            weight=8,
        ),
        Column(
            "share",
            "share",
            "share",
            np.array([row[2] / whole for row in rows], np.float64),
            weight=8,
        ),
        Column("do", "what to do", "text", [row[1] for row in rows], weight=7),
    )
    return Table(
        "breakdown",
        "Time for input on the host, by what is done",
        columns,
        empty="Nothing of it was recorded.",
        key=("what",),
        noun="part",
    )
