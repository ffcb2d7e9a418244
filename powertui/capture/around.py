"""Power around a profile: a recording from some seconds before to some seconds after, which ends up beside the profile."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from powertui.capture.where import unwritable
from powertui.errors import PowertuiError
from powertui.sampler.csv_format import BEGIN, END
from powertui.sampler.process import RecorderProcess
from powertui.sampler.source import Stamp
from powertui.sampler.targets import Target

__all__ = ["NAME", "PowerAround"]

NAME = "power.csv"


class PowerAround:
    """Records from `start()` to `stop()`. Until then the file lies in the logdir itself: whatever ends us, it is found there."""

    def __init__(self, targets: Sequence[Target], logdir: str, interval: float) -> None:
        self.path = Path(logdir) / f"power-{os.getpid()}-{threading.get_ident() % 10**6}.csv"
        self._recorder = RecorderProcess(
            [(one.url, one.options) for one in targets], path=str(self.path), interval=interval, stream=False
        )
        self.notes: list[str] = []
        self._recorder.on_event(lambda event: self.notes.append(event.text) if event.level != "info" else None)
        self._begun: Stamp | None = None

    def start(self) -> None:
        """Returns when the sources are open. Raises what is wrong with them."""
        self._recorder.start()

    def begin(self, name: str) -> None:
        """The profile begins now."""
        self._begun = self._recorder.mark(name, BEGIN)

    def end(self, name: str) -> None:
        """It has ended."""
        self._recorder.mark(name, END)

    def stop(self, folder: Path | None) -> str:
        """End it, and put the file into this folder. Where that cannot be, it stays where it is; "" when there is none."""
        summary = self._recorder.stop("the profile was taken")
        if summary is not None and not summary["rows"]:
            self.notes.append("No reading came from the power source.")
        if not self.path.exists():
            return ""
        if folder is None:
            return str(self.path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.rename(folder / NAME)
        except OSError as error:
            self.notes.append(unwritable(folder / NAME, error).message)
            return str(self.path)
        return str(folder / NAME)


def made(folder: str) -> None:
    """The logdir, before anything is waited for."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(Path(folder), error) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PowertuiError(f"{folder} cannot be written: permission denied.", hint="Choose another --logdir.")
