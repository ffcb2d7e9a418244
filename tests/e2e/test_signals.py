"""A signal may come at any moment: the terminal is whole afterwards, and the exit code tells which
signal it was.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui.terminal.driver import RESTORE

from .conftest import ROOT, Opener, python_env
from .interrupting import SIGNALS, TRACEBACK, handled, interrupt, told
from .processes import family, state
from .ssh import Line, Sshd, until
from .terminal import MODES, Terminal, environment

pytestmark = pytest.mark.e2e

# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"
TAKEN = b"\x1b[?1049h"
ENDING = pytest.mark.parametrize(("number", "code"), SIGNALS.items())
POWERTUI = f"{sys.executable} -m powertui"


def only_where_beginnings_are_seen(number: int) -> None:
    if number == signal.SIGINT and not told():
        pytest.skip(
            "an emulator catches all signals: whether a Ctrl+C comes before the program has "
            "begun cannot be seen"
        )


@ENDING
def test_at_random_moments(start: Opener, number: int, code: int) -> None:
    only_where_beginnings_are_seen(number)
    dice = random.Random(f"moments {number}")
    faults = []
    for _ in range(10):
        delay = dice.uniform(0.0, 2.5)
        terminal = start("demo")
        ending = interrupt(terminal, number, delay)
        if fault := ending.fault(code):
            faults.append(
                f"after {delay:.3f} s: {fault}\n{ending.printed[-2000:].decode(errors='replace')}"
            )
    assert not faults, "\n".join(faults)


@ENDING
def test_while_it_imports(start: Opener, number: int, code: int) -> None:
    """As soon as the program has any handler at all."""
    only_where_beginnings_are_seen(number)
    terminal = start("demo")
    terminal.wait_until(lambda: signal.SIGTERM in handled(terminal.pid), "the program's first line")
    ending = interrupt(terminal, number, 0.0)
    assert ending.fault(code) == ""
    assert ending.printed == b""


@ENDING
def test_the_moment_the_terminal_is_taken(start: Opener, number: int, code: int) -> None:
    terminal = start("demo")
    terminal.wait_until(lambda: TAKEN in terminal.raw, "the alternate screen")
    assert interrupt(terminal, number, 0.0).fault(code) == ""


@ENDING
def test_the_moment_the_first_frame_is_there(start: Opener, number: int, code: int) -> None:
    terminal = start("demo")
    terminal.wait_until(lambda: terminal.questions > 1, "a frame")
    assert interrupt(terminal, number, 0.0).fault(code) == ""


@ENDING
def test_while_it_leaves(start: Opener, profile: Path, number: int, code: int) -> None:
    """It was about to end by itself: its own exit code, or the signal's."""
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.write(b"q")
    terminal.wait_until(
        lambda: b"\x1b[?1049l" in terminal.raw or terminal.eof, "the end of the alternate screen"
    )
    ending = interrupt(terminal, number, 0.0)
    assert ending.code == 0 or ending.fault(code) == ""
    assert not ending.left_on
    assert ending.cooked


def test_the_first_of_several_decides(start: Opener, profile: Path) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.signal(signal.SIGTERM)
    terminal.signal(signal.SIGHUP)
    assert terminal.wait_exit() in (
        143,
        129,
    )  # the kernel delivers what waits in the order of the numbers
    assert terminal.left_on() == []
    assert TRACEBACK not in terminal.raw


def test_a_terminal_that_does_not_read_is_whole_when_it_reads_again(
    start: Opener, profile: Path
) -> None:
    terminal = start(profile, size=(200, 60))
    terminal.wait_for(READY)
    terminal.settle()
    for _ in range(40):  # nobody reads: what is drawn fills the terminal's buffer
        terminal.write(b"\x0c")
        terminal.write(b"\x1b[1;1R")
        time.sleep(0.01)
    terminal.signal(signal.SIGTERM)
    until(lambda: state(terminal.pid) in ("Z", ""), "the program has ended")
    assert terminal.wait_exit() == 143
    assert terminal.left_on() == []


def test_all_that_is_switched_on_is_switched_off_in_a_hurry(start: Opener, profile: Path) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    for number in [number for number in MODES if terminal.modes.get(number)] + [25]:
        assert b"\x1b[?%d%s" % (number, b"h" if number == 25 else b"l") in RESTORE


@pytest.mark.parametrize("words", ["demo", "live --replay demo.csv"])
def test_a_terminal_that_goes_before_the_program_has_looked_at_it(
    words: str, tmp_path: Path
) -> None:
    """No complaint that there is none, and the code of a hang-up."""
    (tmp_path / "demo.csv").write_text("time_unix_s,watts\n1700000000,200\n1700000001,210\n")
    master, terminal = os.openpty()
    script = "trap '' HUP; read line < fifo; exec \"$@\""
    os.mkfifo(tmp_path / "fifo")
    command = ["sh", "-c", script, "sh", *POWERTUI.split(), *words.split()]
    with subprocess.Popen(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=python_env(),
        start_new_session=True,
    ) as process:
        os.close(terminal)
        os.close(master)
        (tmp_path / "fifo").write_text("go\n")
        assert process.stderr is not None
        said = process.stderr.read()
        assert (process.wait(), said) == (129, b"")


def test_ignored_signals_stay_ignored(start: Opener, profile: Path) -> None:
    """As under nohup, and as a shell's background job."""
    script = f"trap '' HUP INT; exec {POWERTUI} {profile}"
    with Terminal(["sh", "-c", script], size=(120, 30), env=python_env()) as terminal:
        terminal.wait_for(READY)
        terminal.signal(signal.SIGHUP)
        terminal.signal(signal.SIGINT)
        terminal.settle()
        assert not terminal.eof
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_exit() == 143
        assert terminal.left_on() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("<&-", "not a terminal"),
        (">&-", ""),
        ("<&- >&- 2>&-", ""),
        ("</dev/null", "not a terminal"),
        (">/dev/null", "not a terminal"),
        ("| cat", "not a terminal"),
    ],
)
def test_without_an_input_or_an_output_it_refuses(profile: Path, words: str, said: str) -> None:
    script = f"{POWERTUI} {profile} {words}"
    if "|" not in words:
        script += "; echo code $?" if "2>&-" not in words else "; test $? = 2 && echo code 2"
    with Terminal(["sh", "-c", script], env=python_env()) as terminal:
        assert terminal.wait_exit() == 0
        text = terminal.text()
        assert said in text
        assert "code 2" in text or "|" in words
        assert "Traceback" not in text
        assert terminal.left_on() == []


@pytest.mark.parametrize(
    "how", ["nohup {} </dev/null >nohup.out 2>&1; echo code $?", "{} & wait $!; echo code $?"]
)
def test_nohup_and_the_background(profile: Path, tmp_path: Path, how: str) -> None:
    """Without job control, a job in the background reads from /dev/null."""
    with Terminal(
        ["sh", "-c", how.format(f"{POWERTUI} {profile}")], env=python_env(), cwd=tmp_path
    ) as terminal:
        assert terminal.wait_exit() == 0
        assert "code 2" in terminal.text()
        assert terminal.left_on() == []


def test_a_stopped_job_that_is_killed_leaves_the_shell_s_terminal_alone(
    start: Opener, profile: Path
) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.settle()
    terminal.press("C-z")
    terminal.wait_until(lambda: state(terminal.pid) == "T", "stopped")
    terminal.settle()
    assert terminal.left_on() == []
    terminal.signal(signal.SIGTERM)
    terminal.signal(signal.SIGCONT)
    assert terminal.wait_exit() == 143
    assert terminal.left_on() == []


@pytest.mark.parametrize(
    ("env", "size"),
    [
        ({"TERM": "dumb"}, (80, 24)),
        ({"TERM": ""}, (80, 24)),
        ({"LANG": "C"}, (80, 24)),
        ({}, (20, 5)),
        ({"TERM": "vt100"}, (1, 1)),
    ],
)
@ENDING
def test_on_any_terminal(
    start: Opener, profile: Path, env: dict[str, str], size: tuple[int, int], number: int, code: int
) -> None:
    only_where_beginnings_are_seen(number)
    dice = random.Random(f"any {number}")
    refuses = env.get("TERM") in ("dumb", "")
    for _ in range(3):
        ending = interrupt(start(profile, env=env, size=size), number, dice.uniform(0.0, 1.5))
        assert ending.fault(2 if refuses and ending.code == 2 else code) == ""


# ── behind another program
# ──────────────────────────────────────────────────────────────────────────


def programs_of(pid: int) -> list[int]:
    """The processes below this one that are powertui."""
    found = []
    for one in family([pid]):
        try:
            words = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:3] == [b"-m", b"powertui"]:
            found.append(one)
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets have no room for a long one."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="pt-") as name:
        yield Path(name)


@pytest.mark.parametrize("program", ["screen", "tmux"])
@ENDING
def test_inside(program: str, profile: Path, folder: Path, number: int, code: int) -> None:
    """The window is a shell's again: what it prints stands on the screen it had before, and it says
    the code.
    """
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    script = folder / "window.sh"
    script.write_text(
        f"stty -a > {folder}/before; echo shell was here; {POWERTUI} {profile}; echo $? > "
        f"{folder}/new; stty -a > {folder}/after\n"
        f"mv {folder}/new {folder}/code; echo and is here again; sleep 1000\n"
    )
    env = python_env(
        {"SCREENDIR": str(folder / "s"), "TMUX_TMPDIR": str(folder), "HOME": str(folder)}
    )
    (folder / "s").mkdir(mode=0o700)
    (folder / ".screenrc").write_text("altscreen on\nstartup_message off\n")
    commands = {
        "screen": ["screen", "-S", "window", "sh", str(script)],
        "tmux": ["tmux", "-f", "/dev/null", "-L", "window", "new-session", f"sh {script}"],
    }
    dice = random.Random(f"{program} {number}")
    try:
        with Terminal(commands[program], size=(100, 30), env=env) as terminal:
            terminal.wait_for("shell was here|whole run|Timeline")
            until(lambda: bool(_windows(folder)), "powertui runs")
            (pid,) = _windows(folder)
            until(lambda: signal.SIGTERM in handled(pid), "its first line")
            if dice.random() < 0.5:
                terminal.wait_for(READY)
            os.kill(pid, number)
            until((folder / "code").exists, "the shell goes on")
            assert (folder / "code").read_text().strip() == str(code)
            assert (folder / "before").read_text() == (folder / "after").read_text()
            terminal.wait_for("and is here again")
            assert "shell was here" in terminal.text()
            assert "Traceback" not in terminal.text()
    finally:
        quit_ = {
            "screen": ["screen", "-S", "window", "-X", "quit"],
            "tmux": ["tmux", "-L", "window", "kill-server"],
        }
        subprocess.run(quit_[program], env=env, check=False, capture_output=True)


def _windows(folder: Path) -> list[int]:
    """powertui inside the window: screen and tmux are no children of the terminal, but hand the
    environment on.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                ours = str(folder).encode() in (entry / "environ").read_bytes()
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if ours and words[1:3] == [b"-m", b"powertui"]:
                found.append(int(entry.name))
    return found


@pytest.mark.usefixtures("needs_sshd")
def test_a_connection_that_is_cut_at_random_moments(profile: Path, tmp_path: Path) -> None:
    """The far end is a shell on a terminal that is gone: the program ends with 129, whatever it was
    doing.
    """
    dice = random.Random("cut")
    with Sshd(tmp_path / "sshd") as server:
        for turn in range(4):
            code = tmp_path / f"code-{turn}"
            script = tmp_path / f"run-{turn}.sh"
            script.write_text(
                f"trap 'left=1' HUP\ncd {ROOT}\n{POWERTUI} {profile} 2> {tmp_path}/errors-{turn}\n"
                f"echo $? > {code}.new; mv {code}.new {code}\n"
            )
            env = python_env()
            wanted = {key: env[key] for key in ("PYTHONPATH", "LANG", "XDG_CONFIG_HOME")}
            with Line(server.port) as line:
                command = server.command(line.port, ["sh", str(script)], env=wanted)
                with Terminal(command, size=(120, 30), env=environment()) as terminal:
                    until(lambda: bool(programs_of(server.pid)), "powertui runs")
                    (pid,) = programs_of(server.pid)
                    until(lambda pid=pid: signal.SIGTERM in handled(pid), "its first line")
                    end = time.monotonic() + dice.uniform(0.0, 1.5)
                    while time.monotonic() < end:
                        terminal.read(0.02)
                    line.cut()
                    until(code.exists, "the program has ended")
            assert code.read_text().strip() == "129"
            assert TRACEBACK.decode() not in (tmp_path / f"errors-{turn}").read_text()
