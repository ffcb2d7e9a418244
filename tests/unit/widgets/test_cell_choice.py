"""A stretch of cells is painted so that each kind of work shows for its share of the time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.category import CATEGORIES
from powertui.data.model import Floats
from powertui.terminal import theme as themes
from powertui.terminal.glyphs import UNICODE
from powertui.view.cell_choice import chosen, thresholds
from powertui.view.labels import QUIET, SHADES
from powertui.view.navigation import Navigator
from powertui.view.paint import paint, palette
from powertui.view.scene import Scene
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import traces
from tests.synthetic.traces import MS

STREAM = ("/device:GPU:0", "Stream #7")
# Names of which each is of another kind.
GEMM = "ampere_sgemm_128x64_nn"
ADD = "vectorized_elementwise_kernel<add>"
COPY = "Memcpy DtoD (Device -> Device)"


def model_of(events: list[traces.Event]) -> TimelineModel:
    return TimelineModel.from_run(traces.run(traces.trace({STREAM: events})))


def loop(parts: list[tuple[int, str]], total: int) -> list[traces.Event]:
    """These (length, name) one behind another, again and again until `total`."""
    events: list[traces.Event] = []
    start = 0
    while start < total:
        for length, name in parts:
            events.append((start, length, name))
            start += length
    return events


def painted_shares(model: TimelineModel, width: int, budget: int) -> Floats:
    """The part of the painted area of the stream that each kind has."""
    navigator = Navigator(model, width, 10)
    rows = tuple(row for row in navigator.rows if row.lanes)
    cells = Scene(model, 8).cells(replace(navigator.state, cursor_ps=-1), rows)
    look = palette(themes.get(), UNICODE)
    painted = paint(cells, model.labels, look, cell0=navigator.viewport.cell0, budget=budget)
    kinds = (painted.key[0] & (QUIET - 1)) // SHADES
    area = np.bincount(kinds, cells.level[0], len(CATEGORIES))
    shares: Floats = area / area.sum()
    return shares


def true_shares(model: TimelineModel) -> Floats:
    events = model.tracks[0].track.events
    kinds = model.labels.kinds(events.name.astype(np.int64))
    time = np.bincount(kinds, events.duration, len(CATEGORIES))
    shares: Floats = time / time.sum()
    return shares


@pytest.mark.parametrize("width", [62, 93, 131])
@pytest.mark.parametrize("budget", [40, 1000])
@pytest.mark.parametrize(
    "parts",
    [
        # One long product and many short kernels: the longest of each cell is always the product.
        [(40, GEMM), *[(4, ADD)] * 12, *[(6, COPY)] * 4],
        [(25, GEMM), *[(2, ADD)] * 30],
        [(30, GEMM), (30, ADD), (30, COPY)],
        [(100, ADD), (1, COPY), (9, GEMM)],
    ],
    ids=["mixed", "short", "alike", "rare"],
)
def test_what_is_painted_has_the_shares_of_the_legend(
    parts: list[tuple[int, str]], width: int, budget: int
) -> None:
    """A loop much shorter than a cell."""
    model = model_of(loop([(length * MS // 100, name) for length, name in parts], 400 * MS))
    off = np.abs(painted_shares(model, width, budget) - true_shares(model))
    assert off.max() < 0.12


@pytest.mark.parametrize("period", [0.7, 1.0, 1.9, 2.0, 4.0, 8.0])
def test_a_loop_that_keeps_step_with_the_cells_is_not_painted_as_one_kind(period: float) -> None:
    """Of each loop three fifths are one kind: where the cells keep step with it, too."""
    cell = 4 * MS
    length = int(period * cell)
    parts = [(length * 3 // 5, GEMM), (length - length * 3 // 5, ADD)]
    model = model_of(loop(parts, 120 * cell))
    off = np.abs(painted_shares(model, 125, 1000) - true_shares(model))
    assert off.max() < 0.12


def test_a_long_event_keeps_its_cells_and_its_name() -> None:
    """Between short ones it is a bar, in one color."""
    short = loop([(MS // 10, ADD), (MS // 20, COPY)], 40 * MS)
    end = short[-1][0] + short[-1][1]
    after = [(start + end + 20 * MS, length, name) for start, length, name in short]
    model = model_of([*short, (end, 20 * MS, GEMM), *after])
    navigator = Navigator(model, 100, 10)
    rows = tuple(row for row in navigator.rows if row.lanes)
    cells = Scene(model, 8).cells(replace(navigator.state, cursor_ps=-1), rows)
    covered = navigator.viewport.covered(end, end + 20 * MS)
    inside = cells.event[0][covered.start + 1 : covered.stop - 1]
    assert len(inside) >= 15
    assert len(set(inside.tolist())) == 1


def test_a_pan_changes_no_color_in_view() -> None:
    parts = [(40 * MS // 100, GEMM), *[(4 * MS // 100, ADD)] * 12, (MS // 4, COPY)]
    model = model_of(loop(parts, 900 * MS))
    navigator = Navigator(model, 80, 10)
    navigator.zoom(8)
    scene = Scene(model, 8)
    rows = tuple(row for row in navigator.rows if row.lanes)
    scene.cells(navigator.state, rows)
    for by in (7, -3, 11, 2, 31):
        navigator.pan(by)
        ours = scene.cells(navigator.state, rows)
        anew = Scene(model, 8).cells(navigator.state, rows)
        np.testing.assert_array_equal(ours.ink, anew.ink)
        np.testing.assert_array_equal(ours.event, anew.event)


def test_a_choice_without_weight_is_never_taken() -> None:
    weights = np.array([[0, 3, 0, 1, 0]] * 500)
    taken = chosen(weights, np.arange(-250, 250))
    assert set(taken.tolist()) == {1, 3}
    assert 0.7 < (taken == 1).mean() < 0.8


def test_thresholds_of_neighbors_are_spread_evenly() -> None:
    for first in (-1000, 0, 17, 10**9):
        ordered = np.sort(thresholds(np.arange(first, first + 64)))
        assert ordered[0] >= 0
        assert ordered[-1] < 1
        assert np.diff(ordered).max() < 0.03


def test_the_bar_of_a_call_is_not_striped_by_the_work_in_it() -> None:
    """Its name stands over it: it has the color of what lasts longest in each of its cells."""
    parts = [(40 * MS // 100, "MatMul:MatMul"), *[(4 * MS // 100, "Add:Add")] * 12]
    work = loop(parts, 400 * MS)
    end = work[-1][0] + work[-1][1]
    lines: dict[tuple[str, str], list[traces.Event]] = {
        ("/host:CPU", "main"): [(0, end, "call"), *work]
    }
    model = TimelineModel.from_run(traces.run(traces.trace(lines)))
    navigator = Navigator(model, 90, 20)
    rows = tuple(row for row in navigator.rows if row.lanes)
    cells = Scene(model, 8).cells(replace(navigator.state, cursor_ps=-1), rows)
    full = cells.level[0] == 8
    assert full.sum() > 60
    assert len(set(cells.ink[0][full].tolist())) == 1
    assert len(set(cells.ink[1][cells.level[1] == 8].tolist())) > 1
