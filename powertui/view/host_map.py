"""The live screen's map of many hosts: a tile each, colored by its watts.

A tile has the host's name, its watts, and its last readings on the scale that all tiles share.
What differs from the others has a mark, too: color alone says nothing.
"""

from __future__ import annotations

import functools
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
from powertui.view.live_chart import LiveSpan
from powertui.view.live_rows import natural_sort_key, recent_envelope
from powertui.view.live_texts import RoleLine, watts_text

MIN_HOSTS = 9  # fewer have room as rows (chosen, not measured)
SHADES = 10  # of the theme
# The scale is at least so far from the median: hosts that all draw 300 W are not hot and cold.
_MIN_SCALE_SHARE = 0.1
_MAX_TILE_ROWS = 3
_MAX_TILE_CELLS = 24
_MIN_CURVE_CELLS = 9  # a tile narrower than this has one row: its name and its watts
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
        columns_and_gap = columns + 1
        for height in range(_MAX_TILE_ROWS, 0, -1):
            grid_rows = max(1, rows // height)
            min_columns = -(-count // grid_rows)
            cells_with_room = columns_and_gap // min_columns - 1
            cells = min(cells_with_room, _MAX_TILE_CELLS)
            min_cells = _MIN_CURVE_CELLS if height > 1 else _MIN_TILE_CELLS
            if cells >= min_cells:
                return MapGrid(
                    columns=columns_and_gap // (cells + 1),
                    rows=grid_rows,
                    cells=cells,
                    height=height,
                )
        grid_columns = columns_and_gap // (_MIN_TILE_CELLS + 1)
        return MapGrid(
            columns=max(1, grid_columns),
            rows=max(1, rows),
            cells=_MIN_TILE_CELLS,
            height=1,
        )


def names_have_room(tiles: Sequence[HostTile], grid: MapGrid) -> bool:
    """Whether all tiles are in sight, each with as much of its name as tells it from the others."""
    if grid.columns * grid.rows < len(tiles):
        return False
    watts_cells = 0
    for tile in tiles:
        # One that stands out may lose a letter to its mark.
        if tile.difference is None:
            watts_cells = max(watts_cells, width(watts_text(tile.watts)))
    name_cells = grid.cells - 2 - watts_cells
    if grid.cells > _MIN_CURVE_CELLS:
        name_cells -= 1
    names = tuple(tile.name for tile in tiles)
    return name_cells >= _distinct_end(names)


class WattsScale(NamedTuple):
    """The watts of the coldest and of the hottest shade."""

    lo: float
    hi: float

    def shade(self, watts: float) -> int:
        share = (watts - self.lo) / (self.hi - self.lo)
        shade = max(0, int(share * SHADES))
        return min(SHADES - 1, shade)


def host_tiles(board: Board) -> list[HostTile]:
    """A tile for each host that is added up, rack by rack in the order of their names."""
    keys, _ = board.addable()
    by_host: dict[str, list[ChannelKey]] = {}
    groups: dict[str, str] = {}
    for key in keys:
        history = board.histories[key]
        host = history.host or key.source
        by_host.setdefault(host, []).append(key)
        groups.setdefault(host, history.group)

    def position(host: str) -> tuple[tuple[tuple[int, str], ...], ...]:
        return natural_sort_key(groups[host]), natural_sort_key(host)

    hosts = sorted(by_host, key=position)
    outliers = board.outliers()
    tiles = []
    for host, name in zip(hosts, _own_parts(hosts), strict=True):
        channels = by_host[host]
        watts = [board.histories[key].now for key in channels]
        differences = [outliers[key] for key in channels if key in outliers]
        tile = HostTile(
            host=host,
            name=name,
            keys=tuple(channels),
            watts=_sum_of_all(watts),
            difference=sum(differences) if differences else None,
            group=groups[host],
        )
        tiles.append(tile)
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
    shared_end = _shared_start([host[::-1] for host in hosts])[::-1]
    ending = shared_end.lstrip("0123456789")
    letter = next(filter(str.isalpha, start), "")
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
    if number < len(tiles):
        return tiles[number]
    return None


def watts_scale(tiles: Sequence[HostTile]) -> WattsScale:
    all_watts = []
    alike = []
    for tile in tiles:
        if tile.watts is None:
            continue
        all_watts.append(tile.watts)
        # What stands out has a mark, and must not make all others look alike.
        if tile.difference is None:
            alike.append(tile.watts)
    if not all_watts:
        return WattsScale(0.0, 1.0)
    scaled = alike or all_watts
    middle = statistics.median(scaled)
    room = max(abs(middle) * _MIN_SCALE_SHARE, 1e-6)
    lowest = min(*scaled, middle - room)
    highest = max(*scaled, middle + room)
    return WattsScale(lowest, highest)


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
            shade = self.scale.shade(tile.watts)
            role = f"tile_{shade}"
        head = self._head(tile, is_selected)
        head_role = f"{role}_chosen" if is_selected else role
        rows: list[RoleLine] = [[(head, head_role)]]
        if self.grid.height > 1:
            for text in self._bars(tile):
                rows.append([(f" {text} ", f"{role}_curve")])
        return rows

    def _bars(self, tile: HostTile) -> list[str]:
        """The last readings as bars, on the scale of all tiles."""
        feed = self.feed
        scale = self.scale
        cells = self.grid.cells - 2
        first_ns, _, cell_ns = self.view.bounds(feed.now_ns(), cells)
        edges = first_ns + cell_ns * np.arange(cells + 1, dtype=np.int64)
        total_w: Floats = np.zeros(cells)
        for key in tile.keys:
            history = feed.board.histories[key]
            envelope = recent_envelope(feed, history, edges)
            total_w = total_w + envelope.high
        rows = self.grid.height - 1
        parts = len(self.glyphs.bars)  # of a cell
        max_height = rows * parts
        share = np.nan_to_num((total_w - scale.lo) / (scale.hi - scale.lo))
        # The lowest reading keeps a bar: only a cell without a reading is empty.
        heights = np.clip(np.rint(share * max_height), 1, max_height)
        heights[np.isnan(total_w)] = 0
        chars = np.array([" ", *self.glyphs.bars])
        lines = []
        for row in range(rows - 1, -1, -1):
            parts_in_row = heights - row * parts
            filled = np.clip(parts_in_row, 0, parts).astype(np.int64)
            lines.append("".join(chars[filled].tolist()))
        return lines

    def _head(self, tile: HostTile, is_selected: bool) -> str:
        lead = self.glyphs.right if is_selected else " "
        watts = outlier_mark(tile, self.glyphs) + watts_text(tile.watts)
        if self.grid.cells > _MIN_CURVE_CELLS:
            watts += " "
        room = self.grid.cells - 1 - width(watts)
        name = _fitting_name(
            tile.name,
            room - 1,
            self.distinct_cells,
            self.glyphs.ellipsis,
        )
        gap = " " * (room - width(name))
        return f"{lead}{name}{gap}{watts}"


def _fitting_name(
    name: str,
    cells: int,
    distinct_cells: int,
    ellipsis: str,
) -> str:
    """A name in so many cells. Its end is kept: "node0617" is told from its like by "617"."""
    if cells < 1:
        return ""
    if width(name) <= cells:
        return name
    if cells >= distinct_cells:
        return _end_of(name, cells)
    # An end that others share, too, must not look like a name.
    end = _end_of(name, cells - width(ellipsis))
    if end:
        return f"{ellipsis}{end}"
    return ""


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
        ends = {name[-count:] for name in names}
        if len(ends) == len(names):
            return count
    return longest


def outlier_mark(tile: HostTile, glyphs: Glyphs) -> str:
    """A sign for what stands out."""
    if tile.difference is None:
        return ""
    high, low = outlier_signs(glyphs)
    return high if tile.difference > 0 else low


def outlier_signs(glyphs: Glyphs) -> tuple[str, str]:
    """For far above and far below the others."""
    if glyphs.name == "unicode":
        return ("▲", "▼")
    return ("^", "v")
