"""The energy that Slurm counts for a job: `sstat`, where the site accounts energy
(AcctGatherEnergyType). No root is needed.

Slurm renews its counters every 30 s or so and keeps one for each step: that of `extern` is of all
the job's nodes for as long as the job runs, that of `batch` of its first node, others are of the
nodes and the time of their `srun`. They overlap, so one is followed, and another one only when that
is gone. Watts are the mean since the value before; a value that has not moved yet is an old one,
and nothing new is said until it moves. How old the first value is, is not known: what it has moved
by when it first moves was drawn in an unknown time, so the counting begins there.

    slurm:           this job ($SLURM_JOB_ID, else the control group that we are in)
    slurm:12345      that one
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from powertui.errors import NotSupported, SensorError, UsageError
from powertui.sampler import programs
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.urls import Address

__all__ = ["EnergyNotCounted", "SlurmSource", "job_of", "joules_by_step", "leading_step", "make"]

_JOB = re.compile(r"\d{1,12}([_+.][A-Za-z0-9]{1,20})?")
_GROUP = re.compile(r"/job_(\d{1,12})(?:/|$)", re.MULTILINE)
# What Slurm writes for "not counted": the last two are its NO_VAL of 32 and of 64 bits.
_NOT_COUNTED = ("0", "", "4294967294", "18446744073709551614")
# A count below zero, as Slurm writes it: 22.05 gave 2⁶⁴ - 8,706 for a step of an array. Of joules
# that were counted a machine room draws a tenth of this in a hundred years.
_MAX_JOULES = 1 << 63
# Of a difference in the divisor: two looks are seconds apart, unless somebody reads by hand.
_MIN_ELAPSED_S = 1e-3
# A slurmd under load answers late, and sstat waits for all of the job's nodes.
_MIN_TIMEOUT_S = 5.0
_COUNTER_PERIOD_S = 30.0
_COUNT_BEGINS = "the counting begins here"


class EnergyNotCounted(NotSupported):
    """Slurm counts no energy for the job; its administrator can have it do so."""


def joules_by_step(text: str) -> dict[str, int]:
    """The energy of each step that has one, from `sstat -anP -o JobID,ConsumedEnergyRaw`."""
    rows = (line.split("|") for line in text.splitlines() if "|" in line)
    value_by_step = {row[0].strip().rpartition(".")[2]: row[1].strip() for row in rows}
    return {
        step: int(value)
        for step, value in value_by_step.items()
        if value.isdecimal() and value not in _NOT_COUNTED and int(value) < _MAX_JOULES
    }


def leading_step(steps: Mapping[str, int]) -> str:
    """The step that is followed: `extern`, which covers everything, else the one that has counted
    most.
    """
    if "extern" in steps:
        return "extern"
    return max(steps, key=lambda step: steps[step])


def job_of(cgroups: str) -> str:
    """The job that a process is in, by the path of its control group: …/job_4711/step_0/…"""
    match = _GROUP.search(cgroups)
    return match[1] if match else ""


class SlurmSource:
    min_period = 5.0  # each question is work for Slurm's daemons
    reconnects = 0

    def __init__(self, job: str, options: Options) -> None:
        self.name = "slurm"
        self._job, self._options = job, options
        self._path = ""
        self.channels: tuple[Channel, ...] = ()
        self._asker = programs.Asker()
        self._step = ""  # the one that is followed
        self._total = 0  # J of it since the start, and of those before it
        # (J, mono) of the value that is known; without a time it is older than we know.
        self._last: tuple[int, float | None] | None = None

    def open(self) -> Info:
        if not self._job:
            raise NotSupported("This is not a Slurm job.", hint="Name one: slurm:12345.")
        program = programs.find("sstat")
        if not program.path:
            raise NotSupported(
                program.refused or "There is no sstat here.",
                hint="Slurm's programs are on its nodes.",
            )
        self._path = program.path
        steps, why = self._ask()
        if not steps:
            if why:
                raise NotSupported(why, hint="Check that the job is running.")
            raise EnergyNotCounted(
                f"Slurm counts no energy for job {self._job}.",
                hint=(
                    "Ask the administrator to set AcctGatherEnergyType (ipmi, rapl, xcc or "
                    "pm_counters) in slurm.conf."
                ),
            )
        self._step = leading_step(steps)
        self._last = (steps[self._step], None)
        note = (
            f"energy that Slurm counts for its step {self._step}; watts are the mean since "
            "the last value"
        )
        self.channels = (
            Channel(
                name=f"job {self._job}",
                host="",
                scope="node",
                quantum_w=None,
                kind="interval",
                note=note,
                period_s=_COUNTER_PERIOD_S,
            ),
        )
        return Info(
            source="slurm",
            url=f"slurm:{self._job}",
            host="",
            channels=self.channels,
            facts={"job": self._job, "step": self._step},
        )

    def _ask(self) -> tuple[dict[str, int], str]:
        command = [self._path, "-a", "-n", "-P", "-j", self._job, "-o", "JobID,ConsumedEnergyRaw"]
        done = self._asker.run(
            command, programs.environment(os.environ), max(self._options.timeout, _MIN_TIMEOUT_S)
        )
        if done.code:
            message = " ".join((done.err or done.out).split())[:120]
            return {}, f"sstat failed ({message or f'exit code {done.code}'})."
        return joules_by_step(done.out), ""

    def read(self) -> list[Reading]:
        if self._last is None:
            raise SensorError("slurm: is not open.")
        stamp = Stamp.now()
        steps, why = self._ask()
        answered = stamp.middle()
        name = self.channels[0].name
        if not steps:
            return [answered.gap(self.name, name, why or "Slurm has no value right now")]
        before, counted_at = self._last
        if self._step not in steps:
            why = f"its step {self._step} ended"
            self._step = leading_step(steps)
        elif steps[self._step] < before:
            why = "the counter was set back"
        elif steps[self._step] == before:
            return []
        count = steps[self._step]
        self._last = (count, None if why else answered.mono)
        if why or counted_at is None:
            quality = none(why or _COUNT_BEGINS)
            return [answered.reading(self.name, name, None, quality, float(self._total))]
        self._total += count - before
        watts = (count - before) / max(answered.mono - counted_at, _MIN_ELAPSED_S)
        return [answered.reading(self.name, name, watts, OK, float(self._total))]

    def close(self) -> None:
        """Nothing is held between readings."""


def make(address: Address, options: Options) -> SlurmSource:
    job = address.path or os.environ.get("SLURM_JOB_ID", "")
    if not job:
        with contextlib.suppress(OSError):
            job = job_of((Path(options.root) / "proc/self/cgroup").read_text("utf-8", "replace"))
    if job and not _JOB.fullmatch(job):
        raise UsageError(
            f"{job[:40]!r} is not the number of a Slurm job.", hint="Write slurm:12345."
        )
    return SlurmSource(job, options)
