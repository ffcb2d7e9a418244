"""Runs that lie elsewhere: ssh://host/folder, gs://bucket/folder, s3://bucket/folder.

    listed(address)      the folder as one of our own (mirror.py): all names, none of the contents
    at_hand(path)        called before a file is opened: brings it when it lies elsewhere and has
                         not come yet
    head(path, count)    its first bytes, without bringing it

Files of this machine pass through all of them untouched, at the cost of comparing two strings.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.elsewhere import keeping
from powertui.data.elsewhere.address import RemoteAddress, is_address, parse
from powertui.data.elsewhere.keeping import HEAD_BYTES, cache
from powertui.data.elsewhere.progress import TransferListener, TransferProgress, listening, report
from powertui.named_tuples import NamedTuple

if TYPE_CHECKING:
    from powertui.data.elsewhere.mirror import BytesProgress, LocalCopy, Mirror
    from powertui.data.model import Warn

__all__ = [
    "HEAD_BYTES",
    "NotedFiles",
    "TransferListener",
    "TransferProgress",
    "at_hand",
    "away",
    "gathered",
    "head",
    "hold",
    "is_address",
    "listed",
    "listening",
    "look",
    "parse",
    "report",
    "shown",
    "sum_of",
    "warning_text",
]


class NotedFiles(NamedTuple):
    """What was asked of files that have not come, to be had in one question for all."""

    heads: set[str]
    sums: set[str]


_gathering: contextvars.ContextVar[NotedFiles | None] = contextvars.ContextVar(
    "gathering", default=None
)


def listed(address: str, matters: Callable[[str], bool]) -> LocalCopy:
    """Ask what lies there. Raises `UsageError` and `UnreadableFile` with what is wrong."""
    from powertui.data.elsewhere.mirror import Mirror

    return Mirror(parse(address)).listed(matters)


def away(path: str) -> bool:
    """Whether a file lies elsewhere and has not come yet."""
    if _mirror(path) is None:
        return False
    try:
        return not os.lstat(path).st_mode & 0o400
    except OSError:
        return False


def at_hand(path: str, progress: BytesProgress | None = None) -> None:
    """Have a file here before it is opened. Raises `UnreadableFile` when it cannot be had."""
    mirror = _mirror(path)
    if mirror is None:
        return
    if away(path):
        mirror.bring(path, progress) if progress is not None else mirror.bring(path)
        keeping.trim(cache(), keeping.limit(cache()), path)
    keeping.used(path)


def hold(file: int, path: str) -> None:
    """A file that came from elsewhere stays while it is open."""
    if _mirror(path) is not None:
        keeping.hold(file)


def head(path: str, count: int) -> bytes | None:
    """The first bytes of a file that is away, at most `HEAD` of them; None for a file that
    is here.
    """
    if not away(path):
        return None
    return _answer_about(path, lambda mirror: mirror.head(path), lambda asked: asked.heads)[:count]


def sum_of(path: str) -> bytes | None:
    """What tells a file that is away from others of its size; None for a file that is here."""
    if not away(path):
        return None
    return _answer_about(path, lambda mirror: mirror.sum(path), lambda asked: asked.sums)


def _answer_about(
    path: str,
    stored: Callable[[Mirror], bytes | None],
    into: Callable[[NotedFiles], set[str]],
) -> bytes:
    mirror = _mirror(path)
    assert mirror is not None
    answer = stored(mirror)
    if answer is not None:
        return answer
    asked = _gathering.get()
    noted = asked if asked is not None else NotedFiles(set(), set())
    into(noted).add(path)
    if asked is not None:
        return b""
    look(noted)
    return stored(mirror) or b""


@contextlib.contextmanager
def gathered() -> Iterator[NotedFiles]:
    """While this goes on nobody is asked: what would be is noted, and answered with nothing."""
    asked = NotedFiles(set(), set())
    token = _gathering.set(asked)
    try:
        yield asked
    finally:
        _gathering.reset(token)


def look(asked: NotedFiles) -> None:
    """Have all that was noted."""
    mirrors = {
        str(mirror.files): mirror
        for path in (*asked.heads, *asked.sums)
        if (mirror := _mirror(path)) is not None
    }
    for place, mirror in mirrors.items():
        mine = [sorted(path for path in some if path.startswith(place + os.sep)) for some in asked]
        mirror.look(*mine)


def shown(path: str) -> str:
    """A path as a person knows it: the address, where the file lies elsewhere."""
    mirror = _mirror(path)
    return mirror.shown(path) if mirror is not None else path


def warning_text(warning: Warn) -> str:
    """A warning as a person reads it: its file as `shown`."""
    return str(replace(warning, file=shown(warning.file)))


def _mirror(path: str) -> Mirror | None:
    if keeping.FOLDERS not in path:  # nearly every path: nobody has to be asked where caches are
        return None
    top = str(cache()) + os.sep
    if not path.startswith(top):
        return None
    parts = path[len(top) :].split(os.sep, 3)
    if len(parts) <= 3 or parts[2] != "files":
        return None
    return _mirror_of(top, parts[0], parts[1])


@functools.lru_cache(maxsize=16)
def _mirror_of(_top: str, scheme: str, place: str) -> Mirror:
    """Kept: it is asked for three times with each of 200,000 names."""
    from powertui.data.elsewhere.mirror import Mirror

    return Mirror(RemoteAddress(scheme, place, "/"))
