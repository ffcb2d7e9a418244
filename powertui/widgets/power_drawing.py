"""The cells of a power curve over a stretch of time, and all that is drawn upon them: bands of
findings, levels of epochs, gaps, limits, and how far the place of the curve is uncertain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui import units
from powertui.data.model import PS_PER_NS, PowerOnTrace
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.view import epoch_levels, finding_flag, limit_line
from powertui.view.epoch_levels import EpochLevel
from powertui.view.finding_flag import Flag
from powertui.view.power_area import PowerScale, dash, draw_area, role_of_text_on, row_roles
from powertui.view.power_curve import PowerCurve
from powertui.view.surroundings import Surroundings
from powertui.view.viewport import Viewport
from powertui.widgets.ruler import moment_words
from powertui.widgets.time_lane import styled

MIN_ROWS_WITH_LEVELS = 5  # in fewer rows every level is the edge of the area (chosen by eye)
_MIN_LEVEL_CELLS = 12  # of an epoch; in fewer its level has no words


class PowerDrawing:
    """Rows of characters, top first, and the style of each."""

    def __init__(
        self,
        curve: PowerCurve,
        view: Viewport,
        scale: PowerScale,
        height: int,
        theme: Theme,
        glyphs: Glyphs,
    ) -> None:
        self._curve = curve
        self._view = view
        self._scale = scale
        self._height = height
        self._theme = theme
        self._glyphs = glyphs
        self._envelope = curve.envelope(view.edges())
        self._roles = row_roles(scale, height)
        area = draw_area(
            self._envelope,
            scale,
            height,
            glyphs,
        )
        self.chars = [list(line) for line in area]
        self.styles = [[theme.style(role)] * view.width for role in self._roles]

    def lines(self) -> list[list[Segment]]:
        lines = []
        for row, row_styles in zip(self.chars, self.styles, strict=True):
            lines.append(styled(row, row_styles))
        return lines

    def draw_findings(self, surroundings: Surroundings) -> None:
        """A band behind the curve wherever a finding is, and its size in it where that fits."""
        for finding in surroundings.findings:
            covered = self._view.covered(finding.lo, finding.hi)
            if covered:
                draw_band(
                    self.chars,
                    self.styles,
                    covered,
                    finding.sizes,
                    self._theme,
                    self._glyphs,
                )

    def draw_findings_beside(self, surroundings: Surroundings, origin_ps: int) -> None:
        """At the edges, what was found nearest beyond them: beside flat power a sentence that
        speaks of a load would seem to be wrong.
        """
        view = self._view
        for finding, is_later in surroundings.findings_beside(view.t0, view.t1):
            length_ps = finding.hi - finding.lo
            moment = moment_words(
                finding.lo,
                length_ps,
                view,
                origin_ps,
            )
            flag = finding_flag.at_edge(
                self.chars,
                f"{finding.sizes[0]} at {moment}",
                self._glyphs,
                is_later=is_later,
            )
            _write_flag(
                flag,
                self.chars,
                self.styles,
                self._theme,
            )

    def draw_pins(self, moments: Iterable[int]) -> None:
        """The moments that a person set, in the first row."""
        for ps in moments:
            if self._view.shows(ps):
                column = self._view.column(ps)
                self.chars[0][column] = self._glyphs.cursor
                self.styles[0][column] = self._theme.style("estimated")

    def draw_gaps(self) -> None:
        """A shade where the series has no value.

        Before it began and after it ended nothing is missing.
        """
        starts = self._view.edges()[:-1]
        begin, end = self._curve.span
        is_inside = (starts + self._view.cell_ps > begin) & (starts < end)
        is_missing = is_inside & ~self._envelope.known
        style = self._theme.style("power_gap")
        for column in np.flatnonzero(is_missing).tolist():
            self.chars[-1][column] = self._glyphs.shade
            self.styles[-1][column] = style

    def draw_levels(self, levels: Iterable[EpochLevel]) -> None:
        """The usual power of each epoch: in words on the area, and as a dashed line where the power
        is above or below it.
        """
        for level in levels:
            columns = self._view.covered(level.lo, level.hi)
            if len(columns) >= _MIN_LEVEL_CELLS:
                self._draw_level_line(level, columns)
                self._write_level(level, columns)

    def _draw_level_line(self, level: EpochLevel, columns: range) -> None:
        theme = self._theme
        dashes = epoch_levels.level_dashes(
            level.watts,
            columns,
            self._envelope,
            self._scale,
            self._height,
        )
        for row, column, part in dashes:
            char = dash(part, column, self._glyphs)
            if not char:
                continue
            if self.chars[row][column] == self._glyphs.area:
                ground = theme.style(self._roles[row]).color
                ink = theme.style("title")
            else:
                ground = self.styles[row][column].bgcolor
                ink = theme.style("dim")
            self.styles[row][column] = ink + Style(bgcolor=ground)
            self.chars[row][column] = char

    def _write_level(self, level: EpochLevel, columns: range) -> None:
        """Its watts in words, on the area: in the lowest row, which most of the power fills."""
        row = self._scale.linear_rows(self._height) - 1
        watts = units.quantity(level.watts, "W")
        words = f" median {watts} "
        first = columns.start + 1
        place = slice(first, first + len(words))
        has_room = len(words) + 2 <= len(columns)
        is_on_area = all(char == self._glyphs.area for char in self.chars[row][place])
        if has_room and is_on_area:
            role = role_of_text_on(self._roles[row])
            self.chars[row][place] = words
            self.styles[row][place] = [self._theme.style(role)] * len(words)

    def draw_limits(self, power: PowerOnTrace) -> None:
        """The power limits of the channel, each from its start to the next one's."""
        limits = power.series.limits
        if not limits:
            return
        edges = self._view.edges()
        starts = [power.offset_ps + limit.start_ns * PS_PER_NS for limit in limits]
        ends = [*starts[1:], int(edges[-1])]
        stretches = []
        for limit, start, end in zip(limits, starts, ends, strict=True):
            holds = (edges[1:] > start) & (edges[:-1] < end)
            columns = np.flatnonzero(holds)
            stretches.append((columns, limit.watts))
        style = self._theme.style("estimated")
        horizontal = self._glyphs.horizontal
        for row, column in limit_line.draw(self.chars, stretches, self._scale.axis, horizontal):
            self.styles[row][column] = style

    def draw_uncertainty(self, power: PowerOnTrace) -> None:
        """A bar as long as the 95 % interval of the offset."""
        interval_ps = power.offset_hi_ps - power.offset_lo_ps
        interval_cells = -(-interval_ps // self._view.cell_ps)  # rounded up to a cell
        length = min(interval_cells, self._view.width)
        if power.status == "none" or length < 2 or self._height < 2:
            return
        glyphs = self._glyphs
        middle = glyphs.horizontal * (length - 2)
        bar = glyphs.range_left + middle + glyphs.range_right
        half = units.duration(interval_ps // 2, 2)
        text = f" {glyphs.plus_minus}{half} "
        if len(text) + 4 <= length:
            text_start = (length - len(text)) // 2
            text_stop = text_start + len(text)
            bar = bar[:text_start] + text + bar[text_stop:]
        row, first = self._emptiest_corner(length)
        stop = first + length
        style = self._theme.style("estimated")
        self.chars[row][first:stop] = bar
        self.styles[row][first:stop] = [style] * length

    def _emptiest_corner(self, length: int) -> tuple[int, int]:
        """Row and first column of the corner where a bar covers least of the curve."""
        last_row = self._height - 1
        last_column = self._view.width - length
        corners = [
            (0, 0),
            (0, last_column),
            (last_row, 0),
            (last_row, last_column),
        ]

        def covered(corner: tuple[int, int]) -> int:
            row, first = corner
            below = self.chars[row][first : first + length]
            return length - below.count(" ")

        return min(corners, key=covered)


def draw_band(
    chars: list[list[str]],
    styles: list[list[Style]],
    columns: range,
    words: Sequence[str],
    theme: Theme,
    glyphs: Glyphs,
) -> None:
    """A ground of its own behind these columns where no area is, and words beside it, the longest
    that fit.
    """
    empty = theme.style("power_band")
    ground = Style(bgcolor=empty.bgcolor)
    part_blocks = glyphs.bars[:-1]  # they leave a part of their cell empty
    for row, row_styles in zip(chars, styles, strict=True):
        for column in columns:
            char = row[column]
            if char == " ":
                row_styles[column] = empty
            elif char in part_blocks:
                row_styles[column] += ground
    flag = finding_flag.beside_band(
        chars,
        columns,
        words,
        glyphs,
    )
    _write_flag(flag, chars, styles, theme)


def _write_flag(
    flag: Flag | None,
    chars: list[list[str]],
    styles: list[list[Style]],
    theme: Theme,
) -> None:
    if flag is None:
        return
    style = theme.style("power_flag")
    chars[flag.row][flag.first : flag.stop] = flag.text
    styles[flag.row][flag.first : flag.stop] = [style] * len(flag.text)
