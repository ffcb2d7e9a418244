"""The whole training on the timeline: profiles are islands in it, read when the view comes
to them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from powertui import api, demo
from powertui.data.asked import Aligning
from powertui.data.energy.account import energy_account
from powertui.data.model import PS_PER_S
from powertui.screens.shell import Shell
from powertui.screens.strips import StripsDialog
from powertui.screens.timeline import TimelineScreen
from powertui.view.navigation import Navigator
from powertui.view.value_strips import STEP_RATE
from tests.synthetic.long_training import (
    BEGIN,
    EPOCH_S,
    EPOCHS,
    LEAD_S,
    SESSION_S,
    SESSIONS,
    long_training,
    profile,
)
from tests.waiting import until_then

from .conftest import Maker, loaded, settled, timeline_screen

SIZE = (120, 36)


async def until(done: Any, what: str) -> None:
    await until_then(done, lambda: f"never: {what}")


async def whole(pilot: Pilot[Any]) -> None:
    """Until the training is drawn with what was found in it."""
    shell = pilot.app
    assert isinstance(shell, Shell)
    await loaded(pilot)
    await until(
        lambda: (
            shell.session.model.surroundings is not None
            and shell.session.model.surroundings.energies
        ),
        "joules of the epochs",
    )  # type: ignore[union-attr]
    await settled(pilot)


def unix_s(shell: Shell, ps: int) -> float:
    surroundings = timeline_screen(shell).timeline.model.surroundings  # type: ignore[union-attr]
    assert surroundings is not None
    return (surroundings.zero_ns / 1e9) + ps / PS_PER_S


async def test_several_sessions_open_with_the_whole_training(make: Maker, tmp_path: Path) -> None:
    shell = make(long_training(tmp_path))
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        timeline = timeline_screen(shell).timeline
        model, viewport = timeline.model, timeline.viewport
        assert model is not None
        assert viewport is not None
        assert model.surroundings is not None
        assert len(model.surroundings.profiles) == len(SESSIONS)
        assert unix_s(shell, viewport.t0) <= BEGIN - LEAD_S + 2
        assert unix_s(shell, viewport.t1) >= BEGIN + EPOCHS * EPOCH_S + LEAD_S - 2
        assert [strip.name for strip in timeline_screen(shell).view.chosen][:2] == [
            STEP_RATE,
            "batch_loss",
        ]
        assert all(model.surroundings.joules_of[epoch] for epoch in range(EPOCHS))
        (found,) = model.surroundings.findings
        assert unix_s(shell, found.lo) < BEGIN + 50 < unix_s(shell, found.hi)


async def test_keys_go_to_the_next_profile_and_back_out(make: Maker, tmp_path: Path) -> None:
    shell = make(long_training(tmp_path))
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        timeline = timeline_screen(shell).timeline
        before = timeline.viewport
        seen = []
        for _ in range(2):
            await pilot.press("P")
            viewport = timeline.viewport
            assert viewport is not None
            at = unix_s(shell, (viewport.t0 + viewport.t1) // 2)
            (number,) = [
                i
                for i, start in enumerate(SESSIONS)
                if abs(at - (BEGIN + start + SESSION_S / 2)) < 1
            ]
            await until(
                lambda: shell.session.entry.name.endswith(f"session_{number}"),  # noqa: B023
                "the profile that the view came to",
            )  # type: ignore[union-attr]
            await settled(pilot)
            model = timeline.model
            assert model is not None
            assert model.trace.path.split("/")[-2] == f"session_{number}"
            assert timeline.viewport is not None
            moved = unix_s(shell, (timeline.viewport.t0 + timeline.viewport.t1) // 2)
            assert moved == pytest.approx(at, abs=0.1), (
                "the axis is another, what is in sight is not"
            )
            assert any(row.lanes for row in timeline.rows)
            seen.append(number)
        assert sorted(seen) == [0, 1]
        await pilot.press("O")
        after = timeline.viewport
        assert before is not None
        assert after is not None
        assert (after.cell_ps, after.width) == (before.cell_ps, before.width)


async def test_a_profile_alone_is_what_is_shown_first_and_0_is_all_of_it(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(long_training(tmp_path, sessions=(40.0,)))
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        timeline = timeline_screen(shell).timeline
        viewport = timeline.viewport
        assert viewport is not None
        assert viewport.t1 - viewport.t0 < 1.3 * SESSION_S * PS_PER_S
        assert timeline_screen(shell).view.inside
        await pilot.press("0")
        assert timeline.viewport is not None
        assert timeline.viewport.t1 - timeline.viewport.t0 > EPOCHS * EPOCH_S * PS_PER_S
        assert not timeline_screen(shell).view.inside
        assert timeline_screen(shell).view.profiles.display


@pytest.mark.parametrize("power_alone", [False, True])
async def test_without_a_profile_every_key_of_the_page_is_harmless(
    make: Maker, tmp_path: Path, power_alone: bool
) -> None:
    folder = long_training(tmp_path, sessions=())
    shell = make(folder / "power.csv" if power_alone else folder)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        screen = timeline_screen(shell)
        assert screen.timeline.model is not None
        assert len(screen.view.power) == 1
        for key in (
            "w",
            "d",
            "down",
            "right",
            "right_square_bracket",
            "right_curly_bracket",
            "enter",
            "z",
            "i",
            "t",
            "P",
            "O",
            "v",
        ):
            await pilot.press(key)
            await settled(pilot)
        for key in (
            "y",
            "f",
            "slash",
            "o",
            "enter",
            "n",
            "escape",
            "escape",
            "escape",
            "0",
            "m",
            "L",
            "L",
            "L",
            "m",
        ):
            await pilot.press(key)
            await settled(pilot)
        window = screen.timeline.window
        assert window is not None
        await until(
            lambda: "energy" in "".join(fact for fact in _context(screen)),
            "the joules of the window",
        )
        await pilot.press("e")
        await settled(pilot)


def _context(screen: TimelineScreen) -> list[str]:
    from powertui.view.context import Context

    assert screen.timeline.model is not None
    assert screen.timeline.state is not None
    context = Context.for_state(screen.timeline.model, screen.timeline.state, screen.view.power)
    return [fact.name for section in context.sections for fact in section.facts]


async def test_strips_can_be_chosen(make: Maker, tmp_path: Path) -> None:
    shell = make(long_training(tmp_path, sessions=()))
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        view = timeline_screen(shell).view
        names = [strip.name for strip in view.chosen]
        await pilot.press("T")
        await settled(pilot)
        assert isinstance(shell.screen, StripsDialog)
        await pilot.press("enter", "escape")
        await settled(pilot)
        assert [strip.name for strip in view.chosen] == names[1:]


async def test_a_session_that_cannot_be_read_is_said_once(make: Maker, tmp_path: Path) -> None:
    folder = long_training(tmp_path)
    bad = next((folder / "train" / "plugins" / "profile" / "session_1").iterdir())
    shell = make(folder)
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        before = shell.session.opened
        assert before is not None
        assert before.entry.name.endswith("session_0")
        bad.unlink()
        path = str(bad.parent)
        assert shell.runs.profiles.can_reach(path)
        timeline = timeline_screen(shell).timeline
        profiles = timeline.model.surroundings.profiles  # type: ignore[union-attr]
        timeline.move(Navigator.show_window, profiles[1].lo, profiles[1].hi)
        await until(lambda: not shell.runs.profiles.can_reach(path), "that it cannot be read")
        await settled(pilot)
        assert shell.session.opened is before
        assert "vm.xplane.pb" in timeline_screen(shell).query_one("#status").message  # type: ignore[attr-defined]


async def test_wall_time_leads_to_a_place(make: Maker, tmp_path: Path) -> None:
    """1,700,000,000 is 22:13:20 UTC."""
    shell = make(long_training(tmp_path, sessions=()))
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        model = timeline_screen(shell).timeline.model
        assert model is not None
        lo, hi, _ = model.destination("22:13:30-22:14:00")
        assert (unix_s(shell, lo), unix_s(shell, hi)) == pytest.approx((BEGIN + 10, BEGIN + 40))
        assert model.destination("22:13:50")[:2] == (lo + 20 * PS_PER_S,) * 2
        assert model.destination("0:00:30")[:2] == (30 * PS_PER_S,) * 2, (
            "no time of day of this training: from its beginning"
        )


SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", ["sessions", "inside", "scalars", "power"])
def test_pictures_of_a_training(
    snap_compare: Any, make: Maker, tmp_path: Path, size: str, what: str
) -> None:
    folder = long_training(
        tmp_path / "logs", sessions=() if what in ("scalars", "power") else SESSIONS
    )
    shell = make(folder / "power.csv" if what == "power" else folder)

    async def before(pilot: Pilot[Any]) -> None:
        if what == "power":
            await loaded(pilot)
        else:
            await whole(pilot)
        if what == "inside":
            await pilot.press("P")
            await until(lambda: shell.session.entry.name.endswith("session_1"), "the next profile")  # type: ignore[union-attr]
            await until(lambda: shell.session.model.surroundings.energies, "joules of the epochs")  # type: ignore[union-attr]
        await settled(pilot)
        shell.say("")
        await settled(pilot)

    assert snap_compare(shell, terminal_size=SIZES[size], run_before=before)


async def test_the_axis_grows_with_what_is_still_being_written(make: Maker, tmp_path: Path) -> None:
    folder = long_training(tmp_path, sessions=(40.0,))
    shell = make(folder)
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        timeline = timeline_screen(shell).timeline
        await pilot.press("0")
        before = timeline.model
        assert before is not None
        selected = timeline.viewport
        assert selected is not None
        with (folder / "power.csv").open("a") as file:
            end = BEGIN + EPOCHS * EPOCH_S + LEAD_S
            file.write("".join(f"{end + i:.1f},{150 + i % 3}\n" for i in range(120)))
        await until(
            lambda: timeline.model.span[1] > before.span[1] + 100 * PS_PER_S,
            "the readings that came",
        )  # type: ignore[union-attr]
        await settled(pilot)
        assert timeline.viewport is not None
        assert timeline.viewport.shows(timeline.model.span[1] - 1), "all of it was in sight, and is"  # type: ignore[union-attr]
        assert timeline.model.trace is before.trace, "the profile was not read again"  # type: ignore[union-attr]
        other = folder / "train" / "plugins" / "profile" / "session_1"
        other.mkdir()
        (other / "vm.xplane.pb").write_bytes(profile(BEGIN + 110))
        with (folder / "power.csv").open("a") as file:
            file.write(f"{end + 500:.1f},150\n")
        await until(
            lambda: len(timeline.model.surroundings.profiles) == 2, "the session that appeared"
        )  # type: ignore[union-attr]


async def test_the_list_has_a_row_for_a_training_and_one_for_what_was_never_profiled(
    make: Maker, tmp_path: Path
) -> None:
    long_training(tmp_path / "a")
    long_training(tmp_path / "b", sessions=())
    for file in list((tmp_path / "b").rglob("events*")):  # another process
        file.rename(file.with_name(file.name.replace("vm.77", "vm.78")))
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await until(lambda: shell.current() is not None and shell.current().is_there, "the list")  # type: ignore[union-attr]
        listed = shell.current().query_one("#runs")  # type: ignore[union-attr]
        await until(
            lambda: len(listed.in_sight) == 4, "two sessions, their training, and the scalars"
        )  # type: ignore[attr-defined]
        await settled(pilot)
        shell.runs.open(next(run for run in shell.current().listed_runs if run.name == "b"))  # type: ignore[union-attr]
        await loaded(pilot)
        assert not timeline_screen(shell).timeline.model.tracks  # type: ignore[union-attr]
        assert len(timeline_screen(shell).view.power) == 1
        shell.runs.open(shell.session.logdir.runs[1], whole=False)  # type: ignore[union-attr]
        await until(lambda: shell.session.complete, "the session")
        await whole(pilot)
        await until(lambda: timeline_screen(shell).view.inside, "the profile in sight")
        assert timeline_screen(shell).view.inside, (
            "a session that was chosen is shown, and not its training"
        )


async def test_a_session_whose_clock_is_not_believed_lies_on_its_own_axis(
    make: Maker, tmp_path: Path
) -> None:
    folder = long_training(tmp_path, sessions=(40.0, 95_000_000.0))
    shell = make(folder)
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        model = timeline_screen(shell).timeline.model
        assert model is not None
        assert model.surroundings is not None
        assert len(model.surroundings.profiles) == 1
        assert "not believed" in model.surroundings.notes[0]
        assert "no place" in _context(timeline_screen(shell))
        shell.runs.open(
            next(run for run in shell.session.logdir.runs if run.name.endswith("session_1")),
            whole=False,
        )  # type: ignore[union-attr]
        await until(lambda: shell.session.complete, "the other session")
        await settled(pilot)
        other = timeline_screen(shell).timeline.model
        assert other is not None
        assert other.trace.path.endswith("session_1/vm.xplane.pb")
        assert other.surroundings is None or other.surroundings.key is None, (
            "nothing else lies on its axis"
        )


async def test_screens_and_reports_tell_the_same_joules_of_an_epoch(make: Maker) -> None:
    """The profile that is shown places the log of its training, as it does for a report."""
    run = api.open(str(demo.folder()))[0].opened
    reported = energy_account(run.profiles[0], Aligning())
    shell = make("demo")
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        surroundings = timeline_screen(shell).timeline.model.surroundings  # type: ignore[union-attr]
        assert surroundings is not None
        assert [
            (number, energy.joules, energy.lo, energy.hi, energy.badge)
            for number, energy in surroundings.energies
        ] == [
            (epoch.number, energy.joules, energy.lo, energy.hi, energy.badge)
            for epoch in reported.epoch_energies
            if (energy := epoch.energy) is not None
        ]
