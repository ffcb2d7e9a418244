"""Many hosts on the live screen as a map of tiles, in place of the chart and the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from powertui.feed import Feed
from powertui.screens.status import Hint
from powertui.terminal import glyphs as glyph_sets
from powertui.view import host_map, host_map_facts, live_rows, live_summary, rack_map
from powertui.view.host_map import HostTile, MapGrid
from powertui.view.live_chart import LiveSpan
from powertui.view.live_texts import RoleLine
from powertui.view.rack_map import RackMap, ShownCells

if TYPE_CHECKING:
    from powertui.screens.live import LiveScreen

_SPAN_S = 600  # of the bars, until a person chooses another; at 60 a tick took twice the bytes
_MIN_CHART_ROWS = 8  # that the tiles leave, for a chart of the sum above them


class LiveMap:
    """Whether the map is shown, how it is laid out, and what its keys do."""

    def __init__(self, page: LiveScreen) -> None:
        self._page = page
        self._is_wanted = True  # until a person wants rows
        self.is_left = False  # a host of the map is shown: Esc leads back
        # Of the map that is shown, as tiles with names or as a cell for each host; None: there is
        # none.
        self._grid: MapGrid | RackMap | None = None
        self._shown_cells = ShownCells()
        self._chart_rows = 0  # of the sum's chart above the tiles

    @property
    def is_shown(self) -> bool:
        """Whether the tiles are on the screen."""
        return self._grid is not None

    @property
    def is_behind(self) -> bool:
        """Whether some hosts still show what they drew before."""
        return isinstance(self._grid, RackMap) and self._shown_cells.is_behind

    @property
    def _tiles(self) -> list[HostTile]:
        feed = self._page.feed
        return host_map.host_tiles(feed.board) if feed is not None else []

    def _chosen(self, tiles: Sequence[HostTile]) -> int:
        """The place of the host under the cursor, else of the one that draws most."""
        for place, tile in enumerate(tiles):
            if self._page.selected in tile.keys:
                return place
        hottest = host_map_facts.hottest(tiles)
        return tiles.index(hottest) if hottest is not None else 0

    def draw(self, feed: Feed, channels: int, columns: int, space: dict[str, int]) -> bool:
        """Fill the panes with a tile for each host and the sum above them.

        False where rows show as much: there are few hosts, or all have room.
        """
        was_shown = self.is_shown
        self._grid = None
        if self._is_wanted and not self.is_left and channels >= space["table"]:
            tiles = self._tiles
            if len(tiles) >= host_map.MIN_HOSTS:
                self._fill(feed, tiles, columns, space)
        if self.is_shown != was_shown:
            self._page.footer()
        return self.is_shown

    def _fill(self, feed: Feed, tiles: list[HostTile], columns: int, space: dict[str, int]) -> None:
        page = self._page
        glyphs = glyph_sets.get(page.shell.capabilities.glyphs)

        def facts(room: int) -> list[RoleLine]:
            return host_map_facts.map_facts(feed, tiles, room, glyphs)

        watts = feed.board.total().watts
        page.fill("summary", live_summary.with_digits(watts, facts, columns, glyphs))
        # A row of tiles says more than what happened before the last event.
        room = space["chart"] + space["table"] + space["log"] - 1
        space["log"] = 1
        place = self._chosen(tiles)
        chosen = tiles[place]
        grid = MapGrid.fitting(len(tiles), columns, room - 1)
        if host_map.names_have_room(tiles, grid):
            self._grid = grid
            # Short bars that grow with the history would all move with every reading.
            view = page.view if page.is_zoomed else LiveSpan(_SPAN_S)
            lines = host_map.map_lines(
                feed=feed,
                tiles=tiles,
                selected=chosen.host,
                view=view,
                grid=grid,
                glyphs=glyphs,
            )
        else:
            self._grid = rack_map.fitting_map(tiles, columns, room - 1)
            lines = rack_map.rack_lines(tiles, place, self._grid, glyphs, self._shown_cells)
        above: list[RoleLine] = []
        free = room - 1 - len(lines)
        if free >= _MIN_CHART_ROWS and page.sum_history is not None:
            above = page.chart_lines(feed, page.sum_history, (columns, free))
            free -= len(above)
        self._chart_rows = len(above)
        said: RoleLine = [
            (f" {host_map_facts.chosen_line(chosen, tiles)}", "title"),
            ("  Enter shows it", "dim"),
        ]
        page.fill("chart", [*above, *lines, *[[]] * free, said])
        page.fill("table", live_rows.waiting(feed.away, space["waiting"], columns))

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def step(self, by: int, *, rows: bool = False) -> bool:
        """So many tiles, or rows of tiles, on. False without a map."""
        if self._grid is None:
            return False
        tiles = self._tiles
        at = self._chosen(tiles)
        if not rows:
            at += by
        elif isinstance(self._grid, RackMap):
            at = self._grid.above_or_below(at, by)
        else:
            at += by * self._grid.columns
        if 0 <= at < len(tiles):
            self._page.selected = tiles[at].keys[0]
            self._page.draw()
        return True

    @property
    def host_names(self) -> list[str]:
        """The hosts of the map, in its order; none without one."""
        return [tile.host for tile in self._tiles] if self._grid is not None else []

    def choose(self, host: str) -> None:
        """The host of this name."""
        for tile in self._tiles:
            if tile.host == host:
                self._page.selected = tile.keys[0]
                self.is_left = False
                self._page.draw()
                return

    def enter(self) -> bool:
        """Show the chosen host. False without a map."""
        if self._grid is None:
            return False
        tiles = self._tiles
        self._page.selected = tiles[self._chosen(tiles)].keys[0]
        self.is_left = True
        self._page.draw()
        return True

    def click(self, x: int, y: int) -> None:
        """Choose the host under the pointer; the chosen one is shown."""
        if self._grid is None:
            return
        tiles = self._tiles
        place = self._chosen(tiles)
        chosen = tiles[place]
        y -= self._chart_rows
        if isinstance(self._grid, RackMap):
            at = self._grid.tile_at(place, x, y)
            tile = tiles[at] if at is not None else None
        else:
            tile = host_map.tile_at(tiles, chosen.host, self._grid, x, y)
        if tile is not None:
            self._page.selected = tile.keys[0]
            self.is_left = tile.host == chosen.host
            self._page.draw()

    def turn(self) -> None:
        """Hosts as a map, or as rows."""
        self._is_wanted = self.is_left or not self._is_wanted
        self.is_left = False
        self._page.draw()
        if self._is_wanted and not self.is_shown:
            self._page.say(f"The map is for {host_map.MIN_HOSTS} hosts and more.")

    def back(self) -> bool:
        """From a host to the map. False where the map was not left."""
        if not self.is_left:
            return False
        self.is_left = False
        self._page.draw()
        return True

    def useful(self) -> list[str | tuple[str, str] | Hint]:
        """What can be done on the map; nothing without one."""
        if self._grid is None:
            return []
        return [
            Hint("←↑↓→", "host"),
            ("live-open", "show it"),
            ("live-map", "as rows"),
            "live-mark",
            "live-zoom-in",
            "live-zoom-out",
        ]
