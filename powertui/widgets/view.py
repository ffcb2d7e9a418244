"""The timeline with everything over the same cells: power, ruler, overview, lanes and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from powertui.data.energy import marks
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.model import PowerOnTrace
from powertui.terminal.theme import Theme
from powertui.view import neighbor_profiles
from powertui.view.navigation import Navigator
from powertui.view.neighbor_profiles import NeighborProfile
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.view.value_strips import Strip
from powertui.widgets.gutter import Gutter
from powertui.widgets.overview import Overview
from powertui.widgets.power_strip import PowerNote, PowerStrip
from powertui.widgets.row_shares import (
    FIRST_STRIP_SHARE,
    MAX_POWER_ROWS,
    MAX_POWER_STRIPS,
    MAX_VALUE_STRIPS,
    MIN_TIMELINE_ROWS,
    MIN_TRACK_ROWS,
    RULER_ROWS,
    STEP_ROWS,
    far_heights,
    label_width,
    near_heights,
    near_value_heights,
)
from powertui.widgets.ruler import Ruler
from powertui.widgets.sight_pane import SightPane
from powertui.widgets.step_lane import StepLane
from powertui.widgets.stretches import EpochLane, FindingsLane, MarkLane, ProfileLane
from powertui.widgets.time_lane import TimeLane
from powertui.widgets.timeline import Timeline
from powertui.widgets.value_strip import ValueStrip

if TYPE_CHECKING:
    from powertui.widgets.outline import ShownOutline

_MAX_PANEL_ROWS = 14  # of the panel about the view
_MAX_LEGEND_ROWS = 4  # of the legend: two for devices, two for the host
_MIN_ROWS_FOR_LEGEND = 14
# The share of the view that a profile must cover for its tracks to get most of the rows, and for
# them to get any (both chosen, not measured).
_INSIDE_SHARE = 0.7
_PARTLY_INSIDE_SHARE = 0.15


class TimelineView(Vertical):
    """Composes the lanes and keeps them in step with the timeline."""

    DEFAULT_CSS = """
    TimelineView { height: 1fr; width: 1fr; }
    TimelineView > Horizontal { height: 1fr; width: 1fr; }
    """

    def __init__(
        self,
        *,
        theme: Theme,
        glyphs: str = "unicode",
        id: str | None = None,
        with_legend: bool = True,
    ) -> None:
        super().__init__(id=id)
        self._with_legend = with_legend
        options: dict[str, Any] = {"theme": theme, "glyphs": glyphs}
        self.strips = [PowerStrip(**options) for _ in range(MAX_POWER_STRIPS)]
        self.note = PowerNote(**options)
        self.values = [ValueStrip(**options) for _ in range(MAX_VALUE_STRIPS)]
        self.ruler = Ruler(**options)
        self.overview = Overview(**options)
        self.profiles = ProfileLane(**options)
        self.found = FindingsLane(**options)
        self.epochs = EpochLane(**options)
        self.steps = StepLane(**options)
        self.marks = MarkLane(**options)
        self.notes = MarkLane("notes", "marked", **options)  # what a person wrote
        self.row_labels = Gutter(**options)
        self.timeline = Timeline(**options)
        self.sight = SightPane(**options)
        self.timeline.listeners.append(self._follow)
        self._power: tuple[PowerOnTrace, ...] = ()
        self._chosen: tuple[Strip, ...] = ()
        self._picked = False  # a person chose the strips that are drawn
        # `inside` and `_partly_inside` when heights were last given.
        self._was_inside = (True, True)
        self._row_count = 0
        # Whether free rows are used: not before the first picture, which would be drawn twice.
        self._roomy = False
        self._has_panel = True  # about the view, below the tracks
        self._outline: ShownOutline | None = None  # once a jump led somewhere

    @property
    def power(self) -> tuple[PowerOnTrace, ...]:
        """The power above it: that of the trace that is shown."""
        return self._power

    @property
    def _power_count(self) -> int:
        """How many channels have a strip, or will have one."""
        model = self.timeline.model
        return len(self._power) or (0 if model is None else model.unplaced)

    @property
    def lanes(self) -> tuple[TimeLane, ...]:
        return (
            *self.strips,
            self.note,
            *self.values,
            self.ruler,
            self.overview,
            self.found,
            self.profiles,
            self.marks,
            self.notes,
            self.epochs,
            self.steps,
        )

    def compose(self) -> ComposeResult:
        yield from self.lanes
        with Horizontal():
            yield self.row_labels
            yield self.timeline
        yield self.sight

    def on_mount(self) -> None:
        self._lay_out_parts()

    def show(
        self,
        model: TimelineModel,
        power: Sequence[PowerOnTrace] = (),
        *,
        keep: bool = True,
    ) -> None:
        """Another model, or the same trace further loaded; and the power that belongs to it."""
        self.set_power(power)
        self._roomy = self._roomy and keep
        self.timeline.show(model, keep=keep)
        self._lay_out_parts()
        self._follow_timeline()

    def _follow_timeline(self) -> None:
        if self.timeline.state is not None:
            self._follow(None, self.timeline.state)

    def set_power(self, power: Sequence[PowerOnTrace]) -> None:
        """One strip per series, as many as the height allows."""
        if tuple(power) == self._power:
            return
        self._power = tuple(power)
        for strip, series in zip(self.strips, self._power, strict=False):
            strip.set_power(series)
        self.marks.set_marks(marks.on_trace(self._power))
        self.overview.set_power(self._power[0] if self._power else None)
        self._lay_out_parts()

    def set_notes(self, notes: Sequence[MarkOnTrace]) -> None:
        """Draw what a person wrote. Without a note there is no lane for them."""
        if tuple(notes) != self.notes.marks:
            self.notes.set_marks(tuple(notes))
            self._lay_out_parts()

    def accompany(self, neighbors: Sequence[NeighborProfile]) -> None:
        """Draw these profiles of the training beside the one that is shown."""
        if self.timeline.accompany(neighbors):
            self.steps.neighbors = tuple(neighbors)
            self.steps.refresh()
            self._lay_out_parts()
            self._follow_timeline()

    def _covered(self) -> int:
        """How many columns of the view are profiled by what is shown."""
        model = self.timeline.model
        view = self.timeline.viewport
        if model is None or view is None:
            return 0
        columns = set(view.covered(*model.profiled))
        if model.surroundings is not None:
            for neighbor in self.timeline.neighbors:
                columns.update(view.covered(*neighbor.stretch(model)))
        return len(columns)

    def outline(self, lo: int, hi: int, row: int | None = None) -> None:
        """Outline a stretch for a moment: where a jump has led. `row`: only there."""
        from powertui.widgets.outline import ShownOutline

        if self._outline is None:
            self._outline = ShownOutline(self)
        self._outline.show(lo, hi, row)

    def set_pins(self, pins: tuple[int, ...]) -> None:
        """Moments to which a person tied an edge of the power."""
        for strip in self.strips:
            strip.set_pins(pins)

    def set_panel(self, has_panel: bool) -> None:
        """Whether the panel about the view is below the tracks, or somewhere else."""
        if has_panel != self._has_panel:
            self._has_panel = has_panel
            self.sight.with_panel = has_panel
            self._lay_out_parts()

    def use_free_rows(self) -> None:
        """The picture stands: rows that the tracks leave free are used from now on."""
        if not self._roomy:
            self._roomy = True
            self._lay_out_parts()

    def set_values(self, chosen: Sequence[Strip], *, picked: bool = False) -> None:
        """Draw these scalars, counters and rates.

        Those that a person picked stay beside the tracks, too.
        """
        if (tuple(chosen), picked) != (self._chosen, self._picked):
            self._chosen = tuple(chosen)
            self._picked = picked
            for lane, strip in zip(self.values, self._chosen, strict=False):
                lane.set_strip(strip)
            self._lay_out_parts()

    @property
    def chosen(self) -> tuple[Strip, ...]:
        """The scalars, counters and rates that are drawn where there is room."""
        return self._chosen

    @property
    def _partly_inside(self) -> bool:
        """Whether profiles take enough of the view that their tracks get rows."""
        view = self.timeline.viewport
        if self.timeline.model is None or view is None:
            return False
        return self._covered() >= _PARTLY_INSIDE_SHARE * view.width

    @property
    def inside(self) -> bool:
        """Whether what is looked at is a profile, and not the training around it."""
        model = self.timeline.model
        view = self.timeline.viewport
        if model is None or view is None or model.surroundings is None:
            return True
        if not len(model.tracks):
            return False
        return len(view.covered(*model.profiled)) >= _INSIDE_SHARE * view.width

    def restyle(self, theme: Theme, glyphs: str) -> None:
        for lane in self.lanes:
            lane.restyle(theme, glyphs)
        self.row_labels.restyle(theme, glyphs)
        self.sight.restyle(theme, glyphs)
        self.timeline.restyle(theme, glyphs)

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out_parts()

    def _lay_out_parts(self) -> None:
        """Share the height out among power, lanes and tracks."""
        if not self.is_mounted or not self.size.width:
            return
        self._set_label_widths(label_width(self.size.width))
        inside = self.inside
        self._was_inside = (inside, self._partly_inside)
        self._show_lanes(inside)
        lanes: list[Widget] = [self.note, self.epochs, self.marks, self.notes, self.found]
        lanes.append(self.sight)
        if not inside:
            lanes += [self.profiles, self.steps]
        lane_rows = sum(lane.display for lane in lanes)
        if inside:
            heights, values = self._near_heights(lane_rows)
        else:
            heights, values = self._far_heights(lane_rows)
        room = self.size.height - sum(heights) - sum(values) - RULER_ROWS - lane_rows
        if inside and self.steps.display:
            room -= STEP_ROWS
        spare = self._share_rows(room)
        if heights:
            heights[0] = max(heights[0], min(heights[0] + spare, MAX_POWER_ROWS))
        hidden = len(self._chosen) - len(values) if values else 0
        self.values[0].set_hidden(hidden)
        _set_heights(self.strips, heights)
        _set_heights(self.values, values)

    def _set_label_widths(self, cells: int) -> None:
        self.row_labels.styles.width = cells
        self.sight.set_label_width(cells)
        for lane in self.lanes:
            lane.set_label_width(cells)

    @property
    def _strips_shown(self) -> int:
        """How many scalars are drawn around a profile.

        Power is the picture there, so that those that nobody picked share one strip.
        """
        if self._power_count and not self._picked:
            return min(1, len(self._chosen))
        return len(self._chosen)

    @property
    def _has_tracks(self) -> bool:
        """Whether a profile is shown, or one is still being read."""
        model = self.timeline.model
        return model is None or len(model.tracks) > 0

    def _show_lanes(self, inside: bool) -> None:
        """Show the lanes that have something to show."""
        model = self.timeline.model
        surroundings = model.surroundings if model is not None else None
        has_tracks = self._has_tracks
        has_epochs = has_note = False
        if model is not None:
            has_epochs = len(model.epochs) + len(model.epochs.phases) > 0
            has_note = bool(model.power_note)
        has_profiles = has_steps = has_tracks
        has_findings = False
        if surroundings is not None:
            has_profiles = has_tracks or bool(surroundings.profiles)
            has_steps = has_tracks or bool(surroundings.numbers)
            has_findings = bool(surroundings.findings)
        has_room = self.size.height >= _MIN_ROWS_FOR_LEGEND
        # Each is set once: every change of it is another layout of the page.
        self.epochs.display = has_epochs
        self.marks.display = bool(self.marks.marks)
        self.notes.display = bool(self.notes.marks)
        self.profiles.display = has_profiles and not inside
        self.steps.display = has_steps
        self.found.display = has_findings
        is_near = inside or self._partly_inside
        self.sight.display = self._with_legend and has_tracks and has_room and is_near
        self.note.display = has_note and not self._power

    def _near_heights(self, lane_rows: int) -> tuple[list[int], list[int]]:
        """Rows of the power strips and of the other strips beside the tracks of a profile."""
        height = self.size.height
        heights = near_heights(
            height,
            self._power_count,
            lane_rows,
            is_high=not self._has_panel,
            has_findings=self.found.display,
        )
        if not self._picked:
            return heights, []
        return heights, near_value_heights(height - sum(heights), len(self._chosen), lane_rows)

    def _far_heights(self, lane_rows: int) -> tuple[list[int], list[int]]:
        """The same around a profile."""
        height = self.size.height
        # Where a profile takes a part of the view, its tracks get rows, too.
        room = height * 2 // 3 if self._partly_inside else height
        if not self._has_tracks:
            room += MIN_TRACK_ROWS - 1
        heights, values = far_heights(room, self._power_count, self._strips_shown, lane_rows)
        if heights and self._has_tracks:
            free = height - sum(heights) - sum(values) - RULER_ROWS - lane_rows - MIN_TIMELINE_ROWS
            preferred = round(height * FIRST_STRIP_SHARE)
            heights[0] = max(heights[0], min(preferred, heights[0] + free))
        return heights, values

    def _share_rows(self, room: int) -> int:
        """Give rows that the tracks leave free to more tracks, then to the panel about the view.

        Returns how many remain.
        """
        timeline = self.timeline
        model = timeline.model
        view = timeline.viewport
        if model is not None and view is not None and model.surroundings is not None:
            neighbor_rows = neighbor_profiles.rows_needed(timeline.neighbors, model, view)
            room = max(1, room - neighbor_rows)
        timeline.move(Navigator.set_room, room if self._roomy else 0)
        self._row_count = len(timeline.rows)
        if not self.sight.display:
            return 0
        free = 0
        if self._roomy:
            free = max(0, room - max(1, self._row_count))
        panel_rows = _MAX_PANEL_ROWS if self._has_panel else _MAX_LEGEND_ROWS - 1
        self.sight.styles.height = 1 + min(free, panel_rows)
        # Without a panel the power is higher from the start: rows that are given to it later would
        # move, and send, all below it again (8 KB at 200×50).
        return max(0, free - panel_rows) if self._has_panel else 0

    def _follow(self, before: State | None, after: State) -> None:
        model = self.timeline.model
        if model is None:
            return
        has_moved_in = self._was_inside != (self.inside, self._partly_inside)
        if has_moved_in or self._row_count != len(self.timeline.rows):
            self._lay_out_parts()
        for lane in self.lanes:
            lane.update_state(model, after)
        below = [(row.label, row.row is None) for row in self.timeline.below]
        self.row_labels.update_rows(self.timeline.rows, after, below)

    # ── what the pointer asks of the lanes ───────────────────────────────────────────────────────

    def on_time_lane_asked(self, message: TimeLane.Asked) -> None:
        message.stop()
        ps = message.ps
        end_ps = ps + message.amount
        move = self.timeline.move
        if message.what == "pan":
            move(Navigator.pan, message.amount)
        elif message.what == "zoom":
            view = self.timeline.viewport
            if view is not None:
                column = view.column(ps) if view.shows(ps) else None
                move(Navigator.zoom, message.amount, column)
        elif message.what == "show":
            move(Navigator.show_window, ps, end_ps)
        elif message.what == "mark":
            move(Navigator.set_window, ps, end_ps)
        elif message.what == "goto":
            move(Navigator.goto, ps)

    def on_gutter_folded(self, message: Gutter.Folded) -> None:
        message.stop()
        navigator = self.timeline.navigator
        if navigator is not None:
            self.timeline.move(Navigator.move_track, message.row - navigator.state.cursor_row)
            self.timeline.move(Navigator.fold)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.timeline.move(Navigator.scroll, -3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.timeline.move(Navigator.scroll, 3)


def _set_heights(strips: Sequence[Widget], heights: Sequence[int]) -> None:
    """Show as many strips as have rows."""
    for number, strip in enumerate(strips):
        strip.display = number < len(heights)
        if strip.display:
            strip.styles.height = heights[number]
