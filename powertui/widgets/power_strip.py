"""Power over time, cell for cell above the timeline: axis, value under the cursor, gaps, and how
sure the alignment is.
"""

from __future__ import annotations

import math

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui import units
from powertui.data.model import Int64s, PowerOnTrace
from powertui.plain import plain
from powertui.plain import width as plain_width
from powertui.view import limit_line
from powertui.view.curve import Axis, axis, columns_per_cell, draw
from powertui.view.navigation import State
from powertui.view.power_curve import PowerCurve, channel_curve
from powertui.view.viewport import Viewport
from powertui.widgets.time_lane import TimeLane, fit_text, styled


def half_edges(view: Viewport) -> Int64s:
    """Edges of half cells: two columns of dots per cell.

    A cell of one ps has no half: its second half is empty.
    """
    edges = view.edges()
    out = np.empty(2 * view.width + 1, np.int64)
    out[0::2] = edges
    out[1::2] = edges[:-1] + (view.cell_ps + 1) // 2
    return out


class PowerNote(TimeLane):
    """One row that says why no power is drawn, where there is some."""

    def label(self, y: int) -> list[Segment]:
        return self.name_label("power", "not placed" if self.label_width > 18 else "")

    def cells(self, y: int) -> list[Segment]:
        note = self.model.power_note if self.model is not None else ""
        return [
            Segment(
                fit_text(" " + plain(note, 300), self.columns, self.glyphs.ellipsis),
                self.theme_colors.style("warn"),
            )
        ]


class PowerStrip(TimeLane):
    """One series. Give it a height by its styles."""

    DEFAULT_CSS = "PowerStrip { height: 3; width: 1fr; }"

    def __init__(self, power: PowerOnTrace | None = None, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.power: PowerOnTrace | None = None
        self.curve: PowerCurve | None = None
        self._lines: tuple[object, list[list[Segment]]] | None = None
        self.pins: tuple[int, ...] = ()  # moments (ps) to which a person tied an edge
        if power is not None:
            self.set_power(power)

    def set_power(self, power: PowerOnTrace) -> None:
        self.power, self.curve = power, channel_curve(power)
        self._lines = None
        self.refresh()

    def set_pins(self, pins: tuple[int, ...]) -> None:
        """Where edges were tied to moments by hand."""
        if pins != self.pins:
            self.pins, self._lines = pins, None
            self.refresh()

    def differs(self, before: State | None, after: State) -> bool:
        return before is None or (before.viewport, before.cursor_ps) != (
            after.viewport,
            after.cursor_ps,
        )

    @property
    def axis(self) -> Axis:
        """Of the whole series: the scale stays while one moves along it."""
        lo, hi = self.curve.range if self.curve and self.curve.range else (math.nan, math.nan)
        if self.power is not None:
            hi = limit_line.highest(hi, (cap.watts for cap in self.power.series.limits))
        return axis(lo, hi, max(1, self.size.height))

    # ── the gutter: name, unit and axis; the value under the cursor ──────────────────────────────

    def label(self, y: int) -> list[Segment]:
        assert self.state is not None
        if self.curve is None:
            return self.name_label("")
        height, theme = self.size.height, self.theme_colors
        scale = self.axis
        watts = self.curve.value(self.state.cursor_ps)
        value = "no value" if math.isnan(watts) else units.quantity(watts, "W")
        top = value if height == 1 else f"{scale.text(scale.hi)} W"
        name, below = self._names(self.label_width - 2 - len(top), height)
        if y == 0:
            return self.name_label(name, top)
        if y == height - 1:
            return self.name_label(
                value if height == 2 else self._certainty(), f"{scale.text(scale.lo)} W"
            )
        if y == 1:
            room = self.label_width - 1
            left = (
                fit_text(below, max(0, room - 1 - len(value)), self.glyphs.ellipsis) + " "
                if below
                else ""
            )
            style = theme.style("gutter")
            shown = fit_text(value, room - len(left), self.glyphs.ellipsis) + " "
            return [
                *([Segment(left, style)] if left else []),
                Segment(shown, style + theme.style("power")),
            ]
        return self.name_label(self._source() if y == 2 else "")

    def _names(self, room: int, height: int) -> tuple[str, str]:
        """Host and sensor in one line where both fit; else the sensor, and the host for the line
        below, where there is one.
        """
        assert self.power is not None
        sensor = self.power.series.sensor
        whole = plain(sensor.label, 100)
        if plain_width(whole) <= room or not sensor.host:
            return whole, ""
        own, host = plain(sensor.channel, 100), plain(sensor.host, 100)
        if height >= 3:
            return own, host
        kept = fit_text(host, max(room // 2, room - 1 - plain_width(own)), self.glyphs.ellipsis)
        return f"{kept.rstrip()} {own}", ""

    def _certainty(self) -> str:
        assert self.power is not None
        power = self.power
        if power.status == "none":
            return "not aligned"
        half = (power.offset_hi_ps - power.offset_lo_ps) // 2
        mark = self.glyphs.plus_minus + units.duration(half, 2) if half else ""
        return f"{mark}?" if power.status == "ambiguous" else mark

    def _source(self) -> str:
        assert self.power is not None
        return plain(self.power.source, 40)

    # ── the cells ────────────────────────────────────────────────────────────────────────────────

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        view = self.state.viewport
        asked = (
            view.cell0,
            view.rung,
            view.width,
            self.size.height,
            self.glyphs,
            self.theme_colors,
        )
        if self._lines is None or self._lines[0] != asked:
            self._lines = (asked, self._draw(view, max(1, self.size.height)))
        return self._lines[1][y]

    def _draw(self, view: Viewport, height: int) -> list[list[Segment]]:
        theme, glyphs = self.theme_colors, self.glyphs
        ink, gap_style = theme.style("power"), theme.style("power_gap")
        if self.curve is None or self.curve.range is None:
            why = "no power was read" if self.curve is None else "this series holds no values"
            return [
                [Segment(fit_text(" " + why if row == 0 else "", view.width), theme.style("dim"))]
                for row in range(height)
            ]
        envelope = self.curve.envelope(
            half_edges(view) if columns_per_cell(glyphs) == 2 else view.edges()
        )
        known = envelope.known.reshape(view.width, -1).any(axis=1)
        lines = draw(envelope, self.axis, height, glyphs)
        chars = [list(line) for line in lines]
        styles: list[list[Style]] = [[ink] * view.width for _ in range(height)]
        # A gap is a stretch without a value inside the series: before it began and after it ended
        # nothing is missing.
        starts = view.edges()[:-1]
        begin, end = self.curve.span
        inside = (starts + view.cell_ps > begin) & (starts < end)
        for column in np.flatnonzero(inside & ~known).tolist():
            chars[-1][column], styles[-1][column] = glyphs.shade, gap_style
        self._limits(view, chars, styles)
        self._uncertainty(view, chars, styles)
        for column in {view.column(ps) for ps in self.pins if view.shows(ps)}:
            chars[0][column], styles[0][column] = glyphs.cursor, theme.style("estimated")
        return [styled(row, style) for row, style in zip(chars, styles, strict=True)]

    def _limits(self, view: Viewport, chars: list[list[str]], styles: list[list[Style]]) -> None:
        """What the channel was held to."""
        assert self.power is not None
        power = self.power
        caps = power.series.limits
        edges = view.edges()
        starts = [power.offset_ps + cap.start_ns * 1000 for cap in caps] + [int(edges[-1])]
        stretches = (
            (np.flatnonzero((edges[1:] > start) & (edges[:-1] < end)), cap.watts)
            for cap, start, end in zip(caps, starts, starts[1:], strict=False)
        )
        for row, column in limit_line.draw(chars, stretches, self.axis, self.glyphs.horizontal):
            styles[row][column] = self.theme_colors.style("estimated")

    def _uncertainty(
        self, view: Viewport, chars: list[list[str]], styles: list[list[Style]]
    ) -> None:
        """A bar as long as the 95 % interval of the offset, in that corner where it covers least of
        the curve.
        """
        assert self.power is not None
        power = self.power
        length = min(-(-(power.offset_hi_ps - power.offset_lo_ps) // view.cell_ps), view.width)
        if power.status == "none" or length < 2 or len(chars) < 2:
            return
        style, glyphs = self.theme_colors.style("estimated"), self.glyphs
        corners = [(row, at) for row in (0, len(chars) - 1) for at in (0, view.width - length)]
        row, at = min(
            corners,
            key=lambda corner: sum(
                char != " " for char in chars[corner[0]][corner[1] : corner[1] + length]
            ),
        )
        bar = glyphs.range_left + glyphs.horizontal * (length - 2) + glyphs.range_right
        text = f" {glyphs.plus_minus}{units.duration((power.offset_hi_ps - power.offset_lo_ps) // 2, 2)} "
        if len(text) + 4 <= length:
            middle = (length - len(text)) // 2
            bar = bar[:middle] + text + bar[middle + len(text) :]
        for i, char in enumerate(bar):
            chars[row][at + i], styles[row][at + i] = char, style
