"""The ruler: round moments, as many decimals as the grid needs, the cursor and the marked
window.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual import events

from powertui import units
from powertui.data.model import PS_PER_S
from powertui.value_types import dataclass
from powertui.view.time_navigation import State
from powertui.view.viewport import Viewport
from powertui.widgets.time_lane import TimeLane, styled

_REVERSE = Style(reverse=True)
_CLOCK_FROM_PS = 120 * PS_PER_S  # beyond that whole seconds are written as on a clock
_MAX_LABEL_CELLS = 11  # a longer label is written as a distance from the first


@dataclass(frozen=True)
class Tick:
    column: int
    text: str


def tick_step(cell_ps: int, cells: int) -> int:
    """The smallest 1, 2 or 5 times a power of ten that is at least `cells` cells long."""
    min_step = cell_ps * cells
    power = 1
    while True:
        for factor in (1, 2, 5):
            if power * factor >= min_step:
                return power * factor
        power *= 10


# A moment is read on a grid this much coarser than the thousandths of what begins then.
_GRIDS_A_MOMENT = 100
# Round lengths of a clock, in seconds.
_CLOCK = (10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)


def _moment(ps: int, grid: int, *, clock: bool = False) -> str:
    """A moment on a grid: in seconds, or as on a clock (1:02:30)."""
    if not clock:
        return units.instant(ps, grid)
    seconds = abs(ps) // PS_PER_S
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    sign = ""
    if ps < 0:
        sign = "-"
    return f"{sign}{hours}:{minutes:02d}:{seconds:02d}"


def _by_clock(view: Viewport, origin: int, grid: int) -> bool:
    """Whether moments read better as on a clock: whole seconds, minutes away from where
    they count.
    """
    if grid % PS_PER_S:
        return False
    first_ps = abs(view.t0 - origin)
    last_ps = abs(view.t1 - origin)
    return max(first_ps, last_ps) >= _CLOCK_FROM_PS


def moment_words(
    ps: int,
    length: int,
    view: Viewport,
    origin: int,
) -> str:
    """A moment as the ruler counts it, to between a tenth and a hundredth of the length of what
    begins then.
    """
    grid = units.resolution(length) * _GRIDS_A_MOMENT
    return _moment(ps - origin, grid, clock=_by_clock(view, origin, grid))


def _step(view: Viewport, cells: int) -> int:
    """The distance of two marks: round in seconds, or on a clock where the view is that long."""
    step = tick_step(view.cell_ps, cells)
    if step < _CLOCK[0] * PS_PER_S:
        return step
    min_step = view.cell_ps * cells
    for seconds in _CLOCK:
        if seconds * PS_PER_S >= min_step:
            return seconds * PS_PER_S
    day = _CLOCK[-1] * PS_PER_S
    return -(-min_step // day) * day


def ticks(view: Viewport, origin: int = 0) -> list[Tick]:
    """Marks at round moments, spaced so that their labels never meet. They count from `origin`."""
    label_cells = 9
    begin_ps = view.t0 - origin
    end_ps = view.t1 - origin
    # Wider labels need a longer step, and a longer step may need shorter labels: a few rounds do.
    for _ in range(4):
        step_ps = _step(view, label_cells + 2)
        first_ps = -(-begin_ps // step_ps) * step_ps
        moments = range(first_ps, end_ps, step_ps)
        by_clock = _by_clock(view, origin, step_ps)
        labels = _tick_labels(moments, step_ps, clock=by_clock)
        longest = max(map(len, labels[1:]), default=0)
        if longest <= label_cells:
            break
        label_cells = longest
    marks = []
    for ps, text in zip(moments, labels, strict=True):
        column = view.column(ps + origin)
        marks.append(Tick(column, text))
    return _without_covered(marks)


def _tick_labels(moments: range, step: int, *, clock: bool) -> list[str]:
    labels = [_moment(ps, step, clock=clock) for ps in moments]
    longest = max(map(len, labels), default=0)
    if longest <= _MAX_LABEL_CELLS:
        return labels
    # Deep inside a long run: the first in full, the others as what is added to it.
    first_ps = moments[0]
    short_labels = labels[:1]
    for ps in moments[1:]:
        since_first = units.duration(ps - first_ps)
        short_labels.append(f"+{since_first}")
    return short_labels


def _without_covered(marks: list[Tick]) -> list[Tick]:
    """Without those that the label of the first would touch: it may be longer than the others."""
    if len(marks) < 2:
        return marks
    first, *others = marks
    label_end = first.column + 1 + len(first.text)
    if label_end < others[0].column:
        return marks
    shown = [first]
    for tick in others:
        if tick.column > label_end + 1:
            shown.append(tick)
    return shown


class Ruler(TimeLane):
    """One row of ticks. The gutter says what one cell is worth. A drag marks a window."""

    _pressed: int | None = None  # where the button went down

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A drag begins, or a click."""
        is_on_cells = event.x >= self.label_width
        if event.button == 1 and is_on_cells and self.state is not None:
            self._pressed = event.x
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """What was dragged over is the window."""
        if self._pressed is not None and event.x != self._pressed:
            self._mark_to(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The end of a drag, or a click: there goes the cursor."""
        if self._pressed is None:
            return
        self.release_mouse()
        if event.x == self._pressed:
            self.post_message(self.Asked("goto", self.time_at(event.x)))
        else:
            self._mark_to(event.x)
        self._pressed = None

    def on_click(self, event: events.Click) -> None:
        """Pressing and letting go have done it."""

    def _mark_to(self, x: int) -> None:
        assert self._pressed is not None
        assert self.state is not None
        pressed_ps = self.time_at(self._pressed)
        here_ps = self.time_at(x)
        lo = min(pressed_ps, here_ps)
        hi = max(pressed_ps, here_ps)
        length_ps = hi + self.state.viewport.cell_ps - lo
        self.post_message(self.Asked("mark", lo, length_ps))

    def differs(self, before: State | None, after: State) -> bool:
        if before is None:
            return True
        return _drawn_state(before) != _drawn_state(after)

    def label(self, y: int) -> list[Segment]:
        assert self.state is not None
        view = self.state.viewport
        by_clock = _by_clock(view, self._origin, view.cell_ps)
        moment = _moment(
            self.state.cursor_ps - self._origin,
            view.cell_ps,
            clock=by_clock,
        )
        cell = ""
        if self.label_width > 22:
            cell = f"{units.duration(view.cell_ps)}/cell"
        return self.name_label(moment, cell)

    @property
    def _origin(self) -> int:
        assert self.model is not None
        assert self.state is not None
        return self.model.origin(self.state.viewport)

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        view = self.state.viewport
        theme = self.theme_colors
        width = view.width
        chars = [" "] * width
        styles: list[Style] = [theme.style("ruler")] * width
        bar = self.glyphs.vertical
        for tick in ticks(view, self._origin):
            if tick.column >= width:
                break
            text = bar + tick.text
            if tick.column + len(text) > width:
                text = bar  # half a label would read as another time
            stop = tick.column + len(text)
            chars[tick.column : stop] = list(text)
        window = self._window
        if window is not None:
            self._draw_window(window, chars, styles)
        column = view.column(self.state.cursor_ps)
        if 0 <= column < width:
            cursor = theme.style("cursor")
            if chars[column] in (" ", bar):
                chars[column] = self.glyphs.cursor
                styles[column] = cursor
            else:  # a digit must not be hidden: it would read as another time
                styles[column] = cursor + _REVERSE
        return styled(chars, styles)

    @property
    def _window(self) -> tuple[int, int] | None:
        """The marked window; while it is being marked, from its start to the cursor."""
        assert self.state is not None
        mark = self.state.mark
        if self.state.window is not None or mark is None:
            return self.state.window
        cursor_ps = self.state.cursor_ps
        return min(mark, cursor_ps), max(mark, cursor_ps)

    def _draw_window(
        self,
        window: tuple[int, int],
        chars: list[str],
        styles: list[Style],
    ) -> None:
        assert self.state is not None
        view = self.state.viewport
        lo, hi = window
        marked = self.theme_colors.style("marked")
        for column in view.covered(lo, hi):
            styles[column] = marked
        first = view.column(lo)
        last = view.column(max(lo, hi - 1))
        for column, char in ((first, self.glyphs.range_left), (last, self.glyphs.range_right)):
            if 0 <= column < len(chars):
                chars[column] = char


def _drawn_state(state: State) -> tuple[object, ...]:
    """What of a state the ruler shows."""
    return (
        state.viewport,
        state.cursor_ps,
        state.window,
        state.mark,
    )
