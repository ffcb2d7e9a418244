"""From what a person wrote (options, names of the config file) to sources that can be opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from powertui.config import NamedHost
from powertui.errors import UsageError
from powertui.sampler.credentials import KG_VARIABLES, Secret, find_password, read_secret_file
from powertui.sampler.schemes import is_bmc
from powertui.sampler.source import Options
from powertui.sampler.urls import Address, host_port, parse_url

__all__ = ["Target", "targets"]

_TIMEOUT = 2.0


@dataclass(frozen=True)
class Target:
    """A source to open: its URL, and its options with the password, if it needs one."""

    url: str
    options: Options


def _needs_login(address: Address) -> bool:
    return bool(address.host) and (is_bmc(address.scheme) or (address.scheme == "prometheus" and bool(address.user)))


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
        return replace(address, port=port or address.port), entry
    host, own_port = host_port(entry.host or name)
    return Address("auto", host, port or own_port), entry


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
    """One target per host and source named. What was written on the command line wins over the config file.

    A password is asked for at most once per user and host.
    """
    if timeout is not None and not 0.05 <= timeout <= 3600:
        raise UsageError(f"A timeout of {timeout:g} s is not possible.")
    known: dict[tuple[str, str], Secret | None] = {}
    wanted = [_named(text, config or {}) for text in hosts] + [(parse_url(text), NamedHost("")) for text in sources]
    found: list[Target] = []
    for address, entry in wanted:
        login = user or address.user or entry.user
        options = Options(
            user=login,
            level=level or entry.level or "user",
            insecure=insecure or bool(entry.insecure),
            sensors=tuple(sensors) or entry.sensors,
            timeout=timeout or entry.timeout or _TIMEOUT,
            root=root,
            name=entry.name,
        )
        if is_bmc(address.scheme) and address.host:
            address = replace(address, user=login)
        if _needs_login(address):
            key = (address.host, login)
            if key not in known:
                file = password_file or entry.password_file
                known[key] = password or find(address.host, login, file=file, environment=environment, ask=ask)
            if known[key] is None:  # never try without one: a refused login counts towards a locked account
                raise UsageError(
                    f"There is no password for {login or 'the user'} on {address.host}.",
                    hint="Give it with --password-file or $IPMI_PASSWORD, or run in a terminal to be asked for it.",
                )
            options = replace(options, password=known[key], kg=_kg(kg_file or entry.kg_file, environment))
        found.append(Target(str(address), options))
    return found


def _kg(file: str, environment: Mapping[str, str] | None) -> Secret | None:
    if file:
        return read_secret_file(file, "BMC key")
    for variable in KG_VARIABLES:
        if environment and environment.get(variable):
            return Secret(environment[variable])
    return None
