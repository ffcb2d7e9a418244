"""The live screen's map of more hosts than have room for their names: a cell each, rack by rack.

A cell has the color of its host's watts, and a bar that is as high. Racks have their name before
their cells, and their sum behind them where there is room. Where nothing says which rack a host is
in, each line begins with the name of its first host.
"""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.named_tuples import NamedTuple
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view.host_map import HostTile, WattsScale, outlier_mark, watts_scale
from powertui.view.live_texts import RoleLine

_MAX_LABEL_CELLS = 12
_SUM_CELLS = 8  # "37.1 kW" and a blank before it
_BLOCK_GAP = 2  # cells between racks side by side
_MAX_CELLS = 2  # of a host
# Hosts whose cells change in one drawing, at 25 bytes each: at 200×50, where a chart is above them,
# a drawing is promised to take 4 KB at most.
_MAX_CHANGED_CELLS = 45
_MAX_BLOCK_LINES = 8  # that a rack is folded into


class _Rack(NamedTuple):
    """Hosts that are drawn together."""

    label: str
    tiles: range  # by their places in the list of all
    watts: float | None = None  # their sum, where they are a rack and all have a value


class _Text(NamedTuple):
    """Words of the map."""

    line: int
    x: int
    words: str
    role: str


class RackMap(NamedTuple):
    """Where each host is drawn."""

    places: tuple[tuple[int, int], ...]  # line and column of each host, in order
    texts: tuple[_Text, ...]  # names and sums of racks
    cells: int  # of a host
    rows: int  # lines in sight

    @property
    def line_count(self) -> int:
        """How many lines there are, in sight or not."""
        return self.places[-1][0] + 1

    def first_line(self, selected: int) -> int:
        """The uppermost line in sight: the chosen host is among them."""
        selected_line, _ = self.places[selected]
        return max(0, selected_line - self.rows + 1)

    def tile_at(
        self,
        selected: int,
        x: int,
        y: int,
    ) -> int | None:
        """The host under a cell; None beside them all."""
        line = self.first_line(selected) + y
        for tile, (tile_line, tile_x) in enumerate(self.places):
            if tile_line == line and tile_x <= x < tile_x + self.cells:
                return tile
        return None

    def above_or_below(self, selected: int, by: int) -> int:
        """The nearest host so many lines on; the same where there is none."""
        line, x = self.places[selected]
        on_line = [tile for tile, place in enumerate(self.places) if place[0] == line + by]
        return min(
            on_line,
            key=lambda tile: abs(self.places[tile][1] - x),
            default=selected,
        )


def fitting_map(tiles: Sequence[HostTile], columns: int, rows: int) -> RackMap:
    """The map with the widest cells that is in sight as a whole; else the one with the fewest
    lines.
    """
    racks = _racks(tiles)
    if not racks:
        return _lines_of_hosts(tiles, columns, rows)
    candidates = []
    for cells, has_sums in ((2, True), (1, True), (2, False), (1, False)):
        for height in range(1, _MAX_BLOCK_LINES + 1):
            found = _blocks(
                racks=racks,
                columns=columns,
                rows=rows,
                cells=cells,
                height=height,
                has_sums=has_sums,
            )
            if found is not None:
                candidates.append(found)
    candidates.append(_flowing(racks, columns, rows))
    fitting = [found for found in candidates if found.line_count <= rows]
    if fitting:
        return fitting[0]
    return min(candidates, key=lambda found: found.line_count)


def _racks(tiles: Sequence[HostTile]) -> list[_Rack]:
    """The hosts by rack; none where nothing says which racks there are."""
    racks: list[_Rack] = []
    start = 0
    for place, tile in enumerate(tiles):
        is_last = place + 1 == len(tiles)
        if not is_last and tiles[place + 1].group == tile.group:
            continue
        members = range(start, place + 1)
        label = plain(tile.group, _MAX_LABEL_CELLS)
        racks.append(_Rack(label, members, _total_watts(tiles, members)))
        start = place + 1
    if len(racks) > 1:
        return racks
    return []


def _total_watts(tiles: Sequence[HostTile], members: range) -> float | None:
    """None where the power of a member is not known: the sum would be too low."""
    total = 0.0
    for member in members:
        watts = tiles[member].watts
        if watts is None:
            return None
        total += watts
    return total


def _lines_of_hosts(tiles: Sequence[HostTile], columns: int, rows: int) -> RackMap:
    """One host after the other, each line with the name of its first."""
    widest_name = max(width(tile.name) for tile in tiles)
    label_cells = min(_MAX_LABEL_CELLS, widest_name)
    first_x = label_cells + 1
    room = columns - first_x
    cells = _MAX_CELLS
    per_line = _round_count(room // cells)
    needed_rows = -(-len(tiles) // per_line)
    if needed_rows > rows:
        cells = 1
        per_line = _round_count(room)
    places = []
    texts = []
    for number, tile in enumerate(tiles):
        line, place = divmod(number, per_line)
        places.append((line, first_x + place * cells))
        if place == 0:
            label = plain(tile.name, label_cells)
            texts.append(_Text(line=line, x=0, words=label, role="dim"))
    return RackMap(
        places=tuple(places),
        texts=tuple(texts),
        cells=cells,
        rows=rows,
    )


def _round_count(count: int) -> int:
    """So many hosts a line that a person can count on: a multiple of ten where that fits."""
    if count >= 10:
        return count - count % 10
    return max(1, count)


def _blocks(
    racks: Sequence[_Rack],
    columns: int,
    rows: int,
    cells: int,
    height: int,
    *,
    has_sums: bool,
) -> RackMap | None:
    """Racks side by side, each so many lines high; None where not even one has room."""
    label_cells = max(width(rack.label) for rack in racks)
    hosts_a_line = max(-(-len(rack.tiles) // height) for rack in racks)
    block_cells = label_cells + 1 + hosts_a_line * cells + _SUM_CELLS * has_sums
    per_row = (columns + _BLOCK_GAP) // (block_cells + _BLOCK_GAP)
    if not per_row:
        return None
    places = []
    texts = []
    for number, rack in enumerate(racks):
        row, column = divmod(number, per_row)
        top = row * height
        left = column * (block_cells + _BLOCK_GAP)
        texts.append(_Text(line=top, x=left, words=rack.label, role="dim"))
        for member in range(len(rack.tiles)):
            line, place = divmod(member, hosts_a_line)
            places.append((top + line, left + label_cells + 1 + place * cells))
        if has_sums and rack.watts is not None:
            words = units.quantity(rack.watts, "W", 3).rjust(_SUM_CELLS)
            texts.append(
                _Text(line=top, x=left + block_cells - _SUM_CELLS, words=words, role="text")
            )
    return RackMap(
        places=tuple(places),
        texts=tuple(texts),
        cells=cells,
        rows=rows,
    )


def _flowing(racks: Sequence[_Rack], columns: int, rows: int) -> RackMap:
    """One rack after the other like words of a text: what has no room goes on in the next line."""
    places = []
    texts = []
    line = x = 0
    for rack in racks:
        if x + width(rack.label) + 2 > columns:  # its name and its first host stay together
            line, x = line + 1, 0
        texts.append(_Text(line=line, x=x, words=rack.label, role="dim"))
        x += width(rack.label) + 1
        for _ in rack.tiles:
            if x >= columns:
                line, x = line + 1, 0
            places.append((line, x))
            x += 1
        x += 1
    return RackMap(
        places=tuple(places),
        texts=tuple(texts),
        cells=1,
        rows=rows,
    )


class ShownCells:
    """What the cells of hosts show. Of many that change at once some wait for the next drawing: a
    slow line carries no more.
    """

    def __init__(self) -> None:
        self.is_behind = False  # some cells still show what was before
        self._cells: list[tuple[str, str]] = []
        self._next = 0  # the host whose turn it is

    def brought_up(
        self,
        wanted: list[tuple[str, str]],
        marked: set[int],
    ) -> list[tuple[str, str]]:
        """The cells to draw now: at first all, then those of `marked` hosts and some others."""
        if not self._has_shape_of(wanted):
            self._cells = list(wanted)
            self.is_behind = False
            return wanted
        # Each call goes on after the last host that was drawn, so that all of them get their turn.
        turns = [*range(self._next, len(wanted)), *range(self._next)]
        changed = []
        for place in turns:
            if self._cells[place] != wanted[place]:
                changed.append(place)
        changed.sort(key=lambda place: place not in marked)  # in turn otherwise
        for place in changed[:_MAX_CHANGED_CELLS]:
            self._cells[place] = wanted[place]
            self._next = place + 1
        self.is_behind = len(changed) > _MAX_CHANGED_CELLS
        return list(self._cells)

    def _has_shape_of(self, wanted: list[tuple[str, str]]) -> bool:
        """Whether there are as many cells as before, of the same width."""
        if len(self._cells) != len(wanted):
            return False
        words_before, _ = self._cells[0]
        words, _ = wanted[0]
        return len(words_before) == len(words)


def rack_lines(
    tiles: Sequence[HostTile],
    selected: int,
    rack_map: RackMap,
    glyphs: Glyphs,
    shown_cells: ShownCells,
) -> list[RoleLine]:
    """The lines in sight."""
    scale = watts_scale(tiles)
    wanted = []
    marked = set()
    for place, tile in enumerate(tiles):
        wanted.append(_cell(tile, scale, rack_map.cells, glyphs))
        if tile.difference is not None:
            marked.add(place)
    cells = shown_cells.brought_up(wanted, marked)
    cells[selected] = _chosen_cell(wanted[selected], rack_map.cells, glyphs)
    pieces: dict[int, list[tuple[int, str, str]]] = {}
    for text in rack_map.texts:
        line_pieces = pieces.setdefault(text.line, [])
        line_pieces.append((text.x, text.words, text.role))
    for (words, role), (line, x) in zip(cells, rack_map.places, strict=True):
        line_pieces = pieces.setdefault(line, [])
        line_pieces.append((x, words, role))
    first = rack_map.first_line(selected)
    stop = min(first + rack_map.rows, rack_map.line_count)
    lines = []
    for line in range(first, stop):
        in_order = sorted(pieces.get(line, []))
        lines.append(_joined(in_order))
    return lines


def _chosen_cell(cell: tuple[str, str], cells: int, glyphs: Glyphs) -> tuple[str, str]:
    """The cell of the selected host: with a mark in front, in a color of its own."""
    words, role = cell
    marked = glyphs.right + words
    shade = role.removesuffix("_curve")
    return marked[:cells], f"{shade}_chosen"


def _joined(pieces: Sequence[tuple[int, str, str]]) -> RoleLine:
    """Words at their columns, with blanks between them; neighbors of one role are one piece."""
    line: list[tuple[str, str]] = []
    end = 0
    for x, words, role in pieces:
        if x > end:
            blanks = " " * (x - end)
            line.append((blanks, "text"))
        end = x + width(words)
        if line and line[-1][1] == role:
            before, _ = line.pop()
            words = before + words
        line.append((words, role))
    return line


def _cell(
    tile: HostTile,
    scale: WattsScale,
    cells: int,
    glyphs: Glyphs,
) -> tuple[str, str]:
    """One host."""
    mark = outlier_mark(tile, glyphs)
    if tile.watts is None:
        words = "?" * cells
        role = "tile_none"
    else:
        share = (tile.watts - scale.lo) / (scale.hi - scale.lo)
        level = min(len(glyphs.bars) - 1, max(0, int(share * len(glyphs.bars))))
        if mark:
            words = mark.ljust(cells)
        else:
            words = glyphs.bars[level] * cells
        role = f"tile_{scale.shade(tile.watts)}" + ("" if mark else "_curve")
    return words, role
