"""What a host answers to one question over ssh: its words, its bytes, and why it says nothing."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import threading
import time
from collections.abc import Iterator, Sequence

from powertui.data.elsewhere.address import RemoteAddress
from powertui.data.elsewhere.deadlines import SILENCE_VARIABLE, Deadlines, WaitingTime, deadlines
from powertui.data.elsewhere.progress import TransferProgress, report
from powertui.data.elsewhere.ssh_process import PIECE_BYTES, SshProcess, Stalled
from powertui.data.elsewhere.store import ConnectionDropped, HostStalled
from powertui.errors import UnreadableFile
from powertui.plain import plain

# What a start-up file may print before our first word: more is a program that never ends.
_MAX_BANNER_BYTES = 1 << 16
# While ssh may be asking a person: sshd itself ends a login after 120 s (LoginGraceTime).
_LOGIN_S = 150.0
_REMEMBERED_S = 300.0  # a host that was silent is waited for less long, for so long
NOT_UNDERSTOOD = "powertui does not understand the host's answer"


def may_ask() -> bool:
    """Whether ssh may ask for a password: only before a screen stands, which has the terminal for
    itself.
    """
    return threading.current_thread() is threading.main_thread()


def try_hint(address: RemoteAddress) -> str:
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
        if since is not None and time.monotonic() - since < _REMEMBERED_S:
            return usual.impatient()
        return usual

    def was_silent(self, place: str) -> None:
        """It was waited for in vain."""
        self._since[place] = time.monotonic()

    def answered(self, place: str) -> None:
        """A whole answer came."""
        self._since.pop(place, None)


_silent_hosts = _SilentHosts()


class SshAnswer:
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
        self._address = address
        self._mark = f"{number} ".encode()
        self._limits = _silent_hosts.limits(address.place)
        self._waiting = WaitingTime(self._limits, promised)
        try:
            self._process = SshProcess(command, question, self.host)
        except OSError as error:
            hint = "Install an ssh client (openssh-client), or mount the folder: sshfs."
            raise UnreadableFile(
                str(address), f"ssh cannot be run ({error.strerror or error})", hint=hint
            ) from None

    def __enter__(self) -> SshAnswer:
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
        # A person needs longer for a password than a host for its first byte.
        first = self._limits
        if may_ask() and _has_terminal():
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
            hint=try_hint(self._address),
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
        # It spoke, and went on: then its error output is not what is wrong.
        if self._process.has_more:
            return UnreadableFile(str(self._address), NOT_UNDERSTOOD, hint=try_hint(self._address))
        lines = self._process.last_words()
        text = "\n".join(lines)
        for words, problem in _FAILURES:
            if any(word in text for word in words):
                return ConnectionDropped(
                    str(self._address), problem.format(host=self.host), hint=try_hint(self._address)
                )
        reason = "it says nothing"
        if lines:
            reason = plain(_SECRET.sub(r"\1…", lines[-1]), 160)
        return ConnectionDropped(
            str(self._address), f"ssh failed: {reason}", hint=try_hint(self._address)
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
        hint = f"{try_hint(self._address)} To wait longer, set {SILENCE_VARIABLE}=300 (seconds)."
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

# OpenSSH's messages, which it does not translate; the first that fits counts.
_FAILURES = (
    (
        ("Could not resolve hostname", "Name or service not known", "nodename nor servname"),
        "there is no host named {host}",
    ),
    (("REMOTE HOST IDENTIFICATION",), "the key of {host} is not the one that ssh knows"),
    # ssh has no other words for a host that it was never at, and for one whose key it refused.
    (
        ("Host key verification failed",),
        "ssh does not know the key of {host} yet, or it has another one",
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


def _refused(named: str, answer: str) -> UnreadableFile:
    problem, hint = _REFUSALS.get(answer, (NOT_UNDERSTOOD, ""))
    return UnreadableFile(named, problem, hint=hint)
