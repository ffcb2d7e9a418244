"""Run a command as if nobody watched: its output, its signals and its exit code are its own.

What the terminal sends (ctrl+c, ctrl+\\, ctrl+z, hang-up) reaches the command by itself, because it
stays in the terminal's foreground group; what somebody sends to us with kill is passed on. When the
terminal stops the command we stop too, so that the shell gets its prompt back, and when the shell
continues us the command goes on.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from powertui.errors import UsageError
from powertui.sampler import blocked_signals
from powertui.sampler.blocked_signals import ArrivedSignal

__all__ = ["CommandNotFound", "look_up", "run"]

_FORWARDED_SIGNALS = {
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTSTP,
}
# A terminal sends these to the command, too: passed on, they would come twice.
_KEYBOARD_SIGNALS = {signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP}
# Between two looks at the command: macOS may drop a SIGCHLD that is blocked.
_LOOK_PERIOD_S = 3600.0 if hasattr(signal, "sigtimedwait") else 0.25


class CommandNotFound(UsageError):
    """Like a shell: 127 when there is no such command, 126 when it cannot be run."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def look_up(program: str) -> None:
    """Raise CommandNotFound when a shell would say so too."""
    if shutil.which(program) is None:
        there = os.sep in program and Path(program).exists()
        raise CommandNotFound(
            f"{program!r} cannot be run." if there else f"There is no command {program!r}.",
            126 if there else 127,
        )


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    paused: Callable[[bool], None] = lambda _: None,
) -> int:
    """The exit code as a shell tells it: 128 + N when signal N ended the command.

    `paused(True)` is called just before we stop with the command, `paused(False)` when both go on.
    """
    watched = _FORWARDED_SIGNALS | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        early = _drain(watched)  # typed before there was a command: it would have been meant for it
        try:
            pid = os.posix_spawnp(
                command[0],
                list(command),
                dict(environment),
                setsigmask=before,
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            )
        except FileNotFoundError:
            raise CommandNotFound(f"There is no command {command[0]!r}.", 127) from None
        except OSError as error:
            raise CommandNotFound(f"{command[0]!r} cannot be run: {error.strerror}.", 126) from None
        for number in early:
            os.kill(pid, number)
        return _wait(pid, watched, paused)
    finally:
        _drain(watched)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(pid: int, watched: set[signal.Signals], paused: Callable[[bool], None]) -> int:
    while True:
        arrived = blocked_signals.take(watched, _LOOK_PERIOD_S)
        if arrived is not None and arrived.number != signal.SIGCHLD:
            if _is_to_forward(arrived, pid):
                os.kill(pid, arrived.number)
            continue
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if done == 0:
            continue  # another child, or this one goes on
        if os.WIFSTOPPED(status):
            if os.WSTOPSIG(status) == signal.SIGSTOP:
                # somebody stopped the command, not the job: whoever did that continues the command
                # alone
                continue
            paused(True)
            os.kill(os.getpid(), signal.SIGSTOP)
            paused(False)
            os.kill(pid, signal.SIGCONT)
            continue
        if os.WIFSIGNALED(status):
            return 128 + os.WTERMSIG(status)
        return os.WEXITSTATUS(status)


def _is_to_forward(arrived: ArrivedSignal, pid: int) -> bool:
    """A terminal's signals reach the command by themselves, and what the command sends to us is not
    sent back to it.
    """
    if (
        arrived.by_process is None
    ):  # macOS does not say: where keys send it, they are the likeliest sender
        return arrived.number not in _KEYBOARD_SIGNALS
    return arrived.by_process and arrived.sender != pid


def _drain(watched: set[signal.Signals]) -> list[int]:
    """Signals that came while they were blocked, so that they do not strike us later: those that
    are for the command.
    """
    numbers: list[int] = []
    while (arrived := blocked_signals.take(watched, 0.0)) is not None:
        if arrived.number != signal.SIGCHLD:
            numbers.append(arrived.number)
    return numbers
