"""The tables of the live screen: channels, sources that have not answered, epochs, and the log.

Text with roles, cut to the width at hand: no widget, no clock of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from powertui.data.live import ChannelKey, History, WindowEnergy
from powertui.data.watch import FinishedEpoch
from powertui.feed import NS, Feed
from powertui.plain import plain, width
from powertui.sampler.recorder import Event
from powertui.terminal.glyphs import Glyphs
from powertui.units import quantity
from powertui.view import curve
from powertui.view.live_chart import LiveSpan
from powertui.view.live_texts import RoleLine, age_text, time_of_day, watts_text


def channel_names(histories: Mapping[ChannelKey, History]) -> dict[ChannelKey, str]:
    """The name of each row: the machine, and the channel where its name says more.

    Rows that would have the same name are named by their source.
    """
    names = {}
    for key, history in histories.items():
        host = plain(history.host or key.source)
        channel = plain(key.channel)
        names[key] = host if channel in ("power", host) else f"{host} {channel}"
    counts = Counter(names.values())
    return {
        key: name if counts[name] == 1 else f"{plain(key.source)} {plain(key.channel)}"
        for key, name in names.items()
    }


def natural_sort_key(name: str) -> list[tuple[int, str]]:
    """A key that puts node9 before node10."""
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


class _TableLayout:
    """Which columns of the table of channels have room, and how wide they are."""

    def __init__(self, names: Sequence[str], columns: int) -> None:
        widest_name = max((width(name) for name in names), default=4)
        self.name = min(widest_name, max(8, columns // 4))
        watts = 9
        flag = 7
        figures = 3 * 7
        energy = 10
        change = 9
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
    bounds = view.bounds(feed.now_ns(), max(1, layout.spark))
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
    history = feed.board.histories[key]
    health = feed.healths[key]
    first, last, column = bounds
    stretch = history.stretch(first, last)
    flag = "" if outlier is None else f" {outlier:+,.0f}"
    cells = [
        (f"{watts_text(history.now):>9}", "warn" if history.now is None else "power"),
        (flag[:7].ljust(7), "warn"),
    ]
    if layout.spark:
        edges = first + column * np.arange(layout.spark + 1, dtype=np.int64)
        part = history.pieces(first - column, last)
        hold = int(max(feed.interval_s * 3, 1.0) * NS)
        shape = curve.envelope(part.since, part.low, edges, hold, high=part.high, until=part.until)
        cells.append((curve.sparkline(shape, glyphs), "power"))
    figures = (stretch.lowest, stretch.mean, stretch.highest)
    cells.append(("".join(f"{watts_text(watts):>7}" for watts in figures), "text"))
    if layout.has_energy:
        energy = quantity(health.joules, "J", 3) if health.covered_s else "–"
        cells.append((f"{energy:>10}", "text"))
    if layout.has_change:
        cells.append((f"{age_text(health.age(feed.mono())):>9}", "dim"))
    if health.reason:
        cells.append((f"  {plain(health.reason)}", "error"))
    return cells


def waiting(away: Mapping[str, str], room: int, columns: int) -> list[RoleLine]:
    """Sources that have no row yet, each with its state."""
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
    newest_first = list(reversed(epochs))
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
            [(f"{time_of_day(int(event.stamp.t * NS))} ", "dim"), (where + plain(event.text), role)]
        )
    return lines
