"""Keys in the order in which they were typed, and none to a screen that is not there yet.

Over a slow line several keys arrive at once: `/conv` and Enter, `:12s` and Enter. Textual hands each key to the widget that has the
focus at that moment, and the widget's answer (open a box, move the focus, show a page) comes later, when the next keys have already
gone to the wrong place, or to a screen that has no widgets yet. Here an action is run before the next key is looked at. Keys wait
while the screen in front is coming up, and while Enter in a box is on its way to whoever acts upon it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Generic

from textual import events
from textual.message_pump import MessagePump
from textual.widgets import Input

from powertui.terminal.paced import PacedApp, ReturnType

LONGEST_S = 1.0  # Enter is taken as acted upon after this, whatever became of it


class TypeAhead(PacedApp[ReturnType], Generic[ReturnType]):
    """An application that handles keys one after the other."""

    _closing_all = False  # screens are being taken away, one after another
    _entering = False  # Enter in a box is on its way
    _entering_timer: Any = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._held: deque[events.Key | events.Paste] = deque()

    # ── when keys wait ───────────────────────────────────────────────────────────────────────────

    @property
    def is_leaving(self) -> bool:
        """The end has begun: screens and widgets may be gone already."""
        return self._exit or self._closing_all or self._closing or self._closed or not self.screen_stack

    async def _close_all(self) -> None:
        self._closing_all = True
        await super()._close_all()

    @property
    def is_turning(self) -> bool:
        """A screen is coming up: it is in front, but its widgets are not there yet."""
        return not getattr(self.screen, "is_there", False)

    @property
    def takes_keys(self) -> bool:
        """Whether the next key finds what the last one led to."""
        return not self._entering and not self.is_turning

    def release_keys(self) -> None:
        """What was opened is there now, or what was entered has been acted upon: the keys that waited are next."""
        self._entering = False
        if self._entering_timer is not None:
            self._entering_timer.stop()
            self._entering_timer = None
        if self._held:
            self.call_later(self._replay)

    def _hold_until_entered(self, box: Input) -> None:
        """Keys wait until Enter has gone from the box through everything around it.

        What the box sends then goes up from queue to queue; a callback that is passed on in the same way arrives behind it.
        """
        self._entering = True
        self._entering_timer = self.set_timer(LONGEST_S, self.release_keys)
        way: list[MessagePump] = [box, *box.ancestors_with_self]

        def pass_on() -> None:
            if not way or not way.pop(0).call_later(pass_on):
                self.release_keys()

        pass_on()

    async def _replay(self) -> None:
        while self._held and not self.is_leaving and self.takes_keys:
            await self._handle(self._held.popleft())

    # ── handling ─────────────────────────────────────────────────────────────────────────────────

    def key_pressed(self) -> None:
        """A key is about to be handled. For subclasses."""

    async def on_event(self, event: events.Event) -> None:
        """Textual's entry for all events; keys are handled here."""
        if isinstance(event, events.InputEvent) and self.is_leaving:
            return
        if not isinstance(event, events.Key | events.Paste):
            await super().on_event(event)
        elif event.is_forwarded:
            return  # it comes back from a widget that had no use for it: what it means was looked for before, on the screen of then
        elif isinstance(event, events.Key) and event.key == "ctrl+c":
            await self._handle(event)
        else:
            self._held.append(event)
            await self._replay()

    async def _handle(self, event: events.Key | events.Paste) -> None:
        if isinstance(event, events.Paste):
            await super().on_event(event)
            return
        self.key_pressed()
        focused = self.focused
        if isinstance(focused, Input):
            if await self._check_bindings(event.key, priority=True):
                return
            if event.is_printable:
                await super().on_event(event)
                return
            if event.key in focused._bindings.key_to_bindings:
                # What edits the text goes through the box's own queue, behind the letters before it.
                focused.call_later(self._edit, focused, event.key)
                if event.key == "enter":
                    self._hold_until_entered(focused)
                return
        if not await self._check_bindings(event.key, priority=True) and not await self._check_bindings(event.key):
            await super().on_event(event)

    async def _edit(self, box: Input, key: str) -> None:
        if self.focused is box:
            await self._check_bindings(key)
