"""One episode with the real program in a real terminal: a pseudo-terminal that draws, answers, and
is resized.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from ..e2e.terminal import Terminal, environment
from . import script
from .play import Episode

PATIENCE_S = 60.0
AGAIN_S = 15.0  # then a person presses Ctrl+C once more
ROOT = Path(__file__).resolve().parents[2]
GOOD = {0, 129, 130, 143}
SHOUTS = (
    b"Traceback (most recent call last)",
    b"This is a bug in powertui",
    b"Exception ignored",
    b"RuntimeWarning",
    b"never awaited",
)


def play(episode: Episode, folder: Path) -> Episode:
    """Type it all, then leave with q, Ctrl+C, a signal, or by closing the terminal."""
    rng = random.Random(len(episode.words))
    own = Path.cwd()
    command = [sys.executable, "-m", "tests.monkey.fence", str(folder), *episode.world.arguments]
    extra = {
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(own / "state"),
        "HOME": str(own),
        "TMPDIR": str(own),
    }
    with Terminal(command, size=episode.size, env=environment(extra=extra), cwd=own) as terminal:
        if rng.random() < 0.8:  # others type before there is anything to type at
            _until_drawn(terminal)
        _type(terminal, episode)
        episode.left = terminal.eof
        code = _leave(terminal, rng, episode)
        shouts = [shout.decode() for shout in SHOUTS if shout in bytes(terminal.raw)]
        hung_up = terminal.fd < 0
        left_on = [] if hung_up else terminal.left_on()
        if (
            code is not None and code < 0
            # at the very first and last the system's own answer to a signal holds, as a shell says
            # it
        ):
            code = 128 - code
        if shouts or code not in GOOD or left_on:
            tail = bytes(terminal.raw[-6000:]).decode(errors="replace")
            episode.trouble.append(f"exit code {code}, {shouts}, left on: {left_on}\n{tail}")
    return episode


def _until_drawn(terminal: Terminal) -> None:
    for _ in range(int(PATIENCE_S * 10)):
        if terminal.eof or terminal.modes:
            return
        terminal.run(0.1)


def _type(terminal: Terminal, episode: Episode) -> None:
    for word in episode.words:
        kind, _, rest = word.partition(":") if len(word) > 1 else (word, "", "")
        if terminal.eof:
            return
        if kind == "rest" and rest:
            terminal.run(int(rest) / 1000)
        elif word == "idle":
            _wake(terminal)
            terminal.run(0.05)
        elif kind == "size" and rest:
            width, _, height = rest.partition("x")
            terminal.resize(int(width), int(height))
        elif word == "ctrl+z":
            terminal.write(script.encode(word))
            terminal.run(0.1)
            _wake(terminal)
        else:
            terminal.write(script.encode(word))
            terminal.read(0.0)
            if word == "escape":
                terminal.run(0.15)
        episode.keys += script.is_key(word)


def _leave(terminal: Terminal, rng: random.Random, episode: Episode) -> int | None:
    """However a program is left; again and harder when a page asked something first."""
    ways = ["q", "ctrl+c", "term", "hup", "close"]
    for way in [rng.choice(ways), "ctrl+c", "term"]:
        if terminal.status is not None or terminal.fd < 0:
            break
        if way == "term":
            _signal(terminal, signal.SIGTERM)
        elif way == "hup":
            _signal(terminal, signal.SIGHUP)
        elif way == "close":
            terminal.hang_up()
        else:
            terminal.write(script.encode(way))
        if (
            way == "ctrl+c"
            # a Ctrl+Z before it that takes until now drops what was typed after it, as any
            # program's does
        ):
            if _ended(terminal, AGAIN_S):
                return terminal.status
            terminal.write(script.encode(way))
        if _ended(terminal, 3.0 if way == "q" else PATIENCE_S):
            return terminal.status
        if way != "q":
            before = terminal.total
            terminal.signal(signal.SIGUSR2)  # where it stands (see fence.py)
            terminal.run(2.0)
            stacks = bytes(terminal.raw[before:]).decode(errors="replace")
            episode.trouble.append(
                f"still running {PATIENCE_S:.0f} s after {way}\n{stacks}\n{terminal.text()}"
            )
    return terminal.status


def _ended(terminal: Terminal, seconds: float) -> bool:
    for _ in range(int(seconds)):
        _wake(terminal)
        with contextlib.suppress(AssertionError):  # not yet
            terminal.wait_exit(1.0)
            return True
    return False


def _wake(terminal: Terminal) -> None:
    """Ctrl+Z may take until now to stop it: `fg`."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{terminal.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            os.kill(terminal.pid, signal.SIGCONT)


def _signal(terminal: Terminal, number: int) -> None:
    try:
        os.kill(terminal.pid, number)
    except ProcessLookupError:
        time.sleep(0.01)
