"""The live screen's map of many hosts: a tile each, colored by its watts.

A tile has the host's name, its watts, and its last readings on the scale that all tiles share.
What differs from the others has a mark, too: color alone says nothing.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence

import numpy as np

from powertui.data.live import Board, ChannelKey
from powertui.data.model import Floats
from powertui.feed import Feed
from powertui.named_tuples import NamedTuple
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.value_types import dataclass
from powertui.view import live_summary
from powertui.view.live_chart import LiveSpan
from powertui.view.live_rows import natural_sort_key, recent_envelope
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
    group: str = ""  # its rack, where that is known


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
            min_columns = -(-count // grid_rows)
            cells = min((columns + 1) // min_columns - 1, _MAX_TILE_CELLS)
            min_cells = _MIN_CURVE_CELLS if height > 1 else _MIN_TILE_CELLS
            if cells >= min_cells:
                return MapGrid(
                    columns=(columns + 1) // (cells + 1), rows=grid_rows, cells=cells, height=height
                )
        grid_columns = max(1, (columns + 1) // (_MIN_TILE_CELLS + 1))
        return MapGrid(columns=grid_columns, rows=max(1, rows), cells=_MIN_TILE_CELLS, height=1)


def names_have_room(tiles: Sequence[HostTile], grid: MapGrid) -> bool:
    """Whether all tiles are in sight, each with as much of its name as tells it from the others."""
    if grid.columns * grid.rows < len(tiles):
        return False
    # One that stands out may lose a letter to its mark.
    widths = [width(watts_text(tile.watts)) for tile in tiles if tile.difference is None]
    watts_cells = max(widths, default=0)
    name_cells = grid.cells - 2 - watts_cells - (grid.cells > _MIN_CURVE_CELLS)
    return name_cells >= _distinct_end(tuple(tile.name for tile in tiles))


class WattsScale(NamedTuple):
    """The watts of the coldest and of the hottest shade."""

    lo: float
    hi: float

    def shade(self, watts: float) -> int:
        share = (watts - self.lo) / (self.hi - self.lo)
        return min(_SHADES - 1, max(0, int(share * _SHADES)))


def host_tiles(board: Board) -> list[HostTile]:
    """A tile for each host that is added up, rack by rack in the order of their names."""
    keys, _ = board.addable()
    by_host: dict[str, list[ChannelKey]] = {}
    groups: dict[str, str] = {}
    for key in keys:
        host = board.histories[key].host or key.source
        by_host.setdefault(host, []).append(key)
        groups.setdefault(host, board.histories[key].group)

    def position(host: str) -> tuple[tuple[tuple[int, str], ...], ...]:
        return natural_sort_key(groups[host]), natural_sort_key(host)

    hosts = sorted(by_host, key=position)
    outliers = board.outliers()
    tiles = []
    for host, name in zip(hosts, _own_parts(hosts), strict=True):
        channels = by_host[host]
        differences = [outliers[key] for key in channels if key in outliers]
        tiles.append(
            HostTile(
                host=host,
                name=name,
                keys=tuple(channels),
                watts=_sum_of_all([board.histories[key].now for key in channels]),
                difference=sum(differences) if differences else None,
                group=groups[host],
            )
        )
    return tiles


def _sum_of_all(watts: Sequence[float | None]) -> float | None:
    """The sum; None where a value is missing."""
    total = 0.0
    for value in watts:
        if value is None:
            return None
        total += value
    return total


def _own_parts(hosts: Sequence[str]) -> list[str]:
    """What each name has that the others have not: "node07.rack2.example" is "07" among its like.

    One letter of what they share is kept, so that a number is a name.
    """
    if len(hosts) < 2:
        return list(hosts)
    # A number is not cut in two: "node07" and "node08" differ in "07" and "08".
    start = _shared_start(hosts).rstrip("0123456789")
    reversed_names = [host[::-1] for host in hosts]
    ending = _shared_start(reversed_names)[::-1].lstrip("0123456789")
    letter = next((char for char in start if char.isalpha()), "")
    names = []
    for host in hosts:
        own_part = host[len(start) :]
        if len(own_part) > len(ending):
            own_part = own_part.removesuffix(ending)
        names.append(plain(letter + own_part))
    return names


def _shared_start(names: Sequence[str]) -> str:
    """The letters that all names begin with: those that the first and the last of them share."""
    first = min(names)
    last = max(names)
    for count, (char, other_char) in enumerate(zip(first, last, strict=False)):
        if char != other_char:
            return first[:count]
    return first


def map_lines(
    feed: Feed,
    tiles: Sequence[HostTile],
    selected: str,
    view: LiveSpan,
    grid: MapGrid,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """The tiles in sight, row by row."""
    drawing = _TileDrawing(
        feed=feed,
        scale=watts_scale(tiles),
        view=view,
        grid=grid,
        glyphs=glyphs,
        distinct_cells=_distinct_end(tuple(tile.name for tile in tiles)),
    )
    lines: list[RoleLine] = []
    for start in range(0, grid.columns * grid.rows, grid.columns):
        first = _first_in_sight(tiles, selected, grid) + start
        shown = tiles[first : first + grid.columns]
        if not shown:
            break
        drawn = [drawing.rows(tile, is_selected=tile.host == selected) for tile in shown]
        for row in range(grid.height):
            line: list[tuple[str, str]] = []
            for tile_rows in drawn:
                line += [*tile_rows[row], (" ", "text")]
            lines.append(line)
    return lines


def _first_in_sight(tiles: Sequence[HostTile], selected: str, grid: MapGrid) -> int:
    """The number of the tile in the upper left corner: the chosen one is in sight."""
    selected_row = 0
    for number, tile in enumerate(tiles):
        if tile.host == selected:
            selected_row = number // grid.columns
            break
    return max(0, selected_row - grid.rows + 1) * grid.columns


def tile_at(
    tiles: Sequence[HostTile],
    selected: str,
    grid: MapGrid,
    x: int,
    y: int,
) -> HostTile | None:
    """The tile under a cell of the map; None beside them all."""
    column = x // (grid.cells + 1)
    row = y // grid.height
    if y < 0 or column >= grid.columns or row >= grid.rows:
        return None
    number = _first_in_sight(tiles, selected, grid) + row * grid.columns + column
    return tiles[number] if number < len(tiles) else None


def watts_scale(tiles: Sequence[HostTile]) -> WattsScale:
    watts = [tile.watts for tile in tiles if tile.watts is not None]
    if not watts:
        return WattsScale(0.0, 1.0)
    # What stands out has a mark, and must not make all others look alike.
    alike = [tile.watts for tile in tiles if tile.watts is not None and tile.difference is None]
    watts = alike or watts
    middle = statistics.median(watts)
    room = max(abs(middle) * _MIN_SCALE_SHARE, 1e-6)
    return WattsScale(min(*watts, middle - room), max(*watts, middle + room))


@dataclass(frozen=True)
class _TileDrawing:
    """What all tiles of one map have in common."""

    feed: Feed
    scale: WattsScale
    view: LiveSpan
    grid: MapGrid
    glyphs: Glyphs
    distinct_cells: int  # so many at the end of a name tell it from all others

    def rows(self, tile: HostTile, *, is_selected: bool) -> list[RoleLine]:
        """A tile's rows: name and watts, then its last readings."""
        role = "tile_none"
        if tile.watts is not None:
            role = f"tile_{self.scale.shade(tile.watts)}"
        head_role = f"{role}_chosen" if is_selected else role
        rows: list[RoleLine] = [[(self._head(tile, is_selected), head_role)]]
        if self.grid.height > 1:
            for text in _bars(
                feed=self.feed,
                tile=tile,
                scale=self.scale,
                view=self.view,
                grid=self.grid,
                glyphs=self.glyphs,
            ):
                rows.append([(f" {text} ", f"{role}_curve")])
        return rows

    def _head(self, tile: HostTile, is_selected: bool) -> str:
        lead = self.glyphs.right if is_selected else " "
        end = " " if self.grid.cells > _MIN_CURVE_CELLS else ""
        watts = outlier_mark(tile, self.glyphs) + watts_text(tile.watts) + end
        room = self.grid.cells - 1 - width(watts)
        name = _fitting_name(tile.name, room - 1, self.distinct_cells, self.glyphs.ellipsis)
        gap = " " * (room - width(name))
        return f"{lead}{name}{gap}{watts}"


def _fitting_name(name: str, cells: int, distinct_cells: int, ellipsis: str) -> str:
    """A name in so many cells. Its end is kept: "node0617" is told from its like by "617"."""
    if cells < 1 or width(name) <= cells:
        return name if cells > 0 else ""
    if cells >= distinct_cells:
        return _end_of(name, cells)
    # An end that others share, too, must not look like a name.
    end = _end_of(name, cells - width(ellipsis))
    return f"{ellipsis}{end}" if end else ""


def _end_of(name: str, cells: int) -> str:
    """As much of the end of a name as fits."""
    while width(name) > max(0, cells):
        name = name[1:]
    return name


@functools.lru_cache(maxsize=1)
def _distinct_end(names: tuple[str, ...]) -> int:
    """So many characters at the end of these names tell each from all others."""
    longest = max(map(len, names), default=0)
    for count in range(1, longest):
        if len({name[-count:] for name in names}) == len(names):
            return count
    return longest


def outlier_mark(tile: HostTile, glyphs: Glyphs) -> str:
    """A sign for what stands out."""
    if tile.difference is None:
        return ""
    high, low = _signs(glyphs)
    return high if tile.difference > 0 else low


def _signs(glyphs: Glyphs) -> tuple[str, str]:
    """For far above and far below the others."""
    return ("▲", "▼") if glyphs.name == "unicode" else ("^", "v")


def _bars(
    feed: Feed,
    tile: HostTile,
    scale: WattsScale,
    view: LiveSpan,
    grid: MapGrid,
    glyphs: Glyphs,
) -> list[str]:
    """The last readings as bars, on the scale of all tiles."""
    cells = grid.cells - 2
    first_ns, _, cell_ns = view.bounds(feed.now_ns(), cells)
    edges = first_ns + cell_ns * np.arange(cells + 1, dtype=np.int64)
    total_w: Floats = np.zeros(cells)
    for key in tile.keys:
        history = feed.board.histories[key]
        total_w = total_w + recent_envelope(feed, history, edges).high
    rows = grid.height - 1
    parts = len(glyphs.bars)  # of a cell
    max_height = rows * parts
    share = np.nan_to_num((total_w - scale.lo) / (scale.hi - scale.lo))
    # The lowest reading keeps a bar: only a cell without a reading is empty.
    heights = np.clip(np.rint(share * max_height), 1, max_height)
    heights[np.isnan(total_w)] = 0
    chars = np.array([" ", *glyphs.bars])
    lines = []
    for row in range(rows - 1, -1, -1):
        filled = np.clip(heights - row * parts, 0, parts).astype(np.int64)
        line = "".join(chars[filled].tolist())
        lines.append(line)
    return lines


def map_facts(feed: Feed, tiles: Sequence[HostTile], room: int, glyphs: Glyphs) -> list[RoleLine]:
    """Three lines beside the sum: its spread, what stands out, and what the shades mean."""
    watts = sorted(tile.watts for tile in tiles if tile.watts is not None)
    if not watts:
        nothing = f"none of {len(tiles)} hosts has a value"
        return [[(nothing, "warn")], [], []]
    lowest = watts_text(watts[0])
    median = watts_text(statistics.median(watts))
    highest = watts_text(watts[-1])
    spread = f"{len(tiles)} hosts: least {lowest}  median {median}  most {highest} W"
    notable = _notable(tiles, len(tiles) - len(watts), glyphs)
    if notable:
        outliers = (plain(notable, room), "warn")
    else:
        outliers = ("none differs much from the others", "dim")
    legend = _shade_legend(watts_scale(tiles))
    legend_cells = sum(width(text) for text, _ in legend)
    if legend_cells + _MIN_ENERGY_CELLS <= room:
        legend.append(("   ", "text"))
        legend += _energy_of_all(feed, tiles, room - legend_cells - 3)
    return [[(plain(spread, room), "text")], [outliers], legend]


def _energy_of_all(feed: Feed, tiles: Sequence[HostTile], room: int) -> RoleLine:
    """The energy of all hosts together."""
    healths = []
    for tile in tiles:
        healths += [feed.healths[key] for key in tile.keys]
    return live_summary.energy_line(healths, feed, room)


def _notable(tiles: Sequence[HostTile], missing: int, glyphs: Glyphs) -> str:
    """How many hosts differ from the others, and how many have no value."""
    differences = [tile.difference for tile in tiles if tile.difference is not None]
    above = sum(difference > 0 for difference in differences)
    below = sum(difference < 0 for difference in differences)
    high, low = _signs(glyphs)
    parts = []
    if above:
        parts.append(f"{high} {above} far above")
    if below:
        parts.append(f"{low} {below} far below")
    if missing:
        have = "has" if missing == 1 else "have"
        parts.append(f"{missing} {have} no value")
    return "  ".join(parts)


def _shade_legend(scale: WattsScale) -> list[tuple[str, str]]:
    """The shades from the lowest watts to the highest."""
    shades = [("  ", f"tile_{shade}") for shade in range(_SHADES)]
    lowest = watts_text(math.floor(scale.lo))
    highest = watts_text(math.ceil(scale.hi))
    return [(f"{lowest} ", "dim"), *shades, (f" {highest} W", "dim")]


def chosen_line(tile: HostTile, tiles: Sequence[HostTile]) -> str:
    """The chosen host in a sentence."""
    where = plain(tile.host, 40)
    if tile.group:
        where += f" in {plain(tile.group, 20)}"
    if tile.watts is None:
        return f"{where} has no value."
    median = statistics.median(tile.watts for tile in tiles if tile.watts is not None)
    difference = tile.watts - median
    side = "above" if difference >= 0 else "below"
    rest = watts_text(abs(difference))
    return f"{where} draws {watts_text(tile.watts)} W, {rest} W {side} the median."


def hottest(tiles: Sequence[HostTile]) -> HostTile | None:
    """The host that draws most."""
    answering = [tile for tile in tiles if tile.watts is not None]
    return max(answering, key=lambda tile: tile.watts or 0.0, default=None)
