"""What the live screen says, row by row: text with roles, cut to the width at hand.

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
    """The first row: what is watched, and where it goes."""
    if feed.trouble:
        right, role = f"{feed.trouble} ", "error"
    elif feed.file is not None:
        said = "● recording to "
        right, role = said + _tail(plain(str(feed.file)), columns - 24 - len(said)), "ok"
    else:
        right, role = "not recorded", "dim"
    right = plain(right, max(10, columns - 20))
    # A source that never answered has no row: the sum would be silently short of it.
    away = list(feed.away)
    missing = (
        ""
        if not away
        else f" · no answer yet: {away[0]}"
        if len(away) == 1
        else f" · {len(away)} without values"
    )
    missing = plain(missing, max(0, columns - width(right) - 8)) if missing else ""
    left = plain(feed.title, max(4, columns - width(right) - width(missing) - 3))
    gap = " " * max(2, columns - width(left) - width(missing) - width(right))
    return [
        part
        for part in ((left, "title"), (missing, "warn"), (gap, "text"), (right, role))
        if part[0]
    ]


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
    """The current value, large, with what the window held, the energy so far and the health of the
    sensor beside it.
    """
    now = history.now
    text = (
        "-"
        if now is None
        else f"{now:,.0f}".replace(",", "")
        if abs(now) < 100_000
        else f"{now / 1000:.0f} k"
    )
    rows = big_digits(f"{text} W", glyphs)
    pad = max(width(row) for row in rows) + 4
    facts = _facts(feed, history, total, view, columns - pad - 3)
    lines: list[RoleLine] = []
    for row, fact in zip(rows, facts, strict=True):
        line: list[tuple[str, str]] = [("  " + row.ljust(pad), "warn" if now is None else "power")]
        room = columns - pad - 3
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
    stretch = history.stretch(*view)
    lowest, mean, highest = _watts(stretch.lowest), _watts(stretch.mean), _watts(stretch.highest)
    values = _fitting(
        room,
        f"min {lowest}  mean {mean}  max {highest} W",
        f"min {lowest} mean {mean} max {highest}",
        f"{lowest} · {mean} · {highest} W",
    )
    shown: list[tuple[str, str]] = [
        (values, "text"),
        (f"  in the {_span((view[1] - view[0]) / NS)} shown", "dim"),
    ]
    if width(shown[0][0]) + width(shown[1][0]) > room:
        shown.pop()
    if total is not None:
        return [
            shown,
            _sum_line(total, room),
            _energy_line([feed.healths[key] for key in total.keys], feed, room),
        ]
    health = feed.healths[history.key]
    mono = feed.mono()
    trouble: list[tuple[str, str]] = []
    if health.reason:
        last = None if health.last_value is None else mono - health.last_value.mono
        trouble = [
            (f"no value: {health.reason}", "error"),
            (f" (last {_ago(last)} ago)  " if last is not None else "  ", "dim"),
        ]
    again, gaps = feed.reconnects(history.key), health.gaps
    counts = [f"{again} reconnect{'s' * (again != 1)}"] * bool(again) + [
        f"{gaps} gap{'s' * (gaps != 1)}"
    ] * bool(gaps)
    changed = (
        "never changed" if health.changed_mono is None else f"changed {_ago(health.age(mono))} ago"
    )
    every = "" if health.refresh is None else f"every {health.refresh:.3g} s"
    trip = f"{health.rtt * 1000:.3g} ms" if health.rtt else ""
    health_text = _fitting(
        room,
        " · ".join(
            part
            for part in (
                changed,
                every and f"refreshes {every}",
                trip and f"answers in {trip}",
                *counts,
            )
            if part
        ),
        " · ".join(
            part for part in (changed, every, trip and f"answers in {trip}", *counts) if part
        ),
        " · ".join(part for part in (changed, every, trip, *counts) if part),
        " · ".join(part for part in (changed, trip, *counts) if part),
        " · ".join(part for part in (changed, *counts) if part),
    )
    return [shown, _energy_line([health], feed, room), [*trouble, (health_text, "dim")]]


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


_FULL_COVERAGE = 0.995  # of the time, from which on a sum is called measured


def _energy_line(rows: Sequence[Health], feed: Feed, room: int) -> RoleLine:
    """Energy since the beginning and in the last minute, both counted from samples, and how much of
    the time they cover.
    """
    totals = [h.total() for h in rows]
    # Where readings are missing, what was read around them stands for them, as in every other
    # answer; the badge says so.
    joules = sum(
        t.joules if t.coverage >= _FULL_COVERAGE or t.watts is None else t.watts * t.span_s
        for t in totals
    )
    share = min((t.coverage for t in totals if t.span_s > 0), default=1.0)
    covered = max((h.covered_s for h in rows), default=0.0)
    if covered <= 0:
        return [("energy: not resolved yet; it needs two readings", "dim")]
    lasted = covered if share >= _FULL_COVERAGE else max(t.span_s for t in totals)
    mono = feed.mono()
    recent = [
        energy for h in rows if (energy := h.between(mono - _RECENT_ENERGY_S, mono)).covered_s > 0
    ]
    so_far, partly, latest = f"{quantity(joules, 'J')} in {_span(round(lasted))}", "", ""
    if share < _FULL_COVERAGE:
        worst = sum(t.coverage < _FULL_COVERAGE for t in totals)
        partly = (
            f" ({share:.0%} covered)" if len(rows) == 1 else f" ({worst} of {len(rows)} with gaps)"
        )
    if recent:
        latest = (
            f" · last {_span(round(max(r.covered_s for r in recent)))}: "
            f"{quantity(sum(r.joules for r in recent), 'J')}"
        )
        latest += f" of {len(recent)}" * (len(recent) < len(rows))
    role = "measured" if share >= _FULL_COVERAGE else "estimated"
    badge = f" {role}"
    if width(so_far + badge + partly + latest) > room:
        so_far = quantity(joules, "J")
    if width(so_far + badge + partly + latest) > room:
        badge = ""
    if width(so_far + badge + partly + latest) > room:
        latest = latest.replace("last ", "")
    line = [(so_far, "text"), (badge, role), (partly, "warn"), (latest, "text")]
    return [part for part in line if part[0]]


def chart(
    history: History,
    view: LiveSpan,
    now_ns: int,
    hold_ns: int,
    size: tuple[int, int],
    glyphs: Glyphs,
    marks: Sequence[tuple[int, str]],
) -> list[RoleLine]:
    """The history of one channel: an axis with round watts, the curve, the time of day, and what
    was marked.
    """
    columns, rows = size
    cells = columns - AXIS_WIDTH
    if cells < 8 or rows < 4:
        return []
    per_cell = curve.columns_per_cell(glyphs)
    first, last, column = view.bounds(now_ns, cells, per_cell)
    edges = first + column * np.arange(cells * per_cell + 1, dtype=np.int64)
    part = history.pieces(first - hold_ns, last)
    shape = curve.envelope(part.since, part.low, edges, hold_ns, high=part.high, until=part.until)
    # The future is not known: a value is held until now, no further.
    shape.low[edges[:-1] > now_ns] = np.nan
    known = shape.known
    height = rows - 2
    caps = _caps(history, first, last, now_ns)
    scale = curve.Axis(0, 1, 1)
    if known.any():
        highest = limit_line.highest(float(np.nanmax(shape.high)), (watts for _, _, watts in caps))
        scale = curve.axis(float(np.nanmin(shape.low)), highest, height)
    labels = {
        round((scale.hi - tick) / (scale.hi - scale.lo) * (height - 1)): scale.text(tick)
        for tick in scale.ticks()
    }
    widest = max(map(len, labels.values()))
    lines: list[RoleLine] = []
    chars = [list(text) for text in curve.draw(shape, scale, height, glyphs)]
    starts = edges[:-1:per_cell]
    held = (
        (np.flatnonzero((starts + column * per_cell > lo) & (starts < hi)), watts)
        for lo, hi, watts in caps
    )
    taken = set(limit_line.draw(chars, held, scale, glyphs.horizontal))
    for row, text in enumerate(chars):
        label = labels.get(row, "")
        unit = (" W" if row == 0 else "  ") if widest <= AXIS_WIDTH - 3 else ""
        edge = glyphs.vertical if row in labels else " "
        drawn = _runs(text, [(row, cell) in taken for cell in range(cells)])
        lines.append([((label + unit).rjust(AXIS_WIDTH - 1) + edge, "axis"), *drawn])
    lines.append(
        [
            (" " * AXIS_WIDTH, "axis"),
            (_marks(marks, first, column * per_cell, cells, glyphs), "cursor"),
        ]
    )
    lines.append([(" " * AXIS_WIDTH, "axis"), (_times(first, column * per_cell, cells), "axis")])
    return lines


def _caps(history: History, first: int, last: int, now_ns: int) -> list[tuple[int, int, float]]:
    """(begin, end, W) of the limits that hold somewhere in view, up to now."""
    ends = [*(cap.start_ns for cap in history.limits[1:]), now_ns]
    every = [(cap.start_ns, end, cap.watts) for cap, end in zip(history.limits, ends, strict=False)]
    return [one for one in every if one[0] < last and one[1] > first and not math.isnan(one[2])]


def _runs(text: Sequence[str], limits: Sequence[bool]) -> RoleLine:
    """A row of the chart: the curve, and the line of a limit where that is."""
    return [
        ("".join(text[at] for at, _ in group), "estimated" if limit else "power")
        for limit, group in itertools.groupby(enumerate(limits), key=lambda one: one[1])
    ]


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


def table(
    feed: Feed,
    rows: Sequence[ChannelKey],
    selected: ChannelKey | None,
    outliers: dict[ChannelKey, float],
    view: LiveSpan,
    columns: int,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """One row a channel: what it draws now, its recent course, its window, its health."""
    histories = feed.board.histories
    names = channel_names(histories)
    widest = min(max((width(names[key]) for key in rows), default=4), max(8, columns // 4))
    now_ns, mono = feed.now_ns(), feed.mono()
    fixed = widest + 2 + 9 + 7 + 3 * 7
    # What a narrow window can do without goes first.
    energies, changes = fixed + 10 <= columns, fixed + 10 + 9 <= columns
    spark = max(0, min(48, columns - fixed - 10 - 9 - 2))
    header = f"{'':{widest + 2}}{'now W':>9}{'':7}{'':{spark}}{'min':>7}{'mean':>7}{'max':>7}"
    header += f"{'energy':>10}" * energies + f"{'change':>9}" * changes
    lines: list[RoleLine] = [[(header[:columns], "dim")]]
    for key in rows:
        history, health = histories[key], feed.healths[key]
        first, last, column = view.bounds(now_ns, max(1, spark), 1)
        stretch = history.stretch(first, last)
        mark = glyphs.right if key == selected else " "
        name = plain(names[key], widest)
        odd = outliers.get(key)
        flag = f" {odd:+,.0f}"[:7].ljust(7) if odd is not None else " " * 7
        line: list[tuple[str, str]] = [
            (
                f"{mark} {name}{' ' * (widest - width(name))}",
                "title" if key == selected else "text",
            ),
            (f"{_watts(history.now):>9}", "warn" if history.now is None else "power"),
            (flag, "warn"),
        ]
        if spark:
            edges = first + column * np.arange(spark + 1, dtype=np.int64)
            part = history.pieces(first - column, last)
            hold = int(max(feed.interval_s * 3, 1.0) * NS)
            shape = curve.envelope(
                part.since, part.low, edges, hold, high=part.high, until=part.until
            )
            line.append((curve.sparkline(shape, glyphs), "power"))
        line.append(
            (
                f"{_watts(stretch.lowest):>7}{_watts(stretch.mean):>7}{_watts(stretch.highest):>7}",
                "text",
            )
        )
        if energies:
            line.append(
                (f"{quantity(health.joules, 'J', 3) if health.covered_s else '–':>10}", "text")
            )
        if changes:
            line.append((f"{_ago(health.age(mono)):>9}", "dim"))
        if health.reason:
            line.append((f"  {plain(health.reason)}", "error"))
        lines.append(line)
    return lines


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
    lines: list[RoleLine] = [
        [(f"{'epoch':>7}{'duration':>11}{'energy':>12}{'±':>9}   logged at its end", "dim")]
    ]
    for epoch, energy in list(epochs)[::-1][: max(0, room - 1)]:
        length = "–" if epoch.begin_ns is None else f"{(epoch.end_ns - epoch.begin_ns) / NS:.1f} s"
        line: list[tuple[str, str]] = [(f"{epoch.number:>7}{length:>11}", "text")]
        if energy is None or energy.joules is None or energy.lo is None or energy.hi is None:
            why = "its start is not known" if energy is None else energy.reason
            line.append(
                (f"   not resolved: {plain(why.removeprefix('not resolved: '), 50)}", "dim")
            )
        else:
            half = quantity((energy.hi - energy.lo) / 2, "J", 2)
            line += [
                (f"{quantity(energy.joules, 'J'):>12}{half:>9}", "text"),
                (f" {energy.badge.value}", energy.badge.value),
            ]
        shown = "  ".join(f"{plain(name, 20)} {value:.4g}" for name, value in epoch.scalars[:4])
        line.append((f"  {shown}", "text"))
        lines.append(line)
    return lines


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
