"""What `powertui export --what perfetto` wrote, read back: clock, steps and epochs as they were,
not found anew.

The events are in the file like those of any Chrome trace; beside them are a process of steps and
epochs, and counters of power.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from powertui.data.formats.json_stats import as_text, clean
from powertui.data.formats.json_times import picoseconds
from powertui.data.model import UNKNOWN, Clock, Epoch, Epochs, Int64s, Phase, Steps
from powertui.named_tuples import NamedTuple

# The processes that powertui writes: of steps and epochs, and of counters, windows and marks.
PROCESSES = _TRAINING, _POWER = (1, 2)
_MAX_TIME_US = 9e12  # 104 days: in ps it fits an int64


class _TrainingEvent(NamedTuple):
    """One step, epoch or phase as it is written."""

    name: str
    ts_us: float
    duration_us: float
    args: dict[str, Any]

    def text(self, name: str) -> str:
        """One of its args as text."""
        return clean(as_text(self.args.get(name, "")))


class OwnExport:
    """The training in a trace that powertui wrote. `head` is `otherData.read_back`."""

    def __init__(self, head: dict[str, Any]) -> None:
        self._head = head
        self.host = clean(as_text(head.get("host", "")))
        self._steps: list[_TrainingEvent] = []
        self._epochs: list[_TrainingEvent] = []
        self._phases: list[_TrainingEvent] = []
        self._events_by_category = {
            "step": self._steps,
            "epoch": self._epochs,
            "phase": self._phases,
        }

    @classmethod
    def from_other_data(cls, data: Any) -> OwnExport | None:
        """From the member `otherData`; None when powertui did not write it."""
        if not isinstance(data, dict) or "powertui" not in data:
            return None
        head = data.get("read_back")
        if not isinstance(head, dict) or not isinstance(head.get("steps"), dict):
            return None
        return cls(head)

    def add(self, event: dict[str, Any]) -> bool:
        """Take an event of the training, leave out the names of windows; False for all others."""
        if event.get("pid") == _POWER:
            return event.get("ph") != "C" and event.get("name") != "process_name"
        if event.get("pid") != _TRAINING:
            return False
        events = self._events_by_category.get(str(event.get("cat")))
        args = event.get("args")
        if event.get("ph") == "X" and events is not None and isinstance(args, dict):
            events.append(
                _TrainingEvent(
                    name=clean(as_text(event.get("name", ""))),
                    ts_us=float(event["ts"]),
                    duration_us=float(event.get("dur") or 0.0),
                    args=args,
                )
            )
        return True

    @property
    def clock(self) -> Clock:
        """The clock, with its interval and evidence."""
        clock = self._head.get("clock")
        if not isinstance(clock, list) or len(clock) != 5:
            return Clock()
        lo_ns, hi_ns, source, detail, offset_s = clock
        if not isinstance(lo_ns, int) or not isinstance(hi_ns, int):
            return Clock()
        return Clock(
            lo_ns=lo_ns,
            hi_ns=hi_ns,
            source=clean(as_text(source)),
            detail=clean(as_text(detail)),
            utc_offset_s=offset_s if isinstance(offset_s, int) else None,
        )

    def training(self) -> tuple[Steps, Epochs]:
        """Steps and epochs."""
        events = sorted(self._epochs, key=lambda event: _integer(event.args, "number"))
        epochs = []
        for event, start, end in _with_times(events):
            scalars = [(clean(k), float(v)) for k, v in event.args.items() if isinstance(v, float)]
            epochs.append(
                Epoch(
                    number=_integer(event.args, "number"),
                    start=start,
                    end=end,
                    source=event.text("source"),
                    slack=max(0, _integer(event.args, "slack_ps")),
                    scalars=tuple(scalars),
                )
            )
        index_of = {epoch.number: index for index, epoch in enumerate(epochs)}
        source = clean(as_text(self._head.get("epochs", "")))
        return self._read_steps(index_of), Epochs(
            tuple(epochs), self._read_phases(index_of), source
        )

    def _read_phases(self, index_of: dict[int, int]) -> tuple[Phase, ...]:
        phases = []
        for event, start, end in _with_times(self._phases):
            epoch = index_of.get(_integer(event.args, "epoch"))
            phases.append(
                Phase(
                    name=event.name,
                    start=start,
                    end=end,
                    epoch=epoch,
                    source=event.text("source"),
                )
            )
        return tuple(phases)

    def _read_steps(self, index_of: dict[int, int]) -> Steps:
        events = sorted(self._steps, key=lambda event: event.ts_us)
        start, duration = _times(events)
        head = self._head["steps"]

        def column(name: str) -> Int64s:
            return np.array([_integer(event.args, name) for event in events], np.int64)

        def text(name: str) -> str:
            return clean(as_text(head.get(name, "")))

        epoch = [index_of.get(number, -1) for number in column("epoch").tolist()]
        step = column("step_ps")
        notes = head.get("notes")
        if not isinstance(notes, list):
            notes = []
        return Steps(
            number=column("number"),
            start=start,
            duration=duration,
            epoch=np.array(epoch, np.int32),
            names=[event.name for event in events],
            source=text("source"),
            asynchronous=head.get("asynchronous") is True,
            host=column("host_ps"),
            device=column("device_ps"),
            step=np.where(step >= 0, step, duration),
            until=column("until_ps"),
            device_by=text("device_by"),
            inferred=head.get("inferred") is True,
            confidence=text("confidence"),
            notes=tuple(clean(as_text(note)) for note in notes),
        )


def _times(events: Sequence[_TrainingEvent]) -> tuple[Int64s, Int64s]:
    """(start, duration) of each in ps. Raises `ValueError` for a time that cannot be."""
    ts_us = np.array([event.ts_us for event in events], np.float64)
    duration_us = np.array([event.duration_us for event in events], np.float64)
    for times in (ts_us, duration_us):
        # A time that is no number is not below any bound either.
        if not (np.abs(times) < _MAX_TIME_US).all():
            raise ValueError("a time that cannot be")
    return picoseconds(ts_us), picoseconds(duration_us)


def _with_times(events: Sequence[_TrainingEvent]) -> Iterator[tuple[_TrainingEvent, int, int]]:
    """(event, start, end) of each in ps."""
    start, duration = _times(events)
    return zip(events, start.tolist(), (start + duration).tolist(), strict=True)


def _integer(args: dict[str, Any], name: str) -> int:
    value = args.get(name)
    valid = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62
    return cast(int, value) if valid else UNKNOWN
