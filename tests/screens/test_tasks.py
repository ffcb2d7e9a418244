"""The ten tasks of docs/tasks.md: their keys are pressed, and the answer has to stand on the screen
at every size.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from powertui import demo
from powertui.screens import frame, runs
from powertui.screens.shell import Shell
from tests.tasks import SIZES, TASKS, Task
from tests.waiting import until_then

from .conftest import ROOT, DocPicture, Maker, loaded, settled


def shown(shell: Shell) -> str:
    return "\n".join(
        "".join(segment.text for segment in strip)
        for strip in shell.screen._compositor.render_strips()
    )


def opened(make: Maker, task: Task) -> Shell:
    where = {"demo": "demo", "power": demo.power_file(), "logdirs": "logdirs"}[task.opened]
    return make(where, color="true")


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
async def test_the_keys_lead_to_the_answer(
    make: Maker,
    doc_picture: DocPicture,
    task: Task,
    size: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the picture in docs/ says what the screen says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = opened(make, task)
    async with shell.run_test(size=SIZES[size]) as pilot:
        if task.opened == "logdirs":
            await settled(pilot)
        else:
            await loaded(pilot)
        for key in task.pressed():
            await pilot.press(key)
            await settled(pilot)
        await until_then(
            lambda: all(answer in shown(shell) for answer in task.says), lambda: shown(shell)
        )
        if task.opened != "logdirs":
            await until_then(lambda: frame.known_conclusions(shell.session) is not None)
        await settled(pilot)
        doc_picture(shell, f"tasks/{task.id}-{size}")
    for path in tmp_path.glob("*-samples.csv"):  # the export, as somebody reads it
        table = pd.read_csv(path)
        assert set(table["epoch"]) == {1}
        assert table["step"].between(46, 71).all()
        assert table["watts: watts"].mean() > 250
        assert task.id == "export"


def test_no_task_takes_more_than_three_keys() -> None:
    assert {task.id: task.count for task in TASKS if task.count > 3} == {}


async def test_a_large_run_is_concluded_from_once_a_key_asks(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line at the foot says so; afterwards it says what was found, as of any run."""
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.01)
    monkeypatch.setattr(frame, "_MANY_EVENTS", 1_000)
    shell = make(color="true")
    async with shell.run_test(size=SIZES["200x50"]) as pilot:
        await loaded(pilot)
        await until_then(lambda: not shell.runs.awaits_news)
        await settled(pilot)
        assert frame.known_conclusions(shell.session) is None
        assert "events: findings are looked for when you ask  3: look for them" in shown(shell)
        assert "At a glance" not in shown(shell)
        await pilot.press("3")
        await until_then(lambda: frame.known_conclusions(shell.session) is not None)
        await settled(pilot)
        await pilot.press("2")
        await until_then(lambda: frame.known_glance(shell.session) is not None)
        await settled(pilot)
        conclusions = frame.known_conclusions(shell.session)
        assert conclusions is not None
        assert conclusions.items[0].sentence[:40] in shown(shell)
        assert "when you ask" not in shown(shell)
        assert "At a glance" in shown(shell)


async def test_the_first_screen_says_which_steps_drew_more(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key: in the line at the foot, as soon as it is known."""
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        sentence = "Epoch 1, steps 46-71: +59 W for 2.52 s, +149 J"
        await until_then(lambda: sentence in shown(shell), lambda: shown(shell))
        assert "3 Find·2" in shown(shell)
        await pilot.press("right")
        await settled(pilot)
        assert sentence in shown(shell), "it stays"


async def test_the_first_screen_of_a_power_log_says_what_it_comes_to(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make(demo.power_file())
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        sentence = "9,658 J ± 20 in 43.5 s, 222.1 W on average"
        await until_then(lambda: sentence in shown(shell), lambda: shown(shell))


async def test_a_tall_window_has_room_for_two_conclusions(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        sentences = ("Epoch 1, steps 46-71: +59 W", "Computing on the host takes 85 %")
        await until_then(
            lambda: all(said in shown(shell) for said in sentences), lambda: shown(shell)
        )


# What the first screen says without a key, by task: of the demo at 120×36, and at 80×24.
FIRST_SCREEN = {
    "drew-more": "Epoch 1, steps 46-71: +59 W for 2.52 s, +149 J",
    "top-op": "filter grad 17.5 % 18.8 ms",
    "longest-step": "tf.function-graph_building +639 ms",
    "epochs": "epoch 1 2,748 J ± 22",
    "input-bound": "input wait 0.3 % of the time",
    "matmul": "MatMul + Relu 0.6 % 602 µs",
    "stall": "filter grad +18.7 ms",
}
FIRST_SMALL_SCREEN = ("drew-more", "epochs", "input-bound")


@pytest.mark.parametrize(
    ("size", "tasks"), [((120, 36), tuple(FIRST_SCREEN)), ((80, 24), FIRST_SMALL_SCREEN)]
)
async def test_seven_of_the_ten_answers_stand_on_the_first_screen_and_three_on_a_small_one(
    make: Maker, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], tasks: tuple[str, ...]
) -> None:
    """The eighth, and the fourth, where a power log is opened alone (above)."""
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make()
    async with shell.run_test(size=size) as pilot:
        await loaded(pilot)
        await until_then(
            lambda: all(FIRST_SCREEN[task] in " ".join(shown(shell).split()) for task in tasks),
            lambda: shown(shell),
        )
    assert set(tasks) <= {task.id for task in TASKS}


async def test_a_key_makes_the_next_epoch_the_window(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("right_curly_bracket")
        await settled(pilot)
        model = shell.session.model
        assert model is not None
        assert shell.session.window == model.epoch_bounds(1)
        assert "2,748 J ± 22, 252.0 W on average" in shown(shell), "as the lane of epochs says"


async def test_while_a_window_is_marked_the_next_epoch_only_moves_the_cursor(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("m", "right_curly_bracket", "m")
        await settled(pilot)
        model, window = shell.session.model, shell.session.window
        assert model is not None
        assert window is not None
        bounds = model.epoch_bounds(1)
        assert bounds is not None
        assert window[0] < bounds[0] <= window[1] < bounds[1]


def test_the_page_tells_of_these_tasks() -> None:
    """docs/tasks.md is made from the same table, and each picture that it names is there."""
    assert (
        subprocess.run(
            [sys.executable, ROOT / "scripts" / "tasks.py", "--check"], check=False
        ).returncode
        == 0
    )
    for task in TASKS:
        for size in SIZES:
            assert (
                ROOT / "docs" / "pictures" / "tasks" / f"{task.id}-{size}.svg"
            ).stat().st_size < 90_000
