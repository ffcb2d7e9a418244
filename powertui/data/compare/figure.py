"""One figure of both sides: the difference, its interval, and what may be said of it."""

from __future__ import annotations

from enum import Enum

from powertui.value_types import dataclass


class FigureVerdict(str, Enum):
    """What may be said of a difference. The values are in the JSON: they stay."""

    DIFFERS = "differs"
    WITHIN_NOISE = "within noise"
    CANNOT_TELL = "cannot tell"


class Basis(str, Enum):
    """What an interval is made of. The values are in the JSON: they stay."""

    RUN_TO_RUN = "run to run"  # how much runs of one side differ from each other
    WITHIN_RUN = "within-run only"  # how much one run drifts; says nothing of a second run
    NONE = "none"  # nothing shows how much the figure varies


class Family(str, Enum):
    """Figures that are judged together, because each is one more chance to be wrong."""

    TIME = "time"
    ENERGY = "energy"
    CATEGORY = "steps by category"
    PHASE = "phases"
    RANK = "hosts and ranks"
    DEVICE_TIME = "time of the devices"
    OP = "ops"
    OPERATOR = "operators by their kernels"
    KERNEL = "kernels by operator"
    KERNEL_NAME = "kernels"
    MEMORY = "memory"


# By unit: below half a nanosecond and a microjoule a value is the rounding of the files.
LEAST_MEASURED = {"s": 0.5e-9, "J": 1e-6}


@dataclass(frozen=True)
class FigureSamples:
    """One figure of one side, in its unit."""

    runs: tuple[float, ...]  # one value for each run that has the figure
    blocks: tuple[float, ...] = ()  # of a single run: the means of consecutive blocks of steps
    places: tuple[float, ...] = ()  # of the runs among all of both sides, by their starts

    @property
    def mean(self) -> float:
        """Of the runs."""
        return sum(self.runs) / len(self.runs)


@dataclass(frozen=True)
class Judgement:
    """The interval of a difference, and what may be said of it."""

    verdict: FigureVerdict
    basis: Basis
    lo: float | None = None
    hi: float | None = None
    p: float | None = None  # how often chance alone gives as much; only from run to run
    why: str = ""  # what decided, as a fragment
    needs: str = ""  # which recording would tell; empty where the verdict is clear
    runs_needed: int | None = None  # a side, where they would tell
    run_sigma: float | None = None  # by which runs of one side differ
    most_runs: int = 0  # that a side has

    is_drift_decisive: bool = False  # whether only a drift from run to run keeps it from differing
    sides: tuple[FigureSamples, FigureSamples] | None = None  # the runs that decided

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval holds differences of one sign alone."""
        if self.lo is None or self.hi is None:
            return False
        return self.lo > 0 or self.hi < 0


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of both sides. A side that lacks it has None."""

    family: Family
    name: str
    unit: str
    a: float | None
    b: float | None
    judgement: Judgement
    within: str = ""  # of a kernel its operator; of an op "device" or "host"
    name_b: str = ""  # what B calls an op that has another name there

    @property
    def difference(self) -> float | None:
        """B less A."""
        if self.a is None or self.b is None:
            return None
        return self.b - self.a

    @property
    def ratio(self) -> float | None:
        """B as a multiple of A; None where A is nothing but the rounding of the files."""
        least = LEAST_MEASURED.get(self.unit, 0.0)
        if self.a is None or self.b is None or abs(self.a) <= least:
            return None
        return self.b / self.a

    @property
    def is_nothing(self) -> bool:
        """Whether both sides have none of it, but for the rounding of the files."""
        least = LEAST_MEASURED.get(self.unit, 0.0)
        return all(value is not None and abs(value) <= least for value in (self.a, self.b))

    @property
    def verdict(self) -> FigureVerdict:
        return self.judgement.verdict
