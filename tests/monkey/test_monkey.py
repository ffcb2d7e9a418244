"""A short walk of the monkey, with the same seeds every time."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from . import outside, script, shrink
from .play import Episode
from .worlds import World

ROOT = Path(__file__).resolve().parents[2]


def walk(tmp_path: Path, *arguments: str) -> str:
    """What a run printed. It must end without trouble."""
    command = [sys.executable, "-m", "tests.monkey", "--folder", str(tmp_path), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_20_000_keys(tmp_path: Path) -> None:
    said = walk(tmp_path, "--seed", "1", "--keys", "20000")
    totals = re.findall(r"([\d,]+) keys \(", said)
    assert int(totals[-1].replace(",", "")) >= 20_000


def need(kind: str) -> None:
    if kind != "plain" and shutil.which(kind) is None:
        pytest.skip(f"there is no {kind} here")


@pytest.mark.e2e
def test_the_real_program_in_a_terminal(tmp_path: Path) -> None:
    walk(tmp_path, "--pty", "--seed", "1", "--keys", "600", "--episode-keys", "150")


@pytest.mark.e2e
@pytest.mark.parametrize("kind", outside.KINDS)
def test_the_real_program_as_a_job_of_a_shell(tmp_path: Path, kind: str) -> None:
    need(kind)
    folder = tmp_path / ("a-path-longer-than-that-of-a-socket-" * 3)
    folder.mkdir()
    said = walk(folder, "--outside", kind, "--seed", "3", "--keys", "200", "--episode-keys", "200")
    assert f"{kind}: 1 episodes" in said or f"{kind}: 2 episodes" in said
    assert not list(folder.glob("outside-*")), "what an episode made is gone with it"


@pytest.mark.e2e
@pytest.mark.parametrize("kind", outside.KINDS)
def test_a_job_is_stopped_and_continued_in_windows_of_one_column(tmp_path: Path, kind: str) -> None:
    """bash with its line editor dies there of a division by zero."""
    need(kind)
    narrow = "size:1x1 ctrl+z a signal:stop a size:1x40 ctrl+z a"
    low = "size:200x1 signal:stop a size:2x1 ctrl+z a"
    words = f"{narrow} {low} size:80x24"
    said = walk(tmp_path, "--outside", kind, "--world", "one-event", "--script", words)
    assert "nothing broke in 8 keys" in said


@pytest.mark.e2e
def test_keys_that_the_shell_gets_change_no_exit_code(tmp_path: Path) -> None:
    """`!` and `fg` without a job end with 1; half a command and Ctrl+S hold up the shell."""
    after_stop = "raw:%1a!%0d%22(%0d%13"
    after_end = "raw:q%0dfg%0d"
    tidy = (
        "settings[3] |= termios.ECHO | termios.ICANON\n"
        "termios.tcsetattr(0, termios.TCSANOW, settings)\n"
    )
    words = [after_stop, "rest:300", "x", after_end, "rest:300"]
    assert play_torn(tmp_path, torn(tmp_path, ending=tidy), words) == ""


@pytest.mark.e2e
def test_a_program_that_leaves_the_terminal_torn_is_trouble(tmp_path: Path) -> None:
    """The monkey is tried as well: a job that ends at `q` with a wrong code, and leaves modes and
    the line as they must not be.
    """
    said = play_torn(
        tmp_path, torn(tmp_path, modes=MODES_ON, ending="raise ValueError('torn')\n"), ["x"] * 4
    )
    assert "exit code 1" in said
    assert "the line is set otherwise" in said
    assert "left on: ['mouse motion', 'alternate screen', 'cursor hidden']" in said
    assert "Traceback" in said


@pytest.mark.e2e
def test_a_program_that_stops_and_keeps_its_modes_is_trouble(tmp_path: Path) -> None:
    said = play_torn(tmp_path, torn(tmp_path, modes=MODES_ON), ["x", "ctrl+z", "x"])
    assert "stopped, with ['mouse motion', 'alternate screen', 'cursor hidden'] left on" in said


@pytest.mark.e2e
def test_a_shell_that_dies_is_trouble_at_once(tmp_path: Path) -> None:
    said = play_torn(
        tmp_path, torn(tmp_path, ending="os.kill(os.getppid(), 9)\n"), ["q", "rest:1000"]
    )
    assert "the shell is gone" in said


MODES_ON = "\\x1b[?1049h\\x1b[?25l\\x1b[?1003h"


def torn(folder: Path, modes: str = "\\x1b[?1049h\\x1b[?1049l", ending: str = "") -> Path:
    """A program that takes keys one by one, and ends at `q`."""
    program = folder / "torn.py"
    program.write_text(
        "import os, sys, termios\n"
        "settings = termios.tcgetattr(0)\nsettings[3] &= ~(termios.ECHO | termios.ICANON)\n"
        "termios.tcsetattr(0, termios.TCSANOW, settings)\n"
        f"sys.stdout.write('{modes}'); sys.stdout.flush()\n"
        "while os.read(0, 1) not in (b'q', b'\\x03'):\n    pass\n" + ending
    )
    return program


def play_torn(folder: Path, program: Path, words: list[str]) -> str:
    """What the monkey says of it."""
    inside = folder / "folder"
    inside.mkdir()
    world = World("torn", ("open", str(program)), lambda _: None)  # type: ignore[arg-type,return-value]
    played = outside.play(
        Episode(world, words, outside="plain"), inside, program=[sys.executable, str(program)]
    )
    assert not list(inside.glob("outside-*")), "what an episode made is gone with it"
    return "\n".join(played.trouble)


def test_trouble_is_printed_with_the_command_that_shows_it_again(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.monkey",
        "--folder",
        str(tmp_path),
        "--world",
        "nowhere",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "demo" in done.stderr


def test_a_seed_is_an_episode_and_every_word_can_be_sent_and_printed() -> None:
    for seed in range(30):
        for generate in (script.generate, outside.generate):
            assert generate(random.Random(seed), 200, (80, 24)) == generate(
                random.Random(seed), 200, (80, 24)
            )
        words = script.generate(random.Random(seed), 200, (80, 24))
        assert words == script.generate(random.Random(seed), 200, (80, 24))
        assert script.parse(script.text(words)) == [
            {" ": "space", "\x07": "ctrl+g"}.get(word, word) for word in words
        ]
        assert sum(map(script.is_key, words)) >= 200
        assert all(isinstance(script.encode(word), bytes) for word in words)


def test_shrinking_leaves_what_it_takes() -> None:
    world = World("none", (), lambda _: None)  # type: ignore[arg-type,return-value]

    def player(episode: Episode) -> Episode:
        if "m" in episode.words and "]" in episode.words[episode.words.index("m") :]:
            episode.trouble.append("boom")
        return episode

    broken = player(Episode(world, [*"wwmaadd]m]", "idle", "q"]))
    small = shrink.shrink(broken, player)
    assert small.words == ["m", "]"]
    assert "--script 'm ]'" in small.command()
