"""The timeline with everything that stands over the same cells: power, ruler, overview, epochs, steps, rows and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from powertui.data.energy import marks
from powertui.data.model import PowerOnTrace
from powertui.terminal.theme import Theme
from powertui.view.navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.widgets.gutter import Gutter
from powertui.widgets.overview import Overview
from powertui.widgets.power_strip import PowerStrip
from powertui.widgets.ruler import Ruler
from powertui.widgets.stretches import EpochLane, MarkLane, StepLane
from powertui.widgets.time_lane import TimeLane
from powertui.widgets.timeline import Timeline

MOST_STRIPS = 4


def label_width(width: int) -> int:
    """Label columns for a view this wide: between a fifth and a quarter of it, within reason."""
    return min(26, max(12, width * 9 // 40))


def strip_heights(height: int, series: int, lanes: int) -> list[int]:
    """How many rows each power strip gets beside so many lanes: none where the rows of the timeline would be fewer than eight."""
    spare = height - 3 - lanes - 8
    heights: list[int] = []
    for _ in range(min(series, MOST_STRIPS)):
        rows = (
            min(4 if height < 32 else 5 if height < 40 else 7, spare // 2)
            if not heights
            else min(3 if height < 40 else 4, spare // 2)
        )
        if rows < 2:
            break
        heights.append(rows)
        spare -= rows + (rows if height < 40 else 0)
    return heights


class TimelineView(Vertical):
    """Composes the lanes and keeps them in step with the timeline."""

    DEFAULT_CSS = """
    TimelineView { height: 1fr; width: 1fr; }
    TimelineView > Horizontal { height: 1fr; width: 1fr; }
    """

    def __init__(self, *, theme: Theme, glyphs: str = "unicode", id: str | None = None) -> None:
        super().__init__(id=id)
        options: dict[str, Any] = {"theme": theme, "glyphs": glyphs}
        self.strips = [PowerStrip(**options) for _ in range(MOST_STRIPS)]
        self.ruler = Ruler(**options)
        self.overview = Overview(**options)
        self.epochs = EpochLane(**options)
        self.steps = StepLane(**options)
        self.marks = MarkLane(**options)
        self.row_labels = Gutter(**options)
        self.timeline = Timeline(**options)
        self.timeline.listeners.append(self._follow)
        self._power: tuple[PowerOnTrace, ...] = ()

    @property
    def power(self) -> tuple[PowerOnTrace, ...]:
        """The power above it: that of the trace that is shown."""
        return self._power

    @property
    def lanes(self) -> tuple[TimeLane, ...]:
        return (*self.strips, self.ruler, self.overview, self.marks, self.epochs, self.steps)

    def compose(self) -> ComposeResult:
        yield from self.strips
        yield self.ruler
        yield self.overview
        yield self.marks
        yield self.epochs
        yield self.steps
        with Horizontal():
            yield self.row_labels
            yield self.timeline

    def on_mount(self) -> None:
        self._arrange()

    def show(self, model: TimelineModel, power: Sequence[PowerOnTrace] = (), *, keep: bool = True) -> None:
        """Another model, or the same trace further loaded; and the power that belongs to it."""
        self.set_power(power)
        self.timeline.show(model, keep=keep)
        self._arrange()
        state = self.timeline.state
        if state is not None:
            self._follow(None, state)

    def set_power(self, power: Sequence[PowerOnTrace]) -> None:
        """One strip per series, as many as the height allows."""
        if tuple(power) == self._power:
            return
        self._power = tuple(power)
        for strip, series in zip(self.strips, self._power, strict=False):
            strip.set_power(series)
        self.marks.set_marks(marks.on_trace(self._power))
        self._arrange()

    def restyle(self, theme: Theme, glyphs: str) -> None:
        for lane in self.lanes:
            lane.restyle(theme, glyphs)
        self.row_labels.restyle(theme, glyphs)
        self.timeline.restyle(theme, glyphs)

    def on_resize(self, event: events.Resize) -> None:
        self._arrange()

    def _arrange(self) -> None:
        """Shares the height out: power first gives way, then the lanes of epochs and windows when there are none."""
        if not self.is_mounted or not self.size.width:
            return
        labels = label_width(self.size.width)
        self.row_labels.styles.width = labels
        for lane in self.lanes:
            lane.set_label_width(labels)
        model = self.timeline.model
        epochs = model is not None and (len(model.epochs) > 0 or len(model.epochs.phases) > 0)
        self.epochs.display = epochs
        self.marks.display = bool(self.marks.marks)
        heights = strip_heights(self.size.height, len(self._power), int(epochs) + int(self.marks.display))
        for number, strip in enumerate(self.strips):
            strip.display = number < len(heights)
            if number < len(heights):
                strip.styles.height = heights[number]

    def _follow(self, before: State | None, after: State) -> None:
        model = self.timeline.model
        if model is None:
            return
        for lane in self.lanes:
            lane.update_state(model, after)
        self.row_labels.update_rows(self.timeline.rows, after)

    # ── what the pointer asks of the lanes ───────────────────────────────────────────────────────

    def on_time_lane_asked(self, message: TimeLane.Asked) -> None:
        message.stop()
        if message.what == "pan":
            self.timeline.pan(message.amount)
        elif message.what == "zoom" and self.timeline.viewport is not None:
            self.timeline.zoom(message.amount, self.timeline.viewport.column(message.ps))
        elif message.what == "goto":
            self.timeline.goto(message.ps)

    def on_gutter_folded(self, message: Gutter.Folded) -> None:
        message.stop()
        navigator = self.timeline.navigator
        if navigator is not None:
            self.timeline.move_track(message.row - navigator.state.cursor_row)
            self.timeline.fold()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.timeline.scroll_rows(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.timeline.scroll_rows(3)
