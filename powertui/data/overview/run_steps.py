"""The steps of a run by kinds of work, as its conclusions count them."""

from __future__ import annotations

from powertui.data.asked import Aligning
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.opened import Opened
from powertui.data.overview import overview_tables
from powertui.data.table import Chart


def step_time_chart(opened: Opened, aligning: Aligning) -> Chart | None:
    """The time of each step; of several hosts, as the slowest took it. None without steps."""
    if not opened.profiles:
        return None
    charts = overview_tables.charts(Inquiry.of_run(opened, aligning).steps)
    return charts[0] if charts else None
