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
import re
import secrets
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from powertui.data.elsewhere import records, script
from powertui.data.elsewhere.address import RemoteAddress
from powertui.data.elsewhere.deadlines import SILENCE_VARIABLE, Deadlines, WaitingTime, deadlines
from powertui.data.elsewhere.progress import TransferProgress, report
from powertui.data.elsewhere.records import EndlessListing
from powertui.data.elsewhere.ssh_process import PIECE_BYTES, SshProcess, Stalled
from powertui.data.elsewhere.store import (
    MAX_NAMES,
    ConnectionDropped,
    FileMoved,
    HostStalled,
    RemoteEntry,
    RemoteListing,
    RemoteState,
)
from powertui.errors import UnreadableFile
from powertui.plain import plain

_CONNECTION_IDLE_S = 300  # an idle connection stays for so long
_MAX_BANNER_BYTES = 1 << 16  # bytes that a start-up file may print before our first word
_MAX_SOCKET_PATH_BYTES = 100  # bytes of a socket's path, with what ssh appends while it makes it
_FILES_PER_COMMAND = 100  # files in one command
_NAME_BYTES = 64  # what a name of a listing takes on the line: paths pack to a fifth
_SUM_BYTES = 64  # a line of cksum
_LOGIN_S = (
    150.0  # while ssh may be asking a person: sshd itself ends a login after 120 s (LoginGraceTime)
)
_LEAVE_S = 5.0  # for the end of a kept connection
_REMEMBERED_S = 300.0  # a host that was silent is waited for less long, for so long


class SshHost:
    """One host."""

    def __init__(self, address: RemoteAddress) -> None:
        self._address = address

    # ── questions ──

    def listing(self, path: str) -> RemoteListing:
        """What lies in a folder or around a file. Raises `UnreadableFile` with what is wrong."""
        answer = self._ask(script.LIST, MAX_NAMES * _NAME_BYTES, p=path)
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
            words.append(f"head -c {count} {names} /dev/null 2>/dev/null\nw next\n")
        promised = sum(min(size, count) for _, size in paths)
        done = 0
        with self._ask("".join(words), promised) as answer:
            answer.word(paths[0][0])
            for batch in batches:
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
        return UnreadableFile(self._named(path), _NOT_UNDERSTOOD, hint=_try(self._address))

    def _ask(self, words: str, promised: int, **values: str) -> _Answer:
        """Ask; `promised`: bytes that the answer may be expected to hold."""
        number = secrets.token_hex(12)
        settings = "".join(
            f"{name}={shlex.quote(value)}\n" for name, value in {"n": number, **values}.items()
        )
        question = (settings + script.COMMON + words).encode("utf-8", "surrogateescape")
        return _Answer(self._address, self._command(), question, number, promised)

    def _command(self) -> list[str]:
        user, host, port = self._address.login
        options = {
            "BatchMode": "no" if _may_ask() else "yes",
            "ConnectTimeout": "20",
            "ServerAliveInterval": "15",
            "ServerAliveCountMax": "4",
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
        login = [*(("-l", user) if user else ()), *(("-p", port) if port else ())]
        return [*program, "-T", *settings, *login, "--", host, "exec /bin/sh -s"]

    def leave(self) -> None:
        """End the connection that is kept."""
        socket = _socket()
        if socket:
            user, host, port = self._address.login
            program = client()
            login = [*(("-l", user) if user else ()), *(("-p", port) if port else ())]
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


def _may_ask() -> bool:
    """Whether ssh may ask for a password: only before a screen stands, which has the terminal for
    itself.
    """
    return threading.current_thread() is threading.main_thread()


def _try(address: RemoteAddress) -> str:
    user, host, port = address.login
    words = ["ssh", *(["-p", port] if port else []), f"{user}@{host}" if user else host, "true"]
    return f"Try {shlex.join(words)}: powertui uses the same keys and settings."


class _SilentHosts:
    """Hosts that were waited for in vain, and when.

    Each file of theirs would take as long again.
    """

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def limits(self, place: str) -> Deadlines:
        """How long to wait for this one now."""
        since = self._since.get(place)
        usual = deadlines()
        return (
            usual.impatient()
            if since is not None and time.monotonic() - since < _REMEMBERED_S
            else usual
        )

    def was_silent(self, place: str) -> None:
        """It was waited for in vain."""
        self._since[place] = time.monotonic()

    def answered(self, place: str) -> None:
        """A whole answer came."""
        self._since.pop(place, None)


_silent_hosts = _SilentHosts()


class _Answer:
    """What a host says to one question. Leaving it ends the question."""

    def __init__(
        self,
        address: RemoteAddress,
        command: Sequence[str],
        question: bytes,
        number: str,
        promised: int,
    ) -> None:
        self.names = 0  # of a listing, so far
        self.host = address.login[1]
        self._address, self._mark = address, f"{number} ".encode()
        self._limits = _silent_hosts.limits(address.place)
        self._waiting = WaitingTime(self._limits, promised)
        try:
            self._process = SshProcess(command, question, self.host)
        except OSError as error:
            hint = "Install an ssh client (openssh-client), or mount the folder: sshfs."
            raise UnreadableFile(
                str(address), f"ssh cannot be run ({error.strerror or error})", hint=hint
            ) from None

    def __enter__(self) -> _Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the question, whatever is left of its answer."""
        self._process.end()
        report(None)

    def word(self, path: str) -> str:
        """The first thing that it says to us.

        Raises `UnreadableFile` for all that is not "ok …".
        """
        noise = 0
        first = self._limits
        if _may_ask() and _has_terminal():
            first = Deadlines(max(first.silence_s, _LOGIN_S), first.min_rate, first.min_progress)
        login = WaitingTime(first, 0)
        progress = TransferProgress(self.host, "login", 0)
        while noise <= _MAX_BANNER_BYTES:
            line = self._line(_MAX_BANNER_BYTES, login, progress)
            if not line:
                raise self.failure()
            at = line.find(self._mark)
            if at >= 0:
                answer = line[at + len(self._mark) :].decode("ascii", "replace").strip()
                if answer.startswith("ok"):
                    self._waiting.answered = True
                    return answer
                raise _refused(str(self._address._replace(path=path)), answer)
            noise += len(line)
        raise UnreadableFile(
            str(self._address),
            "the host prints something else before its answer",
            hint=_try(self._address),
        )

    def read(self, count: int, progress: TransferProgress) -> bytes:
        """So many bytes, or fewer; none at the end."""
        try:
            return self._process.read(count, self._waiting, lambda: self._report(progress))
        except Stalled as problem:
            raise self._stalled(problem) from None

    def line(self, longest: int, progress: TransferProgress) -> bytes:
        """A line with its end, if it has one."""
        return self._line(longest, self._waiting, progress)

    def pieces(self) -> Iterator[bytes]:
        """Everything else of a listing, as it comes."""
        while piece := self.read(PIECE_BYTES, TransferProgress(self.host, "names", self.names)):
            yield piece
        self.complete()

    def until_word(self, word: str, longest: int, progress: TransferProgress) -> tuple[bytes, bool]:
        """What comes before this word of ours, and whether it came within so many bytes."""
        mark = self._mark + f"{word}\n".encode()
        try:
            return self._process.until(mark, longest, self._waiting, lambda: self._report(progress))
        except Stalled as problem:
            raise self._stalled(problem) from None

    def complete(self) -> None:
        """All of it came: the host is no silent one."""
        _silent_hosts.answered(self._address.place)

    def failure(self) -> UnreadableFile:
        """Why an answer was cut short, or is none."""
        if self._process.has_more:
            return UnreadableFile(str(self._address), _NOT_UNDERSTOOD, hint=_try(self._address))
        lines = self._process.last_words()
        text = "\n".join(lines)
        for words, problem in _FAILURES:
            if any(word in text for word in words):
                return ConnectionDropped(
                    str(self._address), problem.format(host=self.host), hint=_try(self._address)
                )
        reason = plain(_SECRET.sub(r"\1…", lines[-1]), 160) if lines else "it says nothing"
        return ConnectionDropped(
            str(self._address), f"ssh failed: {reason}", hint=_try(self._address)
        )

    def _line(self, longest: int, waiting: WaitingTime, progress: TransferProgress) -> bytes:
        try:
            return self._process.line(
                longest, waiting, lambda: report(progress._replace(quiet_s=waiting.quiet_s))
            )
        except Stalled as problem:
            raise self._stalled(problem) from None

    def _report(self, progress: TransferProgress) -> None:
        report(progress._replace(quiet_s=self._waiting.quiet_s))

    def _stalled(self, problem: Stalled) -> HostStalled:
        _silent_hosts.was_silent(self._address.place)
        hint = f"{_try(self._address)} To wait longer, set {SILENCE_VARIABLE}=300 (seconds)."
        return HostStalled(str(self._address), str(problem), hint=hint)


def _has_terminal() -> bool:
    """Whether there is somebody to ask."""
    with contextlib.suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        return True
    return False


# What ssh prints is the far side's words: a password or a token in it is nobody's business.
_SECRET = re.compile(
    r"((?:pass(?:word|phrase|wd)?|secret|token)\s*[=:]\s*|://[^/@\s]*:(?=[^/@\s]*@))[^\s@]+",
    re.IGNORECASE,
)

_FAILURES = (
    (
        ("Could not resolve hostname", "Name or service not known", "nodename nor servname"),
        "there is no host named {host}",
    ),
    (
        ("Host key verification failed", "REMOTE HOST IDENTIFICATION"),
        "the key of {host} is not the one that ssh knows",
    ),
    (("Permission denied (", "Too many authentication failures"), "{host} does not let you in"),
    (("Connection refused",), "{host} refuses the connection: no ssh server listens there"),
    (("timed out", "No route to host", "Network is unreachable"), "{host} does not answer"),
    (
        ("Connection closed", "Connection reset", "Broken pipe", "closed by remote"),
        "{host} closed the connection",
    ),
)

_REFUSALS = {
    "missing": (
        "no such file or folder there",
        "Check the path. ssh://host/~/logs counts from your own folder there.",
    ),
    "denied": ("permission denied there", "Ask its owner for read access."),
    "special": (
        "is neither a folder nor a plain file",
        "Name a logdir, a run folder or a profile.",
    ),
}


_NOT_UNDERSTOOD = "powertui does not understand the host's answer"


def _refused(named: str, answer: str) -> UnreadableFile:
    problem, hint = _REFUSALS.get(answer, (_NOT_UNDERSTOOD, ""))
    return UnreadableFile(named, problem, hint=hint)


def _entries(
    listing: RemoteListing, stream: Iterator[records.ListingRecord | None], answer: _Answer
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
                    if listing.impossible > MAX_NAMES:
                        raise EndlessListing
                    continue
                count += 1
                if count > MAX_NAMES:
                    listing.shortfall = (
                        f"there are more than {MAX_NAMES:,} names. Name a folder further down"
                    )
                    return
                yield RemoteEntry(record.path, record.kind, record.state)
                answer.names = count
        except EndlessListing:
            listing.shortfall = (
                f"{host} sends more than the names of {MAX_NAMES:,} files. Name a folder further "
                "down"
            )
            return
        except HostStalled as error:
            if not count:
                raise
            listing.shortfall = f"{error.problem}. Names that came before: {count:,}"
            return
        if not ended:
            failure = answer.failure()
            if not count:
                raise failure
            listing.shortfall = (
                f"the connection ended while the names came. Names that came before: {count:,}"
            )


def _heads(
    data: bytes, batch: Sequence[tuple[str, int]], count: int
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
    return records.state_from(words[0].encode(), words[1].encode()) if len(words) > 1 else None


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
    path = folder / "%C"
    safe = status.st_uid == os.getuid() and not status.st_mode & 0o077 and not folder.is_symlink()
    return (
        str(path)
        if safe
        and "%" not in str(folder)
        and len(str(folder)) + 1 + 40 + 18 <= _MAX_SOCKET_PATH_BYTES
        else ""
    )
