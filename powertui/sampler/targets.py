"""From what a person wrote (options, names of the config file) to sources that can be opened."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from powertui.config import NamedHost
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
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

__all__ = ["SourceArguments", "Target", "targets"]

# node17=10.0.0.7, node17=redfish://10.0.0.7: no host and no scheme holds "="
_CALLED = re.compile(r"([\w.-]+)=(.+)").fullmatch

_DEFAULT_TIMEOUT_S = 2.0  # for one answer; as `--help` says


@dataclass(frozen=True)
class Target:
    """A source to open: its URL, and its options with the password, if it needs one."""

    url: str
    options: Options


class _Login(NamedTuple):
    """Whom a password is for.

    One that is meant for one port is never sent to another: `ssh -L` puts many BMCs behind
    localhost.

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
    """A --host: a name of the config file (with another port, perhaps), a host, or a whole URL;
    with a name for it in front, perhaps.
    """
    called = None if text in config else _CALLED(text)
    if called:
        address, named_entry = _named(called[2], config)
        return address, replace(named_entry, name=called[1])
    if "://" in text:
        return parse_url(text), NamedHost("")
    entry = config.get(text)
    if entry:
        name, port = (text, None)
    else:
        name, port = host_port(text)
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


@dataclass(frozen=True)
class SourceArguments:
    """What a person named, and how to log in there. It wins over the config file."""

    hosts: Sequence[str] = ()
    sources: Sequence[str] = ()
    user: str = ""
    password: Secret | None = None
    password_file: str = ""
    kg_file: str = ""
    level: str = ""
    insecure: bool = False
    sensors: Sequence[str] = ()
    timeout: float | None = None

    def options(self, address: Address, entry: NamedHost) -> Options:
        """How the source of this address is opened, but for its password."""
        return Options(
            user=self.user or address.user or entry.user,
            level=self.level or entry.level or "user",
            insecure=self.insecure or bool(entry.insecure),
            sensors=tuple(self.sensors) or entry.sensors,
            timeout=self.timeout or entry.timeout or _DEFAULT_TIMEOUT_S,
            name=entry.name,
        )


class _Passwords:
    """Finds each password once, however many sources need it."""

    def __init__(
        self,
        arguments: SourceArguments,
        environment: Mapping[str, str] | None,
        ask: bool,
        find: Callable[..., Secret | None],
    ) -> None:
        self._arguments, self._environment = arguments, environment
        self._ask, self._find = ask, find
        self._passwords: dict[_Login, Secret | None] = {}

    def password(self, address: Address, entry: NamedHost, user: str) -> Secret:
        file = self._arguments.password_file or entry.password_file
        place = place_of(address)
        login = _Login(address.scheme, place, user, file)
        shown = _shown(address, entry)
        if login not in self._passwords:
            self._passwords[login] = self._arguments.password or self._find(
                str(place),
                user,
                file=file,
                environment=self._environment,
                ask=self._ask,
                shown=shown,
                machine=place.host,
            )
        password = self._passwords[login]
        # Never try without one: a refused login counts towards a locked account.
        if password is None:
            give = (
                "Give the password with --password-file or $IPMI_PASSWORD, or run in a terminal "
                "to be asked for it."
            )
            if not user:
                raise UsageError(
                    f"There is no user name and no password for {shown}.",
                    hint=f"Name the user with --user. {give}",
                )
            raise UsageError(f"There is no password for {user} on {shown}.", hint=give)
        return password

    def bmc_key(self, entry: NamedHost) -> Secret | None:
        """K_G, which few BMCs have."""
        file = self._arguments.kg_file or entry.kg_file
        if file:
            return read_secret_file(file, "BMC key")
        for variable in KG_VARIABLES:
            if self._environment and self._environment.get(variable):
                return Secret(self._environment[variable])
        return None


def targets(
    arguments: SourceArguments,
    *,
    config: Mapping[str, NamedHost] | None = None,
    environment: Mapping[str, str] | None = None,
    ask: bool = True,
    find: Callable[..., Secret | None] = find_password,
) -> list[Target]:
    """One target for each host and source that was named.

    A password is asked for at most once per scheme, host, port and user, and goes nowhere else.
    """
    timeout = arguments.timeout
    if timeout is not None and not 0.05 <= timeout <= 3600:
        raise UsageError(
            f"A timeout of {timeout:g} s is not possible: it must be between 0.05 s and 3600 s."
        )
    places = [_named(text, config or {}) for text in arguments.hosts]
    places += [_named_source(text) for text in arguments.sources]
    machines = _machines([*places, *_config_places(config or {})])
    passwords = _Passwords(arguments, environment, ask, find)
    uses = Counter(place_of(address) for address, _ in places if address.host)
    chosen: list[Target] = []
    for address, entry in places:
        options = arguments.options(address, entry)
        if is_bmc(address.scheme):
            machine = machines.get(place_of(address), "")
            options = replace(options, machine=machine)
            # Of two sources of one machine, each keeps a name that tells them apart.
            if not options.name and uses[place_of(address)] == 1:
                options = replace(options, name=machine)
            if address.host:
                address = replace(address, user=options.user)
        if _needs_login(address):
            password = passwords.password(address, entry, options.user)
            options = replace(options, password=password, kg=passwords.bmc_key(entry))
        chosen.append(Target(str(address), options))
    return chosen


def _named_source(text: str) -> tuple[Address, NamedHost]:
    """A --source: a URL, with a name for its machine in front, perhaps."""
    called = _CALLED(text)
    if called:
        return parse_url(called[2]), NamedHost(called[1])
    return parse_url(text), NamedHost("")


def _config_places(config: Mapping[str, NamedHost]) -> list[tuple[Address, NamedHost]]:
    """Where the machines of the config file are: one that is named by its address keeps its name.

    An entry that is wrong is an error for who uses it, and for nobody else.
    """
    places = []
    for name in config:
        with contextlib.suppress(UsageError):
            places.append(_named(name, config))
    return places


def _machines(places: Sequence[tuple[Address, NamedHost]]) -> dict[MachinePlace, str]:
    """The names that the command line and the config file have for machines.

    A machine that is named twice (IPMI and Redfish) keeps its first name.
    """
    names: dict[MachinePlace, str] = {}
    for address, entry in places:
        if entry.name and is_bmc(address.scheme) and address.host:
            names.setdefault(place_of(address), entry.name)
    return names


def _shown(address: Address, entry: NamedHost) -> str:
    """What a person is asked a password for: bmc1 (redfish://127.0.0.1:8443)."""
    place = str(place_of(address))
    if address.scheme == "auto":
        where = place
    else:
        where = f"{address.scheme}://{place}"
    if entry.name in ("", place):
        return where
    return f"{entry.name} ({where})"
