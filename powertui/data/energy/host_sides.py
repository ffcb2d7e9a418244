"""The common steps of all hosts of a run side by side, in figures."""

from __future__ import annotations

import numpy as np

from powertui.data.asked import Compat
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.opened import Opened
from powertui.data.tools import breakdown, hosts
from powertui.data.tools.breakdown import CATEGORIES
from powertui.data.tools.hosts import CommonSteps
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class HostSides:
    """The common steps of all hosts in figures, each [steps × hosts], ps."""

    common: CommonSteps
    lengths: Int64s
    own: Int64s  # without collectives, in which whoever is early waits
    known: Bools  # whether it is known how long a host waited
    parts: Int64s  # [steps × hosts × categories]

    @property
    def excess(self) -> Floats:
        """By how much the slowest host of each step is over the median of the others, of those
        whose waits are known.
        """
        own_times = np.where(self.known, self.own, np.nan)
        in_order = np.sort(own_times, axis=1)  # NaN is last
        counts = self.known.sum(axis=1)
        excess = np.zeros(len(in_order))
        for count in np.unique(counts).tolist():
            rows = counts == count
            times = in_order[rows, :count]
            slowest = times[:, -1]
            others = times[:, : max(1, count - 1)]
            excess[rows] = slowest - np.median(others, axis=1)
        return excess

    @property
    def slowest(self) -> Int64s:
        """The slowest host of each step, of those whose waits are known."""
        own_times = np.where(self.known, self.own, -1)
        return np.asarray(own_times.argmax(axis=1), np.int64)

    @property
    def not_compared(self) -> list[str]:
        """Hosts whose waits are not known in most steps."""
        members = self.common.comparison().members.tolist()
        names = []
        for number, host in enumerate(self.common.hosts):
            if number not in members:
                names.append(host)
        return names

    def name(self, step: int) -> str:
        """The step as the chief names it."""
        chief = self.common.chief
        row = int(self.common.rows[chief][step])
        return self.common.steps[chief].names[row] or str(row)


def host_sides(opened: Opened, compat: Compat) -> HostSides | None:
    common = hosts.uncut_together(opened, compat) or _one_host(opened, compat)
    if common is None:
        return None
    parts = []
    for steps, rows in zip(common.steps, common.rows, strict=True):
        columns = [steps.category(id)[rows] for id, *_ in CATEGORIES]
        parts.append(np.stack(columns, axis=1))
    return HostSides(
        common=common,
        lengths=common.lengths(),
        own=common.lengths_without_collectives(),
        known=common.known_waits,
        parts=np.stack(parts, axis=1),
    )


def _one_host(opened: Opened, compat: Compat) -> CommonSteps | None:
    """The steps of the only host that has some; None where none has."""
    for profile in opened.profiles:
        steps = breakdown.uncut_breakdown(profile, compat)
        if len(steps):
            return CommonSteps(
                hosts=(profile.host,),
                steps=(steps,),
                rows=(np.arange(len(steps)),),
                chief=0,
                by="number",
            )
    return None


class StepDeviceWork(NamedTuple):
    """What a device of a host worked in a step."""

    host: str
    device: str
    ps: int


def device_work(
    question: Question,
    sides: HostSides,
    step: int,
) -> list[StepDeviceWork]:
    """Every device that is known to have worked in the step."""
    common = sides.common
    rows: list[StepDeviceWork] = []
    for profile in question.opened.profiles:
        if profile.host not in common.hosts:
            continue
        member = common.hosts.index(profile.host)
        row = int(common.rows[member][step])
        for part in profile.steps.on:
            places = np.flatnonzero(part.row == row)
            if part.kind != "device" or not len(places):
                continue
            work = int(part.work[places[0]])
            if work >= 0:
                rows.append(StepDeviceWork(profile.host, part.name, work))
    return rows
