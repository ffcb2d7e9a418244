"""Opening a file for what only its owner should read, where others may have laid something in the
way.

A recording names hosts and users of BMCs: it is made readable for its owner alone. It is never
written through a symbolic link of another user, who would choose by that which of our files is
overwritten, and in a folder that everybody may write to (/tmp) never into a file that somebody else
has put there to read it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from powertui.errors import UsageError

__all__ = ["open_own"]

_MAX_LINKS = 40  # one after another, as the kernel allows
_HINT = "Name another file with -o."


def open_own(path: Path) -> int:
    """A descriptor for reading and appending.

    Raises UsageError for what belongs to others, OSError for the rest.
    """
    for _ in range(_MAX_LINKS):
        try:
            fd = os.open(
                path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as error:
            if error.errno != errno.ELOOP or not path.is_symlink():
                raise
            path = _link_target(path)
            continue
        try:
            _check_owner(fd, path)
        except BaseException:
            os.close(fd)
            raise
        return fd
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _link_target(link: Path) -> Path:
    """Where a link of our own, or of the system, leads."""
    if link.lstat().st_uid not in (os.geteuid(), 0):
        raise UsageError(f"{link} is a symbolic link that belongs to another user.", hint=_HINT)
    return link.parent / link.readlink()


def _check_owner(fd: int, path: Path) -> None:
    mode = os.fstat(fd).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        raise UsageError(
            f"{path} is a pipe: a recording needs a file that keeps its rows.", hint=_HINT
        )
    about = os.fstat(fd)
    folder = path.parent.stat()
    shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    if stat.S_ISREG(about.st_mode) and shared and about.st_uid not in (os.geteuid(), folder.st_uid):
        raise UsageError(f"{path} belongs to another user.", hint=_HINT)
