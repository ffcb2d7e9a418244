"""How far the clock of a power log is believed before a reading is looked at, by who wrote it.

A program on the profiled machine reads the same clock as the training. A BMC, a power distribution
unit or a script on another machine has a clock of its own, which is often not synchronized.

What shows that a log was written on the profiled machine, from the strongest evidence on:

    our recording   names the machine that wrote it, and stamps each reading by two clocks, of which
                    one is never set: that machine's clock was not set in between
    compared        a server read the machine's clock beside its own in that time
    GPU             the log names a GPU by a UUID that the profile shows, too
    host            a program that reads only its own machine names it

A host in a column of any other log says whose the watts are and not whose clock stamped them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from powertui.data.energy import hostnames, settings
from powertui.data.energy.robust_stats import ROOT_2PI
from powertui.data.model import Floats, PowerSeries
from powertui.data.power import times
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


@dataclass(frozen=True)
class ClockKind:
    """What is known beforehand of a kind of clock."""

    owner: str  # for a sentence: "the BMC"
    # The clock is believed to this where no reading confirms or contradicts it.
    believed_s: float
    # How likely it is beforehand that the clock is right to `believed_s`.
    right_share: float = 1.0
    # How many of the right ones were written late: a sampler that waits before it takes the time, a
    # writer with a buffer, an interval that is stamped at its end.
    late_share: float = 0.0

    @property
    def prompt_s(self) -> float:
        """What the clock is believed to where nothing was written late."""
        return _PROMPT_S if self.late_share else self.believed_s


# Two programs on one machine read one clock, but not at the same moment.
_PROMPT_S = settings.SAME_CLOCK_S
# The second figure of each kind is the share of such clocks that are right before any reading is
# looked at: chosen, not measured. In odds: 32, 999, 49, 19 and 4 to 1.

# One sigma. Chosen: loggers that write 0.1 to 0.5 s late are common.
_LATE_S = 0.3
# 0.5 s: 2.5 % on either side are later than that. It was 0.01 s, and 20 of 20 logs that were
# written 0.1 to 0.5 s late were outside of what was claimed.
SAME_MACHINE = ClockKind("the log", 0.5, 0.97, late_share=0.5)
# Our recorder reads the clock before and after it reads a sensor of its machine, and writes the
# middle. Both together take a few ms; 0.05 s is what an interpreter on a busy machine may lose in
# between. One kernel keeps one clock, so a log that is elsewhere is nearly ruled out. Late ones
# count all the same, where readings show it: without, a recording that was 0.5 s late was told as
# confirmed to 0.05 s.
RECORDED = ClockKind("the log", 0.05, 0.999, late_share=0.1)
# A training's own file with the times of its start and of the log's end.
MARKED = ClockKind("the marker", settings.SAME_CLOCK_S, settings.WHOLE_SHARE)
# A person said that the clock is right.
GIVEN = ClockKind("the log", settings.SAME_CLOCK_S)
# A server that read the clock of the profiled machine beside its own while the run ran. An exporter
# may answer with what it read before, so late ones count, too.
_COMPARED = replace(RECORDED, right_share=GIVEN.right_share)
# A clock that time servers set, or that a person set by hand.
FOREIGN = ClockKind("the log", settings.FOREIGN_CLOCK_S, settings.SURE_WEIGHT)
# The interval of a BMC's clock is minutes wide already (`times.BMC_SLACK`).
_CONTROLLER = ClockKind("the BMC", settings.FOREIGN_CLOCK_S, settings.LARGE_SHARE)

# On either side of a clock; BMCs that were minutes off have been seen.
_SEARCH_S = 600.0
# Once and three times: 2 and 1 of 2,256 and 2,160 sure answers were wrong, with this 1 of 2,189.
_NEARBY_OF_BELIEVED = 2.0


class ClockOffset(NamedTuple):
    """Where a clock puts the log's zero (s), with the ± of both clocks themselves."""

    lo_s: float
    hi_s: float
    kind: ClockKind

    @property
    def middle_s(self) -> float:
        return (self.lo_s + self.hi_s) / 2

    @property
    def believed(self) -> tuple[float, float]:
        """The interval that is claimed where no reading says anything."""
        return self.lo_s - self.kind.believed_s, self.hi_s + self.kind.believed_s

    @property
    def prompt(self) -> tuple[float, float]:
        """The same where nothing was written late."""
        return self.lo_s - self.kind.prompt_s, self.hi_s + self.kind.prompt_s

    @property
    def nearby(self) -> tuple[float, float]:
        """Where it may well be, though it is believed to be nearer."""
        by_s = _NEARBY_OF_BELIEVED * self.kind.believed_s
        return self.lo_s - by_s, self.hi_s + by_s

    @property
    def search_range(self) -> tuple[float, float]:
        return self.lo_s - _SEARCH_S, self.hi_s + _SEARCH_S

    def prior(self, offsets: Floats) -> Floats:
        """The density (1/s) of each offset beforehand."""
        outside_s = np.maximum(self.lo_s - offsets, offsets - self.hi_s)
        beside_s = np.maximum(outside_s, 0.0)
        # 95 % of an exponential is within three of its means.
        prompt = self._exponential(beside_s, self.kind.prompt_s / 3)
        late = self._normal(beside_s, _LATE_S)
        # How far off a clock is that is wrong: an exponential.
        wrong = self._exponential(beside_s, settings.WRONG_CLOCK_S)
        late_share = self.kind.late_share
        right = (1 - late_share) * prompt + late_share * late
        right_share = self.kind.right_share
        return np.asarray(right_share * right + (1 - right_share) * wrong)

    def _exponential(self, beside_s: Floats, mean_s: float) -> Floats:
        """A density that is level within the clock's interval and falls off on either side."""
        area_s = 2 * mean_s + (self.hi_s - self.lo_s)
        return np.asarray(np.exp(-beside_s / mean_s) / area_s)

    def _normal(self, beside_s: Floats, sigma_s: float) -> Floats:
        """The same that falls off as a normal distribution does."""
        area_s = ROOT_2PI * sigma_s + (self.hi_s - self.lo_s)
        return np.asarray(np.exp(-0.5 * (beside_s / sigma_s) ** 2) / area_s)


# Programs that read only the machine on which they run, by the first word of their log's dialect.
_LOCAL_PROGRAMS = frozenset(
    {
        "aiu",
        "amd",
        "codecarbon",
        "hwmon",
        "ibmpowernv",
        "likwid",
        "nvidia",
        "nvml",
        "perf",
        "powercap",
        "powermetrics",
        "rapl",
        "rocm",
        "tegrastats",
        "turbostat",
        "zeus",
    }
)


def clock_kind(series: PowerSeries, hosts: Iterable[str], gpu_ids: Collection[str]) -> ClockKind:
    """The kind of a log's clock.

    `hosts` are the machines of the training, and `gpu_ids` what its profiles call their GPUs, as
    far as known.
    """
    if "BMC" in series.clock.source or "BMC" in series.clock.detail:
        return _CONTROLLER
    if series.clock.source == times.COMPARED:
        return _COMPARED
    sensor = series.sensor
    if sensor.logged_on:
        if not _is_one_of(sensor.logged_on, hosts):
            return FOREIGN
        # An answer over a network takes up to a second, and may be of its begin or of its end.
        is_read_here = sensor.is_steadily_stamped and not sensor.asked_at
        return RECORDED if is_read_here else SAME_MACHINE
    program = sensor.source.replace("-", " ").split(" ", 1)[0].casefold()
    if program not in _LOCAL_PROGRAMS:
        return FOREIGN
    # An index, and an address on the PCI bus, may be those of any machine's GPU.
    uuid = sensor.device.uuid.casefold() if sensor.device is not None else ""
    is_shown = _is_one_of(sensor.host, hosts) or uuid in gpu_ids
    return SAME_MACHINE if is_shown else FOREIGN


def _is_one_of(name: str, hosts: Iterable[str]) -> bool:
    """Whether a name is one of these machines'. A name that any machine has shows nothing."""
    named = hostnames.parse(name, controller=False)
    if named is None:
        return False
    machines = [hostnames.parse(host, controller=False) for host in hosts]
    return any(machine is not None and hostnames.alike(named, machine) for machine in machines)
