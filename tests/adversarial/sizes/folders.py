"""Folders that are large in one respect."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.adversarial.sizes.json_traces import CHROME_NAME, SMALL_TRACE, blanks
from tests.adversarial.sizes.shapes import FolderShape


def _files(root: Path, count: int) -> None:
    for i in range(count):
        (root / f"note{i}.csv").write_bytes(b"a,b\n1,2\n")


def _runs(root: Path, count: int) -> None:
    for i in range(count):
        run = root / "plugins" / "profile" / f"run{i}"
        run.mkdir(parents=True)
        (run / CHROME_NAME).write_bytes(SMALL_TRACE)


def _levels(root: Path, count: int) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(count):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def _links(target: str) -> Callable[[Path, int], None]:
    def make(root: Path, count: int) -> None:
        (root / CHROME_NAME).write_bytes(SMALL_TRACE)
        for i in range(count):
            (root / f"link{i}").symlink_to(target)

    return make


def _two_ways(root: Path, count: int) -> None:
    """Two links in each folder that lead to the next: 2 to the power of `count` paths."""
    (root / CHROME_NAME).write_bytes(SMALL_TRACE)
    for i in range(count):
        (root / f"f{i}").mkdir()
        (root / f"f{i}" / "a").symlink_to(root / f"f{i + 1}")
        (root / f"f{i}" / "b").symlink_to(root / f"f{i + 1}")


def _broken(root: Path, count: int) -> None:
    (root / CHROME_NAME).write_bytes(SMALL_TRACE)
    for i in range(count):
        (root / f"link{i}.trace.json").symlink_to(root / "gone")


FOLDERS = (
    FolderShape("folder: files", "logs", blanks, 200_000, make=_files),
    FolderShape("folder: runs", "logs", blanks, 5_000, make=_runs),
    FolderShape("folder: levels", "logs", blanks, 5_000, make=_levels),
    FolderShape("folder: links to /", "logs", blanks, 10, make=_links("/")),
    FolderShape("folder: links to itself", "logs", blanks, 10_000, make=_links(".")),
    FolderShape("folder: links to /proc", "logs", blanks, 10, make=_links("/proc")),
    FolderShape("folder: links two ways", "logs", blanks, 1_000, make=_two_ways),
    FolderShape("folder: links that lead nowhere", "logs", blanks, 20_000, make=_broken),
)
