"""The keys that move through a timeline: each is one call of the widget, which changes its state and tells what follows."""

from __future__ import annotations

from powertui.screens.base import BaseScreen
from powertui.view.viewport import FACTOR_TWO
from powertui.widgets.timeline import Timeline


class Moving(BaseScreen):
    """A page with a timeline on it."""

    _folded = False

    @property
    def timeline(self) -> Timeline:
        """The timeline that the keys move."""
        raise NotImplementedError

    def action_zoom_in(self) -> None:
        self.timeline.zoom()

    def action_zoom_out(self) -> None:
        self.timeline.zoom(-FACTOR_TWO)

    def action_pan_left(self) -> None:
        self.timeline.pan_held(-1)

    def action_pan_right(self) -> None:
        self.timeline.pan_held(1)

    def action_fit(self) -> None:
        self.timeline.fit()

    def action_whole(self) -> None:
        self.timeline.whole()

    def action_go_start(self) -> None:
        self.timeline.start()

    def action_go_end(self) -> None:
        self.timeline.end()

    def action_event_left(self) -> None:
        self.timeline.move_event(-1)

    def action_event_right(self) -> None:
        self.timeline.move_event(1)

    def action_row_up(self) -> None:
        self.timeline.move_track(-1)

    def action_row_down(self) -> None:
        self.timeline.move_track(1)

    def action_page_up(self) -> None:
        self.timeline.move_track(-max(1, self.timeline.size.height - 2))

    def action_page_down(self) -> None:
        self.timeline.move_track(max(1, self.timeline.size.height - 2))

    def action_time_left(self) -> None:
        self.timeline.move_time(-1)

    def action_time_right(self) -> None:
        self.timeline.move_time(1)

    def action_fold_all(self) -> None:
        self._folded = not self._folded
        self.timeline.fold_all(self._folded)

    def action_step_next(self) -> None:
        self._step(1)

    def action_step_previous(self) -> None:
        self._step(-1)

    def _step(self, direction: int) -> None:
        if not len(self.session.steps):
            why = self.session.steps.source or "no steps were found in this profile"
            self.say(f"No steps: {why}.".replace("..", "."), warn=True)
        self.timeline.next_step(direction)

    def action_epoch_next(self) -> None:
        self._epoch(1)

    def action_epoch_previous(self) -> None:
        self._epoch(-1)

    def _epoch(self, direction: int) -> None:
        if not len(self.session.epochs):
            self.say("No epochs are known of this profile.", warn=True)
        self.timeline.next_epoch(direction)

    def action_event_next(self) -> None:
        self.timeline.next_event(1)

    def action_event_previous(self) -> None:
        self.timeline.next_event(-1)
