"""A folder on another machine, through the system's own ssh: its keys, its settings, its known
hosts.

There the command is always `exec /bin/sh -s`, and what to do comes through standard input: no shell
but a POSIX one ever reads a path, and paths are quoted for it. A host's words are marked by a
number that only this question knows, so that what its start-up files print is passed over.

One connection serves all questions (ControlMaster): a question costs a round trip or two instead of
eight. `POWERTUI_SSH` names another command, as `ssh -F file`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from powertui.data.elsewhere import records, script
from powertui.data.elsewhere.address import RemoteAddress
from powertui.data.elsewhere.progress import TransferProgress
from powertui.data.elsewhere.records import EndlessListing
from powertui.data.elsewhere.ssh_answer import NOT_UNDERSTOOD, SshAnswer, may_ask, try_hint
from powertui.data.elsewhere.ssh_process import PIECE_BYTES
from powertui.data.elsewhere.store import (
    ConnectionDropped,
    FileMoved,
    HostStalled,
    RemoteEntry,
    RemoteListing,
    RemoteState,
)
from powertui.data.limits import MAX_ENTRIES
from powertui.errors import UnreadableFile

_CONNECTION_IDLE_S = 300  # an idle connection stays for so long
_MAX_SOCKET_PATH_BYTES = 100  # bytes of a socket's path, with what ssh appends while it makes it
_SOCKET_NAME_BYTES = 1 + 40 + 18  # "/", %C as a SHA-1 in hex, and ssh's ending while it makes it
# Files in one command: even paths of 4 KiB stay far below the 2 MiB that Linux takes.
_FILES_PER_COMMAND = 100
_NAME_BYTES = 64  # what a name of a listing takes on the line: paths pack to a fifth
_SUM_BYTES = 64  # a line of cksum
_LEAVE_S = 5.0  # for the end of a kept connection


class SshHost:
    """One host."""

    def __init__(self, address: RemoteAddress) -> None:
        self._address = address

    # ── questions ──

    def listing(self, path: str) -> RemoteListing:
        """What lies in a folder or around a file. Raises `UnreadableFile` with what is wrong."""
        answer = self._ask(script.LIST, MAX_ENTRIES * _NAME_BYTES, p=path)
        try:
            packed = answer.word(path) == "ok z"
            pieces = answer.pieces()
            stream = records.records(records.unpacked(pieces) if packed else pieces)
            file = None
            for record in stream:
                if record is not None and record.kind == "@file":
                    file = record.path
                elif record is not None and record.kind == "@root" and record.path.startswith("/"):
                    listing = RemoteListing(record.path, file, ())
                    listing.entries = _entries(listing, stream, answer)
                    return listing
                elif record is None:
                    raise self._not_understood(path)
            raise answer.failure()
        except EndlessListing:
            answer.end()
            raise self._not_understood(path) from None
        except BaseException:
            answer.end()
            raise

    def read(self, path: str, state: RemoteState, start: int) -> Iterator[bytes]:
        """The bytes of a file from a place on, as long as it is in this state.

        Raises `FileMoved` when it is in another.
        """
        remaining = state.size - start
        with self._ask(script.READ, remaining, p=path, a=str(start + 1)) as answer:
            now = _state(answer.word(path).split()[1:])
            if now is not None and now != state:
                raise FileMoved(now)
            # No more than was listed: what a live run appends belongs to its next state.
            while remaining:
                piece = answer.read(
                    min(PIECE_BYTES, remaining),
                    TransferProgress(self._host, "bytes", state.size - remaining, state.size),
                )
                if not piece:
                    problem = f"the connection ended {remaining:,} bytes before the end"
                    raise ConnectionDropped(
                        self._named(path), problem, hint="Open it again: it continues from there."
                    )
                remaining -= len(piece)
                yield piece
            answer.complete()

    def heads(self, paths: Sequence[tuple[str, int]], count: int) -> Iterator[tuple[str, bytes]]:
        """The first bytes of files (path, size as listed), all in one question.

        Those that cannot be read are left out.
        """
        batches = [
            paths[low : low + _FILES_PER_COMMAND]
            for low in range(0, len(paths), _FILES_PER_COMMAND)
        ]
        words = ["w ok\n"]
        for batch in batches:
            names = " ".join(shlex.quote(path) for path, _ in batch)
            # /dev/null: with a single file `head` would print no title.
            words.append(f"head -c {count} {names} /dev/null 2>/dev/null\nw next\n")
        promised = sum(min(size, count) for _, size in paths)
        done = 0
        with self._ask("".join(words), promised) as answer:
            answer.word(paths[0][0])
            for batch in batches:
                # Each head with its title ("==> path <=="), and some room for line ends.
                longest = sum(count + len(os.fsencode(path)) + 16 for path, _ in batch) + 4096
                progress = TransferProgress(self._host, "files", done, len(paths))
                data, complete = answer.until_word("next", longest, progress)
                yield from _heads(data, batch, count)
                if not complete:
                    raise answer.failure()
                done += len(batch)

    def sums(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """A checksum of each file: what tells copies of one file from two files of one size."""
        words = "w ok\n" + "".join(
            f"cksum < {shlex.quote(path)} 2>/dev/null || echo -\n" for path in paths
        )
        with self._ask(words, len(paths) * _SUM_BYTES) as answer:
            answer.word(paths[0])
            for done, path in enumerate(paths):
                line = answer.line(
                    _SUM_BYTES, TransferProgress(self._host, "files", done, len(paths))
                )
                if not line.endswith(b"\n"):
                    raise answer.failure()
                if line != b"-\n":
                    yield path, line[:-1]

    # ── how they are asked ──

    @property
    def _host(self) -> str:
        return self._address.login[1]

    def _named(self, path: str) -> str:
        return str(self._address._replace(path=path))

    def _not_understood(self, path: str) -> UnreadableFile:
        return UnreadableFile(self._named(path), NOT_UNDERSTOOD, hint=try_hint(self._address))

    def _ask(self, words: str, promised: int, **values: str) -> SshAnswer:
        """Ask; `promised`: bytes that the answer may be expected to hold."""
        number = secrets.token_hex(12)
        settings = "".join(
            f"{name}={shlex.quote(value)}\n" for name, value in {"n": number, **values}.items()
        )
        question = (settings + script.COMMON + words).encode("utf-8", "surrogateescape")
        return SshAnswer(
            address=self._address,
            command=self._command(),
            question=question,
            number=number,
            promised=promised,
        )

    def _command(self) -> list[str]:
        user, host, port = self._address.login
        options = {
            "BatchMode": "no" if may_ask() else "yes",
            # TCP alone would try for two minutes.
            "ConnectTimeout": "20",
            # 4 x 15 s: a host that vanished is noticed within a minute.
            "ServerAliveInterval": "15",
            "ServerAliveCountMax": "4",
            # What the person's settings do beside a login would fail or hang in a question of ours:
            # a port that is forwarded already, a command, a terminal.
            "ClearAllForwardings": "yes",
            "PermitLocalCommand": "no",
            "RemoteCommand": "none",
            "RequestTTY": "no",
            "LogLevel": "ERROR",
        }
        socket = _socket()
        if socket:
            options |= {
                "ControlMaster": "auto",
                "ControlPath": socket,
                "ControlPersist": str(_CONNECTION_IDLE_S),
            }
        program = client()
        settings = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return [*program, "-T", *settings, *_login_words(user, port), "--", host, "exec /bin/sh -s"]

    def leave(self) -> None:
        """End the connection that is kept."""
        socket = _socket()
        if socket:
            user, host, port = self._address.login
            program = client()
            login = _login_words(user, port)
            command = [*program, "-O", "exit", "-o", f"ControlPath={socket}", *login, "--", host]
            nowhere = subprocess.DEVNULL
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    command,
                    stdin=nowhere,
                    stdout=nowhere,
                    stderr=nowhere,
                    check=False,
                    timeout=_LEAVE_S,
                )


def _entries(
    listing: RemoteListing,
    stream: Iterator[records.ListingRecord | None],
    answer: SshAnswer,
) -> Iterator[RemoteEntry]:
    """The entries of a listing as they come, and at the end what is missing of it.

    Raises only where nothing came at all.
    """
    count, ended = 0, False
    host = answer.host
    with answer:
        try:
            for record in stream:
                if record is not None and record.kind == "@end":
                    ended = True
                    break
                if record is None or record.state is None or record.kind.startswith("@"):
                    listing.impossible += 1
                    if listing.impossible > MAX_ENTRIES:
                        raise EndlessListing
                    continue
                count += 1
                if count > MAX_ENTRIES:
                    listing.shortfall = (
                        f"there are more than {MAX_ENTRIES:,} names. Name a folder further down"
                    )
                    return
                yield RemoteEntry(record.path, record.kind, record.state)
                answer.names = count
        except EndlessListing:
            listing.shortfall = (
                f"{host} sends more than the names of {MAX_ENTRIES:,} files. Name a folder further "
                "down"
            )
            return
        except HostStalled as error:
            if not count:
                raise
            listing.shortfall = f"{error.problem}. Listed until then: {count:,}"
            return
        if not ended:
            failure = answer.failure()
            if not count:
                raise failure
            listing.shortfall = (
                f"the connection ended before all files were listed. Listed until then: {count:,}"
            )


def _heads(
    data: bytes,
    batch: Sequence[tuple[str, int]],
    count: int,
) -> Iterator[tuple[str, bytes]]:
    """What `head` prints of several files, taken apart."""
    names = [path for path, _ in batch] + ["/dev/null"]
    at = 0
    for index, (path, size) in enumerate(batch):
        title = b"==> " + os.fsencode(path) + b" <==\n"
        title_at = data.find(title, at)
        if title_at < 0:
            continue  # gone, or not to be read
        begin = title_at + len(title)
        end = begin + min(size, count)
        behind = b"\n==> " + os.fsencode(names[index + 1]) + b" <==\n"
        if data[end : end + len(behind)] != behind:  # it is shorter now, or the next one is gone
            after = data.find(b"\n==> ", begin)
            end = min(begin + count, after if after >= 0 else len(data))
        yield path, data[begin:end]
        at = end


def _state(words: Sequence[str]) -> RemoteState | None:
    """From "size seconds", as `st` prints them."""
    if len(words) > 1:
        return records.state_from(words[0].encode(), words[1].encode())
    return None


def _login_words(user: str, port: str) -> list[str]:
    """As options: what the address leaves out is left to the person's ssh settings."""
    words = ["-l", user] if user else []
    return words + (["-p", port] if port else [])


def client() -> list[str]:
    """The command that speaks ssh."""
    return shlex.split(os.environ.get("POWERTUI_SSH", "")) or ["ssh"]


def _socket() -> str:
    """Where the socket of the kept connection lies: in a folder that is this person's alone.

    Empty where there is none.
    """
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base) / (f"powertui-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return ""
    # Whoever owns the folder of the socket could speak through our connection.
    private = status.st_uid == os.getuid() and not status.st_mode & 0o077
    if not private or folder.is_symlink():
        return ""
    # ssh reads % as its own, and the kernel takes no longer path for a socket.
    fits = len(str(folder)) + _SOCKET_NAME_BYTES <= _MAX_SOCKET_PATH_BYTES
    if "%" in str(folder) or not fits:
        return ""
    return str(folder / "%C")
