"""The tables of the live screen: channels, sources that have not answered, epochs, and the log.

Text with roles, cut to the width at hand: no widget, no clock of its own.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from powertui import units
from powertui.data.live import Board, ChannelKey, History, WindowEnergy
from powertui.data.model import Int64s
from powertui.data.watch import FinishedEpoch
from powertui.feed import NS, Feed
from powertui.plain import plain, width
from powertui.sampler.recorder_events import Event
from powertui.terminal.glyphs import Glyphs
from powertui.view import curve, live_summary
from powertui.view.curve import Envelope
from powertui.view.live_chart import LiveSpan
from powertui.view.live_texts import RoleLine, age_text, time_of_day, watts_text

# Widths of the columns of the table of channels.
_WATTS_CELLS = 9
_FLAG_CELLS = 7  # how far a row is from the others, where that stands out
_FIGURE_CELLS = 7  # of the lowest, the mean and the highest power
_ENERGY_CELLS = 10
_CHANGE_CELLS = 9
_MAX_CURVE_CELLS = 48
_MAX_SCALARS = 4  # of an epoch: what a line of 120 cells has room for
MAX_LOG_ROWS = 4  # of events below the tables, where the page is high
# How long a reading holds: so many intervals of the sampler, and at least so long. An answer that
# is late then makes no hole in the curve (chosen, not measured).
_HELD_INTERVALS = 3
_MIN_HELD_S = 1.0
_SEPARATORS = " .:/"  # where a name may be cut so that whole words stay
_MAX_SORT_KEYS = 20_000  # of names: hosts and channels of the largest fleet, which stay the same


def channel_names(histories: Mapping[ChannelKey, History]) -> dict[ChannelKey, str]:
    """The name of each row: the machine, and the channel where its name says more.

    Rows that would have the same name are named by their source.
    """
    names = {}
    for key, history in histories.items():
        host = plain(history.host or key.source)
        channel = plain(key.channel)
        if channel in ("power", host):
            names[key] = host
        elif channel.startswith((f"{host} ", f"{host}:")):
            # A source of many hosts names the channels so, some of them with a port.
            names[key] = channel
        else:
            names[key] = f"{host} {channel}"
    counts = Counter(names.values())
    for key, name in names.items():
        if counts[name] > 1:
            names[key] = f"{plain(key.source)} {plain(key.channel)}"
    return names


def told_apart(names: Sequence[str], cells: int) -> list[str]:
    """Names in so many cells. Where one is wider, what all begin or end with alike is left out."""
    widest = max(map(width, names), default=0)
    if len(names) < 2 or widest <= cells:
        return [plain(name, cells) for name in names]
    head = _shared_words(names)
    tail = _shared_words([name[::-1] for name in names])
    shortest = min(map(len, names))
    if head + tail >= shortest:
        tail = 0
    before = "…" if head else ""
    after = "…" if tail else ""
    shown = []
    for name in names:
        end = len(name) - tail
        text = f"{before}{name[head:end]}{after}"
        shown.append(plain(text, cells))
    return shown


def _shared_words(names: Sequence[str]) -> int:
    """With how many characters all of them begin alike, up to the end of a word."""
    # How the first and the last by the alphabet begin alike, all do.
    first = min(names)
    last = max(names)
    alike = 0
    for first_char, last_char in zip(first, last, strict=False):
        if first_char != last_char:
            break
        alike += 1
    ends = [first.rfind(separator, 0, alike) for separator in _SEPARATORS]
    return 1 + max(ends)


@functools.lru_cache(maxsize=_MAX_SORT_KEYS)
def ordered_channels(board: Board) -> list[ChannelKey]:
    """Rows of the table: outliers first, then by host and channel."""
    outliers = board.outliers()
    names = channel_names(board.histories)

    def position(key: ChannelKey) -> tuple[float, tuple[tuple[int, str], ...]]:
        difference = abs(outliers.get(key, 0.0))
        name_key = natural_sort_key(names[key])
        return -difference, name_key

    return sorted(names, key=position)


def natural_sort_key(name: str) -> tuple[tuple[int, str], ...]:
    """A key that puts node9 before node10."""
    key: list[tuple[int, str]] = []
    for part in re.split(r"(\d+)", name):
        if part.isdigit():
            key.append((int(part), ""))
        elif part:
            key.append((-1, part))
    return tuple(key)


class _TableLayout:
    """Which columns of the table of channels have room, and how wide they are."""

    def __init__(self, names: Sequence[str], columns: int) -> None:
        widest_name = max(map(width, names), default=4)
        self.name = min(widest_name, max(8, columns // 4))
        figures = 3 * _FIGURE_CELLS
        fixed = self.name + 2 + _WATTS_CELLS + _FLAG_CELLS + figures
        with_energy = fixed + _ENERGY_CELLS
        with_change = with_energy + _CHANGE_CELLS
        self.has_energy = with_energy <= columns
        self.has_change = with_change <= columns
        # What a narrow window can do without goes first: the curve, then the last change.
        spare = columns - with_change - 2
        self.spark = max(0, min(_MAX_CURVE_CELLS, spare))

    def header(self) -> str:
        text = " " * (self.name + 2)
        text += "now W".rjust(_WATTS_CELLS)
        text += " " * (_FLAG_CELLS + self.spark)
        for title in ("min", "mean", "max"):
            text += title.rjust(_FIGURE_CELLS)
        if self.has_energy:
            text += "energy".rjust(_ENERGY_CELLS)
        if self.has_change:
            text += "change".rjust(_CHANGE_CELLS)
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
    bounds = view.bounds(feed.now_ns(), max(1, layout.spark))
    shown_names = dict(zip(names, told_apart(list(names.values()), layout.name), strict=True))
    lines: list[RoleLine] = [[(layout.header()[:columns], "dim")]]
    for key in rows:
        name = shown_names[key]
        mark = glyphs.right if key == selected else " "
        label = f"{mark} {name}{' ' * (layout.name - width(name))}"
        line = [(label, "title" if key == selected else "text")]
        lines.append(
            line
            + _channel_cells(
                feed=feed,
                key=key,
                outlier=outliers.get(key),
                bounds=bounds,
                layout=layout,
                glyphs=glyphs,
            )
        )
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
    history = feed.board.histories[key]
    health = feed.healths[key]
    first_ns, last_ns, _ = bounds
    watts = watts_text(history.now).rjust(_WATTS_CELLS)
    watts_role = "warn" if history.now is None else "power"
    cells = [(watts, watts_role)]
    flag = ""
    if outlier is not None:
        flag = f" {outlier:+,.0f}"[:_FLAG_CELLS]
    cells.append((flag.ljust(_FLAG_CELLS), "warn"))
    if layout.spark:
        curve = _curve(
            feed,
            history,
            bounds,
            layout.spark,
            glyphs,
        )
        cells.append((curve, "power"))
    stretch = history.stretch(first_ns, last_ns)
    figures = ""
    for figure in (stretch.lowest, stretch.mean, stretch.highest):
        figures += watts_text(figure).rjust(_FIGURE_CELLS)
    cells.append((figures, "text"))
    if layout.has_energy:
        energy = "–"
        if health.covered_s:
            energy = units.quantity(health.joules, "J", 3)
        cells.append((energy.rjust(_ENERGY_CELLS), "text"))
    if layout.has_change:
        age = age_text(health.age(feed.mono()))
        cells.append((age.rjust(_CHANGE_CELLS), "dim"))
    if health.reason:
        reason = plain(health.reason)
        cells.append((f"  {reason}", "error"))
    return cells


def _curve(
    feed: Feed,
    history: History,
    bounds: tuple[int, int, int],
    cells: int,
    glyphs: Glyphs,
) -> str:
    """The recent course of a channel."""
    first_ns, _, cell_ns = bounds
    edges = first_ns + cell_ns * np.arange(cells + 1, dtype=np.int64)
    shape = recent_envelope(feed, history, edges)
    return curve.sparkline(shape, glyphs)


def recent_envelope(feed: Feed, history: History, edges: Int64s) -> Envelope:
    """What a channel drew between these edges; a reading holds while the next may still come."""
    hold_ns = held_ns(feed, history.key)
    part = history.pieces(int(edges[0]) - hold_ns, int(edges[-1]))
    return curve.envelope(
        times=part.since,
        values=part.low,
        edges=edges,
        hold=hold_ns,
        high=part.high,
        until=part.until,
    )


def held_ns(feed: Feed, key: ChannelKey) -> int:
    """How long a reading of a channel holds where none follows."""
    held_s = max(_HELD_INTERVALS * feed.interval_s, _MIN_HELD_S)
    health = feed.healths.get(key)
    if health is not None:
        # A server that is scraped every 15 s has a rhythm of its own, and a hole only beyond that.
        held_s = max(held_s, health.longest_bridge)
    return int(held_s * NS)


def sum_held_ns(feed: Feed) -> int:
    """The same for the sum of all, whose readings are as far apart as those of the slowest source.

    One channel stands for its source: a fleet has thousands of them.
    """
    key_by_source = {}
    for key in feed.board.histories:
        key_by_source[key.source] = key
    held = [held_ns(feed, key) for key in key_by_source.values()]
    return max(held, default=NS)


def waiting(away: Mapping[str, str], room: int, columns: int) -> list[RoleLine]:
    """Sources that have no row yet, each with its state."""
    names = sorted(away, key=natural_sort_key)
    shown = names
    if len(names) > room:
        shown = names[: max(0, room - 1)]
    widest_name = max(map(width, shown), default=0)
    name_cells = min(widest_name, max(8, columns // 3))
    state_cells = max(8, columns - name_cells - 4)
    lines: list[RoleLine] = []
    for name in shown:
        label = plain(name, name_cells)
        pad = " " * (name_cells - width(label))
        state = "connecting …"
        role = "dim"
        if away[name]:
            state = plain(away[name], state_cells)
            role = "warn"
        lines.append([(f"  {label}{pad}", "text"), (f"  {state}", role)])
    hidden = len(names) - len(shown)
    if hidden:
        more = f"  … {hidden} more have not answered yet"
        lines.append([(more, "dim")])
    return lines


def run_rows(
    epochs: Sequence[tuple[FinishedEpoch, WindowEnergy | None]],
    room: int,
) -> list[RoleLine]:
    """The epochs that have ended, newest first: duration, joules, what was logged."""
    header = f"{'epoch':>7}{'duration':>11}{'energy':>12}{'±':>9}   logged at its end"
    lines: list[RoleLine] = [[(header, "dim")]]
    max_epochs = max(0, room - 1)
    newest_first = list(reversed(epochs))
    for epoch, energy in newest_first[:max_epochs]:
        length = _epoch_length(epoch)
        line = [(f"{epoch.number:>7}{length:>11}", "text")]
        line += _epoch_energy(energy)
        scalars = _epoch_scalars(epoch)
        line.append((f"  {scalars}", "text"))
        lines.append(line)
    return lines


def _epoch_length(epoch: FinishedEpoch) -> str:
    if epoch.begin_ns is None:
        return "–"
    length_s = (epoch.end_ns - epoch.begin_ns) / NS
    return f"{length_s:.1f} s"


def _epoch_scalars(epoch: FinishedEpoch) -> str:
    texts = []
    for name, value in epoch.scalars[:_MAX_SCALARS]:
        label = plain(name, 20)
        texts.append(f"{label} {value:.4g}")
    return "  ".join(texts)


def _epoch_energy(energy: WindowEnergy | None) -> list[tuple[str, str]]:
    """Joules with their interval, or why there are none."""
    if energy is None:
        return [("   not resolved: its start is not known", "dim")]
    interval = energy.interval
    if interval is None:
        reason = energy.reason.removeprefix("not resolved: ")
        return [(f"   not resolved: {plain(reason, 50)}", "dim")]
    joules = units.energy(interval.joules, half=interval.half)
    error = units.energy_error(interval.half, interval.joules)
    quality = energy.badge.value
    return [
        (f"{joules:>12}{error:>9}", "text"),
        (f" {quality}", quality),
    ]


def log_rows(events: Sequence[Event], room: int) -> list[RoleLine]:
    """What happened last, newest at the bottom."""
    roles = {"info": "dim", "warning": "warn", "error": "error"}
    lines: list[RoleLine] = []
    for event in list(events)[-room:]:
        stamp_ns = int(event.stamp.t * NS)
        clock = time_of_day(stamp_ns)
        text = plain(event.text)
        if event.source:
            source = plain(event.source)
            text = f"{source}: {text}"
        role = roles.get(event.level, "text")
        lines.append([(f"{clock} ", "dim"), (text, role)])
    return lines


def page_rows(
    height: int,
    channel_count: int,
    away_count: int,
    epoch_count: int | None,
) -> dict[str, int]:
    """Rows for each part of the live page; no epochs where no training is watched.

    The chart gets what is left, and never less than a few.
    """
    max_run_rows = 3
    if height >= 28:
        log_rows = MAX_LOG_ROWS
        max_run_rows = 6
    elif height >= 18:
        log_rows = 2
    else:
        log_rows = 1
    run_rows = 0
    if epoch_count is not None:
        run_rows = min(epoch_count + 1, max_run_rows)
    room = height - 1 - live_summary.BIG_ROWS - log_rows - run_rows
    waiting_rows = min(away_count, max(1, room // 4))
    room -= waiting_rows
    table_rows = 0
    if channel_count > 1:
        table_rows = min(channel_count + 1, max(3, room // 2))
    return {
        "log": log_rows,
        "run": run_rows,
        "table": table_rows,
        "waiting": waiting_rows,
        "chart": max(4, room - table_rows),
    }
