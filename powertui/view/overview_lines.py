"""The top of the overview as lines: the conclusions, the steps' graph, joules.

The most important lines come first: a small window loses the last ones. No line loses its figure:
it goes on below.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from powertui import units
from powertui.data.columns import shown
from powertui.data.model import PS_PER_S, Badge
from powertui.data.table import Chart, Fact, Result
from powertui.plain import plain
from powertui.terminal import glyphs as glyph_sets
from powertui.view import finding_flag, stacked_bars
from powertui.view.text_lines import text_lines
from powertui.view.truncation import middle

# (text, role of the theme); the role "category:NAME" is the ink of a category.
LinePieces = tuple[tuple[str, str], ...]

# The colour of each category of a step, by the chart's labels.
STEP_INKS = {
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
_LABEL_CELLS = 12  # left of the lines, with the blanks around it
_GRAPH_INDENT = (" " * (_LABEL_CELLS - 1), "text")
GRAPH_ROWS = 8  # of bars, where others want the rows (chosen by eye)
# The conclusions of a run among its facts, beside "limit"; they stand in their order.
_CONCLUSIONS = ("finding_", "straggler_", "conclusion_")
# Of more epochs only the joules of the first and the last are shown: the table has them all.
_MAX_EPOCHS = 4
_PLUS_MINUS = " ± "
_OF_ALL_HOSTS = "run_step_time_s"  # a fact that a page about one of several hosts has
# So many steps lie below each other; of more the standing bars are wide enough (chosen by eye).
_MAX_LYING_STEPS = 6
_MIN_SHOWN_SHARE = 0.0005  # of a step: less would read "0.0 %"


def lines(
    result: Result,
    width: int,
    height: int,
    *,
    glyphs: str = "unicode",
    graph_rows: int = GRAPH_ROWS,
) -> list[LinePieces]:
    """At most `height` lines of at most `width` cells, `graph_rows` of them with bars."""
    facts = {fact.id: fact for fact in result.facts}
    below = [*_steps(facts, width), *_joules(facts, width), *_machine(facts, width)]
    # Where there is no room, first what could have been found goes, then what to do.
    for with_next, with_limit in ((True, True), (True, False), (False, True), (False, False)):
        out = _conclusions(result, width, with_next=with_next, with_limit=with_limit)
        if len(out) + len(below) <= height:
            break
    room = height - len(out) - len(below) - 2
    chart = next((chart for chart in result.charts if chart.id == "step_time"), None)
    if chart is not None and room >= 3:
        out.append((("", "text"),))
        out += step_graph(chart, width, min(graph_rows, room - 1), glyphs)
    out += below
    return out[:height]


def _conclusions(
    result: Result, width: int, *, with_next: bool, with_limit: bool
) -> list[LinePieces]:
    """What to conclude from the run, in its order.

    `with_next`: also what to do. `with_limit`: also what could have been found.
    """
    out: list[LinePieces] = []
    could_find: list[LinePieces] = []
    for fact in result.facts:
        if fact.id == "could_find" and with_limit and not could_find:
            could_find = _wrapped(plain(sentence(str(fact.value))), width, "dim")
        if fact.id != "limit" and not fact.id.startswith(_CONCLUSIONS):
            continue
        quality = ""
        if fact.badge is not None and fact.badge is not Badge.MEASURED:
            quality = f"  {fact.badge.value}"
        role = "text" if out else "title"
        out += _wrapped(plain(str(fact.value)), width, role, quality)
        if with_next and fact.why:
            out += _wrapped(f"{_INDENT}To do: {plain(fact.why)}", width, "dim")
    if out and _OF_ALL_HOSTS in {fact.id for fact in result.facts}:
        out += _wrapped("The above is about all hosts, what follows about this one.", width, "dim")
    return out + could_find


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    capitalized = text[:1].upper() + text[1:]
    return capitalized if text.endswith(".") else capitalized + "."


def _wrapped(text: str, width: int, role: str, suffix: str = "") -> list[LinePieces]:
    room = max(20, width - 2 - len(suffix))
    rows = text_lines(text, room, _INDENT)
    lines: list[LinePieces] = [((f" {row}", role),) for row in rows]
    if suffix:
        lines[-1] = (*lines[-1], (suffix, "dim"))
    return lines


def _joined(label: str, parts: Iterable[str], width: int) -> list[LinePieces]:
    """A label and its parts, with dots between, on as many lines as it takes."""
    rows: list[str] = []
    for part in parts:
        if not part:
            continue
        if rows and len(rows[-1]) + 3 + len(part) <= width - _LABEL_CELLS:
            rows[-1] += f" · {part}"
        else:
            rows.append(part)
    lines: list[LinePieces] = []
    for row in rows:
        lines.append(((f" {label:<9} ", "dim"), (row, "text")))
        label = ""
    return lines


def _steps(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    if "step_time_s" not in facts:
        return []
    mean = facts["step_time_s"].text()
    deviation = facts["step_time_deviation_s"]
    if deviation.value is not None:
        # No "±": beside joules that is an interval, and this is how much single steps differ.
        mean = f"{mean}, deviation {deviation.text()}"
    if facts["steps"].value == 1:
        parts = ["1 step", mean]
    else:
        count = facts["steps"].text()
        median = facts["step_time_usual_s"].text()
        shortest = facts["step_time_min_s"].text()
        longest = facts["step_time_max_s"].text()
        left_out = facts["steps"].why
        if left_out:
            counted = f"{count} steps ({left_out})"
        else:
            counted = f"{count} steps"
        parts = [counted, f"median {median}", f"mean {mean}", f"{shortest} to {longest}"]
    for id, words in (("step_work_s", "with its work"), (_OF_ALL_HOSTS, "of all hosts")):
        if id in facts:
            parts.append(f"{facts[id].text()} {words}")
    return _joined("step time", parts, width)


def _joules(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    """Joules of the epochs and their difference first, then of the run, its steps and samples."""
    difference = facts.get("epoch_difference_joules")
    epochs = []
    for id, fact in facts.items():
        if id.startswith("epoch_") and fact is not difference:
            epochs.append(fact)
    if len(epochs) > _MAX_EPOCHS:
        epochs = [epochs[0], epochs[-1]]
    figures = []
    for fact in epochs:
        figures.append(f"{fact.label} {_with_interval(fact)}")
    if difference is not None:
        figures.append(f"{difference.label} {difference.text()}")
    energy = facts.get("energy")
    if energy is not None:
        name = energy.label.removeprefix("energy ")
        remarks = []
        # An assumed unit, as the AIU's, and a simulated sensor: the interval says neither.
        if energy.badge in (Badge.ASSUMED, Badge.SIMULATED):
            remarks.append(energy.badge.value)
        if energy.why and energy.value is not None:
            remarks.append(energy.why)
        remark = f" ({'; '.join(remarks)})" if remarks else ""
        figures.append(f"{name} {_with_interval(energy)}{remark}")
    for id, name in (("step_joules", "a step"), ("sample_joules", "a sample")):
        if id in facts:
            figures.append(f"{name} {_with_interval(facts[id])}")
    return _joined("energy", figures, width)


def _with_interval(fact: Fact) -> str:
    """A figure with the half width of its interval: "2,622 J ± 14"."""
    value = fact.value
    if value is None or isinstance(value, str) or fact.lo is None or fact.hi is None:
        return fact.text()
    if fact.unit == "J":
        return fact.text()
    above = float(fact.hi) - float(value)
    below = float(value) - float(fact.lo)
    # The wider side, so that an interval that is not centered is never shown too narrow.
    half = units.quantity(max(above, below), fact.unit, 2)
    return f"{shown(value, fact.kind, fact.unit)}{_PLUS_MINUS}{half}"


def figure_and_error(fact: Fact) -> tuple[str, str]:
    """The same in two pieces: "2,622 J" and " ± 14"; an empty second one without an error."""
    figure, plus_minus, error = _with_interval(fact).partition(_PLUS_MINUS)
    return figure, plus_minus + error


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
    bar_cells = width - _LABEL_CELLS
    steps = len(chart.series[0].y) if chart.series else 0
    if steps == 1:
        return _one_step(chart, bar_cells, letters)
    if 1 < steps <= min(_MAX_LYING_STEPS, height):
        return _few_steps(chart, bar_cells, height, letters)
    has_eighths = glyphs == "unicode"
    bars = stacked_bars.draw(chart, bar_cells, height, letters=letters, eighths=has_eighths)
    if not bars.rows:
        return []
    labels = [""] * len(bars.rows)
    labels[-1] = "0"
    labels[0] = units.duration(round(bars.top * PS_PER_S))
    rule = "|" if letters else "┤"
    lines: list[LinePieces] = []
    for label, row in zip(labels, _with_marked_bars(chart, bars, glyphs), strict=True):
        lines.append(((f"{label:>9} {rule}", "axis"), *row))
    # What the mark of a bar that goes on stands for has its room before the smallest parts.
    cut = _cut_note(bars, "^" if letters else "▲")
    legend = [_GRAPH_INDENT, *_legend(chart, letters, bar_cells - len(cut))]
    room = width - sum(len(text) for text, _ in legend)
    notes = _bar_notes(cut, bars.each, room)
    if notes:
        legend.append((notes, "dim"))
    else:
        text, role = legend.pop()
        legend.append((text.rstrip(), role))
    return [*lines, tuple(legend)]


def _with_marked_bars(
    chart: Chart, bars: stacked_bars.StackedBars, glyphs: str
) -> list[list[tuple[str, str]]]:
    """The rows of bars in pieces, with a band above those that a finding is about, and its size
    beside it, as the timeline has both above its power.
    """
    chars: list[list[str]] = []
    roles: list[list[str]] = []
    for row in bars.rows:
        chars.append([char for piece in row for char in piece.text])
        roles.append([_ink(chart, piece.part) for piece in row for _ in piece.text])
    for mark in chart.marked:
        columns = bars.columns(mark.first, mark.stop)
        for row_chars, row_roles in zip(chars, roles, strict=True):
            for column in columns:
                if row_chars[column] == " ":
                    row_roles[column] = "power_band"
                elif row_chars[column] in stacked_bars.PARTLY_FILLED:
                    row_roles[column] += " on power_band"
        flag = finding_flag.beside_band(chars, columns, mark.sizes, glyph_sets.get(glyphs))
        if flag is not None:
            chars[flag.row][flag.first : flag.stop] = flag.text
            roles[flag.row][flag.first : flag.stop] = ["power_flag"] * len(flag.text)
    lines = []
    for row_chars, row_roles in zip(chars, roles, strict=True):
        pieces: list[tuple[str, str]] = []
        for role, cells in itertools.groupby(
            zip(row_roles, row_chars, strict=True), lambda cell: cell[0]
        ):
            pieces.append(("".join(char for _, char in cells), role))
        lines.append(pieces)
    return lines


def _cut_note(bars: stacked_bars.StackedBars, mark: str) -> str:
    """How long the step is whose bar goes on beyond the top: "▲ 1.52 s"."""
    if not bars.cut:
        return ""
    longest = units.duration(round(bars.longest * PS_PER_S), 3)
    return f"{mark} {'up to ' if bars.cut > 1 else ''}{longest}"


def _bar_notes(cut: str, steps_each: int, room: int) -> str:
    """What the bars do not show, as far as there is room: heights that were cut, and steps that
    share a column.
    """
    notes = [cut] if cut else []
    if steps_each > 1:
        notes.append(f"longest of {steps_each} in a column")
    while notes and len(", ".join(notes)) > room:
        notes.pop()
    return ", ".join(notes)


def _one_step(chart: Chart, width: int, letters: str) -> list[LinePieces]:
    """A single step as one bar from left to right: there is no other to stand beside it."""
    bar = [_GRAPH_INDENT]
    for piece in stacked_bars.one_bar(chart, width, letters=letters):
        bar.append((piece.text, _ink(chart, piece.part)))
    if len(bar) == 1:
        return []
    line = tuple(bar)
    return [line, line, (_GRAPH_INDENT, *_legend(chart, letters, width))]


def _few_steps(chart: Chart, width: int, height: int, letters: str) -> list[LinePieces]:
    """Each step as a bar from left to right, as long as its time: standing they would be few
    columns of a wide window.
    """
    totals_s = np.sum([series.y for series in chart.series], axis=0).tolist()
    longest_s = max(totals_s)
    if longest_s <= 0:
        return []
    times = [units.duration(round(total_s * PS_PER_S), 4) for total_s in totals_s]
    room = width - max(len(time) for time in times) - 1
    has_gaps = 2 * len(totals_s) - 1 <= height
    lines: list[LinePieces] = []
    for place, (total_s, time) in enumerate(zip(totals_s, times, strict=True)):
        if lines and has_gaps:
            lines.append(())
        cells = max(1, round(room * total_s / longest_s))
        lines.append(_step_bar(chart, place, cells, letters, time))
    lines.append((_GRAPH_INDENT, *_legend(chart, letters, width)))
    return lines


def _step_bar(chart: Chart, place: int, cells: int, letters: str, time: str) -> LinePieces:
    """One step: its name, a bar of so many cells, its time."""
    name = _step_name(str(chart.series[0].x[place]))
    label_cells = _LABEL_CELLS - 2
    pieces = [(f"{middle(name, label_cells):>{label_cells}} ", "axis")]
    for piece in stacked_bars.one_bar(chart, cells, place=place, letters=letters):
        pieces.append((piece.text, _ink(chart, piece.part)))
    pieces.append((f" {time}", "text"))
    return tuple(pieces)


def _step_name(name: str) -> str:
    """ "551" and "ProfilerStep#551" as "step 551", other names as they are."""
    number = name.rpartition("#")[2]
    return f"step {number}" if number.isdecimal() else plain(name)


def _ink(chart: Chart, part: int) -> str:
    if part == stacked_bars.CUT:
        return "warn"
    if part < 0:
        return "text"
    label = chart.series[part].label
    return f"category:{STEP_INKS.get(label, 'other')}"


def _legend(chart: Chart, letters: str, cells: int) -> list[tuple[str, str]]:
    """The parts of the bars in so many cells, each with its share of a step, as the table of a step
    has it, the largest first; of those that have no room the count.
    """
    shares = chart.shares

    def size_and_place(number: int) -> tuple[float, int]:
        return shares[number], number

    # Of equal parts the later one comes first.
    largest_first = sorted(range(len(shares)), key=size_and_place, reverse=True)
    # The sentence above may be about all the time, between the steps too.
    whole = "of a step"
    if len(chart.series[0].y) == 1:
        whole = "of the step"
    entries: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for number in largest_first:
        label = chart.series[number].label.lower()
        if label.startswith("device coll"):
            label = "collectives"
        # A part that is there must not be shown as none.
        percent = "<0.1 %"
        if shares[number] >= _MIN_SHOWN_SHARE:
            percent = units.percent(shares[number], 1)
        mark = letters[number] if letters else "■"
        entries.append(((mark, _ink(chart, number)), (f" {label} {percent}  ", "label")))
    for count in range(len(entries), 0, -1):
        pieces = [(f"{whole}  ", "dim")]
        for entry in entries[:count]:
            pieces += entry
        if count < len(entries):
            pieces.append((f"{len(entries) - count} more  ", "dim"))
        if len("".join(text for text, _ in pieces).rstrip()) <= cells:
            return pieces
    return [piece for entry in entries[:1] for piece in entry]
