"""The application without a terminal: Textual's pilot, real files, nothing mocked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import pytest_textual_snapshot
from textual import events
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.strip import Strip
from textual.worker import WorkerCancelled

from powertui import cli, demo
from powertui.config import Config
from powertui.data import logdir
from powertui.screens import runs
from powertui.screens.session import Session
from powertui.screens.shell import Shell
from powertui.screens.timeline import TimelineScreen
from powertui.screens.top_line import TopLine
from powertui.terminal import theme
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display
from powertui.verbs import common
from tests.waiting import LIMIT_S, until_then

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOTS = ROOT / "snapshots"

Maker = Callable[..., Shell]
DocPicture = Callable[[Shell, str], None]


class TopLevelSnapshots(pytest_textual_snapshot.SVGImageExtension):
    """Pictures lie in `snapshots/` at the top, one folder for each test file.

    The plugin has no setting for it.
    """

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return str(SNAPSHOTS / Path(test_location.filepath).stem)


pytest_textual_snapshot.SVGImageExtension = TopLevelSnapshots  # type: ignore[misc]


@pytest.fixture(autouse=True, scope="session")
def _styles_parsed_once() -> Iterator[None]:
    """Hundreds of tests start the same application: Textual parses the styles of its widgets once
    for each set of colors, and not for each application.
    """
    parse_rules = Stylesheet._parse_rules
    parsed: dict[object, list[RuleSet]] = {}

    def parse_once(styles: Stylesheet, *source: Any, **options: Any) -> list[RuleSet]:
        colors = tuple(styles._variables.items())
        key = (colors, source, tuple(options.items()))
        if key not in parsed:
            parsed[key] = parse_rules(styles, *source, **options)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(autouse=True, scope="session")
def _pilot_waits() -> Iterator[None]:
    """Textual's pilot gives a screen 30 s: on a machine that does much else that is little."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot._wait_for_screen, "__defaults__", (LIMIT_S,))
        yield


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks are kept between programs: not between these tests and the person who runs them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(
        runs, "LOOK_FOR_NEWS_S", 3600
    )  # whether it comes in time for a picture is left to no chance


@pytest.fixture
def snap_compare(
    snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., bool]:
    """Compares a page with its stored picture, in which the row of the top line is blank.

    Otherwise each change of the top line would change every picture. It has a picture of its own.
    """

    def compare(app: App[Any], **options: Any) -> bool:
        if isinstance(app, Shell):
            monkeypatch.setattr(
                TopLine, "render_line", lambda line, y: Strip.blank(line.size.width)
            )
        return snap_compare(app, **options)

    return compare


@pytest.fixture
def make(data: Path, worked_out_once: None) -> Maker:
    """`make(path, *flags)`: the application of this command line.

    "demo" is the demo; other texts are paths below tests/data.
    """

    def maker(
        path: str | Path = "demo",
        *flags: str,
        color: str = "256",
        glyphs: str = "unicode",
        look: str = "dark",
    ) -> Shell:
        where = demo.folder() if path == "demo" else data / path
        args = cli.build_parser("open").parse_args(["open", str(where), *flags])
        capabilities = Capabilities(color=color, glyphs=glyphs)  # type: ignore[arg-type]
        screen = Display(capabilities, theme.get(look, capabilities.color), Config())  # type: ignore[arg-type]
        return Shell(
            Session(common.reading_of(args), common.aligning_of(args), logdir=logdir.scan(where)),
            screen,
        )

    return maker


def _words(picture: str) -> list[str]:
    """What a picture says, piece by piece."""
    pieces = []
    for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):
        text = "".join(element.itertext()).replace("\N{NO-BREAK SPACE}", " ").strip()
        if text:
            pieces.append(text)
    return pieces


@pytest.fixture
def doc_picture(request: pytest.FixtureRequest) -> DocPicture:
    """`doc_picture(shell, name)`: the picture of this name in docs/ says what the screen says; with
    --snapshot-update it is drawn anew.
    """

    def hold(shell: Shell, name: str) -> None:
        stored = ROOT / "docs" / "pictures" / f"{name}.svg"
        drawn = shell.svg_of(shell.screen)
        if request.config.option.update_snapshots:
            stored.write_text(drawn, encoding="utf-8")
        stored_words = _words(stored.read_text(encoding="utf-8"))
        assert _words(drawn) == stored_words, f"draw {name} anew: make screenshots"

    return hold


async def loaded(pilot: Pilot[Any]) -> None:
    """Wait until the run is read whole and drawn."""
    app = pilot.app
    assert isinstance(app, Shell)
    await until_then(
        lambda: app.session.complete and app.session.model is not None,
        lambda: "the run was not read",
    )
    await settled(pilot)


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day as in the stored pictures."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until background work is done and everything is drawn: twice in a row, as what is done
    may ask for more.
    """

    def stands() -> bool:
        """A page comes up with all its widgets; what is told of a view is counted once it stands
        still.
        """
        screen = pilot.app.screen
        if getattr(pilot.app, "holds_keys", False):
            return False
        return getattr(screen, "is_there", True) and not getattr(screen, "is_behind", False)

    quiet = 0
    while quiet < 2:
        quiet = 0 if any(not worker.is_finished for worker in pilot.app.workers) else quiet + 1
        with contextlib.suppress(
            WorkerCancelled
        ):  # a later question took its place: its answer is what is drawn
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        await until_then(stands)
        await pilot.pause()


def timeline_screen(shell: Shell) -> TimelineScreen:
    """The page in front, which has to be the timeline."""
    screen = shell.screen
    assert isinstance(screen, TimelineScreen)
    return screen


def press_at_once(shell: Shell, *keys: str) -> None:
    """Keys that a slow line delivers in one piece."""
    assert shell._driver is not None
    for key in keys:
        shell._driver.process_message(events.Key(key, key if len(key) == 1 else None))
