"""Reading a run in a thread while the screens stay alive: progress, first parts, cancel, failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from powertui.data import logdir, watch
from powertui.data.asked import Reading
from powertui.data.loading import stream_run
from powertui.data.logdir import RunEntry
from powertui.data.model import Run
from powertui.errors import Cancelled, PowertuiError
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.energy.account import Account

TELL_EVERY_S = 0.2  # a person reads no faster, and each telling costs a few bytes on the line
PART_EVERY_S = 1.0  # indexing a part costs time that the rest of the reading needs


@dataclass(frozen=True)
class Progress:
    """How far reading has come."""

    done: int
    total: int
    events: int

    def __str__(self) -> str:
        share = f"{100 * self.done / self.total:.0f} % of " if self.total else ""
        return f"{share}{size(self.total or self.done)} · {self.events:,} events"


@dataclass(frozen=True, eq=False)
class Part:
    """A run as far as it was read, with the index of the trace that is looked at."""

    run: Run
    model: TimelineModel | None  # None: no timeline in it (yet)
    account: Account | None  # of the power, where there is some
    complete: bool
    changed: bool = False  # the files are others already


def size(count: int) -> str:
    """Bytes as a person reads them."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


class Loader:
    """One reading. The callbacks are called in the reading thread: hand over to the screen's own with `call_from_thread`."""

    def __init__(
        self,
        entry: RunEntry,
        options: Reading,
        *,
        on_progress: Callable[[Progress], None],
        on_part: Callable[[Part], None],
        on_failed: Callable[[Exception], None],
        place_power: Callable[[Run, int], Account | None],
        trace_index: int = 0,
        look_in: str = "",
    ) -> None:
        self.entry = entry
        self.again = bool(look_in)  # it was read before: what is shown stays until the whole run is there
        self._look_in = look_in
        self._options = options
        self._on_progress, self._on_part, self._on_failed = on_progress, on_part, on_failed
        self._place_power = place_power
        self._index = trace_index
        self._cancelled = threading.Event()
        self._told = self._parted = 0.0
        self._thread = threading.Thread(target=self._read, name="powertui-reading", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop soon. What was read stays with whoever has it."""
        self._cancelled.set()

    @property
    def running(self) -> bool:
        """Whether it still reads."""
        return self._thread.is_alive() and not self._cancelled.is_set()

    def _progress(self, done: int, total: int, events: int, /) -> None:
        if self._cancelled.is_set():
            raise Cancelled("reading was stopped")
        now = time.monotonic()
        if now - self._told >= TELL_EVERY_S:
            self._told = now
            self._on_progress(Progress(done, total, events))

    def _read(self) -> None:
        try:
            latest: Run | None = None
            if self._look_in:
                self.entry = logdir.again(self._look_in, self.entry)
            for run in stream_run(self.entry, options=self._options, progress=self._progress):
                latest = run
                now = time.monotonic()
                if not self.again and any(not trace.complete for trace in run.traces) and now - self._parted >= PART_EVERY_S:
                    self._give(run, complete=False)
                    self._parted = time.monotonic()
            if latest is not None:
                self._give(latest, complete=True)
        except Cancelled:
            pass
        except Exception as error:
            if not isinstance(error, PowertuiError):
                error.add_note(f"while reading {self.entry.path}") if hasattr(error, "add_note") else None
            self._on_failed(error)

    def _give(self, run: Run, *, complete: bool) -> None:
        model = None
        if run.traces:
            index = min(self._index, len(run.traces) - 1)
            model = TimelineModel.of(run, index, progress=self._stop_if_cancelled)
        found = self._place_power(run, min(self._index, max(0, len(run.traces) - 1))) if complete else None
        if not self._cancelled.is_set():
            self._on_part(Part(run, model, found, complete, complete and watch.changed(run)))

    def _stop_if_cancelled(self, _done: int, /) -> None:
        if self._cancelled.is_set():
            raise Cancelled("reading was stopped")
