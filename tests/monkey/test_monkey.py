"""A short walk of the monkey, with the same seeds every time."""

from __future__ import annotations

import os
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


@pytest.mark.e2e
def test_the_real_program_in_a_terminal(tmp_path: Path) -> None:
    walk(tmp_path, "--pty", "--seed", "1", "--keys", "600", "--episode-keys", "150")


@pytest.mark.e2e
@pytest.mark.parametrize("kind", outside.KINDS)
@pytest.mark.skipif(
    not os.environ.get("POWERTUI_MONKEY_OUTSIDE"),
    reason="minutes long: POWERTUI_MONKEY_OUTSIDE=1 plays it",
)
def test_the_real_program_as_a_job_of_a_shell(tmp_path: Path, kind: str) -> None:
    if kind != "plain" and shutil.which(kind) is None:
        pytest.skip(f"there is no {kind} here")
    said = walk(
        tmp_path, "--outside", kind, "--seed", "3", "--keys", "200", "--episode-keys", "200"
    )
    assert f"{kind}: 1 episodes" in said or f"{kind}: 2 episodes" in said
    assert not list(tmp_path.glob("outside-*")), "what an episode made is gone with it"


@pytest.mark.e2e
def test_a_program_that_leaves_the_terminal_torn_is_trouble(tmp_path: Path) -> None:
    """The monkey is tried as well: a job that ends at `q` with a wrong code, and leaves modes and
    the line as they must not be.
    """
    folder = tmp_path / "folder"
    folder.mkdir()
    torn = tmp_path / "torn.py"
    torn.write_text(
        "import os, sys, termios\n"
        "settings = termios.tcgetattr(0)\nsettings[3] &= ~(termios.ECHO | termios.ICANON)\n"
        "termios.tcsetattr(0, termios.TCSANOW, settings)\n"
        "sys.stdout.write('\\x1b[?1049h\\x1b[?25l\\x1b[?1003h'); sys.stdout.flush()\n"
        "while os.read(0, 1) not in (b'q', b'\\x03'):\n    pass\n"
        "raise ValueError('torn')\n"
    )
    world = World("torn", ("open", str(torn)), lambda _: None)  # type: ignore[arg-type,return-value]
    played = outside.play(
        Episode(world, ["x"] * 4, outside="plain"), folder, program=[sys.executable, str(torn)]
    )
    told = "\n".join(played.trouble)
    assert "exit code 1" in told
    assert "the line is set otherwise" in told
    assert "left on: ['mouse motion', 'alternate screen', 'cursor hidden']" in told
    assert "Traceback" in told


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
