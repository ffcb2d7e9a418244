"""A training of many sessions: one is read when the view comes to it, and few of them stay."""

from __future__ import annotations

import gc
from pathlib import Path

from powertui.data.model import Trace
from powertui.screens.session import MAX_OPEN_RUNS

from .conftest import Maker, loaded, settled, timeline_screen
from .test_training import SIZE, long_training, until, whole


def held(folder: Path) -> set[str]:
    """The sessions below a folder of which anybody still holds the events."""
    gc.collect()
    traces = (
        one for one in gc.get_objects() if issubclass(type(one), Trace)
    )  # a weak proxy answers `isinstance` itself
    return {one.path for one in traces if one.path.startswith(str(folder)) and one.event_count}


async def test_sessions_are_read_as_the_view_comes_to_them_and_few_of_them_stay(
    make: Maker, tmp_path: Path
) -> None:
    many = 8
    shell = make(
        long_training(tmp_path, sessions=tuple(8.0 + 7 * number for number in range(many)))
    )
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        assert len(held(tmp_path)) <= 1, "the axis stands on names, heads and ends of files"
        names = []
        for _ in range(many):
            await pilot.press("P")
            viewport = timeline_screen(shell).timeline.viewport
            surroundings = shell.session.model.surroundings  # type: ignore[union-attr]
            assert viewport is not None
            assert surroundings is not None
            wanted = surroundings.profiles[
                surroundings.nearest((viewport.t0 + viewport.t1) // 2)[0]
            ].key
            await until(
                lambda name=wanted[1]: shell.session.entry.name == name, "the nearest one is read"
            )
            await loaded(pilot)
            await settled(pilot)
            names.append(wanted[1])
            assert len(held(tmp_path)) <= MAX_OPEN_RUNS + 1, (
                "the one in front, the one before it, and what is on its way"
            )
        assert len(set(names)) == many
