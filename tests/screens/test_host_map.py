"""Sixty-four hosts on the live screen: a map of tiles that reads at 80×24."""

from __future__ import annotations

from typing import Any

import pytest

from powertui.data.live import ChannelKey
from powertui.data.model import PowerSeries
from powertui.terminal import theme
from powertui.terminal.glyphs import UNICODE
from powertui.view.host_map import HostTile, MapGrid
from powertui.view.rack_map import ShownCells, fitting_map, rack_lines
from tests.screens.test_live import Stage, series

HOT, COLD = "node43.rack1.example", "node03.rack1.example"


def rack() -> list[PowerSeries]:
    """64 hosts that draw 200 W, but for one that burns after two minutes and one that idles."""
    odd = {HOT: (200.0, 271.0), COLD: (149.0, 149.0)}

    def host(number: int) -> PowerSeries:
        name = f"node{number:02}.rack1.example"
        early, late = odd.get(name, (200.0 + number % 5, 200.0 + number % 5))
        return series(name, lambda second: early if second < 120 else late)

    return [host(number) for number in range(1, 65)]


async def test_all_hosts_are_seen_and_what_differs_has_a_mark() -> None:
    stage = Stage(*rack())
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        await stage.play(pilot, 200)
        tiles = stage.text("chart")
        assert all(f"n{number:02}" in tiles for number in range(1, 65))
        assert "n43 ▲271" in tiles
        assert "n03 ▼149" in tiles
        assert tiles.count("▲") + tiles.count("▼") == 2
        assert "▲ 1 far above  ▼ 1 far below" in stage.text("summary")
        assert f"{HOT} draws 271 W, 69 W above the median." in tiles
        map_rows = tiles.splitlines()
        assert max(map(len, map_rows)) <= 80
        assert stage.page.query_one("#chart").size.height >= len(map_rows), "nothing is cut off"


async def test_keys_choose_a_host_enter_shows_it_and_escape_leads_back() -> None:
    stage = Stage(*rack())
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        await stage.play(pilot, 200)
        await pilot.press("up", "left")  # from node43: a row of eight tiles up, and one to the left
        assert "node34.rack1.example draws" in stage.text("chart")
        await pilot.press("enter")
        assert "min 204  mean 204" in stage.text("summary")
        assert stage.text("table").count("node") > 3, "the hosts as rows, below its chart"
        await pilot.press("escape")
        assert "node34.rack1.example draws" in stage.text("chart")
        await pilot.click("#chart", offset=(30, 1))  # the fourth tile of the first row
        assert "node04.rack1.example draws" in stage.text("chart")
        await pilot.press("v")
        assert "now W" in stage.text("table")
        await pilot.press("v")
        assert "n43 ▲271" in stage.text("chart")


async def test_a_host_without_a_value_says_so_and_has_no_color_of_watts() -> None:
    hosts = rack()
    hosts[9] = series("node10.rack1.example", lambda second: float("nan") if second > 90 else 200.0)
    stage = Stage(*hosts)
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        await stage.play(pilot, 200)
        assert "n10    –" in stage.text("chart")
        assert "1 has no value" in stage.text("summary")


@pytest.mark.parametrize(
    ("count", "shown", "not_shown"),
    [(130, "004 204", "n0…"), (1000, "n0001", "▶4"), (64, "0004 204", "n00…")],
)
async def test_names_that_have_no_room_keep_the_end_that_tells_them_apart(
    count: int, shown: str, not_shown: str
) -> None:
    def host(number: int) -> PowerSeries:
        return series(f"node{number:04}.rack1.example", lambda _: 200.0 + number % 5)

    stage = Stage(*[host(number) for number in range(1, count + 1)])
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        await stage.play(pilot, 30)
        tiles = stage.text("chart")
        assert not_shown not in tiles
        assert shown in tiles


@pytest.mark.parametrize(
    ("count", "size"),
    [(9, (60, 8)), (64, (80, 16)), (64, (120, 28)), (256, (80, 16)), (16, (200, 40))],
)
def test_a_grid_holds_as_many_as_there_is_room_for(count: int, size: tuple[int, int]) -> None:
    grid = MapGrid.fitting(count, *size)
    assert grid.columns * (grid.cells + 1) - 1 <= size[0]
    assert grid.rows * grid.height <= size[1]
    room = (size[0] + 1) // 7 * size[1]  # of the smallest tiles
    assert grid.columns * grid.rows >= min(count, room)


@pytest.mark.parametrize("look", ["dark", "light"])
def test_text_on_every_tile_is_readable(look: Any) -> None:
    def luminance(color: Any) -> float:
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in color.triplet.normalized
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for role in (*(f"tile_{shade}" for shade in range(10)), "tile_none", "tile_none_chosen"):
        style = theme.get(look, "true").style(role)
        dark, light = sorted((luminance(style.color), luminance(style.bgcolor)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, role


async def test_events_take_no_row_from_the_map_and_the_chosen_host_stays_in_sight() -> None:
    stage = Stage(*rack())
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        for number in range(4):
            stage.feed._say(f"event {number}")
        await stage.play(pilot, 200)
        await stage.play(pilot, 201)
        rows = stage.text("chart").splitlines()
        assert "above the median" in rows[-1]
        assert stage.page.query_one("#chart").size.height >= len(rows), "nothing is cut off"


async def test_a_map_without_news_is_not_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(*rack())
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        await stage.play(pilot, 20)
        stage.page._still_ticks = 0  # the page looks by itself, too, while a test waits
        drawn = 0
        draw = stage.page.map.draw

        def counting(*arguments: Any) -> bool:
            nonlocal drawn
            drawn += 1
            return draw(*arguments)

        monkeypatch.setattr(stage.page.map, "draw", counting)
        for _ in range(9):
            stage.page.tick()
        assert drawn == 0
        await stage.play(pilot, 21)
        assert drawn == 1


def fleet(hosts: int, racks: int, hot: int = -1) -> list[HostTile]:
    """So many hosts of 200 to 299 W in racks that are equally full; one that burns."""
    width = len(str(hosts - 1))
    return [
        HostTile(
            host=f"node{number:0{width}}",
            name=f"n{number:0{width}}",
            keys=(ChannelKey("prometheus", f"node{number}"),),
            watts=2000.0 if number == hot else 200.0 + number % 100,
            difference=1750.0 if number == hot else None,
            group=f"r{number * racks // hosts:02}" if racks else "",
        )
        for number in range(hosts)
    ]


@pytest.mark.parametrize("size", [(80, 16), (120, 28), (200, 42)])
@pytest.mark.parametrize(("hosts", "racks"), [(1000, 25), (1000, 0), (256, 16), (300, 3)])
def test_every_host_of_a_fleet_has_a_cell_of_its_own_in_sight(
    hosts: int, racks: int, size: tuple[int, int]
) -> None:
    tiles = fleet(hosts, racks)
    found = fitting_map(tiles, *size)
    assert found.line_count <= size[1]
    cells = {(line, x + cell) for line, x in found.places for cell in range(found.cells)}
    assert len(cells) == hosts * found.cells
    assert max(x for _, x in cells) < size[0]
    for text in found.texts:
        covered = {(text.line, text.x + cell) for cell in range(len(text.words))}
        assert not covered & cells
        assert text.x + len(text.words) <= size[0]
    for number in (0, hosts // 2, hosts - 1):
        line, x = found.places[number]
        assert found.tile_at(number, x, line) == number


def test_a_fleet_is_laid_out_by_rack_with_the_name_of_each() -> None:
    tiles = fleet(1000, 25, hot=617)
    found = fitting_map(tiles, 120, 36)
    lines = [
        "".join(text for text, _ in line)
        for line in rack_lines(tiles, 3, found, UNICODE, ShownCells())
    ]
    names = [text.words for text in found.texts if text.words.startswith("r")]
    assert names == [f"r{number:02}" for number in range(25)]
    assert any("r15" in line and "▲" in line for line in lines)
    assert sum(line.count("▲") for line in lines) == 1
    # One that burns does not make the others look alike.
    assert len({char for line in lines for char in line} & set("▁▂▃▄▅▆▇█")) == 8


def test_keys_walk_up_and_down_a_fleet_to_the_nearest_cell_and_stop_at_its_ends() -> None:
    tiles = fleet(1000, 25)
    found = fitting_map(tiles, 80, 16)
    here = 500
    for _ in range(found.line_count):
        above = found.above_or_below(here, -1)
        assert above == here or found.places[above][0] == found.places[here][0] - 1
        here = above
    assert found.places[here][0] == 0


async def test_a_colon_finds_a_host_of_the_map() -> None:
    hosts = [series(f"node{number:04}.example", lambda _: 200.0) for number in range(300)]
    stage = Stage(*hosts)
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        await stage.play(pilot, 20)
        await pilot.press("colon", *"host", "space", *"0217", "enter")
        await stage.play(pilot, 21)
        assert "node0217.example draws 200 W" in stage.text("chart")
        await pilot.press("enter")
        await stage.play(pilot, 22)
        assert "▶ node0217" in stage.text("table")


async def test_without_racks_each_line_begins_with_the_name_of_its_first_host() -> None:
    hosts = [series(f"node{number:04}", lambda _: 200.0) for number in range(1000)]
    stage = Stage(*hosts)
    async with stage.shell.run_test(size=(80, 24)) as pilot:
        await stage.play(pilot, 20)
        lines = stage.text("chart").splitlines()
        assert lines[0].startswith("n0000 ")
        assert lines[1].startswith("n0070 ")
        assert "draws 200 W" in lines[-1]


def test_of_a_thousand_hosts_that_change_at_once_a_few_are_drawn_at_a_time_and_all_in_the_end() -> (
    None
):
    before = fleet(1000, 25)
    after = [tile._replace(watts=500.0 - (tile.watts or 0.0)) for tile in before]
    after[321] = after[321]._replace(watts=2000.0, difference=1700.0)
    found = fitting_map(before, 80, 16)
    shown = ShownCells()

    def drawn(tiles: list[HostTile], cells: ShownCells) -> list[str]:
        lines = rack_lines(tiles, 0, found, UNICODE, cells)
        return ["".join(words for words, _ in line) for line in lines]

    def changed(old: list[str], new: list[str]) -> int:
        return sum(a != b for x, y in zip(old, new, strict=True) for a, b in zip(x, y, strict=True))

    picture = drawn(before, shown)
    assert not shown.is_behind
    line, x = found.places[321]
    for turn in range(30):
        new_picture = drawn(after, shown)
        assert changed(picture, new_picture) <= 46  # and the chosen one
        if not turn:
            assert new_picture[line][x] == "▲", "what stands out does not wait"
        picture = new_picture
        if not shown.is_behind:
            break
    assert picture == drawn(after, ShownCells())
