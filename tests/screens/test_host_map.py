"""Sixty-four hosts on the live screen: a map of tiles that reads at 80×24."""

from __future__ import annotations

from typing import Any

import pytest

from powertui.data.model import PowerSeries
from powertui.terminal import theme
from powertui.view.host_map import MapGrid
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
    [(130, "004 204", "n0…"), (1000, "▶  204", "▶4"), (64, "0004 204", "n00…")],
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
