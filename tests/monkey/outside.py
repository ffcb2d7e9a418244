"""The real program from outside, as a job of a real shell: in a bare terminal, in tmux, or in GNU
screen.

Whenever the shell has the terminal again, it writes down the exit code and whether it still has a
job. Who has the terminal, the kernel says. What the program wrote comes from the terminal, or from
what tmux writes down of it. Between the keys the window changes its size, the job is stopped and
continued (by Ctrl+Z and `fg`, and by signals), and files of the run vanish, are cut, grow, and are
replaced.

Words that only this monkey has: `signal:cont`, `signal:stop`, `file:vanish,3` (also cut, grow,
replace, noise, back). The shell finds no program but ours, whose name no monkey types, so that keys
which come after the end do nothing.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..e2e.processes import Watch, parent, state
from ..e2e.terminal import MODES, Terminal, environment, modes_in
from . import fence, script
from .play import Episode

KINDS = ("plain", "tmux", "screen")
PATIENCE_S = 180.0  # a machine may be busy; nothing here takes a second
ROOT = Path(__file__).resolve().parents[2]
GOOD = {0, 129, 130, 143}
NOTHING_TO_OPEN = 3
COMMAND = "start_powertui"
STOPPED = 128 + signal.SIGTSTP, 128 + signal.SIGSTOP
SHOUTS = (
    b"Traceback (most recent call last)",
    b"This is a bug in powertui",
    b"Exception ignored",
    b"RuntimeWarning",
    b"never awaited",
    b"Fatal Python error",
)
# GNU screen 4.9 itself dies of a window that shrinks to one column (8 of 12 times on a busy
# machine).
MIN_WIDTH = {"plain": 1, "tmux": 1, "screen": 2}
OF_SCREEN = ("alternate screen", "bracketed paste", "focus")
STOP_S = 10.0
LEAVE_S = 20.0
QUIET_S = 0.5  # without work for anybody: whatever a key was to do is done
PROMPT_S = 20.0
NUDGE_S = (
    1.0  # not at once: tmux and screen are slow to hand keys on, and to the program Ctrl+Q is a key
)
FG_S = 10.0
FG_TRIES = 30  # a burst of Ctrl+Z stops the program again and again
_DRAWN = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x1f]"
)  # screen draws a text in pieces where the window is narrow
CHANGES = ("vanish", "cut", "grow", "replace", "noise", "back")
SCREENRC = (
    "startup_message off\nvbell off\nescape ^_^_\naltscreen on\ndefutf8 on\ndefscrollback 0\n"
)
# Only builtins: keys that come meanwhile, Ctrl+C among them, could end or stop a program that the
# shell runs before its prompt.
SHELLRC = """
set +o history
unset HISTFILE
IGNOREEOF=100000
PATH={folder}/bin
PS1='monkey> '
came_back() {{
    local code=$? job=0
    jobs %% &> /dev/null && job=1
    returns=$((returns + 1))
    echo "$code $job" >> {folder}/returns
    echo "returned $returns."
}}
PROMPT_COMMAND=came_back
echo $$ > {folder}/shell
"""


class Trouble(Exception):
    """Something that must not be: the episode ends with it."""


class ShellDied(Exception):
    """No limit excuses it, as one may excuse that something never comes."""


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

    @property
    def began(self) -> Path:
        """Is there once the program's own code runs, and no longer only Python's (see fence.py)."""
        return self.folder / "began"

    def returns(self) -> list[tuple[int, bool]]:
        """Each prompt of the shell: the exit code of what ran before, and whether it has a job."""
        try:
            lines = (self.folder / "returns").read_text().splitlines(keepends=True)
        except OSError:
            return []
        words = [line.split() for line in lines if line.endswith("\n")]
        return [(int(code), job == "1") for code, job in words]

    def pid(self) -> int:
        """The program's; 0 before it runs."""
        return self._number("pid")

    def shell(self) -> int:
        """The shell's; 0 before it runs."""
        return self._number("shell")

    def _number(self, name: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / name).read_text())
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
    """A copy of the world, and a shell that knows one program: the one that is tried."""
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
    script_path = programs / COMMAND
    script_path.write_text(f"#!/bin/sh\necho $$ > {place.folder}/pid\nexec {command}\n")
    script_path.chmod(0o755)
    (place.folder / "shellrc").write_text(SHELLRC.format(folder=place.folder))
    (place.folder / "screenrc").write_text(SCREENRC)
    log = f"/bin/cat > {place.log}"
    (place.folder / "tmux.conf").write_text(
        "set -g prefix None\nset -g status off\nset -g mouse on\nset -s escape-time 0\nset -g "
        "default-terminal screen-256color\n"
        f"unbind-key -a -T root\nset-hook -g session-created 'pipe-pane -O \"{log}\"'\n"
    )


def _command(kind: str, place: Place, name: str) -> list[str]:
    # Without the line editor: that of bash 5.2 dies of SIGFPE in a window that is one column wide.
    shell = [
        "/bin/bash",
        "--noprofile",
        "--noediting",
        "--rcfile",
        str(place.folder / "shellrc"),
        "-i",
    ]
    if kind == "tmux":
        return ["tmux", "-L", name, "-f", str(place.folder / "tmux.conf"), "new-session", *shell]
    if kind == "screen":
        return ["screen", "-c", str(place.folder / "screenrc"), "-S", name, *shell]
    return shell


@contextlib.contextmanager
def _terminal(episode: Episode, place: Place) -> Iterator[Terminal]:
    kind, color = episode.outside, episode.color
    width, height = episode.size
    size = max(width, MIN_WIDTH[kind]), height
    name = f"monkey-{os.getpid()}"
    sockets = tempfile.mkdtemp(prefix=Path(fence.SOCKETS).name, dir=Path(fence.SOCKETS).parent)
    extra = {
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(place.folder / "state"),
        "HOME": str(place.folder),
        "TMPDIR": str(place.folder),
        "MONKEY_TRACES": str(place.traces),
        "MONKEY_BEGAN": str(place.began),
        "SCREENDIR": sockets,
        "TMUX_TMPDIR": sockets,
        "COLORTERM": "truecolor" if color == "true" else "",
    }
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
        _kill(place, pid, place.shell())
        shutil.rmtree(sockets, ignore_errors=True)


def _kill(place: Place, *pids: int) -> None:
    """End what is left, and wait for it: a folder that is written into cannot be removed."""
    for pid in pids:
        if _runs(place, pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + PATIENCE_S
    while any(_runs(place, pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.01)


def _has_terminal(pid: int) -> bool:
    """Whether this process is in the group that the terminal's keys and signals are for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    group, group_in_front = fields[2], fields[5]
    return group == group_in_front


def _line_settings(shell: int) -> list[object] | None:
    """How the shell's line is set, as `stty` would show it: echo, signals, line by line."""
    try:
        line = os.open(f"/proc/{shell}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return termios.tcgetattr(line)
    except termios.error:
        return None
    finally:
        os.close(line)


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
                run.look_at_line()
            except (Trouble, ShellDied) as trouble:
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
        # How the line was set before the program had it, and after.
        self.settings_before: list[object] | None = None
        self.settings_after: list[object] | None = None
        self.hung_up = False
        self._answered = 0  # prompts of the shell before the last command to it
        self._sent_stop = False  # SIGSTOP, which leaves the program no time to tidy up
        self._early_interrupt = False  # Ctrl+C while Python itself started
        self._in_front_since = time.monotonic()  # the shell

    # ── waiting ──

    def until(self, holds: Callable[[], object], what: str, limit: float = PATIENCE_S) -> None:
        """Read until something is so; that it never comes is trouble."""
        end = time.monotonic() + limit
        while not holds():
            if time.monotonic() > end:
                raise Trouble(f"silent for {limit:.0f} s: {what}")
            self._mind_shell(what)
            self.read(0.02)

    def until_quiet(self, holds: Callable[[], object], limit: float) -> None:
        """Read until something is so that may never come, while anybody has something to do."""
        watch = Watch(self._everybody())
        end = time.monotonic() + limit
        worked = time.monotonic()
        while not holds() and time.monotonic() < min(end, worked + QUIET_S):
            self._mind_shell("while it had something to do")
            self.read(0.02)
            if watch.busy():
                worked = time.monotonic()

    def _everybody(self) -> list[int]:
        """The program, the shell, and what is around them."""
        shell = self.place.shell()
        surroundings = [] if self.episode.outside == "plain" else [parent(shell)]
        return [self.terminal.pid, shell, *surroundings]

    def _mind_shell(self, what: str) -> None:
        """It must be there. Where a Ctrl+S among the keys has stopped its output, Ctrl+Q helps."""
        shell = self.place.shell()
        if not shell or self.hung_up:
            return
        if not _runs(self.place, shell):
            raise ShellDied(f"the shell is gone: {what}")
        now = time.monotonic()
        if not _has_terminal(shell):
            self._in_front_since = now
        elif now > self._in_front_since + NUDGE_S:
            self._in_front_since = now
            self.terminal.write(b"\x11")

    def read(self, seconds: float) -> None:
        """Take what is there."""
        if self.terminal.eof or self.terminal.fd < 0:
            time.sleep(seconds)
        else:
            self.terminal.read(seconds)

    @property
    def ended(self) -> int | None:
        """The exit code with which the program left the shell without a job.

        Later codes are those of keys that came after the end.
        """
        return next((code for code, job in self.place.returns()[1:] if not job), None)

    @property
    def stopped(self) -> bool:
        """Whether the shell has the terminal, and the program has not ended.

        After a SIGCONT it may also run behind the shell.
        """
        returned = len(self.place.returns()) > self._answered
        return returned and self.ended is None and _has_terminal(self.place.shell())

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
            if not self._sent_stop:
                self.until(lambda: not self.left_on(), "modes stay on", PROMPT_S)
        else:
            word = b"returned %d." % len(self.place.returns())
            self.until(
                lambda: word in self.output(), "the shell said nothing after its job", PROMPT_S
            )

    # ── what is typed ──

    def start(self) -> None:
        """The shell is there; then the program."""
        self.until(lambda: self.place.returns() or self.terminal.eof, "the shell never came")
        if not self.place.returns():
            raise Trouble("the terminal ended before its shell came")
        self.settings_before = _line_settings(self.place.shell())
        self._answered = len(self.place.returns())
        self.terminal.write(COMMAND.encode() + b"\r")
        self.until(self.place.pid, "the program never began")
        if self.rng.random() < 0.85:  # others type before there is anything to type at
            self.until(lambda: self.ended is not None or self._drew(), "it never drew")

    def _drew(self) -> bool:
        """Whether the program took the terminal."""
        return self._mode_of_first_frame in self.output()

    @property
    def _mode_of_first_frame(self) -> bytes:
        """Screen itself uses the alternate screen, but no mouse."""
        return b"\x1b[?1006h" if self.episode.outside == "screen" else b"\x1b[?1049h"

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
            self.terminal.resize(max(int(width), MIN_WIDTH[self.episode.outside]), int(height))
        elif kind == "file" and rest:
            what, _, number = rest.partition(",")
            change_file(self.place, what, int(number))
        elif word == "signal:cont" and _runs(self.place, pid):
            os.kill(pid, signal.SIGCONT)
        elif word == "signal:stop" and _runs(self.place, pid):
            self._sent_stop = True
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
            self._press(word)
            self.read(0.0)
            if word == "escape":
                self.terminal.run(0.15)

    def _press(self, key: str) -> None:
        if key == "ctrl+c" and not self.place.began.exists():
            self._early_interrupt = True
        self.terminal.write(script.encode(key))

    def _stop(self) -> None:
        """Ctrl+Z. What comes after it is for the shell, so nothing does until it is known who has
        the terminal.

        One that comes while the terminal is being taken back is none: that it does not stop the
        program is no trouble.
        """
        before = len(self.place.returns())
        self.terminal.write(b"\x1a")
        self.until_quiet(lambda: len(self.place.returns()) > before, STOP_S)

    def resume(self) -> None:
        """`fg` for as long as the shell has the terminal."""
        for _ in range(FG_TRIES):
            self.until(self._shell_has_said_why, "the shell has the terminal, and says nothing")
            if not self.stopped:
                return
            with contextlib.suppress(Trouble):
                self.until_prompt()
            left = self.left_on()
            if left and not self._sent_stop:
                raise Trouble(f"stopped, with {left} left on")
            self._fg()
            if self.ended is None and not self.stopped:
                self.terminal.run(0.05)
        raise Trouble(f"the shell has the terminal after {FG_TRIES} times `fg`")

    def _shell_has_said_why(self) -> bool:
        """Whether it has the terminal for a reason that it has written down; or has no terminal."""
        return (
            self.stopped
            or self.ended is not None
            or self.hung_up
            or not _has_terminal(self.place.shell())
        )

    def _gone(self) -> bool:
        return not _runs(self.place, self.place.pid())

    def _fg(self) -> None:
        """Until the shell has given the terminal away.

        Keys that came after the stop may be half a command: Ctrl+C gets rid of them. It cannot
        reach the program, for only `fg` gives the terminal away.
        """
        for _ in range(int(PATIENCE_S / FG_S)):
            self._answered = len(self.place.returns())
            self.terminal.write(b"\x03")
            with contextlib.suppress(Trouble):
                self.until(lambda: len(self.place.returns()) > self._answered, "", FG_S)
            if self.ended is not None:
                return
            self._answered = len(self.place.returns())
            self._in_front_since = time.monotonic()
            self.terminal.write(b"fg\r")
            with contextlib.suppress(Trouble):
                self.until(lambda: not self._waits_for_fg(), "", FG_S)
                # An answer of the terminal's may come before `fg`: then no such command is known.
                if self.place.returns()[self._answered :] in (
                    [],
                    *([(code, True)] for code in STOPPED),
                ):
                    self._sent_stop = False
                return
        raise Trouble("`fg` did not wake it")

    def _waits_for_fg(self) -> bool:
        return len(self.place.returns()) == self._answered and _has_terminal(self.place.shell())

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
                self._press(way)
            if way == "term":
                with contextlib.suppress(Trouble):
                    self.until(lambda: self.ended is not None or self.stopped, "after SIGTERM")
            else:
                self.until_quiet(lambda: self.ended is not None or self.stopped, LEAVE_S)
        self.resume()
        if self.ended is None:
            raise Trouble("still running after q, Ctrl+C and SIGTERM")

    def look_at_line(self) -> None:
        """What the program left, once all that it wrote is there."""
        if self.ended is None or self.hung_up:
            return
        with contextlib.suppress(Trouble):
            self.until_prompt()
        self.settings_after = _line_settings(self.place.shell())

    def stacks(self) -> str:
        """Where it stands (see fence.py)."""
        pid = self.place.pid()
        if not _runs(self.place, pid):
            shell = self.place.shell()
            return f"prompts of the shell: {self.place.returns()[-3:]}, its state: {state(shell)}"
        before = len(self.output())
        os.kill(pid, signal.SIGUSR2)
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            self.read(0.02)
        return f"state {state(pid)}\n" + self.output()[before:].decode(errors="replace")

    def _was_refused(self) -> bool:
        """Whether it said that there is nothing to open, before it drew: the file had vanished."""
        said = b"powertui:" in _DRAWN.sub(b"", self.output())
        return self.ended == NOTHING_TO_OPEN and not self._drew() and said

    def left_behind(self) -> list[str]:
        """Tracebacks anywhere, a torn terminal, a wrong exit code."""
        trouble = []
        output = self.output()
        if self._early_interrupt:
            # Python answers with a traceback, and ends or goes on: none of it is ours.
            if not self.place.began.exists():
                return []
            _, mode, drawn = output.partition(self._mode_of_first_frame)
            output = mode + drawn
        shouts = [shout.decode() for shout in SHOUTS if shout in output]
        if shouts:
            trouble.append(f"on the terminal: {shouts}\n" + output[-6000:].decode(errors="replace"))
        if self.place.traces.exists():
            trouble.append(
                "nobody caught:\n" + self.place.traces.read_text(errors="replace")[-6000:]
            )
        if self.hung_up or self.ended is None:
            return trouble
        if self.ended not in GOOD and not self._was_refused():
            trouble.append(f"exit code {self.ended}\n" + output[-3000:].decode(errors="replace"))
        if self.settings_after != self.settings_before:
            before, after = self.settings_before, self.settings_after
            trouble.append(f"the line is set otherwise: {before} before, {after} after")
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
