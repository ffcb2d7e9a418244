"""The top of the overview as lines: the conclusions, the steps' graph, joules.

The most important lines come first: a small window loses the last ones. No line loses its figure:
it goes on below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from powertui import units
from powertui.data.model import PS_PER_S, Badge
from powertui.data.table import Chart, Fact, Result, shown
from powertui.plain import plain
from powertui.view import stacked_bars

# (text, role of the theme); the role "category:NAME" is the ink of a category.
LinePieces = tuple[tuple[str, str], ...]

# The colour of each category of a step, by the chart's labels.
_INKS = {
    "Device compute": "matmul",
    "Device to device": "memory",
    "Device collective communication": "communication",
    "Host compute": "host",
    "Kernel launch": "runtime",
    "Input": "input",
    "Output": "optimizer",
    "Compilation": "compile",
    "All others": "idle",
}
_LETTERS = {
    "Device compute": "C",
    "Device to device": "D",
    "Device collective communication": "X",
    "Host compute": "H",
    "Kernel launch": "L",
    "Input": "I",
    "Output": "O",
    "Compilation": "J",
    "All others": ".",
}
_INDENT = "  "
# The conclusions of a run among its facts, beside "limit"; they stand in their order.
_CONCLUSIONS = ("finding_", "straggler_", "conclusion_")
# Of more epochs only the joules of the first and the last are shown: the table has them all.
_MAX_EPOCHS = 4


def lines(result: Result, width: int, height: int, *, glyphs: str = "unicode") -> list[LinePieces]:
    """At most `height` lines of at most `width` cells."""
    facts = {fact.id: fact for fact in result.facts}
    below = [*_steps(facts, width), *_joules(facts, width), *_machine(facts, width)]
    # Where there is no room, first what could have been found goes, then what to do.
    for with_next, with_limit in ((True, True), (True, False), (False, True), (False, False)):
        out = _conclusions(result, width, with_next=with_next, with_limit=with_limit)
        if len(out) + len(below) <= height:
            break
    chart = next((chart for chart in result.charts if chart.id == "step_time"), None)
    room = height - len(out) - len(below) - 2
    if chart is not None and room >= 3:
        out += [(("", "text"),), *step_graph(chart, width, min(8, room - 1), glyphs)]
    out += below
    return out[:height]


def _conclusions(
    result: Result, width: int, *, with_next: bool, with_limit: bool
) -> list[LinePieces]:
    """What to conclude from the run, in its order.

    `with_next`: also what to do. `with_limit`: also what could have been found.
    """
    out: list[LinePieces] = []
    for fact in result.facts:
        if fact.id != "limit" and not fact.id.startswith(_CONCLUSIONS):
            continue
        is_doubtful = fact.badge is not None and fact.badge is not Badge.MEASURED
        quality = f"  {fact.badge.value}" if fact.badge is not None and is_doubtful else ""
        out += _wrapped(plain(str(fact.value)), width, "text" if out else "title", quality)
        if with_next and fact.why:
            out += _wrapped(f"{_INDENT}To do: {plain(fact.why)}", width, "dim")
    could = next((fact for fact in result.facts if fact.id == "could_find"), None)
    if with_limit and could is not None:
        out += _wrapped(plain(sentence(str(could.value))), width, "dim")
    return out


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _wrapped(text: str, width: int, role: str, suffix: str = "") -> list[LinePieces]:
    room = max(20, width - 2 - len(suffix))
    rows = textwrap.wrap(text, room, subsequent_indent=_INDENT) or [""]
    lines: list[LinePieces] = [((f" {row}", role),) for row in rows]
    if suffix:
        lines[-1] = (*lines[-1], (suffix, "dim"))
    return lines


def _joined(label: str, parts: Iterable[str], width: int) -> list[LinePieces]:
    """A label and its parts, with dots between, on as many lines as it takes."""
    parts = [part for part in parts if part]
    if not parts:
        return []
    rows: list[str] = []
    for part in parts:
        if rows and len(rows[-1]) + 3 + len(part) <= width - 12:
            rows[-1] += f" · {part}"
        else:
            rows.append(part)
    labels = [label] + [""] * (len(rows) - 1)
    return [
        ((f" {label:<9} ", "dim"), (row, "text")) for label, row in zip(labels, rows, strict=True)
    ]


def _steps(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    if "step_time_s" not in facts:
        return []
    mean = facts["step_time_s"].text()
    deviation = facts["step_time_deviation_s"]
    if deviation.value is not None:
        mean = f"{mean} ± {deviation.text()}"
    if facts["steps"].value == 1:
        parts = ["1 step", mean]
    else:
        count = facts["steps"].text()
        median = facts["step_time_usual_s"].text()
        shortest = facts["step_time_min_s"].text()
        longest = facts["step_time_max_s"].text()
        parts = [f"{count} steps", f"usual {median}", f"mean {mean}", f"{shortest} to {longest}"]
    for id, words in (("step_work_s", "with its work"), ("run_step_time_s", "of all hosts")):
        if id in facts:
            parts.append(f"{facts[id].text()} {words}")
    return _joined("step time", parts, width)


def _joules(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    """Joules of the epochs and their difference first, then of the run, its steps and samples."""
    difference = facts.get("epoch_difference_joules")
    epochs = [fact for id, fact in facts.items() if id.startswith("epoch_")]
    epochs = [fact for fact in epochs if fact is not difference]
    if len(epochs) > _MAX_EPOCHS:
        epochs = [epochs[0], epochs[-1]]
    figures = [f"{fact.label} {with_interval(fact)}" for fact in epochs]
    if difference is not None:
        sign = "+" if float(difference.value or 0) > 0 else ""
        figures.append(f"{difference.label} {sign}{difference.text()}")
    if "energy" in facts:
        of_what = facts["energy"].label.removeprefix("energy ")
        figures.append(f"{of_what} {with_interval(facts['energy'])}")
    for id, words in (("step_joules", "a step"), ("sample_joules", "a sample")):
        if id in facts:
            figures.append(f"{words} {with_interval(facts[id])}")
    return _joined("energy", figures, width)


def with_interval(fact: Fact) -> str:
    """A figure with the half width of its interval: "2.622 kJ ±14 J"."""
    if fact.value is None or isinstance(fact.value, str) or fact.lo is None or fact.hi is None:
        return fact.text()
    half = max(float(fact.hi) - float(fact.value), float(fact.value) - float(fact.lo))
    return f"{shown(fact.value, fact.kind, fact.unit)} ±{units.quantity(half, fact.unit, 2)}"


def _machine(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    parts = []
    if "hosts" in facts:
        count = int(facts["hosts"].value or 0)
        parts.append(f"{count} host{'s' if count != 1 else ''}")
    for id, words in (
        ("devices", "{}"),
        ("batch_size", "batch {}"),
        ("software", "{}"),
        ("command_line", "{}"),
        ("device_compute_16bit_share", "{} of compute in 16 bit"),
    ):
        if id in facts:
            parts.append(words.format(plain(facts[id].text())))
    return _joined("run", parts, width)


# ── the graph ────────────────────────────────────────────────────────────────────────────────────


def step_graph(chart: Chart, width: int, height: int, glyphs: str) -> list[LinePieces]:
    """The steps as stacked bars, with their axis and a legend below."""
    letters = ""
    if glyphs == "ascii":
        letters = "".join(_LETTERS.get(series.label, "?") for series in chart.series)
    eighths = glyphs == "unicode"
    if chart.series and len(chart.series[0].y) == 1:
        return _one_step(chart, width - 12, letters)
    bars = stacked_bars.draw(chart, width - 12, height, letters=letters, eighths=eighths)
    if not bars.rows:
        return []
    labels = [""] * len(bars.rows)
    labels[-1] = "0"
    labels[0] = units.duration(round(bars.top * PS_PER_S))
    rule = "|" if letters else "┤"
    lines: list[LinePieces] = []
    for label, row in zip(labels, bars.rows, strict=True):
        pieces = [(piece.text, _ink(chart, piece.part)) for piece in row]
        lines.append(((f"{label:>9} {rule}", "axis"), *pieces))
    legend = _legend(chart, letters)
    notes = []
    if bars.each > 1:
        notes.append(f"each column is the longest of {bars.each} steps")
    if bars.cut:
        notes.append(f"{bars.cut} longer than shown")
    if notes and legend:
        legend.append(("  " + ", ".join(notes), "dim"))
    return [*lines, ((" " * 11, "text"), *legend)]


def _one_step(chart: Chart, width: int, letters: str) -> list[LinePieces]:
    """A single step as one bar from left to right: there is no other to stand beside it."""
    bar: list[tuple[str, str]] = []
    for piece in stacked_bars.one_bar(chart, width, letters=letters):
        bar.append((piece.text, _ink(chart, piece.part)))
    if not bar:
        return []
    indent = (" " * 11, "text")
    return [(indent, *bar), (indent, *bar), (indent, *_legend(chart, letters))]


def _ink(chart: Chart, part: int) -> str:
    if part == stacked_bars.CUT:
        return "warn"
    return f"category:{_INKS.get(chart.series[part].label, 'other')}" if part >= 0 else "text"


def _legend(chart: Chart, letters: str) -> list[tuple[str, str]]:
    """The parts of the bars, each with its share of all time, the largest first."""
    sums = [float(series.y.sum()) for series in chart.series]
    total = sum(sums) or 1.0
    largest_first = sorted(((part, number) for number, part in enumerate(sums)), reverse=True)
    pieces: list[tuple[str, str]] = []
    for part, number in largest_first:
        label = chart.series[number].label.lower()
        if label.startswith("device coll"):
            label = "collectives"
        share = part / total
        percent = f"{100 * share:.0f} %" if share >= 0.005 else "<1 %"
        mark = letters[number] if letters else "■"
        pieces += [(mark, _ink(chart, number)), (f" {label} {percent}  ", "label")]
    return pieces
