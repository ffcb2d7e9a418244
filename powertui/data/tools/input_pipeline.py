"""Whether the program waits for its input, by how much, and where the host spends the time:
TensorBoard's input pipeline.

The devices' side is the breakdown of steps. The host's side are the ops that read, prepare and
enqueue data, each by what it does. Percentages of ops are of all these ops' own time, so that
totals may exceed 100 %.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui.data import name_shapes
from powertui.data.asked import Compat
from powertui.data.columns import Column
from powertui.data.model import ProcessKind, Trace
from powertui.data.opened import Profile
from powertui.data.run.stat_carriers import rows_named
from powertui.data.table import Fact, Result, Table, if_missing
from powertui.data.tools import advice, framework_advice, host_ops, hosts, shares
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.event_types import EventType
from powertui.data.tools.framework import Framework, framework_of
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple

# Categories of ops, as TensorBoard's table names them.
ENQUEUE = "Enqueue"
DEMANDED = "Demanded file read"
ADVANCED = "Advanced file read"
PREPROCESSING = "Preprocessing"
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
    steps = hosts.steps_in_window(question)
    ops = _merged(
        [input_ops(profile, lo, hi, question.compat) for profile, lo, hi in question.parts]
    )
    traces = [profile.trace for profile, _, _ in question.parts]
    breakup = broken_up(traces, ops, steps, question.compat)
    framework = framework_of(question.profile.trace)
    return Result(
        id="input_pipeline_analyzer",
        title="Input pipeline",
        tables=(_steps(question, steps), _ops(ops), _todo(breakup, framework)),
        facts=tuple(_facts(steps, ops, breakup, framework)),
        notes=tuple(steps.notes),
        mode=question.compat,
    )


def _facts(
    steps: Breakdown, ops: list[InputOp], breakup: Breakup, framework: Framework
) -> list[Fact]:
    parts = shares.step_shares(steps)
    bound, words = advice.bound_by_input(parts)

    def share(id: str, label: str, value: float | None) -> Fact:
        why = if_missing(value, "no step was measured")
        return Fact(id, label, value, "share", "%", why=why)

    facts = [
        Fact("input_conclusion", "input", words),
        Fact("bottleneck", "bottleneck", bound),
        Fact("summary_nextstep", "next", _next(bound, ops, framework)),
        share("input_percent", "waiting for input", parts.input if parts else None),
        share("output_percent", "output", parts.output if parts else None),
        share(
            "idle_percent",
            "device idle" if steps.has_device else "neither input, output nor device",
            parts.idle if parts else None,
        ),
        share("compute_percent", "device compute", parts.compute if parts else None),
    ]
    for (id, label), ps in zip(_PARTS, breakup, strict=True):
        facts.append(Fact(f"{id}_us", label, round(ps), "duration", "us"))
    if len(steps):
        times = shares.spread(steps.category("input"))
        assert times is not None
        if times.deviation is None:
            deviation = None
        else:
            deviation = round(times.deviation)
        facts += [
            Fact("input_time_s", "input of a step", round(times.mean), "duration"),
            Fact(
                id="input_time_deviation_s",
                label="its deviation",
                value=deviation,
                kind="duration",
                why=if_missing(deviation, "one step has none"),
            ),
        ]
    return facts


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
    host = host_ops.asked(profile, lo, hi, compat)
    ops = []
    for number, op in enumerate(host.table):
        category = category_of(op.name, op.type)
        if category and host.occurrences[number]:
            ops.append(
                InputOp(
                    name=op.name,
                    occurrences=int(host.occurrences[number]),
                    total=int(host.total[number]),
                    self_time=int(host.self_time[number]),
                    category=category,
                )
            )
    if compat == "corrected":
        ops += _loaders(profile.trace, lo, hi)
    return sorted(ops, key=_most_self_time_first)


def _most_self_time_first(op: InputOp) -> tuple[int, str]:
    return -op.self_time, op.name


def _merged(parts: list[list[InputOp]]) -> list[InputOp]:
    """The ops of several hosts together: figures of one op are added up."""
    if len(parts) == 1:
        return parts[0]
    merged: dict[tuple[str, str], InputOp] = {}
    for op in (op for part in parts for op in part):
        key = (op.name, op.category)
        sums = merged.get(key)
        if sums is not None:
            op = op._replace(
                occurrences=sums.occurrences + op.occurrences,
                total=sums.total + op.total,
                self_time=sums.self_time + op.self_time,
            )
        merged[key] = op
    return sorted(merged.values(), key=_most_self_time_first)


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
    waits: dict[str, tuple[int, int]] = {}
    for index in range(len(trace.names)):
        name = trace.names.full(index)
        if _LOADER.match(name):
            count, total = _waits(trace, index, lo, hi)
            if count:
                sums = waits.get(name, (0, 0))
                waits[name] = sums[0] + count, sums[1] + total
    return [
        InputOp(
            name=name,
            occurrences=count,
            total=total,
            self_time=total,
            category=PREPROCESSING,
        )
        for name, (count, total) in waits.items()
    ]


def _waits(trace: Trace, name: int, lo: int, hi: int) -> tuple[int, int]:
    """(how many events of a name the hosts ran in a window, how long in it)."""
    count = total = 0
    for process, track in trace.tracks():
        if process.kind is ProcessKind.HOST:
            events = track.events[np.flatnonzero(track.events.name == name)]
            start = np.maximum(events.start, lo)
            end = np.minimum(events.end, hi)
            duration = end - start
            inside = duration >= 0
            count += int(inside.sum())
            total += int(duration[inside].sum())
    return count, total


def broken_up(
    traces: Sequence[Trace], ops: list[InputOp], steps: Breakdown, compat: Compat
) -> Breakup:
    """Return the input's time on the host by what is done.

    The time for enqueuing comes from the threads that enqueue, or else from the part of a step that
    copies to the device take.
    """
    sums = dict.fromkeys((ENQUEUE, DEMANDED, ADVANCED, PREPROCESSING), 0.0)
    for op in ops:
        sums[op.category] += op.self_time
    enqueue = sums[ENQUEUE]
    # The ops that are no enqueuing: reading on demand, reading ahead, preprocessing.
    recorded = sums[DEMANDED] + sums[ADVANCED] + sums[PREPROCESSING]
    copies = steps_ps = 0.0
    if len(steps):
        copies = float(steps.time_by_type((EventType.HOST_TO_DEVICE,)).sum())
        steps_ps = float(steps.length.sum())
    if compat == "corrected" and not enqueue:  # GPUs: nothing enqueues, copies do
        return Breakup(
            enqueue=copies,
            demanded=sums[DEMANDED],
            advanced=sums[ADVANCED],
            preprocessing=sums[PREPROCESSING],
            unclassified=0.0,
        )
    ratio = _enqueuing(traces)
    if ratio is None:
        ratio = min(1.0, copies / max(1.0, steps_ps))
    if ratio:
        rest = enqueue * (1 - ratio) / ratio
    else:
        rest = recorded
    if recorded:
        scale = min(1.0, rest / recorded)
    else:
        scale = 0.0
    return Breakup(
        enqueue=enqueue,
        demanded=sums[DEMANDED] * scale,
        advanced=sums[ADVANCED] * scale,
        preprocessing=sums[PREPROCESSING] * scale,
        unclassified=max(0.0, rest - recorded * scale),
    )


def _enqueuing(traces: Sequence[Trace]) -> float | None:
    """The part of their time that threads spend enqueuing for a TPU; None where nothing does."""
    enqueuing = between = 0
    for trace in traces:
        names = name_shapes.beginning(trace.names, "InfeedEnqueue")
        if not names.any():
            continue
        for process, track in trace.tracks():
            if process.kind is not ProcessKind.HOST:
                continue
            rows = rows_named(track.events.name, names)
            if len(rows) > 1:
                start = track.events.start[rows]
                order = np.argsort(start, kind="stable")
                between += int(start[order[-1]] - start[order[0]])
                # From the first begin to the last: the last one itself does not count.
                enqueuing += int(track.events.duration[rows[order[:-1]]].sum())
    if between:
        return min(1.0, enqueuing / between)
    return None


def _next(bound: str, ops: list[InputOp], framework: Framework) -> str:
    if bound == "device":
        return "The input needs no work: see the ops and kernels."
    if bound == "unknown":
        return "Name what marks a step: --step-marker REGEX."
    if framework is not Framework.TENSORFLOW:
        return framework_advice.EXAMINE_INPUT[framework]
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
    share = np.empty(0)
    if len(steps):
        share = np.divide(steps.category("input"), np.maximum(1, steps.length))
    columns = (
        *shares.columns(steps),
        Column(
            id="inputPercent",
            label="input of it",
            kind="share",
            values=share,
            unit="%",
            weight=7,
            head="Input time as % of step time",
        ),
    )
    return shares.step_table(question, steps, columns)


def _ops(ops: list[InputOp]) -> Table:
    all_ps = max(1, sum(op.self_time for op in ops))
    total = np.array([op.total for op in ops], np.int64)
    self_time = np.array([op.self_time for op in ops], np.int64)
    columns = (
        Column("opName", "op", "text", [op.name for op in ops], weight=9, head="Input Op"),
        Column(
            id="count",
            label="count",
            kind="integer",
            values=np.array([op.occurrences for op in ops], np.int64),
            weight=6,
            head="Count",
        ),
        Column(
            id="timeInMs",
            label="total",
            kind="duration",
            values=total,
            unit="ms",
            weight=7,
            head="Total Time (in ms)",
        ),
        Column(
            id="timeInPercent",
            label="of input",
            kind="share",
            values=total / all_ps,
            weight=4,
            head="Total Time (as % of total input-processing time)",
        ),
        Column(
            id="selfTimeInMs",
            label="self",
            kind="duration",
            values=self_time,
            unit="ms",
            weight=9,
            head="Total Self Time (in ms)",
        ),
        Column(
            id="selfTimeInPercent",
            label="self of input",
            kind="share",
            values=self_time / all_ps,
            weight=8,
            head="Total Self Time (as % of total input-processing time)",
        ),
        Column(
            id="category",
            label="what it does",
            kind="text",
            values=[op.category for op in ops],
            weight=5,
            head="Category",
        ),
    )
    empty = "No op of an input pipeline was recorded."
    return Table(
        id="host_ops",
        title="Ops of the input pipeline on the host",
        columns=columns,
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
    ("Preprocessing", "", "preprocessing"),
    ("Anything else", "", "unclassified"),
)


def _todo(breakup: Breakup, framework: Framework) -> Table:
    in_words_of_framework = {
        "preprocessing": framework_advice.PREPARE_IN_PARALLEL[framework],
        "unclassified": framework_advice.EXAMINE_OTHER_INPUT[framework],
    }
    parts = [
        (label, in_words_of_framework.get(field, advice), getattr(breakup, field))
        for label, advice, field in _DO
    ]
    parts = [part for part in parts if part[2] > 0]
    parts.sort(key=lambda part: -part[2])
    labels = [label for label, _, _ in parts]
    what_to_do = [advice for _, advice, _ in parts]
    times = np.array([ps for _, _, ps in parts], np.float64)
    total = max(1.0, sum(times.tolist()))
    columns = (
        Column("what", "what", "text", labels, weight=9),
        Column("time_s", "time", "duration", np.rint(times).astype(np.int64), weight=8),
        Column("share", "share", "share", times / total, weight=8),
        Column("do", "what to do", "text", what_to_do, weight=7),
    )
    return Table(
        id="breakdown",
        title="Time for input on the host, by what is done",
        columns=columns,
        empty="Nothing of it was recorded.",
        key=("what",),
        noun="part",
    )
