"""`:` and Ctrl+P: one line for commands and for places.

Type a part of a command, a time, or a range.
"""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from powertui import units
from powertui.data.tools import registry
from powertui.errors import PowertuiError, UsageError
from powertui.place_words import parse_place
from powertui.plain import plain
from powertui.screens import SCREENS
from powertui.screens.base import BaseScreen
from powertui.screens.choosing import ChoosingDialog
from powertui.screens.place_check import check_place
from powertui.screens.run_parts import run_parts
from powertui.terminal import keymap
from powertui.value_types import dataclass
from powertui.view.places import Destination, stretch_destination
from powertui.widgets.lists import Choices

_TOOL_TITLE = "Tool: "
_MOVES = ("Move", "Cursor")  # groups of the keymap
_NOT_LISTED = ("palette", "back", "pane-next", "pane-previous")


@dataclass(frozen=True)
class PaletteLine:
    """One line of the palette."""

    command: str  # what `Shell.run_command` takes
    title: str
    note: str
    keys: str


@dataclass(frozen=True)
class _PlaceLine:
    """The line of a place."""

    command: str
    title: str
    note: str = ""


def entries(page: str) -> list[PaletteLine]:
    """Everything that can be done on this page, from the keymap and the table of screens: where one
    can go before what one can do, and moves last, as their keys are known soonest.
    """
    out = [
        PaletteLine(
            command=f"show:{spec.name}", title=f"Show: {spec.title}", note="", keys=spec.key
        )
        for spec in SCREENS
        if spec.name not in (page, "help", "tool", "compare", "pair")
    ]
    out += [
        PaletteLine(
            command=f"tool:{tool.name}",
            title=f"{_TOOL_TITLE}{tool.title}",
            note=tool.about,
            keys="",
        )
        for tool in registry.TOOLS
    ]
    actions = [action for action in keymap.on_screen(page) if action.id not in _NOT_LISTED]
    actions.sort(key=lambda action: action.group in _MOVES)
    return out + [
        PaletteLine(
            command=f"do:{action.id}", title=action.title, note=action.help, keys=action.keys_shown
        )
        for action in actions
    ]


def _parts_lines(page: BaseScreen) -> list[PaletteLine]:
    """The hosts of the page's map, or of the run, and the devices of the one that is looked at,
    where there are several.
    """
    names = page.host_names()
    if names:
        return [
            PaletteLine(command=f"live-host:{name}", title=f"Host: {plain(name)}", note="", keys="")
            for name in names
        ]
    return [
        PaletteLine(
            command=part.command, title=f"{part.kind}: {part.name}", note=part.about, keys=""
        )
        for part in run_parts(page.session)
    ]


def rank(entry: PaletteLine, words: list[str]) -> int | None:
    """How well an entry fits what was typed: 0 is best, None not at all."""
    if not words:
        return 0
    title = entry.title.lower()
    name = title.removeprefix(_TOOL_TITLE.lower())
    text = f"{title} {entry.note.lower()} {entry.command}"
    if not all(word in text for word in words):
        return None
    if title.startswith(words[0]) or name.startswith(words[0]):
        return 0
    if not all(word in title for word in words):
        return 3
    return 2 if entry.command.startswith("do:") else 1  # a table of it, before what it does


def _ranked(lines: list[PaletteLine], text: str) -> list[PaletteLine]:
    """The lines that fit a text, the best first."""
    words = text.lower().split()
    places = ((rank(line, words), number) for number, line in enumerate(lines))
    return [lines[number] for _, number in sorted((r, n) for r, n in places if r is not None)]


def _place_of(page: BaseScreen, text: str) -> tuple[_PlaceLine | None, str]:
    """Where a text leads to, or why it leads nowhere."""
    model = page.session.model
    if not text.strip() or model is None:
        return None, ""
    try:
        words = parse_place(text)
        if words.is_stretch_alone and words.stretch is not None:
            place = stretch_destination(model, words.stretch, page.session.cursor_ps)
            return _PlaceLine(f"goto:{place.lo},{place.hi}", *_place_title(place)), ""
        check_place(page.session, words)
    except PowertuiError as error:
        return None, str(error)
    return _PlaceLine(f"place:{text}", plain(text.strip(), 200)), ""


def _place_title(place: Destination) -> tuple[str, str]:
    """Where it is, and what else the words could mean."""
    where = units.duration(place.lo)
    if place.lo != place.hi:
        where = f"{where} to {units.duration(place.hi)}"
    return where, place.note


def first_command(page: BaseScreen, text: str) -> str:
    """What Enter would do after this text: a command for `Shell.run_command`.

    Raises `UsageError` where it would do nothing.
    """
    place, why = _place_of(page, text)
    if place is not None:
        return place.command
    listed = entries(page.NAME) + _parts_lines(page)
    lines = _ranked(listed, text) if text.strip() else []
    if lines:
        return lines[0].command
    message, _, hint = why.partition("\n")
    raise UsageError(
        message or f"There is no place and no command {plain(text, 80)!r}.", hint=hint.strip()
    )


class Palette(ChoosingDialog):
    """Answers with a command for `Shell.run_command`, or None."""

    def __init__(self, page: BaseScreen) -> None:
        super().__init__()
        self._page = page
        self._entries = entries(page.NAME) + _parts_lines(page)
        self._place: _PlaceLine | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="palette"):
            yield Input(
                placeholder="a command, 27.31s, 27.31s-28.78s, step 12, epoch 1 step 185-258",
                compact=True,
            )
            yield Choices(markup=False, compact=True)

    def fill(self, text: str) -> None:
        look = self._page.shell.look
        self._place, why = _place_of(self._page, text)
        options: list[Option] = []
        if self._place is not None:
            line = Text.assemble(("Go to ", look.style("title")), self._place.title)
            if self._place.note:
                line.append(f"  {self._place.note}", look.style("dim"))
            options.append(Option(line, id=self._place.command))
        for entry in _ranked(self._entries, text):
            line = Text(no_wrap=True, overflow="ellipsis")
            line.append(f"{entry.keys:>16}  ", look.style("key"))
            line.append(entry.title)
            if entry.note:
                line.append(f"  {entry.note}", look.style("dim"))
            options.append(Option(line, id=entry.command))
        if not options:
            options.append(
                Option(
                    Text(plain((why or "No such command.").replace("\n", " ")), look.style("warn")),
                    disabled=True,
                )
            )
        listed = self.query_one(OptionList)
        listed.clear_options()
        listed.add_options(options)
        listed.highlighted = 0 if not options[0].disabled else None

    def awaits(self, action: str) -> str:
        """Enter is for a command of the page, or for a place in a run that may still be read."""
        if action != "submit":
            return ""
        listed = self.query_one(OptionList)
        chosen = (
            listed.get_option_at_index(listed.highlighted).id or ""
            if listed.highlighted is not None
            else ""
        )
        kind, _, command = chosen.partition(":")
        # "epoch 1" may be words of a tool's note as long as nobody knows that it is a place.
        if any(char.isdigit() for char in self.query_one(Input).value):
            awaited = self._page.shell.runs.awaits_training
            if awaited:
                return awaited
        if kind == "do":
            return self._page.shell.awaits(command) or self._page.awaits(command)
        return ""

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: what named no place may name one by now."""
        if self._place is None and any(char.isdigit() for char in event.value):
            self.fill(event.value)
        super().on_input_submitted(event)

    def choose(self, option: Option) -> None:
        self.answer(option.id)

    def on_click(self, event: events.Click) -> None:
        """A click beside the palette closes it."""
        if event.widget is self:
            self.answer(None)
