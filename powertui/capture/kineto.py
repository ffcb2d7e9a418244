"""A profile of a PyTorch program that runs, where it was started for that: Kineto asks its daemon
every few seconds for something to do, and for the length of a capture that is us.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from powertui.capture import dynolog, profile_file
from powertui.capture.dynolog import Daemon
from powertui.capture.other_makers import INSTRUCTIONS
from powertui.capture.problems import ProfileLost
from powertui.errors import CaptureError, UsageError

__all__ = ["ready", "stopped", "take"]

FIRST_REQUEST_S = 45.0  # without a daemon it tries for 10 s, and waits for 5
_PROFILE_TIMEOUT_S = 120.0  # it warms up for 5 s, and writes what may be a large file
# beyond the asked time: it looks every 5 s, waits for a daemon for up to 10, warms up for 5, and
# writes
TYPICAL_S = 25.0
_REPORT_PERIOD_S = 0.25
_END_BYTES = 16  # the last bracket, and the blanks and line ends behind it
_SETTLED_S = 1.0  # without change, after which a file that ends like JSON is whole


def ready(pid: int) -> bytes:
    """Where this process looks for its daemon. Raises why it cannot be asked."""
    if sys.platform != "linux":
        raise CaptureError(
            "Kineto can be asked for a profile only on Linux.",
            hint="Profile in the program: torch.profiler.",
        )
    # The environment that it was started with: /proc shows no variable that it has set since.
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        raise UsageError(f"There is no process {pid}.") from None
    except PermissionError:
        raise CaptureError(
            f"Process {pid} belongs to somebody else.", hint="Capture as the user that runs it."
        ) from None
    environ = {name: value for name, _, value in (line.partition(b"=") for line in variables)}
    if not environ.get(b"KINETO_USE_DAEMON"):
        raise CaptureError(
            f"Process {pid} was not started with KINETO_USE_DAEMON.", hint=INSTRUCTIONS["pytorch"]
        )
    return dynolog.socket_of(environ)


def take(
    pid: int,
    seconds: float,
    folder: Path,
    on_wait: Callable[[float, float], bool] = lambda _past_s, _limit_s: False,
) -> Path:
    """Ask for a profile, and wait for its file.

    `on_wait(past_s, limit_s)` returns True to stop waiting.
    """
    host = "".join(c if c.isalnum() or c in "-." else "_" for c in socket.gethostname())
    path = folder / f"{host}_{pid}.{time.time_ns() // 10**6}.pt.trace.json"
    daemon_socket = ready(pid)
    folder.mkdir(parents=True, exist_ok=True)
    order = (
        "PROFILE_START_TIME=0\n"  # as soon as it has warmed up
        f"ACTIVITIES_DURATION_MSECS={round(seconds * 1000)}\n"
        f"ACTIVITIES_LOG_FILE={path}\n"
    )
    begun = time.monotonic()
    last_report = begun - _REPORT_PERIOD_S
    trace = _TraceFile(path, begun)
    limit_s = FIRST_REQUEST_S
    with Daemon(daemon_socket, pid, order, dynolog.user_of(pid)) as daemon:
        while True:
            # Once Kineto has taken the order, the wait is for the profile alone.
            limit_s = seconds + _PROFILE_TIMEOUT_S if daemon.ordered else FIRST_REQUEST_S
            if time.monotonic() - begun >= limit_s:
                break
            daemon.look(_REPORT_PERIOD_S)
            now = time.monotonic()
            if now - last_report < _REPORT_PERIOD_S:
                continue  # a message ended the look early
            last_report = now
            if on_wait(now - begun, limit_s):
                raise stopped(folder)
            settled = trace.look(now)
            if settled and trace.written is not None and _is_complete(trace.written):
                return trace.written
            if settled and not _runs(pid):
                raise ProfileLost(
                    f"Process {pid} ended before its profile was written.",
                    hint=_put_away(trace.written),
                )
    if not daemon.asked:
        raise CaptureError(
            f"Process {pid} did not ask for anything to profile within {FIRST_REQUEST_S:g} s.",
            hint="It has not imported torch, or its torch is older than 2.0, or it runs in a "
            "container with its own network: "
            "capture inside that.",
        )
    if not daemon.ordered:
        raise CaptureError(
            f"Process {pid} is taking another profile already.",
            hint="Wait until the program's own profiling is over.",
        )
    raise ProfileLost(
        f"Process {pid} did not write a whole profile to {folder} within {limit_s:.3g} s.",
        hint=_put_away(_written(path))
        or (
            "Kineto writes where the program may write, and only while it runs ops. Its "
            "messages are on the program's terminal."
        ),
    )


class _TraceFile:
    """The file that Kineto writes, and since when its size is what it is."""

    def __init__(self, path: Path, begun: float) -> None:
        self._path = path
        self._size = -1  # bytes; -1: it is not there
        self._unchanged_since = begun  # on the steady clock
        self.written: Path | None = None

    def look(self, now: float) -> bool:
        """Whether nothing has changed for as long as a writer never pauses."""
        self.written = _written(self._path)
        if self.written is not None:
            size = self.written.stat().st_size
        else:
            size = -1
        if size != self._size:
            self._size, self._unchanged_since = size, now
        return now - self._unchanged_since >= _SETTLED_S


def stopped(folder: Path) -> CaptureError:
    """Somebody did not want to wait any longer."""
    return ProfileLost(
        "Stopped before Kineto had written its profile, which cannot be ended early.",
        hint=f"It may still write it, to {folder}.",
    )


def _put_away(path: Path | None) -> str:
    """Take a trace that ends in the middle from its final name, and report what became of it; ""
    where there is none.
    """
    if path is None:
        return ""
    aside = profile_file.set_aside(path)
    if aside is None:
        cut = f"{path} ends in the middle and is not a whole profile."
        return f"{cut} You do not have permission to rename it."
    return f"What was written of the profile ends in the middle. It is kept in {aside}."


def _runs(pid: int) -> bool:
    """A program that was killed stays listed until its parent has heard of it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])


def _written(path: Path) -> Path | None:
    """The file: under its name, or with the pid that Kineto puts into it."""
    stem = path.name.removesuffix(".pt.trace.json")
    for candidate in path.parent.iterdir():
        name = candidate.name
        if name.startswith(stem) and name.endswith(".json") and candidate.is_file():
            return candidate
    return None


def _is_complete(path: Path) -> bool:
    """Whether it ends as JSON does: reading all of what may be gigabytes would take minutes."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_BYTES))
        return file.read().rstrip().endswith((b"}", b"]"))
