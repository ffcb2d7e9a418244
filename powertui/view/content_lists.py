"""What stands out in a view as lines of pieces (text, role), below the tracks or beside them:
findings, the longest steps and the top ops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui import units
from powertui.plain import width as cells
from powertui.value_types import dataclass
from powertui.view.legend_lines import Pieces
from powertui.view.readable_names import distinct
from powertui.view.text_lines import text_lines
from powertui.view.truncation import middle

if TYPE_CHECKING:
    from powertui.terminal.glyphs import Glyphs
    from powertui.view.visible_content import LongStep, TopOp, VisibleContent

# Widths of the lists below the tracks, in cells (chosen by eye, not measured): below 38 an op's
# name is cut to nothing beside its figures, above 64 the figures are too far from their names to be
# read across.
_MIN_LIST_CELLS = 38
_MAX_LIST_CELLS = 64
_LIST_GAP_CELLS = 3
_IN_VIEW = " in view"  # in the title of a list: its figures are not those of the moment pointed at
_CAUSE_INDENT = "  "  # before the op that made a step longer
_MIN_LIST_ROWS = 3  # with fewer rows each list is one line
_MIN_STACKED_ROWS = 2  # a title and a line below it
_MIN_TIMES = 100  # "+9900 %" is the last that is read at a glance (chosen by eye)
_MIN_ROWS_TO_PIN = 3  # with fewer the rows are for what takes most
_MAX_FINDING_ROWS = 2  # of each finding in the pane beside the tracks
_BAR_CELLS = 4  # of an op's bar: the name beside it needs the room
_MAX_NAME_CELLS_IN_LINE = 20  # of an op where several facts share a line of 80 cells
_MIN_BARRED_CELLS = 44  # of a list whose names leave room for bars (looked at)
_LENGTH_CELLS = 7  # "3.77 s", "18.7 ms"
_SHARE_CELLS = 6  # "17.5 %"


@dataclass(frozen=True)
class _Row:
    name: str
    figures: str = ""
    bar_share: float | None = None  # of the longest bar, before the figures, where a list has them
    tail: str = ""  # of the name, where all of it has no room
    texts: tuple[str, ...] = ()  # instead of the others: the longest that fits is written
    role: str = ""  # of the theme; "": that of its list
    is_pinned: bool = False  # shown in the last line where it would have none


@dataclass(frozen=True)
class _List:
    title: str
    rows: tuple[_Row, ...]
    role: str = "text"


def panel(
    content: VisibleContent,
    width: int,
    height: int,
    glyphs: Glyphs,
) -> list[Pieces]:
    """At most `height` lines of at most `width` cells: findings first, then steps, then ops."""
    if height < 1 or width < _MIN_LIST_CELLS:
        return []
    lists = _lists(content)
    if not lists:
        return []
    if height < _MIN_LIST_ROWS:
        return [_line(part, width) for part in lists[:height]]
    cells_each = _MIN_LIST_CELLS + _LIST_GAP_CELLS
    max_columns = max(1, (width + _LIST_GAP_CELLS) // cells_each)
    column_width = _column_width(width, min(max_columns, len(lists)))
    columns = [_column(part, column_width, height, glyphs) for part in lists]
    if len(columns) > max_columns and content.findings:
        # Findings are few lines: the steps go below them rather than out of sight.
        findings_rows = max(2, height - _MIN_LIST_ROWS)
        above = _column(
            lists[0],
            column_width,
            findings_rows,
            glyphs,
        )
        steps = columns[1][: height - len(above)]
        columns = [above + steps, *columns[2:]]
    return _side_by_side(columns[:max_columns], column_width, height)


def _lists(content: VisibleContent) -> list[_List]:
    """Findings, steps and ops, of what there is."""
    lists = []
    for part in (_findings(content), _steps(content), _ops(content)):
        if part is not None:
            lists.append(part)
    return lists


def _column_width(width: int, count: int) -> int:
    """The cells of each of so many lists beside each other, after a blank at the left."""
    gaps = _LIST_GAP_CELLS * (count - 1)
    cells_each = (width - 1 - gaps) // count
    return min(_MAX_LIST_CELLS, cells_each)


def stacked(
    content: VisibleContent,
    width: int,
    height: int,
    glyphs: Glyphs,
) -> list[Pieces]:
    """The same below each other, in at most `height` lines: what has few lines leaves them to the
    others.
    """
    parts = _lists(content)
    needed = []
    for part in parts:
        # The sentence at the foot has all of a finding's words.
        column = _column(
            part,
            width,
            height,
            glyphs,
            max_text_rows=_MAX_FINDING_ROWS,
        )
        needed.append(len(column))
    gaps = max(0, len(parts) - 1)
    rooms = _shared_rows(needed, height - gaps)
    lines: list[Pieces] = []
    for part, room in zip(parts, rooms, strict=True):
        if room < _MIN_STACKED_ROWS:
            continue
        if lines:
            lines.append(())
        column = _column(
            part,
            width,
            room,
            glyphs,
            max_text_rows=_MAX_FINDING_ROWS,
        )
        (title, _), *rows = column
        lines.append(((title, "title"),))
        for row in rows:
            lines.append((row,))
    return lines


def _shared_rows(needed: Sequence[int], rows: int) -> list[int]:
    """How many rows each gets: the same for all, but none more than it needs."""
    count = len(needed)
    shares = [0] * count
    free = max(0, rows)
    # The one that needs least first: what it leaves is shared by the others.
    least_first = sorted(range(count), key=needed.__getitem__)
    for place, index in enumerate(least_first):
        equal_share = free // (count - place)
        shares[index] = min(needed[index], equal_share)
        free -= shares[index]
    return shares


def _findings(content: VisibleContent) -> _List | None:
    if not content.findings:
        return None
    rows = []
    for texts in content.findings:
        shortest = texts[-1]
        rows.append(_Row(shortest, texts=texts))
    return _List(f"Findings{_IN_VIEW}", tuple(rows), "warn")


def _steps(content: VisibleContent) -> _List | None:
    """The steps that are longer than the median; else the longest."""
    if not content.steps:
        return None
    medians = {step.usual for step in content.steps}
    median = None
    if len(medians) == 1:
        median = medians.pop()
    longer = [step for step in content.steps if step.is_longer]
    rows = []
    for step in longer or content.steps[:1]:
        figures = _step_figures(step, median_in_title=median is not None)
        rows.append(_Row(step.name, figures))
        if step.cause:
            more = units.duration(step.cause_ps, 3, padded=True)
            cause = f"{_CAUSE_INDENT}{step.cause}"
            rows.append(_Row(cause, f"+{more}", role="dim"))
    title = f"The step{_IN_VIEW}"
    if content.step_count > 1:
        title = f"Longest steps{_IN_VIEW}"
    if median is not None:
        length = units.duration(median, 3)
        title = f"{title}, median {length}"
    return _List(title, tuple(rows))


def _step_figures(step: LongStep, *, median_in_title: bool) -> str:
    """A step's length, and how much longer than the median that is."""
    length = units.duration(step.length, 3, padded=True)
    if step.usual is None or step.usual <= 0:
        return length
    more = _more_than(step.length, step.usual)
    if median_in_title:
        return f"{length}  {more:>7}"
    median = units.duration(step.usual, 3)
    return f"{length}  median {median}  {more}"


def _more_than(length: int, usual: int) -> str:
    """How much longer: in percent, or how many times where nobody would read the percent."""
    ratio = length / usual
    if ratio >= _MIN_TIMES:
        return f"{ratio:,.0f} times"
    percent = f"{100 * (ratio - 1):+.0f}"
    return f"{units.zero_without_sign(percent)} %"


def _ops(content: VisibleContent) -> _List | None:
    if not content.ops:
        return None
    where = ""
    if content.sides and content.sides[0].name == "devices":
        where = " on devices"
    tails = Counter(op.tail for op in content.ops)
    largest_ps = max(1, *(op.self_ps for op in content.ops))
    rows = []
    for op in content.ops:
        row = _Row(
            name=op.name,
            figures=_op_figures(op),
            bar_share=op.self_ps / largest_ps,
            # A tail that several ops share would not tell them apart.
            tail=op.tail if tails[op.tail] == 1 else "",
            is_pinned=op.is_pinned,
        )
        rows.append(row)
    noun = "kernels" if content.lists_kernels else "ops"
    return _List(f"Top {noun}{_IN_VIEW}{where}: share, mean", tuple(rows))


def _op_figures(op: TopOp) -> str:
    """As in the op table: of all self time of that side, and with what the op calls."""
    share = units.percent(op.share, 1)
    average = units.duration(op.average_ps, 3, padded=True)
    figures = f"{share:>{_SHARE_CELLS}} {average:>{_LENGTH_CELLS}}"
    if op.replicas > 1:
        return f"{op.replicas} replicas {figures}"
    return figures


def _line(part: _List, width: int) -> Pieces:
    """A list as one line: as many of its rows as fit without being cut."""
    title, _, _ = part.title.partition(",")
    room = width - len(title) - 4
    line = ""
    for row in part.rows:
        if row.role:
            continue  # only explains the row above it
        if row.texts:
            text = row.texts[0]
        else:
            figures = " ".join(row.figures.split())
            text = f"{row.tail or row.name} {figures}"
        if not line:
            line = middle(text, room)
        elif cells(line) + 3 + cells(text) <= room:
            line = f"{line}   {text}"
        else:
            break
    return (
        (f" {title}  ", "dim"),
        (line, part.role),
    )


def _side_by_side(
    columns: Sequence[list[tuple[str, str]]],
    column_width: int,
    height: int,
) -> list[Pieces]:
    longest = max(map(len, columns))
    lines: list[Pieces] = []
    for y in range(min(height, longest)):
        pieces: list[tuple[str, str]] = [(" ", "text")]
        for x, column in enumerate(columns, 1):
            text = ""
            role = "text"
            if y < len(column):
                text, role = column[y]
            pad = column_width - cells(text)
            if x < len(columns):
                pad += _LIST_GAP_CELLS
            pieces.append((text + " " * pad, role))
        lines.append(tuple(pieces))
    return lines


def _fitting_names(rows: Sequence[_Row], width: int) -> list[str]:
    """The names of rows beside their figures: two that differ never look alike.

    What only explains another row has its own room: its figures are short.
    """
    names = [""] * len(rows)
    for explains in (False, True):
        numbers = []
        figure_cells = 0
        for number, row in enumerate(rows):
            if bool(row.role) == explains:
                numbers.append(number)
                figure_cells = max(figure_cells, _figure_cells(row))
        room = width - figure_cells - 1
        texts = [_name_or_tail(rows[number], room) for number in numbers]
        for number, name in zip(numbers, distinct(texts, room), strict=True):
            names[number] = name
    return names


def _name_or_tail(row: _Row, room: int) -> str:
    """The name of a row; where it has no room, its tail, if it has one."""
    if cells(row.name) <= room or not row.tail:
        return row.name
    return row.tail


def _figure_cells(row: _Row) -> int:
    """What stands behind the name, with the bar."""
    figure_cells = cells(row.figures)
    if row.bar_share is None:
        return figure_cells
    return figure_cells + _BAR_CELLS + 1


def _bar(share: float, glyphs: Glyphs) -> str:
    bar = glyphs.thin_bar(share, _BAR_CELLS)
    return bar.ljust(_BAR_CELLS + 1)


def _column(
    part: _List,
    width: int,
    height: int,
    glyphs: Glyphs,
    *,
    max_text_rows: int | None = None,
) -> list[tuple[str, str]]:
    """A list with its title, in at most `height` lines."""
    if cells(part.title) <= width:
        title = part.title
    else:
        title = part.title.replace(_IN_VIEW, "")
    lines = [(middle(title, width), "dim")]
    rows = _with_pinned(part.rows, height - 1)
    if width < _MIN_BARRED_CELLS:
        rows = [replace(row, bar_share=None) for row in rows]
    names = _fitting_names(rows, width)
    for row, name in zip(rows, names, strict=True):
        room = height - len(lines)
        if room <= 0:
            break
        if row.texts:
            text_rows = room if max_text_rows is None else min(room, max_text_rows)
            lines += [(line, part.role) for line in _wrapped_in(row.texts, width, text_rows)]
            continue
        role = row.role or part.role
        gap = " " * (width - _figure_cells(row) - cells(name))
        # In the ink of the line: these are drawn again with many a key, and a change of color costs
        # bytes on each of them.
        bar = "" if row.bar_share is None else _bar(row.bar_share, glyphs)
        lines.append((name + gap + bar + row.figures, role))
    return lines


def longest_step_words(content: VisibleContent) -> tuple[str, ...]:
    """The longest step in one line, with what made it longer and without: nothing without steps."""
    if not content.steps:
        return ()
    step = content.steps[0]
    which = "longest" if content.step_count > 1 else "only"
    length = units.duration(step.length, 3)
    words = f"{which} {step.name} {length}"
    if not step.cause:
        return (words,)
    cause = middle(step.cause, _MAX_NAME_CELLS_IN_LINE)
    more = units.duration(step.cause_ps, 3)
    return (f"{words}, {cause} +{more}", words)


def top_op_words(content: VisibleContent) -> tuple[str, ...]:
    """The op with the most self time in one line, its share and its mean: nothing without ops."""
    if not content.ops:
        return ()
    op = content.ops[0]
    name = middle(op.name, _MAX_NAME_CELLS_IN_LINE)
    share = units.percent(op.share, 1)
    mean = units.duration(op.average_ps, 3)
    return (f"top op {name} {share}, mean {mean}",)


def _with_pinned(rows: Sequence[_Row], room: int) -> Sequence[_Row]:
    """The rows that have room; the last of them gives way to one that has to be seen."""
    pinned = [row for row in rows[room:] if row.is_pinned]
    if not pinned or room < _MIN_ROWS_TO_PIN:
        return rows
    return [*rows[: room - 1], pinned[0]]


def _wrapped_in(texts: Sequence[str], width: int, rows: int) -> list[str]:
    """The longest text that has room in so many rows; else a row of the shortest."""
    for text in texts:
        lines = text_lines(text, width)
        if len(lines) <= rows:
            return lines
    first = lines[0].rstrip(" ,;:")
    return [f"{first[: width - 1]}…"]
