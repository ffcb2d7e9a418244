"""What makers of conclusions look at: one opened run, with what several of them need."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from powertui.data.asked import Aligning
from powertui.data.conclusions.conclusion import Cost
from powertui.data.energy import account
from powertui.data.model import PS_PER_S
from powertui.data.opened import Opened, Profile
from powertui.data.tools import hosts, shares, top_ops
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.framework import Framework, framework_of
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares
from powertui.data.tools.top_ops import Top
from powertui.data.tools.wall_time import wall_time
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class Inquiry:
    """What conclusions are asked about. What several makers need of it is worked out once."""

    question: Question  # the run, one host of it or all of them as one, and perhaps a window

    @classmethod
    def of_run(cls, opened: Opened, aligning: Aligning) -> Inquiry:
        """About all of a run."""
        is_several = len(opened.profiles) > 1
        return cls(Question(opened, aligning=aligning, together=is_several))

    @property
    def opened(self) -> Opened:
        """The run."""
        return self.question.opened

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """One per host that is asked about."""
        return tuple(profile for profile, _, _ in self.question.parts)

    @cached_property
    def profile(self) -> Profile:
        """The profile that stands for the run: the first whole one with steps."""
        with_steps = [profile for profile in self.profiles if len(profile.steps)]
        whole = [profile for profile in with_steps if not profile.trace.missing]
        return next(iter((*whole, *with_steps)), self.profiles[0])

    @cached_property
    def steps(self) -> Breakdown:
        """The steps by kinds of work; of several hosts, each as the slowest one took it."""
        return hosts.steps_in_window(self.question)

    @cached_property
    def shares(self) -> Shares | None:
        """What shares of the steps' time each kind of work takes; None without steps."""
        return shares.step_shares(self.steps)

    @cached_property
    def ops(self) -> Sequence[Top]:
        """The run's ops, those that took most time first."""
        tops = top_ops.top_ops(self.question.parts, self.question.compat)
        return top_ops.of_all_replicas(tops)

    @cached_property
    def framework(self) -> Framework:
        """What the program is written with."""
        return framework_of(self.profile.trace)

    @cached_property
    def length_ps(self) -> int:
        """How long the run was profiled, without the profiler's own start and stop.

        One length for all shares: those of steps, of what lies between them, and of findings.
        """
        if self.question.is_of_all_time:
            return max(1, wall_time(self.profile).length)
        return max(1, *(hi - lo for _, lo, hi in self.question.parts))

    @cached_property
    def joules(self) -> float | None:
        """What the run drew while it was profiled; None where that is not known."""
        if not self.opened.run.power:
            return None
        from powertui.data.energy import host_energy

        accounts = [
            account.energy_account(profile, self.question.aligning) for profile in self.profiles
        ]
        total = host_energy.of_accounts(accounts, idle=False).total
        return None if total is None else total.joules

    def cost_of_time(self, ps: float, *, step_share: float | None = None) -> Cost:
        """What so much of the run's time costs."""
        return Cost(seconds=ps / PS_PER_S, share=ps / self.length_ps, step_share=step_share)

    def cost(self, seconds: float | None, joules: float | None) -> Cost:
        """What time and energy cost, beside those of the run."""
        share = None if seconds is None else seconds * PS_PER_S / self.length_ps
        joules_share = None
        if joules is not None and self.joules:
            joules_share = joules / self.joules
        return Cost(seconds=seconds, share=share, joules=joules, joules_share=joules_share)
