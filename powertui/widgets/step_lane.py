"""The lane of steps: each with its number, or a line with round numbers where they are narrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui import units
from powertui.data.model import Bools, Int64s, Step, Steps
from powertui.data.quantiles import median_of_column
from powertui.plain import plain
from powertui.view.neighbor_profiles import NeighborProfile
from powertui.view.slow_steps import slow_steps
from powertui.view.surroundings import Surroundings
from powertui.view.viewport import Viewport
from powertui.widgets.ruler import tick_step
from powertui.widgets.stretches import LabelledStretch, drawn_cells
from powertui.widgets.time_lane import TimeLane, fit_text, styled

_LARGEST_NUMBER = np.iinfo(np.int64).max
_MIN_BARS_BETWEEN = 5  # cells between two step numbers that show how long steps are
_BAR_MEDIANS = 2.0  # a bar of so many medians is a whole cell high
_NUMBER_GAP_CELLS = 12  # between two step numbers, so that they are read as a scale


class StepLane(TimeLane):
    """Steps with their numbers; where they are narrower than cells, a line with a number now and
    then.
    """

    # other profiles of the training in sight: their steps are drawn where they ran
    neighbors: tuple[NeighborProfile, ...] = ()

    def label(self, y: int) -> list[Segment]:
        assert self.model is not None
        count = len(self.model.steps)
        if count:
            return self.name_label("steps", str(count))
        return self.name_label("steps", "none")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        model = self.model
        steps = model.steps
        view = self.state.viewport
        logged: list[tuple[int, str]] = []
        neighbors: list[NeighborProfile] = []
        if model.surroundings is not None:
            logged = round_numbers(model.surroundings, view)
            neighbors = [profile for profile in self.neighbors if len(profile.model.steps)]
        if not len(steps) and not logged and not neighbors:
            return self._without_steps(steps.source)
        drawn = set(view.covered(*model.profiled))
        # In a few cells numbers of the profile would only displace those of the training.
        has_numbers = not logged or len(drawn) >= _NUMBER_GAP_CELLS
        chars, styles = self._profile_steps(
            steps,
            view,
            has_numbers=has_numbers,
        )
        for profile in neighbors:
            start, end = profile.stretch(model)
            columns = [x for x in view.covered(start, end) if x not in drawn]
            drawn.update(columns)
            if not columns:
                continue
            neighbor_chars, neighbor_styles = self._profile_steps(
                steps=profile.model.steps,
                view=profile.view(model, view),
                has_numbers=not logged or len(columns) >= _NUMBER_GAP_CELLS,
            )
            for x in columns:
                chars[x] = neighbor_chars[x]
                styles[x] = neighbor_styles[x]
        self._draw_logged(chars, styles, logged)
        return styled(chars, styles)

    def _without_steps(self, reason: str) -> list[Segment]:
        why = plain(reason or "no steps were found", 200)
        text = fit_text(f" {why}", self.columns, self.glyphs.ellipsis)
        style = self.theme_colors.style("dim")
        return [Segment(text, style)]

    def _profile_steps(
        self,
        steps: Steps,
        view: Viewport,
        *,
        has_numbers: bool,
    ) -> tuple[list[str], list[Style]]:
        """The steps of one profile, over the cells of its own axis."""
        started = int(steps.start.searchsorted(view.t0, side="right"))
        first = max(0, started - 1)
        last = int(steps.start.searchsorted(view.t1, side="left"))
        if first >= last:
            return [" "] * view.width, [Style.null()] * view.width
        starts = steps.start[first:last]
        # An empty stretch has no cell to be drawn in.
        ends = np.maximum(steps.ends()[first:last], starts + 1)
        numbers = steps.number[first:last]
        if not _have_room(starts, numbers, view):
            shown_numbers = numbers if has_numbers else None
            return self._dense(
                starts,
                ends,
                shown_numbers,
                view,
            )
        stretches = []
        for row, lo, hi in zip(range(first, last), starts.tolist(), ends.tolist(), strict=True):
            stretch = LabelledStretch(
                lo=lo,
                hi=hi,
                texts=_step_texts(steps[row]),
                role="step" if row % 2 else "step_alt",
            )
            stretches.append(stretch)
        roles = {role: self.theme_colors.style(role) for role in ("step", "step_alt")}
        return drawn_cells(
            stretches,
            view,
            roles,
            self.glyphs.ellipsis,
            apart=True,
        )

    def _draw_logged(
        self,
        chars: list[str],
        styles: list[Style],
        ticks: Sequence[tuple[int, str]],
    ) -> None:
        """Logged step numbers, where the profiles have no steps."""
        style = self.theme_colors.style("dim")
        for column, number in ticks:
            text = self.glyphs.vertical + number
            stop = column + len(text)
            # A blank on both sides: two numbers must not be read as one.
            before = max(0, column - 1)
            neighborhood = chars[before : stop + 1]
            is_free = all(char == " " for char in neighborhood)
            if stop <= len(chars) and is_free:
                chars[column:stop] = list(text)
                styles[column:stop] = [style] * len(text)

    def _dense(
        self,
        starts: Int64s,
        ends: Int64s,
        numbers: Int64s | None,
        view: Viewport,
    ) -> tuple[list[str], list[Style]]:
        """A line where there are steps, with round numbers on it."""
        # Steps do not overlap: a cell has some when its last moment's step has not ended before its
        # first.
        edges = view.edges()
        started = starts.searchsorted(edges[1:])
        last_row = np.maximum(started - 1, 0)
        has_steps = (started > 0) & (ends[last_row] > edges[:-1])
        chars, styles = self._bars(
            starts,
            ends,
            has_steps,
            view,
        )
        if numbers is None or len(numbers) < 2:
            return chars, styles
        label = self.theme_colors.style("label")
        round_to = _rounding(starts, numbers, view)
        for column, number in _even_numbers(starts, numbers, view, round_to):
            text = f"{self.glyphs.vertical}{number} "
            stop = column + len(text)
            chars[column:stop] = list(text)
            styles[column:stop] = [label] * len(text)
        return chars, styles

    def _bars(
        self,
        starts: Int64s,
        ends: Int64s,
        has_steps: Bools,
        view: Viewport,
    ) -> tuple[list[str], list[Style]]:
        """A low bar where there are steps: as high as the longest one there is beside the median of
        those in view, and in another color where that one is slow.
        """
        theme = self.theme_colors
        lengths = ends - starts
        rows = _longest_in_cells(starts, lengths, view.edges())
        bars = np.array(list(self.glyphs.bars))
        full_length = max(1.0, _BAR_MEDIANS * median_of_column(lengths))
        share = lengths[rows] / full_length
        level = np.rint(share * len(bars)).astype(np.int64)
        level = np.clip(level, 1, len(bars) - 1)
        line = np.where(has_steps, bars[level - 1], " ")
        is_slow = slow_steps(lengths)[rows] & has_steps
        usual_style = theme.style("step_bars")
        slow_style = theme.style("warn")
        styles = [slow_style if slow else usual_style for slow in is_slow.tolist()]
        return line.tolist(), styles


def _rounding(starts: Int64s, numbers: Int64s, view: Viewport) -> int:
    """Of which number those that are written are multiples: one for each ten cells or so."""
    first_column = view.column(int(starts[0]))
    last_column = view.column(int(starts[-1]))
    cells = max(1, last_column - first_column)
    # Their range, not the last less the first: numbers may begin anew within the view.
    lowest = int(numbers.min())
    highest = int(numbers.max())
    numbers_each = (highest - lowest) // cells
    return tick_step(max(1, numbers_each), 10)


def _longest_in_cells(starts: Int64s, lengths: Int64s, edges: Int64s) -> Int64s:
    """For each cell the row of the longest step that has begun in it; of none the last one before
    it, which goes on there.
    """
    at_edges = starts.searchsorted(edges)
    first = at_edges[:-1]
    last = at_edges[1:]
    rows = np.maximum(first - 1, 0)
    has_begin = last > first
    for cell in np.flatnonzero(has_begin).tolist():
        lo = int(first[cell])
        in_cell = lengths[lo : last[cell]]
        rows[cell] = lo + int(in_cell.argmax())
    return rows


def _even_numbers(
    starts: Int64s,
    numbers: Int64s,
    view: Viewport,
    round_to: int,
) -> list[tuple[int, int]]:
    """(column, number) of the multiples of the first 1, 2 or 5 times a power of ten, at least
    `round_to`, of which each one has room: 0, 10, 30, 50 would read as steps of two lengths.
    """
    while True:
        marks, is_even = _marks_with_room(
            starts,
            numbers,
            view,
            round_to,
        )
        if is_even:
            return marks
        round_to = tick_step(round_to + 1, 1)


def _marks_with_room(
    starts: Int64s,
    numbers: Int64s,
    view: Viewport,
    round_to: int,
) -> tuple[list[tuple[int, int]], bool]:
    """The multiples that have room, and whether all others are beyond the view or begin anew."""
    marks: list[tuple[int, int]] = []
    free_from = 0
    is_even = True
    if round_to <= _LARGEST_NUMBER:
        is_multiple = numbers % round_to == 0
    else:
        # A file may number its steps as it likes: of what no number reaches only 0 is a multiple.
        is_multiple = numbers == 0
    for row in np.flatnonzero(is_multiple).tolist():
        column = view.column(int(starts[row]))
        number = int(numbers[row])
        cells = len(str(number)) + 2  # with its mark, and a blank
        stop = column + cells
        if column < 0 or stop > view.width:
            continue
        if column >= free_from:
            marks.append((column, number))
            free_from = stop + _MIN_BARS_BETWEEN
        elif number > marks[-1][1]:
            is_even = False
    return marks, is_even


def round_numbers(surroundings: Surroundings, view: Viewport) -> list[tuple[int, str]]:
    """(column, number) of the round step numbers in sight.

    A number that no record has exactly begins with ~: its moment is interpolated.
    """
    ticks = []
    for part in surroundings.numbers:
        first = part.number_at(view.t0)
        last = part.number_at(view.t1)
        if last <= first:
            continue
        start_ps, _ = part.moment_of(first)
        end_ps, _ = part.moment_of(last)
        cells = max(1, (end_ps - start_ps) // view.cell_ps)
        min_step = _NUMBER_GAP_CELLS * (last - first) // cells
        round_to = tick_step(max(1, min_step), 1)
        first_round = -(-first // round_to) * round_to
        for number in range(first_round, last + 1, round_to):
            ps, is_exact = part.moment_of(number)
            if view.shows(ps):
                text = f"{number} "
                if not is_exact:
                    text = f"~{text}"
                ticks.append((view.column(ps), text))
    return ticks


def _have_room(starts: Int64s, numbers: Int64s, view: Viewport) -> bool:
    """Whether half of the steps are as far apart as the longest number with a blank.

    A pause between two epochs makes no room: of narrow steps a number would stand on every second
    or fifth, as rounding has it.
    """
    if len(starts) < 2:
        return True
    largest = int(numbers.max())
    number_cells = len(str(largest)) + 1
    median_ps = median_of_column(np.diff(starts))
    return median_ps >= number_cells * view.cell_ps


def _step_texts(step: Step) -> tuple[str, ...]:
    """A step's number, with its times where there is room: by TensorFlow's rule, host, devices."""
    if step.number < 0:
        numbers: tuple[str, ...] = ("step",)
    else:
        numbers = (f"step {step.number}", str(step.number))
    if step.step is None:
        return numbers
    length = units.duration(step.step)
    with_time = f"{numbers[0]}: {length}"
    if step.device is None:
        return (with_time, *numbers)
    device_time = units.duration(step.device)
    times = f"its device work {device_time}"
    if step.host is not None:
        host_time = units.duration(step.host)
        times = f"host {host_time}, {times}"
    return (f"{with_time} ({times})", with_time, *numbers)
