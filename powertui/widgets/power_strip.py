"""Power over time, cell for cell above the timeline.

With its axis, the value under the cursor, gaps, limits, and the uncertainty of the alignment.
"""

from __future__ import annotations

import math

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui import units
from powertui.data.model import PS_PER_NS, Bools, Int64s, PowerOnTrace
from powertui.plain import plain
from powertui.plain import width as plain_width
from powertui.terminal.glyphs import Glyphs
from powertui.view import epoch_levels, finding_flag, limit_line
from powertui.view.aligned_by import aligned_by, in_words
from powertui.view.curve import Envelope, columns_per_cell
from powertui.view.epoch_levels import EpochLevel
from powertui.view.finding_flag import Flag
from powertui.view.power_area import (
    PowerScale,
    dash,
    draw_area,
    edge_tick,
    power_scale,
    role_of_text_on,
    row_labels,
    row_roles,
)
from powertui.view.power_curve import PowerCurve, channel_curve
from powertui.view.surroundings import Surroundings
from powertui.view.time_navigation import State
from powertui.view.viewport import Viewport
from powertui.widgets.ruler import moment_words
from powertui.widgets.time_lane import TimeLane, fit_text, styled

_MIN_ROWS_WITH_LEVELS = 5  # in fewer rows every level is the edge of the area (chosen by eye)
_MIN_LEVEL_CELLS = 12  # of an epoch; in fewer its level has no words
_SOURCE_MARGIN_CELLS = 4  # three figures of the axis to its right, and a blank


def half_edges(view: Viewport) -> Int64s:
    """Edges of half cells: two columns of dots per cell.

    A cell of one ps has no half: its second half is empty.
    """
    edges = view.edges()
    out = np.empty(2 * view.width + 1, np.int64)
    out[0::2] = edges
    out[1::2] = edges[:-1] + (view.cell_ps + 1) // 2
    return out


def column_edges(view: Viewport, glyphs: Glyphs) -> Int64s:
    """The edges of the columns that an envelope needs: two for each cell with braille, else one."""
    return half_edges(view) if columns_per_cell(glyphs) == 2 else view.edges()


class PowerNote(TimeLane):
    """One row that says why no power is drawn, where there is some."""

    def label(self, y: int) -> list[Segment]:
        has_room = self.label_width > len("power") + len("not aligned") + 2  # and blanks
        return self.name_label("power", "not aligned" if has_room else "")

    def cells(self, y: int) -> list[Segment]:
        note = self.model.power_note if self.model is not None else ""
        text = fit_text(" " + plain(note, 300), self.columns, self.glyphs.ellipsis)
        return [Segment(text, self.theme_colors.style("warn"))]


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
        lo = hi = math.nan
        if self.curve is not None and self.curve.range is not None:
            lo, hi = self.curve.range
        if self.power is not None:
            hi = limit_line.highest(hi, (cap.watts for cap in self.power.series.limits))
        return power_scale(lo, hi, max(1, self.size.height))

    @property
    def _surroundings(self) -> Surroundings | None:
        return self.model.surroundings if self.model is not None else None

    # ── the gutter: name, unit and axis; the value under the cursor ──────────────────────────────

    def label(self, y: int) -> list[Segment]:
        assert self.state is not None
        if self.curve is None:
            return self.name_label("power" if y == 0 and self._is_awaited else "")
        height = self.size.height
        watts = self.curve.value(self.state.cursor_ps)
        value = "no value" if math.isnan(watts) else units.quantity(watts, "W")
        ticks = row_labels(self.scale, height, self.glyphs)
        top = value if height == 1 else f"{ticks[0]} W"
        name, host = self._names(self.label_width - 2 - len(top), height)
        tick = edge_tick(ticks[y], self.glyphs)
        if y == 0 and height == 1:
            return self.name_label(name, top, " ")
        if y == 0:
            return self.name_label(name, top, tick)
        if y == height - 1:
            uncertainty = value if height == 2 else self._uncertainty_text()
            return self.name_label(uncertainty, ticks[y], tick)
        if y == 1:
            return self._value_label(host, value)
        source = self._source() if y == 2 else ""
        return self.name_label(source, ticks[y], tick)

    def _value_label(self, host: str, value: str) -> list[Segment]:
        """The value under the cursor, behind the host where that has this line."""
        room = self.label_width - 1
        style = self.theme_colors.style("gutter")
        segments = []
        if host:
            host_room = max(0, room - 1 - len(value))
            text = fit_text(host, host_room, self.glyphs.ellipsis) + " "
            segments.append(Segment(text, style))
            room -= len(text)
        shown = fit_text(value, room, self.glyphs.ellipsis) + " "
        segments.append(Segment(shown, style + self.theme_colors.style("power")))
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
        host_room = max(room // 2, room - 1 - plain_width(channel))
        return f"{fit_text(host, host_room, self.glyphs.ellipsis).rstrip()} {channel}", ""

    def _uncertainty_text(self) -> str:
        assert self.power is not None
        power = self.power
        if power.status == "none":
            return "not aligned"
        half_ps = (power.offset_hi_ps - power.offset_lo_ps) // 2
        mark = ""
        if half_ps:
            mark = self.glyphs.plus_minus + units.duration(half_ps, 2)
        return f"{mark}?" if power.status == "ambiguous" else mark

    def _source(self) -> str:
        assert self.power is not None
        source = in_words(self.power.source)
        is_whole = plain_width(source) <= self.label_width - _SOURCE_MARGIN_CELLS
        return source if is_whole else f"by {aligned_by(self.power.source)}"

    # ── the cells ────────────────────────────────────────────────────────────────────────────────

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        view = self.state.viewport
        key = (
            view.cell0,
            view.rung,
            view.width,
            self.size.height,
            self.glyphs,
            self.theme_colors,
            self._surroundings,
            self._epoch_spans,
        )
        if self._lines is None or self._lines[0] != key:
            self._lines = (key, self._draw(view, max(1, self.size.height)))
        return self._lines[1][y]

    @property
    def _is_awaited(self) -> bool:
        """Whether its place on the profile is still looked for."""
        return self.curve is None and self.model is not None and self.model.unplaced > 0

    def _draw(self, view: Viewport, height: int) -> list[list[Segment]]:
        if self.curve is None or self.curve.range is None:
            return self._without_values(view, height)
        theme = self.theme_colors
        envelope = self.curve.envelope(view.edges())
        scale = self.scale
        chars = [list(line) for line in draw_area(envelope, scale, height, self.glyphs)]
        styles = [[theme.style(role)] * view.width for role in row_roles(scale, height)]
        self._draw_findings(view, chars, styles)
        self._draw_levels(view, envelope, chars, styles)
        self._draw_gaps(view, envelope.known, chars, styles)
        self._draw_limits(view, scale, chars, styles)
        self._draw_uncertainty(view, chars, styles)
        self._draw_findings_beside(view, chars, styles)
        self._draw_pins(view, chars[0], styles[0])
        return [styled(row, style) for row, style in zip(chars, styles, strict=True)]

    def _draw_pins(self, view: Viewport, chars: list[str], styles: list[Style]) -> None:
        """The moments that a person set, in the first row."""
        for ps in self.pins:
            if view.shows(ps):
                column = view.column(ps)
                chars[column] = self.glyphs.cursor
                styles[column] = self.theme_colors.style("estimated")

    def _without_values(self, view: Viewport, height: int) -> list[list[Segment]]:
        """A sentence in the first row."""
        style = self.theme_colors.style("dim")
        why = "this series holds no values"
        if self._is_awaited:
            why = f"looking for the place of the power {self.glyphs.ellipsis}"
        elif self.curve is None:
            why = "no power was read"
        rows = [[Segment(fit_text(" " + why, view.width), style)]]
        for _ in range(height - 1):
            rows.append([Segment(fit_text("", view.width), style)])
        return rows

    def _draw_gaps(
        self,
        view: Viewport,
        known: Bools,
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        """A shade where the series has no value.

        Before it began and after it ended nothing is missing.
        """
        assert self.curve is not None
        starts = view.edges()[:-1]
        begin, end = self.curve.span
        is_inside = (starts + view.cell_ps > begin) & (starts < end)
        style = self.theme_colors.style("power_gap")
        for column in np.flatnonzero(is_inside & ~known).tolist():
            chars[-1][column] = self.glyphs.shade
            styles[-1][column] = style

    def _draw_findings(
        self,
        view: Viewport,
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        """A band behind the curve wherever a finding is, and its size in it where that fits."""
        surroundings = self._surroundings
        if surroundings is None:
            return
        theme = self.theme_colors
        band = theme.style("power_band")
        ground = Style(bgcolor=band.bgcolor)
        flag_style = theme.style("power_flag")
        for finding in surroundings.findings:
            covered = view.covered(finding.lo, finding.hi)
            if not covered:
                continue
            for row, style in zip(chars, styles, strict=True):
                for column in covered:
                    if row[column] == " ":
                        style[column] = band
                    elif row[column] in self.glyphs.bars[:-1]:
                        style[column] += ground
            flag = finding_flag.beside_band(chars, covered, finding.sizes, self.glyphs)
            self._write(flag, flag_style, chars, styles)

    @property
    def _epoch_spans(self) -> tuple[tuple[int, int], ...]:
        """Where the epochs lie whose bounds are known."""
        if self.model is None:
            return ()
        starts, ends = self.model.epoch_spans
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return tuple((lo, hi) for lo, hi in spans if lo < hi)

    def _draw_levels(
        self,
        view: Viewport,
        shape: Envelope,
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        """The usual power of each epoch: in words on the area, and as a dashed line where the power
        is above or below it.
        """
        curve = self.curve
        height = len(chars)
        if curve is None or height < _MIN_ROWS_WITH_LEVELS:
            return
        spans = self._epoch_spans
        if self._levels is None or self._levels[0] != (id(curve), spans):
            self._levels = ((id(curve), spans), epoch_levels.epoch_levels(curve, spans))
        scale = self.scale
        roles = row_roles(scale, height)
        theme = self.theme_colors
        for level in self._levels[1]:
            columns = view.covered(level.lo, level.hi)
            if len(columns) < _MIN_LEVEL_CELLS:
                continue
            for row, column, part in epoch_levels.level_dashes(
                level.watts, columns, shape, scale, height
            ):
                char = dash(part, column, self.glyphs)
                if not char:
                    continue
                if chars[row][column] == self.glyphs.area:
                    ground = Style(bgcolor=theme.style(roles[row]).color)
                    styles[row][column] = theme.style("title") + ground
                else:
                    ground = Style(bgcolor=styles[row][column].bgcolor)
                    styles[row][column] = theme.style("dim") + ground
                chars[row][column] = char
            # Its watts in words, on the area: in the lowest row, which most of the power fills.
            row = scale.linear_rows(height) - 1
            words = f" median {units.quantity(level.watts, 'W')} "
            place = slice(columns.start + 1, columns.start + 1 + len(words))
            has_room = len(words) + 2 <= len(columns)
            if has_room and all(char == self.glyphs.area for char in chars[row][place]):
                chars[row][place] = words
                style = theme.style(role_of_text_on(roles[row]))
                styles[row][place] = [style] * len(words)

    def _draw_findings_beside(
        self,
        view: Viewport,
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        """At the edges, what was found nearest beyond them: beside flat power a sentence that
        speaks of a load would seem to be wrong.
        """
        model = self.model
        if model is None or model.surroundings is None:
            return
        style = self.theme_colors.style("power_flag")
        for finding, is_later in model.surroundings.findings_beside(view.t0, view.t1):
            moment = moment_words(finding.lo, finding.hi - finding.lo, view, model.origin(view))
            text = f"{finding.sizes[0]} at {moment}"
            flag = finding_flag.at_edge(chars, text, self.glyphs, is_later=is_later)
            self._write(flag, style, chars, styles)

    @staticmethod
    def _write(
        flag: Flag | None,
        style: Style,
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        if flag is not None:
            chars[flag.row][flag.first : flag.stop] = flag.text
            styles[flag.row][flag.first : flag.stop] = [style] * len(flag.text)

    def _draw_limits(
        self,
        view: Viewport,
        scale: PowerScale,
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        """The power limits of the channel, each from its start to the next one's."""
        assert self.power is not None
        caps = self.power.series.limits
        if not caps:
            return
        edges = view.edges()
        starts = [self.power.offset_ps + cap.start_ns * PS_PER_NS for cap in caps]
        ends = [*starts[1:], int(edges[-1])]
        stretches = []
        for cap, start, end in zip(caps, starts, ends, strict=True):
            columns = np.flatnonzero((edges[1:] > start) & (edges[:-1] < end))
            stretches.append((columns, cap.watts))
        style = self.theme_colors.style("estimated")
        for row, column in limit_line.draw(chars, stretches, scale.axis, self.glyphs.horizontal):
            styles[row][column] = style

    def _draw_uncertainty(
        self,
        view: Viewport,
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        """A bar as long as the 95 % interval of the offset."""
        assert self.power is not None
        interval_ps = self.power.offset_hi_ps - self.power.offset_lo_ps
        length = min(-(-interval_ps // view.cell_ps), view.width)  # rounded up to a cell
        if self.power.status == "none" or length < 2 or len(chars) < 2:
            return
        glyphs = self.glyphs
        bar = glyphs.range_left + glyphs.horizontal * (length - 2) + glyphs.range_right
        text = f" {glyphs.plus_minus}{units.duration(interval_ps // 2, 2)} "
        if len(text) + 4 <= length:
            text_start = (length - len(text)) // 2
            text_stop = text_start + len(text)
            bar = bar[:text_start] + text + bar[text_stop:]
        row, first = self._emptiest_corner(chars, length)
        stop = first + length
        chars[row][first:stop] = bar
        styles[row][first:stop] = [self.theme_colors.style("estimated")] * length

    @staticmethod
    def _emptiest_corner(chars: list[list[str]], length: int) -> tuple[int, int]:
        """Row and first column of the corner where a bar covers least of the curve."""

        def covered(corner: tuple[int, int]) -> int:
            row, first = corner
            return sum(char != " " for char in chars[row][first : first + length])

        last_row = len(chars) - 1
        last_column = len(chars[0]) - length
        return min(((row, x) for row in (0, last_row) for x in (0, last_column)), key=covered)
