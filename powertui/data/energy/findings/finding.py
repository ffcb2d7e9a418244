"""What a finding is, and all that is told beside the findings of one trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, overload

from powertui import units
from powertui.data.model import PS_PER_S, Badge, Floats
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:  # a run without power has no epochs to fold, yet has this type
    from powertui.data.energy.findings.power_stretch import Box
    from powertui.data.energy.fold import Folded

# The witnesses: what a stretch is unlike.
UNEXPLAINED, EPOCHS, NEIGHBOURS = "unexplained", "epochs", "neighbors"
LIMIT = "limit"  # it is unlike nothing: a limit of power or a throttled device held it back

# Of the ops that ran longer in a stretch than so many ps: how long there, and in each of some other
# stretches, self time in ps.
Ops = Callable[
    [int, int, Sequence[tuple[int, int]], float], Mapping[str, tuple[int, Sequence[int]]]
]


class LongerOp(NamedTuple):
    """An op that ran longer in a stretch than it usually does in one like it."""

    name: str
    more_s: float
    usual_s: float
    here_s: float


@dataclass(frozen=True)
class Finding:
    """One stretch that drew power, or took time, that nothing beside it lets one expect."""

    kind: str  # "power" or "time"
    witnesses: tuple[str, ...]
    start_ps: int
    end_ps: int
    start_within: tuple[int, int]  # 95 % intervals, ps
    end_within: tuple[int, int]
    epoch: int | None  # the program's own number: of the epoch that holds most of it
    step_lo: int | None  # the program's own numbers, of that epoch, both included
    step_hi: int | None
    elsewhere: tuple[
        tuple[int | None, int, int], ...
    ]  # (epoch, start, end) of what it is held against
    delta_watts: float | None  # None without power
    lo_watts: float | None  # its 95 % interval
    hi_watts: float | None
    delta_joules: float | None
    lo_joules: float | None
    hi_joules: float | None
    delta_seconds: float | None  # what its steps took longer; None where no step lies in it
    p: float  # how often noise alone would show such a stretch anywhere
    badge: Badge
    explained: bool = False  # by ops that ran longer
    ops: tuple[LongerOp, ...] = ()
    text: str = ""
    step_half: int | None = (
        None  # ± of the steps, where they are told by records beside the profile
    )
    share: tuple[float, float] | None = (
        None  # of the epoch that it lies in, where that is all that tells
    )
    epochs: tuple[int, ...] = ()  # all that it lies in, where these are several
    # "from epoch 3, batch 121 ± 10, to epoch 4, batch 66 ± 10" where it reaches over an epoch's
    # end: `epoch` and the steps name only the longest part of it.
    crossing: str = ""
    # Whether the log begins, and whether it ends, inside it.
    cut: tuple[bool, bool] = (False, False)

    @property
    def span(self) -> tuple[int, int]:
        """From when to when, ps."""
        return self.start_ps, self.end_ps

    @property
    def sizes(self) -> tuple[str, ...]:
        """How many watts, for how long: the longest words first; () without power."""
        if self.delta_watts is None:
            return ()
        watts = units.difference(self.delta_watts, "W")
        length = units.duration(self.end_ps - self.start_ps, 2)
        return f"{watts} for {length}", watts

    @property
    def may_be_nothing(self) -> bool:
        """A dip whose watts may as well be none: a pause that a slow sensor showed late. Foreign
        load adds, so of a load such an interval only says that its place is open.
        """
        if self.delta_watts is None or self.lo_watts is None or self.hi_watts is None:
            return False
        return self.delta_watts < 0 <= self.hi_watts


class Unopened(Sequence[Finding]):
    """Findings that nobody may ask for: what ran longer there is looked up when they are read, not
    when they are counted.
    """

    def __init__(
        self,
        stretches: Sequence[Finding] = (),
        explain: Callable[[Finding], Finding] | None = None,
    ) -> None:
        self.stretches = tuple(
            stretches
        )  # without ops and sentence; those with a sentence are told already
        self._explain = explain

    def some(self, passes: Callable[[Finding], bool], *more: Finding) -> Unopened:
        """Those that pass, and others that are told already, still unopened."""
        return Unopened((*filter(passes, self.stretches), *more), self._explain)

    @cached_property
    def _opened(self) -> tuple[Finding, ...]:
        if self._explain is None:
            return self.stretches
        opened = []
        for finding in self.stretches:
            opened.append(finding if finding.text else self._explain(finding))
        return tuple(opened)

    def open(self) -> None:
        """Look it all up now."""
        _ = self._opened

    def __len__(self) -> int:
        return len(self.stretches)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._opened)

    @overload
    def __getitem__(self, row: int) -> Finding: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[Finding, ...]: ...

    def __getitem__(self, row: int | slice) -> Finding | tuple[Finding, ...]:
        return self._opened[row]


@dataclass(frozen=True)
class DetectionLimit:
    """A burst that would have been found nine times in ten: so many watts, from so many
    seconds on.
    """

    watts: float
    seconds: float


class Limits(NamedTuple):
    """For ever larger bursts the shortest that would be …"""

    findings: tuple[DetectionLimit, ...] = ()  # … a finding
    seen: tuple[DetectionLimit, ...] = ()  # … seen, if only as a smaller difference
    apart: tuple[tuple[float, float], ...] = ()  # stretches (s) of which nothing is promised


class Against(NamedTuple):
    """Every reading, and what it was held against. NaN where nothing is known."""

    lo: Floats  # its window, s on the trace
    hi: Floats
    watts: Floats
    expected: Floats


@dataclass(frozen=True, eq=False)
class Findings:
    """What stands out in one trace, what could have been found, and what was left out."""

    folded: Folded | None  # the epochs laid onto each other, where there are several
    findings: tuple[Finding, ...]  # those that matter, the largest energy first
    smaller: Unopened = field(default_factory=Unopened)  # real, but too small to matter
    limits: tuple[DetectionLimit, ...] = ()
    could: str = ""  # the same in a sentence, or why nothing could have been found
    notes: tuple[str, ...] = ()
    reason: str = ""  # why epochs could not be compared
    seen: tuple[
        DetectionLimit, ...
    ] = ()  # what would have been seen, if only as a smaller difference
    against: Against | None = None  # what unexplained power was looked for in
    apart: tuple[
        tuple[float, float], ...
    ] = ()  # stretches (s on the trace) of which the limits do not speak
    around: Against | None = None  # what the training around a profile was held against


def power_finding(
    box: Box,
    witness: str,
    badge: Badge,
    cut: tuple[bool, bool],
) -> Finding:
    """A stretch that drew more or less than expected.

    `cut`: whether the log begins, and whether it ends, inside it.
    """
    return Finding(
        kind="power",
        witnesses=(witness,),
        start_ps=round(box.start * PS_PER_S),
        end_ps=round(box.end * PS_PER_S),
        start_within=_in_ps(box.start_within),
        end_within=_in_ps(box.end_within),
        epoch=None,
        step_lo=None,
        step_hi=None,
        elsewhere=(),
        delta_watts=box.watts,
        lo_watts=box.lo_watts,
        hi_watts=box.hi_watts,
        delta_joules=box.joules,
        lo_joules=box.lo_joules,
        hi_joules=box.hi_joules,
        delta_seconds=None,
        p=box.p,
        badge=badge,
        cut=cut,
    )


def time_finding(
    start_ps: int,
    end_ps: int,
    witness: str,
    p: float,
    badge: Badge,
) -> Finding:
    """A stretch whose steps took longer, or that a limit held back: its bounds are known."""
    return Finding(
        kind="time",
        witnesses=(witness,),
        start_ps=start_ps,
        end_ps=end_ps,
        start_within=(start_ps, start_ps),
        end_within=(end_ps, end_ps),
        epoch=None,
        step_lo=None,
        step_hi=None,
        elsewhere=(),
        delta_watts=None,
        lo_watts=None,
        hi_watts=None,
        delta_joules=None,
        lo_joules=None,
        hi_joules=None,
        delta_seconds=None,
        p=p,
        badge=badge,
    )


def _in_ps(within: tuple[float, float]) -> tuple[int, int]:
    low_s, high_s = within
    return round(low_s * PS_PER_S), round(high_s * PS_PER_S)
