"""Epochs over each other by step: one against the others, their difference, and the findings.

What is drawn is worked out without a screen; the widget at the end only shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.energy.findings.finding import Against, Finding
from powertui.data.energy.fold import Folded
from powertui.data.model import PS_PER_S, Floats
from powertui.data.quantiles import known_medians
from powertui.named_tuples import NamedTuple
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.view.training_surroundings import finding_span
from powertui.widgets.area_chart import AreaChart, Band, round_ticks, second_ticks
from powertui.widgets.picture import Picture, SegmentRow
from powertui.widgets.ruler import Tick

# Around a finding: so many times its length, and so many seconds at least.
_MARGIN_RATIO, _MIN_MARGIN_S = 2.0, 2.0
_TICK_CELLS = 9  # from one label of the ruler to the next, at least
_MOMENTS_A_CELL = 4  # at which readings are looked up: one as long as half a cell is not missed


class FoldedView(NamedTuple):
    """One epoch (a line of `folded`) beside the others, and the finding under the cursor."""

    folded: Folded
    line: int
    findings: tuple[Finding, ...]
    selected: int = -1
    times: bool = False

    @property
    def epoch(self) -> int:
        """The number of the epoch."""
        return self.folded.epochs[self.line]

    @property
    def shows_times(self) -> bool:
        """Whether lengths are drawn: they were asked for, or no power is known."""
        return self.times or not np.isfinite(self.folded.watts).any()

    @property
    def values(self) -> Floats:
        """Watts or milliseconds."""
        if self.shows_times:
            return self.folded.seconds * 1e3
        return self.folded.watts

    @property
    def unit(self) -> str:
        return "ms" if self.shows_times else "W"


class AgainstView(NamedTuple):
    """A run without epochs to compare: its readings, and what was expected of them.

    Of a training that was never profiled that is its usual level.
    """

    against: Against
    findings: tuple[Finding, ...]
    selected: int = -1
    profiled: bool = True

    @property
    def span(self) -> tuple[float, float]:
        """What is drawn (s): the surroundings of the finding under the cursor, or all readings."""
        against = self.against
        compared = np.flatnonzero(np.isfinite(against.expected))
        if not len(compared):
            return 0.0, 1.0
        first_s = float(against.lo[compared[0]])
        last_s = float(against.hi[compared[-1]])
        if not 0 <= self.selected < len(self.findings):
            return first_s, last_s
        start_s, end_s = _finding_s(self.findings[self.selected])
        length_s = end_s - start_s
        margin_s = max(_MARGIN_RATIO * length_s, _MIN_MARGIN_S)
        # No further than the readings, unless the finding itself is beyond them.
        lo_s = max(min(first_s, start_s), start_s - margin_s)
        hi_s = min(max(last_s, end_s), end_s + margin_s)
        return lo_s, hi_s


def _finding_s(finding: Finding) -> tuple[float, float]:
    """Start and end of a finding in seconds."""
    start_s = finding.start_ps / PS_PER_S
    end_s = finding.end_ps / PS_PER_S
    return start_s, end_s


def _median_of(epochs: Floats) -> Floats:
    """The median of several epochs, step by step; NaN where none has a value."""
    has_value = np.isfinite(epochs).any(axis=0)
    median = np.full(epochs.shape[1], np.nan)
    median[has_value] = known_medians(epochs[:, has_value])
    return median


def _against_picture(
    view: AgainstView,
    width: int,
    height: int,
    theme: Theme,
    glyphs: Glyphs,
) -> list[SegmentRow]:
    """Readings over what was expected of them, their difference, the findings, and seconds."""
    chart = AreaChart(
        width=width,
        height=height,
        unit="W",
        theme=theme,
        glyphs=glyphs,
    )
    lo_s, hi_s = view.span
    cells_a_second = chart.cells / (hi_s - lo_s)
    measured, expected = _compared_watts(view, chart)
    bands = []
    for finding in view.findings:
        start_s, end_s = _finding_s(finding)
        first = math.floor((start_s - lo_s) * cells_a_second)
        stop = math.ceil((end_s - lo_s) * cells_a_second)
        bands.append(Band(first, stop, finding_span(finding).sizes))
    explained = "what the trace explains"
    rest = " Power that nothing in the trace explains"
    if not view.profiled:
        explained = "the usual level of training"
        rest = " Power beyond the usual level of training"
    ticks = second_ticks(
        lo_s,
        hi_s,
        chart.cells,
        _TICK_CELLS,
    )
    title = ((" Power: ", "title"), ("measured", "power"), (f" over {explained} ", "dim"))
    rows = [
        chart.line(*title, (glyphs.dashed * 2, "text")),
        *chart.area(measured, expected, _selected(bands, view.selected)),
        *chart.difference(rest, measured, expected),
        chart.bars(bands, view.selected),
        chart.ruler("", ticks),
    ]
    return rows[:height]


def _compared_watts(view: AgainstView, chart: AreaChart) -> tuple[Floats, Floats]:
    """What was measured at moments of each cell, and what was expected there."""
    against = view.against
    lo_s, hi_s = view.span
    cell_s = (hi_s - lo_s) / chart.cells
    at_s = np.linspace(lo_s, hi_s, _MOMENTS_A_CELL * chart.cells)
    last_row = len(against.hi) - 1
    row = np.searchsorted(against.hi, at_s)
    row = np.clip(row, 0, last_row)
    # A moment more than a cell before its reading still belongs to the one before it.
    is_before = at_s < against.lo[row] - cell_s
    row_before = np.maximum(row - 1, 0)
    row = np.where(is_before, row_before, row)
    return against.watts[row], against.expected[row]


def _folded_picture(
    view: FoldedView,
    width: int,
    height: int,
    theme: Theme,
    glyphs: Glyphs,
) -> list[SegmentRow]:
    """An epoch over the others, its difference from them, the findings, and step numbers."""
    chart = AreaChart(
        width=width,
        height=height,
        unit=view.unit,
        theme=theme,
        glyphs=glyphs,
    )
    values = view.values
    epoch = values[view.line]
    others = _median_of(np.delete(values, view.line, axis=0))
    bands = [_step_cells(view, finding, chart.cells) for finding in view.findings]
    rows = [
        chart.line(*_title(view), (glyphs.dashed * 2, "text")),
        *chart.area(epoch, others, _selected(bands, view.selected)),
        *chart.difference(_caption(view), epoch, others),
        chart.bars(bands, view.selected),
        chart.ruler("step", _step_ticks(view, chart.cells)),
    ]
    return rows[:height]


def _selected(bands: Sequence[Band | None], selected: int) -> Band | None:
    """The band of the finding under the cursor."""
    if 0 <= selected < len(bands):
        return bands[selected]
    return None


def _step_cells(view: FoldedView, finding: Finding, cells: int) -> Band | None:
    """The cells of a finding's steps; None where no epoch has it. Its size is written beside it
    where its own epoch is in front.
    """
    folded = view.folded
    if finding.epoch not in folded.epochs:
        return None
    line = folded.epochs.index(finding.epoch)
    if finding.step_lo is not None and finding.step_hi is not None:
        # The steps that the sentence names: they are whole ones, and the stretch is not.
        numbers = folded.numbers[line]
        is_inside = (numbers >= finding.step_lo) & (numbers <= finding.step_hi)
    else:
        start = folded.start[line]
        is_inside = (start >= finding.start_ps) & (start < finding.end_ps)
    inside = np.flatnonzero(is_inside)
    if not len(inside):
        return None
    first_step = int(inside[0])
    end_step = int(inside[-1]) + 1
    sizes: tuple[str, ...] = ()
    if finding.epoch == view.epoch and not view.shows_times:
        sizes = finding_span(finding).sizes
    return Band(
        first=first_step * cells // folded.steps,
        stop=-(-end_step * cells // folded.steps),
        words=sizes,
    )


def _step_ticks(view: FoldedView, cells: int) -> Iterator[Tick]:
    """Round numbers of steps, each at its cell."""
    numbers = view.folded.numbers[view.line]
    known = numbers[numbers >= 0]
    if not len(known):
        return
    first = float(known[0])
    last = float(known[-1])
    row_of = {number: row for row, number in enumerate(numbers.tolist())}
    for mark in round_ticks(first, last, cells, _TICK_CELLS):
        number = round(mark)
        row = row_of.get(number)
        if row is not None:
            column = row * cells // len(numbers)
            yield Tick(column, str(number))


def _title(view: FoldedView) -> list[tuple[str, str]]:
    quantity = "Length of each step"
    if view.unit == "W":
        quantity = "Mean power of each step"
    others = [number for number in view.folded.epochs if number != view.epoch]
    rest = f"the other {len(others)}"
    if len(others) == 1:
        rest = f"epoch {others[0]}"
    return [
        (f" {quantity}: ", "title"),
        (f"epoch {view.epoch}", "power"),
        (f" over {rest} ", "dim"),
    ]


def _caption(view: FoldedView) -> str:
    others = "the other"
    if len(view.folded.epochs) > 2:
        others = "the median of the others"
    return f" Difference of epoch {view.epoch} from {others}"


class FoldedChart(Picture[FoldedView | AgainstView]):
    """Shows epochs over each other, or readings over what was expected; else a sentence."""

    def picture(
        self,
        view: FoldedView | AgainstView,
        width: int,
        height: int,
        theme: Theme,
        glyphs: Glyphs,
    ) -> list[SegmentRow]:
        if isinstance(view, AgainstView):
            return _against_picture(
                view,
                width,
                height,
                theme,
                glyphs,
            )
        return _folded_picture(
            view,
            width,
            height,
            theme,
            glyphs,
        )
