"""The folder from which a person asks: paths in answers are written as they are typed there, also
where a worker in another folder answers.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from contextvars import ContextVar

from powertui.data import elsewhere

_folder: ContextVar[str | None] = ContextVar("asking_folder", default=None)


def asking_folder() -> str:
    """The folder; this program's own unless somebody elsewhere asks. "" where it is gone."""
    folder = _folder.get()
    if folder is not None:
        return folder
    try:
        return os.getcwd()  # noqa: PTH109 # asked for with every path of thousands of runs
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
    return _typed_in(elsewhere.shown(path), asking_folder())


@functools.lru_cache(maxsize=64)
def _typed_in(path: str, folder: str) -> str:
    """Kept: several lines of an answer name the same path."""
    if path == "-" or not folder or not os.path.isabs(path):  # noqa: PTH117
        return path
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:
        return path
    return relative if len(relative) < len(path) else path
