"""Over a real sshd, on an emulated slow line: 1 Mbit/s, 100 ms."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import python_env
from .ssh import Line, Sshd, until
from .terminal import Terminal, environment

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("needs_sshd")]

# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"
RTT_S, BYTES_PER_S = 0.1, 125_000.0
FRAME = 40_000  # bytes: a frame that goes in one piece, in the packets of ssh


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with Sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def connect(
    server: Sshd, line: Line, *arguments: str, size: tuple[int, int] = (120, 30)
) -> Terminal:
    """powertui at the far end of the line."""
    env = python_env()
    wanted = {key: env[key] for key in ("PYTHONPATH", "LANG", "XDG_CONFIG_HOME")}
    command = server.command(line.port, [sys.executable, "-m", "powertui", *arguments], env=wanted)
    return Terminal(command, size=size, env=environment(), beside=(server.pid, line.pid))


def slow(server: Sshd) -> Line:
    """1 Mbit/s, 100 ms."""
    return Line(server.port, rtt_s=RTT_S, bytes_per_s=BYTES_PER_S)


def hold(terminal: Terminal, line: Line, key: str, seconds: float) -> tuple[float, int]:
    """Hold a key down, thirty times a second as keyboards do.

    For how long it was, and how many bytes were on the line at most.
    """
    start = next_press = time.monotonic()
    on_line = 0
    while time.monotonic() < start + seconds and not terminal.eof:
        if time.monotonic() >= next_press:
            terminal.write(key.encode())
            next_press += 1 / 30
        terminal.read(0.005)
        on_line = max(on_line, line.on_line)
    return time.monotonic() - start, on_line


def settled(terminal: Terminal, line: Line) -> None:
    """Until nobody has anything to do, and nothing is on the line, twice: what one has sent the
    other may have to answer.
    """
    quiet = 0
    while quiet < 2:
        came = terminal.settle(0.6)
        quiet = quiet + 1 if not came and line.on_line == 0 else 0


def test_keys_and_leaving(server: Sshd, profile: Path) -> None:
    with Line(server.port) as line, connect(server, line, str(profile)) as terminal:
        terminal.wait_for(READY)
        terminal.press("w", "w", "d", "j", "?")
        terminal.wait_for("Tab other pages")
        terminal.press("Tab")  # the connection stands behind this page's keys
        terminal.wait_for("round trip")
        terminal.press("Esc", "q")
        assert terminal.wait_exit() == 0
        assert terminal.left_on() == []


def test_a_held_key_never_floods_the_line(server: Sshd, profile: Path) -> None:
    """What is in flight when the key is released is at most a frame or two, whatever the machine's
    speed.
    """
    with (
        Line(server.port, rtt_s=RTT_S, bytes_per_s=BYTES_PER_S) as line,
        connect(server, line, str(profile), size=(200, 50)) as terminal,
    ):
        terminal.wait_for(READY)
        settled(terminal, line)
        terminal.press("g", *"wwwwww")
        settled(terminal, line)
        before = terminal.questions
        held, on_line = hold(terminal, line, "d", 3.0)
        # 3 s at one frame a round trip are thirty frames, and no more than one of them is on its
        # way at any time.
        assert 1 <= terminal.questions - before <= held / RTT_S + 2
        assert 0 < on_line <= FRAME
        settled(terminal, line)
        shown = terminal.text()
        terminal.press("C-l")
        settled(terminal, line)
        assert terminal.text() == shown


def test_quitting_in_the_middle_of_it(server: Sshd, profile: Path) -> None:
    with (
        Line(server.port, rtt_s=RTT_S, bytes_per_s=BYTES_PER_S) as line,
        connect(server, line, str(profile), size=(200, 50)) as terminal,
    ):
        terminal.wait_for(READY)
        hold(terminal, line, "d", 1.0)
        terminal.press("q")
        queued = line.on_line  # what stands between the key and the shell's prompt
        while not terminal.eof:
            terminal.read(0.02)
            queued = max(queued, line.on_line)
        assert terminal.wait_exit() == 0
        assert terminal.left_on() == []
        assert queued <= FRAME


def test_a_line_that_breaks_ends_the_program(server: Sshd, profile: Path, tmp_path: Path) -> None:
    with Line(server.port) as line:
        run = (
            "import sys; from powertui.cli import main\n"
            "code = main(sys.argv[1:])\n"
            f"open({str(tmp_path / 'new')!r}, 'w').write(str(code))\n"
            # so that it is never there and empty
            f"import os; os.rename({str(tmp_path / 'new')!r}, {str(tmp_path / 'code')!r})"
        )
        env = python_env()
        wanted = {key: env[key] for key in ("PYTHONPATH", "LANG", "XDG_CONFIG_HOME")}
        command = server.command(line.port, [sys.executable, "-c", run, str(profile)], env=wanted)
        with Terminal(
            command, size=(120, 30), env=environment(), beside=(server.pid, line.pid)
        ) as terminal:
            terminal.wait_for(READY)
            line.cut()
            until(
                (tmp_path / "code").exists, "the program has ended"
            )  # what broke off is nothing for the terminal to read
            assert (tmp_path / "code").read_text() == "129"


def test_a_stalled_line_loses_nothing(server: Sshd, profile: Path) -> None:
    with Line(server.port) as line, connect(server, line, str(profile)) as terminal:
        terminal.wait_for(READY)
        terminal.settle()
        line.freeze()
        terminal.press(*"wwdd")
        assert terminal.run(0.5) == 0
        line.freeze(False)
        settled(terminal, line)
        shown = terminal.text()
        terminal.press("C-l")
        settled(terminal, line)
        assert terminal.text() == shown
        terminal.press("q")
        assert terminal.wait_exit() == 0
