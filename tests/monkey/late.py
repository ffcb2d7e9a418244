"""Threads as on a starved machine: what runs beside the screen begins late, and what it found comes
late.

Keys go on meanwhile, so that an answer meets another page, another run, or the same question asked
again.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from powertui.widgets import background
from powertui.widgets.background import CancelCheck

PAUSES_S = (0.0, 0.0, 0.05, 0.3, 1.0)


@contextmanager
def late(some: bool, seed: int) -> Iterator[None]:
    """While this lasts. Pauses follow from the seed, but which thread takes which does not."""
    if not some:
        yield
        return
    rng = random.Random(seed)
    begin, start = background.begin, threading.Thread.start

    def begin_late(
        owner: Any, group: str, work: Callable[[CancelCheck], Any], done: Callable[[Any], None]
    ) -> None:
        before, after = rng.choice(PAUSES_S), rng.choice(PAUSES_S)

        def slowly(check: CancelCheck) -> Any:
            time.sleep(before)
            found = work(check)
            time.sleep(after)
            return found

        begin(owner, group, slowly, done)

    def start_late(thread: threading.Thread) -> None:
        run, pause = thread.run, rng.choice(PAUSES_S)

        def slowly() -> None:
            time.sleep(pause)
            run()

        if not thread.name.startswith(
            "asyncio"
        ):  # the loop's own pool: what it runs is slowed above
            thread.run = slowly  # type: ignore[method-assign]
        start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "begin", begin_late)
        patch.setattr(threading.Thread, "start", start_late)
        yield
