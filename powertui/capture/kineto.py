"""A profile of a PyTorch program that runs, where it was started for that: Kineto asks its daemon every few seconds for something
to do, and for the length of a capture that is us."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from powertui.capture import dynolog
from powertui.capture.dynolog import Daemon
from powertui.capture.others import TOLD
from powertui.errors import CaptureError, UsageError

__all__ = ["ready", "stopped", "take"]

ASKS_S = 45.0  # without a daemon it tries for 10 s, and waits for 5
PATIENCE_S = 120.0  # it warms up for 5 s, and writes what may be a large file
_TELL_S = 0.25
_QUIET_S = 1.0  # without change, after which a file that ends like JSON is whole


def ready(pid: int) -> bytes:
    """Where this process looks for its daemon. Raises why it cannot be asked."""
    if sys.platform != "linux":
        raise CaptureError("Kineto can be asked for a profile only on Linux.", hint="Profile in the program: torch.profiler.")
    try:
        listed = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        raise UsageError(f"There is no process {pid}.") from None
    except PermissionError:
        raise CaptureError(f"Process {pid} belongs to somebody else.", hint="Capture as the user that runs it.") from None
    environ = {name: value for name, _, value in (one.partition(b"=") for one in listed)}
    if not environ.get(b"KINETO_USE_DAEMON"):
        raise CaptureError(f"Process {pid} was not started with KINETO_USE_DAEMON.", hint=TOLD["pytorch"])
    return dynolog.socket_of(environ)


def take(pid: int, seconds: float, folder: Path, told: Callable[[float], bool] = lambda _: False) -> Path:
    """Ask for a profile, and wait for its file. `told` hears how long we have waited, and may end that with True."""
    name = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in socket.gethostname())
    path = folder / f"{name}_{pid}.{time.time_ns() // 10**6}.pt.trace.json"
    where = ready(pid)
    folder.mkdir(parents=True, exist_ok=True)
    order = f"PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS={round(seconds * 1000)}\nACTIVITIES_LOG_FILE={path}\n"
    begun = time.monotonic()
    size, since, last = -1, begun, begun - _TELL_S
    with Daemon(where, pid, order, dynolog.user_of(pid)) as daemon:
        while time.monotonic() - begun < (seconds + PATIENCE_S if daemon.ordered else ASKS_S):
            daemon.look(_TELL_S)
            now = time.monotonic()
            if now - last >= _TELL_S:
                last = now
                if told(now - begun):
                    raise stopped()
                written = _written(path)
                there = written.stat().st_size if written is not None else -1
                size, since = there, since if there == size else now
                if written is not None and now - since >= _QUIET_S and _whole(written):
                    return written
                if not Path(f"/proc/{pid}").exists() and now - since >= _QUIET_S:
                    raise CaptureError(f"Process {pid} ended before its profile was written.")
    if not daemon.asked:
        raise CaptureError(
            f"Process {pid} did not ask for anything to profile within {ASKS_S:g} s.",
            hint="It has not imported torch, or its torch is older than 2.0, or it runs in a container with its own network: "
            "capture inside that.",
        )  # fmt: skip
    if not daemon.ordered:
        raise CaptureError(
            f"Process {pid} is taking another profile already.", hint="Wait until the program's own profiling is over."
        )
    raise CaptureError(
        f"Process {pid} wrote no profile to {folder}.",
        hint="Kineto writes where the program may write, and only while it runs ops. Its messages are on the program's terminal.",
    )  # fmt: skip


def stopped() -> CaptureError:
    """Somebody did not want to wait any longer."""
    return CaptureError("Stopped before Kineto had written its profile, which cannot be ended early.")


def _written(path: Path) -> Path | None:
    """The file: under its name, or with the pid that Kineto puts into it."""
    stem = path.name.removesuffix(".pt.trace.json")
    return next((one for one in path.parent.iterdir() if one.name.startswith(stem) and one.name.endswith(".json")), None)


def _whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 16))
        return file.read().rstrip().endswith((b"}", b"]"))
