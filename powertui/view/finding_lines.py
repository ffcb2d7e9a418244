"""What stands below the conclusions of a run: how sure one is, what could not be looked at, and
the steps and ops that a conclusion about time is drawn from.
"""

from __future__ import annotations

from powertui import units
from powertui.data.conclusions.conclusion import Conclusion, Confidence
from powertui.data.conclusions.makers.computing import MIN_NAMED_OP_SHARE
from powertui.data.energy.findings.finding import Findings
from powertui.data.model import PS_PER_S, Badge
from powertui.data.table import Chart, Table
from powertui.plain import plain
from powertui.terminal import glyphs as glyph_sets
from powertui.view import top_ops
from powertui.view.step_bars import LinePieces, step_graph

_CONFIDENCE_WORDS = {
    Confidence.SURE: "sure",
    Confidence.LIKELY: "likely",
    Confidence.UNSURE: "not sure",
}
_MIN_DECIMALS = 2  # of seconds: as many as the axis of the timeline shows
# Rows of the graph (chosen by eye): in fewer steps look alike, more say nothing more.
_MIN_GRAPH_ROWS = 3
_MAX_GRAPH_ROWS = 12
_GRAPH_FRAME_ROWS = 3  # a blank line, the title, the legend
_MIN_OPS = 3
_MAX_OPS = 10
_OPS_FRAME_ROWS = 2  # a blank line, the title
_MAX_OPS_CELLS = 118  # beyond them a bar is too far from its name (chosen by eye)


def details(conclusion: Conclusion) -> str:
    """How sure, of what kind its watts are, where, and why it might be wrong."""
    parts = [_CONFIDENCE_WORDS[conclusion.confidence]]
    finding = conclusion.finding
    if conclusion.stretch is not None:
        parts.append(_stretch_words(*conclusion.stretch.span))
    if finding is not None and finding.lo_watts is not None and finding.hi_watts is not None:
        lo = units.difference(finding.lo_watts, "W")
        hi = units.difference(finding.hi_watts, "W")
        parts.append(f"95 %: {lo} … {hi}")
        if finding.badge is Badge.SIMULATED:
            parts.append("simulated watts")
    if conclusion.doubt:
        parts.append(plain(conclusion.doubt, 200))
    return " · ".join(parts)


def _stretch_words(start_ps: int, end_ps: int) -> str:
    """A stretch with the decimals that tell a hundredth of it: "15.77 … 18.29 s"."""
    hundredth = 10 * units.resolution(end_ps - start_ps)
    needed_decimals = units.decimals_for(hundredth, PS_PER_S)
    decimals = max(_MIN_DECIMALS, needed_decimals)
    begin = units.fixed(start_ps, PS_PER_S, decimals)
    end = units.fixed(end_ps, PS_PER_S, decimals)
    return f"{begin} … {end} s"


def notes(findings: Findings | None) -> list[str]:
    """What could have been found, and what was left out."""
    if findings is None:
        return []
    texts = [findings.could, *findings.notes]
    if findings.folded is None and findings.reason:
        texts.append(f"Epochs were not compared: {findings.reason}")
    return [text for text in texts if text]


def work_below(
    steps: Chart | None,
    ops: Table | None,
    width: int,
    rows: int,
    glyphs: str,
) -> list[LinePieces]:
    """The steps by kinds of work, and below them the top ops, in at most so many rows."""
    lines = [] if steps is None else _steps_below(steps, width, rows, glyphs)
    op_rows = min(_MAX_OPS, rows - len(lines) - _OPS_FRAME_ROWS)
    if op_rows >= _MIN_OPS and _has_large_op(ops):
        cells = min(width - 2, _MAX_OPS_CELLS)
        lines += top_ops.titled_lines(ops, cells, op_rows, glyph_sets.get(glyphs))
    return lines


def _has_large_op(ops: Table | None) -> bool:
    """Whether the first of the ops is worth looking at: bars of small ones all look alike."""
    if ops is None or not len(ops):
        return False
    share = ops["selfTimePercent"].value(0)
    return isinstance(share, float) and share >= MIN_NAMED_OP_SHARE


def _steps_below(
    chart: Chart,
    width: int,
    rows: int,
    glyphs: str,
) -> list[LinePieces]:
    """The steps by kinds of work in at most so many rows; nothing where they have no room."""
    graph_rows = min(_MAX_GRAPH_ROWS, rows - _GRAPH_FRAME_ROWS)
    if graph_rows < _MIN_GRAPH_ROWS:
        return []
    graph = step_graph(chart, width, graph_rows, glyphs)
    if not graph:
        return []
    several = len(chart.series[0].y) > 1
    title = "Time of each step" if several else "Time of the step"
    return [(), ((f" {title}", "title"), (" by kind of work", "dim")), *graph]
