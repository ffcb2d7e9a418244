"""A short walk of the monkey, with the same seeds every time."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import script, shrink
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


def test_trouble_is_printed_with_the_command_that_shows_it_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.monkey", "--folder", str(tmp_path), "--world", "nowhere"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "demo" in done.stderr


def test_a_seed_is_an_episode_and_every_word_can_be_sent_and_printed() -> None:
    for seed in range(30):
        words = script.generate(random.Random(seed), 200, (80, 24))
        assert words == script.generate(random.Random(seed), 200, (80, 24))
        assert script.parse(script.text(words)) == [{" ": "space", "\x07": "ctrl+g"}.get(word, word) for word in words]
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
