"""A run in a notebook: what it contains and what the tools answer, as DataFrames."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pandas as pd

from powertui.data.asked import Aligning, Compat, ResultSource
from powertui.data.conclusions.conclusion_table import conclusion_table
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account, host_energy, owner_notes, tables
from powertui.data.model import Epochs, Run, Steps, Warn
from powertui.data.opened import Opened, Profile
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.data.training.training import Training
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.report import frames
from powertui.report.answer import Answer
from powertui.report.frames import EventFilter, Match, TimeUnit
from powertui.report.training_view import TrainingView
from powertui.report.writers import as_frame
from powertui.trace_view import TraceView, window_ps

__all__ = ["RunView"]


class RunView:
    """One run.

    Reading it happens at the first question that needs it. Frames have the host as their first
    column.
    """

    def __init__(self, opened: Opened, unit: TimeUnit = "s") -> None:
        self.opened = opened
        self.unit = unit

    @property
    def name(self) -> str:
        """The run's name, as TensorBoard shows it."""
        return self.opened.name

    @property
    def path(self) -> str:
        """The run's folder or file."""
        return self.opened.path

    @property
    def hosts(self) -> tuple[str, ...]:
        """Its hosts, by the names of their files."""
        return self.opened.entry.hosts

    @property
    def run(self) -> Run:
        """The run itself, as `powertui.data.model` describes it."""
        return self.opened.run

    @cached_property
    def training(self) -> TrainingView | None:
        """The training that this run is a session of; None where there is none."""
        training = self.opened.around
        return TrainingView(training) if isinstance(training, Training) else None

    @cached_property
    def traces(self) -> tuple[TraceView, ...]:
        """One per host."""
        return tuple(TraceView(profile, self.unit) for profile in self.opened.profiles)

    @property
    def warnings(self) -> tuple[Warn, ...]:
        """What could not be read or believed, of the run, its traces and its power logs."""
        return self.opened.warnings

    # ── what was recorded ────────────────────────────────────────────────────────────────────────

    @property
    def steps(self) -> pd.DataFrame:
        """One row per step.

        Columns: number (the program's own), name, epoch (its number), start_s, duration_s,
        start_to_start_s, and the three times of a step: `host_s` is its dispatch, `device_s` its
        work on devices, `step_s` what TensorFlow's rule calls its time.
        """
        return self._of_hosts(
            [(trace.host, trace.steps) for trace in self.traces],
            lambda: frames.steps(Steps.none(), Epochs(), self.unit),
        )

    @property
    def epochs(self) -> pd.DataFrame:
        """One row per epoch: number, start_s, end_s, slack_s, source, and a column per scalar."""
        return self._of_hosts(
            [(trace.host, trace.epochs) for trace in self.traces],
            lambda: frames.epochs(Epochs(), self.unit),
        )

    @property
    def tracks(self) -> pd.DataFrame:
        """One row per line of the profiles: process, track, kind, derived, events, lanes.

        `derived` is true for lines that the profiler drew from other lines.
        """
        return self._of_hosts(
            [(trace.host, trace.tracks) for trace in self.traces], lambda: frames.tracks([])
        )

    @property
    def scalars(self) -> pd.DataFrame:
        """What the training logged: group ("train", …), tag, step, wall_ns (Unix), value."""
        return frames.scalars(self.run.scalars)

    @property
    def power(self) -> pd.DataFrame:
        """Every sample of every power log: sensor, host, scope, time_ns, watts.

        `time_ns` counts from the log's own zero.
        """
        return frames.power(self.run.power)

    def events(
        self,
        *,
        host: str | None = None,
        process: Match = None,
        track: Match = None,
        name: Match = None,
        exact: str | None = None,
        start: float | None = None,
        end: float | None = None,
        stats: Sequence[str] = (),
        unit: TimeUnit | None = None,
    ) -> pd.DataFrame:
        """One row per event: process, track, lane, name, full_name, start_s and duration_s.

        `name` is a part of the name, short or full; `exact` is the complete name. `process` and
        `track` are complete names. Each but `exact` may also be a compiled pattern (searched in the
        name) or a function. `start` and `end` select events that touch that window. Each of `stats`
        becomes a column: integers stay integers (Int64), missing values are missing. With
        `unit="ps"`: start_ps and duration_ps, and `start` and `end` in whole picoseconds, too.
        """
        time_unit = unit or self.unit
        lo, hi = window_ps(start, end, time_unit)
        events = EventFilter(process=process, track=track, name=name, exact=exact, lo=lo, hi=hi)
        answers = [
            (profile.host, frames.events(profile.trace, events, stats, time_unit))
            for profile in self._profiles(host)
        ]
        return self._of_hosts(answers, lambda: frames.events(None, events, stats, time_unit))

    # ── answers ──────────────────────────────────────────────────────────────────────────────────

    def ops(
        self,
        *,
        host: str | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> pd.DataFrame:
        """What ran in a window, by name: count, total, self and average time (s), share.

        As `run.tool("op_stats").frame`.
        """
        return self.tool("op_stats", host=host, start=start, end=end).frame

    def energy(
        self,
        *,
        host: str | None = None,
        epoch: int | None = None,
        start: float | None = None,
        end: float | None = None,
        aligning: Aligning | None = None,
    ) -> pd.DataFrame:
        """Joules of every epoch and of the whole profile, of one epoch, or from `start` to `end`.

        Columns: window ("epoch 0", "whole", "window"), epoch, start_s, end_s, joules, lo and hi (95
        % interval), mean_watts, coverage (share of the time with readings), badge ("measured",
        "estimated", "assumed", "simulated"), reason (why there are no joules). `aligning` is where
        the power is on the profile, where its own clock is not to be believed.
        """
        owner_notes.check([self.run], self.opened.options.power_hosts)
        window = start is not None or end is not None
        if window and epoch is not None:
            raise UsageError(
                "An epoch and a window cannot be asked for at once.",
                hint="Leave out epoch=, or start= and end=.",
            )
        profiles = self._profiles(host)
        answers = []
        for profile in profiles:
            bounds = self._question(profile, start, end).window if window else None
            table = tables.energies(profile, aligning, window=bounds, epoch=epoch)
            answers.append((profile.host, as_frame.of_table(table)))
        if epoch is not None and not any(len(answer) for _, answer in answers):
            raise _no_epoch(epoch, profiles)
        return self._of_hosts(answers, lambda: as_frame.of_table(tables.NO_ENERGIES))

    @property
    def host_energy(self) -> pd.DataFrame:
        """Joules of each host over its whole profile; the last row is all of them together.

        Columns as in `energy`. Several profiles of one machine count once. Power that belongs to no
        host of the run is in none of them.
        """
        owner_notes.check([self.run], self.opened.options.power_hosts)
        energies = host_energy.run_energy(self.opened)
        return as_frame.of_table(host_energy.table(self.opened, energies))

    @property
    def windows(self) -> pd.DataFrame:
        """Joules of the windows of a recording.

        Such a window is `power.window("epoch 0")` of `powertui.record()`, or a command that was
        recorded. Columns as in `energy`; log_start_s and log_end_s count from the log's own zero,
        `log` is its file.
        """
        return as_frame.of_table(tables.windows(self.opened))

    @property
    def findings(self) -> pd.DataFrame:
        """The findings, the largest energy first.

        From start_s to end_s (steps step_lo to step_hi of `epoch`, where it has any) delta_watts
        more were drawn than `witness` lets expect (95 %: lo_watts to hi_watts), which comes to
        delta_joules, and the steps took delta_s longer; `p` is how often chance alone would show as
        much anywhere; `text` is the finding in a sentence. `frame.attrs["notes"]` has what could
        have been found, why there is no row, and what was left out.
        """
        answers, notes = [], []
        for profile in self.opened.profiles:
            findings = account.findings(profile)
            table = tables.findings(findings, profile)
            answers.append((profile.host, as_frame.of_table(table)))
            if not len(table):
                notes.append(table.empty)
            notes += [findings.could, findings.reason, *findings.notes]
        frame = self._of_hosts(answers, lambda: as_frame.of_table(tables.NO_FINDINGS))
        frame.attrs["notes"] = list(dict.fromkeys(filter(None, notes)))
        return frame

    @property
    def conclusions(self) -> pd.DataFrame:
        """What to conclude from the run, the most important first: a row for each.

        Columns: kind, sentence, share (of the run's time), seconds and joules (what it costs),
        start_s and end_s (where in the profile of `host`), confidence ("sure", "likely",
        "unsure"), evidence (the tool that shows it), next (what to do), doubt (why it may be
        wrong). `frame.attrs["looked_at"]` has what was looked at.
        """
        conclusions = run_conclusions(self.opened)
        frame = as_frame.of_table(conclusion_table(self.opened, conclusions))
        frame.attrs["looked_at"] = conclusions.looked_at
        return frame

    def tool(
        self,
        name: str,
        *,
        host: str | None = None,
        start: float | None = None,
        end: float | None = None,
        aligning: Aligning | None = None,
        compat: Compat = "corrected",
        match: str = "",
        choice: str = "",
        results: ResultSource = "ours",
    ) -> Answer:
        """The answer of a tool of `powertui report --tool`.

        It is about every host or one, about the whole profile or a window. `host="all"` asks for
        all hosts as one answer, of the tools that combine them. Tools that compare the hosts of a
        run have one answer for all of them.

        `aligning` is where the power is on the profile, for the tools that report power; `compat`
        by whose rules TensorBoard's tools are computed ("corrected", "tf2", "xprof"); `match` is a
        regular expression for names, where a tool asks for it; `choice` is which program or op, of
        tools that can be asked about several. `results` is whose: "ours",
        "recorded" (what the profiler stored beside the profile), or "differences" between both.
        """
        tool = registry.get(name)
        lo, hi = window_ps(start, end, self.unit)
        question = Question(
            self.opened,
            0,
            lo,
            hi,
            aligning=aligning or Aligning(),
            compat=compat,
            match=match,
            choice=choice,
            results=results,
        )
        if host in (None, "all") and len(self.opened.profiles) > 1:
            if tool.of_run:
                return Answer(name, (("all hosts", tool.answer(_checked(question))),))
            if host == "all":
                result = tool.answer(replace(question, together=True))
                return Answer(name, (("all hosts", result),))
        profiles = self._profiles(None if host == "all" else host)
        if not profiles:  # some tools need none, and the answer of the others is why they do
            return Answer(name, (("", tool.answer(question)),))
        # Every question is checked before the first is answered.
        questions = [_checked(replace(question, host=profile.index)) for profile in profiles]
        answers = map(tool.answer, questions)
        hosts = [profile.host for profile in profiles]
        return Answer(name, tuple(zip(hosts, answers, strict=True)))

    # ── which hosts ──────────────────────────────────────────────────────────────────────────────

    def _profiles(self, host: str | None) -> tuple[Profile, ...]:
        """All, or those of one host."""
        profiles = self.opened.profiles
        if host is None:
            return tuple(profiles)
        chosen = tuple(profile for profile in profiles if profile.host == host)
        if not chosen:
            names = ", ".join(plain(name, 80) for name in self.hosts)
            raise UsageError(
                f"There is no host {plain(str(host), 80)!r}.", hint=f"There are: {names or 'none'}."
            )
        return chosen

    def _question(self, profile: Profile, start: float | None, end: float | None) -> Question:
        return _checked(Question(self.opened, profile.index, *window_ps(start, end, self.unit)))

    def _of_hosts(
        self,
        answers: Sequence[tuple[str, pd.DataFrame]],
        empty: Callable[[], pd.DataFrame],
    ) -> pd.DataFrame:
        """One below the other; for a run without a profile, no row of the same columns."""
        return as_frame.of_hosts(answers or [("", empty())])

    def plot(
        self,
        *,
        host: str | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Any:
        """Draw power, findings, steps and epochs of one host, by default of the first.

        The answer is a `matplotlib.figure.Figure`: a notebook shows it, and
        `.savefig("run.png")` writes it. Raises `UsageError` where matplotlib is not installed, or
        where the run has no profile.
        """
        from powertui.report import run_plot

        profiles = self._profiles(host)
        if not profiles:
            raise UsageError(
                "This run has no profile to draw.", hint="run.power has the readings of its logs."
            )
        question = self._question(profiles[0], start, end)
        return run_plot.run_figure(profiles[0], *question.window)

    def html(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the run as one page to send, as `powertui report --html` does.

        Raises `UsageError` where the file is there, unless `force` replaces it.
        """
        from powertui.html import report_file
        from powertui.html.html_file import HtmlFile

        output = HtmlFile(os.fspath(path), force)
        output.check()
        output.save(report_file.opened_page(self.opened))

    def __repr__(self) -> str:
        hosts = plain(", ".join(self.hosts)) or "no host"
        return f"<Run {plain(self.name)}: {hosts}, {self.opened.entry.size:,} bytes of profiles>"


def _checked(question: Question) -> Question:
    """The question, where it is about any part of the profile; else `UsageError`."""
    if question.window[0] > question.window[1]:
        raise UsageError(
            "This window is outside the profile.",
            hint="start and end count from the profile's zero.",
        )
    return question


def _no_epoch(number: int, profiles: Sequence[Profile]) -> UsageError:
    """That no profile has an epoch of this number, and which numbers there are."""
    numbers = sorted({epoch.number for profile in profiles for epoch in profile.epochs})
    hint = "This run has no epochs."
    if numbers:
        hint = f"There are: {', '.join(map(str, numbers))}."
    return UsageError(f"No epoch {number} is in this profile.", hint=hint)
