"""FLOPs and bytes of each op, its rates, and what bounds it, as TensorBoard's `roofline_model`.

A cost comes from the profile itself where it has one, else from the program's HLO by XLA's rules,
else, of PyTorch, from the shapes of an operator's inputs. Where there is none, the row says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.columns import Field, columns_of
from powertui.data.hlo_costs import OpCost
from powertui.data.model import PS_PER_S, PS_PER_US
from powertui.data.opened import Profile
from powertui.data.table import Chart, Fact, Place, Result, Series, Table
from powertui.data.tools import (
    device_facts,
    torch_costs,
    torch_host_work,
    torch_links,
    torch_operators,
    xla_ops,
)
from powertui.data.tools.device_facts import DeviceFacts
from powertui.data.tools.registry import Question
from powertui.data.tools.torch_links import Links
from powertui.value_types import dataclass

_SHAPES = ("Input Dims", "Input type", "Concrete Inputs")
# The second shape ends in 20 cells; with more there is no room for a rate beside it at 80 columns.
_COLUMN_CELLS = {"flop_rate": len("718.8 TFLOP/s"), "shapes": 20}
_ROOF_SPAN = 10.0  # how far beyond its ops a roof is drawn
_EMPTY = "No op of XLA ran here, and no operator of PyTorch that launched work on a device."
_ONE_SHAPE = re.compile(r"\[([\d, ]+)\]")  # one input of `Input Dims`
_NO_SHAPES = ("", "", "")
_SHAPES_BASIS = "input shapes"
_COUNTED_INSIDE = "counted at the operator that it calls"
_NO_PEAK = "the profile does not say enough about the device"


@dataclass(frozen=True)
class _Row:
    """An op, all its runs together."""

    name: str
    kind: str
    shapes: str  # of an operator's inputs; "" where the name alone tells which op it is
    time: int  # ps
    count: int
    flops: float | None
    bytes: float | None
    basis: str  # "profile", "program", `_SHAPES_BASIS`; "" where the cost is not known
    why: str
    place: tuple[int, int] | None  # (line, event)

    @property
    def seconds(self) -> float:
        return self.time / PS_PER_S

    @property
    def flop_rate(self) -> float | None:
        if self.flops is not None and self.time:
            return self.flops / self.seconds
        return None

    @property
    def bandwidth(self) -> float | None:
        if self.bytes is not None and self.time:
            return self.bytes / self.seconds
        return None

    @property
    def intensity(self) -> float | None:
        if self.flops is not None and self.bytes:
            return self.flops / self.bytes
        return None


@dataclass(frozen=True)
class _Peaks:
    """What the device can do; None where it is not known."""

    flops: float | None
    bandwidth: float | None

    def bound_by(self, row: _Row) -> str:
        """What limits an op: on which side of the ridge it is."""
        if row.intensity is None or not self.flops or not self.bandwidth:
            return ""
        if row.intensity >= self.flops / self.bandwidth:
            return "compute"
        return "memory"

    def efficiency(self, row: _Row) -> float | None:
        """The part of the roof above it that an op reaches."""
        if row.intensity is None or row.flop_rate is None or not self.flops or not self.bandwidth:
            return None
        roof = min(self.flops, row.intensity * self.bandwidth)
        return row.flop_rate / roof if roof else None


def answer(question: Question) -> Result:
    """The ops of the window, most time first."""
    rows = [*_xla_rows(question), *_torch_rows(question)]
    rows.sort(key=lambda row: (-row.time, row.name))
    peaks = _peaks(device_facts.device_facts(question.profile.trace))
    return Result(
        id="roofline_model",
        title="Roofline",
        tables=(_table(rows, peaks, question),),
        facts=_facts(rows, peaks),
        charts=_charts(rows, peaks),
        notes=_notes(rows),
        mode=question.compat,
    )


def _peaks(devices: Iterable[DeviceFacts]) -> _Peaks:
    for device in devices:
        if device.recorded:
            return _Peaks(device.peak_flops, device.bandwidth)
    return _Peaks(None, None)


# ── XLA ──────────────────────────────────────────────────────────────────────────────────────────


def _xla_rows(question: Question) -> Iterable[_Row]:
    ran = xla_ops.xla_ops(question.profile, *question.window, question.compat)
    programs_of: dict[str, set[str]] = {}
    for op in ran.ops:
        programs_of.setdefault(op.name, set()).add(op.program)
    for op in ran.ops:
        # Loops and branches: the ops inside them are listed themselves.
        if not op.hlo_op or op.name.startswith("region") or op.category in ("while", "conditional"):
            continue
        name = op.name
        if len(programs_of[name]) > 1 and op.program:
            name = f"{name} ({op.program})"
        yield _Row(
            name=name,
            kind=op.category,
            shapes="",
            time=op.self_time,
            count=op.occurrences,
            flops=op.flops,
            bytes=op.bytes,
            basis=op.cost_basis,
            why=op.why_no_cost,
            place=op.events[0] if op.events else None,
        )


# ── PyTorch ──────────────────────────────────────────────────────────────────────────────────────


def _torch_rows(question: Question) -> Iterable[_Row]:
    """Operators by name and shapes: those that launched work, or that computed on the host."""
    links = torch_links.torch_links(question.profile)
    if links is None:
        return
    yield from _launching_rows(links, question)
    yield from _host_rows(links, question)


def _launching_rows(links: Links, question: Question) -> Iterable[_Row]:
    launched = torch_operators.launched_work(links, question)
    host = links.host
    launches: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, name in enumerate(launched.names):
        caller = int(launched.at[number])
        if host.operator[caller]:
            shapes = _shapes(
                question.profile,
                int(host.line[caller]),
                int(host.row[caller]),
            )
            launches.setdefault((name, shapes), []).append(number)
    for (name, shapes), numbers in launches.items():
        longest = max(numbers, key=lambda number: launched.direct[number])
        caller = int(launched.at[longest])
        yield _operator_row(
            name=name,
            shapes=shapes,
            kind=launched.categories[numbers[0]],
            time=round(float(launched.direct[numbers].sum()) * PS_PER_US),
            count=len(numbers),
            place=(int(host.line[caller]), int(host.row[caller])),
        )


def _host_rows(links: Links, question: Question) -> Iterable[_Row]:
    """Operators of a profile without work on a device."""
    work = torch_host_work.host_work(links, question)
    host = links.host
    rows: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, at in enumerate(work.at.tolist()):
        shapes: tuple[str, ...] = _NO_SHAPES
        if work.has_rule[number]:
            shapes = _shapes(
                question.profile,
                int(host.line[at]),
                int(host.row[at]),
            )
        name = links.trace.names.full(int(host.name[at]))
        rows.setdefault((name, shapes), []).append(number)
    for (name, shapes), numbers in rows.items():
        number = max(numbers, key=lambda number: work.time[number])
        longest = int(work.at[number])
        is_counted_inside = not work.has_rule[numbers[0]] and torch_costs.has_rule(name)
        yield _operator_row(
            name=name,
            shapes=shapes,
            kind=torch_host_work.category(name),
            time=int(work.time[numbers].sum()),
            count=len(numbers),
            why=_COUNTED_INSIDE if is_counted_inside else "",
            place=(int(host.line[longest]), int(host.row[longest])),
        )


def _operator_row(
    name: str,
    shapes: tuple[str, ...],
    *,
    kind: str,
    time: int,
    count: int,
    place: tuple[int, int],
    why: str = "",
) -> _Row:
    """All runs of an operator with inputs of these shapes; `why`: its cost is not asked for."""
    cost = OpCost(
        flops=None,
        transcendentals=0.0,
        bytes=None,
        why=why,
    )
    if not why:
        cost = torch_costs.operator_cost(name, *shapes)
    return _Row(
        name=name,
        kind=kind,
        shapes=_shape_words(shapes[0]),
        time=time,
        count=count,
        flops=None if cost.flops is None else cost.flops * count,
        bytes=None if cost.bytes is None else cost.bytes * count,
        basis=_SHAPES_BASIS if cost.flops is not None else "",
        why=cost.why,
        place=place,
    )


def _shape_words(recorded: str) -> str:
    """`[[512], [141, 512], []]` as `512 · 141×512`: inputs without a shape are numbers."""
    lists: list[str] = _ONE_SHAPE.findall(recorded)
    return " · ".join(dims.replace(", ", "×") for dims in lists)


def _shapes(profile: Profile, line: int, row: int) -> tuple[str, ...]:
    """What was recorded of one call's inputs; "" for what was not."""
    process, track = list(profile.trace.tracks())[line]
    found = {
        stat.name: str(stat.value)
        for stat in process.source.event_stats(track.events.position_of(row))
    }
    return tuple(found.get(name, "") for name in _SHAPES)


# ── as a table ───────────────────────────────────────────────────────────────────────────────────


def _table(rows: Sequence[_Row], peaks: _Peaks, question: Question) -> Table:
    whole = max(1, sum(row.time for row in rows))
    has_shapes = any(row.shapes for row in rows)
    fields: tuple[Field[_Row], ...] = (
        Field("name", "op", "text", lambda row: row.name, weight=9),
        Field("shapes", "input shapes", "text", lambda row: row.shapes, weight=8 * has_shapes),
        Field("category", "category", "text", lambda row: row.kind, weight=3),
        Field("time_s", "time", "duration", lambda row: row.time, weight=9, always=True),
        Field("share", "share", "share", lambda row: row.time / whole, weight=7),
        Field("occurrences", "count", "integer", lambda row: row.count, weight=4, always=True),
        Field("flops", "FLOPs", "number", lambda row: row.flops, "FLOP", weight=5),
        Field("bytes", "bytes", "number", lambda row: row.bytes, "B", weight=5),
        Field("flop_rate", "rate", "number", lambda row: row.flop_rate, "FLOP/s", weight=8),
        Field("bandwidth", "memory", "number", lambda row: row.bandwidth, "B/s", weight=7),
        Field("intensity", "FLOP/B", "number", lambda row: row.intensity, weight=8),
        Field("bound_by", "bound by", "text", peaks.bound_by, weight=7 * bool(peaks.flops)),
        Field("efficiency", "of the roof", "share", peaks.efficiency, weight=6),
        Field("cost_from", "cost from", "text", _cost_from, weight=6),
        Field("basis", "basis", "text", lambda row: row.basis, weight=0),
        Field("why", "why none", "text", lambda row: row.why, weight=0),
    )
    columns = [
        replace(column, cells=_COLUMN_CELLS.get(column.id, column.cells))
        for column in columns_of(rows, fields)
    ]

    def place(row: int) -> Place | None:
        where = rows[row].place
        if where is None:
            return None
        return question.event_place(*where)

    return Table(
        id="roofline",
        title="Ops, most time first",
        columns=tuple(columns),
        place=place,
        order=("time_s", True),
        empty=_EMPTY,
        key=("name", "shapes", "time_s"),
        noun="op",
    )


def _cost_from(row: _Row) -> str:
    return row.basis or f"n/a: {row.why}"


def _facts(rows: Sequence[_Row], peaks: _Peaks) -> tuple[Fact, ...]:
    if not rows:
        return ()
    time = sum(row.time for row in rows)
    costed = [row for row in rows if row.flops is not None]
    costed_time = sum(row.time for row in costed)
    covered = costed_time / max(1, time)
    flops = sum(row.flops or 0.0 for row in costed)
    rate = None
    if costed and sum(row.time for row in costed):
        rate = flops / sum(row.seconds for row in costed)
    if peaks.flops and peaks.bandwidth:
        ridge = peaks.flops / peaks.bandwidth
    else:
        ridge = None
    return (
        Fact("flops", "FLOPs", flops if costed else None, "number", "FLOP", why="not known"),
        Fact("covered", "of the ops' time known", covered, "share"),
        Fact("flop_rate", "rate while they ran", rate, "number", "FLOP/s", why="not known"),
        Fact("peak_flops", "peak of the device", peaks.flops, "number", "FLOP/s", why=_NO_PEAK),
        Fact("peak_bandwidth", "its memory", peaks.bandwidth, "number", "B/s", why="not known"),
        Fact("ridge", "ridge", ridge, "number", "FLOP/B", why="not known"),
    )


def _notes(rows: Sequence[_Row]) -> tuple[str, ...]:
    notes = []
    bases = {row.basis for row in rows}
    if "program" in bases:
        notes.append(
            "Costs are counted from the program's text by XLA's rules: exponentials and their like "
            "are no FLOPs, and bytes are what an op reads and writes, whatever caches hold."
        )
    if _SHAPES_BASIS in bases:
        notes.append(
            "Costs are counted from the operators' input shapes: each value is read or written "
            "once."
        )
    return tuple(notes)


def _charts(rows: Sequence[_Row], peaks: _Peaks) -> tuple[Chart, ...]:
    points = []
    for row in rows:
        if row.intensity and row.flop_rate is not None and row.flop_rate > 0:
            points.append((row.intensity, row.flop_rate))
    if not points:
        return ()
    x = np.array([intensity for intensity, _ in points], np.float64)
    y = np.array([rate for _, rate in points], np.float64)
    series = []
    if peaks.flops and peaks.bandwidth:
        ridge = peaks.flops / peaks.bandwidth
        xs = np.array(
            [
                min(x.min(), ridge / _ROOF_SPAN),
                ridge,
                max(x.max(), ridge * _ROOF_SPAN),
            ]
        )
        roof = np.minimum(peaks.flops, xs * peaks.bandwidth)
        series.append(Series("roof", xs, roof))
    series.append(Series("ops", x, y))
    title = "FLOP/s over FLOP a byte"
    return (
        Chart(
            id="roofline",
            title=title,
            series=tuple(series),
            kind="points",
            x_label="FLOP/B",
            y_label="FLOP/s",
            y_unit="FLOP/s",
        ),
    )
