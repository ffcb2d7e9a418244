"""The tables on the first page of a run, and its chart of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.columns import Column, Field, columns_of, int_column, optional, text_column
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_S
from powertui.data.table import Chart, MarkedBars, Place, Series, Table
from powertui.data.tools import (
    device_facts,
    hosts,
    shares,
    threads,
    top_ops,
    tpu_cores,
    utilisation,
)
from powertui.data.tools.advice import Advice
from powertui.data.tools.breakdown import CATEGORIES, Breakdown
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Spread
from powertui.data.tools.step_time_parts import StepPart
from powertui.data.tools.threads import Thread
from powertui.data.tools.top_ops import Top
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple

# Categories that are listed even without any time. Input is not: that it took 0 s would be more
# than a profile shows in which none was recorded.
_ALWAYS_LISTED = ("All others",)


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


class _Part(NamedTuple):
    """A category of a step's time, or the step itself."""

    label: str
    times: Spread
    share: float

    @property
    def deviation(self) -> int | None:
        """ps; None of one step."""
        return None if self.times.deviation is None else round(self.times.deviation)


def _ps(id: str, label: str, value: Callable[[_Part], int | None], weight: int) -> Field[_Part]:
    """A column of times; only a deviation may be unknown."""
    return Field(id, label, "duration", value, weight=weight, always=id != "deviation_s")


_PART_FIELDS: tuple[Field[_Part], ...] = (
    Field("category", "category", "text", lambda part: part.label, weight=9),
    _ps("usual_s", "median", lambda part: round(part.times.usual), 8),
    _ps("average_s", "average", lambda part: round(part.times.mean), 9),
    Field("share", "of a step", "share", lambda part: part.share, weight=9, always=True),
    _ps("deviation_s", "deviation", lambda part: part.deviation, 6),
    _ps("minimum_s", "shortest", lambda part: part.times.least, 4),
    _ps("maximum_s", "longest", lambda part: part.times.most, 4),
)


def summary(steps: Breakdown) -> Table:
    """What a step spends its time on, on average."""
    return Table(
        id="summary",
        title="A step, on average",
        columns=columns_of(_parts(steps), _PART_FIELDS),
        empty="No step was measured.",
        key=("category",),
        noun="part",
    )


def _parts(steps: Breakdown) -> list[_Part]:
    """The categories that take time in usual steps, and the step; nothing without steps."""
    steps = steps.usual()
    if not len(steps):
        return []
    rows = [(label, steps.time_by_type(kinds)) for _, label, _, kinds in CATEGORIES]
    rows = [(label, times) for label, times in rows if times.any() or label in _ALWAYS_LISTED]
    all_ps = max(1, int(steps.length.sum()))
    parts = []
    for label, times in (*rows, ("Step time", steps.length)):
        spread = shares.spread(times)
        if spread is not None:
            parts.append(_Part(label, spread, spread.mean * len(steps) / all_ps))
    return parts


def steps(question: Question, steps: Breakdown, host_account: Account | None) -> Table:
    """Every step with its categories, and its joules where they are known."""
    columns = shares.columns(steps)
    joules = _step_joules(steps, host_account) if host_account is not None else None
    if joules is not None:
        columns = (*columns, joules)
    return shares.step_table(question, steps, columns)


def _step_joules(steps: Breakdown, host_account: Account) -> Column | None:
    """Joules of the steps that the account has, too; None where none of them is resolved."""
    energies = host_account.step_energies
    if not any(energy.resolved for energy in energies):
        return None
    # Steps of other profilers' rules are not those of the account: they meet by their start.
    row_by_start = {start: row for row, start in enumerate(host_account.steps.start.tolist())}
    joules = []
    for start in steps.start.tolist():
        row = row_by_start.get(start)
        energy = energies[row] if row is not None else None
        joules.append(energy.joules if energy is not None and energy.resolved else None)
    return optional("joules", "energy", "number", joules, unit="J", weight=5)


def charts(steps: Breakdown, findings: Iterable[Finding] = ()) -> tuple[Chart, ...]:
    """The time of each category in each step, with the steps that findings are about."""
    if not len(steps):
        return ()
    series = []
    for _, label, _, kinds in CATEGORIES:
        times = steps.time_by_type(kinds)
        if times.any():
            series.append(
                Series(
                    label=label,
                    x=steps.names,
                    y=times / PS_PER_S,
                )
            )
    return (
        Chart(
            id="step_time",
            title="Step time by category",
            series=tuple(series),
            kind="bar",
            x_label="step",
            y_label="time",
            usual_shares=_usual_shares(steps, series),
            marked=tuple(_marked_steps(steps, findings)),
        ),
    )


def by_kind(chart: Chart, steps: Breakdown, parts: Iterable[StepPart]) -> Chart:
    """The same chart with the parts of steps that `step_time_parts` tells apart."""
    series = []
    for part in parts:
        times_s = part.times / PS_PER_S
        series.append(
            Series(
                label=part.label,
                x=steps.names,
                y=times_s,
                kind=part.kind,
                shade=part.shade,
            )
        )
    return replace(
        chart,
        id="step_kinds",
        title="Step time by kind of work",
        series=tuple(series),
        usual_shares=_usual_shares(steps, series),
    )


def _usual_shares(steps: Breakdown, series: Iterable[Series]) -> tuple[float, ...]:
    """As the table of a step: of the steps that do not trace or compile."""
    usual = steps.usual()
    is_usual = np.isin(steps.start, usual.start)
    usual_s = max(1, int(usual.length.sum())) / PS_PER_S
    return tuple(float(row.y[is_usual].sum()) / usual_s for row in series)


def _marked_steps(steps: Breakdown, findings: Iterable[Finding]) -> Iterator[MarkedBars]:
    """The steps whose middle is in the stretch of a finding."""
    middles = steps.start + steps.length // 2
    for finding in findings:
        is_inside = (middles >= finding.start_ps) & (middles < finding.end_ps)
        inside = np.flatnonzero(is_inside)
        if len(inside) and finding.sizes:
            yield MarkedBars(
                first=int(inside[0]),
                stop=int(inside[-1]) + 1,
                sizes=finding.sizes,
            )


# ── ops ──────────────────────────────────────────────────────────────────────────────────────────


def ops(tops: Sequence[Top], *, device: bool) -> Table:
    """The ops that took most time."""
    listed = tops[: top_ops.MAX_SHOWN_OPS]
    share = np.array([op.share for op in listed], np.float64)
    cumulative = np.cumsum(share)
    category = [op.type for op in listed]
    name = [op.name for op in listed]
    replicas = [op.replicas for op in listed]
    columns = (
        Column("selfTimePercent", "time", "share", share, "%", weight=9, head="Time (%)"),
        Column(
            id="cumulativeTimePercent",
            label="cumulative",
            kind="share",
            values=cumulative,
            unit="%",
            weight=5,
            head="Cumulative time (%)",
        ),
        Column("category", "type", "text", category, weight=6, head="Category"),
        Column("operation", "op", "text", name, weight=9, head="Operation"),
        *(
            (int_column("replicas", "replicas", "integer", replicas, weight=4),)
            if max(replicas, default=1) > 1
            else ()
        ),
        *(columns_of(listed, _TENSOR_CORE_FIELDS) if device and listed else ()),
        *columns_of(listed, _TIME_FIELDS),
    )
    where = "devices" if device else "host"
    return Table(
        id="top_ops",
        title=f"The {len(listed)} ops that took most time on the {where}",
        columns=columns,
        empty="No op ran.",
        key=("operation",),
        noun="op",
        summary=f"{max(0, len(tops) - len(listed)):,} more",
        kind_of_work=lambda row: listed[row].category,
    )


def _gigaflops(op: Top) -> float | None:
    return None if op.flops is None else op.flops / 1e9


_TENSOR_CORE_FIELDS: tuple[Field[Top], ...] = (
    Field("flopRate", "GFLOP/s", "number", _gigaflops, weight=3),
    Field(
        "tcEligibility",
        "could use TC",
        "flag",
        lambda op: op.eligible,
        weight=2,
        head="TensorCore eligibility",
        always=True,
    ),
    Field(
        "tcUtilization",
        "uses TC",
        "flag",
        lambda op: op.tensor_core,
        weight=3,
        head="Op is using TensorCore",
        always=True,
    ),
)
_TIME_FIELDS: tuple[Field[Top], ...] = (
    Field("occurrences", "count", "integer", lambda op: op.occurrences, weight=6, always=True),
    Field("self_s", "self", "duration", lambda op: op.self_time, weight=7, always=True),
)


# ── what to do ───────────────────────────────────────────────────────────────────────────────────


_ADVICE_FIELDS: tuple[Field[Advice], ...] = (
    Field("severity", "weight", "text", lambda advice: advice.weight, weight=7),
    Field("statement", "what", "text", lambda advice: advice.what, weight=9),
    Field("do", "what to do", "text", lambda advice: advice.do, weight=8),
    Field("page", "see", "text", lambda advice: advice.page, weight=9),
    Field("rule", "rule", "text", lambda advice: advice.id, weight=0),
)


def recommendations(rows: Sequence[Advice]) -> Table:
    """What to do."""
    return Table(
        id="recommendations",
        title="What to do",
        columns=columns_of(rows, _ADVICE_FIELDS),
        empty="No findings.",
        key=("rule",),
        noun="recommendation",
    )


def diagnostics(rows: Sequence[tuple[str, str]]) -> Table:
    """What a person should know of the profile itself: rows are (severity, message)."""
    severity = [row[0] for row in rows]
    message = [row[1] for row in rows]
    columns = (
        Column(
            id="severity",
            label="severity",
            kind="text",
            values=severity,
            weight=8,
            head="Severity",
        ),
        Column(
            id="message",
            label="message",
            kind="text",
            values=message,
            weight=9,
            head="Message",
        ),
    )
    return Table(
        id="diagnostics",
        title="Diagnostics",
        columns=columns,
        empty="Nothing to report.",
        noun="message",
    )


# ── where it ran ─────────────────────────────────────────────────────────────────────────────────


def hosts_side_by_side(question: Question) -> list[Table]:
    """The steps of each host, and who delays the others; nothing where there is one host."""
    common = hosts.together(question.opened, question.compat)
    if common is None:
        return []
    lengths = common.lengths()
    # Who is early waits in collectives: without them the late one shows.
    comparison = common.comparison()
    count = len(common.hosts)
    slow_hosts = {host.member for host in comparison.stragglers()}
    straggler = np.array([host in slow_hosts for host in range(count)], np.bool_)
    step_ps = lengths.mean(axis=0).round().astype(np.int64)
    slowest = np.zeros(count, np.int64)
    own_ps = np.zeros(count, np.int64)
    compared = np.isin(np.arange(count), comparison.members)
    if comparison.times.size:
        slowest_members = comparison.members[comparison.times.argmax(axis=1)]
        slowest = np.bincount(slowest_members, minlength=count).astype(np.int64)
        own_ps[comparison.members] = comparison.times.mean(axis=0).round().astype(np.int64)
    columns = (
        text_column("host", "host", common.hosts, weight=9),
        Column("steps", "steps", "integer", np.full(count, common.count, np.int64), weight=3),
        Column("step_s", "step time", "duration", step_ps, weight=8),
        Column("own_s", "without collectives", "duration", own_ps, present=compared, weight=9),
        Column("slowest", "slowest in", "integer", slowest, weight=7),
        Column("straggler", "straggler", "flag", straggler, weight=8),
    )
    title = "The hosts side by side"
    return [
        Table(
            id="hosts",
            title=title,
            columns=columns,
            order=None,
            key=("host",),
            noun="host",
        )
    ]


def tpu(question: Question) -> list[Table]:
    """The steps of a TPU's cores; nothing where none ran."""
    tpu_steps = tpu_cores.steps(question.profile)
    if tpu_steps is None or question.together:
        return []
    start = question.profile.steps.start[tpu_steps.row]
    lo, hi = question.window
    rows = np.flatnonzero(touches(start, start + tpu_steps.length, lo, hi))
    table = utilisation.tpu_table(question.opened, question.host, question.profile, tpu_steps, rows)
    return [table]


_THREAD_FIELDS: tuple[Field[Thread], ...] = (
    Field("busy_s", "busy for", "duration", lambda row: row.busy, weight=6, always=True),
    Field("waiting_s", "of that waiting", "duration", lambda row: row.waiting, "", 8, always=True),
    Field("events", "events", "integer", lambda row: row.events, weight=3, always=True),
)


def host_threads(question: Question) -> list[Table]:
    """The threads of a host that has no device; nothing otherwise."""
    if question.together or device_facts.has_device(question.profile.trace):
        return []
    lo, hi = question.window
    busy = threads.busy_threads(question.profile.trace, lo, hi)
    window_ps = max(1, hi - lo)
    busy_share = np.array([thread.busy / window_ps for thread in busy], np.float64)
    columns = (
        text_column("thread", "thread", [thread.name for thread in busy], weight=9),
        Column(
            id="busy_share",
            label="busy",
            kind="share",
            values=busy_share,
            weight=9,
        ),
        *columns_of(busy, _THREAD_FIELDS),
    )

    def place(row: int) -> Place:
        thread = busy[row]
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=thread.lo,
            hi=thread.hi,
            track=thread.track,
        )

    return [
        Table(
            id="threads",
            title="Host threads, busiest first",
            columns=columns,
            place=place,
            order=("busy_s", True),
            empty="No thread ran.",
            key=("thread",),
            noun="thread",
        )
    ]
