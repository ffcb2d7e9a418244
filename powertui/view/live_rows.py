"""The rows of the live screen: text with roles, cut to the width at hand.

No widget, no clock of its own.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from powertui.data.live import ChannelKey, History, Total, WindowEnergy
from powertui.data.watch import FinishedEpoch
from powertui.feed import NS, Feed
from powertui.plain import plain, width
from powertui.sampler.health import Health
from powertui.sampler.recorder import Event
from powertui.terminal.glyphs import Glyphs
from powertui.units import quantity
from powertui.view import curve, limit_line

RoleLine: TypeAlias = Sequence[tuple[str, str]]  # (text, role of the theme)

# How long a chart can be; each is a rung of the zoom.
SPANS_S = (30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800)
AXIS_WIDTH = 8
_RECENT_ENERGY_S = 60.0

_DIGITS = {
    "0": ("███", "█ █", "█ █", "█ █", "███"),
    "1": (" █ ", "██ ", " █ ", " █ ", "███"),
    "2": ("███", "  █", "███", "█  ", "███"),
    "3": ("███", "  █", "███", "  █", "███"),
    "4": ("█ █", "█ █", "███", "  █", "  █"),
    "5": ("███", "█  ", "███", "  █", "███"),
    "6": ("███", "█  ", "███", "█ █", "███"),
    "7": ("███", "  █", "  █", "  █", "  █"),
    "8": ("███", "█ █", "███", "█ █", "███"),
    "9": ("███", "█ █", "███", "  █", "███"),
    ".": (" ", " ", " ", " ", "█"),
    "-": ("   ", "   ", "███", "   ", "   "),
    "W": ("█   █", "█   █", "█ █ █", "██ ██", "█   █"),
    "k": ("█  ", "█ █", "██ ", "█ █", "█ █"),
    " ": (" ", " ", " ", " ", " "),
}
BIG_ROWS = 3


def big_digits(text: str, glyphs: Glyphs) -> list[str]:
    """Digits three rows high, from half blocks; where the font has none, the plain text in the
    middle row.
    """
    if glyphs.name != "unicode" or any(char not in _DIGITS for char in text):
        return ["", text, ""]
    bitmap = [" ".join(_DIGITS[char][row] for char in text) for row in range(5)]
    bitmap.append(" " * len(bitmap[0]))
    halves = {("█", "█"): "█", ("█", " "): "▀", (" ", "█"): "▄", (" ", " "): " "}
    return [
        "".join(halves[pair] for pair in zip(bitmap[row], bitmap[row + 1], strict=True))
        for row in (0, 2, 4)
    ]


def _watts(value: float | None) -> str:
    """A power in a table: whole watts, or a dash for what is not known."""
    return "–" if value is None else f"{value:,.0f}"


def _ago(seconds: float | None) -> str:
    """How long ago, in one glance."""
    if seconds is None:
        return "never"
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def _span(seconds: float) -> str:
    """A length of time without needless figures: "30 s", "5 min", "2 h"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _clock(at_ns: int, seconds: bool = True) -> str:
    """The time of day here."""
    return time.strftime("%H:%M:%S" if seconds else "%H:%M", time.localtime(at_ns / NS))


def channel_names(histories: Mapping[ChannelKey, History]) -> dict[ChannelKey, str]:
    """For each row the machine, and the channel where its name says more; the source where that
    would not tell rows apart.
    """
    names = {}
    for key, history in histories.items():
        host, channel = plain(history.host or key.source), plain(key.channel)
        names[key] = host if channel in ("power", host) else f"{host} {channel}"
    counts = Counter(names.values())
    return {
        key: name if counts[name] == 1 else f"{plain(key.source)} {plain(key.channel)}"
        for key, name in names.items()
    }


def natural_sort_key(name: str) -> list[tuple[int, str]]:
    """A key that puts node9 before node10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


def fitting_span_s(seconds: float, longest: int = SPANS_S[-1]) -> int:
    """The shortest span that shows so many seconds, within reason."""
    return next((s for s in SPANS_S if s >= seconds or s >= longest), SPANS_S[-1])


@dataclass(frozen=True)
class LiveSpan:
    """What the chart shows."""

    span_s: int = 300
    end_ns: int | None = None  # None: the present, and it moves along

    @property
    def follows(self) -> bool:
        return self.end_ns is None

    def bounds(self, now_ns: int, cells: int, per_cell: int) -> tuple[int, int, int]:
        """(first edge, last edge, ns per column), on a grid that stands still while time passes."""
        columns = max(1, cells * per_cell)
        column = max(1, -(-self.span_s * NS // columns))
        # Edges lie on multiples of a whole cell: what was drawn moves left by cells and is not
        # drawn anew.
        cell = column * per_cell
        last = -(-(now_ns if self.end_ns is None else self.end_ns) // cell) * cell
        return last - columns * column, last, column

    def zoomed(self, direction: int) -> LiveSpan:
        """The next shorter (1) or longer (-1) span."""
        at = min(range(len(SPANS_S)), key=lambda i: abs(SPANS_S[i] - self.span_s))
        return LiveSpan(SPANS_S[max(0, min(len(SPANS_S) - 1, at - direction))], self.end_ns)

    def panned(self, share: float, now_ns: int, first_ns: int) -> LiveSpan:
        """Moved by a share of the span. Scrolled to the present, it follows again."""
        end = (now_ns if self.end_ns is None else self.end_ns) + int(share * self.span_s * NS)
        end = max(end, first_ns + self.span_s * NS // 4)
        return LiveSpan(self.span_s, None if end >= now_ns else end)


def head(feed: Feed, columns: int) -> RoleLine:
    """The first row: what is watched, and where it is recorded."""
    right, role = _recording(feed, columns)
    right = plain(right, max(10, columns - 20))
    # A source that never answered has no row: without a word the sum would silently lack it.
    missing = ""
    silent = list(feed.away)
    if len(silent) == 1:
        missing = f" · no answer yet: {silent[0]}"
    elif silent:
        missing = f" · {len(silent)} without values"
    if missing:
        missing = plain(missing, max(0, columns - width(right) - 8))
    left = plain(feed.title, max(4, columns - width(right) - width(missing) - 3))
    gap = " " * max(2, columns - width(left) - width(missing) - width(right))
    parts = ((left, "title"), (missing, "warn"), (gap, "text"), (right, role))
    return [part for part in parts if part[0]]


def _recording(feed: Feed, columns: int) -> tuple[str, str]:
    """Where the readings are recorded, or why not, with its role."""
    if feed.trouble:
        return f"{feed.trouble} ", "error"
    if feed.file is None:
        return "not recorded", "dim"
    words = "● recording to "
    return words + _tail(plain(str(feed.file)), columns - 24 - len(words)), "ok"


def _tail(path: str, room: int) -> str:
    """The end of a path: the file's name tells more than the folders above it."""
    return path if len(path) <= room else "…" + path[-max(8, room - 1) :]


def summary(
    feed: Feed,
    history: History,
    total: Total | None,
    view: tuple[int, int],
    columns: int,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """The present value in large digits, with facts beside it.

    The facts are the range of the window, the energy so far, and the health of the sensor.
    """
    now = history.now
    if now is None:
        text = "-"
    elif abs(now) < 100_000:
        text = f"{now:.0f}"
    else:
        text = f"{now / 1000:.0f} k"
    rows = big_digits(f"{text} W", glyphs)
    digits_width = max(width(row) for row in rows) + 4
    facts_width = columns - digits_width - 3
    facts = _facts(feed, history, total, view, facts_width)
    lines: list[RoleLine] = []
    for row, fact in zip(rows, facts, strict=True):
        digits = "  " + row.ljust(digits_width)
        line: list[tuple[str, str]] = [(digits, "warn" if now is None else "power")]
        room = facts_width
        for part, role in fact:
            cut = plain(part, room) if room > 0 else ""
            line.append((cut, role))
            room -= width(cut)
        lines.append(line)
    return lines


def _fitting(room: int, *wordings: str) -> str:
    """The first wording that fits, from the fullest to the tersest."""
    return next((text for text in wordings if width(text) <= room), wordings[-1])


def _facts(
    feed: Feed, history: History, total: Total | None, view: tuple[int, int], room: int
) -> list[RoleLine]:
    """Three lines: the range of the window, then two of energy and health."""
    window = _window_line(history, view, room)
    if total is not None:
        healths = [feed.healths[key] for key in total.keys]
        return [window, _sum_line(total, room), _energy_line(healths, feed, room)]
    health = feed.healths[history.key]
    return [window, _energy_line([health], feed, room), _health_line(feed, history.key, room)]


def _window_line(history: History, view: tuple[int, int], room: int) -> RoleLine:
    """Lowest, mean and highest power of the window, and how long that is."""
    stretch = history.stretch(*view)
    lowest, mean, highest = _watts(stretch.lowest), _watts(stretch.mean), _watts(stretch.highest)
    values = _fitting(
        room,
        f"min {lowest}  mean {mean}  max {highest} W",
        f"min {lowest} mean {mean} max {highest}",
        f"{lowest} · {mean} · {highest} W",
    )
    length = f"  in the {_span((view[1] - view[0]) / NS)} shown"
    if width(values) + width(length) > room:
        return [(values, "text")]
    return [(values, "text"), (length, "dim")]


def _health_line(feed: Feed, key: ChannelKey, room: int) -> RoleLine:
    """How the sensor answers, and why it has no value where it has none."""
    health, mono = feed.healths[key], feed.mono()
    trouble: list[tuple[str, str]] = []
    if health.reason:
        last = "  "
        if health.last_value is not None:
            last = f" (last {_ago(mono - health.last_value.mono)} ago)  "
        trouble = [(f"no value: {health.reason}", "error"), (last, "dim")]
    changed = "never changed"
    if health.changed_mono is not None:
        changed = f"changed {_ago(health.age(mono))} ago"
    every = f"every {health.refresh:.3g} s" if health.refresh is not None else ""
    refreshes = f"refreshes {every}" if every else ""
    trip = f"{health.rtt * 1000:.3g} ms" if health.rtt else ""
    answers = f"answers in {trip}" if trip else ""
    counts = []
    reconnects, gaps = feed.reconnects(key), health.gaps
    if reconnects:
        counts.append(f"{reconnects} reconnect{'s' * (reconnects != 1)}")
    if gaps:
        counts.append(f"{gaps} gap{'s' * (gaps != 1)}")
    wordings = (
        (changed, refreshes, answers, *counts),
        (changed, every, answers, *counts),
        (changed, every, trip, *counts),
        (changed, trip, *counts),
        (changed, *counts),
    )
    texts = [" · ".join(part for part in wording if part) for wording in wordings]
    return [*trouble, (_fitting(room, *texts), "dim")]


def _sum_line(total: Total, room: int) -> RoleLine:
    """What the sum adds up.

    Where a row has no value the sum has none: then what the others draw.
    """
    rows = len(total.keys)
    if total.missing and total.watts is not None:
        return [
            (f"{rows - total.missing} of {rows} draw {_watts(total.watts)} W", "text"),
            (f", {total.missing} without a value", "warn"),
        ]
    if total.missing:
        return [(f"none of {rows} channels has a value", "warn")]
    line: list[tuple[str, str]] = [(f"sum of {rows} channels", "text")]
    made = f"  {plain(total.text)}"
    return [*line, (made, "dim")] if width(line[0][0]) + width(made) <= room else line


# From this share of the time on, an energy is called measured rather than estimated: one poll that
# is missing in 200 changes a mean by less than sensors differ (chosen, not measured).
_FULL_COVERAGE = 0.995


def _energy_line(healths: Sequence[Health], feed: Feed, room: int) -> RoleLine:
    """Energy since the beginning and in the last minute, and how much of the time is covered."""
    totals = [health.total() for health in healths]
    joules = 0.0
    for total in totals:
        # Where readings are missing the mean of the others stands for them, as in every other
        # answer; the energy is then called estimated.
        if total.coverage >= _FULL_COVERAGE or total.watts is None:
            joules += total.joules
        else:
            joules += total.watts * total.span_s
    covered = max((health.covered_s for health in healths), default=0.0)
    if covered <= 0:
        return [("energy: not resolved yet; it needs two readings", "dim")]
    share = min((total.coverage for total in totals if total.span_s > 0), default=1.0)
    measured = share >= _FULL_COVERAGE
    length = covered if measured else max(total.span_s for total in totals)
    so_far = f"{quantity(joules, 'J')} in {_span(round(length))}"
    partly = ""
    if not measured and len(healths) == 1:
        partly = f" ({share:.0%} covered)"
    elif not measured:
        gaps = sum(total.coverage < _FULL_COVERAGE for total in totals)
        partly = f" ({gaps} of {len(healths)} with gaps)"
    latest = _recent_energy(healths, feed.mono())
    role = "measured" if measured else "estimated"
    badge = f" {role}"
    # What a narrow window can do without goes first.
    if width(so_far + badge + partly + latest) > room:
        so_far = quantity(joules, "J")
    if width(so_far + badge + partly + latest) > room:
        badge = ""
    if width(so_far + badge + partly + latest) > room:
        latest = latest.replace("last ", "")
    line = [(so_far, "text"), (badge, role), (partly, "warn"), (latest, "text")]
    return [part for part in line if part[0]]


def _recent_energy(healths: Sequence[Health], mono: float) -> str:
    """The energy of the last minute; "" where none was covered."""
    energies = [health.between(mono - _RECENT_ENERGY_S, mono) for health in healths]
    covered = [energy for energy in energies if energy.covered_s > 0]
    if not covered:
        return ""
    length = _span(round(max(energy.covered_s for energy in covered)))
    joules = quantity(sum(energy.joules for energy in covered), "J")
    of = f" of {len(covered)}" if len(covered) < len(healths) else ""
    return f" · last {length}: {joules}{of}"


def chart(
    history: History,
    view: LiveSpan,
    now_ns: int,
    hold_ns: int,
    size: tuple[int, int],
    glyphs: Glyphs,
    marks: Sequence[tuple[int, str]],
) -> list[RoleLine]:
    """The history of one channel: axis, curve, limits, marked moments and the time of day."""
    columns, rows = size
    cells, height = columns - AXIS_WIDTH, rows - 2
    if cells < 8 or height < 2:
        return []
    per_cell = curve.columns_per_cell(glyphs)
    first, last, column = view.bounds(now_ns, cells, per_cell)
    edges = first + column * np.arange(cells * per_cell + 1, dtype=np.int64)
    part = history.pieces(first - hold_ns, last)
    shape = curve.envelope(part.since, part.low, edges, hold_ns, high=part.high, until=part.until)
    # The future is not known: a value holds until now, no further.
    shape.low[edges[:-1] > now_ns] = np.nan
    caps = _caps(history, first, last, now_ns)
    scale = curve.Axis(0, 1, 1)
    if shape.known.any():
        highest = limit_line.highest(float(np.nanmax(shape.high)), (watts for _, _, watts in caps))
        scale = curve.axis(float(np.nanmin(shape.low)), highest, height)
    chars = [list(text) for text in curve.draw(shape, scale, height, glyphs)]
    starts = edges[:-1:per_cell]
    cell_ns = column * per_cell
    capped = (
        (np.flatnonzero((starts + cell_ns > lo) & (starts < hi)), watts) for lo, hi, watts in caps
    )
    limit_cells = set(limit_line.draw(chars, capped, scale, glyphs.horizontal))
    lines: list[RoleLine] = []
    for row, (text, label) in enumerate(
        zip(chars, _axis_labels(scale, height, glyphs), strict=True)
    ):
        limits = [(row, cell) in limit_cells for cell in range(cells)]
        lines.append([(label, "axis"), *_runs(text, limits)])
    indent = (" " * AXIS_WIDTH, "axis")
    lines.append([indent, (_marks(marks, first, cell_ns, cells, glyphs), "cursor")])
    lines.append([indent, (_times(first, cell_ns, cells), "axis")])
    return lines


def _axis_labels(scale: curve.Axis, height: int, glyphs: Glyphs) -> list[str]:
    """What stands left of each row: ticks in watts, the unit in the first row where it fits."""
    ticks = {}
    for tick in scale.ticks():
        row = round((scale.hi - tick) / (scale.hi - scale.lo) * (height - 1))
        ticks[row] = scale.text(tick)
    has_unit = max(map(len, ticks.values())) <= AXIS_WIDTH - 3
    labels = []
    for row in range(height):
        label = ticks.get(row, "")
        if has_unit:
            label += " W" if row == 0 else "  "
        labels.append(label.rjust(AXIS_WIDTH - 1) + (glyphs.vertical if row in ticks else " "))
    return labels


def _caps(history: History, first: int, last: int, now_ns: int) -> list[tuple[int, int, float]]:
    """(start, end, W) of the limits that hold somewhere in view, up to now."""
    ends = [*(cap.start_ns for cap in history.limits[1:]), now_ns]
    caps = []
    for cap, end in zip(history.limits, ends, strict=False):
        if cap.start_ns < last and end > first and not math.isnan(cap.watts):
            caps.append((cap.start_ns, end, cap.watts))
    return caps


def _runs(text: Sequence[str], limits: Sequence[bool]) -> RoleLine:
    """A row of the chart: the curve, and the line of a limit where that is."""
    runs = []
    for is_limit, group in itertools.groupby(
        zip(text, limits, strict=True), key=lambda cell: cell[1]
    ):
        runs.append(("".join(char for char, _ in group), "estimated" if is_limit else "power"))
    return runs


def _times(first_ns: int, cell_ns: int, cells: int) -> str:
    """Times of day below the chart, each beginning at the cell it stands for."""
    seconds = cell_ns * cells < 3600 * NS
    length = 8 if seconds else 5
    steps = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
    step = next((s for s in steps if s * NS >= cell_ns * (length + 6)), steps[-1]) * NS
    zone = time.localtime(first_ns / NS).tm_gmtoff * NS
    at = -(-(first_ns + zone) // step) * step - zone
    line = [" "] * cells
    while at < first_ns + cell_ns * cells:
        cell = (at - first_ns) // cell_ns
        if cell + length <= cells:
            line[cell : cell + length] = _clock(at, seconds)
        at += step
    return "".join(line)


def _marks(
    marks: Sequence[tuple[int, str]], first_ns: int, cell_ns: int, cells: int, glyphs: Glyphs
) -> str:
    """Names of marked moments, where they fit; at least a sign where they do not."""
    line = [" "] * cells
    shown = [
        (cell, text)
        for at, text in sorted(marks)
        if 0 <= (cell := (at - first_ns) // cell_ns) < cells
    ]
    for place, (cell, text) in enumerate(shown):
        line[cell] = glyphs.cursor
        name = plain(text, 16)
        end = shown[place + 1][0] if place + 1 < len(shown) else cells
        if cell + 1 + width(name) <= end and width(name) == len(name):
            line[cell + 1 : cell + 1 + len(name)] = name
    return "".join(line)


class _TableLayout:
    """Which columns of the table of channels have room, and how wide they are."""

    def __init__(self, names: Sequence[str], columns: int) -> None:
        widest_name = max((width(name) for name in names), default=4)
        self.name = min(widest_name, max(8, columns // 4))
        watts, flag, figures, energy, change = 9, 7, 3 * 7, 10, 9
        fixed = self.name + 2 + watts + flag + figures
        # What a narrow window can do without goes first: the curve, then the last change.
        self.spark = max(0, min(48, columns - fixed - energy - change - 2))
        self.has_energy = fixed + energy <= columns
        self.has_change = fixed + energy + change <= columns

    def header(self) -> str:
        text = f"{'':{self.name + 2}}{'now W':>9}{'':7}{'':{self.spark}}"
        text += f"{'min':>7}{'mean':>7}{'max':>7}"
        if self.has_energy:
            text += f"{'energy':>10}"
        if self.has_change:
            text += f"{'change':>9}"
        return text


def table(
    feed: Feed,
    rows: Sequence[ChannelKey],
    selected: ChannelKey | None,
    outliers: dict[ChannelKey, float],
    view: LiveSpan,
    columns: int,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """One row a channel: its present power, its recent course, its window, its health."""
    names = channel_names(feed.board.histories)
    layout = _TableLayout([names[key] for key in rows], columns)
    bounds = view.bounds(feed.now_ns(), max(1, layout.spark), 1)
    lines: list[RoleLine] = [[(layout.header()[:columns], "dim")]]
    for key in rows:
        name = plain(names[key], layout.name)
        mark = glyphs.right if key == selected else " "
        label = f"{mark} {name}{' ' * (layout.name - width(name))}"
        line = [(label, "title" if key == selected else "text")]
        lines.append(line + _channel_cells(feed, key, outliers.get(key), bounds, layout, glyphs))
    return lines


def _channel_cells(
    feed: Feed,
    key: ChannelKey,
    outlier: float | None,
    bounds: tuple[int, int, int],
    layout: _TableLayout,
    glyphs: Glyphs,
) -> list[tuple[str, str]]:
    """A channel's row of the table behind its name."""
    history, health = feed.board.histories[key], feed.healths[key]
    first, last, column = bounds
    stretch = history.stretch(first, last)
    flag = "" if outlier is None else f" {outlier:+,.0f}"
    cells = [
        (f"{_watts(history.now):>9}", "warn" if history.now is None else "power"),
        (flag[:7].ljust(7), "warn"),
    ]
    if layout.spark:
        edges = first + column * np.arange(layout.spark + 1, dtype=np.int64)
        part = history.pieces(first - column, last)
        hold = int(max(feed.interval_s * 3, 1.0) * NS)
        shape = curve.envelope(part.since, part.low, edges, hold, high=part.high, until=part.until)
        cells.append((curve.sparkline(shape, glyphs), "power"))
    figures = (stretch.lowest, stretch.mean, stretch.highest)
    cells.append(("".join(f"{_watts(watts):>7}" for watts in figures), "text"))
    if layout.has_energy:
        energy = quantity(health.joules, "J", 3) if health.covered_s else "–"
        cells.append((f"{energy:>10}", "text"))
    if layout.has_change:
        cells.append((f"{_ago(health.age(feed.mono())):>9}", "dim"))
    if health.reason:
        cells.append((f"  {plain(health.reason)}", "error"))
    return cells


def waiting(away: Mapping[str, str], room: int, columns: int) -> list[RoleLine]:
    """Sources that have no row yet: what is known of each."""
    names = sorted(away, key=natural_sort_key)
    shown = names if len(names) <= room else names[: max(0, room - 1)]
    widest = min(max((width(name) for name in shown), default=0), max(8, columns // 3))
    lines: list[RoleLine] = []
    for name in shown:
        label = plain(name, widest)
        state = away[name] or "connecting …"
        role = "warn" if away[name] else "dim"
        lines.append(
            [
                (f"  {label}{' ' * (widest - width(label))}", "text"),
                (f"  {plain(state, max(8, columns - widest - 4))}", role),
            ]
        )
    if len(shown) < len(names):
        lines.append([(f"  … {len(names) - len(shown)} more have not answered yet", "dim")])
    return lines


def run_rows(
    epochs: Sequence[tuple[FinishedEpoch, WindowEnergy | None]], room: int
) -> list[RoleLine]:
    """The epochs that have ended, newest first: duration, joules, what was logged."""
    header = f"{'epoch':>7}{'duration':>11}{'energy':>12}{'±':>9}   logged at its end"
    lines: list[RoleLine] = [[(header, "dim")]]
    newest_first = list(epochs)[::-1]
    for epoch, energy in newest_first[: max(0, room - 1)]:
        length = "–"
        if epoch.begin_ns is not None:
            length = f"{(epoch.end_ns - epoch.begin_ns) / NS:.1f} s"
        scalars = "  ".join(f"{plain(name, 20)} {value:.4g}" for name, value in epoch.scalars[:4])
        lines.append(
            [
                (f"{epoch.number:>7}{length:>11}", "text"),
                *_epoch_energy(energy),
                (f"  {scalars}", "text"),
            ]
        )
    return lines


def _epoch_energy(energy: WindowEnergy | None) -> list[tuple[str, str]]:
    """Joules with their interval, or why there are none."""
    if energy is None:
        return [("   not resolved: its start is not known", "dim")]
    if energy.joules is None or energy.lo is None or energy.hi is None:
        reason = plain(energy.reason.removeprefix("not resolved: "), 50)
        return [(f"   not resolved: {reason}", "dim")]
    half = quantity((energy.hi - energy.lo) / 2, "J", 2)
    return [
        (f"{quantity(energy.joules, 'J'):>12}{half:>9}", "text"),
        (f" {energy.badge.value}", energy.badge.value),
    ]


def log_rows(events: Sequence[Event], room: int) -> list[RoleLine]:
    """What happened last, newest at the bottom."""
    roles = {"info": "dim", "warning": "warn", "error": "error"}
    lines: list[RoleLine] = []
    for event in list(events)[-room:]:
        where = f"{plain(event.source)}: " if event.source else ""
        role = roles.get(event.level, "text")
        lines.append(
            [(f"{_clock(int(event.stamp.t * NS))} ", "dim"), (where + plain(event.text), role)]
        )
    return lines
