"""Processes beside the screens that read hosts: the same run, whatever becomes of them, and nobody
left behind.

They are made where there is no other thread, and other tests may leave some: test_host_workers runs
this file in a process of its own.
"""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import active_children
from pathlib import Path

import pytest

from powertui.data import host_workers, logdir
from powertui.data.asked import ReadOptions
from powertui.data.host_parts import HostReader
from powertui.data.loading import load_run
from powertui.data.model import Run
from tests.unit.many_hosts import write_hosts
from tests.waiting import until


@pytest.fixture(autouse=True)
def _alone() -> None:
    """What the test before this one started has ended."""
    until(lambda: threading.active_count() == 1 and not active_children())


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_hosts(tmp_path / "logs")


def read(logs: Path, reader: HostReader | None) -> Run:
    (entry,) = logdir.scan(str(logs)).runs
    return load_run(entry, options=ReadOptions(hosts=reader))


def facts(run: Run) -> list[tuple[str, int, list[int]]]:
    """What a run is, host by host."""
    return [
        (trace.host, trace.event_count, steps.start.tolist())
        for trace, steps in zip(run.traces, run.steps, strict=True)
    ]


class Noted:
    """Which processes read which questions: each writes its number beside the hosts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from powertui.data.tools import host_reading

        load_host = host_reading.loading.load_host

        def noting(entry: object, *others: object) -> object:
            (folder / f"read_by_{os.getpid()}").touch()
            return load_host(entry, *others)  # type: ignore[arg-type]

        monkeypatch.setattr(host_reading.loading, "load_host", noting)
        self._folder = folder

    @property
    def readers(self) -> set[int]:
        return {int(path.name.rpartition("_")[2]) for path in self._folder.glob("read_by_*")}


def test_hosts_are_read_beside_the_screens_with_the_same_answers(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = Noted(tmp_path, monkeypatch)
    before = active_children()
    with host_workers.reading_beside_screens() as reader:
        workers = {child.pid for child in active_children() if child not in before}
        run = read(logs, reader)
    assert facts(run) == facts(read(logs, None))
    assert noted.readers
    assert noted.readers <= workers
    assert not run.warnings


def interrupted(before: int) -> None:
    """As a screen that ends in the middle of everything."""
    with host_workers.reading_beside_screens():
        assert len(active_children()) > before
        raise KeyboardInterrupt


def test_nobody_is_left_at_the_end_whatever_was_being_read(logs: Path) -> None:
    before = active_children()
    with pytest.raises(KeyboardInterrupt):
        interrupted(len(before))
    until(lambda: active_children() == before)


@pytest.mark.parametrize("allowed", [0, 1])
def test_where_a_process_cannot_be_made_hosts_are_read_here(
    logs: Path, monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    fork = os.fork
    made: list[int] = []

    def refuses() -> int:
        if len(made) >= allowed:
            raise BlockingIOError("Resource temporarily unavailable")
        made.append(0)
        return fork()

    before = active_children()
    monkeypatch.setattr(host_workers, "usable_cores", lambda: 2)
    monkeypatch.setattr(os, "fork", refuses)
    with host_workers.reading_beside_screens() as reader:
        until(lambda: active_children() == before)
        run = read(logs, reader)
    assert len(made) == allowed
    assert facts(run) == facts(read(logs, None))
    assert not run.warnings


def test_a_process_that_was_killed_is_said_and_its_hosts_are_read_here(logs: Path) -> None:
    before = active_children()
    with host_workers.reading_beside_screens() as reader:
        worker = next(child for child in active_children() if child not in before)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        until(lambda: not worker.is_alive())
        run = read(logs, reader)
    assert facts(run) == facts(read(logs, None))
    assert any("read here instead" in warning.cause for warning in run.warnings)
