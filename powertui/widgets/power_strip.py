"""Power over time, cell for cell above the timeline.

With its axis, the value under the cursor, gaps, limits, and the uncertainty of the alignment.
"""

from __future__ import annotations

import math

import numpy as np
from rich.segment import Segment

from powertui import units
from powertui.data.model import Int64s, PowerOnTrace
from powertui.plain import plain
from powertui.plain import width as plain_width
from powertui.terminal.glyphs import Glyphs
from powertui.view import epoch_levels, limit_line
from powertui.view.aligned_by import aligned_by, in_words
from powertui.view.curve import columns_per_cell
from powertui.view.epoch_levels import EpochLevel
from powertui.view.power_area import (
    PowerScale,
    edge_tick,
    power_scale,
    row_labels,
)
from powertui.view.power_curve import PowerCurve, channel_curve
from powertui.view.surroundings import Surroundings
from powertui.view.time_navigation import State
from powertui.view.viewport import Viewport
from powertui.widgets.power_drawing import MIN_ROWS_WITH_LEVELS, PowerDrawing
from powertui.widgets.time_lane import TimeLane, fit_text

_SOURCE_MARGIN_CELLS = 4  # three figures of the axis to its right, and a blank


def half_edges(view: Viewport) -> Int64s:
    """Edges of half cells: two columns of dots per cell.

    A cell of one ps has no half: its second half is empty.
    """
    edges = view.edges()
    half_ps = (view.cell_ps + 1) // 2
    halves = np.empty(2 * view.width + 1, np.int64)
    halves[0::2] = edges
    halves[1::2] = edges[:-1] + half_ps
    return halves


def column_edges(view: Viewport, glyphs: Glyphs) -> Int64s:
    """The edges of the columns that an envelope needs: two for each cell with braille, else one."""
    if columns_per_cell(glyphs) == 2:
        return half_edges(view)
    return view.edges()


class PowerNote(TimeLane):
    """One row that says why no power is drawn, where there is some."""

    def label(self, y: int) -> list[Segment]:
        cells_needed = len("power") + len("not aligned") + 2  # and blanks
        note = ""
        if self.label_width > cells_needed:
            note = "not aligned"
        return self.name_label("power", note)

    def cells(self, y: int) -> list[Segment]:
        note = ""
        if self.model is not None:
            note = plain(self.model.power_note, 300)
        text = fit_text(f" {note}", self.columns, self.glyphs.ellipsis)
        style = self.theme_colors.style("warn")
        return [Segment(text, style)]


class PowerStrip(TimeLane):
    """One series. Give it a height by its styles."""

    DEFAULT_CSS = "PowerStrip { height: 3; width: 1fr; }"

    def __init__(self, power: PowerOnTrace | None = None, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.power: PowerOnTrace | None = None
        self.curve: PowerCurve | None = None
        self._lines: tuple[object, list[list[Segment]]] | None = None
        self._levels: tuple[object, tuple[EpochLevel, ...]] | None = None
        self.pins: tuple[int, ...] = ()  # moments (ps) to which a person tied an edge
        if power is not None:
            self.set_power(power)

    def set_power(self, power: PowerOnTrace) -> None:
        self.power = power
        self.curve = channel_curve(power)
        self._lines = None
        self.refresh()

    def set_pins(self, pins: tuple[int, ...]) -> None:
        """Where edges were tied to moments by hand."""
        if pins != self.pins:
            self.pins = pins
            self._lines = None
            self.refresh()

    def differs(self, before: State | None, after: State) -> bool:
        if before is None:
            return True
        return before.viewport != after.viewport or before.cursor_ps != after.cursor_ps

    @property
    def scale(self) -> PowerScale:
        """The scale of the whole series, so that it stays while the view moves along it."""
        lowest = math.nan
        highest = math.nan
        if self.curve is not None and self.curve.range is not None:
            lowest, highest = self.curve.range
        if self.power is not None:
            limits = [limit.watts for limit in self.power.series.limits]
            highest = limit_line.highest(highest, limits)
        rows = max(1, self.size.height)
        return power_scale(lowest, highest, rows)

    @property
    def _surroundings(self) -> Surroundings | None:
        if self.model is not None:
            return self.model.surroundings
        return None

    # ── the gutter: name, unit and axis; the value under the cursor ──────────────────────────────

    def label(self, y: int) -> list[Segment]:
        assert self.state is not None
        if self.curve is None:
            is_named = y == 0 and self._is_awaited
            return self.name_label("power" if is_named else "")
        height = self.size.height
        watts = self.curve.value(self.state.cursor_ps)
        value = "no value"
        if not math.isnan(watts):
            value = units.quantity(watts, "W")
        ticks = row_labels(self.scale, height, self.glyphs)
        top = f"{ticks[0]} W"
        if height == 1:
            top = value
        name, host = self._names(self.label_width - 2 - len(top), height)
        tick = edge_tick(ticks[y], self.glyphs)
        if y == 0 and height == 1:
            return self.name_label(name, top, " ")
        if y == 0:
            return self.name_label(name, top, tick)
        if y == height - 1:
            uncertainty = value
            if height > 2:
                uncertainty = self._uncertainty_text()
            return self.name_label(uncertainty, ticks[y], tick)
        if y == 1:
            return self._value_label(host, value)
        source = ""
        if y == 2:
            source = self._source()
        return self.name_label(source, ticks[y], tick)

    def _value_label(self, host: str, value: str) -> list[Segment]:
        """The value under the cursor, behind the host where that has this line."""
        ellipsis = self.glyphs.ellipsis
        room = self.label_width - 1
        style = self.theme_colors.style("gutter")
        segments = []
        if host:
            host_room = max(0, room - 1 - len(value))
            text = fit_text(host, host_room, ellipsis) + " "
            segments.append(Segment(text, style))
            room -= len(text)
        shown = fit_text(value, room, ellipsis) + " "
        value_style = style + self.theme_colors.style("power")
        segments.append(Segment(shown, value_style))
        return segments

    def _names(self, room: int, height: int) -> tuple[str, str]:
        """The names for the first line and the one below it.

        Host and sensor are in one line where both fit; else the host goes below, where there is
        a line for it.
        """
        assert self.power is not None
        sensor = self.power.series.sensor
        label = plain(sensor.label, 100)
        if plain_width(label) <= room or not sensor.host:
            return label, ""
        channel = plain(sensor.channel, 100)
        host = plain(sensor.host, 100)
        if height >= 3:
            return channel, host
        room_beside_channel = room - 1 - plain_width(channel)
        host_room = max(room // 2, room_beside_channel)
        short_host = fit_text(host, host_room, self.glyphs.ellipsis)
        return f"{short_host.rstrip()} {channel}", ""

    def _uncertainty_text(self) -> str:
        assert self.power is not None
        power = self.power
        if power.status == "none":
            return "not aligned"
        half_ps = (power.offset_hi_ps - power.offset_lo_ps) // 2
        mark = ""
        if half_ps:
            mark = self.glyphs.plus_minus + units.duration(half_ps, 2)
        if power.status == "ambiguous":
            return f"{mark}?"
        return mark

    def _source(self) -> str:
        assert self.power is not None
        source = in_words(self.power.source)
        is_whole = plain_width(source) <= self.label_width - _SOURCE_MARGIN_CELLS
        if is_whole:
            return source
        return f"by {aligned_by(self.power.source)}"

    # ── the cells ────────────────────────────────────────────────────────────────────────────────

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        view = self.state.viewport
        height = max(1, self.size.height)
        key = (
            view.cell0,
            view.rung,
            view.width,
            height,
            self.glyphs,
            self.theme_colors,
            self._surroundings,
            self._epoch_spans,
        )
        if self._lines is None or self._lines[0] != key:
            self._lines = (key, self._draw(view, height))
        return self._lines[1][y]

    @property
    def _is_awaited(self) -> bool:
        """Whether its place on the profile is still looked for."""
        if self.curve is not None or self.model is None:
            return False
        return self.model.unplaced > 0

    def _draw(self, view: Viewport, height: int) -> list[list[Segment]]:
        curve = self.curve
        if curve is None or curve.range is None:
            return self._without_values(view, height)
        assert self.power is not None
        drawing = PowerDrawing(
            curve,
            view,
            self.scale,
            height,
            self.theme_colors,
            self.glyphs,
        )
        surroundings = self._surroundings
        if surroundings is not None:
            drawing.draw_findings(surroundings)
        if height >= MIN_ROWS_WITH_LEVELS:
            drawing.draw_levels(self._epoch_levels(curve))
        drawing.draw_gaps()
        drawing.draw_limits(self.power)
        drawing.draw_uncertainty(self.power)
        if surroundings is not None and self.model is not None:
            drawing.draw_findings_beside(surroundings, self.model.origin(view))
        drawing.draw_pins(self.pins)
        return drawing.lines()

    def _without_values(self, view: Viewport, height: int) -> list[list[Segment]]:
        """A sentence in the first row."""
        why = "this series holds no values"
        if self._is_awaited:
            why = f"looking for the place of the power {self.glyphs.ellipsis}"
        elif self.curve is None:
            why = "no power was read"
        style = self.theme_colors.style("dim")
        sentence = Segment(fit_text(f" {why}", view.width), style)
        blank = Segment(fit_text("", view.width), style)
        rows = [[sentence]]
        for _ in range(height - 1):
            rows.append([blank])
        return rows

    @property
    def _epoch_spans(self) -> tuple[tuple[int, int], ...]:
        """Where the epochs lie whose bounds are known."""
        if self.model is None:
            return ()
        starts, ends = self.model.epoch_spans
        spans = []
        for lo, hi in zip(starts.tolist(), ends.tolist(), strict=True):
            if lo < hi:
                spans.append((lo, hi))
        return tuple(spans)

    def _epoch_levels(self, curve: PowerCurve) -> tuple[EpochLevel, ...]:
        """The usual power of each epoch, worked out once for a curve and its epochs."""
        spans = self._epoch_spans
        key = (id(curve), spans)
        if self._levels is None or self._levels[0] != key:
            self._levels = (key, epoch_levels.epoch_levels(curve, spans))
        return self._levels[1]
