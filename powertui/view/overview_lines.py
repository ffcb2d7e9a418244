"""The top of the overview as lines of pieces (text, role): what limits the run, what was found, the
steps' graph, joules.

The most telling lines come first, and what is lost in a small window are the last ones. No line
loses its figure: it goes on below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from powertui import units
from powertui.data.model import PS_PER_S
from powertui.data.table import Chart, Fact, Result, shown
from powertui.plain import plain
from powertui.view import stacked_bars

LinePieces = tuple[
    tuple[str, str], ...
]  # (text, role of the theme; "category:NAME" for the ink of a category)

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
_MAX_EPOCHS = (
    4  # whose joules stand side by side; of more the first and the last, the table has them all
)


def lines(result: Result, width: int, height: int, *, glyphs: str = "unicode") -> list[LinePieces]:
    """At most `height` lines of at most `width` cells."""
    facts = {fact.id: fact for fact in result.facts}
    below = [*_steps(facts, width), *_joules(facts, width), *_machine(facts, width)]
    for whole, could in ((True, True), (True, False), (False, True), (False, False)):
        out = _told(facts, width, whole=whole, could=could)
        if len(out) + len(below) <= height:
            break
    chart = next((chart for chart in result.charts if chart.id == "step_time"), None)
    room = height - len(out) - len(below) - 2
    if chart is not None and room >= 3:
        out += [(("", "text"),), *_graph(chart, width, min(8, room - 1), glyphs)]
    out += below
    return out[:height]


def _told(facts: dict[str, Fact], width: int, *, whole: bool, could: bool) -> list[LinePieces]:
    """What limits the run and what was found; `whole`: also why, `could`: also what could have been
    found.
    """
    out: list[LinePieces] = []
    if "limit" in facts:
        out += _wrapped(str(facts["limit"].value), width, "title")
    for id, fact in facts.items():
        if id.startswith("straggler_"):
            out += _wrapped(plain(str(fact.value)), width, "warn")
        elif id.startswith("finding_"):
            words = plain(str(fact.value))
            out += _wrapped(
                f"Found: {words if whole else words.partition('; ')[0]}",
                width,
                "warn",
                _badge(fact),
            )
    if "findings" in facts:
        out += _wrapped(plain(str(facts["findings"].value)), width, "text")
    if could and "could_find" in facts:
        out += _wrapped(plain(sentence(str(facts["could_find"].value))), width, "dim")
    return out


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _badge(fact: Fact) -> str:
    return f"  {fact.badge.value}" if fact.badge is not None else ""


def _wrapped(text: str, width: int, role: str, badge: str = "") -> list[LinePieces]:
    rows = textwrap.wrap(text, max(20, width - 2 - len(badge)), subsequent_indent=_INDENT) or [""]
    made: list[LinePieces] = [((f" {row}", role),) for row in rows]
    if badge:
        made[-1] = (*made[-1], (badge, "dim"))
    return made


def _joined(label: str, parts: Iterable[str], width: int) -> list[LinePieces]:
    """A label and what is told, with dots between, on as many lines as it takes."""
    told = [part for part in parts if part]
    if not told:
        return []
    rows: list[str] = []
    for part in told:
        if rows and len(rows[-1]) + 3 + len(part) <= width - 12:
            rows[-1] += f" · {part}"
        else:
            rows.append(part)
    return [
        ((f" {label if not i else '':<9} ", "dim"), (row, "text")) for i, row in enumerate(rows)
    ]


def _steps(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    if "step_time_s" not in facts:
        return []
    deviation = facts["step_time_deviation_s"]
    mean = facts["step_time_s"].text() + (
        f" ± {deviation.text()}" if deviation.value is not None else ""
    )
    span = f"{facts['step_time_min_s'].text()} to {facts['step_time_max_s'].text()}"
    alone = facts["steps"].value == 1
    usual = facts["step_time_usual_s"].text()
    parts = (
        ["1 step", mean]
        if alone
        else [f"{facts['steps'].text()} steps", f"usual {usual}", f"mean {mean}", span]
    )
    for id, words in (("step_work_s", "with its work"), ("run_step_time_s", "of all hosts")):
        if id in facts:
            parts.append(f"{facts[id].text()} {words}")
    return _joined("step time", parts, width)


def _joules(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    """Epoch beside epoch first, and their difference with its interval: what a small window
    keeps.
    """
    epochs = [
        fact
        for id, fact in facts.items()
        if id.startswith("epoch_") and id != "epoch_difference_joules"
    ]
    told = [
        f"{fact.label} {_give_or_take(fact)}"
        for fact in (epochs if len(epochs) <= _MAX_EPOCHS else (epochs[0], epochs[-1]))
    ]
    more = facts.get("epoch_difference_joules")
    if more is not None:
        told.append(f"{more.label} {'+' if float(more.value or 0) > 0 else ''}{more.text()}")
    for id, words in (
        ("energy", "in all"),
        ("step_joules", "a step"),
        ("sample_joules", "a sample"),
    ):
        if id in facts:
            told.append(f"{words} {_give_or_take(facts[id])}")
    return _joined("energy", told, width)


def _give_or_take(fact: Fact) -> str:
    """A figure with the half width of its interval: "2.622 kJ ±14 J"."""
    if fact.value is None or isinstance(fact.value, str) or fact.lo is None or fact.hi is None:
        return fact.text()
    half = max(float(fact.hi) - float(fact.value), float(fact.value) - float(fact.lo))
    return f"{shown(fact.value, fact.kind, fact.unit)} ±{units.quantity(half, fact.unit, 2)}"


def _machine(facts: dict[str, Fact], width: int) -> list[LinePieces]:
    told = []
    if "hosts" in facts:
        count = int(facts["hosts"].value or 0)
        told.append(f"{count} host{'s' if count != 1 else ''}")
    for id, words in (
        ("devices", "{}"),
        ("batch_size", "batch {}"),
        ("software", "{}"),
        ("command_line", "{}"),
        ("device_compute_16bit_share", "{} of compute in 16 bit"),
    ):
        if id in facts:
            told.append(words.format(plain(facts[id].text())))
    return _joined("run", told, width)


# ── the graph ────────────────────────────────────────────────────────────────────────────────────


def _graph(chart: Chart, width: int, height: int, glyphs: str) -> list[LinePieces]:
    letters = (
        "".join(_LETTERS.get(one.label, "?") for one in chart.series) if glyphs == "ascii" else ""
    )
    drawn = stacked_bars.draw(
        chart, width - 12, height, letters=letters, eighths=glyphs == "unicode"
    )
    if not drawn.rows:
        return []
    out: list[LinePieces] = []
    for at, row in enumerate(drawn.rows):
        label = (
            units.duration(round(drawn.top * PS_PER_S))
            if at == 0
            else "0"
            if at == len(drawn.rows) - 1
            else ""
        )
        pieces = tuple((piece.text, _ink(chart, piece.part)) for piece in row)
        out.append(((f"{label:>9} {'|' if letters else '┤'}", "axis"), *pieces))
    out.append(((" " * 11, "text"), *_legend(chart, letters)))
    notes = []
    if drawn.each > 1:
        notes.append(f"each column is the longest of {drawn.each} steps")
    if drawn.cut:
        notes.append(f"{drawn.cut} longer than shown")
    if notes and len(out[-1]) > 1:
        out[-1] = (*out[-1], ("  " + ", ".join(notes), "dim"))
    return out


def _ink(chart: Chart, part: int) -> str:
    if part == stacked_bars.CUT:
        return "warn"
    return f"category:{_INKS.get(chart.series[part].label, 'other')}" if part >= 0 else "text"


def _legend(chart: Chart, letters: str) -> list[tuple[str, str]]:
    whole = sum(float(one.y.sum()) for one in chart.series) or 1.0
    shares: Sequence[tuple[float, int]] = sorted(
        ((float(one.y.sum()) / whole, i) for i, one in enumerate(chart.series)), reverse=True
    )
    out: list[tuple[str, str]] = []
    for share, index in shares:
        mark = letters[index] if letters else "■"
        label = (
            "collectives"
            if chart.series[index].label.startswith("Device coll")
            else chart.series[index].label.lower()
        )
        out += [
            (mark, _ink(chart, index)),
            (f" {label} {share:.0%}  " if share >= 0.005 else f" {label} <1%  ", "label"),
        ]
    return out
