"""A frame of the timeline, without the terminal: what the level-of-detail index costs to build, to
keep and to ask.

Every figure stands beside the way without an index, in the same run: one pass of numpy over the
events of the same lanes. The profiles are one recording played again and again (see make_big), so
all three sizes look alike on the screen.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.harness import Table
from benchmarks.make_big import make
from powertui.data.formats import registry
from powertui.data.lod import Forest
from powertui.data.model import (
    PS_PER_S,
    Epochs,
    Floats,
    Int64s,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    Run,
    Sensor,
    Steps,
    Trace,
)
from powertui.data.tools import op_stats
from powertui.terminal import glyphs, theme
from powertui.view.paint import Cells, Inks, levels, paint, palette
from powertui.view.power_curve import PowerCurve
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import Viewport
from powertui.widgets.power_strip import half_edges

SIZES = (100_000, 1_000_000, 10_000_000)
LANES, CELLS = 40, 160
ROUNDS = 15


def load(events: int) -> Trace:
    """The generated profile of this size, as the reader gives it."""
    trace = None
    for trace in registry.load(make(events)):  # noqa: B007 (the last one is complete)
        pass
    assert trace is not None
    return trace


def ms(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median milliseconds; the first run warms up."""
    action()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def busiest(forest: Forest, count: int) -> list[int]:
    """The lanes with the most events; the same ones again where a profile has fewer than a screen
    has rows.
    """
    sizes = [
        int(forest.tracks[t].lanes[d + 1] - forest.tracks[t].lanes[d]) for t, d in forest.lanes
    ]
    order = sorted(range(len(sizes)), key=lambda lane: -sizes[lane])
    return [order[i % min(len(order), count)] for i in range(count)]


def one_pass(forest: Forest, edges: Int64s, lanes: list[int]) -> int:
    """The same question without an index: every event of every lane into its cell, and the longest
    of each cell.
    """
    width = int(edges[1] - edges[0])
    cells = len(edges) - 1
    total = 0
    for lane in lanes:
        track, depth = forest.lanes[lane]
        part = forest.tracks[track].lane(depth)
        cell = (part.start - edges[0]) // width
        seen = (cell >= 0) & (cell < cells)
        busy = np.bincount(cell[seen], part.duration[seen], cells)
        longest = np.zeros(cells, np.int64)
        np.maximum.at(longest, cell[seen], part.duration[seen])
        total += int(busy.sum()) + int(longest.sum())
    return total


def draw(model: TimelineModel, view: Viewport, lanes: list[int], look: Inks) -> None:
    """One frame, from the question to the segments that a terminal gets."""
    frame = model.forest.frame(view.edges(), lanes)
    level = levels(frame.busy, frame.count, view.cell_ps, look.full)
    name = np.stack([model.names_of(lane, frame.dominant[i]) for i, lane in enumerate(lanes)])
    cells = Cells(level, model.labels.inks(name), name, frame.dominant, np.zeros_like(level))
    painted = paint(cells, model.labels, look, cell0=view.cell0, budget=40)
    for row in range(len(lanes)):
        painted.segments(row, look)


def part_of(model: TimelineModel, part: int) -> Viewport:
    """A view of that part of the run, in its middle."""
    lo, hi = model.span
    view = Viewport.whole_of(model.span, CELLS)
    half = (hi - lo) // part // 2
    return view if part == 1 else view.fit((lo + hi) // 2 - half, (lo + hi) // 2 + half)


def frames() -> None:
    """Build, memory, and frames of the whole run and of parts of it."""
    built = Table(
        "The index",
        ["events", "build", "per million events", "index bytes an event", "with the columns"],
    )
    columns = [
        "events",
        "part of the run",
        "index",
        "index and painting",
        "one pass over the events",
        "ratio",
    ]
    asked = Table(f"One frame: {LANES} lanes of {CELLS} cells", columns)
    look = palette(theme.get("dark", "256"), glyphs.UNICODE)
    whole: dict[int, float] = {}
    for size in SIZES:
        trace = load(size)
        begin = time.perf_counter()
        forest = Forest.from_trace(trace)
        seconds = time.perf_counter() - begin
        events = forest.events
        each = forest.nbytes / events
        held = sum(
            c.nbytes
            for t in forest.tracks
            for c in (t.events.start, t.events.duration, t.events.name, t.events.place)
        )
        whole_each = each + held / events
        built.row(
            f"{events:,}",
            f"{seconds:.2f} s",
            f"{seconds / events * 1e9:.0f} ms",
            f"{each:.1f}",
            f"{whole_each:.1f}",
        )
        model = TimelineModel.from_run(Run("r", "", (trace,), (Steps.none(),), (Epochs(),)), 0)
        lanes = busiest(forest, LANES)
        for part in (1, 100, 10_000):
            view = part_of(model, part)
            query = ms(partial(model.forest.frame, view.edges(), lanes))
            full = ms(partial(draw, model, view, lanes, look))
            plain = ms(partial(one_pass, forest, view.edges(), lanes), 3)
            whole[size] = full if part == 1 else whole[size]
            asked.row(
                f"{events:,}",
                f"1/{part:,}",
                f"{query:.2f} ms",
                f"{full:.2f} ms",
                f"{plain:.1f} ms",
                f"{plain / query:.1f}",
            )
        if size == SIZES[-1]:
            table, search = (
                ms(partial(op_stats.op_stats, trace), 1),
                ms(partial(model.search, "Conv2D"), 3),
            )
            asked.note(
                f"The op table of all {events:,} events: {table:.0f} ms; a search over all "
                f"names: {search:.0f} ms."
            )
    times = whole[SIZES[-1]] / whole[SIZES[0]]
    asked.note(
        f"Whole run, {SIZES[-1]:,} events against {SIZES[0]:,}: {times:.2f} times the time of "
        "a frame."
    )
    built.print()
    asked.print()


def one_by_one(times: Int64s, watts: Floats, edges: Int64s) -> float:
    """The highest reading of each column, in plain Python."""
    columns = len(edges) - 1
    top = [0.0] * columns
    places = ((times - edges[0]) * columns // (edges[-1] - edges[0])).tolist()
    for at, value in zip(places, watts.tolist(), strict=True):
        if 0 <= at < columns and value > top[at]:
            top[at] = value
    return max(top)


def power() -> None:
    """A day of one reading a second, through the envelope of a power strip."""
    seconds = 86_400
    times = np.arange(seconds, dtype=np.int64) * PS_PER_S
    watts = np.random.default_rng(0).normal(300, 20, seconds).round()
    series = PowerSeries(Sensor("power", "generated"), times // 1000, watts, PowerKind.SAMPLED)
    curve = PowerCurve(PowerOnTrace(series, times, watts, 0, 0, 0, "aligned", "generated"))
    columns = ["window", "envelope", "one reading after the other", "ratio"]
    table = Table(f"Power strip: a day at one reading a second, {CELLS} cells", columns)
    day, noon = Viewport.whole_of((0, seconds * PS_PER_S), CELLS), seconds * PS_PER_S // 2
    for label, length in (("a day", seconds), ("an hour", 3600), ("a minute", 60)):
        view = day if length == seconds else day.fit(noon, noon + length * PS_PER_S)
        edges = half_edges(view)
        quick, slow = (
            ms(partial(curve.envelope, edges)),
            ms(partial(one_by_one, times, watts, edges), 3),
        )
        table.row(label, f"{quick:.2f} ms", f"{slow:.1f} ms", f"{slow / quick:.0f}")
    table.print()


def main() -> None:
    """Both tables."""
    frames()
    power()


if __name__ == "__main__":
    main()
