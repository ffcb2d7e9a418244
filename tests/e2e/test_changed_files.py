"""Whatever another process does to a profile that is open: the program goes on, says so, and reads
it anew when asked.
"""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.make_big import multiplied
from powertui.data import wire

from .conftest import Opener
from .terminal import Terminal

pytestmark = pytest.mark.e2e

# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"
CHANGED = "The file has changed since it was read. Press r to read it again."
DEMO = Path(__file__).parents[2] / "powertui/demo/data/logs/Nfit/20261121/train/plugins/profile"
MOMENTS = int(os.environ.get("POWERTUI_MOMENTS", "4"))  # of each kind


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    other.replace(path)


def deleted(path: Path) -> None:
    path.unlink()


WAYS = (emptied, halved, overwritten, replaced, deleted)


@pytest.fixture(scope="module")
def large() -> bytes:
    """Large enough to be caught while it is read."""
    recording = gzip.decompress(next(DEMO.glob("*/*.xplane.pb.gz")).read_bytes())
    return b"".join(
        multiplied(np.frombuffer(recording, np.uint8), 400_000 if wire.COMPILED else 100_000)
    )


def put(folder: Path, content: bytes) -> Path:
    path = folder / "plugins/profile/2026_01_01_00_00_00/vm.xplane.pb"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def shown(terminal: Terminal) -> None:
    """Some page stands, and nothing moves any more."""
    terminal.wait_for(lambda text: bool(text.strip()))
    terminal.settle(limit=60)


def leave(terminal: Terminal) -> None:
    """The program is whole, and so is the terminal it leaves."""
    shown(terminal)
    assert not terminal.eof, terminal.text()
    terminal.press("q")
    code = terminal.wait_exit(60)
    assert b"Traceback" not in terminal.raw, terminal.raw[-6000:].decode(errors="replace")
    assert code == 0
    assert terminal.left_on() == []


@pytest.mark.parametrize("way", WAYS)
def test_a_profile_that_changes_when_it_is_read_is_said_and_stays_on_the_screen(
    start: Opener, tmp_path: Path, data: Path, way: Callable[[Path], None]
) -> None:
    content = next((data / "logdirs/jax_cpu").rglob("*.xplane.pb")).read_bytes()
    path = put(tmp_path, content)
    terminal = start(tmp_path, size=(140, 40))
    terminal.wait_for(READY)
    terminal.press("Down", "Down", "Down", "Right", "Right")
    terminal.settle()
    before = terminal.text().splitlines()[:30]
    way(path)
    terminal.wait_for(CHANGED)
    assert terminal.text().splitlines()[:30] == before
    terminal.press("i")
    terminal.settle()
    readable = way in (replaced, deleted)
    assert ("Its stats cannot be read" in terminal.text()) is (not readable)
    assert "changed on disk" in terminal.text()
    terminal.press("i", "t")
    terminal.settle()
    terminal.press("t", "r")
    terminal.wait_for("What was read before is still shown|" + READY)
    terminal.settle()
    path.write_bytes(content)
    terminal.press("r")
    terminal.wait_for(lambda text: "changed on disk" not in text)
    terminal.press("i")
    terminal.settle()
    assert "Its stats cannot be read" not in terminal.text()
    leave(terminal)


@pytest.mark.parametrize("pure", ["", "1"])
@pytest.mark.parametrize("way", WAYS)
def test_at_any_moment(
    start: Opener, tmp_path: Path, large: bytes, way: Callable[[Path], None], pure: str
) -> None:
    rng = random.Random(f"{way.__name__} {pure}")
    for turn in range(MOMENTS):
        path = put(tmp_path / str(turn), large)
        terminal = start(tmp_path / str(turn), env={"POWERTUI_PURE": pure})
        terminal.run(rng.uniform(0.2, 3.0 if pure else 1.5))
        way(path)
        shown(terminal)
        terminal.press("Right", "i", "Down", "Right", "w", "w", "d")
        terminal.run(0.3)
        terminal.press("r", "Right", "t", "Esc", "i")
        leave(terminal)
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["vm.trace.json", "vm.trace.json.gz", "vm.xplane.pb.gz"])
def test_other_forms_too(start: Opener, tmp_path: Path, data: Path, name: str) -> None:
    rng = random.Random(name)
    source = next(
        (data / "logdirs/jax_cpu").rglob("*.trace.json.gz" if "json" in name else "*.xplane.pb")
    ).read_bytes()
    plain = gzip.decompress(source) if "json" in name else source
    for turn in range(MOMENTS):
        path = put(tmp_path / str(turn), b"").with_name(name)
        path.with_name("vm.xplane.pb").unlink()
        path.write_bytes(gzip.compress(plain) if name.endswith("gz") else plain)
        terminal = start(tmp_path / str(turn))
        terminal.run(rng.uniform(0.2, 1.0))
        rng.choice(WAYS)(path)
        shown(terminal)
        terminal.press("Right", "i", "Right", "r", "i")
        leave(terminal)
