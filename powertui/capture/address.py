"""Where a profiler server listens: HOST:PORT, as a person writes it."""

from __future__ import annotations

import re
import socket

from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

__all__ = ["ServerAddress", "parse"]

_FORM = re.compile(
    r"^(?:grpc://)?(?:\[(?P<v6>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[A-Za-z0-9._-]*)):(?P<port>\d{1,5})/?$"
)
_HINT = "Write it like localhost:9012. The program sets its port where it starts the server."


class ServerAddress(NamedTuple):
    """One server."""

    host: str
    port: int

    def __str__(self) -> str:
        if ":" in self.host:
            return f"[{self.host}]:{self.port}"
        return f"{self.host}:{self.port}"

    @property
    def here(self) -> bool:
        """Whether it is an address of this machine (a tunnel or a container may stand behind it all
        the same).
        """
        try:
            addresses = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_DGRAM)
        except OSError:
            return False
        return any(_is_own(family, where) for family, _, _, _, where in addresses)

    @property
    def machine(self) -> str:
        """The machine's name, for the profile: our own for what is here, so that power which is
        recorded here belongs to it.
        """
        return socket.gethostname() if self.here else self.host


def _is_own(family: int, where: tuple[object, ...]) -> bool:
    """An address of this machine is one that can be bound to."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((where[0], 0, *where[2:]))
    except OSError:
        return False
    return True


def parse(written: str) -> ServerAddress:
    """HOST:PORT, :PORT or PORT (of this machine), [IPv6]:PORT."""
    bare = written.strip()
    match = _FORM.match(f":{bare}" if bare.isdigit() else bare)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise UsageError(
            f"{plain(written, 80)!r} is not the address of a profiler server.", hint=_HINT
        )
    return ServerAddress(match["v6"] or match["host"] or "localhost", int(match["port"]))
