"""From what a person wrote (options, names of the config file) to sources that can be opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from powertui.config import NamedHost
from powertui.errors import UsageError
from powertui.sampler.credentials import KG_VARIABLES, Secret, find_password, read_secret_file
from powertui.sampler.schemes import is_bmc
from powertui.sampler.source import Options
from powertui.sampler.urls import (
    Address,
    MachinePlace,
    host_port,
    join_host_port,
    parse_url,
    place_of,
)

__all__ = ["Target", "targets"]

_DEFAULT_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Target:
    """A source to open: its URL, and its options with the password, if it needs one."""

    url: str
    options: Options


class _Login(NamedTuple):
    """Whom a password is for. One that is meant for one port is never sent to another: `ssh -L`
    puts many BMCs behind localhost.

    `auto://` counts as a scheme of its own: the machine has one login, whichever of its protocols
    answers.
    """

    scheme: str
    place: MachinePlace
    user: str
    file: str  # where its entry in the config file says that the password is


def _needs_login(address: Address) -> bool:
    return bool(address.host) and (
        is_bmc(address.scheme) or (address.scheme == "prometheus" and bool(address.user))
    )


def _named(text: str, config: Mapping[str, NamedHost]) -> tuple[Address, NamedHost]:
    """A --host: a name of the config file (with another port, perhaps), a host, or a whole URL."""
    if "://" in text:
        return parse_url(text), NamedHost("")
    entry = config.get(text)
    name, port = (text, None) if entry else host_port(text)
    entry = entry or config.get(name)
    if entry is None:
        return Address("auto", name, port), NamedHost("")
    if entry.source:
        address = parse_url(entry.source)
    else:
        host, entry_port = host_port(entry.host or name)
        address = Address("auto", host, entry_port)
    if port is not None and port != address.port:  # another machine than the one that has this name
        return replace(address, port=port), replace(entry, name=join_host_port(entry.name, port))
    return address, entry


def targets(
    *,
    hosts: Sequence[str] = (),
    sources: Sequence[str] = (),
    user: str = "",
    password: Secret | None = None,
    password_file: str = "",
    kg_file: str = "",
    level: str = "",
    insecure: bool = False,
    sensors: Sequence[str] = (),
    timeout: float | None = None,
    root: str = "/",
    config: Mapping[str, NamedHost] | None = None,
    environment: Mapping[str, str] | None = None,
    ask: bool = True,
    find: Callable[..., Secret | None] = find_password,
) -> list[Target]:
    """One target per host and source named. What was written on the command line wins over the
    config file.

    A password is asked for at most once per scheme, host, port and user, and goes nowhere else.
    """
    if timeout is not None and not 0.05 <= timeout <= 3600:
        raise UsageError(f"A timeout of {timeout:g} s is not possible.")
    known: dict[_Login, Secret | None] = {}
    wanted = [_named(text, config or {}) for text in hosts] + [
        (parse_url(text), NamedHost("")) for text in sources
    ]
    machines = _machines(wanted)
    found: list[Target] = []
    for address, entry in wanted:
        login = user or address.user or entry.user
        options = Options(
            user=login,
            level=level or entry.level or "user",
            insecure=insecure or bool(entry.insecure),
            sensors=tuple(sensors) or entry.sensors,
            timeout=timeout or entry.timeout or _DEFAULT_TIMEOUT_S,
            root=root,
            name=entry.name,
            machine=machines.get(place_of(address), "") if is_bmc(address.scheme) else "",
        )
        if is_bmc(address.scheme) and address.host:
            address = replace(address, user=login)
        if _needs_login(address):
            file = password_file or entry.password_file
            place = place_of(address)
            key = _Login(address.scheme, place, login, file)
            if key not in known:
                known[key] = password or find(
                    str(place),
                    login,
                    file=file,
                    environment=environment,
                    ask=ask,
                    shown=_shown(address, entry),
                )
            if (
                known[key] is None
            ):  # never try without one: a refused login counts towards a locked account
                raise UsageError(
                    f"There is no password for {login or 'the user'} on {_shown(address, entry)}.",
                    hint=(
                        "Give it with --password-file or $IPMI_PASSWORD, or run in a terminal "
                        "to be asked for it."
                    ),
                )
            options = replace(
                options, password=known[key], kg=_kg(kg_file or entry.kg_file, environment)
            )
        found.append(Target(str(address), options))
    return found


def _machines(wanted: Sequence[tuple[Address, NamedHost]]) -> dict[MachinePlace, str]:
    """The names that the config file has for machines.

    A machine that is named twice (IPMI and Redfish) keeps its first name.
    """
    names: dict[MachinePlace, str] = {}
    for address, entry in wanted:
        if entry.name and is_bmc(address.scheme) and address.host:
            names.setdefault(place_of(address), entry.name)
    return names


def _shown(address: Address, entry: NamedHost) -> str:
    """What a person is asked a password for: bmc1 (redfish://127.0.0.1:8443)."""
    place = str(place_of(address))
    where = place if address.scheme == "auto" else f"{address.scheme}://{place}"
    return where if entry.name in ("", place) else f"{entry.name} ({where})"


def _kg(file: str, environment: Mapping[str, str] | None) -> Secret | None:
    if file:
        return read_secret_file(file, "BMC key")
    for variable in KG_VARIABLES:
        if environment and environment.get(variable):
            return Secret(environment[variable])
    return None
