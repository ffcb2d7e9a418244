"""Keys in the order in which they were typed.

Over a slow line several keys arrive at once: `/conv` and Enter, `:12s` and Enter. Textual hands each key to the widget that has the
focus at that moment, and the widget's answer (open a box, move the focus) comes later, when the next keys have already gone to the
wrong place. Here an action is run before the next key is looked at, and keys that follow one which opens something wait for it.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from textual import events
from textual.widgets import Input

from powertui.terminal.paced import PacedApp

ReturnType = TypeVar("ReturnType")

LONGEST_S = 1.0  # whatever was waited for: after this, keys count again


class TypeAhead(PacedApp[ReturnType], Generic[ReturnType]):
    """An application that handles keys one after the other."""

    _held: list[events.Key] | None = None
    _hold_timer: Any = None

    def hold_keys(self) -> None:
        """Something opens: keys wait until it calls `release_keys`."""
        if self._held is None:
            self._held = []
            self._hold_timer = self.set_timer(LONGEST_S, self.release_keys)

    def release_keys(self) -> None:
        """What was opened has the focus now."""
        if self._held is not None:
            if self._hold_timer is not None:
                self._hold_timer.stop()
                self._hold_timer = None
            self.call_later(self._replay)

    async def _replay(self) -> None:
        held, self._held = self._held or [], None
        for event in held:
            await self.on_event(event)  # holds again when one of them opens something

    def key_pressed(self) -> None:
        """A key is about to be handled. For subclasses."""

    async def on_event(self, event: events.Event) -> None:
        """Textual's entry for all events; keys are handled here."""
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        if self._held is not None and event.key != "ctrl+c":
            self._held.append(event)
            return
        self.key_pressed()
        focused = self.focused
        if isinstance(focused, Input):
            if event.key == "enter":
                self.hold_keys()  # until what was typed has been acted upon
            # What edits the text goes through the box's own queue, behind the letters before it.
            if event.is_printable or event.key in focused._bindings.key_to_bindings:
                if not await self._check_bindings(event.key, priority=True):
                    await super().on_event(event)
                return
        if not await self._check_bindings(event.key, priority=True) and not await self._check_bindings(event.key):
            await super().on_event(event)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in a box has been acted upon."""
        self.release_keys()
