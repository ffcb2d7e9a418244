"""Freezing processes as `docker pause` does: by the freezer of control groups, version 1 or 2,
where root may make a group.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.waiting import until

_MOUNTS = Path("/proc/self/mounts")


def groups() -> dict[str, Path]:
    """Where each version of the freezer is mounted, and may be used."""
    found: dict[str, Path] = {}
    for line in _MOUNTS.read_text().splitlines() if _MOUNTS.exists() else ():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup" and "freezer" in options.split(","):
            found.setdefault("freezer of version 1", Path(folder))
        elif kind == "cgroup2":
            found.setdefault("freezer of version 2", Path(folder))
    return {name: folder for name, folder in found.items() if os.geteuid() == 0 and _works(folder)}


def _works(mount: Path) -> bool:
    """Whether we may make a group there that has a freezer."""
    folder = mount / f"powertui-test-{uuid.uuid4().hex}"
    try:
        folder.mkdir()
        made = any((folder / name).exists() for name in ("freezer.state", "cgroup.freeze"))
        folder.rmdir()
    except OSError:
        return False
    return made


class Freezer:
    """One group with some processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = folder / "freezer.state"

    def freeze(self) -> None:
        """Returns when nothing in it runs any more."""
        if self._state.exists():
            self._state.write_text("FROZEN")
            until(lambda: self._state.read_text() == "FROZEN\n")
        else:
            (self._folder / "cgroup.freeze").write_text("1")
            until(lambda: "frozen 1" in (self._folder / "cgroup.events").read_text())

    def thaw(self) -> None:
        if self._state.exists():
            self._state.write_text("THAWED")
            until(lambda: self._state.read_text() == "THAWED\n")
        else:
            (self._folder / "cgroup.freeze").write_text("0")
            until(lambda: "frozen 0" in (self._folder / "cgroup.events").read_text())


@contextlib.contextmanager
def frozen_group(mount: Path, pids: Iterable[int]) -> Iterator[Freezer]:
    """These processes in a group of their own; back in the root group, and running, at the end."""
    folder = mount / f"powertui-test-{uuid.uuid4().hex}"
    folder.mkdir()
    freezer = Freezer(folder)
    try:
        for pid in pids:
            (folder / "cgroup.procs").write_text(str(pid))
        yield freezer
    finally:
        with contextlib.suppress(OSError):
            freezer.thaw()
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (mount / "cgroup.procs").write_text(pid)
        until(lambda: not (folder / "cgroup.procs").read_text().split())
        folder.rmdir()
