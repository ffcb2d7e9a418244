"""What a capture waits for, and how it is told to whoever may end the wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from powertui.named_tuples import NamedTuple

__all__ = ["Stage", "Waiting"]

# Between two looks whether somebody wants to stop, who is told meanwhile how far it is.
_LOOK_PERIOD_S = 0.25


class Stage(NamedTuple):
    """What is being waited for."""

    what: str
    past_s: float
    of_s: float | None  # None: as long as it takes
    # When it is given up, which is of interest once somebody is slow.
    deadline_s: float | None = None
    slow: tuple[str, ...] = ()  # who should have answered by now
    ending: bool = False  # they were told to end already
    keeps_power: bool = False  # when it is ended now
    detail: str = ""  # how far it is, where that is not a time

    def sentence(self, key: str = "Ctrl+C", *, short: bool = False) -> str:
        """For somebody who may ask whether it hangs; "" while everything goes as usual."""
        if not self.slow or self.deadline_s is None:
            return ""
        does = "stops waiting" if self.ending else "ends the capture"
        power = " and keeps the power" if self.keeps_power else ""
        names = " and ".join(self.slow)
        if short:
            return (
                f"Waiting for {names}: {self.past_s:.0f} of {self.deadline_s:.0f} s. {key} {does}."
            )
        return (
            f"Waiting for {names}: {self.past_s:.0f} s of at most {self.deadline_s:.0f} s. "
            f"{key} {does}{power}."
        )


class Waiting:
    """Waits in slices, tells of it, and remembers that somebody asked to stop."""

    def __init__(self, on_stage: Callable[[Stage], bool]) -> None:
        self._on_stage = on_stage
        self.stopped = False

    def look(self, stage: Stage) -> bool:
        self.stopped = self._on_stage(stage) or self.stopped
        return self.stopped

    def wait(self, what: str, seconds: float, past: float = 0.0) -> None:
        """So long, of which some may be past, unless somebody stops it: Ctrl+C ends the wait, not
        the capture.
        """
        begun = time.monotonic() - past
        try:
            while (past := time.monotonic() - begun) < seconds and not self.look(
                Stage(what, past, seconds)
            ):
                time.sleep(min(_LOOK_PERIOD_S, seconds - past))
        except KeyboardInterrupt:
            self.stopped = True
