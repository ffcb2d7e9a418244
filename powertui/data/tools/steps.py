"""The steps of one host, one row each: the program's numbers, when each ran, how long its marker
and the time to the next were.
"""

from __future__ import annotations

import numpy as np

from powertui.data.columns import Column, Lazy, int_column, optional, text_column
from powertui.data.model import UNKNOWN, Epochs, Int64s, Steps
from powertui.data.quantiles import median_of_column
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.data.window import touches


def answer(question: Question) -> Result:
    """The steps that touch the window, in the order they ran."""
    profile = question.profile
    steps = profile.steps
    rows = inside(question, profile.steps)
    start = steps.start[rows]
    end = steps.ends()[rows]
    gap = steps.start_to_start()[rows]
    columns = (
        epoch_column(steps, profile.epochs, rows),
        number_column(steps, rows),
        Column(
            id="name",
            label="name",
            kind="text",
            values=Lazy(len(rows), lambda row: steps.names[int(rows[row])]),
            weight=5,
        ),
        Column("start_s", "start", "instant", start, weight=8),
        Column("end_s", "end", "instant", end, weight=4),
        Column("duration_s", "duration", "duration", steps.duration[rows], weight=6),
        _time("host_s", "host", steps.host[rows]),
        _time("device_s", "device", steps.device[rows]),
        _time("step_s", "step time", steps.step[rows]),
        Column("start_to_start_s", "start to start", "duration", gap, present=gap >= 0, weight=7),
    )

    def place(row: int) -> Place:
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=int(start[row]),
            hi=int(end[row]),
        )

    notes = list(steps.notes)
    if steps.asynchronous:
        notes.append(
            "Steps are dispatched asynchronously: host time is the time until the call "
            "returned; the work ran on."
        )
    if len(steps.markers) > 1:
        second_marker = steps.markers[1]
        notes.append(
            f"Next best marker: {second_marker.name} (score {second_marker.score:.2f} against "
            f"{steps.markers[0].score:.2f})."
        )
    table = Table(
        id="steps",
        title="Steps",
        columns=columns,
        place=place,
        order=("start_s", False),
        empty=empty(steps),
        key=("start_s",),
        noun="step",
    )
    if steps.on:
        each: tuple[Table, ...] = (_each(question, steps),)
    else:
        each = ()
    facts = (
        Fact("source", "marked by", steps.source or None),
        Fact("confidence", "confidence", steps.confidence or None),
        Fact("device_by", "device time by", steps.device_by or None),
    )
    return Result(
        id="steps",
        title="Steps",
        tables=(table, *each),
        facts=facts,
        notes=tuple(notes),
    )


def _each(question: Question, steps: Steps) -> Table:
    """The devices, or the replicas on the host, one row each: a straggler stands out."""

    def medians(columns: list[Int64s]) -> list[int | None]:
        return [
            int(median_of_column(measured)) if len(measured := times[times >= 0]) else None
            for times in columns
        ]

    columns = (
        text_column("name", "on", [of_device.name for of_device in steps.on], weight=6),
        text_column("kind", "kind", [of_device.kind for of_device in steps.on], weight=3),
        int_column(
            "steps",
            "steps",
            "integer",
            [len(of_device) for of_device in steps.on],
            weight=7,
        ),
        optional(
            "step_s",
            "median step time",
            "duration",
            medians([of_device.duration for of_device in steps.on]),
            weight=9,
        ),
        optional(
            "device_s",
            "median device time",
            "duration",
            medians([of_device.work for of_device in steps.on]),
            weight=8,
        ),
    )

    def place(row: int) -> Place:
        track = steps.on[row]
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=int(track.start.min()),
            hi=int((track.start + track.duration).max()),
        )

    return Table(
        id="on",
        title="On each device or replica",
        columns=columns,
        place=place,
        order=("step_s", True),
        empty="",
        key=(),
        noun="device",
    )


def _time(name: str, label: str, times: Int64s) -> Column:
    return Column(name, label, "duration", times, present=times != UNKNOWN, weight=9)


def inside(question: Question, steps: Steps) -> Int64s:
    """The rows of the steps that the question asks about: all of them where it names no window."""
    if question.is_of_all_time:
        return np.arange(len(steps), dtype=np.int64)
    return np.flatnonzero(touches(steps.start, steps.ends(), *question.window))


def empty(steps: Steps) -> str:
    """What to say when no step is listed."""
    if len(steps):
        return "No step touches this window."
    return "No steps were found. Name what marks them: --step-marker REGEX."


def number_column(steps: Steps, rows: Int64s) -> Column:
    """The program's own numbers of these steps; unknown where it has none."""
    number = steps.number[rows]
    return Column("number", "step", "integer", number, present=number >= 0, weight=9)


def epoch_column(steps: Steps, epochs: Epochs, rows: Int64s) -> Column:
    """The program's own numbers of the epochs that these steps belong to."""
    index = steps.epoch[rows].astype(np.int64)
    numbers = np.array([epoch.number for epoch in epochs], np.int64)
    listed = (index >= 0) & (index < len(numbers))
    number = index.copy()
    number[listed] = numbers[index[listed]]
    return Column("epoch", "epoch", "integer", number, present=index >= 0, weight=6)
