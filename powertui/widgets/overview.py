"""The whole run in one row, the part in sight marked. Click or drag to go there.

A cell is as high as the time that all lines together are busy in it, against the busiest cell of the run: where the work is.
"""

from __future__ import annotations

import numpy as np
from rich.segment import Segment
from textual import events

from powertui.view.navigation import State
from powertui.view.paint import levels
from powertui.view.rows import Folds, RowKind
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import Viewport
from powertui.widgets.time_lane import TimeLane, styled


class Overview(TimeLane):
    """Drawn over the rung that fits the run, so that it lies still while one moves about."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._drawn: tuple[TimelineModel, int, str] | None = None
        self._whole: Viewport | None = None
        self._text = ""
        self._dragging = False

    def differs(self, before: State | None, after: State) -> bool:
        return before is None or (before.viewport, before.window) != (after.viewport, after.window)

    def label(self, y: int) -> list[Segment]:
        return self.name_label("whole run")

    def _overview(self) -> tuple[Viewport, str]:
        """The whole run as text: computed once per model and width."""
        assert self.model is not None
        model, width, full = self.model, self.columns, len(self.glyphs.levels)
        if self._drawn is None or self._drawn[0] is not model or self._drawn[1:] != (width, self.glyphs.name):
            whole = Viewport.whole_of(model.span, width)
            folded = Folds(processes=frozenset(process.name for process in model.trace.processes))
            lanes = [lane for row in model.rows(folded) if row.kind is RowKind.PROCESS for lane in row.lanes]
            frame = model.forest.frame(whole.edges(), lanes)
            together = frame.busy.sum(axis=0, keepdims=True)
            level = levels(together, frame.count.sum(axis=0, keepdims=True), max(1, int(together.max(initial=1))), full)[0]
            points = np.array([ord(char) for char in " " + self.glyphs.levels], "<u4")
            self._whole = whole
            self._drawn = (model, width, self.glyphs.name)
            self._text = points[level].tobytes().decode("utf-32-le")
        assert self._whole is not None
        return self._whole, self._text

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        whole, text = self._overview()
        view, theme = self.state.viewport, self.theme_colors
        chars = list(text)
        styles = [theme.style("overview")] * len(chars)
        if view.rung != whole.rung or view.cell0 != whole.cell0:
            for column in whole.covered(view.t0, view.t1):
                styles[column] = theme.style("overview_view")
        if self.state.window is not None:
            lo, hi = self.state.window
            for column, char in ((whole.column(lo), self.glyphs.range_left), (whole.column(hi - 1), self.glyphs.range_right)):
                if 0 <= column < len(chars):
                    chars[column], styles[column] = char, theme.style("cursor")
        return styled(chars, styles)

    # ── the mouse: the visible part is moved, so that its middle lies under the pointer ──────────

    def _centre(self, x: int) -> None:
        if self.model is None or self.state is None:
            return
        whole, _ = self._overview()
        ps = whole.time(min(max(0, x - self.label_width), self.columns - 1)) + whole.cell_ps // 2
        view = self.state.viewport
        self.post_message(self.Asked("pan", amount=ps // view.cell_ps - view.width // 2 - view.cell0))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.x >= self.label_width:
            self._dragging = True
            self.capture_mouse()
            self._centre(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self._centre(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """The button's press has done it."""
