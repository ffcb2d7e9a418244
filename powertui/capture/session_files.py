"""Where the profile is.

The server writes it on its own disk, which may be this machine's, a shared one, or another's.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from powertui.capture import profile_file
from powertui.capture.profile_file import ProfileState
from powertui.capture.servers import Server
from powertui.errors import CaptureError, PowertuiError, UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

__all__ = ["SessionPlace", "command", "complete_file", "results", "state", "unwritable", "via"]

# after which a file on a shared folder is seen at last: NFS keeps what it knew of a folder for some
# seconds
_SHARED_S = 3.0
_VIA = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._@:%\[\]-]*$")  # never an option
_RESULT = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._@^-]{0,100}$")


class SessionPlace(NamedTuple):
    """The folder of one session: as we see it, and as the server does."""

    here: Path
    server: str  # the same folder on the server's disk

    def file(self, server: Server) -> Path:
        return self.here / f"{server.host}.xplane.pb"

    def there(self, server: Server) -> str:
        return f"{self.server}/{server.host}.xplane.pb"


def via(written: str) -> str:
    """What --via names: USER@HOST, as ssh takes it."""
    if not _VIA.match(written):
        raise UsageError(
            f"--via {plain(written, 60)}: is not a host for ssh.",
            hint="Write it like --via user@host.",
        )
    return written


def state(place: SessionPlace, server: Server) -> ProfileState:
    """Whether the profile is where we see it: this machine wrote it, or the folder is shared."""
    path = place.file(server)
    until = time.monotonic() + (0.0 if server.address.here else _SHARED_S)
    while True:
        with contextlib.suppress(OSError):
            list(place.here.iterdir())  # asks a shared folder anew
        present = profile_file.file_state(path)
        if present == "complete" or time.monotonic() >= until:
            return present
        time.sleep(0.1)


def command(place: SessionPlace, server: Server) -> str:
    """The one line that fetches it."""
    host = "HOST" if server.address.here else server.address.host
    return f"scp {shlex.quote(f'{host}:{place.there(server)}')} {shlex.quote(f'{place.here}/')}"


@contextlib.contextmanager
def complete_file(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name when all of it is on the disk. After an error nothing is there."""
    from powertui.data.export import files

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        with files.opened(str(path), force=True) as file:
            yield file
    except CaptureError:
        raise
    except PowertuiError as error:
        raise CaptureError(
            error.message, hint="Choose another --logdir, or make room there."
        ) from None


def unwritable(path: Path, error: OSError) -> CaptureError:
    """Something of ours cannot be written."""
    why = error.strerror or str(error)
    return CaptureError(
        f"{path} cannot be written: {why}.", hint="Choose another --logdir, or make room there."
    )


def results(
    place: SessionPlace,
    server: Server,
    given: tuple[tuple[str, bytes], ...],
) -> Iterator[str]:
    """Keep what an old server answered, named as its own client did.

    Names are the server's: only plain ones are taken.
    """
    for name, content in given:
        if not _RESULT.match(name):
            continue
        path = place.here / f"{server.host}.{name}"
        with complete_file(path) as file:
            file.write(content)
        yield str(path)
