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

    def step(self, direction: int) -> None:
        """To the next step, or the one before."""
        if not len(self.session.steps):
            why = self.session.steps.source or "no steps were found in this profile"
            self.say(f"No steps: {why}.".replace("..", "."), warn=True)
        self.timeline.move(Navigator.next_step, direction)

    def epoch(self, direction: int) -> None:
        """To the next epoch, or the one before."""
        if not len(self.session.epochs):
            self.say("No epochs were found in this profile.", warn=True)
        self.timeline.move(Navigator.next_epoch, direction)
