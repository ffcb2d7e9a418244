"""Where a password comes from, and how it is kept from ending up anywhere else.

There is no password option: a command line is readable by every user of the machine. The order is
`--password-file`, `$IPMI_PASSWORD`, the key store (if the package keyring is installed), a masked
prompt. A `Secret` prints as dots, so that no log line, traceback or dataclass repr can show what is
in it.
"""

from __future__ import annotations

import contextlib
import getpass
import importlib
import os
import stat
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from powertui import opening
from powertui.errors import UsageError
from powertui.opening import open_for_reading
from powertui.plain import plain

__all__ = [
    "KG_VARIABLES",
    "PASSWORD_VARIABLES",
    "Secret",
    "find_password",
    "read_secret_file",
    "scrub",
]

# What ipmitool and we read. None of them is passed on to a command that is recorded.
PASSWORD_VARIABLES = ("IPMI_PASSWORD", "IPMITOOL_PASSWORD")
KG_VARIABLES = ("IPMI_KGKEY",)
_KEYRING_SERVICE = "powertui"
_MAX_SECRET_BYTES = 4096  # a file without a line end, such as a disk image, is not read whole


class Secret:
    """A password that does not print itself. `reveal()` is for the one call that needs it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(•••)"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> Any:
        raise TypeError("a Secret is not written anywhere")


def read_secret_file(path: str, what: str = "password") -> Secret:
    """The first line of a file that nobody else may read.

    The mode is checked on the opened file, not on its name.
    """
    # A person may have to unlock the password store behind a pipe first: eight times 15 s are two
    # minutes.
    silence_s = 8 * opening.SILENCE_S
    try:
        with open_for_reading(Path(path).expanduser(), silence_s) as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
                raise UsageError(f"{path} is not a file.")
            if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UsageError(
                    (
                        f"{path} holds a {what} and can be read by others (mode "
                        f"{stat.S_IMODE(mode):04o})."
                    ),
                    hint=f"chmod 600 {path}",
                )
            line = file.readline(_MAX_SECRET_BYTES)
    except OSError as error:
        raise UsageError(f"The {what} file {path} cannot be read: {error.strerror}.") from None
    try:
        text = line.rstrip(b"\r\n").decode()
    except UnicodeDecodeError:
        raise UsageError(f"The {what} file {path} is not UTF-8 text.") from None
    if not text:
        raise UsageError(f"The {what} file {path} is empty: its first line must be the {what}.")
    return Secret(text)


def _from_keyring(host: str, user: str) -> Secret | None:
    # A missing package, a locked or broken store: simply no password from here.
    with contextlib.suppress(Exception):
        text = importlib.import_module("keyring").get_password(f"{_KEYRING_SERVICE}:{host}", user)
        if text:
            return Secret(text)
    return None


def find_password(
    host: str,
    user: str,
    *,
    file: str = "",
    environment: Mapping[str, str] | None = None,
    ask: bool = True,
    shown: str = "",
    machine: str = "",
) -> Secret | None:
    """The password for a user of a host, from the first place that has one. None when there is
    nobody to ask.

    `host` has its port where that is not the usual one: the key store is asked by it. `shown` is
    what a prompt calls the host. `machine` is its name alone, which must be known before a person
    is asked.
    """
    if file:
        return read_secret_file(file)
    environment = os.environ if environment is None else environment
    for variable in PASSWORD_VARIABLES:
        if variable in environment:  # an empty one is a password too
            return Secret(environment[variable])
    password = _from_keyring(host, user)
    if password is None and ask:
        password = _from_prompt(user, shown or host, machine)
    return password


def _from_prompt(user: str, host: str, machine: str) -> Secret | None:
    """Only from a terminal: where input comes from a pipe, a prompt would eat a line of it."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    if machine:
        _check_resolvable(machine)
    with contextlib.suppress(EOFError):
        whose = f"Password of {user} on {plain(host)}: "
        if not user:
            whose = f"Password on {plain(host)}, without a user name (--user names one): "
        return Secret(getpass.getpass(whose))
    return None


def _check_resolvable(machine: str) -> None:
    """A mistyped name is an error before a password is typed for it, and not after."""
    import socket  # here: only where a person is asked

    try:
        socket.getaddrinfo(machine, None)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a host name"
        raise UsageError(
            f"The host name {plain(machine)!r} cannot be resolved ({reason}).",
            hint="Check how it is written.",
        ) from None


def scrub(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy without what belongs to the recorder alone."""
    copy: MutableMapping[str, str] = dict(environment)
    for variable in (*PASSWORD_VARIABLES, *KG_VARIABLES):
        copy.pop(variable, None)
    return dict(copy)
