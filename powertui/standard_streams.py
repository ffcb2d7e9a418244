"""Standard input, output and error of the program: what a closed or full one means, decided in one
place for every verb.

`guard()` comes before anything is opened. A descriptor that was closed (`>&-`) would otherwise go
to the next file that is opened, and whatever is printed would be written into that file. `run()` is
the program inside the guard:

    standard output is closed or takes no more     one sentence on standard error, exit code 1
    the reader of standard output has left (head)  no sentence; the exit code is the program's own
    standard error is closed or takes no more      its messages are lost, nothing else changes
    standard input is closed                       it is empty
"""

from __future__ import annotations

import io
import os
import sys

from powertui.errors import PowertuiError

TYPE_CHECKING = False  # typing itself takes a while to import, and `--version` waits for nothing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

__all__ = ["OutputFailed", "ReaderLeft", "guard", "run"]

_INPUT, _OUTPUT, _ERROR = 0, 1, 2


class OutputFailed(PowertuiError):
    """Standard output takes nothing (any more)."""


class ReaderLeft(BrokenPipeError):
    """Whoever read our standard output has seen enough.

    A broken pipe to anybody else is another matter.
    """


class _Output(io.FileIO):
    """Standard output.

    After its first failure it takes everything and keeps nothing: nobody is told twice.
    """

    def __init__(self, *, closed: bool) -> None:
        super().__init__(_OUTPUT, "w", closefd=False)
        self._never_open = closed
        self.failure: OutputFailed | ReaderLeft | None = None

    def write(self, data: Any) -> int:
        if self.failure is not None:
            return len(data)
        try:
            if self._never_open:
                raise OutputFailed("Nothing can be printed: standard output is closed.")
            return self._write_when_ready(data)
        except BrokenPipeError:
            self.failure = ReaderLeft()
        except OutputFailed as failure:
            self.failure = failure
        except OSError as error:
            self.failure = OutputFailed(
                f"The output could not be written: {error.strerror or error}"
            )
        raise self.failure

    def _write_when_ready(self, data: Any) -> int:
        """Some programs leave a pipe or terminal that does not wait (O_NONBLOCK): then we do."""
        while (written := super().write(data)) is None:
            import select

            select.select([], [self], [])
        return written


class _Messages(io.FileIO):
    """Standard error. What it does not take is lost: there is no other place to say so."""

    def __init__(self) -> None:
        super().__init__(_ERROR, "w", closefd=False)

    def write(self, data: Any) -> int:
        try:
            written = super().write(data)
        except OSError:
            return len(data)
        return len(data) if written is None else written


def guard() -> None:
    """Open what is closed, and put our own streams in the place of Python's.

    Once, at the program's start.
    """
    closed = [_open_nowhere(number) for number in (_INPUT, _OUTPUT, _ERROR)]
    if closed[_INPUT] or sys.stdin is None:
        sys.stdin = open(_INPUT, closefd=False)  # noqa: SIM115  it stays open, and has no path
    sys.stdout = _text(io.BufferedWriter(_Output(closed=closed[_OUTPUT])), sys.stdout, "strict")
    sys.stderr = _text(io.BufferedWriter(_Messages()), sys.stderr, "backslashreplace")


def _open_nowhere(number: int) -> bool:
    """Open /dev/null under a number that is closed.

    Programs that we start inherit it, for they would be in the same danger.
    """
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, os.O_RDONLY if number == _INPUT else os.O_WRONLY)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        os.set_inheritable(number, True)
        return True
    return False


def _text(buffer: io.BufferedWriter, before: IO[str] | None, errors: str) -> io.TextIOWrapper:
    """A text stream like the one that was there: the same encoding, and as soon."""
    if not isinstance(before, io.TextIOWrapper):
        return io.TextIOWrapper(buffer, "utf-8", errors)
    soon = (
        before.line_buffering or before.write_through
    )  # write_through: python -u, PYTHONUNBUFFERED
    return io.TextIOWrapper(
        buffer, before.encoding, before.errors, line_buffering=soon or errors == "backslashreplace"
    )


def run(program: Callable[[], int]) -> int:
    """The program's exit code, once everything it printed has arrived, or has been told to
    be lost.
    """
    try:
        code = program()
    except SystemExit as leaving:  # argparse leaves so after --help
        code = _code(leaving)
    except ReaderLeft:
        code = 0
    except OutputFailed as failure:
        code = _say(failure)
    try:
        sys.stdout.flush()
    except ReaderLeft:
        return code
    except OutputFailed as failure:
        exit_code = _say(failure)
        return code or exit_code
    if code == 0 and _output_failed():  # a verb went on after it
        return OutputFailed.exit_code
    return code


def _output_failed() -> bool:
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, _Output) and isinstance(raw.failure, OutputFailed)


def _code(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    sys.stderr.write(f"{leaving.code}\n")
    return 1


def _say(failure: OutputFailed) -> int:
    sys.stderr.write(f"powertui: {failure}\n")
    return failure.exit_code
