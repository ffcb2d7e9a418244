"""Files of ours on a disk that is full: what was there before stays, and nothing that is cut lies
beside it.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from powertui.config import write_state
from powertui.data.asked import Pin, Pins
from powertui.data.energy import pins
from powertui.data.export import files
from powertui.errors import PowertuiError
from powertui.sampler import powerboard


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """The system's own limit for a file's size: a write beyond it fails in the middle like one on a
    full disk.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write_export(path: Path) -> None:
    with files.opened(str(path), force=True) as stream:
        for _ in range(100):
            stream.write(b"x" * 100_000)


def write_pins(path: Path) -> None:
    pins.write(
        Pins(
            tuple(Pin(float(second), float(second), "note" * 30) for second in range(1000)),
            path=str(path),
        )
    )


def write_samples(path: Path) -> None:
    samples = (
        powerboard.Sample(float(second), 1.8e9 + second, 100.0, "") for second in range(1000)
    )
    powerboard.write_csv([path.parent], "sensor", {}, samples)


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "an export": ("window.csv", write_export),
    "pins": ("pins.txt", write_pins),
    "PowerBoard's readings": (powerboard.CSV_NAME, write_samples),
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_file_that_does_not_fit_leaves_what_was_there(what: str, tmp_path: Path) -> None:
    name, write = WRITERS[what]
    path = tmp_path / name
    path.write_text("before")
    with small_files(20_000), pytest.raises((PowertuiError, OSError), match="File too large"):
        write(path)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    write(path)
    assert path.stat().st_size > 20_000


def test_a_state_that_does_not_fit_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert write_state(path, "before")
    with small_files(20_000):
        assert not write_state(path, "x" * 100_000)
    assert path.read_text() == '"before"'
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_the_mark_for_tensorboard_that_does_not_fit_is_not_there(tmp_path: Path) -> None:
    with small_files(10), pytest.raises(OSError, match="File too large"):
        powerboard.write_marker(tmp_path, "folder")
    assert not [entry for entry in tmp_path.rglob("*") if entry.is_file()]
