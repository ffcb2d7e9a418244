"""Everything that the profile contains about one event: place, times, and all stats, decoded.

Long text is cut until asked for.
"""

from __future__ import annotations

import textwrap

from powertui import units
from powertui.data.category import MEANINGS
from powertui.data.model import PS_PER_S, Stat
from powertui.errors import FileChanged
from powertui.plain import plain
from powertui.view.timeline_model import EventFacts, Selected, TimelineModel
from powertui.widgets.lines import LinesPane, StyledLine

_CUT_CHARS = 160  # characters of a value before it is expanded
_EXPANDED_CHARS = 20_000
_NAME_WIDTH = 24
_MAX_HEX_BYTES = 16
_NOTHING_SELECTED = "Nothing is selected. Move to an event with the arrow keys, or click one."


def value_text(stat: Stat, limit: int) -> str:
    """A stat's value as a person reads it."""
    value = stat.value
    if isinstance(value, bytes):
        shown = value[:_MAX_HEX_BYTES].hex(" ")
        more = " …" if len(value) > _MAX_HEX_BYTES else ""
        return f"{len(value):,} bytes: {shown}{more}"
    if isinstance(value, float):
        return f"{value:.10g}"
    if not isinstance(value, int):
        return plain(value, limit)
    if stat.name.endswith("_ps"):
        return f"{value:,} ({units.duration(value)})"
    is_identity = stat.name.endswith(("id", "addr", "address", "hash"))
    if is_identity or abs(value) < 100_000:
        return str(value)
    return f"{value:,}"


class DetailsPane(LinesPane):
    """Below the timeline. `toggle` shows long values in full."""

    DEFAULT_CSS = "DetailsPane { height: 10; width: 1fr; padding: 0 1; }"

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._shown: tuple[TimelineModel, Selected] | None = None
        self.expanded = False

    def show(self, model: TimelineModel, selection: Selected | None) -> None:
        now = None if selection is None else (model, selection)
        if now != self._shown:
            self.top = 0
            self.expanded = False
        self._shown = now
        self.rebuild()

    def toggle(self) -> None:
        """Long values in full, or cut again."""
        self.expanded = not self.expanded
        self.rebuild()

    def on_resize(self) -> None:
        self.rebuild()

    def rebuild(self) -> None:
        theme = self.theme_colors
        if not self.size.width:
            return
        if self._shown is None:
            self.set_lines([((_NOTHING_SELECTED, theme.style("dim")),)])
            self.refresh()
            return
        model, selection = self._shown
        lines = self._event_lines(model.facts(selection))
        try:
            for stat in model.stats(selection):
                lines += self._stat(stat)
        except FileChanged as error:
            problem = f"Its stats cannot be read: the file {error.problem}."
            lines.append(((f"{problem} Press r to read it again.", theme.style("warn")),))
        self.set_lines(lines)

    def _event_lines(self, event: EventFacts) -> list[StyledLine]:
        """The event's kind and names, its place, and its times."""
        process = plain(event.process, 100)
        track = plain(event.track, 100)
        place = f"{process} / {track}"
        if event.depth:
            place += f", depth {event.depth}"
        start_s = units.fixed(event.start, PS_PER_S, 9)
        length = units.duration(event.duration)
        time = f"{start_s} s + {length} ({event.duration:,} ps)"
        lines: list[StyledLine] = [self._title_line(event)]
        if event.name != event.display:
            recorded = plain(event.name, self._max_chars)
            lines += self._pair("recorded as", recorded)
        lines += self._pair("kind", MEANINGS[event.category])
        lines += self._pair("on", place)
        lines += self._pair("time", time)
        return lines

    def _title_line(self, event: EventFacts) -> StyledLine:
        theme = self.theme_colors
        category = event.category
        name = plain(event.display, 400)
        return (
            (f" {category.code} ", theme.category(category.value)),
            (" ", theme.style("text")),
            (name, theme.style("title")),
        )

    @property
    def _max_chars(self) -> int:
        return _EXPANDED_CHARS if self.expanded else _CUT_CHARS

    def _stat(self, stat: Stat) -> list[StyledLine]:
        more = ""
        value = stat.value
        if isinstance(value, str) and len(value) > self._max_chars:
            more = f"  ({len(value):,} characters)"
        name = plain(stat.name, 60)
        text = value_text(stat, self._max_chars)
        return self._pair(name, text, more)

    def _pair(
        self,
        name: str,
        value: str,
        more: str = "",
    ) -> list[StyledLine]:
        """A name and its value, wrapped where values are expanded; `more` is always in sight."""
        third = max(8, self.size.width // 3)
        name_width = min(_NAME_WIDTH, third)
        room = max(8, self.size.width - name_width)
        dim = self.theme_colors.style("dim")
        text = self.theme_colors.style("text")
        label = name[: name_width - 1].ljust(name_width)
        suffix: StyledLine = ()
        if more:
            suffix = ((more, dim),)
        if not self.expanded:
            if more:
                value_room = max(8, room - len(more))
                value = value[:value_room]
            return [((label, dim), (value, text), *suffix)]
        indent = " " * name_width
        lines: list[StyledLine] = []
        for value_line in textwrap.wrap(value, room) or [""]:
            lead = indent if lines else label
            lines.append(((lead, dim), (value_line, text)))
        lines[-1] = (*lines[-1], *suffix)
        return lines
