"""The timeline: one widget that draws every visible lane, row by row, and one beside it for the
labels.

One query to the forest answers a whole frame, and only when the view moved: moving the cursor or
selecting repaints from what is known. A row that looks the same as before is the same Strip object,
so nothing after this point has to look at it again. Keys are not bound here: screens call the
methods, from the one table of actions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view import neighbor_profiles
from powertui.view.accelerate import HeldKey
from powertui.view.navigation import Navigator
from powertui.view.neighbor_profiles import NeighborProfile, RowBelow
from powertui.view.paint import Painted, paint, palette
from powertui.view.scene import Scene
from powertui.view.time_navigation import State
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.view.timeline_rows import Folds, Row, RowKind
from powertui.view.viewport import FACTOR_TWO, WHEEL, Viewport

if TYPE_CHECKING:
    from powertui.widgets.outline import JumpOutline

_MAX_KEPT_STRIPS = 1024
_NOT_PROFILED = "not profiled"
_SCROLL_ROWS = 3
_PANS_PER_WIDTH = 12  # turns of the wheel that move the view by its width (chosen by hand)

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


class Timeline(Widget, can_focus=True):
    """Shows a TimelineModel.

    `run_budget` bounds the color runs of a row: a slow link sets it lower.
    """

    DEFAULT_CSS = "Timeline { height: 1fr; width: 1fr; }"

    class CursorMoved(Message):
        def __init__(self, ps: int, row: Row | None) -> None:
            super().__init__()
            self.ps = ps
            self.row = row

    class SelectionChanged(Message):
        def __init__(self, selection: Selected | None) -> None:
            super().__init__()
            self.selection = selection

    class Pointed(Message):
        """The pointer came to another event, or (None) to a place without one."""

        def __init__(self, event: Selected | None) -> None:
            super().__init__()
            self.event = event

    class WindowMarked(Message):
        """A window was closed, dragged, or (None) taken back."""

        def __init__(self, window: tuple[int, int] | None) -> None:
            super().__init__()
            self.window = window

    class ViewportChanged(Message):
        def __init__(self, viewport: Viewport) -> None:
            super().__init__()
            self.viewport = viewport

    def __init__(
        self,
        *,
        theme: Theme,
        glyphs: str = "unicode",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.look = palette(theme, glyph_sets.get(glyphs))
        self.run_budget = 40
        self.listeners: list[Callable[[State | None, State], None]] = []
        self._navigator: Navigator | None = None
        self._held_key = HeldKey()
        self._all_folded = False
        self._strips: list[Strip] = []
        self._stale = True
        self._kept: dict[bytes, Strip] = {}
        self.scene: Scene | None = None
        # other profiles of the training, drawn where they lie
        self.neighbors: tuple[NeighborProfile, ...] = ()
        self._pointed: Selected | None = None  # the event under the pointer
        self._drag: int | None = None  # column where the button went down
        self.outline: JumpOutline | None = None  # of where a jump has just led
        self.frames = 0  # frames composed: for tests and benchmarks

    # ── what it shows ────────────────────────────────────────────────────────────────────────────

    @property
    def navigator(self) -> Navigator | None:
        return self._navigator

    @property
    def model(self) -> TimelineModel | None:
        return self._navigator.model if self._navigator else None

    @property
    def state(self) -> State | None:
        return self._navigator.state if self._navigator else None

    @property
    def viewport(self) -> Viewport | None:
        return self._navigator.viewport if self._navigator else None

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._navigator.rows if self._navigator else ()

    @property
    def cursor_ps(self) -> int:
        return self._navigator.state.cursor_ps if self._navigator else 0

    @property
    def selection(self) -> Selected | None:
        return self._navigator.state.selection if self._navigator else None

    @property
    def window(self) -> tuple[int, int] | None:
        return self._navigator.state.window if self._navigator else None

    def show(self, model: TimelineModel, *, keep: bool = True) -> None:
        """Draw this model.

        `keep` holds on to place, folds and selection: the same trace, further loaded.
        """
        before = self.state
        if keep and self._navigator is not None:
            by = model.axis_after(self._navigator.model)
            if by is None:
                self._navigator.replace_model(model)
            else:
                self._navigator.move_to(model, by)
        else:
            self._navigator = Navigator(model, *self._grid())
        self.scene = Scene(model, self.look.full)
        self._changed(before)

    def accompany(self, neighbors: Sequence[NeighborProfile]) -> bool:
        """Draw these profiles of the same training beside the one that is shown.

        Whether they are others than before.
        """
        if tuple(neighbors) == self.neighbors:
            return False
        self.neighbors = tuple(neighbors)
        self._redraw()
        return True

    @property
    def below(self) -> list[RowBelow]:
        """Rows of profiles that stand below those of the one that is open."""
        model = self.model
        view = self.viewport
        if not self.neighbors or model is None or view is None or model.surroundings is None:
            return []
        rows_in_sight = len(self.rows) - view.row0
        free_rows = view.height - rows_in_sight
        return neighbor_profiles.rows_below(self.neighbors, model, view, free_rows)

    def restyle(self, theme: Theme, glyphs: str) -> None:
        """Other colors or characters from now on."""
        self.look = palette(theme, glyph_sets.get(glyphs))
        self._kept.clear()
        if self.model is not None:
            self.scene = Scene(self.model, self.look.full)
        self._redraw()

    def set_run_budget(self, budget: int) -> None:
        if budget != self.run_budget:
            self.run_budget = budget
            self._redraw()

    # ── moving: one change of the state, one redraw of what differs, one word to the others ──────

    def move(
        self,
        action: Callable[Concatenate[Navigator, _Args], _Result],
        *args: _Args.args,
        **kwargs: _Args.kwargs,
    ) -> _Result | None:
        """Do this with the navigator, redraw what differs and tell the listeners.

        Returns what the action returns; None, and does nothing, where nothing is shown yet.
        """
        if self._navigator is None:
            return None
        before = self._navigator.state
        result = action(self._navigator, *args, **kwargs)
        self._changed(before)
        return result

    def pan_held(self, direction: int) -> None:
        """One press of a pan key: further the longer it is held."""
        width = self.viewport.width if self.viewport else 1
        self.move(Navigator.pan, self._held_key.cells(direction, width, time.monotonic()))

    def zoom_key(self, direction: int) -> None:
        """Cells of half the time (1), or of twice the time (-1)."""
        self.move(Navigator.zoom, direction * FACTOR_TWO)

    def move_page(self, direction: int) -> None:
        """The cursor by the rows on screen, two of which stay in sight."""
        self.move(Navigator.move_track, direction * max(1, self.size.height - 2))

    def fold_or_unfold_all(self) -> None:
        """Fold every process, or open them all again."""
        self._all_folded = not self._all_folded
        self.move(Navigator.fold_all, self._all_folded)

    # ── after a move ─────────────────────────────────────────────────────────────────────────────

    def _changed(self, before: State | None) -> None:
        after = self.state
        if after is None or after == before:
            return
        self._stale = True
        if before is None or _moves_rows(before, after):
            self._point(None)  # what is under it now is asked when it moves
            self.refresh()
        else:
            touched = self._touched(before, after)
            if touched:
                self.refresh(*(Region(0, y, self.size.width, 1) for y in sorted(touched)))
        for listener in self.listeners:
            listener(before, after)
        self._post_changes(before, after)

    def _post_changes(self, before: State | None, after: State) -> None:
        """Tell the page what of the state is another one."""
        if before is None or before.viewport != after.viewport:
            self.post_message(self.ViewportChanged(after.viewport))
        if before is None or _cursor_place(before) != _cursor_place(after):
            row = self._navigator.row if self._navigator else None
            self.post_message(self.CursorMoved(after.cursor_ps, row))
        if before is None or before.selection != after.selection:
            self.post_message(self.SelectionChanged(after.selection))
        if before is None or before.window != after.window:
            self.post_message(self.WindowMarked(after.window))

    def _touched(self, before: State, after: State) -> set[int]:
        """Screen rows that a change of cursor or selection can show in."""
        rows = {before.cursor_row, after.cursor_row}
        for selected in (before.selection, after.selection):
            if selected is None or self.model is None:
                continue
            lane = self.model.lane_of(selected)
            rows.update(number for number, row in enumerate(self.rows) if lane in row.lanes)
        row0 = after.viewport.row0
        return {row - row0 for row in rows if 0 <= row - row0 < self.size.height}

    def _redraw(self) -> None:
        self._stale = True
        self.refresh()

    def _grid(self) -> tuple[int, int]:
        return max(1, self.size.width), max(1, self.size.height)

    def on_resize(self, event: events.Resize) -> None:
        self.move(Navigator.resize, *self._grid())
        self._redraw()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def render_line(self, y: int) -> Strip:
        if self._stale:
            self._compose_frame()
        if y < len(self._strips):
            strip = self._strips[y]
        else:
            strip = Strip.blank(self.size.width)
        view = self.viewport
        if self.outline is None or view is None:
            return strip
        return self.outline.over(strip, view, row=view.row0 + y)

    def _compose_frame(self) -> None:
        self._stale = False
        navigator = self._navigator
        width, height = self._grid()
        if navigator is None or self.scene is None:
            self._strips = []
            return
        if (navigator.viewport.width, navigator.viewport.height) != (width, height):
            # Drawn before the resize event came: the others learn of it when this frame is done.
            before = navigator.state
            navigator.resize(width, height)
            self.call_later(self._changed, before)
        self.frames += 1
        model = navigator.model
        look = self.look
        budget = self.run_budget
        view = navigator.viewport
        rows = navigator.rows[view.row0 : view.row0 + height]
        cells = self.scene.cells(navigator.state, rows)
        painted = paint(cells, model.labels, look, cell0=view.cell0, budget=budget)
        self._say_not_profiled(painted, rows)
        if self.neighbors and model.surroundings is not None:
            neighbor_profiles.draw(painted, self.neighbors, model, view, rows, look, budget)
        self._strips = [self._strip(painted, y, row) for y, row in enumerate(rows)]
        self._strips += [self._strip_below(line, model, view) for line in self.below]

    def _strip_below(self, line: RowBelow, model: TimelineModel, view: Viewport) -> Strip:
        """A row of another profile; of one that has no such row, whether it ran meanwhile."""
        row = line.row
        if row is None:
            meets = neighbor_profiles.ran_at_same_time(line.neighbor, model, view)
            row = Row(RowKind.MORE, 0, "", note=" ran at the same time" if meets else "")
        painted = line.neighbor.painted(model, view, (row,), self.look, self.run_budget)
        return self._strip(painted, 0, row)

    def _say_not_profiled(self, painted: Painted, rows: Sequence[Row]) -> None:
        """A blank cell inside of the profile says that nothing ran; outside it is not known, and
        the first row says so.
        """
        model = self.model
        view = self.viewport
        first_lane = next((y for y, row in enumerate(rows) if row.lanes), None)
        if model is None or view is None or first_lane is None or model.surroundings is None:
            return
        stretches = [model.profiled]
        for profile in model.surroundings.profiles:
            stretches.append((profile.lo, profile.hi + 1))
        for gap in neighbor_profiles.gaps_between(
            [view.covered(lo, hi) for lo, hi in stretches], view.width
        ):
            spare = len(gap) - len(_NOT_PROFILED)
            if spare >= 2:  # a blank on either side
                painted.note(first_lane, gap.start + spare // 2, _NOT_PROFILED)

    def _strip(self, painted: Painted, y: int, row: Row) -> Strip:
        if row.note and not row.lanes:
            painted.write(y, row.note)
        key = painted.fingerprint(y)
        strip = self._kept.get(key)
        if strip is None:
            strip = Strip(painted.segments(y, self.look), painted.chars.shape[1])
            if len(self._kept) >= _MAX_KEPT_STRIPS:
                self._kept.clear()
            self._kept[key] = strip
        return strip

    # ── the mouse ────────────────────────────────────────────────────────────────────────────────

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and self._navigator is not None:
            self._drag = event.x
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag is not None and event.x != self._drag:
            self._drag_window(event.x)
        elif self._drag is None and self._navigator is not None:
            row = self._navigator.viewport.row0 + event.y
            self._point(self._navigator.under(row, event.x))

    def on_leave(self) -> None:
        """The pointer is elsewhere."""
        self._point(None)

    def _point(self, event: Selected | None) -> None:
        if event != self._pointed:
            self._pointed = event
            self.post_message(self.Pointed(event))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag is None or self._navigator is None:
            return
        self.release_mouse()
        if event.x == self._drag:
            self.move(Navigator.click, self._navigator.viewport.row0 + event.y, event.x)
        else:
            self._drag_window(event.x)
        self._drag = None

    def on_click(self, event: events.Click) -> None:
        """Twice on an event: as large as it goes."""
        if event.chain == 2 and self.selection is not None:
            self.move(Navigator.fit)

    def _drag_window(self, x: int) -> None:
        assert self._drag is not None
        view = self.viewport
        if view is not None:
            first, last = sorted((self._drag, min(max(0, x), self.size.width - 1)))
            self.move(Navigator.set_window, view.time(first), view.time(last + 1))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        self._wheel_pan(event, -1)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        self._wheel_pan(event, 1)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        event.stop()
        if event.ctrl:
            self.move(Navigator.zoom, -direction * WHEEL, event.x)
        elif event.shift:
            self._wheel_pan(event, direction)
        elif len(self.rows) > self.size.height:
            self.move(Navigator.scroll, direction * _SCROLL_ROWS)
        else:
            self.move(Navigator.zoom, -direction * WHEEL, event.x)

    def _wheel_pan(self, event: events.MouseEvent, direction: int) -> None:
        event.stop()
        cells = max(1, self.size.width // _PANS_PER_WIDTH)
        self.move(Navigator.pan, direction * cells)


def _moves_rows(before: State, after: State) -> bool:
    """Whether all rows look different: not where only the cursor or the selection moved."""
    return (
        before.viewport != after.viewport
        or before.folds != after.folds
        or before.hits is not after.hits
    )


def _cursor_place(state: State) -> tuple[int, int, Folds]:
    return state.cursor_ps, state.cursor_row, state.folds
