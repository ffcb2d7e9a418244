"""Files that appear whole or not at all, and never in place of another one unless that was asked
for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from powertui.errors import PowertuiError, UsageError
from powertui.opening import open_pipe_for_writing

STDOUT = "-"


class AlreadyExists(UsageError):
    """A file that nobody said to replace."""


def look(path: str) -> tuple[Path, Literal["nothing", "folder", "file"]]:
    """The path that a person typed, and what is there now.

    Raises `PowertuiError` for one that no file can have.
    """
    try:
        place = Path(path).expanduser()
        kind = stat.S_IFMT(place.stat().st_mode)
    except FileNotFoundError:
        return place, "nothing"
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL in it, ~nobody
        raise _cannot(path, error) from None
    return place, "folder" if kind == stat.S_IFDIR else "file"


def refuse_existing(path: str, *, force: bool) -> None:
    """Raise what `opened` would raise for this path, before long work is done for it."""
    if path == STDOUT:
        return
    place, kind = look(path)
    if kind == "folder":
        raise UsageError(f"{path} is a folder.", hint="Name a file in it.")
    if kind == "file" and place.is_file() and not force:
        raise _exists(path)
    if not place.parent.is_dir():
        raise _cannot(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))


@contextlib.contextmanager
def opened(path: str, *, force: bool = False) -> Iterator[BinaryIO]:
    """A stream to write to. What was written becomes the file when the block ends; after an error
    nothing is there.

    "-" is standard output. Something that is no regular file (a pipe, a terminal) is written to as
    it is.
    """
    if path == STDOUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(path)
    try:
        kind = stat.S_IFMT(place.stat().st_mode)
    except FileNotFoundError:
        kind = 0
    except (OSError, ValueError) as error:
        raise _cannot(path, error) from None
    if kind == stat.S_IFDIR:
        raise UsageError(f"{path} is a folder.", hint="Name a file in it.")
    if kind == stat.S_IFREG and not force:
        raise _exists(path)
    if kind not in (0, stat.S_IFREG):
        try:
            stream: BinaryIO = open_pipe_for_writing(place)
        except OSError as error:
            raise _cannot(path, error) from None
        with stream:
            yield stream
        return
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{place.name[:40]}-",
            suffix=".part",
            dir=place.parent,
        )
    except OSError as error:
        raise _cannot(path, error) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_umask())
        _settle(Path(name), place, force)
    except OSError as error:
        raise _cannot(path, error) from None
    finally:
        Path(name).unlink(missing_ok=True)


def _settle(part: Path, place: Path, force: bool) -> None:
    if force:
        part.replace(place)
        return
    try:
        place.hardlink_to(part)  # fails when the file has appeared meanwhile: a rename would not
    except FileExistsError:
        raise _exists(str(place)) from None
    except OSError as error:
        # File systems without hard links (FAT, some network mounts): the check is as good as it can
        # be there.
        if error.errno not in (
            errno.EPERM,
            errno.ENOTSUP,
            errno.EOPNOTSUPP,
            errno.EMLINK,
            errno.ENOSYS,
            errno.EACCES,
        ):
            raise
        if place.exists():
            raise _exists(str(place)) from None
        part.rename(place)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _exists(path: str) -> AlreadyExists:
    return AlreadyExists(
        f"{path} already exists.", hint="Use --force to replace it, or give another name."
    )


def _cannot(path: str, error: Exception) -> PowertuiError:
    why = getattr(error, "strerror", None) or error.__class__.__name__
    if len(path) > 200:
        path = path[:200] + "…"
    return PowertuiError(
        f"{path}: cannot be written ({why}).",
        hint="Check the free space and your permissions there.",
    )
