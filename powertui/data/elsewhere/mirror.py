"""A folder that lies elsewhere, as a folder of our own: every name, size and time, and of the contents what was asked for.

    ~/.cache/powertui/elsewhere/ssh/user@host:22/files/home/user/logs/…    the folder, at the path that it has there
                                                /heads/…                   the first bytes of files with doubtful names
                                                /parts/…                   files that are on their way

A file that has not come yet has its size and its time, holds nothing, and *may not be read*: whoever opens it unasked gets an
error, never zeros. `at_hand` brings it. A file that came is kept until there it has another size or time.
Names come from the other machine: what does not lie below the folder that was asked for is left out, and no link is ever made here.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from powertui.data.elsewhere.address import SSH, RemoteAddress
from powertui.data.elsewhere.store import ConnectionDropped, FileMoved, RemoteEntry, RemoteListing, RemoteState, RemoteStore
from powertui.data.model import Warn
from powertui.errors import UnreadableFile

HEAD = 8192  # bytes by which a file's kind is told
_TRIES = 3
_AWAY, _HERE = 0o200, 0o400  # how a file is marked: it may be read once it is here

BytesProgress = Callable[[int, int, int], None]


def _silent(done: int, total: int, events: int, /) -> None:
    """Nobody wants to know."""


class LocalCopy(NamedTuple):
    """Where a folder or file from elsewhere lies here, and what could not be had of it."""

    path: str
    problems: tuple[Warn, ...]


def cache() -> Path:
    """The folder of everything that came from elsewhere; it may be deleted at any time."""
    return _cache(os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", ""))


@functools.lru_cache(maxsize=2)
def _cache(base: str, _: str) -> Path:
    """Put together once: it is asked for with every file that is opened."""
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "powertui" / "elsewhere"


def _store_of(address: RemoteAddress) -> RemoteStore:
    """Whoever can be asked about it."""
    if address.scheme == SSH:
        from powertui.data.elsewhere.ssh import SshHost

        return SshHost(address)
    from powertui.data.elsewhere.cloud import Bucket

    return Bucket(address)


class Mirror:
    """Everything of one host or bucket."""

    def __init__(self, address: RemoteAddress) -> None:
        self.address = address
        self._top = cache() / address.scheme / address.place
        self.files = self._top / "files"
        self._files = str(self.files)

    # ── names ──

    def listed(self, matters: Callable[[str], bool]) -> LocalCopy:
        """Ask what lies there, and make it so here. `matters`: whether a file of this name can be of use."""
        found = _store_of(self.address).listing(self.address.path)
        root = _clean(found.root)
        if root is None:
            raise UnreadableFile(str(self.address), "its path cannot be kept here", hint="Copy it, and name the copy.")
        try:
            problems = self._make(found, root, matters)
        except OSError as error:
            hint = "Set XDG_CACHE_HOME to a folder with room."
            raise UnreadableFile(str(self._top), f"cannot be written: {error.strerror or error}", hint=hint) from None
        return LocalCopy(self._of(found.file if found.file is not None else root), tuple(problems))

    def _make(self, found: RemoteListing, root: str, matters: Callable[[str], bool]) -> list[Warn]:
        self._top.mkdir(mode=0o700, parents=True, exist_ok=True)
        Path(self._of(root)).mkdir(mode=0o700, parents=True, exist_ok=True)
        problems: list[Warn] = []
        names: set[str] = set()
        for entry in found.entries:
            path = _clean(entry.path)
            if path is None or path != entry.path:
                continue
            why = _TROUBLE.get(entry.kind)
            if entry.kind == "d":
                names.add(path)
            elif why is not None:
                if entry.kind == "u" or matters(path.rpartition("/")[2]):
                    problems.append(Warn(self.shown(self._of(path)), "", why))
            elif entry.kind == "f" and matters(path.rpartition("/")[2]):
                names.add(path)
        for entry in found.entries:
            if entry.path in names:
                try:
                    self._place(entry)
                except (OSError, ValueError) as error:
                    reason = getattr(error, "strerror", None) or str(error)
                    problems.append(
                        Warn(f"{self.address.scheme}://{self.address.place}{entry.path}", "", f"cannot be kept here: {reason}")
                    )
        if not found.complete:
            problems.append(Warn(str(self.address), "", "there is more than could be listed. Name a folder further down"))
        elif found.file is None:
            self._without_others(self._of(root), {self._of(name) for name in names})
        return problems

    def _place(self, entry: RemoteEntry) -> None:
        here = self._of(entry.path)
        try:
            status = os.lstat(here)
        except OSError:
            status = None
        if entry.kind == "d":
            if status is None or not stat.S_ISDIR(status.st_mode):
                _remove(here, status)
                _folder(here)
            return
        if status is not None and stat.S_ISREG(status.st_mode) and (status.st_size, status.st_mtime_ns) == entry.state:
            return
        _remove(here, status)
        try:
            file = os.open(here, _NEW, _AWAY)
        except FileNotFoundError:
            _folder(os.path.dirname(here))  # noqa: PTH120
            file = os.open(here, _NEW, _AWAY)
        try:
            os.ftruncate(file, entry.state.size)
            os.utime(file, ns=(entry.state.mtime_ns, entry.state.mtime_ns))
        finally:
            os.close(file)

    def _without_others(self, root: str, names: set[str]) -> None:
        """What does not lie there any more does not lie here."""
        for folder, below, files in os.walk(root, topdown=False):
            for name in files:
                if os.path.join(folder, name) not in names:  # noqa: PTH118
                    os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118
            for name in below:
                if os.path.join(folder, name) not in names:  # noqa: PTH118
                    with contextlib.suppress(OSError):  # it holds something that was listed
                        os.rmdir(os.path.join(folder, name))  # noqa: PTH106, PTH118

    def _of(self, path: str) -> str:
        return self._files + path  # plain text: a listing asks for thousands

    def _there(self, here: str) -> str:
        return here[len(self._files) :]

    def shown(self, here: str) -> str:
        """The address of a file."""
        return str(self.address._replace(path=self._there(here)))

    # ── contents ──

    def bring(self, here: str, progress: BytesProgress = _silent) -> None:
        """Have a whole file here. What came of it before is kept, and only the rest moves."""
        path, store = self._there(here), _store_of(self.address)
        moved = 0
        while True:
            status = Path(here).lstat()
            if status.st_mode & _HERE:
                return
            state = RemoteState(status.st_size, status.st_mtime_ns)
            with self._part(path, state) as (part, file):
                before = os.fstat(file).st_size
                try:
                    self._pour(store.read(path, state, before), file, state, progress)
                except FileMoved as change:
                    moved += 1
                    if moved >= _TRIES:
                        problem = "it changes faster than it can be copied"
                        raise UnreadableFile(self.shown(here), problem, hint="Wait until it is written.") from None
                    part.unlink()
                    self._place(RemoteEntry(path, "f", change.state))
                    continue
                except ConnectionDropped as error:
                    moved += 1
                    if moved < _TRIES and os.fstat(file).st_size > before:
                        continue
                    raise ConnectionDropped(self.shown(here), error.problem, hint=error.hint) from None
                except OSError as error:
                    hint = "Set XDG_CACHE_HOME to a folder with room."
                    raise UnreadableFile(str(part), f"cannot be written: {error.strerror or error}", hint=hint) from None
                os.utime(file, ns=(state.mtime_ns, state.mtime_ns))
                os.fchmod(file, _HERE)
                part.replace(here)

    def _pour(self, pieces: Iterator[bytes], file: int, state: RemoteState, progress: BytesProgress) -> None:
        done = os.fstat(file).st_size
        progress(done, state.size, 0)
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(file, rest) :]
            done += len(piece)
            progress(done, state.size, 0)

    @contextlib.contextmanager
    def _part(self, path: str, state: RemoteState) -> Iterator[tuple[Path, int]]:
        """The file into which it comes; one of its own where another process is at it already."""
        folder = self._top / "parts"
        folder.mkdir(mode=0o700, exist_ok=True)
        name = folder / _key(path, state)
        file = os.open(name, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        own = False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            name, own = name.with_name(f"{name.name}-{os.getpid()}"), True
            file = os.open(name, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            if os.fstat(file).st_size > state.size:
                os.ftruncate(file, 0)
            yield name, file
        finally:
            os.close(file)
            if own:
                name.unlink(missing_ok=True)

    # ── what files are, before they come ──

    def head(self, here: str) -> bytes | None:
        """The first bytes of a file that has not come; None when nobody has asked for them yet."""
        return self._kept(here, "")

    def sum(self, here: str) -> bytes | None:
        """The same of its checksum."""
        return self._kept(here, ".sum")

    def look(self, heads: Iterable[str], sums: Iterable[str]) -> None:
        """Ask for the heads of these files, and the checksums of those."""
        store = _store_of(self.address)
        folder = self._top / "heads"
        folder.mkdir(mode=0o700, exist_ok=True)
        first = [(self._there(here), Path(here).lstat().st_size) for here in heads]
        found = store.heads(first, HEAD) if first else {}
        for path, _ in first:
            self._keep(path, "", found.get(path, b""))
        second = [self._there(here) for here in sums]
        told = store.sums(second) if second else {}
        for path in second:
            self._keep(path, ".sum", told.get(path, os.fsencode(path)))

    def _kept(self, here: str, ending: str) -> bytes | None:
        status = Path(here).lstat()
        key = _key(self._there(here), RemoteState(status.st_size, status.st_mtime_ns))
        try:
            return (self._top / "heads" / f"{key}{ending}").read_bytes()
        except OSError:
            return None

    def _keep(self, path: str, ending: str, data: bytes) -> None:
        status = os.lstat(self._of(path))
        key = _key(path, RemoteState(status.st_size, status.st_mtime_ns))
        fresh = self._top / "heads" / f"{key}{ending}.{os.getpid()}"
        fresh.write_bytes(data)
        fresh.replace(self._top / "heads" / f"{key}{ending}")


_TROUBLE = {
    "u": "cannot be listed: permission denied", "l": "cannot be examined: a link to nothing",
    **dict.fromkeys("psbcD", "is not a plain file, so it was not opened"),
}  # fmt: skip


def _clean(path: str) -> str | None:
    """An absolute path that stays where it says; None for any other."""
    parts = path.split("/")[1:]
    stays = path.startswith("/") and not any(part in (".", "..") or len(os.fsencode(part)) > 250 for part in parts)
    return path if stays else None


def _key(path: str, state: RemoteState) -> str:
    return f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}-{state.size}-{state.mtime_ns}"


_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW


def _folder(here: str) -> None:
    """Make a folder, and those above it where they are missing: seldom, since a listing names them first."""
    try:
        os.mkdir(here, 0o700)  # noqa: PTH102
    except FileNotFoundError:
        os.makedirs(here, mode=0o700)  # noqa: PTH103


def _remove(here: str, status: os.stat_result | None) -> None:
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        shutil.rmtree(here)
    else:
        os.unlink(here)  # noqa: PTH108
