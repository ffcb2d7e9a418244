"""A page with a timeline on it: what its keys do beyond one call of the widget."""

from __future__ import annotations

from powertui.screens.base import BaseScreen
from powertui.view.navigation import Navigator
from powertui.widgets.timeline import Timeline


class Moving(BaseScreen):
    """Says why there is no step or epoch to go to."""

    @property
    def timeline(self) -> Timeline:
        """The timeline that the keys move."""
        raise NotImplementedError

    def point_at(self, lo: int, hi: int, row: int | None = None) -> None:
        """Show where a jump has led, where that may move on the screen."""

    def step(self, direction: int) -> None:
        """To the next step, or the one before."""
        if not len(self.session.steps):
            why = self.session.steps.source or "no steps were found in this profile"
            self.say(f"No steps: {why}.".replace("..", "."), warn=True)
        self.timeline.move(Navigator.next_step, direction)
        model, state = self.timeline.model, self.timeline.state
        step = model.step_at(state.cursor_ps) if model is not None and state is not None else None
        if step is not None:
            self.point_at(step.start, step.end)

    def epoch(self, direction: int) -> None:
        """To the next epoch, or the one before."""
        if not len(self.session.epochs):
            self.say("No epochs were found in this profile.", warn=True)
        self.timeline.move(Navigator.next_epoch, direction)
        model, state = self.timeline.model, self.timeline.state
        if model is None or state is None:
            return
        epoch = model.epoch_at(state.cursor_ps)
        bounds = model.epoch_bounds(epoch) if epoch is not None else None
        if bounds is not None:
            self.point_at(*bounds)

    def same_in_other_epoch(self) -> None:
        """The same batches in the next epoch: window, cursor and view move there."""
        from powertui.view.epoch_window import EpochShift, next_epoch_with_bounds

        model, state = self.timeline.model, self.timeline.state
        if model is None or state is None:
            return
        middle = state.cursor_ps if state.window is None else sum(state.window) // 2
        epoch = model.epoch_at(middle)
        if epoch is None:
            self.say("Put the cursor into an epoch first: { and } go to one.", warn=True)
            return
        other = next_epoch_with_bounds(model, epoch)
        if other is None:
            self.say("This profile has only one epoch.")
            return
        shift = EpochShift(model, epoch, other)
        by = shift.moved(middle) - middle
        view, cursor = state.viewport, shift.moved(state.cursor_ps)
        self.timeline.move(Navigator.show_window, view.t0 + by, view.t1 + by)
        self.timeline.move(Navigator.goto, cursor)
        self.point_at(view.t0 + by, view.t1 + by)
        if state.window is not None:
            self.timeline.move(Navigator.set_window, *map(shift.moved, state.window))
        else:
            self.say(f"The same batches in epoch {model.epochs[other].number}.")
