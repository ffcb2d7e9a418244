"""A folder that lies elsewhere, as a folder of our own: every name, size and time, and of the
contents what was asked for.

    ~/.cache/powertui/elsewhere/ssh/user@host:22
        /files/home/user/logs/…    the folder, at the path that it has there
        /heads/…                   the first bytes of files with doubtful names
        /parts/…                   files that are on their way

A file that has not come yet has its size and its time, holds nothing, and *may not be read*:
whoever opens it unasked gets an error, never zeros. `at_hand` brings it. A file that came is kept
until there it has another size or time. Names come from the other machine: what does not lie below
the folder that was asked for is left out, and no link is ever made here.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

from powertui import units
from powertui.data.elsewhere.address import SSH, RemoteAddress
from powertui.data.elsewhere.keeping import HEAD_BYTES, cache
from powertui.data.elsewhere.listed_names import (
    TROUBLE,
    NameProblems,
    clean_path,
    impossible_names,
    is_below,
)
from powertui.data.elsewhere.progress import listening
from powertui.data.elsewhere.store import (
    ConnectionDropped,
    FileMoved,
    HostStalled,
    RemoteEntry,
    RemoteListing,
    RemoteState,
    RemoteStore,
)
from powertui.data.model import Warn
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

_MAX_TRIES = 3  # to bring one file: a live run may write to it while it is read
_MAX_ROOT_LEVELS = 200  # of folders above it; the deepest that people have are a tenth of that
_AWAY, _HERE = 0o200, 0o400  # how a file is marked: it may be read once it is here

BytesProgress = Callable[[int, int, int], None]


def _silent(done: int, total: int, events: int, /) -> None:
    """Nobody wants to know."""


class LocalCopy(NamedTuple):
    """Where a folder or file from elsewhere lies here, and what could not be had of it."""

    path: str
    problems: tuple[Warn, ...]


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
        self._heads = str(self._top / "heads")

    # ── names ──

    def listed(self, matters: Callable[[str], bool]) -> LocalCopy:
        """Ask what lies there, and make it so here.

        `matters`: whether a file of this name can be of use.
        """
        listing = _store_of(self.address).listing(self.address.path)
        entries = iter(listing.entries)
        try:
            root = clean_path(listing.root)
            if root is None or root.count("/") > _MAX_ROOT_LEVELS:
                raise UnreadableFile(
                    str(self.address),
                    "its path cannot be kept here",
                    hint="Copy it, and name the copy.",
                )
            problems = self._make(listing, entries, root, matters)
        except OSError as error:
            raise _unwritable(self._top, error) from None
        finally:
            if isinstance(entries, Generator):
                entries.close()  # ends the question
        return LocalCopy(
            self._local(listing.file if listing.file is not None else root), tuple(problems)
        )

    def _make(
        self,
        listing: RemoteListing,
        entries: Iterator[RemoteEntry],
        root: str,
        matters: Callable[[str], bool],
    ) -> list[Warn]:
        """Make each name as it comes; what is wrong with them."""
        self._top.mkdir(mode=0o700, parents=True, exist_ok=True)
        Path(self._local(root)).mkdir(mode=0o700, parents=True, exist_ok=True)
        problems = NameProblems(str(self.address))
        names: set[str] = set()
        unusable = 0
        for entry in entries:
            path = clean_path(entry.path)
            if path is None or not is_below(path, root):
                unusable += 1
                continue
            cause = TROUBLE.get(entry.kind)
            # A folder may hold what matters; one that cannot be listed ("u") is always reported.
            matters_here = entry.kind == "d" or matters(path.rpartition("/")[2])
            if cause is not None:
                if entry.kind == "u" or matters_here:
                    problems.add(self.shown(self._local(path)), cause)
            elif entry.kind in "df" and matters_here and path not in names:
                names.add(path)
                self._try_to_place(entry, problems)
        # The listing is read as it is walked, so its own count stands only now.
        impossible = unusable + listing.impossible
        if impossible:
            problems.add(
                str(self.address),
                f"{impossible_names(impossible)} left out (outside the folder, too deep, or "
                "without a size)",
            )
        if listing.shortfall:
            problems.add(str(self.address), listing.shortfall)
        # Only a whole listing says that what it lacks is gone there.
        elif listing.file is None:
            self._without_others(self._local(root), {self._local(name) for name in names})
        return problems.all()

    def _try_to_place(self, entry: RemoteEntry, problems: NameProblems) -> None:
        """A name that this file system does not take must not cost the others."""
        try:
            self._place(entry)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            address = f"{self.address.scheme}://{self.address.place}{entry.path}"
            problems.add(address, f"cannot be kept here: {reason}")

    def _place(self, entry: RemoteEntry) -> None:
        here = self._local(entry.path)
        try:
            status = os.lstat(here)
        except OSError:
            status = None
        if entry.kind == "d":
            if status is None or not stat.S_ISDIR(status.st_mode):
                _remove(here, status)
                _folder(here)
            return
        if (
            status is not None
            and stat.S_ISREG(status.st_mode)
            and (status.st_size, status.st_mtime_ns) == entry.state
        ):
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
        except BaseException:
            os.unlink(here)  # noqa: PTH108 - with another size it would be another file
            raise
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

    def _local(self, path: str) -> str:
        return self._files + path  # plain text: a listing asks for thousands

    def _there(self, here: str) -> str:
        return here[len(self._files) :]

    def shown(self, here: str) -> str:
        """The address of a file."""
        return str(self.address._replace(path=self._there(here)))

    # ── contents ──

    def bring(self, here: str, progress: BytesProgress = _silent) -> None:
        """Have a whole file here. What came of it before is kept, and only the rest moves."""
        failures = 0
        while True:
            status = Path(here).lstat()
            if status.st_mode & _HERE:
                return
            state = RemoteState(status.st_size, status.st_mtime_ns)
            with self._part(here, state) as (part, file):
                before = os.fstat(file).st_size
                try:
                    self._fill(here, file, state, progress)
                except FileMoved as change:
                    failures += 1
                    if failures >= _MAX_TRIES:
                        problem = "it changes faster than it can be copied"
                        raise UnreadableFile(
                            self.shown(here), problem, hint="Wait until it is written."
                        ) from None
                    part.unlink()
                    self._replace(here, change.state)
                    continue
                except ConnectionDropped as error:
                    failures += 1
                    if failures < _MAX_TRIES and os.fstat(file).st_size > before:
                        continue
                    raise ConnectionDropped(
                        self.shown(here), error.problem, hint=error.hint
                    ) from None
                except HostStalled as error:
                    came = (
                        f"; {units.size(os.fstat(file).st_size)} of "
                        f"{units.size(state.size)} have arrived"
                    )
                    raise HostStalled(
                        self.shown(here), error.problem + came, hint=error.hint
                    ) from None
                except OSError as error:
                    raise _unwritable(part, error) from None
                os.utime(file, ns=(state.mtime_ns, state.mtime_ns))
                os.fchmod(file, _HERE)
                part.replace(here)

    def _replace(self, here: str, state: RemoteState) -> None:
        """The file is another there: its new size and time."""
        try:
            self._place(RemoteEntry(self._there(here), "f", state))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            problem = f"it has {units.size(state.size)} now, which cannot be kept here: {reason}"
            raise UnreadableFile(
                self.shown(here), problem, hint="Look at it there: ls -l."
            ) from None

    def _fill(self, here: str, file: int, state: RemoteState, progress: BytesProgress) -> None:
        """Fetch what is missing of a file."""
        before = os.fstat(file).st_size
        free = shutil.disk_usage(self._top).free
        if state.size - before > free:
            problem = (
                f"is {units.size(state.size)}, and the disk of the cache has "
                f"{units.size(free)} free"
            )
            raise UnreadableFile(
                self.shown(here), problem, hint="Set XDG_CACHE_HOME to a folder with room."
            )
        pieces = _store_of(self.address).read(self._there(here), state, before)
        try:
            with listening(lambda _transfer: progress(os.fstat(file).st_size, state.size, 0)):
                self._pour(pieces, file, state, progress)
        finally:
            if isinstance(pieces, Generator):
                pieces.close()  # ends the question
        if os.fstat(file).st_size != state.size:
            problem = f"it ended after {os.fstat(file).st_size:,} of {state.size:,} bytes"
            raise ConnectionDropped(
                self.shown(here), problem, hint="Open it again: it continues from there."
            )

    def _pour(
        self,
        pieces: Iterator[bytes],
        file: int,
        state: RemoteState,
        progress: BytesProgress,
    ) -> None:
        done = os.fstat(file).st_size
        progress(done, state.size, 0)
        for piece in pieces:
            rest = memoryview(piece)[: state.size - done]
            while rest:
                rest = rest[os.write(file, rest) :]
            done += len(piece)
            progress(done, state.size, 0)

    @contextlib.contextmanager
    def _part(self, here: str, state: RemoteState) -> Iterator[tuple[Path, int]]:
        """The file into which it comes; one of its own where another process is at it already."""
        folder = self._top / "parts"
        name = folder / _key(self._there(here), state)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            file = os.open(name, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _unwritable(name, error) from None
        is_ours = False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            name = name.with_name(f"{name.name}-{os.getpid()}")
            is_ours = True
            file = os.open(
                name, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW, 0o600
            )
        try:
            if os.fstat(file).st_size > state.size:
                os.ftruncate(file, 0)
            yield name, file
        finally:
            os.close(file)
            if is_ours:
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
        sizes = [(self._there(here), Path(here).lstat().st_size) for here in heads]
        paths = [self._there(here) for here in sums]
        try:
            (self._top / "heads").mkdir(mode=0o700, exist_ok=True)
            if sizes:
                self._keep_all(store.heads(sizes, HEAD_BYTES), {path: b"" for path, _ in sizes}, "")
            if paths:
                self._keep_all(
                    store.sums(paths), {path: os.fsencode(path) for path in paths}, ".sum"
                )
        except OSError as error:
            raise _unwritable(self._top, error) from None

    def _keep_all(
        self,
        answers: Iterable[tuple[str, bytes]],
        instead: dict[str, bytes],
        ending: str,
    ) -> None:
        """Keep each answer as it comes; `instead` is kept for files of which none came."""
        for path, data in answers:
            if instead.pop(path, None) is not None:
                self._keep(path, ending, data)
        for path, data in instead.items():
            self._keep(path, ending, data)

    def _kept(self, here: str, ending: str) -> bytes | None:
        status = os.lstat(here)
        key = _key(self._there(here), RemoteState(status.st_size, status.st_mtime_ns))
        try:
            with open(f"{self._heads}/{key}{ending}", "rb") as file:  # noqa: PTH123 - a path a name costs seconds
                return file.read()
        except OSError:
            return None

    def _keep(self, path: str, ending: str, data: bytes) -> None:
        status = os.lstat(self._local(path))
        key = _key(path, RemoteState(status.st_size, status.st_mtime_ns))
        fresh = self._top / "heads" / f"{key}{ending}.{os.getpid()}"
        try:
            fresh.write_bytes(data)
            fresh.replace(self._top / "heads" / f"{key}{ending}")
        except OSError:
            fresh.unlink(missing_ok=True)
            raise


def _unwritable(path: Path, error: OSError) -> UnreadableFile:
    hint = "Set XDG_CACHE_HOME to a folder with room."
    return UnreadableFile(str(path), f"cannot be written: {error.strerror or error}", hint=hint)


def _key(path: str, state: RemoteState) -> str:
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()
    return f"{digest[:32]}-{state.size}-{state.mtime_ns}"


_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW


def _folder(here: str) -> None:
    """Make a folder, and those above it where they are missing: seldom, since a listing names them
    first.
    """
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
