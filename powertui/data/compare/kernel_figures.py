"""Operators and kernels of a PyTorch trace, by the rules of TraceLens.

Names of kernels differ between makers, and those of operators hardly do: of two runs of one model
on an H100 and an MI300, 20 of 21 operators have the same name and 12 of 80 kernels. So kernels are
compared by operator, and by name below it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from powertui.data.compare.figure import Family
from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.compare.step_blocks import (
    StepBlock,
    called_in_each,
    in_all_pieces,
    run_pieces,
    step_blocks,
)
from powertui.data.compare.values import ComparedValue, ValueKey, Values
from powertui.data.model import PS_PER_S
from powertui.data.table import Table
from powertui.data.tools import registry
from powertui.data.tools.registry import Question

LAUNCHES = "launches"  # the unit of counts
_NO_OPERATOR = "(no operator)"  # of kernels that were launched before the profile began


def kernel_values(part: ComparedPart) -> Values:
    """Totals of the window, of all hosts together; nothing for other traces."""
    sums = _sums(part, part.windows)
    if not sums:
        return {}
    steps = max(len(window.rows) for window in part.windows)
    totals = [_totals_of(part, block, steps) for block in step_blocks(part)]
    blocks = called_in_each(totals)
    pieces = run_pieces(part)
    course, piece_steps = in_all_pieces(
        pieces, [_totals_of(part, piece, steps) for piece in pieces]
    )
    values = {}
    for key, total in sums.items():
        values[key] = ComparedValue(
            value=total,
            blocks=blocks.get(key, ()),
            series=course.get(key),
            steps_per_value=piece_steps,
        )
    return values


def _totals_of(part: ComparedPart, block: StepBlock, steps: int) -> dict[ValueKey, float]:
    """What the totals would be, if all steps were as those of a block."""
    share = block.steps / steps
    totals = {}
    for key, total in _sums(part, block.windows).items():
        totals[key] = total / share
    return totals


def _sums(part: ComparedPart, windows: Iterable[HostWindow]) -> _Sums:
    sums: _Sums = defaultdict(float)
    for window in windows:
        if window.profile.trace.format != "kineto":
            continue
        _add_device_times(sums, _asked("gpu_timeline", part, window))
        _add_operators(sums, _asked("ops_summary", part, window))
        _add_kernels(sums, _asked("kernel_summary", part, window))
    return sums


_Sums = defaultdict[ValueKey, float]


def _asked(tool: str, part: ComparedPart, window: HostWindow) -> Table:
    question = Question(
        opened=part.opened,
        host=window.profile.index,
        lo=window.lo,
        hi=window.hi,
    )
    return registry.get(tool).answer(question)[tool]


def _add_device_times(sums: _Sums, table: Table) -> None:
    """How the devices spent their time."""
    for row in range(len(table)):
        name = table["type"].text(row)
        key = ValueKey(Family.DEVICE_TIME, name, "s")
        sums[key] += _seconds(table, "time ms", row)


def _add_operators(sums: _Sums, table: Table) -> None:
    """How often each operator launched work, and for how long that ran."""
    for row in range(len(table)):
        name = table["name"].text(row)
        seconds = _seconds(table, "total_direct_kernel_time_sum", row)
        count = int(table["Count"].values[row])
        time_key = ValueKey(Family.OPERATOR, name, "s")
        count_key = ValueKey(Family.OPERATOR, name, LAUNCHES)
        sums[time_key] += seconds
        sums[count_key] += count


def _add_kernels(sums: _Sums, table: Table) -> None:
    """Kernels by the operator that launched them, and by name below it."""
    for row in range(len(table)):
        name = table["Kernel name"].text(row)
        operator = table["Parent cpu_op"].text(row) or _NO_OPERATOR
        seconds = _seconds(table, "Kernel duration (µs)_sum", row)
        count = int(table["Kernel duration (µs)_count"].values[row])
        operator_key = ValueKey(Family.KERNEL, operator, "s")
        time_key = ValueKey(
            family=Family.KERNEL_NAME,
            name=name,
            unit="s",
            within=operator,
        )
        count_key = ValueKey(
            family=Family.KERNEL_NAME,
            name=name,
            unit=LAUNCHES,
            within=operator,
        )
        sums[operator_key] += seconds
        sums[time_key] += seconds
        sums[count_key] += count


def _seconds(table: Table, column: str, row: int) -> float:
    return float(table[column].values[row]) / PS_PER_S
