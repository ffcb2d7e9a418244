"""Traces made of a few events written down by hand, through the same builder that the
readers use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.builder import LineEvents, TraceBuilder
from powertui.data.model import (
    Epoch,
    Epochs,
    Int64s,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    Run,
    Sensor,
    Stat,
    StatColumn,
    Steps,
    Trace,
    UInt64s,
)
from powertui.data.texts import Texts

MS = 1_000_000_000
Event: TypeAlias = tuple[int, int, str]  # start and duration in ps, name


class PlainNames:
    """Names as written; `name:Type` is displayed as its type, as the readers do."""

    def __init__(
        self, names: Sequence[str], stats: Mapping[str, tuple[Stat, ...]] | None = None
    ) -> None:
        self._names = list(names)
        self._stats = dict(stats or {})

    def __len__(self) -> int:
        return len(self._names)

    def full(self, index: int) -> str:
        return self._names[index]

    def display(self, index: int) -> str:
        return self._names[index]

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        return Texts.from_strings(["" if display else self._names[i] for i in indices.tolist()])

    def stats(self, index: int) -> tuple[Stat, ...]:
        return self._stats.get(self._names[index], ())


class NumberedStats:
    """Every event has one stat: its position, so that a test sees which event was asked for."""

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        return (Stat("position", position, "int64"),)

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        return {name: stat_columns.absent(len(positions)) for name in names}


def trace(
    lines: Mapping[tuple[str, str], Sequence[Event]],
    *,
    stats: Mapping[str, tuple[Stat, ...]] | None = None,
) -> Trace:
    """One trace of {(process, line): events}.

    Names are numbered in the order of their first appearance.
    """
    numbers: dict[str, int] = {}
    builder = TraceBuilder("synthetic.xplane.pb", "synthetic", host="vm")
    processes = {}
    position = 0
    for key, ((process, line), events) in enumerate(lines.items()):
        if process not in processes:
            processes[process] = builder.process(process, (), NumberedStats())
        index = [numbers.setdefault(name, len(numbers)) for _, _, name in events]
        columns = LineEvents(
            np.array([e[0] for e in events], np.int64),
            np.array([e[1] for e in events], np.int64),
            np.array(index, np.uint32),
            np.arange(position, position + len(events), dtype=np.uint64),
        )
        position += len(events)
        processes[process].add(key, line, columns)
    return builder.build(PlainNames(list(numbers), stats), complete=True)


def steps(*bounds: tuple[int, int], epoch: Sequence[int] | None = None, first: int = 0) -> Steps:
    """Steps of the given starts and durations, numbered from `first`."""
    count = len(bounds)
    return Steps(
        np.arange(first, first + count, dtype=np.int64),
        np.array([b[0] for b in bounds], np.int64),
        np.array([b[1] for b in bounds], np.int64),
        np.array(epoch if epoch is not None else [-1] * count, np.int32),
        [f"train {first + i}" for i in range(count)],
        "events named train",
    )


def run(made: Trace, marks: Steps | None = None, epochs: Sequence[Epoch] = ()) -> Run:
    """A run of one trace."""
    return Run(
        "synthetic",
        "/logs",
        (made,),
        (marks if marks is not None else Steps.none(),),
        (Epochs(tuple(epochs)),),
    )


def power(
    times_ps: Int64s,
    watts: Sequence[float],
    *,
    kind: PowerKind = PowerKind.SAMPLED,
    slack_ps: int = 0,
    name: str = "Total Power",
) -> PowerOnTrace:
    """A series that is already placed; `slack_ps` is the half width of its offset's interval."""
    values = np.asarray(watts, np.float64)
    series = PowerSeries(Sensor(name, "synthetic"), times_ps // 1000, values, kind)
    return PowerOnTrace(series, times_ps, values, 0, -slack_ps, slack_ps, "aligned", "by hand")


def training(step_count: int = 12, step_ms: int = 20) -> Run:
    """A small training run with a device, a host of several threads, steps in two epochs: what
    screens are tested with.
    """
    host: list[Event] = []
    compute: list[Event] = []
    copies: list[Event] = []
    feed: list[Event] = []
    for i in range(step_count):
        t = (i * step_ms + 2) * MS
        host.append((t, (step_ms - 1) * MS, f"train {i}"))
        host.append((t + MS, 3 * MS, "Iterator::Prefetch"))
        host.append(
            (t + 5 * MS, (step_ms - 8) * MS, "StatefulPartitionedCall/model/dense/MatMul:MatMul")
        )
        host.append((t + 6 * MS, 2 * MS, "EagerExecute: add"))
        copies.append((t + 2 * MS, 2 * MS, "MemcpyH2D"))
        compute.append((t + 5 * MS, 4 * MS, "volta_sgemm_128x64_nn"))
        compute.append(
            (t + 9 * MS, 3 * MS, "cudnn::detail::conv2d_grouped_direct_kernel<float>(float*)")
        )
        compute.append((t + 12 * MS, (step_ms - 14) * MS, "ncclAllReduceRingLLKernel_sum_f32"))
        feed.append((t + 4 * MS, 50_000, "Iterator::Root::Prefetch"))
    made = trace(
        {
            ("/device:GPU:0", "Stream #13(Compute)"): compute,
            ("/device:GPU:0", "Stream #14(MemcpyH2D)"): copies,
            ("/host:CPU", "python3/4711"): host,
            ("/host:CPU", "tf_data_iterator/4712"): feed,
            ("/host:CPU", "\x1b[31mred\x1b[0m [b]thread[/b]"): [
                (5 * MS, MS, "\x1b]0;owned\x07 evil [link=x]name[/]\n\r")
            ],
        }
    )
    half = step_count // 2
    marks = steps(
        *[((i * step_ms + 2) * MS, (step_ms - 1) * MS) for i in range(step_count)],
        epoch=[int(i >= half) for i in range(step_count)],
    )
    epochs = [
        Epoch(
            number,
            (first * step_ms + 2) * MS,
            ((first + half) * step_ms + 1) * MS,
            "steps",
            0,
            (("loss", 0.5 / (number + 1)),),
        )
        for number, first in ((0, 0), (1, half))
    ]
    return run(made, marks, epochs)
