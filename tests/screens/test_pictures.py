"""What the screens look like, at two sizes.

`pytest tests/screens --snapshot-update` draws them anew: look at them then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from powertui.screens import help as help_screen

from .conftest import Maker, loaded, settled

SIZES = {"80x24": (80, 24), "120x30": (120, 30)}


def keys(*pressed: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Wait for the run, press keys, wait again."""

    async def before(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        await pilot.press(*pressed)
        await settled(pilot)
        pilot.app.say("")  # type: ignore[attr-defined]
        await settled(pilot)

    return before


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "pressed"),
    [
        ("whole", ()),
        ("near", ("w", "w", "w", "w", "down", "down", "right")),
        (
            "window",
            ("w", "w", "m", "shift+right", "shift+right", "shift+right", "shift+right", "m"),
        ),
        ("ops", ("t",)),
        ("details", ("down", "down", "right", "i")),
        ("palette", ("colon", "z", "o")),
    ],
    ids=("whole", "near", "window", "ops", "details", "palette"),
)
def test_timeline_of_the_demo(
    snap_compare: Any, make: Maker, size: str, name: str, pressed: tuple[str, ...]
) -> None:
    assert snap_compare(make(), terminal_size=SIZES[size], run_before=keys(*pressed))


@pytest.mark.parametrize(
    ("glyphs", "color", "look"),
    [("ascii", "none", "dark"), ("console", "16", "dark"), ("unicode", "256", "light")],
)
def test_timeline_with_less(
    snap_compare: Any, make: Maker, glyphs: str, color: str, look: str
) -> None:
    shell = make("logdirs/jax_cpu", glyphs=glyphs, color=color, look=look)
    assert snap_compare(
        shell, terminal_size=SIZES["80x24"], run_before=keys("w", "w", "down", "right")
    )


def test_runs(snap_compare: Any, make: Maker) -> None:
    from .test_open import concluded

    shell = make("logdirs")

    async def before(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        assert shell.session.logdir is not None
        await concluded(shell, len(shell.session.logdir.runs))
        shell.screen.query_one("#title").update(" logdirs")  # type: ignore[attr-defined]
        shell.session.logdir = replace(
            shell.session.logdir, path="logdirs"
        )  # wherever this checkout lies
        shell.screen.top_line()  # type: ignore[attr-defined]
        await settled(pilot)

    assert snap_compare(shell, terminal_size=SIZES["120x30"], run_before=before)


@pytest.mark.parametrize("size", SIZES)
def test_help(snap_compare: Any, make: Maker, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setattr(help_screen, "__version__", "x.y.z")
    assert snap_compare(
        make("logdirs/jax_cpu"), terminal_size=SIZES[size], run_before=keys("question_mark")
    )


def test_too_small(snap_compare: Any, make: Maker) -> None:
    assert snap_compare(make("logdirs/jax_cpu"), terminal_size=(50, 12), run_before=keys())
