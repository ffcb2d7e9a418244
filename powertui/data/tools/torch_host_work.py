"""Operators of a PyTorch trace without work on a device: on the CPU they compute themselves.

An operator whose cost is known by its shapes counts with all its time, whatever it calls inside;
of operators that call each other (`aten::convolution`, `aten::mkldnn_convolution`) the innermost
with a known cost is meant. All others count with the time that no other of these rows has.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int64s
from powertui.data.tools import torch_costs
from powertui.data.tools.registry import Question
from powertui.data.tools.torch_categories import category_of
from powertui.data.tools.torch_links import HostCalls, Links
from powertui.data.window import touches
from powertui.value_types import dataclass

# TraceLens's tables are of work on devices: it has no category for these.
_CATEGORIES = {
    "aten::_convolution": "CONV_fwd",
    "aten::mkldnn_convolution": "CONV_fwd",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "SDPA_fwd",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "SDPA_bwd",
}


@dataclass(frozen=True, eq=False)
class HostWork:
    """Operators that computed on the host, one row for each time that one ran."""

    at: Int64s  # into HostCalls
    time: Int64s  # ps
    has_rule: Bools  # whether its shapes say what it costs


def host_work(links: Links, question: Question) -> HostWork:
    """The operators that touch the window, none where devices did the work."""
    host = links.host
    if len(links.device) or not len(host):
        none = np.empty(0, np.int64)
        return HostWork(none, none, none.astype(np.bool_))
    start, duration = _times(links)
    is_costed = _is_innermost_with_rule(links)
    is_inside = host.operator_above(host.parent, ~is_costed) >= 0
    is_counted = host.operator & ~is_inside
    # The time of a row is not that of the row around it, too.
    rows = np.flatnonzero(is_counted)
    around = host.operator_above(host.parent[rows], ~is_counted)
    time = duration.copy()
    has_row_around = around >= 0
    np.subtract.at(time, around[has_row_around], duration[rows[has_row_around]])
    lo, hi = question.window
    end = start[rows] + duration[rows]
    shown = rows[touches(start[rows], end, lo, hi)]
    return HostWork(
        at=shown,
        time=np.maximum(time[shown], 0),
        has_rule=is_costed[shown],
    )


def category(name: str) -> str:
    """What kind of operator this is, in TraceLens's words."""
    return _CATEGORIES.get(name) or category_of(name, "")


def _times(links: Links) -> tuple[Int64s, Int64s]:
    """(start, duration) of each operator and call, ps."""
    host = links.host
    start = np.zeros(len(host), np.int64)
    duration = np.zeros(len(host), np.int64)
    tracks = [track for _, track in links.trace.tracks()]
    for line in wire.distinct(host.line).tolist():
        is_on_line = host.line == line
        events = tracks[line].events
        rows = host.row[is_on_line]
        start[is_on_line] = events.start[rows]
        duration[is_on_line] = events.duration[rows]
    return start, duration


def _is_innermost_with_rule(links: Links) -> Bools:
    host = links.host
    names = links.trace.names
    name_has_rule = np.zeros(len(names), np.bool_)
    for index in wire.distinct(host.name).tolist():
        name_has_rule[index] = torch_costs.has_rule(names.full(index))
    has_rule = host.operator & name_has_rule[host.name]
    return has_rule & ~_has_below(host, has_rule)


def _has_below(host: HostCalls, wanted: Bools) -> Bools:
    """Which operators and calls have a wanted one somewhere inside."""
    has_below = np.zeros(len(host), np.bool_)
    above = host.parent[wanted]
    while len(above):
        # What is marked has marked what is around it.
        above = wire.distinct(above[above >= 0])
        above = above[~has_below[above]]
        has_below[above] = True
        above = host.parent[above]
    return has_below
