"""The steps of a run by kinds of work, and its ops, as its conclusions count them."""

from __future__ import annotations

from powertui.data.asked import Aligning
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.opened import Opened
from powertui.data.overview import overview_tables
from powertui.data.table import Chart, Table
from powertui.named_tuples import NamedTuple


class RunWork(NamedTuple):
    """What a run does, without its power."""

    steps: Chart | None  # the time of each; of several hosts, as the slowest took it
    ops: Table | None  # those that took most time


def run_work(opened: Opened, aligning: Aligning) -> RunWork:
    """Its steps and ops, where it was profiled."""
    if not opened.profiles:
        return RunWork(None, None)
    inquiry = Inquiry.of_run(opened, aligning)
    charts = overview_tables.charts(inquiry.steps)
    ops = overview_tables.ops(inquiry.ops, device=inquiry.steps.has_device)
    return RunWork(charts[0] if charts else None, ops)
