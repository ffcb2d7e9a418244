"""What the processes of a long run do: one episode after another, each in a folder of its own
inside the fence.
"""

from __future__ import annotations

import os
import random
import tempfile
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Event
from pathlib import Path

from . import fence, outside, play, pty
from .shrink import shrink
from .worlds import worlds


@dataclass(frozen=True)
class Told:
    """What a process tells of one episode."""

    seed: int
    world: str
    keys: int
    words: int
    left: bool
    trouble: str = ""
    command: str = ""
    kind: str = ""  # the surroundings of the real program


_enough: Event | None = None


def prepare(folder: Path, enough: Event | None = None) -> None:
    """A process that plays: its own working folder, inside the fence.

    No episode begins once there is `enough`.
    """
    global _enough
    _enough = enough
    own = folder / f"process-{os.getpid()}"
    own.mkdir(parents=True, exist_ok=True)
    os.chdir(own)
    os.environ.update(XDG_STATE_HOME=str(own / "state"), HOME=str(own), TMPDIR=str(own))
    tempfile.tempdir = None
    fence.install(folder)


def episode(work: tuple[int, Path, int, str | None, str]) -> Told | None:
    if _enough is not None and _enough.is_set():
        return None
    seed, folder, keys, world, how = work
    known = worlds(folder)
    if world:
        known = {world: known[world]}
    made = play.episode(seed, known, keys)
    if how in ("any", *outside.KINDS):
        return _outside(made, seed, folder, keys, how)
    if how == "pty":
        played = pty.play(made, folder)
        command = f"python -m tests.monkey --pty --seed {seed} --keys 1 --episode-keys {keys}" + (
            f" --world {world}" if world else ""
        )
        return Told(
            seed,
            made.world.name,
            played.keys,
            len(made.words),
            played.left,
            "\n".join(played.trouble)[:6000],
            command,
        )
    played = play.play(made)
    told = Told(seed, made.world.name, played.keys, len(made.words), played.left)
    if not played.trouble:
        return told
    small = shrink(played, play.play)
    return Told(
        seed,
        told.world,
        told.keys,
        told.words,
        told.left,
        "\n".join(small.trouble)[:6000],
        small.command(),
    )


def _outside(made: play.Episode, seed: int, folder: Path, keys: int, how: str) -> Told:
    """The real program as a job of a shell.

    Trouble is shrunk; the whole script is in the command where that fails.
    """
    kind = outside.kind_of(seed) if how == "any" else how
    words = outside.generate(random.Random(seed), keys, made.size)
    played = outside.play(replace(made, words=words, outside=kind, busy=False, late=False), folder)
    told = Told(seed, made.world.name, played.keys, len(words), played.left, kind=kind)
    if not played.trouble:
        return told
    small = shrink(played, lambda episode: outside.play(episode, folder), seconds=300.0)
    return replace(told, trouble="\n".join(small.trouble)[:6000], command=small.command())
