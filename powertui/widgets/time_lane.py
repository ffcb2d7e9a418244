"""What the narrow lanes above the timeline share: a label at the left, cells that stand over the
timeline's cells, the mouse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from powertui.plain import plain
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import WHEEL

if TYPE_CHECKING:
    from powertui.widgets.outline import JumpOutline


def fit_text(text: str, width: int, ellipsis: str = "…") -> str:
    """`text` in exactly `width` cells: cut or padded."""
    size = cell_len(text)
    if size <= width:
        return text + " " * (width - size)
    fitting = ""
    for char in text:
        if cell_len(fitting + char) > width - 1:
            break
        fitting += char
    if width > 0:
        fitting += ellipsis
    return fitting + " " * (width - cell_len(fitting))


def fit_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """`text` in exactly `width` cells, cut in its middle: threads of one pool differ only at the
    end of their names.
    """
    if cell_len(text) <= width or width < 10:
        return fit_text(text, width, ellipsis)
    tail = ""
    for char in reversed(text):
        if cell_len(char + tail) > width // 3:
            break
        tail = char + tail
    head = fit_text(text, width - cell_len(tail), ellipsis)
    return fit_text(head + tail, width, ellipsis)


def styled(chars: Sequence[str], styles: Sequence[Style]) -> list[Segment]:
    """Cells to segments: equal neighbors become one run."""
    out: list[Segment] = []
    begin = 0
    for i in range(1, len(chars) + 1):
        if i == len(chars) or styles[i] is not styles[begin]:
            out.append(Segment("".join(chars[begin:i]), styles[begin]))
            begin = i
    return out


class TimeLane(Widget):
    """A lane whose columns are those of the timeline. Subclasses draw `cells(y)` and `label(y)`."""

    DEFAULT_CSS = "TimeLane { height: 1; width: 1fr; }"

    class Asked(Message):
        """The pointer asks for something: "goto" (ps), "zoom" (rungs at ps), "pan" (cells), "show"
        and "mark" (ps, as long as).
        """

        def __init__(
            self,
            what: str,
            ps: int = 0,
            amount: int = 0,
        ) -> None:
            super().__init__()
            self.what = what
            self.ps = ps
            self.amount = amount

    def __init__(
        self,
        *,
        theme: Theme,
        glyphs: str = "unicode",
        label_width: int = 20,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.label_width = label_width
        self.model: TimelineModel | None = None
        self.state: State | None = None
        self.outline: JumpOutline | None = None  # of where a jump has just led

    @property
    def columns(self) -> int:
        return max(0, self.size.width - self.label_width)

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.refresh()

    def set_label_width(self, width: int) -> None:
        if width != self.label_width:
            self.label_width = width
            self.refresh()

    def update_state(self, model: TimelineModel, state: State) -> None:
        """Draw this from now on; nothing is repainted when nothing that is shown has changed."""
        is_other_model = self.model is not model
        differs = is_other_model or self.differs(self.state, state)
        self.model = model
        self.state = state
        if differs:
            self.refresh()

    def differs(self, before: State | None, after: State) -> bool:
        """Does this lane look different? The view, for most."""
        return before is None or before.viewport != after.viewport

    def label(self, y: int) -> list[Segment]:
        """The gutter's text: exactly `gutter` cells."""
        return [Segment(" " * self.label_width, self.theme_colors.style("gutter"))]

    def cells(self, y: int) -> list[Segment]:
        """The lane's cells: exactly `columns` of them."""
        return [Segment(" " * self.columns)]

    def name_label(
        self,
        text: str,
        right: str = "",
        tick: str = " ",
    ) -> list[Segment]:
        """A label with something at its right end, and a tick of an axis behind it."""
        style = self.theme_colors.style("gutter")
        room = max(0, self.label_width - 1)
        right = right[:room]
        if right:
            right = " " + right
        name = fit_text(
            plain(text, 100),
            max(0, room - len(right)),
            self.glyphs.ellipsis,
        )
        return [Segment(fit_text(name + right, room) + tick, style)]

    def render_line(self, y: int) -> Strip:
        if self.model is None or self.state is None or not self.columns:
            return Strip.blank(self.size.width)
        strip = Strip([*self.label(y), *self.cells(y)]).adjust_cell_length(self.size.width)
        if self.outline is None:
            return strip
        return self.outline.over(
            strip,
            self.state.viewport,
            start=self.label_width,
        )

    # ── the mouse ────────────────────────────────────────────────────────────────────────────────

    def time_at(self, x: int) -> int:
        """The moment under a screen column of this widget."""
        assert self.state is not None
        last_column = max(0, self.columns - 1)
        column = min(max(0, x - self.label_width), last_column)
        return self.state.viewport.time(column)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        event.stop()
        if self.state is None:
            return
        if event.shift:
            self.post_message(self.Asked("pan", amount=-direction * max(1, self.columns // 12)))
        else:  # nothing scrolls in a lane
            self.post_message(self.Asked("zoom", self.time_at(event.x), direction * WHEEL))

    def on_click(self, event: events.Click) -> None:
        if self.state is not None and event.x >= self.label_width:
            self.post_message(self.Asked("goto", self.time_at(event.x)))
