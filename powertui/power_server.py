"""Power of a run that a server holds: what it is asked, what it answers, and how it is reached.

Readers of runs (`data/`) ask, and know no network; `sampler/` answers, and knows no run. Both know
what is here, with the standard library alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from powertui.named_tuples import NamedTuple

SCHEMES = ("prometheus",)  # of addresses that `--power` takes beside paths
# Labels that name the machine, before those of the exporter, which may run elsewhere.
HOST_LABELS = (
    "Hostname",
    "hostname",
    "nodename",
    "node_name",
    "node",
    "host",
    "exported_instance",
    "instance",
    "target",
)

# Labels that name whose work a machine does, as exporters write them, the surest first. `job`
# itself is Prometheus' own label for what it scrapes.
JOB_LABELS = (
    "hpc_job",  # NVIDIA's DCGM exporter
    "slurm_job_id",
    "slurm_jobid",
    "slurmjobid",
    "jobid",  # Omnistat
    "job_id",
)
POD_LABELS = ("pod", "exported_pod", "pod_name")
USER_LABELS = ("user", "username", "user_name", "hpc_user")


def is_server(path: str) -> bool:
    """Whether what `--power` names is a server, and no file."""
    return path.partition("://")[0].lower() in SCHEMES and "://" in path


class PowerQuestion(NamedTuple):
    """Which power is asked for: when (Unix s) and of which machines."""

    start_s: float
    end_s: float
    # As the run, and a person, call its machines; empty: all that the server has.
    hosts: frozenset[str] = frozenset()

    def joined(self, other: PowerQuestion) -> PowerQuestion:
        """What answers both questions."""
        if self.hosts and other.hosts:
            hosts = self.hosts | other.hosts
        else:
            hosts = frozenset()
        return PowerQuestion(min(self.start_s, other.start_s), max(self.end_s, other.end_s), hosts)


class ClockAhead(NamedTuple):
    """How far a machine's clock is ahead of the server's when one of its readings is taken: both
    were read by the server itself while the run ran.
    """

    low_s: float
    high_s: float  # with the time that a scrape took, at whose begin the server stamps it


class ServerSeries(NamedTuple):
    """One metric with one set of labels."""

    labels: Mapping[str, str]
    times_s: Sequence[float]  # Unix s, ascending, by the server's clock
    values: Sequence[float]  # watts, or joules of a counter; NaN where the server has no number
    # Each value is the mean since the one before: the server was asked for means.
    is_mean: bool = False
    clock: ClockAhead | None = None  # of its machine; None where nobody compared the two


class FetchedPower(NamedTuple):
    """The power of a run as a server has it."""

    series: tuple[ServerSeries, ...]
    start_s: float  # what was asked for, with what lies around the run
    end_s: float
    machine_count: int  # of the machines that the server has power of, how many there are
    spacing_s: float  # between two samples as the server scraped them
    step_s: float | None  # of means that were asked for instead; None: all samples came
    ahead_s: float  # the server's clock against ours; 0 where they agree as far as can be seen
    notes: tuple[str, ...] = ()

    def covers(self, question: PowerQuestion) -> bool:
        """Whether it holds what another question asks for, machines aside."""
        return self.start_s <= question.start_s and question.end_s <= self.end_s


class PowerServer(Protocol):
    """A server that can be asked for the power of a run."""

    def fetch(self, question: PowerQuestion) -> FetchedPower:
        """The power of a run. Raises PowertuiError in one sentence."""


class JobQuestion(NamedTuple):
    """A job, as labels name it."""

    labels: tuple[str, ...]  # one of which has this value
    value: str


class JobStretch(NamedTuple):
    """When a job ran on one machine, as the samples that carry its label show."""

    machine: str
    first_s: float  # Unix s, by the server's clock
    last_s: float
    spacing_s: float  # it began, and ended, up to so much before the first and after the last
    is_running: bool  # its last sample is as new as can be


class JobPower(NamedTuple):
    """Where and when a job ran, and the power that was drawn there then."""

    label: str  # which of them the server has
    carriers: tuple[str, ...]  # metrics that carry it
    # The power series carry it themselves: they are the job's and nothing else's.
    is_own: bool
    stretches: tuple[JobStretch, ...]
    other_jobs: int  # that were on the same machines in that time
    power: FetchedPower


class JobServer(Protocol):
    """A server that can be asked for the power of a job."""

    def fetch_job(self, question: JobQuestion) -> JobPower:
        """The power of a job. Raises PowertuiError in one sentence."""
