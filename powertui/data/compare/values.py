"""Figures by name, as each part of the measuring hands them over."""

from __future__ import annotations

from powertui.data.compare import drift
from powertui.data.compare.figure import Family
from powertui.data.model import Floats, Int64s
from powertui.named_tuples import NamedTuple

# Of these a run that lacks the name spent no time in it; of others it did not measure it.
ZERO_WHERE_MISSING = (
    Family.OP,
    Family.OPERATOR,
    Family.KERNEL,
    Family.KERNEL_NAME,
    Family.CATEGORY,
)


class ValueKey(NamedTuple):
    """Which figure: the same on both sides where names match."""

    family: Family
    name: str
    unit: str
    within: str = ""  # of a kernel its operator; of an op "device" or "host"


class OpIdentity(NamedTuple):
    """Where an op stands in its program, whatever its name."""

    path: str  # "jit(step)/jvp(layer1)/dot_general"; of several programs or calls, all of them
    shape: str  # of its value; of a PyTorch op the shapes of its inputs
    is_numbered: bool  # whether a compiler named it, so that its number says nothing

    @property
    def end_of_path(self) -> str:
        """What the op does: "dot_general"."""
        return self.path.rpartition("/")[2]


class ComparedValue(NamedTuple):
    """The figure of one run, and what shows how it varies within the run."""

    value: float
    blocks: tuple[float, ...] = ()  # its means over blocks of the compared steps
    series: Floats | None = None  # its value at every step of the run, compared or not
    identity: OpIdentity | None = None  # of an op
    steps_per_value: float = 1.0  # of the series
    own_name: str = ""  # of an op, where another run's name for it is used


Values = dict[ValueKey, ComparedValue]


def mean_of_steps(series: Floats, compared: Int64s) -> ComparedValue:
    """The mean of a figure that every step has, over the compared steps."""
    values = series[compared]
    mean = float(values.mean())
    blocks = tuple(drift.block_means(values).tolist())
    return ComparedValue(mean, blocks, series)
