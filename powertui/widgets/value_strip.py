"""A scalar, a counter or the step rate over time, cell for cell above the timeline."""

from __future__ import annotations

import math

from rich.segment import Segment

from powertui.view.curve import Axis, axis, draw
from powertui.view.time_navigation import State
from powertui.view.value_strips import Strip
from powertui.view.viewport import Viewport
from powertui.widgets.power_strip import column_edges
from powertui.widgets.time_lane import TimeLane, fit_text


class ValueStrip(TimeLane):
    """One strip. Give it a height by its styles."""

    DEFAULT_CSS = "ValueStrip { height: 2; width: 1fr; }"

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.strip: Strip | None = None
        self._hidden = 0  # strips that have no room, and that `T` shows
        self._lines: tuple[object, list[str]] | None = None  # what they depend on, and they

    def set_strip(self, strip: Strip | None) -> None:
        if strip is not self.strip:
            self.strip = strip
            self._lines = None
            self.refresh()

    def set_hidden(self, count: int) -> None:
        """So many more strips could be drawn: the name says so."""
        if count != self._hidden:
            self._hidden = count
            self.refresh()

    def differs(self, before: State | None, after: State) -> bool:
        if before is None:
            return True
        return before.viewport != after.viewport or before.cursor_ps != after.cursor_ps

    @property
    def axis(self) -> Axis:
        """The scale of all values, so that it stays while the view moves along the strip."""
        lo = hi = math.nan
        if self.strip is not None and self.strip.curve.range is not None:
            lo, hi = self.strip.curve.range
        return axis(lo, hi, max(1, self.size.height))

    def label(self, y: int) -> list[Segment]:
        assert self.state is not None
        strip = self.strip
        if strip is None:
            return self.name_label("")
        value = strip.value(self.state.cursor_ps)
        shown = "no value"
        if not math.isnan(value):
            shown = f"{value:.4g} {strip.unit}".rstrip()
        scale = self.axis
        height = self.size.height
        if y == 0:
            name = strip.name
            if self._hidden:
                name += f" +{self._hidden}"
            return self.name_label(name, shown if height == 1 else scale.text(scale.hi))
        if y == height - 1:
            return self.name_label(shown, scale.text(scale.lo))
        return self.name_label("")

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        strip = self.strip
        if strip is None or strip.curve.range is None:
            why = " no values" if y == 0 else ""
            text = fit_text(why, self.state.viewport.width)
            return [Segment(text, self.theme_colors.style("dim"))]
        text = self._drawn_lines(strip, self.state.viewport)[y]
        return [Segment(text, self.theme_colors.style("label"))]

    def _drawn_lines(self, strip: Strip, view: Viewport) -> list[str]:
        """The curve, line by line: drawn anew only where something that it shows has changed."""
        height = max(1, self.size.height)
        key = (strip, view.cell0, view.rung, view.width, height, self.glyphs)
        if self._lines is None or self._lines[0] != key:
            edges = column_edges(view, self.glyphs)
            lines = draw(
                strip.envelope(edges),
                self.axis,
                height,
                self.glyphs,
            )
            self._lines = (key, lines)
        return self._lines[1]
