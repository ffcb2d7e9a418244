"""Where the cache of everything from elsewhere is, and how much of it is kept: the files that were
used last, up to a limit; never one that is open.

A file is in use while somebody holds its lock: it lasts as long as the open file, in whatever
process. When it was last used stands in its access time, which is set for that purpose; its other
time is that of the original.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import time
from collections.abc import Iterator
from pathlib import Path

from powertui.named_tuples import NamedTuple

# Bytes by which a file's kind is told. PyTorch traces that begin with the settings of the program
# have their first event behind 10 KB, packed (four public ones); at half of this they were no runs.
HEAD_BYTES = 16_384
MAX_CACHE_BYTES = 20 << 30  # bytes, and never more than half of what the disk could still hold
FOLDERS = os.path.join("powertui", "elsewhere")  # noqa: PTH118 # of the cache, wherever caches are
SIZE_VARIABLE = "POWERTUI_CACHE_SIZE"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def cache() -> Path:
    """The folder of everything that came from elsewhere; it may be deleted at any time."""
    return _cache(os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", ""))


@functools.lru_cache(maxsize=2)
def _cache(base: str, _: str) -> Path:
    """Put together once: it is asked for with every file that is opened."""
    if base.startswith("/"):
        top = Path(base)
    else:
        top = Path.home() / ".cache"
    return top / FOLDERS


class _KeptFile(NamedTuple):
    """One that came, or comes."""

    path: str
    size: int  # bytes on the disk
    used_ns: int
    is_contents: bool  # below `files`: its name stays when its contents go


def hold(file: int) -> None:
    """Keep an open file as long as it is open."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def used(path: str) -> None:
    """Note that a file is needed now."""
    with contextlib.suppress(OSError):
        status = os.stat(path)  # noqa: PTH116
        os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))


def limit(top: Path) -> int:
    """How many bytes may be kept."""
    text = os.environ.get(SIZE_VARIABLE, "").strip().upper().removesuffix("B").removesuffix("I")
    number, unit = text, ""
    if text and text[-1] in _UNITS:
        number = text[:-1]
        unit = text[-1]
    # isdecimal() alone takes the digits of other scripts, and int() a number of any length.
    if number.isdecimal() and number.isascii() and len(number) < 16:
        return int(number) * _UNITS[unit]
    import shutil  # only here: it imports bz2 and lzma

    with contextlib.suppress(OSError):
        # What is kept already counts as room, or each start would keep half as much as the last.
        room = shutil.disk_usage(top).free + sum(file.size for file in _files(top))
        return min(MAX_CACHE_BYTES, room // 2)
    return MAX_CACHE_BYTES


def _files(top: Path) -> Iterator[_KeptFile]:
    """Everything that takes room."""
    for folder, _, names in os.walk(top):
        inside = f"{os.sep}files{os.sep}" in folder[len(str(top)) :] + os.sep
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                if status.st_mode & 0o400 and (size := status.st_blocks * 512):
                    yield _KeptFile(
                        path,
                        size,
                        max(status.st_atime_ns, 0 if inside else status.st_mtime_ns),
                        inside,
                    )


def trim(top: Path, most: int, but: str = "") -> int:
    """Let go of what was used longest ago, until no more than so many bytes are kept; how many were
    let go. `but` stays.
    """
    files = sorted(_files(top), key=lambda file: file.used_ns)
    over = sum(file.size for file in files) - most
    gone = 0
    for file in files:
        if gone >= over:
            break
        if file.path != but and _let_go(file):
            gone += file.size
    return gone


def clear(top: Path) -> tuple[int, int]:
    """Delete all of it but what is open: (bytes that are gone, bytes that are still in use)."""
    gone = trim(top, 0)
    in_use = {file.path for file in _files(top)}
    for folder, _, names in os.walk(top, topdown=False):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            if path not in in_use:
                with contextlib.suppress(OSError):
                    os.unlink(path)  # noqa: PTH108
        with contextlib.suppress(OSError):  # it still holds something
            os.rmdir(folder)  # noqa: PTH106
    return gone, sum(file.size for file in _files(top))


def _let_go(file: _KeptFile) -> bool:
    try:
        opened = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(opened)
        if not file.is_contents:
            os.unlink(file.path)  # noqa: PTH108
            return True
        fresh = f"{file.path}.{os.getpid()}"
        made = os.open(
            fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o200
        )  # as before it came (mirror.py)
        try:
            os.ftruncate(made, status.st_size)
            os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(made)
        os.replace(fresh, file.path)  # noqa: PTH105
        return True
    except OSError:  # it is in use
        return False
    finally:
        os.close(opened)
