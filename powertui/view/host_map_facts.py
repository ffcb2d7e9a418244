"""The hosts of a live map in words: their spread, which of them differ, what the shades mean."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from powertui.feed import Feed
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import live_summary
from powertui.view.host_map import SHADES, HostTile, WattsScale, outlier_signs, watts_scale
from powertui.view.live_texts import RoleLine, watts_text

_MIN_ENERGY_CELLS = 26  # beside the shades


def map_facts(
    feed: Feed,
    tiles: Sequence[HostTile],
    room: int,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """Three lines beside the sum: its spread, what stands out, and what the shades mean."""
    watts = [tile.watts for tile in tiles if tile.watts is not None]
    if not watts:
        nothing = f"none of {len(tiles)} hosts has a value"
        return [[(nothing, "warn")], [], []]
    lowest = watts_text(min(watts))
    median = watts_text(statistics.median(watts))
    highest = watts_text(max(watts))
    spread = f"{len(tiles)} hosts: least {lowest}  median {median}  most {highest} W"
    spread_line = [(plain(spread, room), "text")]
    notable = _notable(tiles, len(tiles) - len(watts), glyphs)
    if notable:
        outliers = (plain(notable, room), "warn")
    else:
        outliers = ("none differs much from the others", "dim")
    legend = _shade_legend(watts_scale(tiles))
    gap = "   "
    energy_room = room - sum(width(text) for text, _ in legend)
    if energy_room >= _MIN_ENERGY_CELLS:
        legend.append((gap, "text"))
        legend += _energy_of_all(feed, tiles, energy_room - len(gap))
    return [spread_line, [outliers], legend]


def _energy_of_all(feed: Feed, tiles: Sequence[HostTile], room: int) -> RoleLine:
    """The energy of all hosts together."""
    healths = []
    for tile in tiles:
        healths += [feed.healths[key] for key in tile.keys]
    return live_summary.energy_line(healths, feed, room)


def _notable(tiles: Sequence[HostTile], missing: int, glyphs: Glyphs) -> str:
    """How many hosts differ from the others, and how many have no value."""
    above = 0
    below = 0
    for tile in tiles:
        if tile.difference is not None:
            above += tile.difference > 0
            below += tile.difference < 0
    high, low = outlier_signs(glyphs)
    parts = []
    if above:
        parts.append(f"{high} {above} far above")
    if below:
        parts.append(f"{low} {below} far below")
    if missing == 1:
        parts.append("1 has no value")
    elif missing:
        parts.append(f"{missing} have no value")
    return "  ".join(parts)


def _shade_legend(scale: WattsScale) -> list[tuple[str, str]]:
    """The shades from the lowest watts to the highest."""
    lowest = watts_text(math.floor(scale.lo))
    highest = watts_text(math.ceil(scale.hi))
    legend = [(f"{lowest} ", "dim")]
    for shade in range(SHADES):
        legend.append(("  ", f"tile_{shade}"))
    legend.append((f" {highest} W", "dim"))
    return legend


def chosen_line(tile: HostTile, tiles: Sequence[HostTile]) -> str:
    """The chosen host in a sentence."""
    where = plain(tile.host, 40)
    if tile.group:
        group = plain(tile.group, 20)
        where += f" in {group}"
    if tile.watts is None:
        return f"{where} has no value."
    all_watts = [tile.watts for tile in tiles if tile.watts is not None]
    difference = tile.watts - statistics.median(all_watts)
    side = "above" if difference >= 0 else "below"
    watts = watts_text(tile.watts)
    rest = watts_text(abs(difference))
    return f"{where} draws {watts} W, {rest} W {side} the median."


def hottest(tiles: Sequence[HostTile]) -> HostTile | None:
    """The host that draws most."""
    most: HostTile | None = None
    most_w = -math.inf
    for tile in tiles:
        if tile.watts is not None and tile.watts > most_w:
            most = tile
            most_w = tile.watts
    return most
