"""The top of the overview as lines: the conclusions, the steps' graph, joules.

The most important lines come first: a small window loses the last ones. No line loses its figure:
it goes on below.
"""

from __future__ import annotations

from collections.abc import Iterable

from powertui import units
from powertui.data.columns import shown
from powertui.data.model import Badge
from powertui.data.table import Fact, Result
from powertui.plain import plain
from powertui.view import step_bars
from powertui.view.step_bars import LinePieces
from powertui.view.text_lines import text_lines

_INDENT = "  "
GRAPH_ROWS = 8  # of bars, where others want the rows (chosen by eye)
# The conclusions of a run among its facts, beside "limit"; they stand in their order.
_CONCLUSIONS = ("finding_", "straggler_", "conclusion_")
# Of more epochs only the joules of the first and the last are shown: the table has them all.
_MAX_EPOCHS = 4
_PLUS_MINUS = " ± "
_OF_ALL_HOSTS = "run_step_time_s"  # a fact that a page about one of several hosts has


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
        out = _conclusions(
            result,
            width,
            with_next=with_next,
            with_limit=with_limit,
        )
        if len(out) + len(below) <= height:
            break
    room = height - len(out) - len(below) - 2
    chart = step_bars.step_chart(result)
    if chart is not None and room >= 3:
        out.append((("", "text"),))
        out += step_bars.step_graph(chart, width, min(graph_rows, room - 1), glyphs)
    out += below
    return out[:height]


def _conclusions(
    result: Result,
    width: int,
    *,
    with_next: bool,
    with_limit: bool,
) -> list[LinePieces]:
    """What to conclude from the run, in its order.

    `with_next`: also what to do. `with_limit`: also what could have been found.
    """
    lines: list[LinePieces] = []
    could_find: list[LinePieces] = []
    for fact in result.facts:
        if fact.id == "could_find" and with_limit and not could_find:
            words = sentence(str(fact.value))
            could_find = _wrapped(plain(words), width, "dim")
        is_conclusion = fact.id == "limit" or fact.id.startswith(_CONCLUSIONS)
        if not is_conclusion:
            continue
        quality = ""
        if fact.badge is not None and fact.badge is not Badge.MEASURED:
            quality = f"  {fact.badge.value}"
        role = "text" if lines else "title"
        lines += _wrapped(plain(str(fact.value)), width, role, quality)
        if with_next and fact.why:
            to_do = f"{_INDENT}To do: {plain(fact.why)}"
            lines += _wrapped(to_do, width, "dim")
    ids = {fact.id for fact in result.facts}
    if lines and _OF_ALL_HOSTS in ids:
        note = "The above is about all hosts, what follows about this one."
        lines += _wrapped(note, width, "dim")
    return lines + could_find


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    capitalized = text[:1].upper() + text[1:]
    if text.endswith("."):
        return capitalized
    return capitalized + "."


def _wrapped(
    text: str,
    width: int,
    role: str,
    suffix: str = "",
) -> list[LinePieces]:
    room = max(20, width - 2 - len(suffix))
    rows = text_lines(text, room, _INDENT)
    lines: list[LinePieces] = [((f" {row}", role),) for row in rows]
    if suffix:
        lines[-1] = (*lines[-1], (suffix, "dim"))
    return lines


def _joined(label: str, parts: Iterable[str], width: int) -> list[LinePieces]:
    """A label and its parts, with dots between, on as many lines as it takes."""
    room = width - step_bars.LABEL_CELLS
    rows: list[str] = []
    for part in parts:
        if not part:
            continue
        if rows and len(rows[-1]) + 3 + len(part) <= room:
            rows[-1] += f" · {part}"
        else:
            rows.append(part)
    lines: list[LinePieces] = []
    for row in rows:
        heading = (f" {label:<9} ", "dim")
        lines.append((heading, (row, "text")))
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
    steps = facts["steps"]
    if steps.value == 1:
        parts = ["1 step", mean]
    else:
        counted = f"{steps.text()} steps"
        if steps.why:
            counted = f"{counted} ({steps.why})"
        median = facts["step_time_usual_s"].text()
        shortest = facts["step_time_min_s"].text()
        longest = facts["step_time_max_s"].text()
        parts = [
            counted,
            f"median {median}",
            f"mean {mean}",
            f"{shortest} to {longest}",
        ]
    for id, words in (("step_work_s", "with its work"), (_OF_ALL_HOSTS, "of all hosts")):
        if id in facts:
            length = facts[id].text()
            parts.append(f"{length} {words}")
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
        joules = _with_interval(fact)
        figures.append(f"{fact.label} {joules}")
    if difference is not None:
        more = difference.text()
        figures.append(f"{difference.label} {more}")
    energy = facts.get("energy")
    if energy is not None:
        name = energy.label.removeprefix("energy ")
        joules = _with_interval(energy)
        figures.append(f"{name} {joules}{_remark(energy)}")
    for id, name in (("step_joules", "a step"), ("sample_joules", "a sample")):
        if id in facts:
            joules = _with_interval(facts[id])
            figures.append(f"{name} {joules}")
    return _joined("energy", figures, width)


def _remark(energy: Fact) -> str:
    """What the interval of the joules does not say: an assumed unit, as the AIU's, a simulated
    sensor, or what else makes them doubtful.
    """
    remarks = []
    if energy.badge in (Badge.ASSUMED, Badge.SIMULATED):
        remarks.append(energy.badge.value)
    if energy.why and energy.value is not None:
        remarks.append(energy.why)
    if not remarks:
        return ""
    return f" ({'; '.join(remarks)})"


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
    widest = max(above, below)
    half = units.quantity(widest, fact.unit, 2)
    figure = shown(value, fact.kind, fact.unit)
    return f"{figure}{_PLUS_MINUS}{half}"


def figure_and_error(fact: Fact) -> tuple[str, str]:
    """The same in two pieces: "2,622 J" and " ± 14"; an empty second one without an error."""
    text = _with_interval(fact)
    figure, plus_minus, error = text.partition(_PLUS_MINUS)
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
