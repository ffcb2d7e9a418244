"""Keys in the order in which they were typed, and none to a screen that is not there yet.

Over a slow line several keys arrive at once: `/conv` and Enter, `:12s` and Enter. Textual hands
each key to the widget that has the focus at that moment, and the widget's answer (open a box, move
the focus, show a page) comes later, when the next keys have already gone to the wrong place, or to
a screen that has no widgets yet. Here an action is run before the next key is looked at. Keys wait
while the screen in front is coming up, and while Enter is on its way to whoever acts upon it.

A key also waits while the answer that it needs is under way: a table that is being counted, a
search, a run that is being read. Each page knows what its actions need (`awaits`). The keys behind
it wait with it, in order, so that typing fast and typing slowly end in the same place. Esc drops
what waits. Ctrl+C quits at once, and so does `q`, unless a key before it opens a box into which it
would be typed. Where the answer never comes the keys are dropped too.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Generic

from textual import events
from textual.message_pump import MessagePump
from textual.widget import Widget
from textual.widgets import Input

from powertui.terminal import keymap
from powertui.terminal.paced import PacedApp, ReturnType

MAX_WAIT_S = 1.0  # Enter is taken as acted upon after this, whatever became of it
_LOOK_AGAIN_S = 0.02  # how soon keys follow an answer: less than a frame
_TELL_AFTER_S = 1.0  # a person who waits for longer wants to know for what
# keys: half a minute of a key that is held down. Whoever types more than this is not answering what
# is shown
MAX_HELD_KEYS = 1000
_SETTLED = (
    "enter",
    "space",
    "m",
    "left_parenthesis",
    "right_parenthesis",
)  # keys whose effect comes by messages between widgets
_ASKING = (
    *("palette", "search", "filter", "filter-runs", "table-filter", "export"),
    "export-page",
    "tools-search",
    *("run-belongs", "strips", "step-marker", "messages"),
)
_OPENERS = frozenset(
    key for name in _ASKING for key in keymap.get(name).keys
)  # keys that may lead to where `q` is a letter


class TypeAhead(PacedApp[ReturnType], Generic[ReturnType]):
    """An application that handles keys one after the other."""

    _closing_all = False  # screens are being taken away, one after another
    _entering = False  # what was typed into a box is on its way
    _has_typed = False  # letters went to a box, and nobody waited for what they lead to
    _entering_timer: Any = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._held: deque[events.Key | events.Paste] = deque()
        self._awaited = ""  # the answer that the first of them waits for, in words
        self._looks = 0  # how often that was looked for
        self._look_timer: Any = None

    # ── when keys wait ───────────────────────────────────────────────────────────────────────────

    @property
    def is_leaving(self) -> bool:
        """The end has begun: screens and widgets may be gone already."""
        return (
            self._exit
            or self._closing_all
            or self._closing
            or self._closed
            or not self.screen_stack
        )

    async def _close_all(self) -> None:
        self._closing_all = True
        await super()._close_all()

    @property
    def is_turning(self) -> bool:
        """A screen is coming up: it is in front, but its widgets are not there yet."""
        return not getattr(self.screen, "is_there", False)

    @property
    def holds_keys(self) -> bool:
        """Whether keys wait for anything."""
        return bool(self._held)

    @property
    def takes_keys(self) -> bool:
        """Whether the next key finds what the last one led to."""
        return not self._entering and not self.is_turning

    def release_keys(self) -> None:
        """What was opened is there now, or what was entered has been acted upon: the keys that
        waited are next.
        """
        self._entering = False
        if self._entering_timer is not None:
            self._entering_timer.stop()
            self._entering_timer = None
        if self._held:
            self.call_later(self._replay)

    def _hold_until_entered(self, box: Widget) -> None:
        """Keys wait until what was typed has gone from the widget through everything around it.

        What the widget sends then goes up from queue to queue; a callback that is passed on in the
        same way arrives behind it.
        """
        self._entering = True
        self._entering_timer = self.set_timer(MAX_WAIT_S, self.release_keys)
        way: list[MessagePump] = [box, *box.ancestors_with_self]

        def pass_on() -> None:
            if not way or not way.pop(0).call_later(pass_on):
                self.release_keys()

        pass_on()

    async def _replay(self) -> None:
        while self._held and not self.is_leaving and self.takes_keys:
            if self._is_behind_letters(self._held[0]):
                return
            self._awaited = self._awaited_by(self._held[0])
            if self._awaited and not self._give_way():
                self._look_again_soon()
                return
            await self._handle(self._held.popleft())

    def _is_behind_letters(self, event: events.Key | events.Paste) -> bool:
        """Enter answers what is in the box, so it comes after the letters and what they list."""
        box = self.focused
        if not (self._has_typed and isinstance(box, Input)):
            return False
        if not (isinstance(event, events.Key) and event.key == "enter"):
            return False
        self._has_typed = False
        self._hold_until_entered(box)
        return True

    # ── answers that are under way ───────────────────────────────────────────────────────────────

    def awaits(self, action: str) -> str:
        """What an action of everywhere has to wait for, in words; "" where it can be done now."""
        return ""

    def drop_keys(self, why: str = "") -> int:
        """What the keys waited for does not come: how many are dropped."""
        count = len(self._held)
        self._held.clear()
        self._awaited = ""
        if count and why:
            self.tell_waiting(why)
        return count

    def tell_waiting(self, words: str) -> None:
        """Why nothing happens. For subclasses."""

    def _awaited_by(self, event: events.Key | events.Paste) -> str:
        """What a key has to wait for, by what it means to whatever has the focus now."""
        screen: Any = self.screen
        if not isinstance(event, events.Key):
            return ""
        if isinstance(self.focused, Input):
            return str(screen.awaits("submit")) if event.key == "enter" else ""
        bound = screen.active_bindings.get(event.key)
        if bound is None:
            return ""
        everywhere: bool = bound.node is self
        if everywhere:
            return self.awaits(str(bound.binding.id))
        if bound.node is screen and bound.binding.id is None:
            return ""  # from pane to pane
        return str(screen.awaits(bound.binding.id or ""))

    def _give_way(self) -> bool:
        """A person who wants to leave waits for nothing: whether the first key may be
        handled now.
        """
        for number, event in enumerate(self._held):
            key = event.key if isinstance(event, events.Key) else ""
            leaves = key == "q" and not self.screen.is_modal
            if key == "escape" or leaves:
                for _ in range(number):
                    self._held.popleft()
                return True
            if key in _OPENERS:
                break
        return False

    def _look_again_soon(self) -> None:
        if len(self._held) > MAX_HELD_KEYS:
            self.drop_keys(
                f"More than {MAX_HELD_KEYS:,} keys waited for {self._awaited}: they were dropped."
            )
            return
        if self._look_timer is None:
            self._looks = 0
            self._look_timer = self.set_interval(_LOOK_AGAIN_S, self._look_again)

    async def _look_again(self) -> None:
        self._looks += 1
        await self._replay()
        if self._held and self._awaited:
            if self._looks == round(_TELL_AFTER_S / _LOOK_AGAIN_S):
                self.tell_waiting(
                    f"Waiting for {self._awaited}, then your keys follow. Esc drops them."
                )
        elif self._look_timer is not None:
            self._look_timer.stop()
            self._look_timer = None

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
            # it comes back from a widget that had no use for it: what it means was looked for
            # before, on the screen of then
            return
        elif isinstance(event, events.Key) and event.key == "ctrl+c":
            await self._handle(event)
        else:
            self._held.append(event)
            await self._replay()

    async def _handle(self, event: events.Key | events.Paste) -> None:
        if isinstance(event, events.Paste):
            self._has_typed = True
            await super().on_event(event)
            return
        self.key_pressed()
        focused = self.focused
        if isinstance(focused, Input):
            if await self._check_bindings(event.key, priority=True):
                return
            if event.is_printable:
                self._has_typed = True
                await super().on_event(event)
                return
            if event.key in focused._bindings.key_to_bindings:
                # What edits the text goes through the box's own queue, behind the letters before
                # it.
                focused.call_later(self._edit, focused, event.key)
                if event.key == "enter":
                    self._hold_until_entered(focused)
                return
        if not await self._check_bindings(
            event.key, priority=True
        ) and not await self._check_bindings(event.key):
            await super().on_event(event)
        if event.key in _SETTLED and not self.is_leaving:
            self._hold_until_entered(focused if focused is not None else self.screen)

    async def _edit(self, box: Input, key: str) -> None:
        if self.focused is box:
            await self._check_bindings(key)
