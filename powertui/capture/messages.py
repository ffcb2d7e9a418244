"""What is said to a profiler server, and what it answers: `tensorflow.ProfilerService`, field by
field.

Of the request's two durations both servers take the one in its options; older ones took the other.
Both are sent.
"""

from __future__ import annotations

import numpy as np

from powertui.data.wire import hop
from powertui.data.wire.writing import flag, message, number, text
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

__all__ = [
    "PROFILE",
    "TERMINATE",
    "ProfileRequest",
    "ServerAnswer",
    "answer",
    "profile",
    "terminate",
]

PROFILE = "/tensorflow.ProfilerService/Profile"
TERMINATE = "/tensorflow.ProfilerService/Terminate"

# What servers before TensorFlow 2.2 send back by themselves; newer ones write a file and take no
# notice.
_TOOLS = (
    "trace_viewer",
    "op_profile",
    "input_pipeline",
    "kernel_stats",
    "memory_viewer",
    "overview_page",
    "tensorflow_stats",
)
_MAX_EVENTS = 1_000_000  # as in the requests of TensorFlow's own client
_OPTIONS_VERSION = 1


@dataclass(frozen=True)
class ProfileRequest:
    """What a person asked of a capture."""

    seconds: float = 2.0
    host_level: int = (
        2  # as the profilers have it by default: 2 is what a program calls, 3 adds much detail
    )
    device_level: int = 1
    python_level: int = 0
    hlo: bool = True  # the compiled programs too: names and shapes of ops come from there
    # beyond `seconds`, for the server's answer: writing a profile of 100 MB takes a few seconds
    patience_s: float = 30.0

    @property
    def limit_s(self) -> float:
        """How long an answer is waited for, from when the server was asked."""
        return self.seconds + self.patience_s


class ServerAnswer(NamedTuple):
    """What the server says of a capture. The profile itself it writes to its own disk."""

    empty: bool
    results: tuple[
        tuple[str, bytes], ...
    ]  # of old servers: (name, content) of each of the tools' results


def profile(asked: ProfileRequest, root: str, session: str, host: str) -> bytes:
    """A request to profile from now on and to write root/session/host.xplane.pb."""
    if not (
        root and session and host
    ):  # a server that is not told where drops a nameless file into its own folder
        raise ValueError("a profile needs a folder, a session and a host")
    length = round(asked.seconds * 1000)
    options = (
        number(2, asked.host_level)
        + number(3, asked.device_level)
        + number(4, asked.python_level)
        + number(5, _OPTIONS_VERSION)
        + flag(7, asked.hlo)
        + number(9, length)
    )
    tools = b"".join(text(3, name) for name in _TOOLS)
    where = text(5, root) + text(6, session) + text(7, host)
    return number(1, length) + number(2, _MAX_EVENTS) + tools + message(4, options) + where


def terminate(session: str) -> bytes:
    """A request to end this session now; the server writes what it has."""
    return text(1, session)


def answer(body: bytes) -> ServerAnswer:
    """What a server answered. Fields that are not known are passed over."""
    data = np.frombuffer(body, np.uint8)
    fields = hop(data, 0, len(data))
    results = []
    for lo, hi in zip(*fields.ranges(6), strict=True):
        result = hop(data, int(lo), int(hi))
        name = body[slice(*result.payload(1))].decode("utf-8", "replace")
        content = body[slice(*result.payload(2))]
        results.append((name, content))
    return ServerAnswer(bool(fields.integer(7)), tuple(results))
