"""What the steps of a profile come to: mean, deviation and share of each category, and the shares
that verdicts use.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.columns import Column
from powertui.data.model import Int64s
from powertui.data.quantiles import median_of_column
from powertui.data.table import Place, Table
from powertui.data.tools.breakdown import CATEGORIES, Breakdown
from powertui.data.tools.event_types import EventType
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple


class Spread(NamedTuple):
    """Over all steps, in ps. The deviation is a sample's (n - 1): None of one step."""

    mean: float
    deviation: float | None
    least: int
    most: int
    usual: float  # the median: one step that traced does not move it


class Shares(NamedTuple):
    """Parts of all steps' time, 0 to 1, as the verdicts take them."""

    input: float
    output: float
    compute: float
    collectives: float
    idle: float
    launch: float
    other: float
    host: float
    python: float  # the host ran Python and nothing else
    compile: float
    between: float
    half: (
        float | None
    )  # of the devices' compute: how much in 16 bit; None where nothing computed on a device


def spread(times: Int64s) -> Spread | None:
    """Of one column of times; None without any step."""
    if not len(times):
        return None
    if len(times) > 1:
        deviation = float(times.std(ddof=1))
    else:
        deviation = None
    return Spread(
        mean=float(times.mean()),
        deviation=deviation,
        least=int(times.min()),
        most=int(times.max()),
        usual=median_of_column(times),
    )


def step_shares(steps: Breakdown) -> Shares | None:
    """Of the usual steps; None where there is no step, or none of any length."""
    steps = steps.usual()
    all_steps = float(steps.length.sum(dtype=np.float64))
    if not all_steps:
        return None

    def share(*kinds: EventType) -> float:
        return float(steps.time_by_type(kinds).sum(dtype=np.float64)) / all_steps

    inputs = share(EventType.WAIT_INPUT, EventType.HOST_TO_DEVICE, EventType.WAIT_HOST)
    output = share(EventType.DEVICE_TO_HOST)
    compute = share(EventType.COMPUTE_16, EventType.COMPUTE_32)
    collectives = share(EventType.COLLECTIVES)
    halves = share(EventType.COMPUTE_16)
    return Shares(
        input=inputs,
        output=output,
        compute=compute,
        collectives=collectives,
        idle=max(0.0, 1 - inputs - output - compute - collectives),
        launch=share(EventType.HOST_PREPARE),
        other=share(EventType.UNKNOWN),
        host=share(EventType.HOST_COMPUTE, EventType.RUNTIME),
        python=share(EventType.PYTHON),
        compile=share(EventType.HOST_COMPILE),
        between=share(EventType.DEVICE_TO_DEVICE, EventType.WAIT_DEVICE),
        half=halves / compute if compute else None,
    )


def columns(steps: Breakdown) -> tuple[Column, ...]:
    """The steps as TensorBoard's table of them: the name, each category, the whole; times in ms for
    programs.
    """
    return (
        Column("stepnum", "step", "text", list(steps.names), weight=9, head="Step number"),
        *(
            Column(
                id=id_,
                label=label.lower(),
                kind="duration",
                values=steps.time_by_type(kinds),
                unit="ms",
                weight=weight,
                head=label,
            )
            for (_, label, id_, kinds), weight in zip(
                CATEGORIES, (8, 2, 3, 7, 6, 7, 3, 2, 6), strict=True
            )
        ),
        Column(
            id="stepTimeMs",
            label="step time",
            kind="duration",
            values=steps.length,
            unit="ms",
            weight=9,
            head="Step time",
        ),
    )


def step_table(question: Question, steps: Breakdown, columns: Sequence[Column]) -> Table:
    """A row for each step, with what is known about it; Enter leads to it."""

    def place(row: int) -> Place:
        lo = int(steps.start[row])
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=lo,
            hi=lo + int(steps.length[row]),
        )

    return Table(
        id="steps",
        title="Each step by category",
        columns=tuple(columns),
        place=place,
        order=None,
        empty="No step was measured.",
        key=("stepnum",),
        noun="step",
    )
