"""Where the profile is. The server writes it on its own disk, which may be this machine's, a shared one, or another's."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from powertui.capture.servers import Server
from powertui.errors import CaptureError, UsageError
from powertui.plain import plain

__all__ = ["SessionPlace", "command", "fetch", "found", "results", "unwritable", "via"]

_SHARED_S = 3.0  # after which a file on a shared folder is seen at last: NFS keeps what it knew of a folder for some seconds
_VIA = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._@:%\[\]-]*$")  # never an option
_RESULT = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._@^-]{0,100}$")
_PIECE = 1 << 20
# A line that broke without a word is noticed within a minute.
_PATIENCE = ("-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4")


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
        raise UsageError(f"--via {plain(written, 60)}: is not a host for ssh.", hint="Write it like --via user@host.")
    return written


def found(place: SessionPlace, server: Server) -> bool:
    """Whether the profile lies where we see it: this machine wrote it, or the folder is shared."""
    path = place.file(server)
    until = time.monotonic() + (0.0 if server.address.here else _SHARED_S)
    while True:
        try:
            list(place.here.iterdir())  # asks a shared folder anew
            if path.stat().st_size:
                return True
        except OSError:
            pass
        if time.monotonic() >= until:
            return False
        time.sleep(0.1)


def command(place: SessionPlace, server: Server) -> str:
    """The one line that fetches it."""
    host = "HOST" if server.address.here else server.address.host
    return f"scp {shlex.quote(f'{host}:{place.there(server)}')} {shlex.quote(f'{place.here}/')}"


def fetch(place: SessionPlace, server: Server, host: str) -> None:
    """Fetch it with the system's ssh. What came is complete or not there at all."""
    from powertui.data.elsewhere.ssh import client

    path = place.file(server)
    quoted = shlex.quote(place.there(server))
    # Its size first: a line that broke looks like the end of a file.
    order = [*client(), *_PATIENCE, "--", host, f"wc -c < {quoted} && cat < {quoted}"]
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        silent, pipe = subprocess.DEVNULL, subprocess.PIPE
        with subprocess.Popen(order, stdin=silent, stdout=pipe, stderr=pipe) as ssh, part.open("wb") as file:
            assert ssh.stdout is not None
            assert ssh.stderr is not None
            told = ssh.stdout.readline(40).strip()
            got = 0
            while piece := ssh.stdout.read(_PIECE):
                got += file.write(piece)
            said = ssh.stderr.read(4096).decode("utf-8", "replace")
        if ssh.returncode or not told.isdigit() or int(told) != got:
            why = plain(said.strip().splitlines()[-1], 200) if said.strip() else "the connection broke"
            raise CaptureError(f"The profile could not be fetched through {host}: {why}.", hint=command(place, server))
        part.replace(path)
    except FileNotFoundError:
        raise CaptureError("There is no ssh on this machine to fetch the profile with.", hint=command(place, server)) from None
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with contextlib.suppress(OSError):  # what is wrong with the folder was said already
            part.unlink()


def unwritable(path: Path, error: OSError) -> CaptureError:
    """Something of ours cannot be written."""
    why = error.strerror or str(error)
    return CaptureError(f"{path} cannot be written: {why}.", hint="Choose another --logdir, or make room there.")


def results(place: SessionPlace, server: Server, given: tuple[tuple[str, bytes], ...]) -> list[str]:
    """Keep what an old server answered, named as its own client did. Names are the server's: only plain ones are taken."""
    kept = []
    for name, content in given:
        if not _RESULT.match(name):
            continue
        path = place.here / f"{server.host}.{name}"
        try:
            place.here.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise unwritable(path, error) from None
        kept.append(str(path))
    return kept
