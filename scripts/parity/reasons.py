"""Why a cell differs: the reasons that are known, each with what it explains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scripts.parity.comparison import Difference

UNKNOWN = "not known"
# What the converter writes where the profile says nothing.
_WRITTEN_FOR_NOTHING = (0, "Unknown", "No", False)
# No GPU gives a thread more registers than this.
_MAX_REGISTERS = 65_535
_COSTS = frozenset(
    {
        "flopRate",
        "measured_flop_rate",
        "model_flop_rate",
        "normalized_flop_rate",
        "measured_memory_bw",
        "hbm_bw",
        "operational_intensity",
        "bound_by",
    }
)
_TENSOR_CORES = frozenset(
    {
        "tcEligibility",
        "tcUtilization",
        "gpu_tensorcore_utilization",
        "is_op_tensor_core_eligible",
        "is_kernel_using_tensor_core",
    }
)


@dataclass(frozen=True)
class Reason:
    """One known reason: its name in the table, what it is, and which cells it explains."""

    name: str
    text: str
    explains: Callable[[Difference], bool]


def _nothing_known(cell: Difference) -> bool:
    is_empty = cell.ours is None or cell.ours == ""
    return not cell.only and is_empty and cell.theirs in _WRITTEN_FOR_NOTHING


def _ops_of_hosts(cell: Difference) -> bool:
    return cell.table.id == "overview_page/top_ops" and cell.only == "ours"


def _idle_of_nothing(cell: Difference) -> bool:
    is_table = cell.table.tool == "framework_op_stats"
    return is_table and cell.only == "theirs" and cell.key == ("Host", "IDLE", "IDLE")


def _eager_elsewhere(cell: Difference) -> bool:
    return cell.column == "eager" and (cell.ours, cell.theirs) == ("Function", "Eager")


def _cost_analysis(cell: Difference) -> bool:
    return not cell.only and cell.column in _COSTS and cell.ours in (None, "Unknown")


def _matrix_cores(cell: Difference) -> bool:
    return not cell.only and cell.column in _TENSOR_CORES and not cell.ours


def _garbage(cell: Difference) -> bool:
    if cell.column != "registers_per_thread" or not isinstance(cell.theirs, (int, float)):
        return False
    return cell.theirs > _MAX_REGISTERS


def _runs_of_programs(cell: Difference) -> bool:
    is_count = cell.table.id == "op_profile/by_program" and cell.column == "occurrences"
    return is_count and cell.theirs == 0


def _hlo_text(cell: Difference) -> bool:
    if cell.only or not isinstance(cell.ours, str) or not isinstance(cell.theirs, str):
        return False
    if cell.column == "tf_op_name":
        return cell.ours == cell.theirs.removesuffix(":")
    # Up to the operands the texts are the same.
    start = cell.ours.partition("(%")[0]
    return cell.column == "hlo_op_expression" and cell.theirs.startswith(start)


REASONS = (
    Reason(
        "empty",
        "the profile does not say it. powertui leaves the cell empty; the converter writes 0, "
        "“Unknown” or “No”",
        _nothing_known,
    ),
    Reason(
        "ops of the host",
        "without a device powertui's overview lists the host's ops that took most time; the "
        "converter's table is of devices alone",
        _ops_of_hosts,
    ),
    Reason(
        "IDLE of 0",
        "the converter has a row for the idle time of a host without ops",
        _idle_of_nothing,
    ),
    Reason(
        "eager elsewhere",
        "the run of the op belongs to an eager kernel of another thread; powertui looks for the "
        "eager kernel on the op's own thread",
        _eager_elsewhere,
    ),
    Reason(
        "cost analysis",
        "the converter runs XLA's cost analysis on the program of a GPU; powertui shows rates "
        "where the profile has the costs",
        _cost_analysis,
    ),
    Reason(
        "matrix cores",
        "by which rule the converter takes kernels of AMD's libraries for kernels on matrix "
        "cores is not known; powertui says no",
        _matrix_cores,
    ),
    Reason(
        "garbage",
        "more registers than a thread can have: memory that the collector never wrote. powertui "
        "leaves it out",
        _garbage,
    ),
    Reason(
        "runs of a program",
        "powertui counts the runs of all ops of a program; the converter writes 0",
        _runs_of_programs,
    ),
    Reason(
        "text of the HLO",
        "the converter writes the shapes of operands and the name of the called computation into "
        "the text of an HLO op, and a colon after the framework's op",
        _hlo_text,
    ),
)


def reason_of(cell: Difference) -> str:
    """The name of the first reason that explains a cell; `UNKNOWN` where none does."""
    for reason in REASONS:
        if reason.explains(cell):
            return reason.name
    return UNKNOWN
