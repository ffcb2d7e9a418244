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
    least = cell_ps * cells
    step = 1
    while True:
        for factor in (1, 2, 5):
            if step * factor >= least:
                return step * factor
        step *= 10


# Round lengths of a clock, in seconds.
_CLOCK = (10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)


def _moment(ps: int, grid: int, *, clock: bool = False) -> str:
    """A moment on a grid: in seconds, or as on a clock (1:02:30)."""
    if not clock:
        return units.instant(ps, grid)
    seconds = abs(ps) // PS_PER_S
    return f"{'-' if ps < 0 else ''}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _by_clock(view: Viewport, origin: int, grid: int) -> bool:
    """Whether moments read better as on a clock: whole seconds, minutes away from where
    they count.
    """
    return (
        not grid % PS_PER_S and max(abs(view.t0 - origin), abs(view.t1 - origin)) >= _CLOCK_FROM_PS
    )


def _step(view: Viewport, cells: int) -> int:
    """The distance of two marks: round in seconds, or on a clock where the view is that long."""
    step = tick_step(view.cell_ps, cells)
    if step < 10 * PS_PER_S:
        return step
    least = view.cell_ps * cells
    day = _CLOCK[-1] * PS_PER_S
    return next((s * PS_PER_S for s in _CLOCK if s * PS_PER_S >= least), -(-least // day) * day)


def ticks(view: Viewport, origin: int = 0) -> list[Tick]:
    """Marks at round moments, spaced so that their labels never meet. They count from `origin`."""
    width = 9
    for _ in range(4):
        step = _step(view, width + 2)
        first = -(-(view.t0 - origin) // step) * step
        moments = range(first, view.t1 - origin, step)
        labels = [_moment(ps, step, clock=_by_clock(view, origin, step)) for ps in moments]
        if labels and max(map(len, labels)) > _MAX_LABEL_CELLS:
            # Deep inside a long run: the first in full, the others as what is added to it.
            labels[1:] = ["+" + units.duration(ps - first) for ps in list(moments)[1:]]
        longest = max((len(text) for text in labels[1:]), default=0)
        if longest <= width:
            break
        width = longest
    out = [Tick(view.column(ps + origin), text) for ps, text in zip(moments, labels, strict=True)]
    if len(out) > 1 and out[0].column + 1 + len(out[0].text) >= out[1].column:
        del out[
            1 : 1
            + next(
                (
                    i
                    for i, t in enumerate(out[1:])
                    if t.column > out[0].column + 2 + len(out[0].text)
                ),
                len(out),
            )
        ]
    return out


class Ruler(TimeLane):
    """One row of ticks. The gutter says what one cell is worth. A drag marks a window."""

    _pressed: int | None = None  # where the button went down

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A drag begins, or a click."""
        if event.button == 1 and event.x >= self.label_width and self.state is not None:
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
        lo, hi = sorted((self.time_at(self._pressed), self.time_at(x)))
        self.post_message(self.Asked("mark", lo, hi + self.state.viewport.cell_ps - lo))

    def differs(self, before: State | None, after: State) -> bool:
        return before is None or (
            before.viewport,
            before.cursor_ps,
            before.window,
            before.mark,
        ) != (after.viewport, after.cursor_ps, after.window, after.mark)

    def label(self, y: int) -> list[Segment]:
        assert self.state is not None
        view = self.state.viewport
        return self.name_label(
            _moment(
                self.state.cursor_ps - self._origin,
                view.cell_ps,
                clock=_by_clock(view, self._origin, view.cell_ps),
            ),
            f"{units.duration(view.cell_ps)}/cell" if self.label_width > 22 else "",
        )

    @property
    def _origin(self) -> int:
        assert self.model is not None
        assert self.state is not None
        return self.model.origin(self.state.viewport)

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        view = self.state.viewport
        theme = self.theme_colors
        width = self.state.viewport.width
        base = theme.style("ruler")
        marked = theme.style("marked")
        cursor = theme.style("cursor")
        chars = [" "] * width
        styles: list[Style] = [base] * width
        for tick in ticks(view, self._origin):
            if tick.column >= width:
                break
            text = self.glyphs.vertical + tick.text
            if tick.column + len(text) > width:
                text = self.glyphs.vertical  # half a label would read as another time
            chars[tick.column : tick.column + len(text)] = list(text)
        window = self.state.window
        if window is None and self.state.mark is not None:
            window = tuple(sorted((self.state.mark, self.state.cursor_ps)))  # type: ignore[assignment]
        if window is not None:
            for column in view.covered(*window):
                styles[column] = marked
            for column, char in (
                (view.column(window[0]), self.glyphs.range_left),
                (view.column(max(window[0], window[1] - 1)), self.glyphs.range_right),
            ):
                if 0 <= column < width:
                    chars[column] = char
        column = view.column(self.state.cursor_ps)
        if 0 <= column < width:
            if chars[column] in (" ", self.glyphs.vertical):
                chars[column], styles[column] = self.glyphs.cursor, cursor
            else:  # a digit must not be hidden: it would read as another time
                styles[column] = cursor + _REVERSE
        return styled(chars, styles)
