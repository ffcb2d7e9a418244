"""Names of sources: what a person writes, taken apart. A password is never part of one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode

from powertui.errors import UsageError
from powertui.sampler.schemes import usual_port

__all__ = ["Address", "MachinePlace", "host_port", "join_host_port", "parse_url", "place_of"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+._-]*):(.*)", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """A parsed source URL.

    `path` is what follows the scheme of a source without a host (csv:FILE, ipmitool:open).
    """

    scheme: str
    host: str = ""
    port: int | None = None
    user: str = ""
    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.host:
            text = f"{self.scheme}:{self.path}"
        else:
            if self.user:
                user = quote(self.user, safe="") + "@"
            else:
                user = ""
            text = f"{self.scheme}://{user}{join_host_port(self.host, self.port)}{self.path}"
        return text + ("?" + urlencode(self.query) if self.query else "")


@dataclass(frozen=True)
class MachinePlace:
    """Where an address leads, written in one way: BMC1. and bmc1:623 are one place for IPMI, two
    ports are two places.

    Behind one host there may be several machines, each on a port of its own (`ssh -L`, NAT).
    """

    host: str
    port: int | None  # None: the usual one of the scheme

    def __str__(self) -> str:
        return join_host_port(self.host, self.port)


def place_of(address: Address) -> MachinePlace:
    """Where this address leads."""
    try:
        host = str(ipaddress.ip_address(address.host))
    except ValueError:
        host = address.host.rstrip(".").lower()
    return MachinePlace(host, None if address.port == usual_port(address.scheme) else address.port)


def join_host_port(host: str, port: int | None) -> str:
    """bmc, bmc:623, [::1]:623"""
    if ":" in host:
        name = f"[{host}]"
    else:
        name = host
    if port is None:
        return name
    return f"{name}:{port}"


def host_port(text: str) -> tuple[str, int | None]:
    """Take `bmc`, `bmc:623`, `[fe80::1]:623` or a bare `fe80::1` apart."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise UsageError(
                f"{text!r} is not a host: an IPv6 address with a port is written [::1]:623."
            )
        return host, _port(rest[1:], text) if rest else None
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, _port(port, text)
    return text, None


def _port(text: str, written: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise UsageError(f"{written!r}: the port must be a number from 1 to 65535.")
    return int(text)


def parse_url(url: str) -> Address:
    """An address, or a UsageError that says what is wrong.

    A password in it is refused: it would stand in `ps`.
    """
    match = _SCHEME.fullmatch(url)
    if not match:
        raise UsageError(
            f"{url!r} is not a power source.",
            hint="Write, for example, ipmi://bmc, ipmitool:open, hwmon: or csv:power.csv.",
        )
    scheme = match[1].lower()
    rest = match[2]
    if scheme == "csv":
        return Address(scheme, path=rest.removeprefix("//") if rest.startswith("///") else rest)
    rest, _, query_text = rest.partition("?")
    query = dict(parse_qsl(query_text, keep_blank_values=True))
    if not rest.startswith("//"):
        return Address(scheme, path=unquote(rest), query=query)
    authority, slash, path = rest[2:].partition("/")
    user, _, host_text = authority.rpartition("@")
    if ":" in user:
        shown = f"{scheme}://{user.partition(':')[0]}@{host_text}"
        raise UsageError(
            (
                "A password in a source's name would be visible to every user of this machine, so "
                "it is refused."
            ),
            hint=(
                f"Write {shown} and give the password with --password-file, $IPMI_PASSWORD or "
                "at the prompt."
            ),
        )
    host, port = host_port(host_text)
    if not host:
        raise UsageError(f"{url!r} names no host.")
    return Address(
        scheme=scheme,
        host=host,
        port=port,
        user=unquote(user),
        path=slash + path if path else "",
        query=query,
    )
