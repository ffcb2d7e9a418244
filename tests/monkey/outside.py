"""The real program from outside, as a job of a real shell: in a bare terminal, in tmux, or in GNU
screen.

The shell writes down how each job came back to it: the exit code, and the settings of the line.
What the program wrote comes from the terminal, or from what tmux and screen write down of it.
Between the keys the window changes its size, the job is stopped and continued (by Ctrl+Z and `fg`,
and by signals), and files of the run vanish, are cut, grow, and are replaced.

Words that only this monkey has: `signal:cont`, `signal:stop`, `file:vanish,3` (also cut, grow,
replace, noise, back). The shell is restricted and finds no program but ours, so that keys which
come after the end do nothing.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..e2e.processes import state
from ..e2e.terminal import MODES, Terminal, environment, modes_in
from . import script
from .play import Episode

KINDS = ("plain", "tmux", "screen")
PATIENCE_S = 180.0  # a machine may be busy; nothing here takes a second
ROOT = Path(__file__).resolve().parents[2]
GOOD = {0, 129, 130, 143}
JUNK = (2, 127)  # what bash says of keys that are no command
NOTHING_TO_OPEN = 3
STOPPED = 128 + signal.SIGTSTP, 128 + signal.SIGSTOP
SHOUTS = (
    b"Traceback (most recent call last)",
    b"This is a bug in powertui",
    b"Exception ignored",
    b"RuntimeWarning",
    b"never awaited",
    b"Fatal Python error",
)
OF_SCREEN = ("alternate screen", "bracketed paste", "focus")
STOP_S = 10.0
FG_S = 10.0  # then the line may have held half a sequence, which took the first key of `fg`
CHANGES = ("vanish", "cut", "grow", "replace", "noise", "back")
SCREENRC = (
    "startup_message off\nvbell off\nescape ^_^_\naltscreen on\ndefutf8 on\ndefscrollback 0\n"
)
SHELLRC = """
set +o history
unset HISTFILE
IGNOREEOF=100000
PS1='monkey> '
PROMPT_COMMAND='came_back $?'
"""


class Trouble(Exception):
    """Something that must not be: the episode ends with it."""


@dataclass(frozen=True)
class Place:
    """The folder of one episode, with what the shell and the program write down in it."""

    folder: Path

    @property
    def world(self) -> Path:
        """What is opened: a copy, so that it may be broken."""
        return self.folder / "world"

    @property
    def log(self) -> Path:
        """What the program wrote, where something stands between it and the terminal."""
        return self.folder / "log"

    @property
    def traces(self) -> Path:
        """Exceptions that nobody caught, also those of threads and destructors (see fence.py)."""
        return self.folder / "traces"

    def returns(self) -> list[tuple[int, str]]:
        """How often the shell had the terminal: the exit code of the job before, and the settings
        of the line.
        """
        with contextlib.suppress(OSError):
            lines = (self.folder / "returns").read_text().splitlines()
            return [
                (int(code), settings)
                for code, _, settings in (line.partition(" ") for line in lines)
            ]
        return []

    def pid(self) -> int:
        """The program's; 0 before it runs."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / "pid").read_text())
        return 0


# ── what is done between the keys ────────────────────────────────────────────────────────────────


def generate(rng: random.Random, keys: int, size: tuple[int, int]) -> list[str]:
    """A script with what only somebody outside can do."""
    out: list[str] = []
    for word in script.generate(rng, keys, size):
        out.append(word)
        dice = rng.random()
        if dice < 0.004:
            out.append(rng.choice(["signal:cont", "signal:stop", "ctrl+z"]))
        elif dice < 0.010:
            out.append(f"file:{rng.choice(CHANGES)},{rng.randrange(100)}")
        elif dice < 0.016:
            out.append(
                rng.choice(
                    [
                        "size:1x1",
                        "size:2x1",
                        "size:1x40",
                        "size:300x100",
                        "size:200x1",
                        "size:80x24",
                    ]
                )
            )
    return out


def change_file(place: Place, what: str, number: int) -> None:
    """What happens to files that a program has open: it is read from elsewhere, copied over,
    cleaned away.
    """
    spare = place.folder / "spare"
    files = sorted(path.relative_to(spare) for path in spare.rglob("*") if path.is_file())
    if not files:
        return
    name = files[number % len(files)]
    path, whole = place.world / name, spare / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "vanish":
        path.unlink(missing_ok=True)
    elif what == "cut" and path.exists():
        os.truncate(path, path.stat().st_size * (number % 7) // 7)
    elif what == "grow":
        with path.open("ab") as out:
            out.write(whole.read_bytes()[-4096:])
    elif what == "noise" and path.exists():
        with path.open("r+b") as out:
            out.seek(path.stat().st_size // 2)
            out.write(random.Random(number).randbytes(512))
    elif what in ("replace", "back"):
        source = whole if what == "back" else spare / files[(number * 7 + 1) % len(files)]
        beside = path.with_name(path.name + ".new")
        shutil.copyfile(source, beside)
        beside.replace(path)


# ── the shell, and what is around it ─────────────────────────────────────────────────────────────


def _prepare(place: Place, folder: Path, episode: Episode, program: Sequence[str]) -> None:
    """A copy of the world, and a shell that knows two programs: the one that is tried, and the one
    that writes down its end.
    """
    arguments = []
    place.world.mkdir(parents=True)
    for argument in episode.world.arguments:
        scheme, colon, path = (
            argument.rpartition(":") if argument.startswith("csv:") else ("", "", argument)
        )
        source = Path(path)
        if source.is_absolute() and source.exists():
            copy = place.world / source.name
            shutil.copytree(source, copy) if source.is_dir() else shutil.copyfile(source, copy)
            path = str(copy)
        arguments.append(f"{scheme}{colon}{path}")
    shutil.copytree(place.world, place.folder / "spare")
    programs = place.folder / "bin"
    programs.mkdir()
    command = shlex.join(
        [*(program or (sys.executable, "-m", "tests.monkey.fence", str(folder))), *arguments]
    )
    _program(programs / "p", f"echo $$ > {place.folder}/pid\nexec {command}\n")
    stty = shutil.which("stty")
    _program(
        programs / "came_back", f'echo "$1 $({stty} -g < /dev/tty)" >> {place.folder}/returns\n'
    )
    (place.folder / "shellrc").write_text(SHELLRC + f"PATH={programs}\n")
    (place.folder / "inputrc").write_text("set enable-bracketed-paste off\nset bell-style none\n")
    (place.folder / "screenrc").write_text(SCREENRC)
    log = f"/bin/cat > {place.log}"
    (place.folder / "tmux.conf").write_text(
        "set -g prefix None\nset -g status off\nset -g mouse on\nset -s escape-time 0\nset -g "
        "default-terminal screen-256color\n"
        f"unbind-key -a -T root\nset-hook -g session-created 'pipe-pane -O \"{log}\"'\n"
    )


def _program(path: Path, text: str) -> None:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def _command(kind: str, place: Place, name: str) -> list[str]:
    shell = ["/bin/bash", "--noprofile", "--rcfile", str(place.folder / "shellrc"), "-r", "-i"]
    if kind == "tmux":
        return ["tmux", "-L", name, "-f", str(place.folder / "tmux.conf"), "new-session", *shell]
    if kind == "screen":
        return ["screen", "-c", str(place.folder / "screenrc"), "-S", name, *shell]
    return shell


@contextlib.contextmanager
def _terminal(episode: Episode, place: Place) -> Iterator[Terminal]:
    kind, size, color = episode.outside, episode.size, episode.color
    name = f"monkey-{os.getpid()}"
    extra = {
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(place.folder / "state"),
        "HOME": str(place.folder),
        "TMPDIR": str(place.folder),
        "MONKEY_TRACES": str(place.traces),
        "INPUTRC": str(place.folder / "inputrc"),
        "SCREENDIR": str(place.folder / "screens"),
        "TMUX_TMPDIR": tempfile.mkdtemp(prefix="mk"),
        "COLORTERM": "truecolor" if color == "true" else "",
    }
    (place.folder / "screens").mkdir(mode=0o700)
    surroundings = environment(extra=extra)
    try:
        with Terminal(
            _command(kind, place, name), size=size, env=surroundings, cwd=place.folder
        ) as terminal:
            yield terminal
    finally:
        pid = place.pid()
        if kind == "tmux":
            subprocess.run(
                ["tmux", "-L", name, "kill-server"],
                env=surroundings,
                capture_output=True,
                check=False,
            )
        elif kind == "screen":
            subprocess.run(
                ["screen", "-S", name, "-X", "quit"],
                env=surroundings,
                capture_output=True,
                check=False,
            )
        if _runs(place, pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(extra["TMUX_TMPDIR"], ignore_errors=True)


def _runs(place: Place, pid: int) -> bool:
    """Whether this is still the program that the shell started here: the number may be another
    process's by now.
    """
    if not pid or state(pid) in ("", "Z"):
        return False
    with contextlib.suppress(OSError):
        return str(place.folder).encode() in Path(f"/proc/{pid}/environ").read_bytes()
    return False


# ── an episode ───────────────────────────────────────────────────────────────────────────────────


def play(episode: Episode, folder: Path, program: Sequence[str] = ()) -> Episode:
    """Start it from the shell, type it all, leave, and look at what is left.

    `program`: another than ours.
    """
    episode.trouble, episode.keys, episode.left = [], 0, False
    place = Place(Path(tempfile.mkdtemp(prefix="outside-", dir=folder)))
    _prepare(place, folder, episode, program)
    run = _Run(episode, place)
    try:
        with _terminal(episode, place) as run.terminal:
            try:
                run.start()
                run.type()
                run.leave()
            except Trouble as trouble:
                episode.trouble.append(f"{trouble}\n{run.stacks()}\n{run.terminal.text()}")
        episode.trouble += run.left_behind()
    finally:
        shutil.rmtree(place.folder, ignore_errors=True)
    return episode


class _Run:
    """One program in one shell in one terminal."""

    terminal: Terminal

    def __init__(self, episode: Episode, place: Place) -> None:
        self.episode, self.place = episode, place
        self.rng = random.Random(len(episode.words))
        self.settings = ""  # of the line, before the program had it
        self.hung_up = False
        self._resumed = 0  # how many returns to the shell were answered with `fg`

    # ── waiting ──

    def until(self, holds: Callable[[], object], what: str, limit: float = PATIENCE_S) -> None:
        """Read until something is so; that it never comes is trouble."""
        end = time.monotonic() + limit
        while not holds():
            if time.monotonic() > end:
                raise Trouble(f"silent for {limit:.0f} s: {what}")
            self.read(0.02)

    def read(self, seconds: float) -> None:
        """Take what is there."""
        if self.terminal.eof or self.terminal.fd < 0:
            time.sleep(seconds)
        else:
            self.terminal.read(seconds)

    @property
    def ended(self) -> int | None:
        """The exit code with which the program came back to the shell.

        Keys that came after the end are commands to the shell.
        """
        codes = [code for code, _ in self.place.returns()[1:] if code not in (*STOPPED, *JUNK)]
        return codes[0] if codes and not _runs(self.place, self.place.pid()) else None

    @property
    def stopped(self) -> bool:
        """Whether the shell has the terminal because the job was stopped."""
        returned = len(self.place.returns()) > self._resumed + 1
        return returned and _runs(self.place, self.place.pid()) and state(self.place.pid()) == "T"

    def output(self) -> bytes:
        """What the program (and the shell) wrote."""
        if (
            self.episode.outside != "tmux"
        ):  # screen is asked for no log: it writes one when it likes
            return bytes(self.terminal.raw)
        with contextlib.suppress(OSError):
            return self.place.log.read_bytes()
        return b""

    def left_on(self) -> list[str]:
        """Modes that are switched on while the shell has the terminal; screen itself keeps some for
        all that run in it.
        """
        return [
            mode
            for mode in left_on(self.output())
            if self.episode.outside != "screen" or mode not in OF_SCREEN
        ]

    def until_prompt(self) -> None:
        """All that the program wrote is there once the shell's next word is: tmux writes it down a
        moment later.
        """
        if self.episode.outside == "screen":  # it draws the shell's words where it likes
            self.until(lambda: not self.left_on(), "modes stay on", 20.0)
        else:
            prompts = len(self.place.returns())
            self.until(
                lambda: self.output().count(b"monkey>") >= prompts,
                "the shell said nothing after its job",
                20.0,
            )

    # ── what is typed ──

    def start(self) -> None:
        """The shell is there; then the program."""
        self.until(self.place.returns, "the shell never came")
        self.settings = self.place.returns()[0][1]
        self.terminal.write(b"p\r")
        self.until(self.place.pid, "the program never began")
        if self.rng.random() < 0.85:  # others type before there is anything to type at
            self.until(
                lambda: self.ended is not None or b"\x1b[?1049h" in self.output(), "it never drew"
            )

    def type(self) -> None:
        """All words, or as many as the program takes."""
        for word in self.episode.words:
            self.resume()
            if self.ended is not None or self.terminal.eof:
                break
            self._word(word)
            self.episode.keys += script.is_key(word)
        self.resume()
        self.episode.left = self.ended is not None

    def _word(self, word: str) -> None:
        kind, _, rest = word.partition(":") if len(word) > 1 else (word, "", "")
        pid = self.place.pid()
        if kind == "rest" and rest:
            self.terminal.run(int(rest) / 1000)
        elif word == "idle":
            self.terminal.run(0.02)
        elif kind == "size" and rest:
            width, _, height = rest.partition("x")
            self.terminal.resize(int(width), int(height))
        elif kind == "file" and rest:
            what, _, number = rest.partition(",")
            change_file(self.place, what, int(number))
        elif word == "signal:cont" and _runs(self.place, pid):
            os.kill(pid, signal.SIGCONT)
        elif word == "signal:stop" and _runs(self.place, pid):
            os.kill(pid, signal.SIGSTOP)
            self.until(
                lambda: self.stopped or self.ended is not None,
                "the shell was not told that its job was stopped",
            )
        elif word == "ctrl+z":
            self._stop()
        elif kind == "signal" or (kind == "raw" and self.episode.outside == "screen"):
            return  # what is no key to screen may be a command to it
        else:
            self.terminal.write(script.encode(word))
            self.read(0.0)
            if word == "escape":
                self.terminal.run(0.15)

    def _stop(self) -> None:
        """Ctrl+Z. What comes after it is for the shell, so nothing does until it is known who has
        the terminal.

        One that comes while the terminal is being taken back is none: that it does not stop the
        program is no trouble.
        """
        before = len(self.place.returns())
        self.terminal.write(b"\x1a")
        with contextlib.suppress(Trouble):
            self.until(
                lambda: len(self.place.returns()) > before or self.ended is not None, "", STOP_S
            )

    def resume(self) -> None:
        """`fg` for as long as the shell has the terminal."""
        while self.stopped:
            with contextlib.suppress(Trouble):
                self.until_prompt()
            left = self.left_on()
            if left and self.place.returns()[-1][0] == STOPPED[0]:
                raise Trouble(f"stopped, with {left} left on")
            self._resumed = len(self.place.returns()) - 1
            self._fg()
            if self.ended is None and not self.stopped:
                self.terminal.run(0.05)

    def _awake(self) -> bool:
        return self.stopped or self.ended is not None or state(self.place.pid()) != "T"

    def _gone(self) -> bool:
        return not _runs(self.place, self.place.pid())

    def _fg(self) -> None:
        """Until it is awake.

        What the terminal answered meanwhile is on the line: the first Enter gets rid of it.
        """
        for _ in range(int(PATIENCE_S / FG_S)):
            self.terminal.write(b"\x15\r\x15fg\r")
            with contextlib.suppress(Trouble):
                self.until(self._awake, "", FG_S)
                return
        raise Trouble("`fg` did not wake it")

    # ── the end ──

    def leave(self) -> None:
        """However a program is left; again and harder where a page asked something first."""
        ways = ["q", "ctrl+c", "term", "hup"] + ["close"] * (self.episode.outside == "plain")
        for way in [self.rng.choice(ways), "ctrl+c", "ctrl+c", "term"]:
            self.resume()
            if self.ended is not None or self.hung_up:
                return
            pid = self.place.pid()
            if way in ("term", "hup"):
                if _runs(self.place, pid):
                    os.kill(pid, signal.SIGTERM if way == "term" else signal.SIGHUP)
            elif way == "close":
                self.hung_up = True
                self.terminal.hang_up()
                self.until(self._gone, "it outlives its terminal")
                return
            else:
                self.terminal.write(script.encode(way))
            with contextlib.suppress(Trouble):
                self.until(
                    lambda: self.ended is not None or self.stopped,
                    f"after {way}",
                    20.0 if way != "term" else PATIENCE_S,
                )
        self.resume()
        if self.ended is None:
            raise Trouble("still running after q, Ctrl+C and SIGTERM")
        with contextlib.suppress(
            Trouble
        ):  # keys that came after the end may stand behind the prompt
            self.until_prompt()

    def stacks(self) -> str:
        """Where it stands (see fence.py)."""
        pid = self.place.pid()
        if not _runs(self.place, pid):
            return f"returns to the shell: {self.place.returns()[-3:]}"
        before = len(self.output())
        os.kill(pid, signal.SIGUSR2)
        with contextlib.suppress(Trouble):
            self.until(lambda: False, "", 2.0)
        return f"state {state(pid)}\n" + self.output()[before:].decode(errors="replace")

    def _was_refused(self) -> bool:
        """Whether it said that there is nothing to open, before it drew: what it was to open had
        vanished by then.
        """
        return (
            self.ended == NOTHING_TO_OPEN
            and b"\x1b[?1049h" not in self.output()
            and b"powertui:" in self.output()
        )

    def left_behind(self) -> list[str]:
        """Tracebacks anywhere, a torn terminal, a wrong exit code."""
        trouble = []
        output = self.output()
        shouts = [shout.decode() for shout in SHOUTS if shout in output]
        if shouts:
            trouble.append(f"on the terminal: {shouts}\n" + output[-6000:].decode(errors="replace"))
        if self.place.traces.exists():
            trouble.append(
                "nobody caught:\n" + self.place.traces.read_text(errors="replace")[-6000:]
            )
        returns = self.place.returns()
        if self.hung_up or self.ended is None:
            return trouble
        if self.ended not in GOOD and not self._was_refused():
            trouble.append(f"exit code {self.ended}\n" + output[-3000:].decode(errors="replace"))
        after = next((settings for code, settings in reversed(returns) if code == self.ended), "")
        if after != self.settings:
            trouble.append(f"the line is set otherwise: {self.settings} before, {after} after")
        left = self.left_on()
        if left:
            trouble.append(f"left on: {left}\n{output[-500:]!r}")
        return trouble


def left_on(output: bytes) -> list[str]:
    """Modes that this output leaves switched on, by name; a hidden cursor too."""
    modes = modes_in(output)
    return [name for number, name in MODES.items() if modes.get(number)] + (
        [] if modes.get(25, True) else ["cursor hidden"]
    )


def kind_of(seed: int) -> str:
    """Which surroundings the episode of a seed has."""
    return KINDS[seed % len(KINDS)]
