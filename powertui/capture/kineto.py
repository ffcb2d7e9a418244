"""A profile of a PyTorch program that runs, where it was started for that: Kineto reads a file when it is sent SIGUSR2.

Without its handler that signal ends a program. It is sent only where the kernel says that the process catches it, and where the
environment of the process says that it is Kineto that does.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from powertui.capture.others import TOLD
from powertui.errors import CaptureError, UsageError

__all__ = ["ON_DEMAND", "ready", "take"]

ON_DEMAND = Path("/tmp/libkineto.conf")  # Kineto has it nowhere else
PATIENCE_S = 90.0  # it begins by itself some 15 s later, and writes what may be a large file
_LOOK_S = 0.25
_QUIET = 4  # looks without change, after which a file that ends like JSON is whole


def ready(pid: int) -> None:
    """Raise why this process cannot be asked."""
    folder = Path(f"/proc/{pid}")
    try:
        environ = (folder / "environ").read_bytes().split(b"\0")
        status = (folder / "status").read_text()
    except FileNotFoundError:
        raise UsageError(f"There is no process {pid}.") from None
    except PermissionError:
        raise CaptureError(f"Process {pid} belongs to somebody else.", hint="Capture as the user that runs it.") from None
    caught = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt:")), 0)
    daemon = any(one.startswith(b"KINETO_USE_DAEMON=") and one != b"KINETO_USE_DAEMON=" for one in environ)
    if not daemon:
        raise CaptureError(f"Process {pid} was not started with KINETO_USE_DAEMON.", hint=TOLD["pytorch"])
    if not caught >> (signal.SIGUSR2 - 1) & 1:
        raise CaptureError(
            f"Process {pid} does not wait for SIGUSR2, which would end it: ENABLE_SIGUSR2=YES is missing in its Kineto config, "
            "or it has not imported torch yet.", hint=TOLD["pytorch"],
        )  # fmt: skip


def take(pid: int, seconds: float, folder: Path, told: Callable[[float], bool] = lambda _: False) -> Path:
    """Ask for a profile, and wait for its file. `told` hears how long we have waited, and may end that with True."""
    name = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in socket.gethostname())
    path = folder / f"{name}_{pid}.{time.time_ns() // 10**6}.pt.trace.json"
    folder.mkdir(parents=True, exist_ok=True)
    order = f"ACTIVITIES_DURATION_MSECS={round(seconds * 1000)}\nACTIVITIES_LOG_FILE={path}\n"
    begun = time.monotonic()
    with _ordered(order):
        ready(pid)  # once more: a process that just ended must not leave its number, and the signal, to another
        os.kill(pid, signal.SIGUSR2)
        size, quiet = -1, 0
        while time.monotonic() - begun < seconds + PATIENCE_S:
            if told(time.monotonic() - begun):
                break
            time.sleep(_LOOK_S)
            written = _written(path)
            now = written.stat().st_size if written is not None else -1
            quiet = quiet + 1 if now == size else 0
            size = now
            if written is not None and quiet >= _QUIET and _whole(written):
                return written
            if not Path(f"/proc/{pid}").exists() and quiet >= _QUIET:
                raise CaptureError(f"Process {pid} ended before its profile was written.")
    raise CaptureError(
        f"Process {pid} wrote no profile to {folder}.",
        hint="Kineto writes where the program may write, and only while it runs ops. Its messages are on the program's terminal.",
    )  # fmt: skip


def _written(path: Path) -> Path | None:
    """The file: under its name, or with what some versions of Kineto add to it."""
    stem = path.name.removesuffix(".pt.trace.json")
    return next((one for one in path.parent.iterdir() if one.name.startswith(stem) and one.name.endswith(".json")), None)


def _whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 16))
        return file.read().rstrip().endswith((b"}", b"]"))


@contextmanager
def _ordered(order: str) -> Iterator[None]:
    """The file that Kineto reads, for as long as it is asked. What somebody else put there is not touched."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        handle = os.open(ON_DEMAND, flags, stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH)
    except FileExistsError:
        raise CaptureError(f"{ON_DEMAND} is there already: somebody else asks Kineto.", hint="Remove it if nobody does.") from None
    except OSError as error:
        raise CaptureError(f"{ON_DEMAND} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "w") as file:
            file.write(order)
        yield
    finally:
        ON_DEMAND.unlink(missing_ok=True)
