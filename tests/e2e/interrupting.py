"""Signals at any moment of the program's life: what is left of the terminal, and how the program
ends.

    python -m tests.e2e.interrupting --count 100 --busy 4

starts the demo so many times for each signal, with so many processes beside it that never rest, and
sends the signal after a random delay, from before Python has started to when everything is shown.
It says for each signal how it went.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .processes import PROC, state
from .terminal import Terminal

SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}
LONGEST_S = 2.5
TRACEBACK = b"Traceback (most recent call last)"
# what Python says of a Ctrl+C that comes in the midst of an import, and goes on
IGNORED = b"Exception ignored in"


def handled(pid: int) -> set[int]:
    """The signals for which a process has a handler of its own."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                mask = int(line.split()[1], 16)
                return {number for number in range(1, 65) if mask >> (number - 1) & 1}
    return set()


def told() -> bool:
    """Whether the kernel tells a program's own handlers. Emulators of another processor catch every
    signal themselves: there it cannot be seen whether a program has begun, and a Ctrl+C that comes
    before is Python's to answer.
    """
    return signal.getsignal(signal.SIGTERM) != signal.SIG_DFL or signal.SIGTERM not in handled(
        os.getpid()
    )


@dataclass(frozen=True)
class Ending:
    """How it went."""

    python_alone: bool  # the signal came before the program's first line: Python's own answer
    code: int  # as a shell says it
    left_on: tuple[str, ...]  # modes of the terminal
    cooked: bool  # line discipline as before
    traceback: bool
    printed: bytes

    def fault(self, wanted: int) -> str:
        """What is wrong with it, in words; empty when nothing is."""
        faults = [f"left on: {', '.join(self.left_on)}"] if self.left_on else []
        if not self.cooked:
            faults.append("the terminal's settings are not as before")
        # Python's own answer to ctrl+c while it starts is a traceback, and 1 or 130.
        if not (self.python_alone and wanted == 130):
            faults += [f"exit code {self.code}"] if self.code != wanted else []
            faults += ["a traceback"] if self.traceback else []
        return "; ".join(faults)


def interrupt(terminal: Terminal, number: int, delay: float) -> Ending:
    """Let the program run for `delay` seconds, send it the signal, see what is left."""
    while not terminal.eof and time.monotonic() - terminal.started < delay:
        terminal.read(min(0.02, max(0.0, delay - (time.monotonic() - terminal.started))))
    alone = signal.SIGTERM not in handled(terminal.pid)
    terminal.signal(number)
    if alone and number == signal.SIGINT:
        terminal.wait_until(lambda: IGNORED in terminal.raw or _ended(terminal), "Python's answer")
        terminal.wait_until(
            lambda: signal.SIGTERM in handled(terminal.pid) or _ended(terminal),
            "the program's first line",
        )
        if not _ended(terminal):  # a person presses it again
            terminal.signal(number)
    code = terminal.wait_exit()
    return Ending(
        alone,
        128 - code if code < 0 else code,
        tuple(terminal.left_on()),
        terminal.as_before(),
        TRACEBACK in terminal.raw,
        bytes(terminal.raw),
    )


def _ended(terminal: Terminal) -> bool:
    return terminal.eof or state(terminal.pid) in ("Z", "")


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that never rest."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """The table for the manual."""
    from .conftest import python_env

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=LONGEST_S)
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path(tempfile.gettempdir()),
        help="where to leave what went wrong",
    )
    parser.add_argument("command", nargs="*", default=[sys.executable, "-m", "powertui", "demo"])
    args = parser.parse_args(arguments)
    wrong = 0
    with busy(args.busy):
        for number, wanted in SIGNALS.items():
            found = _many(args.command, python_env(), number, wanted, args)
            wrong += sum(
                count for what, count in found.items() if not what.startswith("as it should")
            )
            print(
                f"{signal.Signals(number).name}: "
                + ", ".join(f"{count} {what}" for what, count in found.most_common()),
                flush=True,
            )
    return int(wrong > 0)


def _many(
    command: Sequence[str],
    env: Mapping[str, str],
    number: int,
    wanted: int,
    args: argparse.Namespace,
) -> collections.Counter[str]:
    dice = random.Random(args.seed + number)
    found: collections.Counter[str] = collections.Counter()
    for turn in range(args.count):
        delay = dice.uniform(0.0, args.longest)
        with Terminal(command, size=(120, 30), env=env) as terminal:
            ending = interrupt(terminal, number, delay)
        fault = ending.fault(wanted)
        if fault:
            (args.keep / f"interrupted-{number}-{turn}").write_bytes(
                b"%.3f s\n" % delay + ending.printed
            )
        found[
            fault
            or "as it should be" + (" (while Python itself started)" if ending.python_alone else "")
        ] += 1
    return found


if __name__ == "__main__":
    raise SystemExit(main())
