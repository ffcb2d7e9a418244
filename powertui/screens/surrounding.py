"""The training around the profile on the timeline: the profile that the view comes to, those beside
it, and the strips of scalars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from powertui.view.surroundings import neighbors_in_view, profile_to_open
from powertui.widgets.row_shares import MAX_VALUE_STRIPS

if TYPE_CHECKING:
    from powertui.screens.timeline import TimelineScreen
    from powertui.view.surroundings import Surroundings

_REACH_AFTER_S = 0.15  # the view stands still for so long before another profile is read


class SurroundingTraining:
    """What the timeline shows of the training that its profile belongs to."""

    def __init__(self, page: TimelineScreen) -> None:
        self.page = page
        self._reach_timer: Timer | None = None
        self._values: list[str] | None = None  # the strips that a person chose, by name

    @property
    def _surroundings(self) -> Surroundings | None:
        model = self.page.timeline.model
        if model is None:
            return None
        return model.surroundings

    # ── profiles ─────────────────────────────────────────────────────────────────────────────────

    @property
    def is_waiting(self) -> bool:
        """Whether another profile is read as soon as the view has stood still."""
        return self._reach_timer is not None

    def reach_soon(self) -> None:
        """Once the view stands still: the profile that it came to."""
        if self._reach_timer is not None:
            self._reach_timer.stop()
        self._reach_timer = self.page.set_timer(_REACH_AFTER_S, self._reach)

    def _reach(self) -> None:
        self._reach_timer = None
        if self._surroundings is None or not self.page.is_mounted:
            return
        key = self.profile_in_view()
        if key is not None:
            self.page.shell.runs.profiles.reach(*key)
        else:
            self.accompany()

    def profile_in_view(self) -> tuple[str, str] | None:
        """Another profile of the training that the view came to."""
        surroundings = self._surroundings
        state = self.page.timeline.state
        if surroundings is None or state is None:
            return None
        row = profile_to_open(surroundings, state.viewport, state.cursor_ps)
        if row is None:
            return None
        key = surroundings.profiles[row].key
        path, _ = key
        if self.page.shell.runs.profiles.can_reach(path):
            return key
        return None

    def accompany(self) -> None:
        """Other profiles of the training that are in sight, drawn where they lie."""
        page = self.page
        model = page.timeline.model
        viewport = page.timeline.viewport
        if model is not page.session.model or model is None or viewport is None:
            return
        keys = []
        surroundings = model.surroundings
        # On the axis of a training that was never profiled there is nothing to be beside of.
        if surroundings is not None and len(model.tracks):
            for number in neighbors_in_view(surroundings, viewport):
                keys.append(surroundings.profiles[number].key)
        page.view.accompany(page.shell.runs.profiles.accompany(keys))

    # ── strips of scalars ────────────────────────────────────────────────────────────────────────

    def show_values(self) -> None:
        """The strips that were chosen here; else the step rate, losses, and as many others as there
        is room for.
        """
        view = self.page.view
        if self._values is None:
            surroundings = self._surroundings
            strips = surroundings.strips if surroundings is not None else ()
            view.set_values(strips[:MAX_VALUE_STRIPS])
            return
        model = self.page.timeline.model
        offered = model.strips if model is not None else ()
        by_name = {strip.name: strip for strip in offered}
        chosen = [by_name[name] for name in self._values if name in by_name]
        view.set_values(chosen, picked=True)

    def choose_strips(self) -> None:
        """Ask which scalars are drawn."""
        from powertui.screens.strips import StripsDialog

        model = self.page.timeline.model
        strips = model.strips if model is not None else ()
        if not strips:
            self.page.say(
                "Nothing was logged beside this profile: no scalars, no step rate, no counters."
            )
            return
        names = [strip.name for strip in strips]
        chosen = [strip.name for strip in self.page.view.chosen]
        self.page.shell.ask(StripsDialog(names, chosen), self._choose_values)

    def _choose_values(self, names: list[str] | None) -> None:
        if names is not None:
            self._values = names
            self.show_values()
