"""Buckets, gs:// and s3://, through fsspec: with the packages of the extra `cloud`, and the credentials that those find."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from powertui.data.elsewhere.address import RemoteAddress
from powertui.data.elsewhere.store import MOST, ConnectionDropped, FileMoved, RemoteEntry, RemoteListing, RemoteState
from powertui.errors import UnreadableFile
from powertui.plain import plain

PIECE = 4 << 20
_DRIVERS = {"gs": "gcsfs", "s3": "s3fs"}
_TIMES = ("mtime", "LastModified", "updated", "last_modified", "created")  # as the drivers call it


class Bucket:
    """One bucket."""

    def __init__(self, address: RemoteAddress) -> None:
        self._address = address

    def listing(self, path: str) -> RemoteListing:
        """Everything below a path: a bucket knows no folders, only names with / in them."""
        system = self._system()
        top = f"{self._address.place}{path}".rstrip("/")
        try:
            system.invalidate_cache()
            found = system.find(top, detail=True)
        except Exception as error:
            raise self._failed(path, error) from None
        entries = []
        for name, said in found.items():
            below = str(name).lstrip("/")
            if below != self._address.place and not below.startswith(self._address.place + "/"):
                continue
            if said.get("type", "file") == "file":
                entries.append(RemoteEntry(below[len(self._address.place) :], "f", _state(said)))
        if not entries:
            hint = "Check the bucket and the path; a folder there is only a common start of names."
            raise UnreadableFile(self._named(path), "there is nothing there", hint=hint)
        file = path if len(entries) == 1 and entries[0].path == path else None
        root = path.rstrip("/").rpartition("/")[0] or "/" if file is not None else path
        return RemoteListing(root, file, tuple(entries[:MOST]), complete=len(entries) <= MOST)

    def read(self, path: str, state: RemoteState, start: int) -> Iterator[bytes]:
        """The bytes of a file from a place on, as long as it is in this state."""
        system = self._system()
        name = f"{self._address.place}{path}"
        try:
            system.invalidate_cache()
            now = _state(system.info(name))
        except Exception as error:
            raise self._failed(path, error) from None
        if now != state:
            raise FileMoved(now)
        while start < state.size:
            try:
                piece = system.cat_file(name, start=start, end=min(start + PIECE, state.size))
            except Exception as error:
                raise self._failed(path, error) from None
            if not piece:
                raise ConnectionDropped(self._named(path), f"ended {state.size - start:,} bytes early", hint="Open it again.")
            start += len(piece)
            yield bytes(piece)

    def heads(self, paths: Sequence[tuple[str, int]], count: int) -> dict[str, bytes]:
        """The first bytes of files, asked for together."""
        system = self._system()
        names = {f"{self._address.place}{path}": path for path, _ in paths}
        try:
            got = system.cat_ranges(list(names), [0] * len(names), [min(size, count) for _, size in paths], on_error="return")
        except Exception as error:
            raise self._failed(paths[0][0], error) from None
        return {path: bytes(data) for path, data in zip(names.values(), got, strict=True) if isinstance(data, (bytes, bytearray))}

    def sums(self, paths: Sequence[str]) -> dict[str, bytes]:
        """What the store says of their contents; nothing where it does not."""
        system = self._system()
        out: dict[str, bytes] = {}
        for path in paths:
            try:
                said = system.info(f"{self._address.place}{path}")
            except Exception:  # gone meanwhile: the scan tells
                continue
            told = said.get("ETag") or said.get("md5Hash") or said.get("etag")
            if told:
                out[path] = str(told).encode()
        return out

    def _named(self, path: str) -> str:
        return str(self._address._replace(path=path))

    def _system(self) -> Any:
        scheme = self._address.scheme
        try:
            fsspec = importlib.import_module("fsspec")
            return fsspec.filesystem(scheme)
        except (ImportError, ValueError):
            problem = f"{scheme}:// is read through the package {_DRIVERS[scheme]}, which is not installed"
            hint = "Install it: pip install 'powertui[cloud]'. Or copy the folder, and name the copy."
            raise UnreadableFile(str(self._address), problem, hint=hint) from None
        except Exception as error:
            raise self._failed(self._address.path, error) from None

    def _failed(self, path: str, error: Exception) -> UnreadableFile:
        if isinstance(error, FileNotFoundError):
            return UnreadableFile(self._named(path), "no such bucket or path", hint="Check the name.")
        said = plain(" ".join(str(error).split()) or type(error).__name__, 160)
        if isinstance(error, PermissionError):
            return UnreadableFile(self._named(path), f"permission denied ({said})", hint="Log in with the store's own tool first.")
        return ConnectionDropped(
            self._named(path), f"cannot be read ({said})", hint="Check the network, and log in with the store's own tool."
        )


def _state(said: dict[str, Any]) -> RemoteState:
    when = next((said[key] for key in _TIMES if said.get(key) is not None), None)
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when.replace("Z", "+00:00"))
        except ValueError:
            when = None
    if isinstance(when, datetime):
        utc = when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)
        since = utc - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return RemoteState(
            int(said.get("size") or 0), (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000
        )
    return RemoteState(int(said.get("size") or 0), int(when * 1e9) if isinstance(when, (int, float)) else 0)
