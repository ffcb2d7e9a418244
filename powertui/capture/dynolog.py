"""What Kineto asks of its daemon, dynolog: whether there is anything to profile. For as long as a
capture takes, we are the daemon.

A program that was started with KINETO_USE_DAEMON sends a datagram to the socket `dynolog` every few
seconds, and is answered with what to record, or with nothing. Who it is that asks, the kernel says.
PyTorch understands this since 2.0; the signal that was another way has been taken out of it.

Where KINETO_IPC_SOCKET_DIR names a folder, the socket lies in there. That name comes from another
program's environment, and we may be root: `_Folder` says which folders are used, and what is done
in them is done with the rights of that program's user.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from types import TracebackType

from powertui.errors import CaptureError
from powertui.value_types import dataclass

__all__ = ["Daemon", "ProcessUser", "socket_of", "user_of"]

NAME = b"\0dynolog\0"  # an abstract name, with the 0 at its end that Kineto gives it
# Size of what follows, and of what kind it is: as the machine has them.
_HEAD = struct.Struct("@N32s")
_REQUEST = struct.Struct("@iiq")  # what may be asked for (bits), count of pids behind it, job
_ACTIVITIES = 2
_CREDENTIALS = struct.Struct("@iII")  # pid, user, group
_MAX_DATAGRAM_BYTES = 1 << 16
# Linux alone has it, and Kineto's daemon exists there alone; other systems check the types of this
# file.
_O_PATH: int = getattr(os, "O_PATH", 0)
_MAX_DATAGRAMS = 64  # datagrams in one look: whoever sends more does not hold us up


@dataclass(frozen=True)
class ProcessUser:
    """Whose files a process may touch."""

    user_id: int = field(default_factory=os.geteuid)
    group_id: int = field(default_factory=os.getegid)


def user_of(pid: int) -> ProcessUser:
    """The user and group by which the kernel judges a process's access to files: the last of the
    four numbers of each.
    """
    fields = dict(
        line.partition(":")[::2] for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return ProcessUser(int(fields["Uid"].split()[3]), int(fields["Gid"].split()[3]))


def socket_of(environ: dict[bytes, bytes]) -> bytes:
    """Where a process with this environment looks for its daemon.

    Kineto ends its program when an answer comes from another name than this one, letter by letter:
    two slashes stay two.
    """
    folder = environ.get(b"KINETO_IPC_SOCKET_DIR", b"")
    return folder + b"/dynolog" if folder else NAME


@contextlib.contextmanager
def _files_as(user: ProcessUser) -> Iterator[None]:
    """What this thread does to files meanwhile, it does with this user's rights.

    Only root has to change anything for that.
    """
    if user.user_id == os.geteuid():
        yield
        return
    import ctypes

    libc = ctypes.CDLL(
        None, use_errno=True
    )  # the libc's own calls change one thread; os.seteuid changes all of them
    group_before = libc.setfsgid(user.group_id)
    user_before = libc.setfsuid(user.user_id)
    try:
        if (
            libc.setfsuid(-1) != user.user_id
        ):  # -1 is no user: it changes nothing, and answers who it is now
            raise PermissionError(errno.EPERM, "its user's permissions cannot be assumed")
        yield
    finally:
        libc.setfsuid(user_before)
        libc.setfsgid(group_before)


class _Folder:
    """The folder of the socket, opened once and checked: what happens to its name afterwards
    changes nothing.
    """

    def __init__(self, path: bytes, user: ProcessUser) -> None:
        self.shown = os.fsdecode(path)
        if not path.startswith(b"/"):
            raise self._refused(
                "it is not a whole path", "with KINETO_IPC_SOCKET_DIR as a path that begins with /"
            )
        self.descriptor = os.open(b"/", _O_PATH | os.O_CLOEXEC)
        try:
            names = [name for name in path.split(b"/") if name]
            for name in names[:-1]:
                self._enter(name, links_of_root=True)
            for name in names[-1:]:
                self._enter(name, links_of_root=False)
            self._check(user)
        except BaseException:
            self.close()
            raise

    def _enter(self, name: bytes, *, links_of_root: bool) -> None:
        """Go one folder down.

        Root's own links on the way (/var/run) may be followed, nobody else's.
        """
        parent = self.descriptor
        try:
            state = os.stat(name, dir_fd=parent, follow_symlinks=False)
            follow = links_of_root and stat.S_ISLNK(state.st_mode) and state.st_uid == 0
            if stat.S_ISLNK(state.st_mode) and not follow:
                raise self._refused(
                    f"{os.fsdecode(name)} in it is a link", "with the folder's own path"
                )
            flags = _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
            self.descriptor = os.open(name, flags, dir_fd=parent)
        except OSError as error:
            why = error.strerror or str(error)
            raise CaptureError(f"Kineto cannot be waited for in {self.shown}: {why}.") from None
        os.close(parent)

    def _check(self, user: ProcessUser) -> None:
        state = os.fstat(self.descriptor)
        if state.st_uid not in (0, user.user_id):
            raise self._refused(
                f"it belongs to user {state.st_uid}",
                "with a folder that only its own user can write to",
            )
        if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX:
            raise self._refused(
                "other users can rename what is in it", f"after: chmod go-w {self.shown}"
            )

    def _refused(self, why: str, remedy: str) -> CaptureError:
        return CaptureError(
            f"The program's KINETO_IPC_SOCKET_DIR, {self.shown}, is not used: {why}.",
            hint=f"Start the program {remedy}.",
        )

    def socket_inode(self) -> tuple[int, int] | None:
        """Which socket lies in it under dynolog's name: device and inode."""
        try:
            state = os.stat("dynolog", dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return None
        return (state.st_dev, state.st_ino) if stat.S_ISSOCK(state.st_mode) else None

    def remove(self, inode: tuple[int, int] | None) -> None:
        """Remove our socket; what somebody else has put in its place stays."""
        if inode is not None and self.socket_inode() == inode:
            with contextlib.suppress(OSError):
                os.unlink("dynolog", dir_fd=self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)


class Daemon:
    """Answers one process with an order, once, and everybody else with nothing."""

    def __init__(self, where: bytes, pid: int, order: str, user: ProcessUser | None = None) -> None:
        self._where = where
        self._pid = pid
        self._order = order.encode()
        self._user = user or ProcessUser()  # who runs the process
        self._folder: _Folder | None = None
        self._inode: tuple[int, int] | None = None
        self.asked = False  # by the process, whatever for
        self.ordered = False

    def __enter__(self) -> Daemon:
        if self._where[:1] != b"\0":
            self._folder = _Folder(self._where.removesuffix(b"/dynolog"), self._user)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            if sys.platform == "linux":  # nowhere else: kineto.ready()
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._socket.setblocking(False)
            self._bind()
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                raise self._unbound(error) from None
            raise
        return self

    def _bind(self) -> None:
        if self._folder is None:
            self._socket.bind(self._where)
            return
        with _files_as(self._user):
            # By its name, not through the folder's descriptor: Kineto compares the name that the
            # answers come from.
            self._socket.bind(self._where)
        self._inode = self._folder.socket_inode()
        if self._inode is None:
            raise OSError(errno.ENOTDIR, "the folder was replaced meanwhile")

    def _unbound(self, error: OSError) -> CaptureError:
        """Why it cannot be waited for."""
        shown = self._where.decode("utf-8", "replace")
        if error.errno != errno.EADDRINUSE:
            return CaptureError(
                f"Kineto cannot be waited for at {shown}: {error.strerror or error}."
            )
        if self._where[:1] != b"\0" and not _answered(self._where):
            return CaptureError(
                (
                    f"{shown} exists, and no program listens there. Probably a daemon or a capture "
                    "was killed."
                ),
                hint=f"If nothing uses it: rm {shown}",
            )
        return CaptureError(
            "dynolog is running here, or somebody else is capturing: Kineto has only one daemon.",
            hint=(
                f"Ask dynolog itself: dyno gputrace --pids {self._pid} --log-file FILE.json, "
                "then: powertui FILE.json"
            ),
        )

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._socket.close()
        if self._folder is not None:
            with contextlib.suppress(OSError), _files_as(self._user):
                self._folder.remove(self._inode)
            self._folder.close()
            self._folder = None

    def look(self, seconds: float) -> None:
        """Answer whoever asks, at once: Kineto waits for 50 ms.

        Nobody asking, it returns after so many seconds.
        """
        if not select.select([self._socket], [], [], seconds)[0]:
            return
        for _ in range(_MAX_DATAGRAMS):
            try:
                data, ancillary, _, sender = self._socket.recvmsg(
                    _MAX_DATAGRAM_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size)
                )
            except OSError:
                return
            if self._may_answer(sender) and len(data) >= _HEAD.size:
                answer = self._answer(data, _pid(ancillary))
                if answer:
                    with contextlib.suppress(OSError), _files_as(self._user):  # it may be gone
                        self._socket.sendto(answer, sender)

    def _may_answer(self, sender: str | bytes | None) -> bool:
        """Whether it asks from where Kineto asks from: a sender chooses its name, and could give
        that of any socket here.
        """
        if not sender:
            return False
        name = os.fsencode(sender)
        if self._folder is None:
            return name.startswith(b"\0")
        folder, _, _ = self._where.rpartition(b"/")
        return name.rpartition(b"/")[0] == folder

    def _answer(self, data: bytes, pid: int) -> bytes:
        kind = _HEAD.unpack_from(data)[1].rstrip(b"\0")
        if kind == b"ctxt":  # it says that it is there, and is told how many are
            return _HEAD.pack(4, kind) + struct.pack("@i", 1)
        if kind != b"req":  # nothing that Kineto asks: what others write is not sent on
            return b""
        order = b""
        if pid == self._pid and len(data) >= _HEAD.size + _REQUEST.size:
            self.asked = True
            if _REQUEST.unpack_from(data, _HEAD.size)[0] & _ACTIVITIES and not self.ordered:
                order, self.ordered = self._order, True
        return _HEAD.pack(len(order), kind) + order


def _answered(path: bytes) -> bool:
    """Whether some program has this socket open."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        try:
            client.connect(path)
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True


def _pid(ancillary: list[tuple[int, int, bytes]]) -> int:
    if sys.platform == "linux":
        for level, kind, data in ancillary:
            if (
                level == socket.SOL_SOCKET
                and kind == socket.SCM_CREDENTIALS
                and len(data) >= _CREDENTIALS.size
            ):
                pid: int = _CREDENTIALS.unpack_from(data)[0]
                return pid
    return 0
