"""What can go wrong with a profiler server, each in one sentence, with what to do."""

from __future__ import annotations

import errno
import os
import socket

from powertui.errors import CaptureError
from powertui.plain import plain

__all__ = [
    "NotWritten",
    "ProfileLost",
    "closed",
    "cut_file",
    "did_not_answer",
    "empty",
    "no_answer",
    "not_a_profiler",
    "not_asked",
    "not_waited_for",
    "refused",
    "takes_nothing",
    "too_old",
    "unreachable",
]

THREE_LINES = """\
The program has to start its server:
    TensorFlow   tf.profiler.experimental.server.start(6009)
    JAX          jax.profiler.start_server(9012)
    PyTorch      has none: powertui capture --help says what works there"""

_PORT = "Name the port that the program starts its server on."
_ROOM = "Make room there, or choose another --logdir."

# grpc-status of an answer
_EXISTS, _DENIED, _UNIMPLEMENTED = 6, 7, 12
_FULL_DISK_WORDS = ("no space left", "disk quota", "disk full")
_DENIED_WORDS = ("permission denied", "read-only file system")
_BUSY_WORDS = ("another profil", "only one profil", "session active")


class ProfileLost(CaptureError):
    """The profiler had begun, and its profile did not come: what was recorded beside it is worth
    keeping.
    """


class NotWritten(ProfileLost):
    """The server reports that it could not write the profile."""


def unreachable(where: str, error: OSError) -> CaptureError:
    """The connection could not be made."""
    if isinstance(error, socket.gaierror):
        return CaptureError(
            f"There is no host named {where.rpartition(':')[0]!r}.", hint="Check the address."
        )
    if isinstance(error, TimeoutError) or error.errno == errno.ETIMEDOUT:
        return CaptureError(
            f"{where} does not answer.",
            hint="Check the address, and whether a firewall is in between.",
        )
    if error.errno == errno.ECONNREFUSED:
        return CaptureError(f"Nothing listens at {where}.", hint=THREE_LINES)
    why = os.strerror(error.errno) if error.errno else str(error)
    return CaptureError(f"{where} cannot be reached: {why}.", hint="Check the address.")


def not_a_profiler(where: str, first: bytes) -> CaptureError:
    """It answered, but in no HTTP/2. Its first bytes tell what it is."""
    if first[:5] == b"HTTP/" and b"https" in first[:2000].lower():
        what = "requires TLS, which profiler servers do not have"
    elif first[:5] == b"HTTP/":
        what = "answers in HTTP/1, as web servers do (TensorBoard's own page, perhaps)"
    elif first[:2] in (b"\x15\x03", b"\x16\x03"):
        what = "requires TLS, which profiler servers do not have"
    elif first:
        what = "answers in an unknown protocol"
    else:
        what = "closes the connection"
    return CaptureError(f"{where} is not a profiler server: it {what}.", hint=_PORT)


def no_answer(where: str) -> CaptureError:
    """Connected, and then nothing."""
    return CaptureError(
        f"{where} is not a profiler server: it accepts the connection and sends nothing.",
        hint=(
            "Name the port that the program starts its server on. A tunnel whose far end is "
            "down behaves like this, too."
        ),
    )


def closed(where: str, why: str = "") -> CaptureError:
    """It went away in the middle of a capture."""
    because = f" ({plain(why, 120)})" if why else ""
    return ProfileLost(
        f"{where} closed the connection before the profile was written{because}.",
        hint="Check whether the program still runs.",
    )


def takes_nothing(where: str) -> CaptureError:
    """It speaks HTTP/2, and takes no request: it is ending, or is no such server."""
    return CaptureError(
        f"{where} does not accept requests.", hint=f"Check whether the program is ending. {_PORT}"
    )


def not_asked(where: str) -> CaptureError:
    """Ctrl+C while the servers were asked."""
    return CaptureError(f"Stopped before {where} was asked.")


def not_waited_for(where: str, path: str) -> CaptureError:
    """Ctrl+C, twice."""
    return ProfileLost(
        f"Stopped before {where} had written its profile.",
        hint=f"It may still write it, to {path}.",
    )


def did_not_answer(where: str, waited_s: float, path: str) -> CaptureError:
    """The deadline for its answer is over."""
    return ProfileLost(
        f"{where} did not answer within {waited_s:.3g} s.",
        hint=f"It may still write the profile, to {path}. To wait longer, use --patience 5min.",
    )


def cut_file(where: str, path: str) -> CaptureError:
    """The server answered that all is well, and its file ends in the middle."""
    return ProfileLost(
        f"{path} ends in the middle, although {where} answered that it is written.", hint=_ROOM
    )


def refused(where: str, status: int, message: str, path: str) -> CaptureError:
    """It answered with an error of its own."""
    words = plain(message, 300).strip()
    low = words.lower()
    if status == _UNIMPLEMENTED:
        return CaptureError(
            f"{where} is a gRPC server, but not a profiler server.",
            hint="Name the port of the profiler's server.",
        )
    # By its words too: servers report the same trouble under several codes.
    if _speaks_of(low, _FULL_DISK_WORDS):
        return NotWritten(f"The server's disk is full: it could not write {path}.", hint=_ROOM)
    if status == _DENIED or _speaks_of(low, _DENIED_WORDS):
        return NotWritten(
            f"The server does not have permission to write {path}.",
            hint="Choose a --logdir that the program may write to: it writes the profile itself.",
        )
    if status == _EXISTS or _speaks_of(low, _BUSY_WORDS):
        return CaptureError(
            f"{where} is taking another profile already: a program allows only one at a time.",
            hint=(
                "Wait until that one ends, or until the program's own profiling (a "
                "TensorBoard callback, say) is over."
            ),
        )
    text = words.rstrip(".") or "no reason was given"
    return NotWritten(f"{where} could not take the profile: {text} (grpc status {status}).")


def _speaks_of(message: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in message for phrase in phrases)


def empty(where: str, seconds: float) -> CaptureError:
    """A profile without events."""
    return CaptureError(
        (
            f"{where} recorded nothing: the program did nothing in those {seconds:g} s that its "
            "profiler sees."
        ),
        hint="Capture while it trains, or longer: -t 10s. With a higher --host-level it sees more.",
    )


def too_old(where: str) -> str:
    """Its answer holds results, no profile."""
    return (
        f"{where} is too old to return a profile: it sent results that it had computed "
        "itself, which are kept unchanged; "
        "a profile with a timeline needs TensorFlow 2.2 or newer."
    )
