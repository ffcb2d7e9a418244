"""What the cells of a view hold: neighbours are one bar exactly when they are of one event."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from powertui.data.category import CATEGORIES, Category
from powertui.view.labels import QUIET, SHADES
from powertui.view.navigation import Navigator
from powertui.view.scene import Scene
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import traces
from tests.synthetic.traces import MS


def test_events_of_a_folded_process_are_told_apart_by_lane_and_row() -> None:
    """Two lanes whose events have the same numbers follow one another: each is a bar of its own."""
    first = [(0, 10 * MS, "a"), (20 * MS, 10 * MS, "a")]
    second = [(10 * MS, 10 * MS, "b"), (30 * MS, 10 * MS, "b")]
    model = TimelineModel.from_run(
        traces.run(traces.trace({("/host:CPU", "one"): first, ("/host:CPU", "two"): second}))
    )
    n = Navigator(model, 40, 10)
    n.fold_all(True)
    rows = tuple(row for row in n.rows if len(row.lanes) > 1)
    assert rows, "a folded process draws both lanes in one row"
    cells = Scene(model, 8).cells(replace(n.state, cursor_ps=-1), rows)
    seen = cells.event[0][cells.event[0] >= 0]
    assert seen.dtype == np.int64
    changes = [int(seen[0]), *(b for a, b in pairwise(seen.tolist()) if a != b)]
    assert len(changes) == len(set(changes)) == 4


def test_a_folded_process_of_one_track_is_drawn_from_that_track() -> None:
    """It is the row of no track: its events are not looked up in the last track of the profile."""
    kernels = []
    for i in range(40):
        kernels.append((i * 20 * MS, 20 * MS, "Conv2D:Conv2D"))
        kernels.append((i * 20 * MS, 20 * MS, "gemm"))
    threads = [(0, 800 * MS, "main"), (0, 10 * MS, "load")]
    model = TimelineModel.from_run(
        traces.run(
            traces.trace({("/device:GPU:0", "Stream"): kernels, ("/host:CPU", "python"): threads})
        )
    )
    n = Navigator(model, 80, 10)
    n.fold_all(True)
    assert [len(row.lanes) for row in n.rows] == [1, 1]
    cells = Scene(model, 8).cells(replace(n.state, cursor_ps=-1), n.rows)
    assert cells.event[0].max() > len(model.tracks[-1].track.events)
    assert (cells.ink[0] & QUIET).tolist() == [0] * 80, (
        "the work below is out of sight: its row does not give way"
    )


def _quiet(lines: dict[tuple[str, str], list[traces.Event]]) -> dict[str, bool]:
    """Which names are drawn quietly, whole run in view."""
    model = TimelineModel.from_run(traces.run(traces.trace(lines)))
    n = Navigator(model, 80, 20)
    cells = Scene(model, 8).cells(replace(n.state, cursor_ps=-1), n.rows)
    names = model.trace.names
    return {
        names.full(int(name)): bool(ink & QUIET)
        for name, ink, level in zip(
            cells.name.ravel(), cells.ink.ravel(), cells.level.ravel(), strict=True
        )
        if level
    }


def test_what_only_holds_other_work_is_drawn_quietly_and_the_work_below_it_is_not() -> None:
    call = [
        (0, 100 * MS, "KernelAndDeviceFunc::Run"),
        (1 * MS, 98 * MS, "Conv2D:Conv2D"),
        (2 * MS, 40 * MS, "gemm"),
    ]
    assert _quiet({("/host:CPU", "main"): call}) == {
        "KernelAndDeviceFunc::Run": True,
        "Conv2D:Conv2D": False,
        "gemm": False,
    }


def test_a_call_that_waits_for_other_threads_is_drawn_quietly() -> None:
    drawn = _quiet(
        {
            ("/host:CPU", "main"): [(0, 9 * MS, "KernelAndDeviceFunc::Run")],
            ("/host:CPU", "pool"): [(0, 9 * MS, "gemm")],
        }
    )
    assert drawn == {"KernelAndDeviceFunc::Run": True, "gemm": False}


def test_a_line_that_tells_other_lines_again_is_drawn_quietly() -> None:
    kernel = {("/device:GPU:0", "Stream #1"): [(0, 50 * MS, "gemm")]}
    drawn = _quiet(
        {("/device:GPU:0", "TensorFlow Name Scope"): [(0, 50 * MS, "model/conv")], **kernel}
    )
    assert drawn == {"model/conv": True, "gemm": False}


def test_quiet_or_not_is_the_same_after_a_pan() -> None:
    events = [
        e
        for i in range(50)
        for e in ((i * 20 * MS, 20 * MS, "call"), (i * 20 * MS, (20 if i % 2 else 5) * MS, "gemm"))
    ]
    model = TimelineModel.from_run(traces.run(traces.trace({("/host:CPU", "main"): events})))
    n = Navigator(model, 60, 10)
    n.zoom(12)
    scene = Scene(model, 8)
    scene.cells(n.state, n.rows)
    for by in (7, -3, 11, 2):
        n.pan(by)
        np.testing.assert_array_equal(
            scene.cells(n.state, n.rows).ink, Scene(model, 8).cells(n.state, n.rows).ink
        )


def test_a_folded_thread_has_the_color_of_what_has_most_self_time() -> None:
    """The executor's call lasts all the time and does nothing itself."""
    events = [
        (0, 100 * MS, "ExecutorState::Process"),
        (0, 60 * MS, "Conv2D:Conv2D"),
        (60 * MS, 39 * MS, "MatMul:MatMul"),
    ]
    model = TimelineModel.from_run(
        traces.run(traces.trace({("/host:CPU", "pool"): events, ("/host:CPU", "x"): events[:1]}))
    )
    n = Navigator(model, 100, 10)
    row = next(row for row in n.rows if row.lanes and row.track >= 0)
    folded = replace(row, folded=True)
    cells = Scene(model, 8).cells(replace(n.state, cursor_ps=-1), (folded,))
    inks = model.labels.inks
    names = {model.trace.names.full(number): number for number in range(len(model.trace.names))}
    convolution, product = (
        int(inks(np.array([names[name]]))[0]) for name in ("Conv2D:Conv2D", "MatMul:MatMul")
    )
    drawn = cells.ink[0][cells.level[0] > 0].tolist()
    border = round(0.6 * len(drawn))
    assert set(drawn[: border - 1]) == {convolution}
    assert set(drawn[border + 1 : -2]) == {product}
    assert len(set(cells.event[0][cells.event[0] >= 0].tolist())) == 1, (
        "what the cursor stands on is the call all the same"
    )


def test_what_only_holds_others_is_shaded_by_what_it_holds() -> None:
    """The executor's call is no slab of grey where convolutions run inside of it."""
    events = [
        (0, 100 * MS, "ExecutorState::Process"),
        (0, 60 * MS, "Conv2D:Conv2D"),
        (60 * MS, 39 * MS, "Iterator::Prefetch"),
    ]
    model = TimelineModel.from_run(
        traces.run(traces.trace({("/host:CPU", "pool"): events, ("/host:CPU", "x"): events[:1]}))
    )
    n = Navigator(model, 100, 10)
    rows = n.rows
    cells = Scene(model, 8).cells(replace(n.state, cursor_ps=-1), rows)
    y = next(y for y, row in enumerate(rows) if row.lanes and row.track >= 0)
    inks = cells.ink[y][cells.level[y] > 0]
    assert bool((inks[5:-5] & QUIET).all())
    kinds = [CATEGORIES[ink // SHADES] for ink in (inks & (QUIET - 1)).tolist()]
    border = round(0.6 * len(kinds))
    assert set(kinds[5 : border - 2]) == {Category.CONVOLUTION}
    assert set(kinds[border + 2 : -5]) == {Category.INPUT}
