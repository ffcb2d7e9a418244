"""A page with a timeline on it: what its keys do beyond one call of the widget."""

from __future__ import annotations

import numpy as np

from powertui.screens.base import BaseScreen
from powertui.view.navigation import Navigator
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.widgets.timeline import Timeline


class Moving(BaseScreen):
    """Says why there is no step or epoch to go to."""

    @property
    def timeline(self) -> Timeline:
        """The timeline that the keys move."""
        raise NotImplementedError

    def point_at(
        self,
        lo: int,
        hi: int,
        row: int | None = None,
    ) -> None:
        """Show where a jump has led, where that may move on the screen."""

    def arrive(self, lo: int, hi: int) -> None:
        """Go where another page leads: its window, its stretch or moment, and its cursor."""
        session = self.session
        window = session.window
        if window is not None and window != self.timeline.window:
            self.timeline.move(Navigator.set_window, *window)
        viewport = self.timeline.viewport
        is_in_sight = viewport is not None and (viewport.t0, viewport.t1) == (lo, hi)
        if not is_in_sight and lo == hi:
            self.timeline.move(Navigator.goto, lo)
        elif not is_in_sight:
            self.timeline.move(Navigator.show_window, lo, hi)
        goal, session.cursor_goal = session.cursor_goal, None
        if goal is not None:
            self.timeline.move(Navigator.goto, goal)
        self.point_at_arrival(lo, hi)

    def point_at_arrival(self, lo: int, hi: int) -> None:
        """Outline the window or the moment that another page led to."""
        window = self.session.window
        if window is not None and lo <= window[0] and window[1] <= hi:
            self.point_at(*window)
        elif lo == hi:
            self.point_at(lo, lo + 1)

    def step(self, direction: int) -> None:
        """To the next step, or the one before."""
        if not len(self.session.steps):
            why = self.session.steps.source or "no steps were found in this profile"
            self.say(f"No steps: {why}.".replace("..", "."), warn=True)
        self.timeline.move(Navigator.next_step, direction)
        model = self.timeline.model
        state = self.timeline.state
        if model is None or state is None:
            return
        step = model.step_at(state.cursor_ps)
        if step is not None:
            self.point_at(step.start, step.end)

    def epoch(self, direction: int) -> None:
        """To the next epoch, or the one before: it becomes the window, or the batches of it that
        were marked here.

        While a window is being marked the cursor alone goes there.
        """
        if not len(self.session.epochs):
            self.say("No epochs were found in this profile.", warn=True)
        if self._take_batches_along(direction):
            return
        self.timeline.move(Navigator.next_epoch, direction)
        model = self.timeline.model
        state = self.timeline.state
        if model is None or state is None:
            return
        epoch = model.epoch_at(state.cursor_ps)
        if epoch is None:
            return
        bounds = model.epoch_bounds(epoch)
        if bounds is None:
            return
        if state.mark is None:
            self.timeline.move(Navigator.set_window, *bounds)
        self.point_at(*bounds)

    def action_mark(self) -> None:
        """Begin a window at the cursor, or end it there."""
        self.timeline.move(Navigator.mark)
        self.footer()
        state = self.timeline.state
        if state is not None and state.mark is not None:
            self.say("The window starts here. Move the cursor and press m again.")

    def same_in_other_epoch(self) -> None:
        """The same batches in the next epoch: window, cursor and view move there. Where there is
        no other epoch, in the next open run.
        """
        from powertui.view.epoch_window import next_epoch_with_bounds

        model = self.timeline.model
        state = self.timeline.state
        if model is None or state is None:
            return
        middle = state.cursor_ps
        if state.window is not None:
            middle = sum(state.window) // 2
        epoch = model.epoch_at(middle)
        if epoch is None and self._same_in_other_run(model, state):
            return
        if epoch is None:
            self.say("Put the cursor into an epoch first: { and } go to one.", warn=True)
            return
        other = next_epoch_with_bounds(model, epoch)
        if other is None:
            if not self._same_in_other_run(model, state):
                self.say("This profile has only one epoch, and no other run is open.")
            return
        self._show_batches(model, state, epoch, other)

    def _take_batches_along(self, direction: int) -> bool:
        """Mark the batches of the window in the next epoch, or the one before; False where no part
        of an epoch is marked.
        """
        from powertui.view.epoch_window import epoch_beside, marked_part

        model = self.timeline.model
        state = self.timeline.state
        if model is None or state is None or state.window is None or state.mark is not None:
            return False
        epoch = marked_part(model, state.window)
        if epoch is None:
            return False
        other = epoch_beside(model, epoch, direction)
        if other is None:
            which = "last" if direction > 0 else "first"
            self.say(f"These batches are of the {which} epoch of this profile.")
        else:
            self._show_batches(model, state, epoch, other)
        return True

    def _show_batches(
        self,
        model: TimelineModel,
        state: State,
        epoch: int,
        other: int,
    ) -> None:
        """Move window, cursor and view from one epoch to the same batches of another."""
        from powertui.view.epoch_window import EpochShift

        middle = state.cursor_ps
        if state.window is not None:
            middle = sum(state.window) // 2
        shift = EpochShift(model, epoch, other)
        cursor = shift.moved(state.cursor_ps)
        # The view keeps its width: it is moved by as much as the middle of what is compared.
        moved_by = shift.moved(middle) - middle
        view_start = state.viewport.t0 + moved_by
        view_end = state.viewport.t1 + moved_by
        self.timeline.move(Navigator.show_window, view_start, view_end)
        self.timeline.move(Navigator.goto, cursor)
        self.point_at(view_start, view_end)
        if state.window is not None:
            self.timeline.move(Navigator.set_window, *map(shift.moved, state.window))
        else:
            self.say(f"The same batches in epoch {model.epochs[other].number}.")

    def _same_in_other_run(self, model: TimelineModel, state: State) -> bool:
        """Mark the steps of the window in the next open run; False where none is open."""
        if self.session.next_run() is None:
            return False
        lo, hi = state.window or (state.cursor_ps, state.cursor_ps + 1)
        steps = model.steps
        rows = np.flatnonzero((steps.start < hi) & (steps.ends() > lo) & (steps.number >= 0))
        if not len(rows):
            self.say("No step is marked here that the other run could have.")
            return True
        from powertui.screens.arriving import go_and_say

        numbers = steps.number[rows]
        place = f"step {int(numbers.min())}-{int(numbers.max())}"
        self.shell.runs.open_next()
        self.shell.run_worker(
            go_and_say(self.shell, place),
            group="place",
            exclusive=True,
        )
        return True
