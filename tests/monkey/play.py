"""One episode: the real application without a terminal in this process, fed with what a terminal
would send.

Bytes go through Textual's own parser and the driver, as those of a terminal do. Whatever is raised
anywhere (handlers, workers, threads, tasks), every warning, and every silence of more than
`PATIENCE_S` is trouble.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.geometry import Size

from powertui.screens.shell import Shell
from powertui.terminal.capabilities import Capabilities

from . import script
from .late import late
from .worlds import World

PATIENCE_S = 120.0  # a machine may be busy; nothing here takes a second


@dataclass
class Episode:
    """What is played, and what came of it."""

    world: World
    words: list[str]
    size: tuple[int, int] = (80, 24)
    busy: bool = False
    color: str = "256"
    glyphs: str = "unicode"
    late: bool = False
    outside: str = (
        ""  # "plain", "tmux" or "screen": the real program there, and not in this process
    )
    trouble: list[str] = field(default_factory=list)
    keys: int = 0  # that the program was sent before it ended
    left: bool = False  # the program ended by a key

    def command(self) -> str:
        """The command line that plays it again."""
        extra = (
            " --busy" * self.busy
            + " --late" * self.late
            + (f" --outside {self.outside}" if self.outside else "")
        )
        look = f" --color {self.color} --glyphs {self.glyphs}"
        words = script.text(self.words).replace("'", "'\\''")
        return (
            f"python -m tests.monkey --world {self.world.name} --size "
            f"{self.size[0]}x{self.size[1]}{look}{extra} --script '{words}'"
        )


def episode(seed: int, worlds: dict[str, World], keys: int) -> Episode:
    """The episode of a seed."""
    rng = random.Random(seed)
    world = worlds[rng.choice(sorted(worlds))]
    size = script.any_size(rng)
    busy = rng.random() < 0.15
    color = rng.choice(["true", "256", "16", "none"])
    glyphs = rng.choice(["unicode", "unicode", "console", "ascii"])
    words = script.generate(rng, keys, size)
    return Episode(world, words, size, busy, color, glyphs, late=rng.random() < 0.3)


def play(episode: Episode) -> Episode:
    """Play it in an event loop of its own."""
    episode.trouble, episode.keys, episode.left = [], 0, False
    with _watched(episode), _load(episode.busy), late(episode.late, len(episode.words)):
        asyncio.run(_play(episode))
        gc.collect()  # tasks and coroutines that nobody waited for complain when they are collected
    return episode


@contextmanager
def _watched(episode: Episode) -> Iterator[None]:
    """Threads, destructors and warnings report to the episode."""

    def from_thread(args: threading.ExceptHookArgs) -> None:
        _note(episode, f"in thread {args.thread.name if args.thread else '?'}", args.exc_value)

    def unraisable(args: Any) -> None:
        _note(episode, f"unraisable: {args.err_msg} {args.object!r}", args.exc_value)

    before = threading.excepthook, sys.unraisablehook
    threading.excepthook, sys.unraisablehook = from_thread, unraisable
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        threading.excepthook, sys.unraisablehook = before


@contextmanager
def _load(busy: bool) -> Iterator[None]:
    """A machine that has other things to do: a thread that takes the interpreter whenever
    it can.
    """
    stop = threading.Event()

    def burn() -> None:
        number = 1
        while not stop.is_set():
            for _ in range(20_000):
                number = number * 7 % 1_000_003
            stop.wait(0.002)

    thread = threading.Thread(target=burn, daemon=True)
    if busy:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if busy:
            thread.join()


def _note(episode: Episode, where: str, error: BaseException | None) -> None:
    text = "".join(traceback.format_exception(error)) if error is not None else ""
    episode.trouble.append(f"{where}\n{text}")


async def _play(episode: Episode) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        lambda _, context: _note(episode, str(context.get("message")), context.get("exception"))
    )
    capabilities = Capabilities(color=episode.color, glyphs=episode.glyphs)  # type: ignore[arg-type]
    shell = episode.world.open(capabilities)
    try:
        async with shell.run_test(size=episode.size, notifications=True):
            await _type(shell, episode)
            episode.left = shell._exit
            shell.exit(return_code=0)  # whatever is still on its way
    except Exception as error:
        _note(episode, "raised", error)
    finally:
        if shell._crash is not None and not episode.trouble:
            _note(episode, "crashed", shell._crash)
        if shell.session.feed is not None:
            shell.session.feed.stop("the monkey has had enough")


async def _type(shell: Shell, episode: Episode) -> None:
    parser = XTermParser()
    for word in episode.words:
        if shell._exit or shell._exception is not None:
            return
        kind, _, rest = word.partition(":") if len(word) > 1 else (word, "", "")
        driver = shell._driver
        assert driver is not None
        if kind == "rest" and rest:
            await asyncio.sleep(int(rest) / 1000)
        elif word == "idle":
            await _idle(shell, episode)
        elif kind == "size" and rest:
            width, _, height = rest.partition("x")
            size = Size(int(width), int(height))
            driver._size = size  # type: ignore[assignment]
            driver.process_message(events.Resize(size, size))
        elif (
            word == "escape"
        ):  # alone: a terminal's parser tells it from a sequence by the silence after it
            driver.process_message(events.Key("escape", "\x1b"))
        else:
            for message in parser.feed(script.encode(word).decode(errors="replace")):
                driver.process_message(message)
        episode.keys += script.is_key(word)
    await _idle(shell, episode)


async def _idle(shell: Shell, episode: Episode) -> None:
    """Until the application and its screen have seen what was sent."""
    for pump in (shell, shell.screen):
        seen = asyncio.Event()
        if not pump.call_later(seen.set):
            return
        for _ in range(int(PATIENCE_S * 10)):
            try:
                await asyncio.wait_for(seen.wait(), 0.1)
                break
            except asyncio.TimeoutError:
                if shell._exit or shell._exception is not None or not pump.is_running:
                    return
        else:
            episode.trouble.append(f"silent for {PATIENCE_S:.0f} s\n{_stacks()}")
            shell.exit(return_code=1)
            return


def _stacks() -> str:
    frames = sys._current_frames()
    out = ["".join(traceback.format_stack(frame)) for frame in frames.values()]
    out += [repr(task) for task in asyncio.all_tasks()]
    return "\n".join(out)[-20_000:]
