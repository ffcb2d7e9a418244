"""The steps of one host with what a person asks of them: their joules, how far each is from usual,
and what its time went to.

Usual is the median of the steps of the same name, or of all where names do not repeat: the first
steps, which trace and compile, and the odd stall do not move it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.columns import Column, optional, text_column
from powertui.data.energy import account, settings
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import Bools, Floats, Int64s, Steps
from powertui.data.quantiles import median_of_column
from powertui.data.run.steps import dispatched_step_ps
from powertui.data.sorted_columns import are_among
from powertui.data.table import Fact, Result
from powertui.data.tools import breakdown, step_time_parts
from powertui.data.tools import steps as step_tool
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.registry import Question

# Of one name, so that they have a usual length of their own.
_MIN_NAMED_STEPS = settings.MIN_REPEATS
_WEIGHTS = {  # of the columns that are those of the plain table
    "epoch": 8,
    "number": 9,
    "step_s": 9,
    "host_s": 6,
    "device_s": 6,
    "start_s": 5,
    "name": 4,
    "duration_s": 3,
    "end_s": 2,
    "start_to_start_s": 2,
}
_PARTS_OF_STEP_TIME = ("host_s", "duration_s")
# A difference from the usual length below this share of it gets no cause. Chosen, not measured.
_MIN_NOTABLE_SHARE = settings.NOTABLE_SHARE
# Share of a difference that a category must explain to be its cause. Chosen, not measured.
_MIN_EXPLAINED_SHARE = settings.LESSER_SHARE
_NAMELESS = (step_time_parts.OTHER_OPS, "All others")  # parts of a step that name no work


def answer(question: Question) -> Result:
    """Every step that touches the window, in the order they ran."""
    plain = step_tool.answer(question)
    steps = question.profile.steps
    rows = step_tool.inside(question, steps)
    length = steps.lengths()
    usual = usual_of(steps, _is_usual(question, steps))
    has_usual = (usual[rows] >= 0) & (length[rows] >= 0)
    over = np.where(has_usual, length[rows] - usual[rows], 0)
    energies = account.energy_account(question.profile, question.aligning).step_energies
    causes = _went_to(question, steps, length, usual)
    columns = (
        Column(
            id="over_usual_s",
            label="over median",
            kind="duration",
            values=over,
            present=has_usual,
            weight=9,
            signed=True,
        ),
        optional(
            "joules",
            "energy",
            "number",
            [_joules(energies, row) for row in rows.tolist()],
            unit="J",
            weight=7,
        ),
        text_column("went_to", "spent on", [causes[row] for row in rows.tolist()], weight=7),
        Column(
            id="usual_s",
            label="median",
            kind="duration",
            values=usual[rows],
            present=has_usual,
            # One median of all steps stands above the table.
            weight=3 if len(np.unique(usual)) > 1 else 0,
        ),
        text_column(
            "joules_why", "why no joules", [_why(energies, row) for row in rows.tolist()], weight=0
        ),
    )
    plain_columns = _weighted(plain.tables[0].columns)
    table = replace(
        plain.tables[0],
        columns=(*plain_columns, *columns),
        excess="over_usual_s",
    )
    facts = [*plain.facts, *_usual_facts(question, usual)]
    return replace(
        plain,
        tables=(table, *plain.tables[1:]),
        facts=tuple(facts),
        notes=(*plain.notes, *_no_joules(energies)),
    )


def _weighted(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns of the plain table with their weights beside those of energy.

    Where nothing runs but the host, its time and the mark's length are the step time once more:
    a person reads it once. So it is with names that only say a step's number once more.
    """
    by_id = {column.id: column for column in columns}
    step_time = by_id["step_s"]
    number = by_id["number"]
    weighted = []
    for column in columns:
        weight = _WEIGHTS.get(column.id, column.weight)
        if column.id in _PARTS_OF_STEP_TIME and _same_values(column, step_time):
            weight = 0
        if column.id == "name" and _says_the_number(column, number):
            weight = 0
        weighted.append(replace(column, weight=weight))
    return tuple(weighted)


def _says_the_number(name: Column, number: Column) -> bool:
    """Whether all names are one word, or a few, with the number of the step behind them."""
    stems = set()
    for row in range(len(name)):
        text = name.text(row)
        stem = text.rstrip("0123456789")
        if text[len(stem) :] != str(number.value(row)):
            return False
        stems.add(stem)
    return len(stems) == 1


def _same_values(column: Column, other: Column) -> bool:
    """Whether every row has the same value in both."""
    if not np.array_equal(column.values, other.values):
        return False
    return other.present is None or bool(other.present.all())


def _is_usual(question: Question, steps: Steps) -> Bools:
    """Which steps do not trace or compile, by the rule of the overview: both have one median."""
    is_usual = np.ones(len(steps), np.bool_)
    by_step = breakdown.step_breakdown(question.profile, question.compat)
    unusual = by_step.take(~are_among(by_step.start, by_step.usual().start))
    is_usual[_rows_of(unusual, steps)[0]] = False
    return is_usual


def usual_of(steps: Steps, is_usual: Bools) -> Int64s:
    """The usual length of a step like each, by those that are usual; -1 where there are too few to
    say.
    """
    length = steps.lengths()
    has_length = (length >= 0) & is_usual
    usual = -1
    if int(has_length.sum()) >= _MIN_NAMED_STEPS:
        usual = int(median_of_column(length[has_length]))
    out = np.full(len(steps), usual, np.int64)
    names = []
    for row in range(len(steps)):
        name = steps.names[row].rstrip("0123456789")  # "train 12" is a "train"
        names.append(name)
    frequent = {name for name, count in Counter(names).items() if count >= _MIN_NAMED_STEPS}
    if len(frequent) > 1:
        label = np.array(names, dtype=object)
        for name in frequent:
            alike = label == name
            rows = alike & has_length
            if rows.any():
                out[alike] = int(median_of_column(length[rows]))
    return out


def _joules(energies: tuple[Energy, ...], row: int) -> float | None:
    return energies[row].joules if energies and energies[row].resolved else None


def _why(energies: tuple[Energy, ...], row: int) -> str:
    if energies and not energies[row].resolved:
        return energies[row].reason
    return ""


def _no_joules(energies: tuple[Energy, ...]) -> tuple[str, ...]:
    missing = [energy for energy in energies if not energy.resolved]
    if not missing:
        return ()
    # Of the longest one: what is too short of it is too short of all the others.
    longest = max(missing, key=lambda energy: energy.hi_ps - energy.lo_ps)
    note = f"Joules: {len(missing):,} of {len(energies):,} steps {longest.reason}."
    return (note,)


def _usual_facts(question: Question, usual: Int64s) -> list[Fact]:
    usual_lengths = usual[usual >= 0]
    if not len(usual_lengths):
        return []
    profile = question.profile
    with_work_ps = dispatched_step_ps(profile.trace, profile.steps)
    subject = (
        "the median step takes" if with_work_ps is None else "asking for the median step takes"
    )
    median_ps = int(median_of_column(usual_lengths))
    facts = [
        Fact(
            id="usual",
            label=subject,
            value=median_ps,
            kind="duration",
            why="the median",
        )
    ]
    if with_work_ps is not None:
        why = "from the first step to the end of all their work"
        facts.append(
            Fact(
                id="step_work_s",
                label="with its work",
                value=with_work_ps,
                kind="duration",
                why=why,
            )
        )
    each = account.energy_account(question.profile, question.aligning).per_step(None)
    if each is not None and each.resolved:
        facts.append(
            Fact(
                id="joules_per_step",
                label="a mean step draws",
                value=each.joules,
                kind="number",
                unit="J",
                badge=each.badge,
                lo=each.lo,
                hi=each.hi,
            )
        )
    return facts


def _rows_of(by_step: Breakdown, steps: Steps) -> tuple[list[int], list[int]]:
    """(rows of the steps, rows of the breakdown) that belong together.

    A breakdown's steps are those of the program as a profiler sees them: each belongs to the step
    in which its middle lies.
    """
    if not len(steps):
        return [], []
    middle = by_step.start + by_step.length // 2
    row = np.searchsorted(steps.start, middle, side="right") - 1
    is_inside = (row >= 0) & (middle < steps.ends()[row])
    inside = np.flatnonzero(is_inside)
    return row[inside].tolist(), inside.tolist()


def _went_to(
    question: Question,
    steps: Steps,
    length: Int64s,
    usual: Int64s,
) -> list[str]:
    """For each step its largest part (a kind of work, a category); where it was longer than usual,
    the part that was longer.
    """
    out = [""] * len(steps)
    by_step = breakdown.step_breakdown(question.profile, question.compat)
    if not len(by_step):
        return out
    labels, parts = _parts_of_steps(question, by_step)
    median = np.median(parts, axis=0)
    # "other ops" are the cause only where nothing with a name is.
    is_named = np.array([label not in _NAMELESS for label in labels], np.bool_)
    for step, at in zip(*_rows_of(by_step, steps), strict=True):
        times = parts[at]
        usual_ps = int(usual[step])
        more = 0
        if usual_ps > 0:
            more = int(length[step]) - usual_ps
        if more > _MIN_NOTABLE_SHARE * max(1, usual_ps):
            min_excess = _MIN_EXPLAINED_SHARE * more
            excess = times - median
            largest = int(np.argmax(np.where(is_named, excess, -1)))
            if excess[largest] < min_excess:
                largest = int(np.argmax(excess))
            out[step] = "no single part"
            if excess[largest] >= min_excess:
                longer = units.duration(int(excess[largest]), 2)
                out[step] = f"{labels[largest]} +{longer}"
        elif by_step.length[at] > 0:
            largest = int(np.argmax(times))
            share = times[largest] / by_step.length[at]
            out[step] = f"{labels[largest]} {units.percent(share)}"
    return out


def _parts_of_steps(question: Question, by_step: Breakdown) -> tuple[list[str], Floats]:
    """(names of the parts of a step, [steps, parts]: how long each took)."""
    by_work = step_time_parts.step_time_parts(question.profile, by_step)
    if by_work is not None:
        labels = [part.label for part in by_work]
        return labels, np.stack([part.times for part in by_work], axis=1)
    labels = []
    times = []
    for _, label, _, kinds in breakdown.CATEGORIES:
        labels.append(label)
        times.append(by_step.time_by_type(kinds))
    return labels, np.stack(times, axis=1).astype(np.float64)
