"""Steps held against the usual ones of their profile: the self time of each op here, and usually.

Usual is the median over a few steps of about the usual length, so that one stalled step is held
against steps and not against the mean of a run that holds the stall. Several steps are held against
as many usual ones.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from powertui.data import category
from powertui.data.model import Int64s, Steps, Trace
from powertui.data.quantiles import median_of_column
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import op_stats
from powertui.data.tools.name_classes import NameClass, name_class
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.replicas import without_replica
from powertui.named_tuples import NamedTuple

_REFERENCES = 9  # steps that tell what is usual

# An op that explains less of what a step took longer is not called its cause (chosen: of three ops
# with a third each any may be the largest by chance).
_MIN_CAUSE_SHARE = 0.2
# One that took longer by more than the whole step did ran beside it: the step did not wait for it.
# A tenth more is left to what is usual, which is not known better (chosen, not measured).
_MAX_CAUSE_SHARE = 1.1

# Calls of a runtime that return when a device has done what was asked of it before.
BLOCKING = re.compile(r"^(?:cuda|hip|cu)(?:Memcpy|Stream|Device|Event)\w*|Synchronize|Await$")

# A program is as long as the ops that run in it, which have names of their own.
_WAITING = frozenset((NameClass.WAIT, NameClass.WAITING_FRAME, NameClass.PROGRAM))

OpKey = tuple[str, str]  # an op's name and its device
_Times = dict[OpKey, int]
_Places = dict[OpKey, tuple[OpStats, int]]
_DIGITS = re.compile(r"\d+")
_CHECK_PERIOD = 4096  # ops: a few ms, after which a person who moved on is heard


class ComparedSteps(NamedTuple):
    """The self time of ops in these steps, and in as many usual ones."""

    length_ps: int
    usual_ps: int  # of as many steps of the median length
    usual_count: int  # how many steps the median is of
    reference_count: int
    here: _Times
    usual: _Times
    places: _Places  # where to look for the longest of each

    @property
    def difference_ps(self) -> int:
        """How much longer these steps took."""
        return self.length_ps - self.usual_ps

    def longer_ps(self, key: OpKey) -> int:
        """How much longer an op ran here than usual."""
        return self.here.get(key, 0) - self.usual.get(key, 0)

    def keys(self) -> list[OpKey]:
        """The ops that took longer here first."""
        # Of ops that differ alike those of this step come first, in its own order. A set would give
        # another order in each process.
        every = dict.fromkeys([*self.here, *self.usual])
        return sorted(every, key=lambda key: -self.longer_ps(key))

    def cause(self) -> OpKey | None:
        """The op that took most of the difference; None where no op took enough of it to be
        called the cause.
        """
        for key in self.keys():
            name, _device = key
            if _only_waits(name):
                continue
            share = 0.0
            if self.difference_ps > 0:
                share = self.longer_ps(key) / self.difference_ps
            if share > _MAX_CAUSE_SHARE:
                continue
            return key if share >= _MIN_CAUSE_SHARE else None
        return None


def _only_waits(name: str) -> bool:
    """Whether an op is long because of others."""
    if name in category.HAND_OVER or BLOCKING.search(name):
        return True
    return name_class(name) in _WAITING


class UsualSteps:
    """Asked about several steps of one profile: what its usual steps held is counted once."""

    def __init__(self, trace: Trace, steps: Steps) -> None:
        self._trace = trace
        self._steps = steps
        self._ends = steps.ends()
        # Ops are counted from a step's start to its end, so its length is that, too.
        self._lengths = steps.stretch_lengths()
        self._counted: dict[int, _Times] = {}

    def compared(self, rows: Int64s, check: CancelCheck = unhindered) -> ComparedSteps | None:
        """These steps against the others; None where there are no others. `check` may raise."""
        is_other = np.ones(len(self._steps), np.bool_)
        is_other[rows] = False
        others = np.flatnonzero(is_other)
        if not len(rows) or not len(others):
            return None
        # Steps of about the usual length do what a step usually does; outliers do not.
        middle = int(median_of_column(self._lengths[others]))
        distance = np.abs(self._lengths[others] - middle)
        closest_first = np.argsort(distance, kind="stable")
        references = others[closest_first[:_REFERENCES]].tolist()
        starts = self._steps.start[rows]
        lo = int(starts.min())
        hi = int(self._ends[rows].max())
        here, places = self._times(lo, hi, check)
        there = [self._reference(row, check) for row in references]
        families = _counted_names([here, *there])
        times_there: dict[OpKey, list[int]] = defaultdict(list)
        for times in there:
            for key, ps in _folded(times, families).items():
                times_there[key].append(ps)
        usual: _Times = {}
        for key, ran in times_there.items():
            # An op that a reference lacks ran for 0 there.
            lacking = len(references) - len(ran)
            absent = [0] * lacking
            usual_ps = round(median_of_column([*ran, *absent]))
            usual[key] = usual_ps * len(rows)
        places_of_families = {}
        for key, place in places.items():
            places_of_families[families.get(key, key)] = place
        return ComparedSteps(
            length_ps=int(self._lengths[rows].sum()),
            usual_ps=middle * len(rows),
            usual_count=len(others),
            reference_count=len(references),
            here=_folded(here, families),
            usual=usual,
            places=places_of_families,
        )

    def _reference(self, row: int, check: CancelCheck) -> _Times:
        """The self time of ops in one step."""
        times = self._counted.get(row)
        if times is None:
            times, _places = self._times(
                int(self._steps.start[row]),
                int(self._ends[row]),
                check,
            )
            self._counted[row] = times
        return times

    def _times(self, lo: int, hi: int, check: CancelCheck) -> tuple[_Times, _Places]:
        """Self time by name and device, and where to look for the longest of each; not the
        marks of the steps.
        """
        stats = op_stats.op_stats(self._trace, lo, hi, check)
        times: _Times = defaultdict(int)
        places: _Places = {}
        for row in range(len(stats)):
            if row % _CHECK_PERIOD == 0:
                check()
            # One replica may have run alone in one step, and several in another.
            display = stats.trace.names.display(int(stats.name[row]))
            name = without_replica(display)
            if self._steps.is_own_mark(name):
                continue
            key = (name, stats.device(row))
            times[key] += int(stats.self_time[row])
            places.setdefault(key, (stats, row))
        return times, places


def _counted_names(steps: Sequence[Mapping[OpKey, int]]) -> dict[OpKey, OpKey]:
    """The names that count: each is in one step alone, and only its numbers set it apart from a
    name in another step. Each with the name that stands for all of them.
    """
    step_counts = Counter(key for times in steps for key in times)
    steps_of_family: dict[OpKey, set[int]] = defaultdict(set)
    family_of: dict[OpKey, OpKey] = {}
    for step, times in enumerate(steps):
        for name, device in times:
            without_digits = _DIGITS.sub("#", name)
            is_in_one_step = step_counts[name, device] == 1
            if is_in_one_step and without_digits != name:
                family = (without_digits, device)
                family_of[name, device] = family
                steps_of_family[family].add(step)
    names = {}
    for key, family in family_of.items():
        if len(steps_of_family[family]) > 1:
            names[key] = family
    return names


def _folded(times: Mapping[OpKey, int], families: Mapping[OpKey, OpKey]) -> _Times:
    folded: _Times = defaultdict(int)
    for key, ps in times.items():
        folded[families.get(key, key)] += ps
    return folded
