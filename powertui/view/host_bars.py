"""Hosts side by side: a bar of each by category, and where there are many, a tile of each by its
time.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.model import PS_PER_S, Floats
from powertui.data.table import Chart
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import truncation
from powertui.view.stacked_bars import one_bar
from powertui.view.step_legend import STEP_INKS, category_letter

MAX_BARS = 16  # hosts: more are tiles
# Cells of a line of bars, chosen by eye: a longer name is cut, a narrower bar shows no parts.
_NAME_CELLS = 20
_TIME_CELLS = 10  # "1,234 ms" with a blank before it
_MIN_BAR_CELLS = 20
# Cells of a tile, chosen by eye: the time and the last letters of the name, and all of most names.
_MIN_TILE_CELLS = 8
_MAX_TILE_CELLS = 20
_MIN_TILE_NAME_CELLS = 2  # with less the tile has its name alone: a time of no host says nothing
_SHADES = 10  # colors of the theme from the coldest tile to the hottest
# The scale is at least so far from the median: steps of equal length are not hot and cold.
_MIN_SCALE_SHARE = 0.1
_WAITS = "Device collective communication"
_SHORT_WORDS = {_WAITS: "device collectives"}
# Of all time. A part that takes less is below half a cell of a bar of 200 cells, and is not drawn.
_MIN_LEGEND_SHARE = 0.002
_LEGEND_GAP_CELLS = 4  # the mark, a blank, and two blanks after the word
_TITLE_AND_LEGEND_ROWS = 2

RoleText = tuple[str, str]  # (text, role)


def member_lines(
    chart: Chart,
    cells: int,
    rows: int,
    glyphs: Glyphs,
) -> list[tuple[RoleText, ...]]:
    """The chart with its title above and its legend below; nothing where it has no room."""
    min_cells = _NAME_CELLS + _TIME_CELLS + _MIN_BAR_CELLS
    host_rows = rows - _TITLE_AND_LEGEND_ROWS
    if not chart.series or cells < min_cells or host_rows < 1:
        return []
    hosts = [str(name) for name in chart.series[0].x]
    if len(hosts) > min(MAX_BARS, host_rows):
        # A tile shows one figure. In a step with collectives all hosts take equally long: who was
        # late is seen without them.
        working = [part for part in chart.series if part.label != _WAITS]
        title = chart.title.removesuffix(" by category")
        has_waits = len(working) < len(chart.series)
        if working and has_waits:
            chart = replace(chart, series=tuple(working))
            title += ", without collectives"
        tiles = _tiles(chart, hosts, cells, host_rows)
        return [_title_line(title), *tiles]
    return [
        _title_line(chart.title),
        *_bars(chart, hosts, cells, glyphs),
        _legend(chart, cells, glyphs),
    ]


def _title_line(title: str) -> tuple[RoleText, ...]:
    piece = (f" {title}", "dim")
    return (piece,)


def _bars(
    chart: Chart,
    hosts: list[str],
    cells: int,
    glyphs: Glyphs,
) -> list[tuple[RoleText, ...]]:
    """A line for each host: its name, its step by category, its time."""
    totals_s = _totals(chart)
    longest_s = float(totals_s.max()) or 1.0
    letters = _letters(chart, glyphs)
    room = cells - _NAME_CELLS - _TIME_CELLS - 2
    lines = []
    for number, host in enumerate(hosts):
        total_s = float(totals_s[number])
        length = round(room * total_s / longest_s)
        line: list[RoleText] = [(_padded_name(host, glyphs), "text")]
        for piece in one_bar(chart, max(1, length), place=number, letters=letters):
            ink = _ink(chart, piece.part)
            line.append((piece.text, ink))
        time = _time(total_s)
        line.append((f" {time}", "dim"))
        lines.append(tuple(line))
    return lines


def _padded_name(host: str, glyphs: Glyphs) -> str:
    name = truncation.end(plain(host), _NAME_CELLS, glyphs.ellipsis)
    filler = " " * (_NAME_CELLS - width(name))
    return f" {name}{filler} "


def _time(seconds: float, digits: int = 4) -> str:
    length_ps = round(seconds * PS_PER_S)
    return units.duration(length_ps, digits)


def _letters(chart: Chart, glyphs: Glyphs) -> str:
    """Letters in place of colors, where blocks cannot be drawn."""
    if glyphs.name != "ascii":
        return ""
    return "".join(category_letter(part.label) for part in chart.series)


def _ink(chart: Chart, part: int) -> str:
    label = chart.series[part].label
    ink = STEP_INKS.get(label, "other")
    return f"category:{ink}"


def _legend(chart: Chart, cells: int, glyphs: Glyphs) -> tuple[RoleText, ...]:
    """What the colors are, most time first: those that are drawn, as far as there is room."""
    letters = _letters(chart, glyphs)
    drawn = _drawn_parts(chart)
    words = []
    needed_cells = 0
    for number in drawn:
        word = _word(chart.series[number].label)
        words.append(word)
        needed_cells += _legend_cells(word)
    # Below the bars, or further left where it has no room there.
    bars_start = _NAME_CELLS + 2
    indent = max(1, min(bars_start, cells - needed_cells))
    room = cells - indent
    pieces: list[RoleText] = [(" " * indent, "text")]
    remaining = len(words)
    for number, word in zip(drawn, words, strict=True):
        more = f"{remaining} more"
        # Unless this is the last word, how many follow must still have room behind it.
        needed = _legend_cells(word)
        reserved = len(more) if remaining > 1 else 0
        if needed + reserved > room:
            pieces.append((more, "dim"))
            break
        room -= needed
        remaining -= 1
        mark = letters[number] if letters else "■"
        pieces.append((mark, _ink(chart, number)))
        pieces.append((f" {word}  ", "dim"))
    return tuple(pieces)


def _drawn_parts(chart: Chart) -> list[int]:
    """The numbers of the parts that a bar shows, most time first."""
    seconds = [float(np.sum(part.y)) for part in chart.series]
    min_s = _MIN_LEGEND_SHARE * sum(seconds)
    drawn = []
    for number, part_s in enumerate(seconds):
        if part_s > min_s:
            drawn.append(number)
    drawn.sort(key=seconds.__getitem__, reverse=True)
    return drawn


def _legend_cells(word: str) -> int:
    return len(word) + _LEGEND_GAP_CELLS


def _word(label: str) -> str:
    return _SHORT_WORDS.get(label, label.lower())


def _totals(chart: Chart) -> Floats:
    seconds = sum(part.y for part in chart.series)
    return np.asarray(seconds, np.float64)


# ── many ─────────────────────────────────────────────────────────────────────────────────────────


def _tiles(
    chart: Chart,
    hosts: list[str],
    cells: int,
    rows: int,
) -> list[tuple[RoleText, ...]]:
    """A tile for each host, as hot as its step is long; where not all have room, the slowest."""
    totals_s = _totals(chart)
    # One cell is left of the tiles.
    columns, tile_cells = _tile_grid(len(hosts), cells - 1, rows)
    shown = _slowest_hosts(totals_s, columns * rows)
    coldest_s, hottest_s = _scale(totals_s)
    tiles: list[RoleText] = []
    for host in shown:
        total_s = float(totals_s[host])
        text = _tile(hosts[host], total_s, tile_cells)
        shade = _shade(total_s, coldest_s, hottest_s)
        tiles.append((text, shade))
    lines: list[tuple[RoleText, ...]] = []
    for start in range(0, len(tiles), columns):
        row = tiles[start : start + columns]
        lines.append(((" ", "text"), *row))
    hidden = ""
    if len(shown) < len(hosts):
        hidden = f"  the {len(shown)} slowest of {len(hosts)} hosts"
    legend = _scale_legend(coldest_s, hottest_s, hidden)
    lines.append(legend)
    return lines


def _scale_legend(
    coldest_s: float,
    hottest_s: float,
    hidden: str,
) -> tuple[RoleText, ...]:
    """Which times the colors are of, and how many hosts have no tile."""
    coldest = _time(coldest_s)
    hottest = _time(hottest_s)
    legend: list[RoleText] = [(f" {coldest} to {hottest}  ", "dim")]
    for shade in range(_SHADES):
        legend.append(("  ", f"tile_{shade}"))
    if hidden:
        legend.append((hidden, "dim"))
    return tuple(legend)


def _tile_grid(count: int, cells: int, rows: int) -> tuple[int, int]:
    """How many tiles a line has, and how many cells each of them has.

    As wide as all hosts on these rows allow, up to the widest tile; what is left of the line then
    has more tiles.
    """
    needed_columns = math.ceil(count / rows)
    possible_columns = cells // _MIN_TILE_CELLS
    columns = max(1, min(possible_columns, needed_columns))
    tile_cells = min(_MAX_TILE_CELLS, cells // columns)
    return cells // tile_cells, tile_cells


def _slowest_hosts(totals_s: Floats, most: int) -> list[int]:
    """The slowest hosts that have room, in the order in which the chart lists them."""
    count = len(totals_s)
    if count <= most:
        return list(range(count))
    slowest_first = np.argsort(-totals_s, kind="stable")
    return sorted(slowest_first[:most].tolist())


def _scale(totals_s: Floats) -> tuple[float, float]:
    """Which times are the coldest and the hottest."""
    median_s = statistics.median(totals_s.tolist())
    lowest_s = float(totals_s.min())
    highest_s = float(totals_s.max())
    coldest_s = min(lowest_s, median_s * (1 - _MIN_SCALE_SHARE))
    hottest_s = max(highest_s, median_s * (1 + _MIN_SCALE_SHARE))
    return coldest_s, hottest_s


def _tile(host: str, seconds: float, cells: int) -> str:
    """The end of the name, which tells hosts apart, and the time: exactly so many cells."""
    room = cells - 2  # without a blank on either side
    time = _time(seconds, 3)
    name_room = room - width(time)
    if name_room < _MIN_TILE_NAME_CELLS:
        time = ""
        name_room = room
    name = truncation.tail(plain(host), name_room)
    filler = " " * (name_room - width(name))
    return f" {name}{filler}{time} "


def _shade(seconds: float, coldest_s: float, hottest_s: float) -> str:
    """The color of a time on the scale. All times are one where no host took any."""
    spread_s = (hottest_s - coldest_s) or 1.0
    share = (seconds - coldest_s) / spread_s
    shade = max(0, int(share * _SHADES))
    hottest = _SHADES - 1
    return f"tile_{min(hottest, shade)}"
