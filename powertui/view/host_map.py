"""The live screen's map of many hosts: a tile each, colored by its watts.

A tile has the host's name, its watts, and its last readings on the scale that all tiles share.
What differs from the others has a mark, too: color alone says nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.live import Board, ChannelKey
from powertui.data.model import Floats
from powertui.feed import NS, Feed
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import curve, live_summary
from powertui.view.live_chart import LiveSpan
from powertui.view.live_rows import natural_sort_key
from powertui.view.live_texts import RoleLine, watts_text

MIN_HOSTS = 9  # fewer have room as rows (chosen, not measured)
_SHADES = 10  # of the theme
# The scale is at least so far from the median: hosts that all draw 300 W are not hot and cold.
_MIN_SCALE_SHARE = 0.1
_MAX_TILE_ROWS = 3
_MAX_TILE_CELLS = 24
_MIN_CURVE_CELLS = 9  # a tile narrower than this has one row: its name and its watts
_MIN_ENERGY_CELLS = 26  # beside the shades
_MIN_TILE_CELLS = 6  # a mark and four figures


class HostTile(NamedTuple):
    """A host, as the map shows it."""

    host: str
    name: str  # what its name has of its own
    keys: tuple[ChannelKey, ...]  # its channels that are added up
    watts: float | None
    difference: float | None  # watts from the middle of all, where it stands out


class MapGrid(NamedTuple):
    """How tiles are laid out."""

    columns: int  # tiles side by side
    rows: int  # rows of tiles that are in sight
    cells: int  # of a tile
    height: int  # of a tile, in rows

    @staticmethod
    def fitting(count: int, columns: int, rows: int) -> MapGrid:
        """The highest tiles with which so many have room; the smallest where all have none."""
        for height in range(_MAX_TILE_ROWS, 0, -1):
            grid_rows = max(1, rows // height)
            side = -(-count // grid_rows)
            cells = min((columns + 1) // side - 1, _MAX_TILE_CELLS)
            if cells >= (_MIN_CURVE_CELLS if height > 1 else _MIN_TILE_CELLS):
                return MapGrid((columns + 1) // (cells + 1), grid_rows, cells, height)
        side = max(1, (columns + 1) // (_MIN_TILE_CELLS + 1))
        return MapGrid(side, max(1, rows), _MIN_TILE_CELLS, 1)


class _Scale(NamedTuple):
    """The watts of the coldest and of the hottest shade."""

    lo: float
    hi: float

    def shade(self, watts: float) -> int:
        share = (watts - self.lo) / (self.hi - self.lo)
        return min(_SHADES - 1, max(0, int(share * _SHADES)))


def host_tiles(board: Board) -> list[HostTile]:
    """A tile for each host that is added up, in the order of their names."""
    keys, _ = board.addable()
    by_host: dict[str, list[ChannelKey]] = {}
    for key in keys:
        by_host.setdefault(board.histories[key].host or key.source, []).append(key)
    hosts = sorted(by_host, key=natural_sort_key)
    outliers = board.outliers()
    tiles = []
    for host, name in zip(hosts, _own_parts(hosts), strict=True):
        watts = [board.histories[key].now for key in by_host[host]]
        known = [value for value in watts if value is not None]
        differences = [outliers[key] for key in by_host[host] if key in outliers]
        tiles.append(
            HostTile(
                host,
                name,
                tuple(by_host[host]),
                sum(known) if len(known) == len(watts) else None,
                sum(differences) if differences else None,
            )
        )
    return tiles


def _own_parts(hosts: Sequence[str]) -> list[str]:
    """What each name has that the others have not: "node07.rack2.example" is "07" among its like.

    One letter of what they share is kept, so that a number is a name.
    """
    if len(hosts) < 2:
        return list(hosts)
    shared = _shared_start(hosts).rstrip("0123456789")
    ending = _shared_start([host[::-1] for host in hosts])[::-1].lstrip("0123456789")
    letter = next((char for char in shared if char.isalpha()), "")
    names = []
    for host in hosts:
        end = len(host) - len(ending) if len(shared) + len(ending) < len(host) else len(host)
        names.append(plain(letter + host[len(shared) : end]))
    return names


def _shared_start(names: Sequence[str]) -> str:
    """The letters that all names begin with: those that the first and the last of them share."""
    first, last = min(names), max(names)
    count = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first if count is None else first[:count]


def map_lines(
    feed: Feed,
    tiles: Sequence[HostTile],
    selected: str,
    view: LiveSpan,
    grid: MapGrid,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """The tiles in sight, row by row."""
    scale = _scale(tiles)
    lines: list[RoleLine] = []
    for start in range(0, grid.columns * grid.rows, grid.columns):
        first = _first_in_sight(tiles, selected, grid) + start
        shown = tiles[first : first + grid.columns]
        if not shown:
            break
        drawn = [
            _tile(feed, tile, tile.host == selected, scale, view, grid, glyphs) for tile in shown
        ]
        for part in range(grid.height):
            line: list[tuple[str, str]] = []
            for parts in drawn:
                line += [*parts[part], (" ", "text")]
            lines.append(line)
    return lines


def _first_in_sight(tiles: Sequence[HostTile], selected: str, grid: MapGrid) -> int:
    """The number of the tile in the upper left corner: the chosen one is in sight."""
    at = next((n for n, tile in enumerate(tiles) if tile.host == selected), 0)
    return max(0, at // grid.columns - grid.rows + 1) * grid.columns


def tile_at(
    tiles: Sequence[HostTile], selected: str, grid: MapGrid, x: int, y: int
) -> HostTile | None:
    """The tile under a cell of the map; None beside them all."""
    column, row = x // (grid.cells + 1), y // grid.height
    if y < 0:
        return None
    number = _first_in_sight(tiles, selected, grid) + row * grid.columns + column
    is_tile = column < grid.columns and row < grid.rows and number < len(tiles)
    return tiles[number] if is_tile else None


def _scale(tiles: Sequence[HostTile]) -> _Scale:
    watts = [tile.watts for tile in tiles if tile.watts is not None]
    if not watts:
        return _Scale(0.0, 1.0)
    middle = statistics.median(watts)
    room = max(abs(middle) * _MIN_SCALE_SHARE, 1e-6)
    return _Scale(min(*watts, middle - room), max(*watts, middle + room))


def _tile(
    feed: Feed,
    tile: HostTile,
    is_selected: bool,
    scale: _Scale,
    view: LiveSpan,
    grid: MapGrid,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """A tile's rows: name and watts, then its last readings."""
    role = "tile_none" if tile.watts is None else f"tile_{scale.shade(tile.watts)}"
    lead = glyphs.right if is_selected else " "
    mark = _mark(tile, glyphs)
    watts = f"{mark}{watts_text(tile.watts)}"
    end = " " if grid.cells > _MIN_CURVE_CELLS else ""
    room = grid.cells - 1 - width(watts) - len(end)
    name = plain(tile.name, room - 1) if room > 1 else ""
    gap = " " * (room - width(name))
    name_role = f"{role}_chosen" if is_selected else role
    first: list[tuple[str, str]] = [(f"{lead}{name}{gap}{watts}{end}", name_role)]
    if grid.height == 1:
        return [first]
    bars = _bars(feed, tile, scale, view, grid, glyphs)
    return [first, *([(f" {text} ", f"{role}_curve")] for text in bars)]


def _mark(tile: HostTile, glyphs: Glyphs) -> str:
    """A sign for what stands out."""
    if tile.difference is None:
        return ""
    high, low = ("▲", "▼") if glyphs.name == "unicode" else ("^", "v")
    return high if tile.difference > 0 else low


def _bars(
    feed: Feed,
    tile: HostTile,
    scale: _Scale,
    view: LiveSpan,
    grid: MapGrid,
    glyphs: Glyphs,
) -> list[str]:
    """The last readings as bars, on the scale of all tiles."""
    cells = grid.cells - 2
    first, last, column = view.bounds(feed.now_ns(), cells)
    edges = first + column * np.arange(cells + 1, dtype=np.int64)
    hold = int(max(feed.interval_s * 3, 1.0) * NS)
    total: Floats = np.zeros(cells)
    for key in tile.keys:
        part = feed.board.histories[key].pieces(first - column, last)
        shape = curve.envelope(part.since, part.low, edges, hold, high=part.high, until=part.until)
        total = total + shape.high
    rows = grid.height - 1
    parts = len(glyphs.bars)
    share = (total - scale.lo) / (scale.hi - scale.lo)
    heights = np.clip(np.rint(np.nan_to_num(share) * rows * parts), 1, rows * parts)
    lines = []
    for row in range(rows - 1, -1, -1):
        filled = np.clip(heights - row * parts, 0, parts).astype(np.int64)
        filled[np.isnan(total)] = 0
        lines.append("".join(glyphs.bars[n - 1] if n else " " for n in filled.tolist()))
    return lines


def map_facts(feed: Feed, tiles: Sequence[HostTile], room: int, glyphs: Glyphs) -> list[RoleLine]:
    """Three lines beside the sum: its spread, what stands out, and what the shades mean."""
    watts = sorted(tile.watts for tile in tiles if tile.watts is not None)
    if not watts:
        return [[(f"none of {len(tiles)} hosts has a value", "warn")], [], []]
    spread = (
        f"{len(tiles)} hosts: least {watts_text(watts[0])}  median "
        f"{watts_text(statistics.median(watts))}  most {watts_text(watts[-1])} W"
    )
    above = sum(tile.difference is not None and tile.difference > 0 for tile in tiles)
    below = sum(tile.difference is not None and tile.difference < 0 for tile in tiles)
    high, low = ("▲", "▼") if glyphs.name == "unicode" else ("^", "v")
    said = []
    if above:
        said.append(f"{high} {above} far above")
    if below:
        said.append(f"{low} {below} far below")
    missing = len(tiles) - len(watts)
    if missing:
        said.append(f"{missing} {'has' if missing == 1 else 'have'} no value")
    words = "  ".join(said)
    scale = _scale(tiles)
    shades = [(" " * 2, f"tile_{shade}") for shade in range(_SHADES)]
    legend: list[tuple[str, str]] = [
        (f"{watts_text(math.floor(scale.lo))} ", "dim"),
        *shades,
        (f" {watts_text(math.ceil(scale.hi))} W", "dim"),
    ]
    legend_cells = sum(width(text) for text, _ in legend)
    if legend_cells + _MIN_ENERGY_CELLS <= room:
        healths = [feed.healths[key] for tile in tiles for key in tile.keys]
        legend += [
            ("   ", "text"),
            *live_summary.energy_line(healths, feed, room - legend_cells - 3),
        ]
    return [
        [(plain(spread, room), "text")],
        [(plain(words, room), "warn")] if words else [("none differs much from the others", "dim")],
        legend,
    ]


def chosen_line(tile: HostTile, tiles: Sequence[HostTile]) -> str:
    """The chosen host in a sentence."""
    watts = [other.watts for other in tiles if other.watts is not None]
    host = plain(tile.host, 40)
    if tile.watts is None:
        return f"{host} has no value."
    rest = tile.watts - statistics.median(watts)
    side = "above" if rest >= 0 else "below"
    return f"{host} draws {watts_text(tile.watts)} W, {watts_text(abs(rest))} W {side} the median."


def hottest(tiles: Sequence[HostTile]) -> HostTile | None:
    """The host that draws most."""
    known = [tile for tile in tiles if tile.watts is not None]
    return max(known, key=lambda tile: tile.watts or 0.0, default=None)
