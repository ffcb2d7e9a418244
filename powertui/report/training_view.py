"""A training in a notebook: what one program did, as DataFrames.

Asks `Training`, works nothing out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from powertui.data.asked import Aligning
from powertui.data.model import NS_PER_S, PS_PER_S
from powertui.data.training import named_windows
from powertui.data.training.training import Training
from powertui.data.training.training_energy import TrainingEnergy, TrainingWindow
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.plain import plain
from powertui.report import frames, training_json, training_page
from powertui.report.energy_figures import json_energy, json_finding
from powertui.report.training_page import NO_POWER_HERE


class TrainingView:
    """What one program did: sessions, scalars, epochs and power on one axis.

    Times in frames are seconds from its first moment.
    """

    def __init__(self, training: Training) -> None:
        self.training = training

    @property
    def name(self) -> str:
        """Its folder below the logdir."""
        return self.training.name

    @property
    def sessions(self) -> tuple[str, ...]:
        """The names of its profile sessions."""
        return tuple(run.name for run in self.training.entry.sessions)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why these sessions, scalars and power logs are one training."""
        return self.training.entry.reasons

    @cached_property
    def seen(self) -> TrainingOnAxis:
        """All of it on its own axis, as `powertui.data.training` describes it."""
        return self.training.seen_from()

    @property
    def _whole(self) -> TrainingEnergy:
        return self.seen.whole

    @property
    def zero_unix_s(self) -> float | None:
        """Unix time of the axis' zero; None where wall time is not known."""
        return self.seen.zero_ns / NS_PER_S if self.seen.wall else None

    @property
    def islands(self) -> pd.DataFrame:
        """One row for each host of each session: where it lies, on what evidence, and whether its
        clock is believed.
        """
        return _frame(training_json.json_sessions(self.seen), _ISLANDS)

    @property
    def epochs(self) -> pd.DataFrame:
        """One row an epoch: its bounds with their ±, its steps, joules with their interval, joules
        of a step.
        """
        return _windows(self._whole.epochs())

    @property
    def phases(self) -> pd.DataFrame:
        """What was no step: validation, pauses, starting, and the machine before and after."""
        return _windows(self._whole.phases())

    @property
    def hours(self) -> pd.DataFrame:
        """Hour by hour, where it is longer than one."""
        return _windows(self._whole.hours())

    @property
    def rate(self) -> pd.DataFrame:
        """One row a record: time, steps done by then, and steps a second until the next one
        (missing where they do not go on).
        """
        rate = self.training.rate
        per_s = [*rate.per_s.tolist(), float("nan")] if len(rate) else []
        frame: pd.DataFrame = pd.DataFrame(
            {"time_s": self.seen.rate_at / PS_PER_S, "step": rate.step, "steps_per_s": per_s}
        )
        return frame

    @property
    def scalars(self) -> pd.DataFrame:
        """What was logged: group ("train", "validation"), tag, step, wall_ns (Unix), value."""
        return frames.scalars(
            [series for log in self.training.logs.events for series in log.scalars]
        )

    @property
    def power(self) -> pd.DataFrame:
        """Every sample of every power log that lies on the axis: sensor, host, time_s, watts."""
        parts = [
            pd.DataFrame(
                {
                    "sensor": channel.series.sensor.name,
                    "host": channel.series.sensor.host,
                    "time_s": channel.times / PS_PER_S,
                    "watts": channel.watts,
                }
            )
            for channel in self.seen.power
        ]
        joined: pd.DataFrame = (
            pd.concat(parts, ignore_index=True)
            if parts
            else _frame([], ["sensor", "host", "time_s", "watts"])
        )
        return joined

    @property
    def findings(self) -> pd.DataFrame:
        """What stands out where nothing was profiled, the largest energy first;
        `frame.attrs["notes"]`: what could be found.
        """
        findings = self._whole.findings
        rows = [
            json_finding(finding) | {"delta_s": finding.delta_seconds}
            for finding in findings.findings
        ]
        frame = _frame(rows, _FINDINGS)
        notes = (findings.could, findings.reason, *findings.notes)
        frame.attrs["notes"] = [note for note in notes if note]
        return frame

    def energy(
        self,
        *,
        start: str | float | None = None,
        end: str | float | None = None,
        epoch: int | None = None,
        batches: tuple[int, int] | None = None,
        session: str | None = None,
        tz: str | None = None,
        aligning: Aligning | None = None,
    ) -> pd.DataFrame:
        """Joules of one window: by time (seconds of the axis, or wall time like "19:52:50"), by
        epoch, by batches, by session.

        Without a window every epoch, every phase and all of it. Columns as in `epochs`.
        """
        axis = self.seen if aligning is None else self.training.seen_from(None, aligning)
        asked = named_windows.WindowRequest(
            start=_time(start),
            end=_time(end),
            epoch=epoch,
            batches=f"{batches[0]}-{batches[1]}" if batches is not None else None,
            session=session,
            tz=tz if tz is not None else self.training.options.tz,
        )
        if not asked.anything:
            return _windows(training_page.windows(axis.whole))
        return _windows([axis.whole.window(named_windows.find_window(axis, asked))])

    def __repr__(self) -> str:
        return (
            f"<Training {plain(self.name)}: {len(self.sessions)} sessions, "
            f"{len(self.training.epochs)} epochs>"
        )


_ISLANDS = ["session", "host", "status", "evidence", "start_s", "end_s", "half_s", "said_unix_s"]
_WINDOWS = [
    "kind",
    "name",
    "epoch",
    "start_s",
    "end_s",
    "half_s",
    "step_lo",
    "step_hi",
    "joules",
    "lo",
    "hi",
    "mean_watts",
    "coverage",
    "badge",
    "reason",
    "joules_per_step",
    "joules_per_step_lo",
    "joules_per_step_hi",
]
_FINDINGS = [
    "epoch",
    "step_lo",
    "step_hi",
    "step_half",
    "share_lo",
    "share_hi",
    "start_s",
    "end_s",
    "delta_watts",
    "lo_watts",
    "hi_watts",
    "delta_joules",
    "lo_joules",
    "hi_joules",
    "delta_s",
    "p",
    "badge",
    "text",
]


def _time(asked: str | float | None) -> str | None:
    return asked if asked is None or isinstance(asked, str) else f"{asked:.12f}s"


def _windows(windows: Sequence[TrainingWindow]) -> pd.DataFrame:
    return _frame([_window(window) for window in windows], _WINDOWS)


def _window(window: TrainingWindow) -> dict[str, Any]:
    row = {"coverage": None} | json_energy(window.energy, NO_POWER_HERE)
    first_step, last_step = window.steps if window.steps is not None else (None, None)
    joules, lo, hi = window.joules_per_step or (None, None, None)
    return row | {
        "kind": window.kind,
        "name": window.name,
        "epoch": window.epoch,
        "start_s": window.start / PS_PER_S,
        "end_s": window.end / PS_PER_S,
        "half_s": window.half / PS_PER_S,
        "step_lo": first_step,
        "step_hi": last_step,
        "reason": row["reason"] or "",
        "joules_per_step": joules,
        "joules_per_step_lo": lo,
        "joules_per_step_hi": hi,
    }


def _frame(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Only these columns of the rows, in this order."""
    made: pd.DataFrame = pd.DataFrame(rows, columns=list(columns))
    return made
