"""The outline that shows for a moment where a jump has led.

It is put with one redraw and taken away with another, and only its own cells differ: a few hundred
bytes each time. What it stands around stays readable, because it takes the cells beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from powertui.terminal.glyphs import Glyphs
from powertui.value_types import dataclass
from powertui.view.viewport import Viewport

if TYPE_CHECKING:
    from textual.timer import Timer

    from powertui.widgets.time_lane import TimeLane
    from powertui.widgets.timeline import Timeline
    from powertui.widgets.view import TimelineView

SHOWN_S = 0.6  # long enough to be found, too short to be in the way (chosen, not measured)


@dataclass(frozen=True)
class JumpOutline:
    """A stretch of time (ps), in one row of the timeline or through all lanes."""

    lo: int
    hi: int
    row: int | None = None  # None: all lanes
    style: Style = Style()
    glyphs: Glyphs | None = None

    def over(
        self,
        strip: Strip,
        view: Viewport,
        *,
        start: int = 0,
        row: int | None = None,
    ) -> Strip:
        """A line with the part of the outline in it. `start`: cells before the first column."""
        left = view.column(self.lo) - 1
        right = view.column(max(self.lo, self.hi - 1)) + 1
        if self.row is None or self.row == row:
            side = "┃" if self._is_unicode else "|"
            for column in (left, right):
                if 0 <= column < view.width:
                    strip = _replaced(
                        strip,
                        start + column,
                        side,
                        self.style,
                    )
            return strip
        if row is None or abs(row - self.row) != 1:
            return strip
        first = max(0, left)
        last = min(view.width - 1, right)
        if last < first:
            return strip
        left_corner, edge, right_corner = self._edge_chars(is_above=row < self.row)
        chars = [edge] * (last - first + 1)
        if left >= 0:
            chars[0] = left_corner
        if right < view.width:
            chars[-1] = right_corner
        return _replaced(
            strip,
            start + first,
            "".join(chars),
            self.style,
        )

    def _edge_chars(self, *, is_above: bool) -> tuple[str, str, str]:
        """Left corner, edge and right corner of the row above or below."""
        if not self._is_unicode:
            return "+", "-", "+"
        if is_above:
            return ("┏", "━", "┓")
        return ("┗", "━", "┛")

    @property
    def _is_unicode(self) -> bool:
        return self.glyphs is not None and self.glyphs.name == "unicode"


class ShownOutline:
    """The outline over a timeline and its lanes, until its time is over."""

    def __init__(self, view: TimelineView) -> None:
        self._view = view
        self._timer: Timer | None = None

    def show(
        self,
        lo: int,
        hi: int,
        row: int | None,
    ) -> None:
        """Outline this stretch. `row`: only there."""
        if self._timer is not None:
            self._timer.stop()
        self._draw(None)
        ruler = self._view.ruler
        style = ruler.theme_colors.style("cursor")
        self._draw(
            JumpOutline(
                lo=lo,
                hi=hi,
                row=row,
                style=style,
                glyphs=ruler.glyphs,
            )
        )
        self._timer = self._view.set_timer(SHOWN_S, self._end)

    def _end(self) -> None:
        self._timer = None
        self._draw(None)

    def _draw(self, outline: JumpOutline | None) -> None:
        view = self._view
        parts: list[TimeLane | Timeline] = [view.timeline]
        if outline is None or outline.row is None:
            # The overview is of the whole run: its columns are other moments.
            parts += [lane for lane in view.lanes if lane is not view.overview and lane.display]
        for part in parts:
            if part.outline is not outline:
                part.outline = outline
                part.refresh()


def _replaced(
    strip: Strip,
    at: int,
    text: str,
    style: Style,
) -> Strip:
    cells = strip.cell_length
    stop = at + len(text)
    if stop > cells:
        return strip
    parts = [strip.crop(0, at), Strip([Segment(text, style)], len(text))]
    if stop < cells:
        parts.append(strip.crop(stop, cells))
    return Strip.join(parts)
