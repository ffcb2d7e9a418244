"""A folder on another machine, through the system's own ssh: its keys, its settings, its known hosts.

There the command is always `exec /bin/sh -s`, and what to do comes through standard input: no shell but a POSIX one ever reads a
path, and paths are quoted for it. A host's words are marked by a number that only this question knows, so that what its start-up
files print is passed over.

One connection serves all questions (ControlMaster): a question costs a round trip or two instead of eight.
`POWERTUI_SSH` names another command, as `ssh -F file`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from powertui.data.elsewhere import script
from powertui.data.elsewhere.address import RemoteAddress
from powertui.data.elsewhere.store import MOST, ConnectionDropped, FileMoved, RemoteEntry, RemoteListing, RemoteState
from powertui.errors import UnreadableFile
from powertui.plain import plain

_KEPT_S = 300  # an idle connection stays for so long
_NOISE = 1 << 16  # bytes that a start-up file may print before our first word
PIECE = 1 << 18
_LONGEST_SOCKET = 100  # bytes of a socket's path, with what ssh appends while it makes it
_AT_ONCE = 100  # files in one command


class SshHost:
    """One host."""

    def __init__(self, address: RemoteAddress) -> None:
        self._address = address

    # ── questions ──

    def listing(self, path: str) -> RemoteListing:
        """What lies in a folder or around a file. Raises `UnreadableFile` with what is wrong."""
        with self._ask(script.LIST, p=path) as answer:
            said = answer.word(path)
            data = answer.rest(packed=said == "ok z")
            return _listing(data, answer)

    def read(self, path: str, state: RemoteState, start: int) -> Iterator[bytes]:
        """The bytes of a file from a place on, as long as it is in this state. Raises `FileMoved` when it is in another."""
        with self._ask(script.READ, p=path, a=str(start + 1)) as answer:
            now = _state(answer.word(path).split()[1:])
            if now is not None and now != state:
                raise FileMoved(now)
            left = state.size - start
            while left:
                piece = answer.read(min(PIECE, left))
                if not piece:
                    problem = f"the connection ended {left:,} bytes before the end"
                    raise ConnectionDropped(self._named(path), problem, hint="Open it again: it continues from there.")
                left -= len(piece)
                yield piece

    def heads(self, paths: Sequence[tuple[str, int]], count: int) -> dict[str, bytes]:
        """The first bytes of files (path, size as listed), all in one question."""
        out: dict[str, bytes] = {}
        many = [paths[lo : lo + _AT_ONCE] for lo in range(0, len(paths), _AT_ONCE)]
        words = "w ok\n" + "".join(
            f"head -c {count} {' '.join(shlex.quote(path) for path, _ in some)} /dev/null 2>/dev/null\n" for some in many
        )
        with self._ask(words) as answer:
            answer.word(paths[0][0])
            data = answer.rest(packed=False)
        at = 0
        for some in many:
            names = [path for path, _ in some] + ["/dev/null"]
            for index, (path, size) in enumerate(some):
                title = b"==> " + os.fsencode(path) + b" <==\n"
                found = data.find(title, at)
                if found < 0:
                    continue  # gone, or not to be read
                begin = found + len(title)
                end = begin + min(size, count)
                behind = b"\n==> " + os.fsencode(names[index + 1]) + b" <==\n"
                if data[end : end + len(behind)] != behind:  # it is shorter now, or the next one is gone
                    after = data.find(b"\n==> ", begin)
                    end = min(begin + count, after if after >= 0 else len(data))
                out[path] = data[begin:end]
                at = end
        return out

    def sums(self, paths: Sequence[str]) -> dict[str, bytes]:
        """A checksum of each file: what tells copies of one file from two files of one size."""
        words = "w ok\n" + "".join(f"cksum < {shlex.quote(path)} 2>/dev/null || echo -\n" for path in paths)
        with self._ask(words) as answer:
            answer.word(paths[0])
            lines = answer.rest(packed=False).splitlines()
        return {path: line for path, line in zip(paths, lines, strict=False) if line != b"-"}

    # ── how they are asked ──

    def _named(self, path: str) -> str:
        return str(self._address._replace(path=path))

    def _ask(self, words: str, **values: str) -> _Answer:
        number = secrets.token_hex(12)
        settings = "".join(f"{name}={shlex.quote(value)}\n" for name, value in {"n": number, **values}.items())
        return _Answer(
            self._address, self._command(), (settings + script.COMMON + words).encode("utf-8", "surrogateescape"), number
        )

    def _command(self) -> list[str]:
        user, host, port = self._address.login
        batch = threading.current_thread() is not threading.main_thread()  # before a screen stands ssh may ask for a password
        options = {
            "BatchMode": "yes" if batch else "no", "ConnectTimeout": "20", "ServerAliveInterval": "15", "ServerAliveCountMax": "4",
            "ClearAllForwardings": "yes", "PermitLocalCommand": "no", "RemoteCommand": "none", "RequestTTY": "no",
            "LogLevel": "ERROR",
        }  # fmt: skip
        socket = _socket()
        if socket:
            options |= {"ControlMaster": "auto", "ControlPath": socket, "ControlPersist": str(_KEPT_S)}
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
            with contextlib.suppress(OSError):
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


class _Answer:
    """What a host says to one question. Leaving it ends the question."""

    def __init__(self, address: RemoteAddress, command: Sequence[str], words: bytes, number: str) -> None:
        self._address, self._mark = address, f"{number} ".encode()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - a pipe would stay open with the connection
        with tempfile.TemporaryFile() as question:
            question.write(words)
            question.seek(0)
            try:
                self._process = subprocess.Popen(command, stdin=question, stdout=subprocess.PIPE, stderr=self._errors)
            except OSError as error:
                self._errors.close()
                hint = "Install an ssh client (openssh-client), or mount the folder: sshfs."
                raise UnreadableFile(str(address), f"ssh cannot be run ({error.strerror or error})", hint=hint) from None
        assert self._process.stdout is not None
        self._stream = self._process.stdout

    def __enter__(self) -> _Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        if self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.2)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._errors.close()

    def word(self, path: str) -> str:
        """The first thing that it says to us. Raises `UnreadableFile` for all that is not "ok …"."""
        seen = 0
        while seen <= _NOISE:
            line = self._stream.readline(_NOISE)
            if not line:
                raise self._failed()
            at = line.find(self._mark)
            if at >= 0:
                said = line[at + len(self._mark) :].decode("ascii", "replace").strip()
                if said.startswith("ok"):
                    return said
                raise _refused(str(self._address._replace(path=path)), said)
            seen += len(line)
        raise UnreadableFile(str(self._address), "the host prints something else before its answer", hint=self._try())

    def read(self, count: int) -> bytes:
        """So many bytes, or fewer at the end."""
        return self._stream.read(count)

    def rest(self, *, packed: bool) -> bytes:
        """Everything else, unpacked; no more than a listing may hold."""
        engine = zlib.decompressobj(31) if packed else None
        out = bytearray()
        while piece := self._stream.read(PIECE):
            try:
                out += engine.decompress(piece) if engine is not None else piece
            except zlib.error:
                break
            if len(out) > MOST * 1024:
                break
        return bytes(out)

    def ended(self) -> UnreadableFile:
        """Why an answer was cut short."""
        return self._failed()

    def _try(self) -> str:
        user, host, port = self._address.login
        words = ["ssh", *(["-p", port] if port else []), f"{user}@{host}" if user else host, "true"]
        return f"Try {shlex.join(words)}: powertui uses the same keys and settings."

    def _failed(self) -> UnreadableFile:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read(1 << 16).decode("utf-8", "replace").splitlines() if line.strip()]
        text = "\n".join(lines)
        host = self._address.login[1]
        for words, problem in _FAILURES:
            if any(word in text for word in words):
                return ConnectionDropped(str(self._address), problem.format(host=host), hint=self._try())
        said = plain(lines[-1], 160) if lines else "it says nothing"
        return ConnectionDropped(str(self._address), f"ssh failed: {said}", hint=self._try())


_FAILURES = (
    (("Could not resolve hostname", "Name or service not known", "nodename nor servname"), "there is no host named {host}"),
    (("Host key verification failed", "REMOTE HOST IDENTIFICATION"), "the key of {host} is not the one that ssh knows"),
    (("Permission denied (", "Too many authentication failures"), "{host} does not let you in"),
    (("Connection refused",), "{host} refuses the connection: no ssh server listens there"),
    (("timed out", "No route to host", "Network is unreachable"), "{host} does not answer"),
    (("Connection closed", "Connection reset", "Broken pipe", "closed by remote"), "{host} closed the connection"),
)  # fmt: skip

_REFUSALS = {
    "missing": ("no such file or folder there", "Check the path. ssh://host/~/logs counts from your own folder there."),
    "denied": ("permission denied there", "Ask its owner for read access."),
    "special": ("is neither a folder nor a plain file", "Name a logdir, a run folder or a profile."),
}


def _refused(named: str, said: str) -> UnreadableFile:
    problem, hint = _REFUSALS.get(said, ("powertui does not understand the host's answer", ""))
    return UnreadableFile(named, problem, hint=hint)


def _listing(data: bytes, answer: _Answer) -> RemoteListing:
    root, file, ended = "", None, False
    entries: dict[str, RemoteEntry] = {}
    for record in data.split(b"\0"):
        parts = record.split(b" ", 3)
        if len(parts) != 4:
            continue
        kind, path = parts[0].decode("ascii", "replace"), os.fsdecode(parts[3])
        if kind == "@root":
            root = path
        elif kind == "@file":
            file = path
        elif kind == "@end":
            ended = True
        elif len(entries) < MOST and (state := _state([word.decode("ascii", "replace") for word in parts[1:3]])) is not None:
            entries.setdefault(path, RemoteEntry(path, kind, state))
    if not root.startswith("/"):
        raise answer.ended()
    return RemoteListing(root, file, tuple(entries.values()), complete=ended and len(entries) < MOST)


def _state(words: Sequence[str]) -> RemoteState | None:
    """From "size seconds", the seconds with as many digits as there are."""
    if len(words) < 2 or not words[0].isdecimal():
        return None
    seconds, _, digits = words[1].partition(".")
    if not seconds.lstrip("-").isdecimal() or len(words[0]) > 18 or len(seconds) > 12:
        return None
    return RemoteState(int(words[0]), int(seconds) * 1_000_000_000 + int((digits + "0" * 9)[:9] or 0))


def client() -> list[str]:
    """The command that speaks ssh."""
    return shlex.split(os.environ.get("POWERTUI_SSH", "")) or ["ssh"]


def _socket() -> str:
    """Where the socket of the kept connection lies: in a folder that is this person's alone. Empty where there is none."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base) / (f"powertui-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return ""
    path = folder / "%C"
    safe = status.st_uid == os.getuid() and not status.st_mode & 0o077 and not folder.is_symlink()
    return str(path) if safe and "%" not in str(folder) and len(str(folder)) + 1 + 40 + 18 <= _LONGEST_SOCKET else ""
