"""The legend below the bars of steps: their parts, each with its color and its share of a step."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.data.category import SHORT_NAMES, Category
from powertui.data.table import Chart, Series
from powertui.view import stacked_bars

# (text, role of the theme); the role "category:NAME" is the ink of a category.
InkedText = tuple[str, str]
Entry = list[InkedText]

# The color of each category of a step, by the chart's labels.
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
# What stands for that color in ASCII, wherever categories are drawn: `CODES` has the same letters
# for the same work (X: collectives, J: compiling, H: the host, I: input).
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
_MIN_SHOWN_SHARE = 0.0005  # of a step: less would read "0.0 %"
_MIN_NAMED_PARTS = 3  # where fewer have room, the shades of a kind are one part (chosen by eye)


def category_letter(label: str) -> str:
    """What stands for a category of a step where blocks cannot be drawn."""
    return _LETTERS.get(label, "?")


def part_ink(chart: Chart, part: int) -> str:
    if part == stacked_bars.CUT:
        return "warn"
    if part < 0:
        return "text"
    series = chart.series[part]
    if series.kind:
        return f"category:{series.kind}:{series.shade}"
    ink = STEP_INKS.get(series.label, "other")
    return f"category:{ink}"


def step_legend(
    chart: Chart,
    letters: str,
    cells: int,
    max_lines: int = 1,
    *,
    last_cells: int | None = None,
) -> list[Entry]:
    """The parts of the bars on lines of so many cells (`last_cells` of the last one), each with its
    share of a step, as the table of a step has it, the largest first; of those that have no room
    the count. Where hardly any has, the parts of one kind are one.
    """
    # The sentence above may be about all the time, between the steps too.
    head = "of a step  "
    if len(chart.series[0].y) == 1:
        head = "of the step  "
    widths = [cells] * max_lines
    if last_cells is not None:
        widths[-1] = last_cells
    parts = [(number,) for number in range(len(chart.series))]
    entries = _entries(chart, letters, parts)
    lines, hidden = _legend_lines(entries, head, widths)
    if hidden and len(parts) - hidden < _MIN_NAMED_PARTS:
        kinds = _entries(chart, letters, _by_kind(chart))
        lines_of_kinds, hidden_kinds = _legend_lines(kinds, head, widths)
        if hidden_kinds < hidden:
            return lines_of_kinds
    return lines


def _legend_lines(
    entries: list[Entry],
    head: str,
    widths: list[int],
) -> tuple[list[Entry], int]:
    """The entries on lines of these widths, and how many have no room."""
    remaining = entries
    lines: list[Entry] = []
    while remaining and len(lines) < len(widths):
        is_last = len(lines) == len(widths) - 1
        room = widths[len(lines)] - len(head)
        count = _fitting(remaining, room, with_count=is_last)
        if not count and not is_last:
            # Not even one: the last line says how many there are.
            widths = widths[: len(lines)] + widths[-1:]
            continue
        if not count:
            lines.append(remaining[0])
            return lines, len(remaining) - 1
        pieces = [(head, "dim")]
        for entry in remaining[:count]:
            pieces += entry
        lines.append(pieces)
        remaining = remaining[count:]
        head = " " * len(head)
    hidden = len(remaining)
    if hidden:
        lines[-1].append((_more(hidden), "dim"))
    return lines, hidden


def _more(hidden: int) -> str:
    return f"{hidden} more  "


def _fitting(entries: list[Entry], cells: int, *, with_count: bool) -> int:
    """How many of the parts have room, beside the count of the others."""
    for count in range(len(entries), 0, -1):
        length = 0
        for entry in entries[:count]:
            length += sum(len(text) for text, _ in entry)
        hidden = len(entries) - count
        if with_count and hidden:
            length += len(_more(hidden))
        if length - len("  ") <= cells:
            return count
    return 0


def _by_kind(chart: Chart) -> list[tuple[int, ...]]:
    """The numbers of the parts of each kind of work; what has no kind is by itself."""
    by_kind: dict[str, list[int]] = {}
    for number, series in enumerate(chart.series):
        numbers = by_kind.setdefault(series.kind or series.label, [])
        numbers.append(number)
    return list(map(tuple, by_kind.values()))


def _entries(
    chart: Chart,
    letters: str,
    parts: Sequence[tuple[int, ...]],
) -> list[Entry]:
    """Each part, or several together, with marks and the share of a step, the largest first."""
    shares = []
    for numbers in parts:
        shares.append(sum(chart.shares[number] for number in numbers))

    def size_and_place(place: int) -> tuple[float, int]:
        return shares[place], place

    # Of equal parts the later one comes first.
    largest_first = sorted(range(len(parts)), key=size_and_place, reverse=True)
    entries = []
    for place in largest_first:
        numbers = parts[place]
        # A part that is there must not be shown as none.
        percent = "<0.1 %"
        if shares[place] >= _MIN_SHOWN_SHARE:
            percent = units.percent(shares[place], 1)
        entry = []
        for number in numbers:
            mark = letters[number] if letters else "■"
            entry.append((mark, part_ink(chart, number)))
        first_series = chart.series[numbers[0]]
        label = _label(first_series, is_kind=len(numbers) > 1)
        entry.append((f" {label} {percent}  ", "label"))
        entries.append(entry)
    return entries


def _label(series: Series, *, is_kind: bool) -> str:
    """What the legend calls a part, or all parts of its kind."""
    if is_kind:
        return SHORT_NAMES[Category(series.kind)]
    if series.kind:
        return series.label
    label = series.label.lower()
    if label.startswith("device coll"):
        return "collectives"
    return label
