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
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.data.training import named_windows
from powertui.data.training.training import Training
from powertui.data.training.training_energy import TrainingEnergy, training_energy
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_window import TrainingWindow
from powertui.plain import plain
from powertui.report import frames, training_json, training_page
from powertui.report.answer import Answer
from powertui.report.energy_figures import json_energy, json_finding
from powertui.report.training_page import NO_POWER_HERE
from powertui.report.writers import as_frame


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
    def axis(self) -> TrainingOnAxis:
        """All of it on its own axis, as `powertui.data.training` describes it."""
        return self.training.seen_from()

    def tool(self, name: str, *, aligning: Aligning | None = None) -> Answer:
        """The answer of a tool that is about whole trainings (`end_to_end`), or that needs no
        profile: also of a training that nobody profiled.
        """
        question = Question(self.training.as_run(), aligning=aligning or self.training.aligning)
        return Answer(name, (("", registry.get(name).answer(question)),))

    @property
    def _energy(self) -> TrainingEnergy:
        return training_energy(self.axis)

    @property
    def zero_unix_s(self) -> float | None:
        """Unix time of the axis' zero; None where wall time is not known."""
        return self.axis.zero_ns / NS_PER_S if self.axis.wall else None

    @property
    def islands(self) -> pd.DataFrame:
        """One row for each host of each session: where it is, on what evidence, and its status.

        The status is whether its clock is believed.
        """
        return as_frame.typed(training_json.json_sessions(self.axis), _ISLANDS)

    @property
    def epochs(self) -> pd.DataFrame:
        """One row an epoch: bounds with ±, steps, joules with their interval, joules of a step."""
        return _windows(self._energy.epochs())

    @property
    def phases(self) -> pd.DataFrame:
        """What was no step: validation, pauses, starting, and the machine before and after."""
        return _windows(self._energy.phases())

    @property
    def hours(self) -> pd.DataFrame:
        """Hour by hour, where it is longer than one."""
        return _windows(self._energy.hours())

    @property
    def rate(self) -> pd.DataFrame:
        """One row a record: time, steps done by then, and steps a second until the next record.

        The last is missing where the steps do not go on.
        """
        rate = self.training.rate
        # No record follows the last one.
        per_s = [*rate.per_s.tolist(), float("nan")] if len(rate) else []
        times_s = self.axis.rate_at / PS_PER_S
        return as_frame.frame({"time_s": times_s, "step": rate.step, "steps_per_s": per_s})

    @property
    def scalars(self) -> pd.DataFrame:
        """What was logged: group ("train", "validation"), tag, step, wall_ns (Unix), value."""
        return frames.scalars(
            [series for log in self.training.logs.events for series in log.scalars]
        )

    @property
    def power(self) -> pd.DataFrame:
        """Every sample of every power log that has a place on the axis."""
        parts = []
        for channel in self.axis.power:
            sensor = channel.series.sensor
            columns = {
                "sensor": sensor.name,
                "host": sensor.host,
                "time_s": channel.times / PS_PER_S,
                "watts": channel.watts,
            }
            parts.append(as_frame.frame(columns))
        if not parts:
            return as_frame.typed([], _POWER)
        joined: pd.DataFrame = pd.concat(parts, ignore_index=True)
        return joined

    @property
    def findings(self) -> pd.DataFrame:
        """The findings where nothing was profiled, the largest energy first.

        `frame.attrs["notes"]` has what could have been found.
        """
        findings = self._energy.findings
        rows = [
            json_finding(finding) | {"delta_s": finding.delta_seconds}
            for finding in findings.findings
        ]
        frame = as_frame.typed(rows, _FINDINGS)
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
        """Joules of one window: by time, by epoch, by batches or by session.

        Times are seconds of the axis, or wall time like "19:52:50". Without a window: every epoch,
        every phase and all of it. Columns as in `epochs`.
        """
        if aligning is None:
            axis = self.axis
        else:
            axis = self.training.seen_from(None, aligning)
        request = named_windows.WindowRequest(
            start=_time(start),
            end=_time(end),
            epoch=epoch,
            batches=f"{batches[0]}-{batches[1]}" if batches is not None else None,
            session=session,
            tz=tz if tz is not None else self.training.options.tz,
        )
        if not request.anything:
            return _windows(training_page.windows(training_energy(axis)))
        return _windows([training_energy(axis).window(named_windows.find_window(axis, request))])

    def __repr__(self) -> str:
        return (
            f"<Training {plain(self.name)}: {len(self.sessions)} sessions, "
            f"{len(self.training.epochs)} epochs>"
        )


# The kind of each column, for `as_frame.typed`.
_ISLANDS = {
    "session": "text",
    "host": "text",
    "status": "text",
    "evidence": "text",
    "start_s": "number",
    "end_s": "number",
    "half_s": "number",
    "said_unix_s": "number",
}
_POWER = {"sensor": "text", "host": "text", "time_s": "number", "watts": "number"}
_WINDOWS = {
    "kind": "text",
    "name": "text",
    "epoch": "whole",
    "start_s": "number",
    "end_s": "number",
    "half_s": "number",
    "step_lo": "whole",
    "step_hi": "whole",
    "joules": "number",
    "lo": "number",
    "hi": "number",
    "mean_watts": "number",
    "coverage": "number",
    "badge": "text",
    "reason": "text",
    "joules_per_step": "number",
    "joules_per_step_lo": "number",
    "joules_per_step_hi": "number",
}
_FINDINGS = {
    "epoch": "whole",
    "step_lo": "whole",
    "step_hi": "whole",
    "step_half": "whole",
    "share_lo": "number",
    "share_hi": "number",
    "start_s": "number",
    "end_s": "number",
    "delta_watts": "number",
    "lo_watts": "number",
    "hi_watts": "number",
    "delta_joules": "number",
    "lo_joules": "number",
    "hi_joules": "number",
    "delta_s": "number",
    "p": "number",
    "badge": "text",
    "text": "text",
}


def _time(moment: str | float | None) -> str | None:
    """A moment as a person would type it."""
    if moment is None or isinstance(moment, str):
        return moment
    return f"{moment:.12f}s"


def _windows(windows: Sequence[TrainingWindow]) -> pd.DataFrame:
    return as_frame.typed([_window(window) for window in windows], _WINDOWS)


def _window(window: TrainingWindow) -> dict[str, Any]:
    row = json_energy(window.energy, NO_POWER_HERE)
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
