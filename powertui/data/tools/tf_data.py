"""tf.data's pipelines as an answer: whether they hold the program up, which iterator is the
bottleneck of each, and all iterators as a tree with their own time.

A pipeline with a call of more than 50 µs may hold the program up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from powertui import units
from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.model import Bools, Int64s, Trace
from powertui.data.sorted_columns import rows_of_each
from powertui.data.table import Fact, Place, Result, Table, if_missing
from powertui.data.tools import breakdown
from powertui.data.tools.advice import INPUT_SOME
from powertui.data.tools.iterator_calls import WORKS_AHEAD, IteratorCalls, iterator_calls
from powertui.data.tools.registry import Question
from powertui.data.tools.tf_data_pipelines import (
    SLOW_CALL_PS,
    Pipeline,
    find_pipelines,
    iterator_kind,
    suggestion,
)
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple


def answer(question: Question) -> Result:
    """The pipelines of one host in the window, the slowest first."""
    trace = question.profile.trace
    calls = iterator_calls(trace, *question.window)
    pipelines = find_pipelines(trace, calls)
    sentence, input_share = _conclusion(question, trace, calls, pipelines)
    if pipelines:
        is_slow = any(pipeline.most > SLOW_CALL_PS for pipeline in pipelines)
    else:
        is_slow = None
    why_unknown = if_missing(is_slow, "not recorded")
    if not pipelines:
        no_share = "not recorded"
    elif is_slow:
        no_share = "no step was measured"
    else:
        no_share = "next to nothing: every batch was ready"
    why_no_share = if_missing(input_share, no_share)
    facts = (
        Fact("conclusion", "tf.data", sentence),
        Fact("is_input_bound", "some call over 50 µs", is_slow, "flag", why=why_unknown),
        Fact("share", "waiting for it", input_share, "share", why=why_no_share),
        Fact("pipelines", "pipelines", len(pipelines), "integer"),
    )
    return Result(
        id="tf_data_bottleneck_analysis",
        title="tf.data",
        tables=(
            _table(question, trace, calls, pipelines),
            _iterators(question, trace, calls, pipelines),
        ),
        facts=facts,
        mode=question.compat,
    )


def _conclusion(
    question: Question,
    trace: Trace,
    calls: IteratorCalls,
    pipelines: list[Pipeline],
) -> tuple[str, float | None]:
    """(whether the pipelines hold the program up, in a sentence; the part of the steps' time that
    goes into waiting for them).
    """
    if not len(calls):
        return "No pipeline of tf.data was recorded.", None
    if not pipelines:
        return "Iterators of tf.data ran, but no call of a root was recorded.", None
    worst = pipelines[0]
    # tf.data's own threshold: a batch that is ready comes within microseconds.
    if worst.most <= SLOW_CALL_PS:
        return "The input pipeline delays nothing: every batch was ready within 50 µs.", None
    late = (
        f"up to {units.duration(worst.most)} a call, {worst.slow:,} of {len(worst.calls):,} "
        "calls over 50 µs"
    )
    share = _input_share(question)
    if share is not None:
        late += f", input {100 * share:.1f} % of the steps' time"
        if share < INPUT_SOME:
            slightly = (
                f"The input pipeline delays the program slightly: {late}. There is little to gain."
            )
            return slightly, share
    path = trace.names.full(worst.bottleneck)
    sentence = (
        f"The input pipeline delays the program: {late}. {iterator_kind(path)} is the bottleneck: "
        f"{suggestion(path)}"
    )
    return sentence, share


def _input_share(question: Question) -> float | None:
    """The part of the steps' time in the window that is input; None without steps."""
    steps = breakdown.step_breakdown(question.profile, question.compat)
    if len(steps):
        lo, hi = question.window
        end = steps.start + steps.length
        steps = steps.take(touches(steps.start, end, lo, hi))
    if len(steps):
        step_time = int(steps.length.sum())
    else:
        step_time = 0
    if not step_time:
        return None
    return min(1.0, float(steps.category("input").sum()) / step_time)


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _table(
    question: Question,
    trace: Trace,
    calls: IteratorCalls,
    pipelines: list[Pipeline],
) -> Table:
    def us_column(id: str, label: str, values: list[int], weight: int) -> Column:
        return Column(id, label, "duration", np.array(values, np.int64), unit="us", weight=weight)

    labels = []
    for number, pipeline in enumerate(pipelines, start=1):
        labels.append(f"{number}: {pipeline.name}")
    call_counts = [len(pipeline.calls) for pipeline in pipelines]
    slow_counts = [pipeline.slow for pipeline in pipelines]
    means = [round(pipeline.mean) for pipeline in pipelines]
    paths = [trace.names.full(pipeline.bottleneck) for pipeline in pipelines]
    kinds = [iterator_kind(path) for path in paths]
    latencies = [pipeline.latency for pipeline in pipelines]
    suggestions = [suggestion(path) for path in paths]
    columns = (
        text_column("pipeline", "pipeline", labels, weight=8),
        int_column("calls", "calls", "integer", call_counts, weight=5),
        int_column("slow_calls", "over 50 µs", "integer", slow_counts, weight=7),
        us_column("avg_latency_us", "mean", means, 6),
        us_column("min_latency_us", "shortest", [pipeline.least for pipeline in pipelines], 2),
        us_column("max_latency_us", "longest", [pipeline.most for pipeline in pipelines], 8),
        text_column("bottleneck", "bottleneck of the longest", kinds, weight=9),
        int_column("bottleneck_s", "its own time", "duration", latencies, weight=5),
        text_column("bottleneck_path", "its path", paths, weight=3),
        text_column("suggestion", "what to do", suggestions, weight=4),
    )

    return Table(
        id="pipelines",
        title="Pipelines, the slowest call first",
        columns=columns,
        place=lambda row: _place(question, calls, pipelines[row].slowest),
        order=("max_latency_us", True),
        empty="No call of a pipeline's root was recorded.",
        key=("pipeline",),
        noun="pipeline",
    )


def _place(question: Question, calls: IteratorCalls, call: int) -> Place:
    return Place(
        run=question.opened.name,
        host=question.host,
        lo=int(calls.start[call]),
        hi=int(calls.end[call]),
        track=int(calls.track[call]),
    )


class _Node(NamedTuple):
    """One iterator in the tree, with its calls."""

    path: str
    depth: int
    rows: Int64s


def _tree(trace: Trace, calls: IteratorCalls) -> list[_Node]:
    """The iterators by their paths, each below its parent."""
    rows_by_path: dict[str, list[Int64s]] = {}
    for rows in rows_of_each(calls.name):
        path = _path(trace, int(calls.name[rows[0]]))
        rows_by_path.setdefault(path, []).append(rows)
    nodes: list[_Node] = []
    for path in sorted(rows_by_path, key=lambda path: path.split("::")):
        depth = path.count("::") - 1
        nodes.append(_Node(path, depth, np.concatenate(rows_by_path[path])))
    return nodes


def _path(trace: Trace, name: int) -> str:
    """An iterator's path. `ForeverRepeat[7]` counts its rounds: they are one iterator."""
    return re.sub(r"(Repeat)\[\d+\]", r"\1", trace.names.full(name))


def _iterators(
    question: Question,
    trace: Trace,
    calls: IteratorCalls,
    pipelines: list[Pipeline],
) -> Table:
    nodes = _tree(trace, calls)
    blamed: dict[str, int] = {}
    for pipeline in pipelines:
        for name, times in pipeline.blamed.items():
            path = _path(trace, name)
            blamed[path] = blamed.get(path, 0) + times

    def place(row: int) -> Place:
        """The call with the most time of its own."""
        rows = nodes[row].rows
        longest = int(rows[int(calls.own[rows].argmax())])
        return _place(question, calls, longest)

    return Table(
        id="iterators",
        title="Iterators, each below the one that asks it",
        columns=tuple(_iterator_columns(calls, nodes, blamed)),
        place=place,
        order=None,
        empty="No iterator of tf.data ran.",
        key=("path",),
        noun="iterator",
    )


def _iterator_columns(
    calls: IteratorCalls,
    nodes: list[_Node],
    blamed: dict[str, int],
) -> Iterator[Column]:

    def sums(of_calls: Int64s | Bools) -> Int64s:
        """Over the calls of each iterator."""
        totals = [of_calls[node.rows].sum() for node in nodes]
        return np.array(totals, np.int64)

    paths = [node.path for node in nodes]
    labels = []
    for node in nodes:
        indent = "  " * node.depth
        name = node.path.rpartition("::")[2]
        labels.append(indent + name)
    count = np.array([len(node.rows) for node in nodes], np.int64)
    self_time = sums(calls.own)
    mean_self_time = self_time // np.maximum(1, count)
    bottlenecks = [blamed.get(path) for path in paths]
    ahead = np.array([iterator_kind(path) in WORKS_AHEAD for path in paths], np.bool_)
    yield text_column("iterator", "iterator", labels, weight=9)
    yield Column("calls", "calls", "integer", count, weight=5)
    yield Column("total_s", "total", "duration", sums(calls.end - calls.start), weight=6)
    yield Column("self_s", "self", "duration", self_time, weight=9)
    yield Column("avg_self_s", "self a call", "duration", mean_self_time, weight=7)
    yield Column("blocking", "delayed a step", "integer", sums(calls.blocking), weight=4)
    yield optional("bottleneck", "bottleneck", "integer", bottlenecks, weight=8)
    yield Column("ahead", "works ahead", "flag", ahead, weight=3)
    yield text_column("path", "path", paths, weight=0)
