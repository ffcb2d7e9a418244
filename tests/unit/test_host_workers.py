"""Hosts that are read beside the screens: in processes, and where none can answer any more."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from powertui.data import host_workers, logdir

from .many_hosts import write_hosts
from .processes_beside_screens import facts, read

_PROCESS_TESTS = Path(__file__).with_name("processes_beside_screens.py")


def test_processes_beside_the_screens() -> None:
    """In a process of its own: here other tests may have left threads."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(_PROCESS_TESTS)],
        cwd=_PROCESS_TESTS.parents[2],
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_hosts(tmp_path / "logs")


class _Stuck:
    """An executor that never answers, as one does whose process died while it wrote."""

    def submit(self, function: Callable[..., object], /, *args: object) -> object:
        from concurrent.futures import Future

        return Future()


class _Ended:
    """A process that is no more."""

    def is_alive(self) -> bool:
        return False


def test_an_executor_that_lost_a_process_is_not_waited_for(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from powertui.data import host_readers

    monkeypatch.setattr(host_readers, "_LOOK_EVERY_S", 0.0)
    workers = host_workers._Workers(_Stuck(), [_Ended()])  # type: ignore[arg-type, list-item]
    run = read(logs, host_readers.HostReading(cluster=workers))
    assert facts(run) == facts(read(logs, None))
    assert any("11 hosts were read here instead" in warning.cause for warning in run.warnings)


class _CountingStream(io.BytesIO):
    """A file of which is noted how many bytes were read."""

    def __init__(self, path: str, counts: list[int]) -> None:
        super().__init__(Path(path).read_bytes())
        self._counts = counts

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._counts.append(len(data))
        return data


def test_hosts_of_one_size_are_told_apart_by_their_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from powertui.data.logdir import run_files

    folder = tmp_path / "plugins" / "profile" / "2026_11_28_10_00_00"
    folder.mkdir(parents=True)
    body = bytes(1 << 20)
    for host in range(20):
        (folder / f"node{host:02}.xplane.pb").write_bytes(body + b"node%02d" % host)
    read_counts: list[int] = []
    monkeypatch.setattr(run_files, "open_regular", lambda path: _CountingStream(path, read_counts))
    (entry,) = logdir.scan(str(tmp_path)).runs
    assert len(entry.profiles) == 20
    assert sum(read_counts) == 20 * 4096


def test_two_of_three_hosts_with_the_same_bytes_are_counted_once(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "2026_11_28_10_00_00"
    folder.mkdir(parents=True)
    ending = bytes(4096)
    for host, body in (("a", b"x" * 300_000), ("b", b"y" * 300_000), ("c", b"x" * 300_000)):
        (folder / f"{host}.xplane.pb").write_bytes(body + ending)
    (entry,) = logdir.scan(str(tmp_path)).runs
    assert [profile.host for profile in entry.profiles] == ["a", "b"]
    (problem,) = entry.problems
    assert problem.cause.startswith("has the same bytes as a.xplane.pb")
