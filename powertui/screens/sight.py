"""What the view of the timeline holds: counted beside the screen, once the view stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from powertui.widgets import background

if TYPE_CHECKING:  # names alone: nothing is counted before the first picture
    from powertui.screens.timeline import TimelineScreen
    from powertui.view.visible_content import VisibleContent

_AFTER_S = 0.2  # the view stands still for so long …
_LATE_S = 1.0  # … or so long, where there is much to count
_MANY_EVENTS = 2_000_000  # events


class SightCounting:
    """Whoever moves on waits for nothing: what is being counted is given up."""

    def __init__(self, page: TimelineScreen) -> None:
        self.page = page
        self._timer: Any = None
        self._of: tuple[object, int, int] | None = None  # the model and stretch that it is about
        self._asked: tuple[object, int, int] | None = None

    @property
    def is_behind(self) -> bool:
        """Whether what is shown about the view is still about another one."""
        return self.page.view.sight.display and self._of != self._now()

    def _now(self) -> tuple[object, int, int] | None:
        model = self.page.timeline.model
        content = self.page.in_sight()
        if model is None or content is None:
            return None
        return (model, *content)

    def soon(self) -> None:
        """Once the view stands still."""
        now = self._now()
        if now is None or not self.page.view.sight.display or now in (self._of, self._asked):
            return
        if self.page.timeline.model is not None and self.page.timeline.model.unplaced:
            return  # the model with power follows: all would be counted, and drawn, twice
        self._asked = now
        background.cancel(self.page, "sight")
        if self._timer is not None:
            self._timer.stop()
        model = self.page.timeline.model
        lo = now[1]
        hi = now[2]
        assert model is not None
        much = False
        if model.trace.event_count > _MANY_EVENTS:
            from powertui.data.tools import event_sets

            much = event_sets.touching(model.trace, lo, hi) > _MANY_EVENTS
        self._timer = self.page.set_timer(_LATE_S if much else _AFTER_S, self._count)

    def _count(self) -> None:
        page = self.page
        model = self.page.timeline.model
        now = self._now()
        if model is None or now is None or now != self._asked or not page.view.sight.display:
            self._asked = None
            return
        if page.session.complete:
            page.view.use_free_rows()
        from powertui.view import visible_content

        background.begin(
            page,
            "sight",
            lambda check: visible_content.visible_summary(model, now[1], now[2], check),
            lambda content: self._counted(now, content),
        )

    def _counted(self, now: tuple[object, int, int], content: VisibleContent) -> None:
        if self.page.is_mounted and now == self._now():
            self._of = now
            self._asked = None
            self.page.view.sight.show(content)
            self.page.context_changed()
            self.page.news_came()
