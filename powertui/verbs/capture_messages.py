"""What `powertui capture` prints: what is waited for, where the files are, what went wrong."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from powertui.errors import PowertuiError
from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.capture.profile_session import CapturedProfile
    from powertui.capture.stages import Stage

_DEFAULT_COLUMNS = 80  # of a terminal that does not say
# Between two lines about one wait, where they are not written over each other.
_SLOW_REPORT_PERIOD_S = 10.0


def say(text: str) -> None:
    """One line on the error output."""
    print(f"powertui: {plain(text)}", file=sys.stderr, flush=True)


def _columns(terminal: int) -> int:
    try:
        return os.get_terminal_size(terminal).columns or _DEFAULT_COLUMNS
    except OSError:
        return _DEFAULT_COLUMNS


class CaptureProgress:
    """What is waited for: one line that is written over on a terminal, else one line for each thing
    and seldom one more.
    """

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._what = ""
        self._slow_since: float | None = None  # how long was waited when it was last reported

    def on_stage(self, stage: Stage) -> bool:
        """Say it; never asks to stop."""
        if self._live:
            self._rewrite(stage)
        elif stage.what != self._what:
            self._slow_since = None
            say(stage.what + (f", {stage.of_s:.3g} s" if stage.of_s is not None else ""))
        elif stage.sentence() and (
            self._slow_since is None or stage.past_s - self._slow_since >= _SLOW_REPORT_PERIOD_S
        ):
            self._slow_since = stage.past_s
            say(stage.sentence())
        self._what = stage.what
        return False

    def _rewrite(self, stage: Stage) -> None:
        """A line that is longer than the terminal cannot be written over: it is cut."""
        sentence = stage.sentence()
        length = " s"
        if stage.of_s is not None:
            length = f" of {stage.of_s:g} s"
        text = sentence or f"{stage.what}, {stage.detail or f'{stage.past_s:.1f}{length}'}"
        columns = _columns(sys.stderr.fileno()) - 1
        line = plain(f"powertui: {text}")
        if len(line) > columns:
            line = plain(text)
        if len(line) > columns:
            line = plain(stage.sentence(short=True) or text)[:columns]
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Before anything else is said."""
        if self._live and self._what:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def print_files(capture: CapturedProfile) -> None:
    """Where the profiles lie: said as soon as they are there."""
    for path in capture.files:
        print(plain(path))
    for path in capture.results:
        print(f"{plain(path)} (a result of the server's own)")
    sys.stdout.flush()


def print_result(capture: CapturedProfile) -> None:
    """Where the power lies, and what it all came to."""
    if capture.power:
        print(plain(capture.power))
    if capture.files:
        from powertui.report import captured

        for line in captured.lines(capture.folder):
            print(line)
    for line in capture.elsewhere:
        print(f"The server wrote the profile on its own disk. To fetch it:\n  {plain(line, 2000)}")
    for note in dict.fromkeys(capture.notes):
        say(note)
    for problem in capture.problems:
        _say_problem(problem)
    sys.stdout.flush()


def _say_problem(problem: PowertuiError) -> None:
    for line in f"powertui: {problem}".split("\n"):
        print(plain(line), file=sys.stderr, flush=True)


def report_one(capture: CapturedProfile | PowertuiError) -> None:
    if isinstance(capture, PowertuiError):
        _say_problem(capture)
    else:
        print_files(capture)
        print_result(capture)


def print_next_command(capture: CapturedProfile) -> None:
    from powertui.report import captured

    if capture.good:
        print(f"next: {captured.next_command(capture.folder)}")
