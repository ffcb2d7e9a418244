"""What a person may want to know of a recording: kept, handed to listeners, noted in the file."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable

from powertui.named_tuples import NamedTuple
from powertui.sampler.csv_format import NOTE, mark_row
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Stamp

__all__ = ["Event", "RecorderEvents"]

_MAX_KEPT_EVENTS = 1000  # of a recording that goes on for months


class Event(NamedTuple):
    """Something a person may want to know: connected, lost, reconnected, marked, disk full."""

    stamp: Stamp
    level: str  # "info", "warning", "error"
    source: str  # "" when it concerns the recording as a whole
    text: str


class RecorderEvents:
    """The last events of a recording. Any thread may report one."""

    def __init__(self, file: RecordingFile | None) -> None:
        self.events: deque[Event] = deque(maxlen=_MAX_KEPT_EVENTS)
        self.listeners: list[Callable[[Event], None]] = []
        self.file = file  # of the recording; it may be opened after the sources

    def report(
        self,
        level: str,
        source: str,
        text: str,
        *,
        note: bool = False,
        stamp: Stamp | None = None,
    ) -> None:
        """Keep an event and call the listeners; with `note`, the recording shows it too."""
        event = Event(stamp or Stamp.now(), level, source, text)
        self.events.append(event)
        if note and self.file is not None:
            self.file.write(mark_row(NOTE, event.stamp, text, source))
        for listener in list(self.listeners):
            with contextlib.suppress(Exception):
                listener(event)
