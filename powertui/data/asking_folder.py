"""The folder from which a person asks: paths in answers are written as they are typed there, also
where a worker in another folder answers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from powertui.data import elsewhere

_folder: ContextVar[str | None] = ContextVar("asking_folder", default=None)


def asking_folder() -> str:
    """The folder; this program's own unless somebody elsewhere asks. "" where it is gone."""
    folder = _folder.get()
    if folder is not None:
        return folder
    try:
        return str(Path.cwd())
    except OSError:
        return ""


@contextlib.contextmanager
def asked_from(folder: str) -> Iterator[None]:
    """Answer for somebody who asks from this folder."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def path_as_typed(path: str) -> str:
    """A path as a person types it: relative where that is shorter, an address as it was given."""
    path = elsewhere.shown(path)
    folder = asking_folder()
    if path == "-" or not Path(path).is_absolute() or not folder:
        return path
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:
        return path
    return relative if len(relative) < len(path) else path
