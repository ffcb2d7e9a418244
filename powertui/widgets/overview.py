"""The whole run in one row, with the part in sight marked.

Drag that part to move it, or one of its ends to show more or less; click to go there. Where the run
was profiled, a cell is as high as its lines are busy together, relative to the busiest cell. Around
that the row shows the power, where there is some, and the findings.
"""

from __future__ import annotations

import numpy as np
from rich.segment import Segment
from textual import events

from powertui.data.model import Bools, PowerOnTrace
from powertui.view import dragging
from powertui.view.curve import sparkline
from powertui.view.dragging import Drag, Grip
from powertui.view.paint import levels
from powertui.view.power_curve import channel_curve
from powertui.view.step_curve import StepCurve
from powertui.view.surroundings import Surroundings
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.view.timeline_rows import Folds, RowKind
from powertui.view.viewport import Viewport
from powertui.widgets.time_lane import TimeLane, styled

_MIN_BUSY_CELLS = 3  # a profile in fewer cells is drawn as a bar: its work could not be seen


class Overview(TimeLane):
    """Drawn over the rung that fits the run, so that it stays still while the view moves."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._drawn: tuple[object, ...] = ()
        self._whole: Viewport | None = None
        self._text = ""
        self._roles: list[str] = []
        self._power: StepCurve | None = None
        self._drag: Drag | None = None
        self._is_pressed = False  # the mouse button

    def differs(self, before: State | None, after: State) -> bool:
        if before is None:
            return True
        return before.viewport != after.viewport or before.window != after.window

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
        model = self.model
        width = self.columns
        key = (model, self._power, width, self.glyphs.name)
        if self._whole is None or self._drawn != key:
            all_time = Viewport.whole_of(model.span, width)
            self._whole = all_time
            self._drawn = key
            self._text, self._roles = self._whole_run(model, all_time)
        return self._whole, self._text

    def _whole_run(
        self,
        model: TimelineModel,
        all_time: Viewport,
    ) -> tuple[str, list[str]]:
        """The chars of the row and the roles of its cells."""
        chars = list(self._busy(model, all_time))
        roles = ["overview"] * all_time.width
        surroundings = model.surroundings
        if surroundings is None:
            return "".join(chars), roles
        outside = _unprofiled_columns(model, surroundings, all_time)
        course = self._course(all_time)
        for column in np.flatnonzero(outside).tolist():
            chars[column] = course[column]
            roles[column] = "dim"
        for profile in surroundings.profiles:
            self._draw_profile(
                all_time.covered(profile.lo, profile.hi),
                chars,
                roles,
            )
        for finding in surroundings.findings:
            for column in all_time.covered(finding.lo, finding.hi):
                roles[column] = "error" if outside[column] else "warn"
                if chars[column] == " " or not self._power:
                    chars[column] = "!"
        return "".join(chars), roles

    def _draw_profile(
        self,
        covered: range,
        chars: list[str],
        roles: list[str],
    ) -> None:
        """Where another profile was recorded: all of a narrow one, else where nothing else is."""
        is_narrow = len(covered) < _MIN_BUSY_CELLS
        for column in covered:
            if is_narrow or chars[column] == " ":
                chars[column] = self.glyphs.vertical
                roles[column] = "focus"

    def _busy(self, model: TimelineModel, all_time: Viewport) -> str:
        """How busy all lines of the profile are."""
        lanes = _lanes_of_processes(model)
        if not lanes:
            return " " * all_time.width
        frame = model.forest.frame(all_time.edges(), lanes)
        busy = frame.busy.sum(axis=0, keepdims=True)
        count = frame.count.sum(axis=0, keepdims=True)
        busiest = busy.max(initial=1)
        glyphs = self.glyphs.levels
        level = levels(
            busy,
            count,
            max(1, int(busiest)),
            len(glyphs),
        )
        chars = np.array([" ", *glyphs])
        row = chars[level[0]]
        return "".join(row.tolist())

    def _course(self, all_time: Viewport) -> str:
        """The power around the profile; without any, a line as long as the training."""
        power = self._power
        if power is not None and power.range is not None:
            envelope = power.envelope(all_time.edges())
            return sparkline(envelope, self.glyphs)
        return self.glyphs.horizontal * all_time.width

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        all_time, text = self._overview()
        view = self.state.viewport
        theme = self.theme_colors
        chars = list(text)
        styles = [theme.style(role) for role in self._roles]
        shows_all = view.rung == all_time.rung and view.cell0 == all_time.cell0
        if not shows_all:
            visible = theme.style("overview_view")
            for column in all_time.covered(view.t0, view.t1):
                styles[column] = visible
        if self.state.window is not None:
            lo, hi = self.state.window
            cursor = theme.style("cursor")
            marks = (
                (all_time.column(lo), self.glyphs.range_left),
                (all_time.column(hi - 1), self.glyphs.range_right),
            )
            for column, char in marks:
                if 0 <= column < len(chars):
                    chars[column] = char
                    styles[column] = cursor
        return styled(chars, styles)

    # ── the mouse: the visible part is moved, or one of its ends ─────────────────────────────────

    def time_at(self, x: int) -> int:
        """A column of this lane is one of the whole run."""
        all_time, _ = self._overview()
        cell_start = all_time.time(self._column(x))
        return cell_start + all_time.cell_ps // 2

    def _column(self, x: int) -> int:
        last = max(0, self.columns - 1)
        return min(max(0, x - self.label_width), last)

    def _drag_to(self, x: int) -> None:
        drag = self._drag
        if drag is None or self.model is None or self.state is None:
            return
        all_time, _ = self._overview()
        stretch = dragging.visible(drag, all_time, self._column(x))
        if stretch is None:
            return
        lo, hi = stretch
        if drag.grip is Grip.MIDDLE:
            view = self.state.viewport
            cells = lo // view.cell_ps - view.cell0
            self.post_message(self.Asked("pan", amount=cells))
        elif drag.grip is not Grip.NOTHING or not self._is_pressed:
            self.post_message(self.Asked("show", lo, hi - lo))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1 or event.x < self.label_width:
            return
        if self.model is None or self.state is None:
            return
        all_time, _ = self._overview()
        self._drag = dragging.begin(
            all_time,
            self.state.viewport,
            self._column(event.x),
        )
        self._is_pressed = True
        self.capture_mouse()
        self._drag_to(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._drag_to(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag is not None:
            self._is_pressed = False
            self._drag_to(event.x)
            self._drag = None
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """The button's press has done it."""


def _lanes_of_processes(model: TimelineModel) -> list[int]:
    """The lanes of all processes, each of them folded into one row."""
    names = frozenset(process.name for process in model.trace.processes)
    lanes: list[int] = []
    for row in model.rows(Folds(processes=names)):
        if row.kind is RowKind.PROCESS:
            lanes.extend(row.lanes)
    return lanes


def _unprofiled_columns(
    model: TimelineModel,
    surroundings: Surroundings,
    all_time: Viewport,
) -> Bools:
    """Which columns no profile of the training covers."""
    outside = np.ones(all_time.width, np.bool_)
    profiled = [(profile.lo, profile.hi) for profile in surroundings.profiles]
    if len(model.tracks):
        profiled.append(model.profiled)
    for lo, hi in profiled:
        covered = all_time.covered(lo, hi)
        outside[covered.start : covered.stop] = False
    return outside
