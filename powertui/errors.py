"""Everything that powertui raises on purpose, and the exit code that each one means.

    PowertuiError                 1   something failed while running
    ├── UsageError                2   the command line asks for something impossible
    │   ├── NoTerminal            2   a screen was asked for where no screen can be
    │   └── CommandNotFound       127 the command of `powertui record -- …` is not there (126:
        cannot be run)
    ├── UnreadableFile            3   nothing could be read of a file (or of everything that was
                                  named)
    │   └── FileChanged           3   it is not the file any more that was opened
    ├── SensorError               1   a power source cannot be used
    │   ├── AuthenticationFailed  1   it answered, and refused the user, the password or the level
    │   └── NotSupported          1   it answered, and has no such thing
    ├── CaptureError              1   no profile could be taken from a running program
    └── Cancelled                 130 the person asked to stop

A reader never raises for bad *content*: it returns what could be read and counts warnings
(`powertui.data.model.Warn`). It raises `UnreadableFile` only when nothing at all is left to show.

Every message is one or two plain sentences; `hint` is the next command or step to try.

`powertui.open()` and what it returns raise `UsageError` (no such run, host, epoch or tool; a window
that cannot be) and `UnreadableFile`; a run's number that is too high is Python's own `IndexError`.
`powertui.record()` warns with `powertui.sampler.session.PowerWarning`, a `UserWarning`, and raises
`SensorError` only when it is strict.
"""

from __future__ import annotations

__all__ = [
    "AuthenticationFailed",
    "Cancelled",
    "CaptureError",
    "FileChanged",
    "NoTerminal",
    "NotSupported",
    "PowertuiError",
    "SensorError",
    "UnreadableFile",
    "UsageError",
]


class PowertuiError(Exception):
    """Base of all errors that a person is meant to read. `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        if self.hint:
            return f"{self.message}\n  {self.hint}"
        return self.message


class UsageError(PowertuiError):
    """The arguments contradict each other or name something that is not there."""

    exit_code = 2


class NoTerminal(UsageError):
    """A screen was asked for, but standard input or output is no terminal that can show one."""


class UnreadableFile(PowertuiError):
    """Nothing in this file could be read. The message says what the file looks like."""

    exit_code = 3

    def __init__(self, path: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{'standard input' if path == '-' else path}: {problem}", hint=hint)
        self.path = path
        self.problem = problem

    @property
    def cause(self) -> str:
        """What is wrong and what to do, for a list of warnings.

        A command at its end gets no full stop: it is copied.
        """
        if self.hint:
            return f"{self.problem}. {self.hint}"
        return self.problem


class FileChanged(UnreadableFile):
    """Another process cut, rewrote or took away a file that is open.

    What was read before is still good.
    """

    def __init__(self, path: str, problem: str = "changed since it was opened") -> None:
        super().__init__(path, problem, hint="Read it again.")


class SensorError(PowertuiError):
    """A power source cannot be opened or used."""


class AuthenticationFailed(SensorError):
    """The source refused the user, password, key or privilege level.

    Never retried by itself: accounts lock.
    """


class NotSupported(SensorError):
    """The source is reachable but has no such reading."""


class CaptureError(PowertuiError):
    """A profiler server is not there, is something else, or could not take the profile."""


class Cancelled(PowertuiError):
    """The person asked to stop."""

    exit_code = 130
