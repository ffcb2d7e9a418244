"""The first page of a run: what limits it, by how much, and what to do; its steps by categories,
its ops, where it ran, its joules.

TensorBoard's overview page with what a person asks besides. Every part comes from where it is
worked out: the breakdown of steps, the op table, the account of energy, the findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from powertui import units
from powertui.data import texts
from powertui.data.category import Category
from powertui.data.energy import account, host_energy
from powertui.data.energy.account import Account
from powertui.data.energy.integrate import Energy
from powertui.data.model import PS_PER_S, ProcessKind, Trace, TrackKind, worst_badge
from powertui.data.run.steps import work_of
from powertui.data.table import (
    Chart,
    Column,
    Fact,
    Place,
    Result,
    Series,
    Table,
    if_missing,
    optional,
    text_column,
)
from powertui.data.tools import (
    advice,
    environment,
    hosts,
    shares,
    suggestions,
    threads,
    top_ops,
    tpu_cores,
    utilisation,
    xla_ops,
)
from powertui.data.tools.advice import Advice, percent
from powertui.data.tools.breakdown import CATEGORIES, Breakdown
from powertui.data.tools.event_types import EventType
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares
from powertui.data.tools.suggestions import Signals
from powertui.data.tools.top_ops import Top
from powertui.data.tools.utilisation import Use
from powertui.data.window import touches
from powertui.plain import plain

_NOTABLE_OP_SHARE = 0.05  # of all ops' time, from which on the first sentence names an op
_MAX_LISTED_FINDINGS = 3
_NO_COMPUTING = frozenset((Category.COMMUNICATION.value, Category.INPUT.value))
_SHUFFLING = frozenset(("gather", "scatter", "sort", "transpose", "topk"))


def answer(question: Question) -> Result:
    """The page, of the whole profile or of the steps that touch the window."""
    profile = question.profile
    with ThreadPoolExecutor(
        1
    ) as beside:  # neither needs the other, and numpy lets both run at once
        ops = beside.submit(top_ops.top_ops, question.parts, question.compat)
        steps = hosts.steps_of(question)
        tops = ops.result()
    if question.lo is not None or question.hi is not None:
        steps = steps.take(touches(steps.start, steps.start + steps.length, *question.window))
    parts = shares.step_shares(steps)
    found = account.energy_account(profile, question.aligning) if not question.together else None
    told = _verdict(question, steps, parts, tops)
    facts = [
        Fact("limit", "what limits it", told.sentence),
        Fact("bottleneck", "input", told.bound, why=advice.bound_by_input(parts)[1]),
        *_performance(steps, parts),
        *_held_up(question),
        *_asynchronous(question),
        *(_joules(question, found) if found is not None else _joules_of_all(question)),
        *utilisation.facts(_use(question)),
        *_precision(parts),
        *_sides(question),
        *environment.facts(question.opened, profile),
    ]
    tables = [
        _summary(steps),
        _ops(tops, device=any(_has_device(one.trace) for one, _, _ in question.parts)),
        _advice(_advised(question, steps, parts, tops)),
        *_hosts(question),
        *_tpu(question),
        *([] if question.together or _has_device(profile.trace) else [_threads(question)]),
        _diagnostics(question, steps),
        _steps(question, steps, found),
    ]
    return Result(
        "overview_page",
        "Overview",
        tuple(tables),
        tuple(facts),
        _charts(steps),
        (*steps.notes, *_notes(question, steps)),
        question.compat,
    )


def _has_device(trace: Trace) -> bool:
    return any(
        process.kind is ProcessKind.DEVICE and process.event_count for process in trace.processes
    )


# ── what limits it ───────────────────────────────────────────────────────────────────────────────


def _verdict(
    question: Question, steps: Breakdown, parts: Shares | None, tops: Sequence[Top]
) -> advice.Verdict:
    told = advice.verdict(steps, parts)
    if parts is None:
        return told._replace(sentence=f"{told.sentence}{_without_steps(question, tops)}")
    computing = [one for one in tops if one.category not in _NO_COMPUTING]
    if told.limit.startswith("computing") and computing and ": see " in told.sentence:
        limit = (parts.compute if told.limit.endswith("device") else parts.host) * float(
            steps.length.sum(dtype=np.float64)
        )
        if (
            computing[0].share >= _NOTABLE_OP_SHARE
            and computing[0].self_time >= _NOTABLE_OP_SHARE * limit
        ):
            most = (
                f", first of all {_short(computing[0].name)} ({percent(computing[0].share)} "
                "of all ops' time)"
            )
            told = told._replace(sentence=told.sentence.replace(": see ", f"{most}: see ", 1))
    if told.limit == "computing on the device":
        told = told._replace(sentence=told.sentence + _against_peaks(_use(question)))
    if question.profile.steps.asynchronous and not _has_device(question.profile.trace):
        return _dispatched(question, tops, told)
    return told


def _against_peaks(use: Use) -> str:
    """What holds the computing up, where the profile tells how well the device was used."""
    if use.memory is None or use.arithmetic is None:
        return ""
    words = (
        f" Memory runs at {percent(use.memory)} of its peak, arithmetic at "
        f"{percent(use.arithmetic)}"
    )
    if use.memory > suggestions.HIGH_UTILIZATION and use.arithmetic < suggestions.LOW_UTILIZATION:
        return f"{words}: memory is the limit."
    return f"{words}."


def _without_steps(question: Question, tops: Sequence[Top]) -> str:
    """What can be said all the same: what took most time, and how busy the busiest line was."""
    lo, hi = question.window
    said = (
        (
            f" Most time went into {_short(tops[0].name)} ({percent(tops[0].share)} of all ops' "
            "own time)"
        )
        if tops
        else ""
    )
    best = 0.0, ""
    for _, track in question.profile.trace.tracks():
        if (
            track.lane_count
            and len(track.events)
            and not track.derived
            and track.kind is not TrackKind.COUNTER
        ):
            lane = track.lane(0)
            inside = np.minimum(lane.start + lane.duration, hi) - np.maximum(lane.start, lo)
            best = max(best, (float(np.maximum(0, inside).sum()) / max(1, hi - lo), track.name))
    if best[0] > 0:
        line = (
            f"he busiest line, {plain(best[1], 80)}, is busy in "
            f"{percent(min(1.0, best[0]))} of the time: see op_stats."
        )
        return f"{said}; t{line}" if said else f" T{line}"
    return f"{said}: see op_stats." if said else ""


def _dispatched(question: Question, tops: Sequence[Top], told: advice.Verdict) -> advice.Verdict:
    """Of steps that are dispatched ahead on a host alone: how long they take with their work, and
    how much of that computes.
    """
    mean, count = _with_work(question)
    if not mean:
        return told
    steps = question.profile.steps
    lo = int(steps.start.min())
    busy = xla_ops.covered(question.profile.trace, lo, lo + round(mean * count)) / (mean * count)
    most = (
        f", first of all {_short(tops[0].name)} ({percent(tops[0].share)} of all ops' time)"
        if tops
        else ""
    )
    if busy >= 0.5:
        words = (
            f"Computing on the host limits this run: ops run in {percent(busy)} of the time. "
            "Steps are dispatched ahead; with its "
            f"work a step takes {units.duration(round(mean))} on average. Look at the ops that "
            f"take most of it{most}: see op_stats."
        )
        return told._replace(limit="asynchronous", sentence=words)
    words = (
        "The program limits this run: steps are dispatched ahead; with its work a step takes "
        f"{units.duration(round(mean))} on "
        f"average, and ops run in only {percent(busy)} of that. Look at what the threads do in "
        "between: see timeline."
    )
    return told._replace(limit="asynchronous", sentence=words)


def _short(name: str) -> str:
    """The end of a path tells the op: "…/convolution/Conv2DBackpropFilter"."""
    parts = plain(name, 200).split("/")
    return "/".join(parts) if len(parts) < 4 else "…/" + "/".join(parts[-2:])


def _with_work(question: Question) -> tuple[float, int]:
    """(ps from the first step's start to the end of all its work, for each step; how many
    steps).
    """
    steps = question.profile.steps
    if len(steps) < 2:
        return 0.0, len(steps)
    ran = question.profile.cached("work of steps", lambda: work_of(question.profile.trace, steps))
    return (max(ran.end, int(steps.ends().max())) - int(steps.start.min())) / len(steps), len(steps)


def _asynchronous(question: Question) -> list[Fact]:
    if not question.profile.steps.asynchronous or question.compat != "corrected":
        return []
    mean, count = _with_work(question)
    if not mean:
        return []
    why = f"from the first of {count} steps to the end of their work"
    return [Fact("step_work_s", "step with its work", round(mean), "duration", why=why)]


# ── figures ──────────────────────────────────────────────────────────────────────────────────────


def _performance(steps: Breakdown, parts: Shares | None) -> list[Fact]:
    times = shares.spread(steps.length)
    if times is None or parts is None:
        return [Fact("steps", "steps", 0, "integer")]
    facts = [
        Fact("steps", "steps", len(steps), "integer"),
        Fact("step_time_usual_s", "usual step", round(times.usual), "duration", why="the median"),
        Fact("step_time_s", "step time", round(times.mean), "duration"),
        Fact(
            "step_time_deviation_s",
            "its deviation",
            None if times.deviation is None else round(times.deviation),
            "duration",
            why=if_missing(times.deviation, "one step has none"),
        ),
        Fact("step_time_min_s", "shortest", times.least, "duration"),
        Fact("step_time_max_s", "longest", times.most, "duration"),
    ]
    for id, label, share in (
        ("input_share", "waiting for input", parts.input),
        ("output_share", "output", parts.output),
        ("device_compute_share", "device compute", parts.compute if steps.has_device else None),
        ("collectives_share", "collectives", parts.collectives if steps.has_device else None),
        ("device_idle_share", "device idle", parts.idle if steps.has_device else None),
        ("host_idle_share", "host idle", None if steps.has_device else parts.other),
        ("host_compute_share", "host compute", parts.host),
        ("other_share", "all others", parts.other),
    ):
        if share is not None:
            facts.append(Fact(id, label, share, "share"))
    return facts


def _precision(parts: Shares | None) -> list[Fact]:
    if parts is None or parts.half is None:
        return []
    return [
        Fact("device_compute_16bit_share", "device compute in 16 bit", parts.half, "share"),
        Fact("device_compute_32bit_share", "in 32 bit", 1 - parts.half, "share"),
    ]


def _joules(question: Question, found: Account) -> list[Fact]:
    """Joules of a step, of a sample, of each epoch, and a sentence for each thing that was found;
    nothing without power.
    """
    if not found.counted:
        return (
            [Fact("energy", "energy of the profile", None, "number", "J", why=found.apart)]
            if found.elsewhere
            else []
        )
    facts = []
    if question.lo is not None or question.hi is not None:
        facts.append(_energy("energy", "energy of the window", found.of_window(*question.window)))
    else:
        facts.append(_energy("energy", "energy of the profile", found.energy(*found.trace.span)))
    each = found.per_step(None)
    facts.append(_energy("step_joules", "energy of a step", each))
    batch = environment.batch_size(question.profile)
    if batch and each is not None and each.resolved:
        facts.append(_energy("sample_joules", "energy of a sample", each, batch))
    facts += _epochs(found)
    told = account.findings(question.profile, question.aligning)
    facts += [
        Fact(f"finding_{i + 1}", "found", one.text, badge=one.badge)
        for i, one in enumerate(told.findings[:_MAX_LISTED_FINDINGS])
    ]
    if len(told.findings) > _MAX_LISTED_FINDINGS:
        facts.append(
            Fact(
                "further_findings",
                "further findings",
                len(told.findings) - _MAX_LISTED_FINDINGS,
                "integer",
            )
        )
    if not told.findings:
        facts.append(Fact("findings", "found", "Nothing beyond what the trace explains."))
    if told.could:
        facts.append(Fact("could_find", "detection limit", told.could))
    return facts


def _joules_of_all(question: Question) -> list[Fact]:
    """What all hosts drew over their profiles, where each is known."""
    found = host_energy.run_energy(question.opened, question.aligning)
    if not any(one is not None for one in found.energies):
        return []
    lacking = f"not known of {', '.join(found.missing)}" if found.missing else ""
    if found.total is None or lacking:
        return [
            Fact("energy", "energy of all hosts", None, "number", "J", why=lacking or "no power")
        ]
    return [_energy("energy", "energy of all hosts", found.total)]


def _epochs(found: Account) -> list[Fact]:
    """The joules of each epoch, and by how much the last one differs from the first, where both
    have the same steps.
    """
    facts = []
    told: list[tuple[int, Energy, int]] = []
    for epoch in found.epoch_energies:
        number, one = epoch.number, epoch.energy
        facts.append(_energy(f"epoch_{number}_joules", f"epoch {number}", one))
        if one is not None and one.resolved:
            told.append((number, one, int((found.steps.epoch == epoch.index).sum())))
    if len(told) < 2 or told[0][2] != told[-1][2]:
        return facts
    (first, a, _), (last, b, _) = told[0], told[-1]
    ends = [a.joules, a.lo, a.hi, b.joules, b.lo, b.hi]
    if any(value is None for value in ends):
        return facts
    sure = float(np.hypot(a.hi - a.lo, b.hi - b.lo)) / 2  # type: ignore[operator]
    more = float(b.joules - a.joules)  # type: ignore[operator]
    badge = worst_badge((a.badge, b.badge))
    why = f"{b.duration_s - a.duration_s:+.2f} s"
    label = f"epoch {last} less epoch {first}"
    return [
        *facts,
        Fact(
            "epoch_difference_joules",
            label,
            more,
            "number",
            "J",
            badge,
            more - sure,
            more + sure,
            why,
        ),
    ]


def _energy(id: str, label: str, one: Energy | None, parts: int = 1) -> Fact:
    if one is None or not one.resolved or one.joules is None:
        why = (
            "no power"
            if one is None
            else f"not resolved: {one.reason.removeprefix('not resolved: ')}"
        )
        return Fact(id, label, None, "number", "J", why=why)
    lo, hi = (None if side is None else side / parts for side in (one.lo, one.hi))
    return Fact(id, label, one.joules / parts, "number", "J", one.badge, lo, hi)


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _summary(steps: Breakdown) -> Table:
    rows = [(label, steps.time_by_type(kinds)) for _, label, _, kinds in CATEGORIES]
    rows = (
        [(label, times) for label, times in rows if times.any() or label in ("Input", "All others")]
        if len(steps)
        else []
    )
    found = (
        [(label, shares.spread(times)) for label, times in (*rows, ("Step time", steps.length))]
        if rows
        else []
    )
    whole = max(1, int(steps.length.sum()))
    kept = [(label, one) for label, one in found if one is not None]
    columns = (
        text_column("category", "category", [label for label, _ in kept], weight=9),
        Column(
            "usual_s",
            "usual",
            "duration",
            np.array([round(one.usual) for _, one in kept], np.int64),
            weight=8,
        ),
        Column(
            "average_s",
            "average",
            "duration",
            np.array([round(one.mean) for _, one in kept], np.int64),
            weight=9,
        ),
        Column(
            "share",
            "share",
            "share",
            np.array([one.mean * len(steps) / whole for _, one in kept], np.float64),
            weight=9,
        ),
        optional(
            "deviation_s",
            "deviation",
            "duration",
            [None if one.deviation is None else round(one.deviation) for _, one in kept],
            weight=6,
        ),
        Column(
            "minimum_s",
            "shortest",
            "duration",
            np.array([one.least for _, one in kept], np.int64),
            weight=4,
        ),
        Column(
            "maximum_s",
            "longest",
            "duration",
            np.array([one.most for _, one in kept], np.int64),
            weight=4,
        ),
    )
    return Table(
        "summary",
        "A step, on average",
        columns,
        empty="No step was measured.",
        key=("category",),
        noun="part",
    )


def _steps(question: Question, steps: Breakdown, found: Account | None) -> Table:
    columns = shares.columns(steps)
    energies = _step_joules(steps, found) if found is not None else None
    if energies is not None:
        columns = (*columns, energies)
    return shares.step_table(question, steps, columns)


def _step_joules(steps: Breakdown, found: Account) -> Column | None:
    """Of the steps that are those of the account; None where none of them is resolved."""
    known = found.step_energies
    if not known or not any(one.resolved for one in known):
        return None
    at = {int(start): i for i, start in enumerate(found.steps.start.tolist())}
    rows = [at.get(start) for start in steps.start.tolist()]
    values = [
        known[row].joules if row is not None and known[row].resolved else None for row in rows
    ]
    return optional("joules", "energy", "number", values, unit="J", weight=5)


def _ops(tops: Sequence[Top], *, device: bool) -> Table:
    shown = tops[: top_ops.SHOWN]
    share = np.array([one.share for one in shown], np.float64)
    columns = (
        Column("selfTimePercent", "time", "share", share, "%", weight=9, head="Time (%)"),
        Column(
            "cumulativeTimePercent",
            "cumulative",
            "share",
            np.cumsum(share),
            "%",
            weight=5,
            head="Cumulative time (%)",
        ),
        Column("category", "type", "text", [one.type for one in shown], weight=6, head="Category"),
        Column("operation", "op", "text", [one.name for one in shown], weight=9, head="Operation"),
        *_of_tensor_cores(shown if device else ()),
        Column(
            "occurrences",
            "count",
            "integer",
            np.array([one.occurrences for one in shown], np.int64),
            weight=6,
        ),
        Column(
            "self_s",
            "self",
            "duration",
            np.array([one.self_time for one in shown], np.int64),
            weight=7,
        ),
    )
    title = f"The {len(shown)} ops that took most time on the {'devices' if device else 'host'}"
    summary = f"{max(0, len(tops) - len(shown)):,} more"
    return Table(
        "top_ops",
        title,
        columns,
        empty="No op ran.",
        key=("operation",),
        noun="op",
        summary=summary,
        kind_of_work=lambda row: shown[row].category,
    )


def _of_tensor_cores(shown: Sequence[Top]) -> tuple[Column, ...]:
    if not shown:
        return ()
    return (
        optional(
            "flopRate",
            "GFLOP/s",
            "number",
            [None if one.flops is None else one.flops / 1e9 for one in shown],
            weight=3,
        ),
        Column(
            "tcEligibility",
            "could use TC",
            "flag",
            np.array([one.eligible for one in shown], np.bool_),
            weight=2,
            head="TensorCore eligibility",
        ),
        Column(
            "tcUtilization",
            "uses TC",
            "flag",
            np.array([one.tensor_core for one in shown], np.bool_),
            weight=3,
            head="Op is using TensorCore",
        ),
    )


def _sides(question: Question) -> list[Fact]:
    found = top_ops.sides(question.parts, question.compat)
    told = (
        ("host_tf_op_share", "ops on the host", found.host),
        ("device_tf_op_share", "ops on devices", found.device),
        ("host_op_time_eager_share", "eager on the host", found.host_eager),
        ("device_op_time_eager_share", "eager on devices", found.device_eager),
    )
    return [Fact(id, label, share, "share") for id, label, share in told if share is not None]


def _advice(rows: Sequence[Advice]) -> Table:
    columns = (
        text_column("severity", "weight", [one.weight for one in rows], weight=7),
        text_column("statement", "what", [one.what for one in rows], weight=9),
        text_column("do", "what to do", [one.do for one in rows], weight=8),
        text_column("page", "see", [one.page for one in rows], weight=9),
        text_column("rule", "rule", [one.id for one in rows], weight=0),
    )
    return Table(
        "recommendations",
        "What to do",
        columns,
        empty="Nothing stands out.",
        key=("rule",),
        noun="recommendation",
    )


def _held_up(question: Question) -> list[Fact]:
    """The run's step over all hosts, and who holds the others up."""
    found = hosts.together(question.opened, question.compat)
    if found is None:
        return _devices_held_up(question)
    times = shares.spread(found.combined().length)
    assert times is not None
    facts = [
        Fact(
            "run_step_time_s",
            "step of all hosts",
            round(times.mean),
            "duration",
            why=f"{found.count:,} steps of {len(found.hosts)} hosts, each as long as the longest",
        )
    ]
    slow = hosts.stragglers(found.lengths_without_collectives())
    for one in slow[:3]:
        names = ", ".join(
            found.steps[one.member].names[int(found.rows[one.member][i])] for i in one.worst
        )
        words = (
            f"{found.hosts[one.member]} takes {units.duration(round(one.excess))} a step "
            f"longer than the others ({one.share:.1%}) "
            f"and was the slowest in {one.slowest:,} of {found.count:,} steps"
        )
        facts.append(
            Fact(
                f"straggler_{one.member}",
                "straggler",
                words + (f"; most of all in {names}." if names else "."),
            )
        )
    if not slow:
        facts.append(Fact("straggler", "straggler", "No host delays the others."))
    return facts


def _devices_held_up(question: Question) -> list[Fact]:
    """Of the devices of one host."""
    steps = question.profile.steps
    found = hosts.devices(steps)
    if found is None:
        return []
    names, rows, work = found
    facts = []
    for one in hosts.stragglers(work)[:3]:
        worst = ", ".join(steps.names[int(rows[i])] for i in one.worst)
        words = (
            f"{names[one.member]} works {units.duration(round(one.excess))} a step longer than "
            f"the others ({one.share:.1%}) "
            f"and longest in {one.slowest:,} of {len(rows):,} steps"
        )
        facts.append(
            Fact(
                f"straggler_{one.member}",
                "straggler",
                words + (f"; most of all in {worst}." if worst else "."),
            )
        )
    return facts


def _hosts(question: Question) -> list[Table]:
    found = hosts.together(question.opened, question.compat)
    if found is None:
        return []
    lengths, own = found.lengths(), found.lengths_without_collectives()
    slow = {one.member for one in hosts.stragglers(own)}
    slowest = np.bincount(own.argmax(axis=1), minlength=len(found.hosts))
    columns = (
        text_column("host", "host", found.hosts, weight=9),
        Column(
            "steps", "steps", "integer", np.full(len(found.hosts), found.count, np.int64), weight=3
        ),
        Column(
            "step_s",
            "step time",
            "duration",
            lengths.mean(axis=0).round().astype(np.int64),
            weight=8,
        ),
        Column(
            "own_s",
            "without collectives",
            "duration",
            own.mean(axis=0).round().astype(np.int64),
            weight=9,
        ),
        Column("slowest", "slowest in", "integer", slowest.astype(np.int64), weight=7),
        Column(
            "straggler",
            "straggler",
            "flag",
            np.array([i in slow for i in range(len(found.hosts))], np.bool_),
            weight=8,
        ),
    )
    return [
        Table("hosts", "The hosts side by side", columns, order=None, key=("host",), noun="host")
    ]


def _threads(question: Question) -> Table:
    lo, hi = question.window
    found = threads.busy_threads(question.profile.trace, lo, hi)
    long = max(1, hi - lo)
    columns = (
        text_column("thread", "thread", [one.name for one in found], weight=9),
        Column(
            "busy_share",
            "busy",
            "share",
            np.array([one.busy / long for one in found], np.float64),
            weight=9,
        ),
        Column(
            "busy_s",
            "busy for",
            "duration",
            np.array([one.busy for one in found], np.int64),
            weight=6,
        ),
        Column(
            "waiting_s",
            "of that waiting",
            "duration",
            np.array([one.waiting for one in found], np.int64),
            weight=8,
        ),
        Column(
            "events",
            "events",
            "integer",
            np.array([one.events for one in found], np.int64),
            weight=3,
        ),
    )

    def place(row: int) -> Place:
        return Place(
            question.opened.name, question.host, found[row].lo, found[row].hi, found[row].track
        )

    return Table(
        "threads",
        "Host threads, busiest first",
        columns,
        place,
        ("busy_s", True),
        "No thread ran.",
        ("thread",),
        "thread",
    )


def _charts(steps: Breakdown) -> tuple[Chart, ...]:
    if not len(steps):
        return ()
    parts = [(label, steps.time_by_type(kinds)) for _, label, _, kinds in CATEGORIES]
    series = tuple(
        Series(label, steps.names, times / PS_PER_S) for label, times in parts if times.any()
    )
    return (Chart("step_time", "Step time by category", series, "bar", "step", "time"),)


# ── what to do, and what to know ─────────────────────────────────────────────────────────────────


def _advised(
    question: Question, steps: Breakdown, parts: Shares | None, tops: Sequence[Top]
) -> list[Advice]:
    trace = question.profile.trace
    data = bool(texts.beginning(trace.names, "Iterator::").any())
    found = advice.of_shares(
        steps, parts, uses_tf_data=data, asynchronous=question.profile.steps.asynchronous
    )
    device = _has_device(trace)
    shuffles = sum(one.share for one in tops if _shuffles(one)) if device else None
    special = next(((one.name, one.share) for one in tops), None) if device else None
    transfer = None
    if parts is not None and parts.input > 0:
        copied = float(steps.time_by_type((EventType.HOST_TO_DEVICE, EventType.WAIT_HOST)).sum())
        transfer = copied / max(1.0, float(steps.category("input").sum()))
    found += advice.of_eager(top_ops.sides(question.parts, question.compat))
    use = _use(question)
    signals = Signals(
        None if parts is None else parts.input,
        transfer,
        None if parts is None else parts.collectives,
        shuffles,
        use.memory,
        use.arithmetic,
        special,
    )
    found += suggestions.matching_advice(
        utilisation.of_tpu(question.profile, tpu_cores.steps(question.profile), signals)
    )
    order = {"high": 0, "moderate": 1, "hint": 2}
    return sorted(found, key=lambda one: order[one.weight])


def _use(question: Question) -> Use:
    return utilisation.mean(
        [utilisation.device_use(one, lo, hi, question.compat) for one, lo, hi in question.parts]
    )


def _tpu(question: Question) -> list[Table]:
    found = tpu_cores.steps(question.profile)
    if found is None or question.together:
        return []
    start, (lo, hi) = question.profile.steps.start[found.row], question.window
    rows = np.flatnonzero(touches(start, start + found.length, lo, hi))
    return [utilisation.tpu_table(question.opened, question.host, question.profile, found, rows)]


def _shuffles(one: Top) -> bool:
    low = f"{one.name}:{one.type}".lower()
    return one.category == Category.MEMORY.value and any(word in low for word in _SHUFFLING)


def _diagnostics(question: Question, steps: Breakdown) -> Table:
    rows: list[tuple[str, str]] = []
    if not len(steps):
        why = (
            question.profile.steps.source
            if not len(question.profile.steps)
            else "by the rules of this mode there is none"
        )
        rows.append(
            (
                "warning",
                f"No step was measured: {why}. Name what marks a step with --step-marker REGEX.",
            )
        )
    for one, _, _ in question.parts:
        whose = f"{one.host}: " if len(question.parts) > 1 else ""
        rows += [(severity, whose + text) for severity, text in _diagnosed(one.trace)]
    columns = (
        Column("severity", "severity", "text", [one for one, _ in rows], weight=8, head="Severity"),
        Column("message", "message", "text", [text for _, text in rows], weight=9, head="Message"),
    )
    return Table("diagnostics", "Diagnostics", columns, empty="Nothing to report.", noun="message")


def _diagnosed(trace: Trace) -> list[tuple[str, str]]:
    """(severity, message) of one host."""
    rows: list[tuple[str, str]] = []
    silent = [
        process.name
        for process in trace.processes
        if process.kind is ProcessKind.DEVICE and not process.event_count
    ]
    if silent and not _has_device(trace):
        why = (
            "the profiler may lack permission (NVreg_RestrictProfilingToAdminUsers=0, or "
            "CAP_SYS_ADMIN)"
        )
        rows.append(("error", f"Nothing was recorded on {', '.join(silent[:4])}: {why}."))
    elif silent:
        rows.append(("hint", f"{len(silent)} devices recorded nothing."))
    elif {process.kind for process in trace.processes} >= {ProcessKind.HOST} and not _has_device(
        trace
    ):
        rows.append(("hint", "No device was profiled: the figures are the host's."))
    if not trace.complete:
        rows.append(("warning", "The profile was not read to its end."))
    return rows + [("warning", str(one)) for one in trace.warnings[:8]]


_MODES = {
    "corrected": "Numbers by TensorFlow's rules up to 2.10, with copies counted as copies, on "
    "the steps that powertui finds "
    "(--compat corrected).",
    "tf2": (
        "Numbers exactly by TensorFlow's rules up to 2.10, which count copies as compute "
        "(--compat tf2)."
    ),
    "xprof": (
        "Numbers by the rules of today's converter, which counts no event of the host "
        "where a device is (--compat xprof)."
    ),
}


def _notes(question: Question, steps: Breakdown) -> list[str]:
    notes = [_MODES[question.compat]]
    if question.together:
        count = len(question.opened.profiles)
        notes.append(
            f"All {count} hosts together: of a step that of the host that took longest; ops "
            "are added up over the hosts."
        )
    if question.compat == "corrected":
        own = question.profile.steps
        notes += own.notes
        if own.confidence:
            notes.append(f"Steps: {own.source}; {own.confidence}")
        if steps.by == "time" and len(steps):
            notes.append(
                "Work counts toward the step during which it ran: nothing in the profile says "
                "which step launched it."
            )
    return notes
