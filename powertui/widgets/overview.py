"""The whole run in one row, the part in sight marked. Drag it to move it, an end of it to show more
or less; click to go there.

Where it was profiled a cell is as high as the time that all lines together are busy in it, against
the busiest cell of the run: where the work is. Around that the row shows the course of the power,
where there is some, and where something was found.
"""

from __future__ import annotations

import numpy as np
from rich.segment import Segment
from textual import events

from powertui.data.model import PowerOnTrace
from powertui.view import dragging
from powertui.view.curve import sparkline
from powertui.view.dragging import Drag, Grip
from powertui.view.navigation import State
from powertui.view.paint import levels
from powertui.view.power_curve import channel_curve
from powertui.view.step_curve import StepCurve
from powertui.view.timeline_model import TimelineModel
from powertui.view.timeline_rows import Folds, RowKind
from powertui.view.viewport import Viewport
from powertui.widgets.time_lane import TimeLane, styled

_MIN_BUSY_CELLS = 3  # cells in which a profile is too small to show its work


class Overview(TimeLane):
    """Drawn over the rung that fits the run, so that it lies still while one moves about."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._drawn: tuple[object, ...] = ()
        self._whole: Viewport | None = None
        self._text = ""
        self._roles: list[str] = []
        self._power: StepCurve | None = None
        self._drag: Drag | None = None
        self._held = False  # the button

    def differs(self, before: State | None, after: State) -> bool:
        return before is None or (before.viewport, before.window) != (after.viewport, after.window)

    def label(self, y: int) -> list[Segment]:
        return self.name_label("whole run")

    def set_power(self, power: PowerOnTrace | None) -> None:
        """The course that is drawn where nothing was profiled."""
        curve = channel_curve(power) if power is not None else None
        if curve is not self._power:
            self._power = curve
            self.refresh()

    def _overview(self) -> tuple[Viewport, str]:
        """The whole run as text: computed once per model, power and width."""
        assert self.model is not None
        model, width = self.model, self.columns
        asked = (model, self._power, width, self.glyphs.name)
        if self._whole is None or self._drawn != asked:
            self._whole = Viewport.whole_of(model.span, width)
            self._drawn = asked
            self._text, self._roles = self._whole_run(model, self._whole)
        return self._whole, self._text

    def _whole_run(self, model: TimelineModel, whole: Viewport) -> tuple[str, list[str]]:
        chars, roles = list(self._busy(model, whole)), ["overview"] * whole.width
        surroundings = model.surroundings
        if surroundings is None:
            return "".join(chars), roles
        outside = np.ones(whole.width, np.bool_)
        for lo, hi in [
            *(model.profiled for _ in model.tracks[:1]),
            *((one.lo, one.hi) for one in surroundings.profiles),
        ]:
            covered = whole.covered(lo, hi)
            outside[covered.start : covered.stop] = False
        course = self._course(whole)
        for column in np.flatnonzero(outside).tolist():
            chars[column], roles[column] = course[column], "dim"
        for one in surroundings.profiles:
            covered = whole.covered(one.lo, one.hi)
            for column in covered:
                if len(covered) < _MIN_BUSY_CELLS or chars[column] == " ":
                    chars[column], roles[column] = self.glyphs.vertical, "focus"
        for noted in surroundings.findings:
            for column in whole.covered(noted.lo, noted.hi):
                roles[column] = "error" if outside[column] else "warn"
                chars[column] = "!" if chars[column] == " " or not self._power else chars[column]
        return "".join(chars), roles

    def _busy(self, model: TimelineModel, whole: Viewport) -> str:
        """How busy all lines of the profile are."""
        folded = Folds(processes=frozenset(process.name for process in model.trace.processes))
        lanes = [
            lane for row in model.rows(folded) if row.kind is RowKind.PROCESS for lane in row.lanes
        ]
        if not lanes:
            return " " * whole.width
        frame = model.forest.frame(whole.edges(), lanes)
        together = frame.busy.sum(axis=0, keepdims=True)
        full = len(self.glyphs.levels)
        level = levels(
            together,
            frame.count.sum(axis=0, keepdims=True),
            max(1, int(together.max(initial=1))),
            full,
        )[0]
        points = np.array([ord(char) for char in " " + self.glyphs.levels], "<u4")
        return str(points[level].tobytes().decode("utf-32-le"))

    def _course(self, whole: Viewport) -> str:
        """The power around the profile; without any, a line as long as the training."""
        if self._power is not None and self._power.range is not None:
            return sparkline(self._power.envelope(whole.edges()), self.glyphs)
        return self.glyphs.horizontal * whole.width

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        whole, text = self._overview()
        view, theme = self.state.viewport, self.theme_colors
        chars = list(text)
        styles = [theme.style(role) for role in self._roles]
        if view.rung != whole.rung or view.cell0 != whole.cell0:
            for column in whole.covered(view.t0, view.t1):
                styles[column] = theme.style("overview_view")
        if self.state.window is not None:
            lo, hi = self.state.window
            for column, char in (
                (whole.column(lo), self.glyphs.range_left),
                (whole.column(hi - 1), self.glyphs.range_right),
            ):
                if 0 <= column < len(chars):
                    chars[column], styles[column] = char, theme.style("cursor")
        return styled(chars, styles)

    # ── the mouse: the visible part is moved, or one of its ends ─────────────────────────────────

    def time_at(self, x: int) -> int:
        """A column of this lane is one of the whole run."""
        whole, _ = self._overview()
        return whole.time(self._column(x)) + whole.cell_ps // 2

    def _column(self, x: int) -> int:
        return min(max(0, x - self.label_width), max(0, self.columns - 1))

    def _drag_to(self, x: int) -> None:
        if self._drag is None or self.model is None or self.state is None:
            return
        whole, view = self._overview()[0], self.state.viewport
        found = dragging.visible(self._drag, whole, self._column(x))
        if found is None:
            return
        lo, hi = found
        if self._drag.grip is Grip.MIDDLE:
            self.post_message(self.Asked("pan", amount=lo // view.cell_ps - view.cell0))
        elif self._drag.grip is not Grip.NOTHING or not self._held:
            self.post_message(self.Asked("show", lo, hi - lo))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if (
            event.button == 1
            and event.x >= self.label_width
            and self.model is not None
            and self.state is not None
        ):
            self._drag, self._held = (
                dragging.begin(self._overview()[0], self.state.viewport, self._column(event.x)),
                True,
            )
            self.capture_mouse()
            self._drag_to(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._drag_to(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag is not None:
            self._held = False
            self._drag_to(event.x)
            self._drag = None
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """The button's press has done it."""
