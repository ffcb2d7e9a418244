"""Stretches of a log that may lie at several places: looked for at each, told where they stand out at nearly all."""

from __future__ import annotations

from powertui.data.energy.findings.unexplained import _at_all as at_all
from powertui.data.energy.findings.unexplained import _moved as moved
from powertui.data.energy.findings.unexplained import _spread as spread
from powertui.data.energy.findings.unexplained import _unsure as unsure

__all__ = ["at_all", "moved", "spread", "unsure"]
