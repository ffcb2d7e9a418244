"""Everything that the profile says of one event: place, times, and all stats, decoded.

Long text is cut until asked for.
"""

from __future__ import annotations

import textwrap

from powertui import units
from powertui.data.category import MEANINGS
from powertui.data.model import PS_PER_S, Stat
from powertui.errors import FileChanged
from powertui.plain import plain
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.widgets.lines import LinesPane, StyledLine

_CUT_CHARS = 160  # characters of a value before it is expanded
_EXPANDED_CHARS = 20_000
_NAME_WIDTH = 24


def value_text(stat: Stat, limit: int) -> str:
    """A stat's value as a person reads it."""
    value = stat.value
    if isinstance(value, bytes):
        head = value[:16].hex(" ")
        return f"{len(value):,} bytes: {head}{' …' if len(value) > 16 else ''}"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, int):
        if stat.name.endswith("_ps"):
            return f"{value:,} ({units.duration(value)})"
        return (
            f"{value:,}"
            if abs(value) >= 100_000 and not stat.name.endswith(("id", "addr", "address", "hash"))
            else str(value)
        )
    return plain(value, limit)


class DetailsPane(LinesPane):
    """Below the timeline. `toggle` shows long values whole."""

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
        """Long values whole, or cut again."""
        self.expanded = not self.expanded
        self.rebuild()

    def on_resize(self) -> None:
        self.rebuild()

    def rebuild(self) -> None:
        theme = self.theme_colors
        if not self.size.width:
            return
        if self._shown is None:
            self.set_lines(
                [
                    (
                        (
                            (
                                "Nothing is selected. Move to an event with the arrow keys, or "
                                "click one."
                            ),
                            theme.style("dim"),
                        ),
                    )
                ]
            )
            self.refresh()
            return
        model, selection = self._shown
        event = model.facts(selection)
        lines: list[StyledLine] = []
        kind = (f" {event.category.code} ", theme.category(event.category.value))
        lines.append(
            (kind, (" ", theme.style("text")), (plain(event.display, 400), theme.style("title")))
        )
        if event.name != event.display:
            lines.extend(
                self._pair(
                    "recorded as",
                    plain(event.name, _EXPANDED_CHARS if self.expanded else _CUT_CHARS),
                )
            )
        lines.extend(self._pair("kind", MEANINGS[event.category]))
        depth = f", depth {event.depth}" if event.depth else ""
        lines.extend(
            self._pair("on", f"{plain(event.process, 100)} / {plain(event.track, 100)}{depth}")
        )
        lines.extend(
            self._pair(
                "time",
                (
                    f"{units.fixed(event.start, PS_PER_S, 9)} s + {units.duration(event.duration)} "
                    f"({event.duration:,} ps)"
                ),
            )
        )
        try:
            stats = model.stats(selection)
        except FileChanged as error:
            stats = ()
            lines.append(
                (
                    (
                        (
                            f"Its stats cannot be read: the file {error.problem}. Press r to read "
                            "it again."
                        ),
                        theme.style("warn"),
                    ),
                )
            )
        for stat in stats:
            lines.extend(self._stat(stat))
        self.set_lines(lines)

    def _stat(self, stat: Stat) -> list[StyledLine]:
        limit = _EXPANDED_CHARS if self.expanded else _CUT_CHARS
        text = value_text(stat, limit)
        if isinstance(stat.value, str) and len(stat.value) > limit:
            more = f"  ({len(stat.value):,} characters)"
            return self._pair(plain(stat.name, 60), text, more)
        return self._pair(plain(stat.name, 60), text)

    def _pair(self, name: str, value: str, more: str = "") -> list[StyledLine]:
        theme = self.theme_colors
        width = min(_NAME_WIDTH, max(8, self.size.width // 3))
        room = max(8, self.size.width - width)
        label, text = theme.style("dim"), theme.style("text")
        head = (name[: width - 1].ljust(width), label)
        pieces = textwrap.wrap(value, room) if self.expanded else [value]
        lines: list[StyledLine] = [(head, (pieces[0] if pieces else "", text))]
        lines.extend(((" " * width, label), (piece, text)) for piece in pieces[1:])
        if more:
            lines[-1] = (
                (*lines[-1], (more, label))
                if self.expanded
                else (head, (value[: max(8, room - len(more))], text), (more, label))
            )
        return lines
