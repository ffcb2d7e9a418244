"""What Kineto asks of its daemon, dynolog: whether there is anything to profile. For as long as a capture takes, we are the daemon.

A program that was started with KINETO_USE_DAEMON sends a datagram to the socket `dynolog` every few seconds, and is answered with
what to record, or with nothing. Who it is that asks, the kernel says. PyTorch understands this since 2.0; the signal that was
another way has been taken out of it.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import sys
from pathlib import Path
from types import TracebackType

from powertui.errors import CaptureError

__all__ = ["Daemon", "socket_of"]

NAME = b"\0dynolog\0"  # an abstract name, with the 0 at its end that Kineto gives it
_HEAD = struct.Struct("@N32s")  # size of what follows, and of what kind it is: as the machine has them
_REQUEST = struct.Struct("@iiq")  # what may be asked for (bits), count of pids behind it, job
_ACTIVITIES = 2
_CREDENTIALS = struct.Struct("@iII")  # pid, user, group
_MOST = 1 << 16
_PAST = 64  # datagrams in one look: whoever sends more does not hold us up


def socket_of(environ: dict[bytes, bytes]) -> bytes:
    """Where a process with this environment looks for its daemon."""
    folder = environ.get(b"KINETO_IPC_SOCKET_DIR", b"")
    return folder.rstrip(b"/") + b"/dynolog" if folder else NAME


class Daemon:
    """Answers one process with an order, once, and everybody else with nothing."""

    def __init__(self, where: bytes, pid: int, order: str) -> None:
        self._where, self._pid, self._order = where, pid, order.encode()
        self.asked = False  # by the process, whatever for
        self.ordered = False

    def __enter__(self) -> Daemon:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            if sys.platform == "linux":  # nowhere else: kineto.ready()
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._socket.setblocking(False)
            self._socket.bind(self._where)
        except OSError as error:
            self._socket.close()
            if error.errno == errno.EADDRINUSE:
                raise CaptureError(
                    "dynolog runs here, or somebody else captures: Kineto has one daemon.",
                    hint=f"Ask dynolog itself: dyno gputrace --pids {self._pid} --log-file FILE.json, then: powertui FILE.json",
                ) from None
            shown = self._where.decode("utf-8", "replace")
            raise CaptureError(f"Kineto cannot be waited for at {shown}: {error.strerror or error}.") from None
        return self

    def __exit__(self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._socket.close()
        if self._where[:1] != b"\0":
            with contextlib.suppress(OSError):
                Path(self._where.decode("utf-8", "surrogateescape")).unlink()

    def look(self, seconds: float) -> None:
        """Answer whoever asks, at once: Kineto waits for 50 ms. Nobody asking, it returns after so many seconds."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return
        for _ in range(_PAST):
            try:
                data, told, _, sender = self._socket.recvmsg(_MOST, socket.CMSG_SPACE(_CREDENTIALS.size))
            except OSError:
                return
            if sender and len(data) >= _HEAD.size:
                answer = self._answer(data, _pid(told))
                with contextlib.suppress(OSError):  # it may be gone
                    self._socket.sendto(answer, sender)

    def _answer(self, data: bytes, pid: int) -> bytes:
        kind = _HEAD.unpack_from(data)[1].rstrip(b"\0")
        if kind == b"ctxt":  # it says that it is there, and is told how many are
            return _HEAD.pack(4, kind) + struct.pack("@i", 1)
        order = b""
        if pid == self._pid and kind == b"req" and len(data) >= _HEAD.size + _REQUEST.size:
            self.asked = True
            if _REQUEST.unpack_from(data, _HEAD.size)[0] & _ACTIVITIES and not self.ordered:
                order, self.ordered = self._order, True
        return _HEAD.pack(len(order), kind) + order


def _pid(told: list[tuple[int, int, bytes]]) -> int:
    if sys.platform == "linux":
        for level, kind, data in told:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and len(data) >= _CREDENTIALS.size:
                pid: int = _CREDENTIALS.unpack_from(data)[0]
                return pid
    return 0
