"""Why a cell differs: the reasons that are known, each with what it explains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scripts.parity.comparison import Difference

UNKNOWN = "not known"
EMPTY = "empty"
# What the converter writes where it knows nothing, and the columns in which it does.
_WRITTEN_FOR_NOTHING = (0, "Unknown", "No")
_WITHOUT_A_VALUE = frozenset(
    {
        "device_total_self_time_percent",
        "host_total_self_time_percent",
        "gpu_tensorcore_utilization",
        "dma_stall_percent",
        "cmem_read_bw",
        "cmem_write_bw",
        "outside_compilation",
        "autotuned",
    }
)
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


@dataclass(frozen=True)
class Reason:
    """One known reason: its name in the table, what it is, and which cells it explains."""

    name: str
    text: str
    explains: Callable[[Difference], bool]


def _nothing_known(cell: Difference) -> bool:
    if cell.only or cell.ours is not None or cell.theirs not in _WRITTEN_FOR_NOTHING:
        return False
    if cell.table.name == "figures":  # the deviation of one step
        return str(cell.key[0]).endswith(("_sdv", "_standard_deviation"))
    is_idle_or_program = cell.table.tool == "op_profile" and cell.column == "occurrences"
    return is_idle_or_program or cell.column in _COSTS | _WITHOUT_A_VALUE


def _ops_of_hosts(cell: Difference) -> bool:
    return cell.table.id == "overview_page/top_ops" and cell.only == "ours"


def _idle_of_nothing(cell: Difference) -> bool:
    is_table = cell.table.tool == "framework_op_stats"
    return is_table and cell.only == "theirs" and cell.key == ("Host", "IDLE", "IDLE")


def _eager_elsewhere(cell: Difference) -> bool:
    is_range = cell.key[1:] == ("Range", "range")
    return is_range and cell.column == "eager" and cell.theirs == "Eager"


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
        EMPTY,
        "costs and other figures that the profile does not have, shares of devices in rows of the "
        "host, the deviation of a single step. powertui leaves the cell empty; the converter "
        "writes 0, “Unknown” or “No”",
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
        "one run of the op `range` belongs to an eager kernel of another thread; powertui looks "
        "for the eager kernel on the op's own thread",
        _eager_elsewhere,
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
