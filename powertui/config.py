"""The config file: `$XDG_CONFIG_HOME/powertui/config.toml`, or the one that POWERTUI_CONFIG names.

    color = "256"            # auto, none, 16, 256, true
    glyphs = "console"       # auto, unicode, console, ascii
    theme = "light"          # dark, light
    mouse = false
    motion = false           # outline no target of a jump
    fps = 20
    step_marker = "my_step.*"
    profile_server = "localhost:9012"   # what `P` in `powertui live` captures from

    [hosts.bmc1]             # `powertui record --host bmc1`
    host = "10.0.0.7:623"    # or: source = "redfish://10.0.0.7"
    user = "viewer"
    level = "user"           # user, operator, administrator
    password_file = "~/.config/powertui/bmc1.password"
    kg_file = "~/.config/powertui/bmc1.kg"
    sensors = ["Total Power"]
    insecure = false
    timeout = 2.0

    [power_hosts]            # whose power it is, where names do not tell
    bmc-17 = "host-a"        # as with --power-host bmc-17=host-a
    "10.0.0.7" = "host-b"

A flag wins over the environment, the environment over this file, this file over what powertui finds
out by itself. Passwords do not belong here: name a file that only you can read. A key that is not
known is an error, with its line and the key that was meant.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from powertui.errors import UsageError
from powertui.opening import open_for_reading
from powertui.value_types import dataclass


@dataclass(frozen=True)
class NamedHost:
    """One power source that has a name of its own."""

    name: str
    host: str = ""
    source: str = ""
    user: str = ""
    level: str = ""
    password_file: str = ""
    kg_file: str = ""
    sensors: tuple[str, ...] = ()
    insecure: bool | None = None
    timeout: float | None = None


@dataclass(frozen=True)
class Config:
    """What the file says; None where it says nothing."""

    path: str = ""
    color: str | None = None
    glyphs: str | None = None
    theme: str | None = None
    mouse: bool | None = None
    motion: bool | None = None
    fps: int | None = None
    step_marker: str | None = None
    profile_server: str | None = None
    hosts: Mapping[str, NamedHost] = field(default_factory=dict)
    power_hosts: tuple[
        tuple[str, str], ...
    ] = ()  # (a name in power logs, the host that it measures)

    @property
    def called_hosts(self) -> tuple[tuple[str, str], ...]:
        """(an address, the name of the machine there) of every host that has both."""
        pairs = []
        for name, entry in self.hosts.items():
            address = entry.source.rpartition("://")[2].rpartition("@")[2] or entry.host
            address = re.split(r"[/?#]", address, maxsplit=1)[0]
            if address and address != name:
                pairs.append((address, name))
        return tuple(pairs)


_CHOICES: dict[str, tuple[str, ...]] = {
    "color": ("auto", "none", "16", "256", "true"),
    "glyphs": ("auto", "unicode", "console", "ascii"),
    "theme": ("dark", "light"),
    "level": ("user", "operator", "administrator"),
}
_TOP: dict[str, type | tuple[type, ...]] = {
    "color": str,
    "glyphs": str,
    "theme": str,
    "mouse": bool,
    "motion": bool,
    "fps": int,
    "step_marker": str,
    "hosts": dict,
    "power_hosts": dict,
    "profile_server": str,
}
_HOST: dict[str, type | tuple[type, ...]] = {
    "host": str, "source": str, "user": str, "level": str, "password_file": str, "kg_file": str,
    "sensors": list, "insecure": bool, "timeout": (int, float),
}  # fmt: skip
_MAX_BYTES = 1 << 20  # a hundred machines take 10 kB
_SECRETS = ("password", "passwd", "pass", "secret", "kg", "key", "token")


def _folder(
    variable: str,
    below_home: tuple[str, ...],
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """A folder of ours (XDG base directories; a relative value there is to be ignored)."""
    base = environ.get(variable, "")
    if base.startswith("/"):
        return Path(base, "powertui")
    home = Path(environ.get("HOME") or "~").expanduser()
    return Path(home, *below_home, "powertui")


def state_folder() -> Path:
    """Where is kept what a person did and the next start is to know."""
    return _folder("XDG_STATE_HOME", (".local", "state"))


def data_folder() -> Path:
    """Where is kept what a person saved by name."""
    return _folder("XDG_DATA_HOME", (".local", "share"))


def write_state(path: Path, value: object) -> bool:
    """Keep a value as JSON in a file of the state folder, whole or not at all.

    False when it cannot be written.
    """
    import json
    import tempfile

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file, indent=0)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError:
        return False
    return True


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The file that is read."""
    named = environ.get("POWERTUI_CONFIG", "")
    return (
        Path(named).expanduser()
        if named
        else _folder("XDG_CONFIG_HOME", (".config",), environ) / "config.toml"
    )


def load(environ: Mapping[str, str] = os.environ) -> Config:
    """Read the config file. No file is an empty one, unless POWERTUI_CONFIG names it."""
    path = default_path(environ)
    try:
        with open_for_reading(path) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UsageError(
                f"{path}: is too large for a config file",
                hint="Name another file in POWERTUI_CONFIG.",
            )
        text = data.decode()
    except FileNotFoundError:
        if environ.get("POWERTUI_CONFIG"):
            raise UsageError(
                f"{path}: no such config file", hint="POWERTUI_CONFIG names it."
            ) from None
        return Config()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}",
            hint="Fix its permissions, or name another file in POWERTUI_CONFIG.",
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: is not UTF-8 (byte {error.start})", hint="Save it as UTF-8."
        ) from None
    return parse(text, str(path))


def parse(text: str, path: str) -> Config:
    """Check and convert the content of a config file."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{path}: is not valid TOML: {error}", hint='Quote strings: color = "256".'
        ) from None
    values = _checked(data, _TOP, path, text, ())
    hosts = {}
    for name, table in values.pop("hosts", {}).items():
        if not isinstance(table, dict):
            raise UsageError(
                f"{_at(path, text, ('hosts', name))}: [hosts.{name}] must be a table",
                hint=f"Write [hosts.{name}] on a line of its own.",
            )
        fields = _checked(table, _HOST, path, text, ("hosts", name))
        if "sensors" in fields:
            if not all(isinstance(item, str) for item in fields["sensors"]):
                raise UsageError(
                    f"{_at(path, text, ('hosts', name, 'sensors'))}: sensors must be a list of "
                    "names"
                )
            fields["sensors"] = tuple(fields["sensors"])
        hosts[name] = NamedHost(name, **fields)
    owners = values.pop("power_hosts", {})
    for name, owner in owners.items():
        if not isinstance(owner, str) or not owner.strip():
            at = _at(path, text, ("power_hosts", name))
            raise UsageError(
                f"{at}: {name} must be the name of a host in quotes",
                hint='Write it like "bmc-17" = "host-a".',
            )
    return Config(path, hosts=hosts, power_hosts=tuple(owners.items()), **values)


def _checked(
    data: dict[str, Any],
    allowed: Mapping[str, Any],
    path: str,
    text: str,
    table: tuple[str, ...],
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in data.items():
        at = _at(path, text, (*table, key))
        if key not in allowed:
            if table and key.lower() in _SECRETS:
                meant = "kg_file" if key.lower() == "kg" else "password_file"
                raise UsageError(
                    f"{at}: secrets do not belong in a config file",
                    hint=f'Name a file that only you can read: {meant} = "…".',
                )
            import difflib

            near = difflib.get_close_matches(key, allowed, 1)
            if near:
                hint = f"Did you mean {near[0]}?"
            else:
                hint = f"Known keys: {', '.join(allowed)}."
            raise UsageError(f"{at}: unknown key {key!r}", hint=hint)
        expected = allowed[key]
        # bool is an int for Python, but `fps = true` is a mistake.
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            raise UsageError(f"{at}: {key} must be {_kind(expected)}, not {value!r}")
        if key in _CHOICES and value not in _CHOICES[key]:
            raise UsageError(f"{at}: {key} = {value!r} is not one of {', '.join(_CHOICES[key])}")
        if key == "fps" and not 1 <= value <= 120:
            raise UsageError(f"{at}: fps must be between 1 and 120")
        if key == "timeout" and not 0 < value <= 3600:
            raise UsageError(f"{at}: timeout must be a number of seconds above 0")
        out[key] = None if value == "auto" and key in _CHOICES else value
    return out


def _kind(expected: Any) -> str:
    names = {
        str: "a string in quotes",
        bool: "true or false",
        int: "a whole number",
        list: "a list",
        dict: "a table",
    }
    return names.get(expected, "a number")


def _at(path: str, text: str, where: tuple[str, ...]) -> str:
    """`file:line` of a key.

    The TOML reader of the standard library keeps no positions, so it is looked up in the text.
    """
    header: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        match = re.match(r"\[+\s*([^\]]+?)\s*\]+", stripped)
        if match:
            header = [part.strip().strip("\"'") for part in match[1].split(".")]
            if header == list(where):
                return f"{path}:{number}"
            continue
        name = re.match(r"""["']?([A-Za-z0-9_. -]+?)["']?\s*=""", stripped)
        if name and [*header, *name[1].split(".")] == list(where):
            return f"{path}:{number}"
    return path
