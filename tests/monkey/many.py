"""What the processes of a long run do: one episode after another, each in a folder of its own inside the fence."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from . import fence, play, pty
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


_enough: Event | None = None


def prepare(folder: Path, enough: Event | None = None) -> None:
    """A process that plays: its own working folder, inside the fence. No episode begins once there is `enough`."""
    global _enough
    _enough = enough
    own = folder / f"process-{os.getpid()}"
    own.mkdir(parents=True, exist_ok=True)
    os.chdir(own)
    os.environ.update(XDG_STATE_HOME=str(own / "state"), HOME=str(own), TMPDIR=str(own))
    tempfile.tempdir = None
    fence.install(folder)


def episode(work: tuple[int, Path, int, str | None, bool]) -> Told | None:
    if _enough is not None and _enough.is_set():
        return None
    seed, folder, keys, world, in_pty = work
    known = worlds(folder)
    if world:
        known = {world: known[world]}
    made = play.episode(seed, known, keys)
    if in_pty:
        played = pty.play(made, folder)
        command = f"python -m tests.monkey --pty --seed {seed} --keys 1 --episode-keys {keys}" + (
            f" --world {world}" if world else ""
        )
        return Told(seed, made.world.name, played.keys, len(made.words), played.left, "\n".join(played.trouble)[:6000], command)
    played = play.play(made)
    told = Told(seed, made.world.name, played.keys, len(made.words), played.left)
    if not played.trouble:
        return told
    small = shrink(played, play.play)
    return Told(seed, told.world, told.keys, told.words, told.left, "\n".join(small.trouble)[:6000], small.command())
