"""Addresses of folders on other machines: ssh://user@host:port/path, gs://bucket/path,
s3://bucket/path.

Host and path come from a person, or from wherever that person copied them: what is no plain host
name is refused here, so that nothing in it can become an option of a program, a second host, or a
folder outside the cache.
"""

from __future__ import annotations

import re

from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern
from powertui.plain import plain

SSH = "ssh"
_CLOUD = ("gs", "s3")
_MAX_PORT = 65535

_ADDRESS = late_pattern(r"([a-z][a-z0-9+]{1,15})://", re.IGNORECASE)
_PLACE = late_pattern(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.+-]*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9]+)?\]|[A-Za-z0-9_][A-Za-z0-9_.-]*)(?::(?P<port>\d{1,5}))?"
)
_HINT = (
    "Write it as ssh://host/folder, ssh://user@host:22/folder, gs://bucket/folder or "
    "s3://bucket/folder."
)


class RemoteAddress(NamedTuple):
    """A folder or a file elsewhere.

    `path` is absolute, or begins with "./" where it counts from the person's own folder there.
    """

    scheme: str
    # host (with user and port), or bucket: a name that no folder of the cache could mistake
    place: str
    path: str

    def __str__(self) -> str:
        """As a person writes it."""
        path = self.path
        if path == ".":
            path = "/~"
        elif path.startswith("./"):
            path = "/~" + path[1:]
        return f"{self.scheme}://{self.place}{path}"

    @property
    def login(self) -> tuple[str, str, str]:
        """(user, host, port) of an ssh address; what is not said is empty."""
        match = _PLACE.fullmatch(self.place)
        assert match is not None
        return match["user"] or "", match["host"].strip("[]"), match["port"] or ""


def is_address(text: str) -> bool:
    """Whether this names something elsewhere.

    No file is called so: `//` is never part of a name.
    """
    return _ADDRESS.match(text) is not None


def parse(text: str) -> RemoteAddress:
    """The address that a person wrote. Raises `UsageError` for one that cannot be."""
    match = _ADDRESS.match(text)
    scheme = match[1].lower() if match is not None else ""
    scheme = "gs" if scheme == "gcs" else scheme  # as fsspec, too, calls Google's storage
    if match is None or scheme not in (SSH, *_CLOUD):
        raise UsageError(
            f"{plain(text, 120)}: folders can be read only from ssh://, gs:// and s3://.",
            hint=_HINT,
        )
    place, slash, path = text[match.end() :].partition("/")
    if not _is_place(scheme, place):
        kind = "host" if scheme == SSH else "bucket"
        raise UsageError(f"{plain(text, 120)}: {plain(place, 60)!r} is not a {kind}.", hint=_HINT)
    if "\0" in path or "\n" in path or ".." in path.split("/"):
        raise UsageError(
            f"{plain(text, 120)}: the folder may not contain '..' or a line break.", hint=_HINT
        )
    parts = [part for part in path.split("/") if part not in ("", ".")]
    # As git and scp have it: no path, or one that begins with ~, counts from the person's folder.
    if scheme == SSH and (not slash or not parts or parts[0] == "~"):
        return RemoteAddress(scheme, place, "/".join([".", *parts[1:]]))
    return RemoteAddress(scheme, place, "/" + "/".join(parts))


def _is_place(scheme: str, place: str) -> bool:
    valid = _PLACE.fullmatch(place)
    if valid is None:
        return False
    if scheme != SSH and (valid["user"] or valid["port"]):
        return False
    return 0 < int(valid["port"] or 1) <= _MAX_PORT
