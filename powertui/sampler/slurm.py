"""The energy that Slurm counts for a job: `sstat`, where the site accounts energy (AcctGatherEnergyType). No root is needed.

Slurm renews the counter every 30 s or so, on each node, and gives the sum over the job's nodes. Watts are the mean since the
value before; a value that has not moved yet is an old one, and nothing new is said until it moves.

    slurm:           this job ($SLURM_JOB_ID)
    slurm:12345      that one
"""

from __future__ import annotations

import os
import re

from powertui.errors import NotSupported, SensorError, UsageError
from powertui.sampler import programs
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.urls import Address

__all__ = ["SlurmSource", "joules_of", "make"]

_JOB = re.compile(r"\d{1,12}([_+.][A-Za-z0-9]{1,20})?")
_NONE = ("0", "", "4294967294", "18446744073709551614")  # what Slurm writes for "not counted"
_RENEWED_S = 30.0


def joules_of(text: str) -> int | None:
    """The job's energy from `sstat -anP -o JobID,ConsumedEnergyRaw`: the largest of its steps'. The batch step covers all."""
    values = [line.split("|")[1].strip() for line in text.splitlines() if line.count("|") >= 1]
    counted = [int(value) for value in values if value.isdecimal() and value not in _NONE]
    return max(counted) if counted else None


class SlurmSource:
    min_period = 5.0  # each question is work for Slurm's daemons
    reconnects = 0

    def __init__(self, job: str, options: Options) -> None:
        self.name = "slurm"
        self._job, self._options = job, options
        self._path = ""
        self.channels: tuple[Channel, ...] = ()
        self._first = 0
        self._last: tuple[int, float] | None = None  # (J, mono) of the value that is known

    def open(self) -> Info:
        if not self._job:
            raise NotSupported("This is not a Slurm job.", hint="Name one: slurm:12345.")
        program = programs.find("sstat")
        if not program.path:
            raise NotSupported(program.refused or "There is no sstat here.", hint="Slurm's programs are on its nodes.")
        self._path = program.path
        joules, why = self._ask()
        if joules is None:
            raise NotSupported(
                why or f"Slurm counts no energy for job {self._job}.",
                hint="Ask the administrator to set AcctGatherEnergyType (ipmi, rapl, xcc or pm_counters) in slurm.conf.",
            )
        self._first, self._last = joules, (joules, Stamp.now().mono)
        note = "energy of the job's nodes, counted by Slurm; watts are the mean since the last value"
        self.channels = (Channel(f"job {self._job}", "", "node", None, "interval", note, period_s=_RENEWED_S),)
        return Info("slurm", f"slurm:{self._job}", "", self.channels, {"job": self._job})

    def _ask(self) -> tuple[int | None, str]:
        command = [self._path, "-a", "-n", "-P", "-j", self._job, "-o", "JobID,ConsumedEnergyRaw"]
        done = programs.run(command, programs.environment(os.environ), max(self._options.timeout, 5.0))
        if done.code:
            said = " ".join((done.err or done.out).split())[:120]
            return None, f"sstat failed ({said or f'exit code {done.code}'})."
        return joules_of(done.out), ""

    def read(self) -> list[Reading]:
        if self._last is None:
            raise SensorError("slurm: is not open.")
        stamp = Stamp.now()
        joules, why = self._ask()
        t, mono, rtt = stamp.middle()
        name = self.channels[0].name
        if joules is None:
            return [Reading(t, mono, None, rtt, self.name, name, none(why or "Slurm has no value right now"))]
        before, then = self._last
        if joules == before:
            return []
        self._last = (joules, mono)
        if joules < before:
            self._first = joules
            return [Reading(t, mono, None, rtt, self.name, name, none("the counter was set back"), 0.0)]
        watts = (joules - before) / max(mono - then, 1e-3)
        return [Reading(t, mono, watts, rtt, self.name, name, OK, float(joules - self._first))]

    def close(self) -> None:
        """Nothing is held between readings."""


def make(address: Address, options: Options) -> SlurmSource:
    job = address.path or os.environ.get("SLURM_JOB_ID", "")
    if job and not _JOB.fullmatch(job):
        raise UsageError(f"{job[:40]!r} is not the number of a Slurm job.", hint="Write slurm:12345.")
    return SlurmSource(job, options)
