"""Hosts side by side: a bar of each by category, and where there are many, a tile of each by its
time.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.model import PS_PER_S, Floats
from powertui.data.table import Chart
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import truncation
from powertui.view.overview_lines import STEP_INKS
from powertui.view.stacked_bars import one_bar

MAX_BARS = 16  # hosts: more are tiles
_NAME_CELLS = 20
_TIME_CELLS = 10
_MIN_BAR_CELLS = 20
_MIN_TILE_CELLS = 8
_MAX_TILE_CELLS = 20
_SHADES = 10  # of the theme
# The scale is at least so far from the median: steps of equal length are not hot and cold.
_MIN_SCALE_SHARE = 0.1
_LETTERS = {
    "Device compute": "#",
    "Device to device": "d",
    "Device collective communication": "c",
    "Host compute": "h",
    "Kernel launch": "k",
    "Input": "i",
    "Output": "o",
    "Compilation": "x",
    "All others": ".",
}

RoleText = tuple[str, str]  # (text, role)


def member_lines(chart: Chart, cells: int, rows: int, glyphs: Glyphs) -> list[tuple[RoleText, ...]]:
    """The chart with its title above and its legend below; nothing where it has no room."""
    if not chart.series or cells < _NAME_CELLS + _TIME_CELLS + _MIN_BAR_CELLS or rows < 3:
        return []
    hosts = [str(name) for name in chart.series[0].x]
    title: tuple[RoleText, ...] = ((f" {chart.title}", "dim"),)
    if len(hosts) <= min(MAX_BARS, rows - 2):
        return [title, *_bars(chart, hosts, cells, glyphs), _legend(chart, glyphs)]
    title = ((f" {chart.title.removesuffix(' by category')}", "dim"),)
    return [title, *_tiles(chart, hosts, cells, rows - 2)]


def _bars(chart: Chart, hosts: list[str], cells: int, glyphs: Glyphs) -> list[tuple[RoleText, ...]]:
    """A line for each host: its name, its step by category, its time."""
    totals = _totals(chart)
    longest = float(totals.max()) or 1.0
    letters = _letters(chart, glyphs)
    room = cells - _NAME_CELLS - _TIME_CELLS - 2
    lines = []
    for number, host in enumerate(hosts):
        length = max(1, round(room * float(totals[number]) / longest))
        name = truncation.end(plain(host), _NAME_CELLS, glyphs.ellipsis)
        line: list[RoleText] = [(f" {name}{' ' * (_NAME_CELLS - width(name))} ", "text")]
        for piece in one_bar(_of_one(chart, number), length, letters=letters):
            line.append((piece.text, _ink(chart, piece.part)))
        line.append((f" {units.duration(round(float(totals[number]) * PS_PER_S))}", "dim"))
        lines.append(tuple(line))
    return lines


def _of_one(chart: Chart, number: int) -> Chart:
    """The chart of a single host."""
    series = tuple(
        replace(part, x=part.x[number : number + 1], y=part.y[number : number + 1])
        for part in chart.series
    )
    return replace(chart, series=series)


def _letters(chart: Chart, glyphs: Glyphs) -> str:
    """Letters in place of colors, where blocks cannot be drawn."""
    if glyphs.name != "ascii":
        return ""
    return "".join(_LETTERS.get(part.label, "?") for part in chart.series)


def _ink(chart: Chart, part: int) -> str:
    return f"category:{STEP_INKS.get(chart.series[part].label, 'other')}"


def _legend(chart: Chart, glyphs: Glyphs) -> tuple[RoleText, ...]:
    letters = _letters(chart, glyphs)
    pieces: list[RoleText] = [(" " * (_NAME_CELLS + 2), "text")]
    for number, part in enumerate(chart.series):
        pieces.append((letters[number] if letters else "■", _ink(chart, number)))
        pieces.append((f" {part.label.lower()}  ", "dim"))
    return tuple(pieces)


def _totals(chart: Chart) -> Floats:
    return np.asarray(sum(part.y for part in chart.series), np.float64)


# ── many ─────────────────────────────────────────────────────────────────────────────────────────


def _tiles(chart: Chart, hosts: list[str], cells: int, rows: int) -> list[tuple[RoleText, ...]]:
    """A tile for each host, as hot as its step is long; where not all have room, the slowest."""
    totals = _totals(chart)
    cells -= 1  # left of the tiles
    columns = max(1, min(cells // _MIN_TILE_CELLS, -(-len(hosts) // rows)))
    tile_cells = min(_MAX_TILE_CELLS, cells // columns)
    columns = cells // tile_cells
    shown = list(range(len(hosts)))
    capacity = columns * rows
    if len(hosts) > capacity:
        shown = sorted(np.argsort(-totals, kind="stable")[:capacity].tolist())
    median = statistics.median(totals.tolist())
    lo = min(float(totals.min()), median * (1 - _MIN_SCALE_SHARE))
    hi = max(float(totals.max()), median * (1 + _MIN_SCALE_SHARE))
    lines = []
    for start in range(0, len(shown), columns):
        line: list[RoleText] = [(" ", "text")]
        for host in shown[start : start + columns]:
            line.append(
                (_tile(hosts[host], float(totals[host]), tile_cells), _shade(totals[host], lo, hi))
            )
        lines.append(tuple(line))
    words = f"{units.duration(round(lo * PS_PER_S))} to {units.duration(round(hi * PS_PER_S))}"
    legend: list[RoleText] = [(f" {words}  ", "dim")]
    legend += [("  ", f"tile_{shade}") for shade in range(_SHADES)]
    if len(shown) < len(hosts):
        legend.append((f"  the {len(shown)} slowest of {len(hosts)} hosts", "dim"))
    return [*lines, tuple(legend)]


def _tile(host: str, seconds: float, cells: int) -> str:
    """The end of the name, which tells hosts apart, and the time."""
    time = units.duration(round(seconds * PS_PER_S), 3)
    name = plain(host)
    room = cells - 2 - width(time)
    if room < 2:
        return f" {name[-(cells - 2) :]:<{cells - 1}}"
    if width(name) > room:
        name = name[-room:]
    return f" {name}{' ' * (room - width(name))}{time} "


def _shade(seconds: float, lo: float, hi: float) -> str:
    share = (seconds - lo) / ((hi - lo) or 1.0)
    return f"tile_{min(_SHADES - 1, max(0, int(share * _SHADES)))}"
