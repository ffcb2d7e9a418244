"""What `powertui export --what perfetto` wrote, read back: clock, steps and epochs as they were,
not found anew.

The events lie in the file like those of any Chrome trace; beside them stand a process of steps and
epochs, and counters of power.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from powertui.data.formats.json_stats import as_text, clean
from powertui.data.formats.json_times import picoseconds
from powertui.data.model import UNKNOWN, Clock, Epoch, Epochs, Int64s, Phase, Steps

PROCESSES = _TRAINING, _POWER = (
    1,
    2,
)  # that of steps and epochs, and that of counters, windows and marks


class OwnExport:
    """The training in a trace that powertui wrote. `head` is `otherData.read_back`."""

    def __init__(self, head: dict[str, Any]) -> None:
        self._head = head
        self.host = clean(as_text(head.get("host", "")))
        self._steps: list[tuple[str, float, float, dict[str, Any]]] = []
        self._epochs: list[tuple[str, float, float, dict[str, Any]]] = []
        self._phases: list[tuple[str, float, float, dict[str, Any]]] = []

    @classmethod
    def from_other_data(cls, data: Any) -> OwnExport | None:
        """From the member `otherData`; None when powertui did not write it."""
        head = data.get("read_back") if isinstance(data, dict) and "powertui" in data else None
        return cls(head) if isinstance(head, dict) and isinstance(head.get("steps"), dict) else None

    def add(self, event: dict[str, Any]) -> bool:
        """Take an event of the training, leave out the names of windows; False for all others."""
        if event.get("pid") == _POWER:
            return event.get("ph") != "C" and event.get("name") != "process_name"
        if event.get("pid") != _TRAINING:
            return False
        rows = {"step": self._steps, "epoch": self._epochs, "phase": self._phases}.get(
            str(event.get("cat"))
        )
        args = event.get("args")
        if event.get("ph") == "X" and rows is not None and isinstance(args, dict):
            rows.append(
                (
                    clean(as_text(event.get("name", ""))),
                    float(event["ts"]),
                    float(event.get("dur") or 0.0),
                    args,
                )
            )
        return True

    @property
    def clock(self) -> Clock:
        """The clock, with its interval and evidence."""
        clock = self._head.get("clock")
        if (
            not isinstance(clock, list)
            or len(clock) != 5
            or not all(isinstance(bound, int) for bound in clock[:2])
        ):
            return Clock()
        offset = clock[4] if isinstance(clock[4], int) else None
        return Clock(clock[0], clock[1], clean(as_text(clock[2])), clean(as_text(clock[3])), offset)

    def training(self) -> tuple[Steps, Epochs]:
        """Steps and epochs."""
        order = sorted(
            range(len(self._epochs)), key=lambda row: _integer(self._epochs[row][3], "number")
        )
        rows = [self._epochs[row] for row in order]
        start, duration = _times(rows)
        epochs = tuple(
            Epoch(
                _integer(args, "number"),
                lo,
                lo + length,
                clean(as_text(args.get("source", ""))),
                max(0, _integer(args, "slack_ps")),
                tuple((clean(k), float(v)) for k, v in args.items() if isinstance(v, float)),
            )
            for (_, _, _, args), lo, length in zip(
                rows, start.tolist(), duration.tolist(), strict=True
            )
        )
        place = {epoch.number: index for index, epoch in enumerate(epochs)}
        return self._marked(place), Epochs(
            epochs, self._told(place), clean(as_text(self._head.get("epochs", "")))
        )

    def _told(self, place: dict[int, int]) -> tuple[Phase, ...]:
        start, duration = _times(self._phases)
        return tuple(
            Phase(
                name,
                lo,
                lo + length,
                place.get(_integer(args, "epoch")),
                clean(as_text(args.get("source", ""))),
            )
            for (name, _, _, args), lo, length in zip(
                self._phases, start.tolist(), duration.tolist(), strict=True
            )
        )

    def _marked(self, place: dict[int, int]) -> Steps:
        rows = sorted(self._steps, key=lambda row: row[1])
        start, duration = _times(rows)
        head = self._head["steps"]

        def column(name: str) -> Int64s:
            return np.array([_integer(args, name) for _, _, _, args in rows], np.int64)

        def said(name: str) -> str:
            return clean(as_text(head.get(name, "")))

        notes = head.get("notes")
        return Steps(
            column("number"),
            start,
            duration,
            np.array([place.get(_integer(args, "epoch"), -1) for _, _, _, args in rows], np.int32),
            [name for name, _, _, _ in rows],
            said("source"),
            head.get("asynchronous") is True,
            host=column("host_ps"),
            device=column("device_ps"),
            step=np.where(column("step_ps") >= 0, column("step_ps"), duration),
            until=column("until_ps"),
            device_by=said("device_by"),
            inferred=head.get("inferred") is True,
            confidence=said("confidence"),
            notes=tuple(clean(as_text(note)) for note in notes) if isinstance(notes, list) else (),
        )


def _times(rows: list[tuple[str, float, float, dict[str, Any]]]) -> tuple[Int64s, Int64s]:
    ts, dur = (
        np.array([row[1] for row in rows], np.float64),
        np.array([row[2] for row in rows], np.float64),
    )
    if not (
        np.isfinite(ts).all()
        and np.isfinite(dur).all()
        and (np.abs(ts) < 9e12).all()
        and (np.abs(dur) < 9e12).all()
    ):
        raise ValueError("a time that cannot be")
    return picoseconds(ts), picoseconds(dur)


def _integer(args: dict[str, Any], name: str) -> int:
    value = args.get(name)
    valid = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62
    return cast(int, value) if valid else UNKNOWN
