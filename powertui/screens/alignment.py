"""Alignment: every way to lay the power on the trace, with its evidence; a person chooses, shifts,
or pins by hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize

from powertui import units
from powertui.data.asked import Aligning
from powertui.data.energy import account, expected_work, log_alignment, main_log, owner_notes
from powertui.data.energy import sensor as sensors
from powertui.data.energy.log_alignment import Placed
from powertui.data.model import PS_PER_S, Floats, Int64s, Run
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.screens import frame, nudging, owning
from powertui.screens.base import BaseScreen, bindings_for
from powertui.widgets.alignment_chart import AlignmentChart, AlignmentView
from powertui.widgets.lines import LinesPane, StyledLine, wrapped

_WAYS = (
    ("auto", "The best evidence"),
    ("clock", "Wall clocks"),
    ("signal", "By signal"),
    ("hand", "By hand"),
    ("none", "Not at all"),
)
_POINTS = 4000  # of the curve of what ran
_HOLD_REFRESHES = 3  # a reading is drawn for so many refreshes when none follows


class _Way(NamedTuple):
    """One way of aligning, and what it gives for every channel, those of the main log first."""

    mode: str
    title: str
    options: Aligning
    placed: tuple[Placed, ...]


class AlignmentScreen(BaseScreen):
    """How the power is aligned, and why."""

    NAME = "alignment"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("alignment")
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self._ways: tuple[_Way, ...] = ()
        self._ran: tuple[Int64s, Floats] | None = None
        self._request: tuple[object, ...] = ()  # what the ways are computed from
        self._chosen = 0
        self._shift = 0.0  # s, of the way under the cursor
        self._owner_notes: tuple[str, ...] = ()  # whose power it is, where that needs words

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
        yield AlignmentChart(theme=look, glyphs=glyphs, id="placed")
        yield LinesPane(theme=look, glyphs=glyphs, id="ways")

    # ── computing ────────────────────────────────────────────────────────────────────────────────

    def session_changed(self) -> None:
        """Another run, or a pin: try every way again, in a thread."""
        if not self.is_mounted:
            return
        session = self.session
        run = session.run
        index = session.trace_index
        why = frame.why_empty(session, self.NAME)
        if run is None or not session.complete or why:
            self._say_only(why or "Reading …")
            return
        chosen = session.aligning
        request = (run, index, chosen.pins.pins, chosen.offset_s)
        # A run is compared by what it is, not by what it holds.
        if self._request and self._request[0] is run and self._request[1:] == request[1:]:
            self._draw()
            return
        self._request = request
        self._ways = ()
        self._owner_notes = owner_notes.share(run, index).notes
        self._say_only("Comparing the evidence …")
        window_s = nudging.refresh_s(session)
        profile = session.profile

        def work() -> None:
            ways = []
            for mode, title in _WAYS:
                options = _options(mode, chosen)
                if options is None:
                    continue
                placed: tuple[Placed, ...] = ()
                if profile is not None:
                    # As every other page places it: by the training around the profile, too.
                    placed = account.energy_account(profile, options).placed
                power = [channel.power for channel in placed]
                order = main_log.order(power, run.traces[index].span)
                in_order = tuple(placed[row] for row in order)
                ways.append(_Way(mode=mode, title=title, options=options, placed=in_order))
            ran = _what_ran(run, index, window_s)
            self.shell.from_thread(
                self._computed,
                request,
                tuple(ways),
                ran,
            )

        self.run_worker(
            work,
            thread=True,
            exclusive=True,
            group="alignment",
        )

    def awaits(self, action: str) -> str:
        if self._request and not self._ways:
            return "the comparison"
        if self.shell.runs.awaited:
            return self.shell.runs.awaited
        if self.shell.is_placing:
            return "the power"
        return ""

    def on_resize(self, event: Resize) -> None:
        """Another width: lines break elsewhere."""
        super().on_resize(event)
        if self.is_mounted:
            self._draw()

    def _computed(
        self,
        request: tuple[object, ...],
        ways: tuple[_Way, ...],
        ran: tuple[Int64s, Floats],
    ) -> None:
        if request != self._request:
            return
        self._ways = ways
        self._ran = ran
        now = self.session.aligning
        modes = [way.mode for way in ways]
        mode = _mode_in_use(now)
        self._chosen = modes.index(mode) if mode in modes else 0
        self._shift = now.pins.nudge_s
        self._draw()
        self.footer()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _say_only(self, sentence: str) -> None:
        self.query_one("#placed", AlignmentChart).show(None, sentence)
        self.query_one("#ways", LinesPane).set_lines(())

    @property
    def _shown(self) -> Placed | None:
        """The first aligned channel of the way under the cursor, with the present shift."""
        if not self._ways:
            return None
        aligned = _aligned(self._ways[self._chosen].placed)
        if not aligned:
            return None
        return log_alignment.moved(aligned[0], self._shift)

    def _draw(self) -> None:
        if not self._ways or self._ran is None:
            return
        lines = self._lines()
        pane = self.query_one("#ways", LinesPane)
        pane.styles.height = min(len(lines), max(4, self.size.height // 2))
        pane.set_lines(lines)
        chart = self.query_one("#placed", AlignmentChart)
        shown = self._shown
        trace = self.session.trace
        placed = self._ways[self._chosen].placed
        if not placed:
            chart.show(None, "No power log names this host. Press o to use one that names no host.")
            return
        if shown is None or trace is None:
            reason = _elsewhere(placed) or "The power log cannot be aligned with this trace."
            cure = "Shift or pin it by hand, or start with --offset."
            chart.show(None, f"{plain(reason, 400)} {cure}")
            return
        chart.show(self._placed_view(shown, *trace.span, self._ran))

    def _placed_view(
        self,
        shown: Placed,
        lo: int,
        hi: int,
        ran: tuple[Int64s, Floats],
    ) -> AlignmentView:
        """A channel on the trace from lo to hi, and what ran."""
        power = shown.power
        sensor = power.series.sensor
        margin = (hi - lo) // 8
        hold_s = _HOLD_REFRESHES * nudging.refresh_of(power)
        ran_at, ran_percent = ran
        return AlignmentView(
            lo=lo - margin,
            hi=hi + margin,
            # A reading is drawn in the middle of the time that it is a mean of.
            at=power.times - round(sensors.centre_s(sensor) * PS_PER_S),
            watts=power.watts,
            hold=round(hold_s * PS_PER_S),
            ran_at=ran_at,
            ran=ran_percent,
            ran_unit="%",
            caption=f"{plain(sensor.label, 60)} on the trace; below it, what ran",
            half_ps=_half_ps(shown),
        )

    def _lines(self) -> list[StyledLine]:
        style = self.shell.look.style
        cells = self.size.width
        lines: list[StyledLine] = []
        mode_in_use = _mode_in_use(self.session.aligning)
        for number, way in enumerate(self._ways):
            is_chosen = number == self._chosen
            cursor = " > " if is_chosen else "   "
            mark = "*" if way.mode == mode_in_use else " "
            pieces = (
                (cursor, style("title")),
                (f"{mark} {way.title:<18}", style("marked" if is_chosen else "text")),
                (_summary(way), style("text" if is_chosen else "dim")),
            )
            lines += wrapped(pieces, cells, 23)
        for text, role in self._notes():
            lines += wrapped(((f"     {text}", style(role)),), cells, 7)
        return lines

    def _notes(self) -> list[tuple[str, str]]:
        """What is written below the ways, each with its role: evidence, pins, owners, keys."""
        placed = self._ways[self._chosen].placed
        first = self._shown or next(iter(placed), None)
        notes = []
        if first is not None:
            for words in first.alignment.evidence:
                notes.append((plain(words, 400), "dim"))
        pins = self.session.aligning.pins.pins
        if pins:
            pairs = ", ".join(f"{pin.log_s:.3f} s = {pin.trace_s:.3f} s" for pin in pins[-4:])
            notes.append((f"pins (log = trace): {pairs}", "measured"))
        for words in self._owner_notes:
            notes.append((plain(words, 400), "estimated"))
        notes.append(("* is in use. Enter uses the one at the cursor; < and > shift it.", "dim"))
        return notes

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of the way under the cursor first."""
        if self._ways:
            yield "choice-take", "use this one"
            yield "choice-up+choice-down", "choose"
            yield "nudge-left+nudge-right", "shift"
            yield "pin", "pin an edge to the cursor"
            yield "undo", "undo"
            yield "unshift", "undo all shifts"

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def choose(self, by: int) -> None:
        """So many ways down."""
        if not self._ways:
            return
        pane = self.query_one("#ways", LinesPane)
        chosen = min(max(0, self._chosen + by), len(self._ways) - 1)
        if chosen == self._chosen:
            pane.scroll_lines(by)  # past the last one: to the notes below it
            return
        self._chosen = chosen
        self._shift = 0.0
        self._draw()
        pane.scroll_lines(-len(self._lines()))

    def action_choice_take(self) -> None:
        """Use it everywhere."""
        if not self._ways:
            return
        way = self._ways[self._chosen]
        pins = replace(way.options.pins, nudge_s=self._shift)
        nudging.use(self.shell, replace(way.options, pins=pins))
        sentence = f"{way.title}: {_summary(way)}."
        if self._shift:
            sentence += f" {nudging.save_pins(pins)}"
        self.say(sentence.strip())
        self._draw()

    def nudge(self, refreshes: float) -> None:
        """To later times."""
        if self._shown is None:
            self.say("There is nothing to shift: this method finds no place for the log.")
            return
        self._shift += refreshes * nudging.refresh_of(self._shown.power)
        self._draw()
        self.say(f"Shifted by {self._shift:+.3f} s. Press Enter to use it.")

    def action_unshift(self) -> None:
        """As the evidence says."""
        self._shift = 0.0
        self._draw()

    def action_pin(self) -> None:
        """Tie an edge to the timeline's cursor."""
        nudging.pin(self.shell, self.session.cursor_ps)

    def action_owner(self) -> None:
        """Give power that names no host to the host in front."""
        self.say(owning.give_next(self.shell))
        self.session_changed()


def _options(mode: str, now: Aligning) -> Aligning | None:
    """The options that try one way alone; None where there is nothing to try."""
    bare = replace(now.pins, pins=(), nudge_s=0.0)
    if mode == "hand":
        if not now.pins.pins and now.offset_s is None:
            return None
        return replace(now, pins=replace(now.pins, nudge_s=0.0))
    return Aligning(mode, None, bare)  # type: ignore[arg-type]


def _mode_in_use(aligning: Aligning) -> str:
    """The way by which the power is aligned everywhere."""
    if aligning.pins.pins or aligning.offset_s is not None:
        return "hand"
    return aligning.mode


def _aligned(placed: tuple[Placed, ...]) -> list[Placed]:
    """The channels that have a place on the trace."""
    return [channel for channel in placed if channel.power.status != "none"]


def _elsewhere(placed: tuple[Placed, ...]) -> str:
    """Why the first channel of another time has no place; "" where there is none."""
    for channel in placed:
        if channel.alignment.elsewhere:
            return channel.alignment.elsewhere
    return ""


def _half_ps(placed: Placed) -> int:
    """Half of the interval in which the log's zero lies."""
    power = placed.power
    return (power.offset_hi_ps - power.offset_lo_ps) // 2


def _summary(way: _Way) -> str:
    """Where a way puts the first channel that it can align."""
    placed = way.placed
    if way.mode == "none":
        return "the power has no place on the timeline"
    aligned = _aligned(placed)
    if not aligned:
        return plain(_elsewhere(placed), 400) or "no place found"
    first = aligned[0]
    alignment = first.alignment
    assert alignment.offset_s is not None
    half = units.duration(_half_ps(first), 3)
    place = f"{alignment.source}: {alignment.offset_s:.3f} s ± {half}"
    summary = f"{alignment.status}, {place}"
    if way.mode == "clock":
        # Nothing but the stamps was looked at: it is as good as they are.
        summary = f"{place}, if both clocks are right"
    if len(placed) > 1:
        summary += f", {len(aligned)} of {len(placed)} channels"
    return summary


def _what_ran(run: Run, index: int, window_s: float) -> tuple[Int64s, Floats]:
    """The share of time in which something ran (%), averaged as the sensor would."""
    trace = run.traces[index]
    lo, hi = trace.span
    if hi <= lo:
        return np.empty(0, np.int64), np.empty(0)
    # No narrower than a point of the curve, or events between two of them would not count.
    width = max(window_s * PS_PER_S, (hi - lo) / _POINTS)
    width = min(width, (hi - lo) / 4)
    centers = np.linspace(lo, hi, _POINTS)
    begin = np.maximum(centers - width / 2, lo)
    end = np.minimum(centers + width / 2, hi)
    busy = np.zeros(_POINTS)
    parts = expected_work.activities(trace)
    for part in parts:
        # Computing draws the power; only where nothing computes, the host's own work is shown.
        computes = (part.kind == expected_work.COMPUTE).any()
        min_kind = expected_work.COPIES if computes else expected_work.HOST
        lengths = np.diff(part.edges)
        working = np.where(part.kind >= min_kind, lengths, 0).astype(np.float64)
        running = np.concatenate([[0.0], np.cumsum(working)])
        until_end = np.interp(end, part.edges, running)
        until_begin = np.interp(begin, part.edges, running)
        busy += (until_end - until_begin) / (end - begin) / len(parts)
    # The curve ends behind the profile, so that its last value is drawn, too.
    times = np.append(centers, hi + 1).astype(np.int64)
    return times, np.append(busy * 100, np.nan)
