"""What a dialect says of a table beyond the names of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from powertui.data.power import titles
from powertui.value_types import dataclass


@dataclass(frozen=True)
class TableForm:
    """How a table is to be read; the defaults are those of a table of which nothing is known."""

    label: str = "csv"  # the dialect's name
    named: bool = True  # the file itself names its columns
    counter: bool = False  # its joules are counters, even where they do not look like it
    wrap_j: float | None = None  # where these counters start again
    day_first: bool = False  # of dates that could be read either way
    above: titles.Titles = titles.NO_TITLES  # what the lines above the table say
    # Labels of the columns that a Prometheus selector names: `power_watts{gpu="0"}`.
    labels: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
